/*
 * key.c
 *	  Key conditions: of the language of conditions, what can be a range of an index.
 *
 * DynamoDB looks at the values first, which are checked when the expression is bound; what needs the
 * key schema is the caller's.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "expr/tree.h"

/* Returns the attribute of a term; it must be a top-level one. */
static const ExprNode *
term_attribute(const ExprNode *term)
{
	if (term->rule->key.turns && term->args[0]->type == NODE_VALUE)
		return term->args[1];
	return term->args[0];
}

/* Returns what is wrong with a condition that a key cannot have, by its operands in order. */
static const char *
term_problem(const ExprNode *term)
{
	bool attribute = false;
	bool first = !term->rule->key.turns;

	if (!term->rule->key.allowed)
		return psprintf("Invalid operator used in KeyConditionExpression: %s", term->rule->name);
	for (int i = 0; i < term->nargs; i++)
	{
		const ExprNode *arg = term->args[i];

		if (arg->type == NODE_VALUE && !attribute && first)
			return psprintf("Invalid condition in KeyConditionExpression: %s operator must have "
							"the key attribute as its first operand",
							term->rule->name);
		if (arg->type == NODE_VALUE)
			continue;
		if (arg->type != NODE_PATH)
			return "KeyConditionExpressions cannot contain nested operations";
		if (attribute)
			return "Invalid condition in KeyConditionExpression: Multiple attribute names used in "
				   "one condition";
		if (arg->path->nsteps > 1)
			return "KeyConditionExpressions cannot have conditions on nested attributes";
		attribute = true;
	}
	return "Invalid condition in KeyConditionExpression: No key attribute specified";
}

static const char *
term_words(const ExprCompiled *c, const ExprNode *term)
{
	return expr_words(c, "%s", term_problem(term));
}

/* Checks that a term is one condition on one attribute, with values of the request. */
static void
check_term(const ExprCompiled *c, const ExprNode *term)
{
	const ExprNode *attribute;

	if (!term->rule->key.allowed)
		expr_fail(c, term->location, term_words(c, term),
				  "only =, <, <=, >, >=, BETWEEN, begins_with and AND are allowed here");
	attribute = term_attribute(term);
	if (attribute->type != NODE_PATH || attribute->path->nsteps != 1)
		expr_fail(c, attribute->location, term_words(c, term), "\"%s\" is not a key attribute",
				  expr_operand_text(c, attribute));
	for (int i = 0; i < term->nargs; i++)
	{
		const ExprNode *arg = term->args[i];

		if (arg != attribute && arg->type != NODE_VALUE)
			expr_fail(c, arg->location, term_words(c, term),
					  "\"%s\" is compared with \"%s\" instead of a value",
					  expr_operand_text(c, attribute), expr_operand_text(c, arg));
	}
}

/* Collects the terms that AND joins, in the order of the text. */
static int
collect_terms(const ExprCompiled *c, const ExprNode *node, const ExprNode **terms, int nterms)
{
	check_stack_depth();
	if (node->type == NODE_AND)
	{
		nterms = collect_terms(c, node->args[0], terms, nterms);
		return collect_terms(c, node->args[1], terms, nterms);
	}
	check_term(c, node);
	for (int i = 0; i < nterms; i++)
	{
		const ExprPath *path = term_attribute(node)->path;

		if (expr_path_equal(path, term_attribute(terms[i])->path))
			expr_fail(c, node->location,
					  expr_words(c, "KeyConditionExpressions must only contain one condition per "
									"key"),
					  "more than one condition on attribute \"%s\"", expr_path_text(path));
	}
	terms[nterms] = node;
	return nterms + 1;
}

/*
 * Returns the terms of a key condition with their values.  Raises ERRCODE_DYN_VALIDATION if the
 * condition is no key condition.  That is conditions joined by AND, each of which compares another
 * top-level attribute with values of the request.
 */
ExprKeyCondition *
expr_key_terms(const Expr *expr)
{
	ExprKeyCondition *result =
		MemoryContextAllocZero(GetMemoryChunkContext((void *) expr), sizeof(ExprKeyCondition));
	const ExprNode *terms[EXPR_MAX_OPERATORS];

	result->parameter = expr->compiled->parameter;
	result->nterms = collect_terms(expr->compiled, expr->compiled->root, terms, 0);
	for (int i = 0; i < Min(result->nterms, EXPR_MAX_KEY_TERMS); i++)
	{
		const ExprNode *node = terms[i];
		const ExprNode *attribute = term_attribute(node);
		ExprKeyTerm *term = &result->terms[i];
		int n = 0;

		term->attribute = attribute->path->steps[0].name;
		/* the value on the left turns the comparison round */
		term->op = attribute == node->args[0] ? node->rule->key.op : node->rule->key.turned;
		for (int arg = 0; arg < node->nargs; arg++)
		{
			if (node->args[arg] != attribute)
				term->value[n++] = expr->values[node->args[arg]->slot];
		}
	}
	return result;
}

/*
 * Parses a key condition, or finds it in the cache, and binds the request's values to it.  Raises
 * ERRCODE_DYN_VALIDATION if it is not valid as a condition.
 */
Expr *
expr_key_condition(ExprRequest *request, ItemSpan text)
{
	return expr_bind(request, EXPR_KEY_CONDITION, text);
}
