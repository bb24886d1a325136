/*
 * term.c
 *	  Conditions on keys: "attribute op value", as far as a condition of a statement has them.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "partiql/term.h"

/* The number of a key attribute in the index, or -1 if the node is none. */
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

/* Whether a condition names a key attribute from the given number on, wherever in it. */
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

/* What an operator requires of a key, and what if the key is on the right. */
static bool
key_operator(const PartiqlNode *node, ExprKeyOp *op, ExprKeyOp *turned)
{
	switch (node->type)
	{
		case PARTIQL_EQ:
		case PARTIQL_IN:
			*op = *turned = EXPR_KEY_EQ;
			return true;
		case PARTIQL_LT:
			*op = EXPR_KEY_LT;
			*turned = EXPR_KEY_GT;
			return true;
		case PARTIQL_LE:
			*op = EXPR_KEY_LE;
			*turned = EXPR_KEY_GE;
			return true;
		case PARTIQL_GT:
			*op = EXPR_KEY_GT;
			*turned = EXPR_KEY_LT;
			return true;
		case PARTIQL_GE:
			*op = EXPR_KEY_GE;
			*turned = EXPR_KEY_LE;
			return true;
		case PARTIQL_BETWEEN:
			*op = EXPR_KEY_BETWEEN;
			return true;
		case PARTIQL_FUNCTION:
			*op = EXPR_KEY_BEGINS_WITH;
			return item_span_is(node->text, "begins_with");
		default:
			return false;
	}
}

static bool
is_turned(const PartiqlNode *node)
{
	switch (node->type)
	{
		case PARTIQL_EQ:
		case PARTIQL_LT:
		case PARTIQL_LE:
		case PARTIQL_GT:
		case PARTIQL_GE:
			return is_value(linitial(node->args));
		default:
			return false;
	}
}

/*
 * Whether a condition compares a key attribute with values; of IN it is EXPR_KEY_EQ with any of the
 * values.
 */
bool
partiql_find_term(const PartiqlKeys *keys, const PartiqlNode *node, PartiqlTerm *term)
{
	ExprKeyOp turned = EXPR_KEY_EQ;
	const PartiqlNode *key;
	ListCell *cell;

	if (!key_operator(node, &term->op, &turned))
		return false;
	term->turned = is_turned(node);
	if (term->turned)
		term->op = turned;
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

/* A value of a term, with its tag. */
ItemSpan
partiql_term_value(const PartiqlKeys *keys, const PartiqlTerm *term, int number)
{
	const PartiqlNode *value = list_nth(term->node->args, term->turned ? 0 : number + 1);

	return keys->values[value->slot];
}
