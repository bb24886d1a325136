/*
 * condition.c
 *	  The rules of operators and functions; conditions and filters on the encoded item.
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

/* Returns the value that the request gives for an operand; NULL if it comes from the item. */
static const ItemSpan *
literal(const Expr *expr, const ExprNode *node)
{
	return node->type == NODE_VALUE ? &expr->values[node->slot] : NULL;
}

/*
 * Raises ERRCODE_DYN_VALIDATION: the value of an operand, which may come from the item, has a type
 * that what takes it cannot take.
 */
void
expr_fail_type(const Expr *expr, const ExprNode *arg, const char *taker, ItemType type,
			   const char *words)
{
	expr_fail(expr->compiled, arg->location, words, "%s cannot take \"%s\" of type %s", taker,
			  expr_operand_text(expr->compiled, arg), item_type_code(type));
}

/* Returns the name of a node's operator or function, for messages. */
const char *
expr_taker(const ExprRule *rule)
{
	if (expr_is_function(rule))
		return psprintf("function \"%s\"", rule->name);
	if (isalpha((unsigned char) rule->name[0]))
		return rule->name;
	return psprintf("operator \"%s\"", rule->name);
}

/* Compares two values; returns false if they are not of one type that has an order. */
static inline bool
compare(ItemSpan a, ItemSpan b, int *cmp)
{
	ItemType type = item_type(a);

	if (type != item_type(b) || !is_ordered(type))
		return false;
	*cmp = item_value_compare(a, b);
	return true;
}

/* Legacy parameters have other words, and bounds of one type. */
static const char *
order_words(const ExprCompiled *compiled, ItemSpan lower, ItemSpan upper)
{
	if (compiled->text.data == NULL)
		return "The BETWEEN condition was provided a range where the lower bound is greater than "
			   "the upper bound";
	return expr_words_bounds(compiled, "upper bound to be greater than or equal to lower bound",
							 lower, upper);
}

/* Checks that bounds are a range if both are in the request; bounds from the item need not be. */
static void
check_between(const Expr *expr, const ExprNode *node)
{
	const ItemSpan *lower = literal(expr, node->args[1]);
	const ItemSpan *upper = literal(expr, node->args[2]);
	int cmp;

	if (lower == NULL || upper == NULL)
		return;
	if (!compare(*lower, *upper, &cmp))
		expr_fail(expr->compiled, node->location,
				  expr_words_bounds(expr->compiled, "same data type for lower and upper bounds",
									*lower, *upper),
				  "the bounds of BETWEEN are of types %s and %s", item_type_code(item_type(*lower)),
				  item_type_code(item_type(*upper)));
	if (cmp > 0)
		expr_fail(expr->compiled, node->location, order_words(expr->compiled, *lower, *upper),
				  "the lower bound of BETWEEN is greater than the upper bound");
}

