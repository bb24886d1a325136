/*
 * condition.c
 *	  Conditions and filters on the encoded item.
 *
 * A predicate is true or false, never unknown: what an item lacks, or has with a type
 * that the operator does not take, makes it false.  A value of the request with such a
 * type is an error instead, found when the expression is bound, before any item is read.
 * Evaluation allocates nothing.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "expr/tree.h"

/*
 * Checks of values
 */

static bool
is_ordered(ItemType type)
{
	return type == ITEM_S || type == ITEM_N || type == ITEM_B;
}

/* The value that the request gives for an operand; NULL if it comes from the item. */
static const ItemSpan *
literal(const Expr *expr, const ExprNode *node)
{
	return node->type == NODE_VALUE ? &expr->values[node->slot] : NULL;
}

pg_noreturn static void
fail_type(const Expr *expr, const ExprNode *arg, const char *taker)
{
	expr_fail(expr->compiled, arg->location, "%s cannot take \"%s\" of type %s", taker,
			  expr_operand_text(expr->compiled, arg),
			  item_type_code(item_type(expr->values[arg->slot])));
}

static void
check_ordered(const Expr *expr, const ExprNode *arg, const char *operator)
{
	const ItemSpan *value = literal(expr, arg);

	if (value != NULL && !is_ordered(item_type(*value)))
		fail_type(expr, arg, operator);
}

/* Order of two values; false if they are not of one type that has an order. */
static inline bool
compare(ItemSpan a, ItemSpan b, int *cmp)
{
	ItemType type = item_type(a);

	if (type != item_type(b) || !is_ordered(type))
		return false;
	*cmp = type == ITEM_N ? item_number_compare(item_payload(a), item_payload(b))
						  : item_compare_bytes(item_payload(a), item_payload(b));
	return true;
}

/* Bounds that are both in the request must be a range; bounds from the item need not. */
static void
check_between(const Expr *expr, const ExprNode *node)
{
	const ItemSpan *lower = literal(expr, node->args[1]);
	const ItemSpan *upper = literal(expr, node->args[2]);
	int cmp;

	for (int i = 0; i < node->nargs; i++)
		check_ordered(expr, node->args[i], "BETWEEN");
	if (lower == NULL || upper == NULL)
		return;
	if (!compare(*lower, *upper, &cmp))
		expr_fail(expr->compiled, node->location, "the bounds of BETWEEN are of types %s and %s",
				  item_type_code(item_type(*lower)), item_type_code(item_type(*upper)));
	if (cmp > 0)
		expr_fail(expr->compiled, node->location,
				  "the lower bound of BETWEEN is greater than the upper bound");
}

/* The grammar has seen to it that the type comes from the request. */
static void
check_attribute_type(const Expr *expr, const ExprNode *node)
{
	ItemSpan value = expr->values[node->args[1]->slot];

	if (item_type(value) != ITEM_S)
		fail_type(expr, node->args[1], "function \"attribute_type\"");
	if (item_type_from_code(item_payload(value)) == 0)
		expr_fail(expr->compiled, node->args[1]->location, "unknown type \"%s\"",
				  item_quoted(item_payload(value)));
}

static void
check_begins_with(const Expr *expr, const ExprNode *node)
{
	for (int i = 0; i < node->nargs; i++)
	{
		const ItemSpan *value = literal(expr, node->args[i]);

		if (value != NULL && item_type(*value) != ITEM_S && item_type(*value) != ITEM_B)
			fail_type(expr, node->args[i], "function \"begins_with\"");
	}
}

