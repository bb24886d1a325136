/*
 * term.c
 *	  Conditions on keys: "attribute op value", as far as a condition of a statement has them.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/term.h"

/* Returns the number of a key attribute in the index, or -1 if the node is none. */
int
partiql_key_number(const PartiqlKeys *keys, const PartiqlNode *node)
{
	const PartiqlStep *step;

	if (node->type != PARTIQL_PATH || list_length(node->steps) != 1)
		return -1;
	step = linitial(node->steps);
	for (int i = 0; i < keys->index->nkeys; i++)
	{
		if (item_compare_bytes(dyn_index_key(keys->table, keys->index, i)->attribute, step->name) ==
			0)
			return i;
	}
	return -1;
}

/* Returns whether a condition names a key attribute from the given number on, wherever in it. */
bool
partiql_names_key(const PartiqlKeys *keys, const PartiqlNode *node, int from)
{
	ListCell *cell;

	check_stack_depth();
	if (partiql_key_number(keys, node) >= from)
		return true;
	foreach (cell, node->args)
	{
		if (partiql_names_key(keys, lfirst(cell), from))
			return true;
	}
	return false;
}

static bool
is_value(const PartiqlNode *node)
{
	return node->type == PARTIQL_PARAMETER || partiql_is_literal(node);
}

/* A KeyOperator says what an operator requires of a key, and of one that is on the right. */
typedef struct KeyOperator
{
	PartiqlType type;
	ExprKeyOp op;
	bool turns; /* the key may be on the right */
	ExprKeyOp turned;
} KeyOperator;

static const KeyOperator *
key_operator(const PartiqlNode *node)
{
	static const KeyOperator operators[] = {
		{PARTIQL_EQ, EXPR_KEY_EQ, true, EXPR_KEY_EQ}, {PARTIQL_LT, EXPR_KEY_LT, true, EXPR_KEY_GT},
		{PARTIQL_LE, EXPR_KEY_LE, true, EXPR_KEY_GE}, {PARTIQL_GT, EXPR_KEY_GT, true, EXPR_KEY_LT},
		{PARTIQL_GE, EXPR_KEY_GE, true, EXPR_KEY_LE}, {PARTIQL_IN, EXPR_KEY_EQ},
		{PARTIQL_BETWEEN, EXPR_KEY_BETWEEN},          {PARTIQL_FUNCTION, EXPR_KEY_BEGINS_WITH}};

	if (node->type == PARTIQL_FUNCTION && !item_span_is(node->text, "begins_with"))
		return NULL;
	for (int i = 0; i < lengthof(operators); i++)
	{
		if (operators[i].type == node->type)
			return &operators[i];
	}
	return NULL;
}

/*
 * Returns whether a condition compares a key attribute with values; of IN it is EXPR_KEY_EQ with
 * any of the values.
 */
bool
partiql_find_term(const PartiqlKeys *keys, const PartiqlNode *node, PartiqlTerm *term)
{
	const KeyOperator *known = key_operator(node);
	const PartiqlNode *key;
	ListCell *cell;

	if (known == NULL)
		return false;
	term->turned = known->turns && is_value(linitial(node->args));
	term->op = term->turned ? known->turned : known->op;
	key = term->turned ? lsecond(node->args) : linitial(node->args);
	term->key = partiql_key_number(keys, key);
	if (term->key < 0)
		return false;
	term->nvalues = 0;
	term->node = node;
	foreach (cell, node->args)
	{
		if (lfirst(cell) == key)
			continue;
		if (!is_value(lfirst(cell)))
			return false;
		term->nvalues++;
	}
	return true;
}

/* Returns a value of a term, with its tag. */
ItemSpan
partiql_term_value(const PartiqlKeys *keys, const PartiqlTerm *term, int number)
{
	const PartiqlNode *value = list_nth(term->node->args, term->turned ? 0 : number + 1);

	return keys->values[value->slot];
}