/* The grammar ensures that the type comes from the request. */
static void
check_attribute_type(const Expr *expr, const ExprNode *node)
{
	ItemSpan code = item_payload(*literal(expr, node->args[1]));

	if (item_type_from_code(code) == 0)
		expr_fail(expr->compiled, node->args[1]->location,
				  expr_words(expr->compiled,
							 "Invalid attribute type name found; type: %s, valid types: {%s}",
							 item_quoted_words(code),
							 expr->compiled->bare ? "N,BS,L,B,NULL,M,S,SS,NS,BOOL"
												  : "B,NULL,SS,BOOL,L,BS,N,NS,S,M"),
				  "unknown type \"%s\"", item_quoted(code));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a bound value among the arguments of a node can never be an
 * operand of its operator or function, whatever the item.
 */
void
expr_check_node_values(const Expr *expr, const ExprNode *node)
{
	for (int i = 0; i < node->nargs; i++)
	{
		const ItemSpan *value = literal(expr, node->args[i]);

		if (value != NULL && !(node->rule->types[i > 0] & EXPR_TYPE(item_type(*value))))
			expr_fail_type(
				expr, node->args[i], expr_taker(node->rule), item_type(*value),
				expr_words_type(expr->compiled, node->rule, item_type_code(item_type(*value))));
	}
	if (node->rule->check != NULL)
		node->rule->check(expr, node);
}

/* Does the same for all nodes of a condition, in the order of the text, and requires its values. */
void
expr_check_condition_values(const Expr *expr, const ExprNode *node)
{
	check_stack_depth();
	if (node->type == NODE_VALUE)
		expr_require_value(expr, node->slot);
	for (int i = 0; i < node->nargs; i++)
		expr_check_condition_values(expr, node->args[i]);
	expr_check_node_values(expr, node);
}

/*
 * Evaluation
 */

static inline bool
is_document(ItemType type)
{
	return type == ITEM_L || type == ITEM_M;
}

/* Computes size() as an N; returns false for the types that have none. */
static bool
value_size(ItemSpan value, ExprScratch *scratch, ItemSpan *out)
{
	ItemType type = item_type(value);
	uint32 size;

	if (type == ITEM_S)
		size = item_utf16_units(item_payload(value));
	else if (type == ITEM_B)
		size = item_payload(value).len;
	else if (item_type_is_set(type) || is_document(type))
		size = item_children(value).count;
	else
		return false;
	scratch->value[0] = ITEM_N;
	out->data = scratch->value;
	out->len = 1 + item_number_from_count(size, scratch->value + 1);
	return true;
}

/* Finds the value of an operand; returns false if it has none. */
static inline bool
operand(const ExprEval *e, const ExprNode *node, ExprScratch *scratch, ItemSpan *out)
{
	if (node->type == NODE_PATH)
		return expr_path_find(node->path, &e->item, out);
	if (node->type != NODE_VALUE)
		return node->rule->find(e, node, scratch, out);
	*out = e->values[node->slot];
	return true;
}

static bool
find_size(const ExprEval *e, const ExprNode *node, ExprScratch *scratch, ItemSpan *out)
{
	return operand(e, node->args[0], scratch, out) && value_size(*out, scratch, out);
}

/* Equal values have equal bytes; an operand without a value equals nothing. */
static inline bool
operands_equal(const ExprEval *e, const ExprNode *x, const ExprNode *y)
{
	ExprScratch scratch[2];
	ItemSpan a;
	ItemSpan b;

	return operand(e, x, &scratch[0], &a) && operand(e, y, &scratch[1], &b) &&
		   expr_span_equal(a, b);
}

static bool
is_equal(const ExprEval *e, const ExprNode *node)
{
	return operands_equal(e, node->args[0], node->args[1]);
}

static bool
is_not_equal(const ExprEval *e, const ExprNode *node)
{
	return !operands_equal(e, node->args[0], node->args[1]);
}

static bool
is_in(const ExprEval *e, const ExprNode *node)
{
	for (int i = 1; i < node->nargs; i++)
	{
		if (operands_equal(e, node->args[0], node->args[i]))
			return true;
	}
	return false;
}

/* Compares two operands; returns false if they have no order. */
static inline bool
order(const ExprEval *e, const ExprNode *x, const ExprNode *y, int *cmp)
{
	ExprScratch scratch[2];
	ItemSpan a;
	ItemSpan b;

	*cmp = 0;
	return operand(e, x, &scratch[0], &a) && operand(e, y, &scratch[1], &b) && compare(a, b, cmp);
}

static bool
is_less(const ExprEval *e, const ExprNode *node)
{
	int cmp;

	return order(e, node->args[0], node->args[1], &cmp) && cmp < 0;
}

static bool
is_less_or_equal(const ExprEval *e, const ExprNode *node)
{
	int cmp;

	return order(e, node->args[0], node->args[1], &cmp) && cmp <= 0;
}

static bool
is_greater(const ExprEval *e, const ExprNode *node)
{
	int cmp;

	return order(e, node->args[0], node->args[1], &cmp) && cmp > 0;
}

static bool
is_greater_or_equal(const ExprEval *e, const ExprNode *node)
{
	int cmp;

	return order(e, node->args[0], node->args[1], &cmp) && cmp >= 0;
}

/* Of bounds of different types only one has the operand's. */
static bool
is_between(const ExprEval *e, const ExprNode *node)
{
	int cmp;

	return order(e, node->args[0], node->args[1], &cmp) && cmp >= 0 &&
		   order(e, node->args[0], node->args[2], &cmp) && cmp <= 0;
}

/*
 * Looks for bytes: a character of UTF-8 is never found within others.  memmem() needs linear time,
 * which matters: nothing interrupts the evaluation, and both may be hundreds of kilobytes of one
 * byte.
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

/* Finds both arguments of a function; returns false if one of them has no value. */
static inline bool
arguments(const ExprEval *e, const ExprNode *node, ItemSpan *a, ItemSpan *b)
{
	ExprScratch scratch; /* not used: no argument is a size() */

	return operand(e, node->args[0], &scratch, a) && operand(e, node->args[1], &scratch, b);
}

static bool
has_part(const ExprEval *e, const ExprNode *node)
{
	ItemSpan whole;
	ItemSpan part;

	return arguments(e, node, &whole, &part) && contains(whole, part);
}

/* Compares values with their tags, which are the same for two of a type. */
static bool
has_prefix(const ExprEval *e, const ExprNode *node)
{
	ItemSpan whole;
	ItemSpan part;

	return arguments(e, node, &whole, &part) && (EXPR_PREFIX & EXPR_TYPE(item_type(whole))) != 0 &&
		   part.len <= whole.len && memcmp(whole.data, part.data, part.len) == 0;
}

static bool
has_type(const ExprEval *e, const ExprNode *node)
{
	ItemSpan value;
	ItemSpan code;

	return arguments(e, node, &value, &code) &&
		   item_type(value) == item_type_from_code(item_payload(code));
}

static bool
exists(const ExprEval *e, const ExprNode *node)
{
	ItemSpan value;

	return expr_path_find(node->args[0]->path, &e->item, &value);
}

static bool
does_not_exist(const ExprEval *e, const ExprNode *node)
{
	return !exists(e, node);
}

/*
 * What joins conditions, and so is as deep as the expression
 */

static inline bool
matches(const ExprEval *e, const ExprNode *node)
{
	return node->rule->matches(e, node);
}

static bool
both_match(const ExprEval *e, const ExprNode *node)
{
	check_stack_depth();
	return matches(e, node->args[0]) && matches(e, node->args[1]);
}

static bool
either_matches(const ExprEval *e, const ExprNode *node)
{
	check_stack_depth();
	return matches(e, node->args[0]) || matches(e, node->args[1]);
}

static bool
does_not_match(const ExprEval *e, const ExprNode *node)
{
	check_stack_depth();
	return !matches(e, node->args[0]);
}

/* Makes a value of a condition. */
static bool
find_truth(const ExprEval *e, const ExprNode *node, ExprScratch *scratch, ItemSpan *out)
{
	check_stack_depth();
	scratch->value[0] = ITEM_BOOL | (matches(e, node->args[0]) ? 0x10 : 0);
	*out = (ItemSpan){scratch->value, 1};
	return true;
}

/*
 * All rules, by ExprNodeType
 */

/* clang-format off */
#define ARITHMETIC .types = {EXPR_TYPE(ITEM_N), EXPR_TYPE(ITEM_N)}, .write = expr_write_sum
#define CONDITION .condition = true, .types = {EXPR_ANY, EXPR_ANY}
#define JOINS .condition = true, .joins = true
#define ORDERS .condition = true, .types = {EXPR_ORDERED, EXPR_ORDERED}
#define SIZED (~(EXPR_TYPE(ITEM_N) | EXPR_TYPE(ITEM_BOOL) | EXPR_TYPE(ITEM_NULL)))

const ExprRule expr_rules[] = {
	{NULL}, /* a path */
	{NULL}, /* a value */
	{"+", ARITHMETIC},
	{"-", ARITHMETIC},
	{"=", CONDITION, .key = {true, true, EXPR_KEY_EQ, EXPR_KEY_EQ}, .matches = is_equal},
	{"<>", CONDITION, .matches = is_not_equal},
	{"<", ORDERS, .key = {true, true, EXPR_KEY_LT, EXPR_KEY_GT}, .matches = is_less},
	{"<=", ORDERS, .key = {true, true, EXPR_KEY_LE, EXPR_KEY_GE}, .matches = is_less_or_equal},
	{">", ORDERS, .key = {true, true, EXPR_KEY_GT, EXPR_KEY_LT}, .matches = is_greater},
	{">=", ORDERS, .key = {true, true, EXPR_KEY_GE, EXPR_KEY_LE}, .matches = is_greater_or_equal},
	{"BETWEEN", ORDERS, .check = check_between, .key = {true, false, EXPR_KEY_BETWEEN}, .matches = is_between},
	{"IN", CONDITION, .matches = is_in},
	{"AND", JOINS, .matches = both_match},
	{"OR", JOINS, .matches = either_matches},
	{"NOT", JOINS, .matches = does_not_match},
	{"attribute_exists", {ARG_PATH}, CONDITION, .matches = exists},
	{"attribute_not_exists", {ARG_PATH}, CONDITION, .matches = does_not_exist},
	{"attribute_type", {ARG_OPERAND, ARG_VALUE}, .condition = true, .types = {EXPR_ANY, EXPR_TYPE(ITEM_S)},
	 .check = check_attribute_type, .matches = has_type},
	{"begins_with", {ARG_OPERAND, ARG_OPERAND}, .condition = true, .types = {EXPR_PREFIX, EXPR_PREFIX},
	 .key = {true, false, EXPR_KEY_BEGINS_WITH}, .matches = has_prefix},
	{"contains", {ARG_OPERAND, ARG_OPERAND}, .condition = true, .differ = true,
	 .types = {SIZED & ~EXPR_TYPE(ITEM_M), EXPR_ANY}, .matches = has_part},
	{"size", {ARG_OPERAND}, .types = {SIZED}, .find = find_size},
	{"if_not_exists", {ARG_PATH, ARG_NESTED}, .in_update = true, .types = {EXPR_ANY, EXPR_ANY},
	 .get = expr_get_if_not_exists},
	{"list_append", {ARG_NESTED, ARG_NESTED}, .in_update = true,
	 .types = {EXPR_TYPE(ITEM_L), EXPR_TYPE(ITEM_L)}, .write = expr_write_list_append},
	{"a condition", .joins = true, .find = find_truth},
};
/* clang-format on */

StaticAssertDecl(lengthof(expr_rules) == EXPR_NODE_TYPES, "a type of nodes has no rule");

/* Returns whether an item satisfies a condition.  NULL is an item without attributes. */
bool
expr_matches(const Expr *condition, const DynItem *item)
{
	ExprEval e = {.values = condition->values};

	if (item != NULL)
		e.item = item_children(item_root(item));
	return matches(&e, condition->compiled->root);
}

/* Returns whether a node is that of a comparison of an attribute with a value. */
static bool
is_equality(const Expr *condition, const ExprNode *path, const ExprNode *value, ItemSpan attribute,
			ItemSpan *found)
{
	if (path->type != NODE_PATH || value->type != NODE_VALUE || path->path->nsteps != 1 ||
		item_compare_bytes(path->path->steps[0].name, attribute) != 0)
		return false;
	*found = condition->values[value->slot];
	return true;
}

static bool requires(const Expr *condition, const ExprNode *node, ItemSpan attribute,
					 ItemSpan *value)
{
	check_stack_depth();
	if (node->type == NODE_AND)
	return requires(condition, node->args[0], attribute, value) ||
		   requires(condition, node->args[1], attribute, value);
	return node->type == NODE_EQ &&
		   (is_equality(condition, node->args[0], node->args[1], attribute, value) ||
			is_equality(condition, node->args[1], node->args[0], attribute, value));
}

/*
 * Returns whether a condition holds only where a top-level attribute equals a value, going by what AND
 * joins, and sets *value.  *alone is set to whether that is all that it says.
 */
bool
expr_requires(const Expr *condition, ItemSpan attribute, ItemSpan *value, bool *alone)
{
	*alone = condition->compiled->root->type == NODE_EQ;
	return requires(condition, condition->compiled->root, attribute, value);
}