/* What size() and the first argument of contains() can be. */
static void
check_container(const Expr *expr, const ExprNode *arg, const char *function, bool map)
{
	const ItemSpan *value = literal(expr, arg);
	ItemType type = value == NULL ? ITEM_S : item_type(*value);

	if (type == ITEM_N || type == ITEM_BOOL || type == ITEM_NULL || (type == ITEM_M && !map))
		fail_type(expr, arg, function);
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a bound value in a condition, or in a part of it, can never be
 * an operand of its operator or function, whatever the item.
 */
void
expr_check_condition_values(const Expr *expr, const ExprNode *node)
{
	static const char *const order[] = {"operator \"<\"", "operator \"<=\"", "operator \">\"",
										"operator \">=\""};

	check_stack_depth();
	for (int i = 0; i < node->nargs; i++)
		expr_check_condition_values(expr, node->args[i]);
	switch (node->type)
	{
		case NODE_LT:
		case NODE_LE:
		case NODE_GT:
		case NODE_GE:
			check_ordered(expr, node->args[0], order[node->type - NODE_LT]);
			check_ordered(expr, node->args[1], order[node->type - NODE_LT]);
			break;
		case NODE_BETWEEN:
			check_between(expr, node);
			break;
		case NODE_ATTRIBUTE_TYPE:
			check_attribute_type(expr, node);
			break;
		case NODE_BEGINS_WITH:
			check_begins_with(expr, node);
			break;
		case NODE_CONTAINS:
			check_container(expr, node->args[0], "function \"contains\"", false);
			break;
		case NODE_SIZE:
			check_container(expr, node->args[0], "function \"size\"", true);
			break;
		default:
			break;
	}
}

/*
 * Evaluation
 */

typedef struct Eval
{
	const ItemSpan *values;
	ItemChildren item;
} Eval;

/* Room for a number that size() makes. */
typedef struct Scratch
{
	char number[1 + ITEM_NUMBER_SIZE];
} Scratch;

static inline bool
is_document(ItemType type)
{
	return type == ITEM_L || type == ITEM_M;
}

/* size() as an N; false for the types that have none. */
static bool
value_size(ItemSpan value, Scratch *scratch, ItemSpan *out)
{
	ItemType type = item_type(value);
	uint32 size;

	if (type == ITEM_S || type == ITEM_B)
		size = item_payload(value).len;
	else if (item_type_is_set(type) || is_document(type))
		size = item_children(value).count;
	else
		return false;
	scratch->number[0] = ITEM_N;
	out->data = scratch->number;
	out->len = 1 + item_number_from_count(size, scratch->number + 1);
	return true;
}

/* The value of an operand; false if it has none. */
static bool
operand(const Eval *e, const ExprNode *node, Scratch *scratch, ItemSpan *out)
{
	switch (node->type)
	{
		case NODE_PATH:
			return expr_path_find(node->path, &e->item, out);
		case NODE_VALUE:
			*out = e->values[node->slot];
			return true;
		case NODE_SIZE:
			return operand(e, node->args[0], scratch, out) && value_size(*out, scratch, out);
		default:
			elog(ERROR, "unexpected operand type %d", (int) node->type);
	}
}

/* Equal values have equal bytes; an operand without a value equals nothing. */
static bool
operands_equal(const Eval *e, const ExprNode *x, const ExprNode *y)
{
	Scratch scratch[2];
	ItemSpan a;
	ItemSpan b;

	return operand(e, x, &scratch[0], &a) && operand(e, y, &scratch[1], &b) &&
		   expr_span_equal(a, b);
}

/* x op y, where op is one that orders. */
static bool
ordered(const Eval *e, ExprNodeType op, const ExprNode *x, const ExprNode *y)
{
	Scratch scratch[2];
	ItemSpan a;
	ItemSpan b;
	int cmp;

	if (!operand(e, x, &scratch[0], &a) || !operand(e, y, &scratch[1], &b) || !compare(a, b, &cmp))
		return false;
	switch (op)
	{
		case NODE_LT:
			return cmp < 0;
		case NODE_LE:
			return cmp <= 0;
		case NODE_GT:
			return cmp > 0;
		default:
			return cmp >= 0;
	}
}

/*
 * Of bytes: in UTF-8 a character is never found within others.  memmem() needs linear time, which
 * matters: nothing interrupts the evaluation, and both may be hundreds of kilobytes of one byte.
 */
static bool
is_substring(ItemSpan part, ItemSpan whole)
{
	return memmem(whole.data, whole.len, part.data, part.len) != NULL;
}

/* The elements of a set have no tags, those of a list have. */
static bool
contains(ItemSpan whole, ItemSpan part)
{
	ItemType type = item_type(whole);

	if (type == ITEM_S || type == ITEM_B)
		return item_type(part) == type && is_substring(item_payload(part), item_payload(whole));
	if (item_type_is_set(type))
		return item_type(part) == item_element_type(type) &&
			   item_set_contains(whole, item_payload(part));
	if (type == ITEM_L)
	{
		ItemChildren c = item_children(whole);

		for (uint32 i = 0; i < c.count; i++)
		{
			if (expr_span_equal(item_child(&c, i), part))
				return true;
		}
	}
	return false;
}

static bool
begins_with(ItemSpan whole, ItemSpan part)
{
	ItemType type = item_type(whole);

	/* with their tags, which are the same for two of a type */
	return (type == ITEM_S || type == ITEM_B) && part.len <= whole.len &&
		   memcmp(whole.data, part.data, part.len) == 0;
}

/* A function that is a condition. */
static bool
function(const Eval *e, const ExprNode *node)
{
	Scratch scratch;
	ItemSpan a;
	ItemSpan b;
	bool found = operand(e, node->args[0], &scratch, &a);

	if (node->type == NODE_ATTRIBUTE_EXISTS)
		return found;
	if (node->type == NODE_ATTRIBUTE_NOT_EXISTS)
		return !found;
	if (!found || !operand(e, node->args[1], &scratch, &b))
		return false;
	if (node->type == NODE_ATTRIBUTE_TYPE)
		return item_type(a) == item_type_from_code(item_payload(b));
	if (node->type == NODE_BEGINS_WITH)
		return begins_with(a, b);
	return contains(a, b);
}

static bool matches(const Eval *e, const ExprNode *node);

/* What joins conditions, and so is as deep as the expression. */
static bool
joined(const Eval *e, const ExprNode *node)
{
	check_stack_depth();
	if (node->type == NODE_AND)
		return matches(e, node->args[0]) && matches(e, node->args[1]);
	if (node->type == NODE_OR)
		return matches(e, node->args[0]) || matches(e, node->args[1]);
	return !matches(e, node->args[0]);
}

static bool
matches(const Eval *e, const ExprNode *node)
{
	ExprNode *const *args = node->args;

	switch (node->type)
	{
		case NODE_AND:
		case NODE_OR:
		case NODE_NOT:
			return joined(e, node);
		case NODE_EQ:
			return operands_equal(e, args[0], args[1]);
		case NODE_NE:
			return !operands_equal(e, args[0], args[1]);
		case NODE_LT:
		case NODE_LE:
		case NODE_GT:
		case NODE_GE:
			return ordered(e, node->type, args[0], args[1]);
		case NODE_BETWEEN:
			/* bounds of different types: only one of them has the operand's */
			return ordered(e, NODE_GE, args[0], args[1]) && ordered(e, NODE_LE, args[0], args[2]);
		case NODE_IN:
			for (int i = 1; i < node->nargs; i++)
			{
				if (operands_equal(e, args[0], args[i]))
					return true;
			}
			return false;
		default:
			return function(e, node);
	}
}

/* Returns whether an item satisfies a condition.  NULL is an item without attributes. */
bool
expr_matches(const Expr *condition, const DynItem *item)
{
	Eval e = {.values = condition->values};

	if (item != NULL)
		e.item = item_children(item_root(item));
	return matches(&e, condition->compiled->root);
}
