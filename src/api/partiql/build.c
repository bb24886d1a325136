/*
 * build.c
 *	  From the tree of a statement to its expressions.
 *
 * What the expression says is built by the expr folder, which has the rules.  Here is only what the
 * two languages write differently, and what PartiQL refuses by itself.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/compile.h"

typedef struct Build
{
	PartiqlCompiled *compiled;
	const PartiqlStatement *statement;
	ExprKind kind;
	ExprParse *expr;
	bool again; /* values have their slots */
} Build;

/*
 * Values
 */

/* Gives a value a slot of its own. */
static int
add_value(PartiqlCompiled *compiled, ItemSpan value)
{
	Assert(compiled->nused < compiled->nslots);
	compiled->literals[compiled->nused] = value;
	return compiled->nused++;
}

/* Returns an upper limit of the values in an expression. */
static int
count_values(PartiqlNode *node)
{
	int n = node->type == PARTIQL_IS;
	ListCell *cell;

	check_stack_depth();
	if (partiql_is_literal(node))
		return 1;
	foreach (cell, node->args)
		n += count_values(lfirst(cell));
	return n;
}

static int
value_slot(Build *b, PartiqlNode *node)
{
	if (node->type != PARTIQL_PARAMETER && !b->again)
		node->slot = add_value(b->compiled, partiql_literal(b->statement, node));
	return node->slot;
}

static ExprNode *
build_value(Build *b, PartiqlNode *node)
{
	int slot = value_slot(b, node);

	expr_build_slot(b->expr, slot,
					(ItemSpan){b->statement->text.data + node->place.at, (uint32) node->place.len},
					node->place.at);
	return expr_build_value(b->expr, slot, node->place.at);
}

/* Makes a value of a text that the statement does not have as a literal. */
static ExprNode *
build_text(Build *b, PartiqlNode *node, const char *text)
{
	ItemSpan span = {text, (uint32) strlen(text)};
	PartiqlNode literal = {
		.type = PARTIQL_STRING, .place = node->place, .text = span, .slot = node->slot};
	ExprNode *built = build_value(b, &literal);

	node->slot = literal.slot;
	return built;
}

static ExprPath *
build_path(Build *b, PartiqlNode *node)
{
	int nsteps = list_length(node->steps);
	ExprStep *steps = palloc(nsteps * sizeof(ExprStep));
	ListCell *cell;

	foreach (cell, node->steps)
	{
		const PartiqlStep *step = lfirst(cell);

		steps[foreach_current_index(cell)] = (ExprStep){step->name, step->index};
	}
	return expr_build_path(b->expr, steps, nsteps, node->place.at);
}

/*
 * Operators and functions
 */

pg_noreturn static void
build_fail(const Build *b, PartiqlNode *node, const char *problem)
{
	partiql_fail(b->statement, node->place, NULL, "%s", problem);
}

static ExprNode *build_any(Build *b, PartiqlNode *node);

static ExprNode *
build_condition(Build *b, PartiqlNode *node)
{
	ExprNode *built = build_any(b, node);

	if (!expr_is_condition(built))
		build_fail(b, node, "a value stands where a condition is needed");
	return built;
}

/* A condition is a value, too. */
static ExprNode *
build_operand(Build *b, PartiqlNode *node)
{
	ExprNode *built = build_any(b, node);

	return expr_is_condition(built) ? expr_build_truth(b->expr, built) : built;
}

static ExprNode *
build_joined(Build *b, PartiqlNode *node, ExprNodeType type)
{
	List *args = NIL;
	ListCell *cell;

	foreach (cell, node->args)
		args = lappend(args, build_condition(b, lfirst(cell)));
	return expr_build_operator(b->expr, type, node->place.at, args);
}

static ExprNode *
build_compared(Build *b, PartiqlNode *node, ExprNodeType type)
{
	List *args = NIL;
	ListCell *cell;

	if (b->kind == EXPR_UPDATE)
		build_fail(b, node, "a condition stands where a value is needed");
	if (list_length(node->args) == 1)
		build_fail(b, node, "what follows IN is no list of values");
	foreach (cell, node->args)
		args = lappend(args, build_operand(b, lfirst(cell)));
	return expr_build_operator(b->expr, type, node->place.at, args);
}

/* Makes a sum; what is added or subtracted is a path or a value. */
static ExprNode *
build_sum(Build *b, PartiqlNode *node, ExprNodeType type)
{
	List *args = NIL;
	ListCell *cell;

	if (b->kind != EXPR_UPDATE)
		build_fail(b, node, "+ and - are for values that are set");
	foreach (cell, node->args)
	{
		ExprNode *arg = build_any(b, lfirst(cell));

		if (!expr_is_path(arg) && !expr_is_value(arg))
			build_fail(b, lfirst(cell),
					   "only document paths and values can be added or subtracted");
		args = lappend(args, arg);
	}
	return expr_build_operator(b->expr, type, node->place.at, args);
}

static const char *
function_words(const Build *b, PartiqlNode *node)
{
	return psprintf("Unrecognized function: %s at %s", item_quoted_words(node->text),
					partiql_where(b->statement->text, node->place));
}

/* PartiQL has the functions of expressions but for if_not_exists(). */
static ExprNode *
build_function(Build *b, PartiqlNode *node)
{
	List *args = NIL;
	ListCell *cell;

	if (!expr_knows_function(b->kind, node->text) || item_span_is(node->text, "if_not_exists"))
		partiql_fail(b->statement, node->place, function_words(b, node),
					 "function \"%s\" is not known here", item_quoted(node->text));
	foreach (cell, node->args)
	{
		ExprNode *arg = build_any(b, lfirst(cell));
		bool simple = expr_is_path(arg) || expr_is_value(arg);

		if (expr_is_condition(arg) || (b->kind == EXPR_UPDATE && !simple))
			build_fail(b, lfirst(cell), "an argument of a function is a document path or a value");
		args = lappend(args, arg);
	}
	return expr_build_function(b->expr, node->text, node->place.at, args);
}

/* Returns the code of a type that PartiQL names; NULL: DynamoDB has none. */
static const char *
type_code(ItemSpan name)
{
	static const struct
	{
		const char *name;
		const char *code;
	} types[] = {{"null", "NULL"}, {"bool", "BOOL"}, {"boolean", "BOOL"},
				 {"string", "S"},  {"blob", "B"},    {"numeric", "N"},
				 {"struct", "M"},  {"tuple", "M"},   {"list", "L"}};

	for (int i = 0; i < lengthof(types); i++)
	{
		if (partiql_word_is(name, types[i].name))
			return types[i].code;
	}
	return NULL;
}

/* Makes functions of expressions of IS MISSING and of IS with a type. */
static ExprNode *
build_is(Build *b, PartiqlNode *node)
{
	static const ItemSpan missing = {"attribute_not_exists", strlen("attribute_not_exists")};
	static const ItemSpan type = {"attribute_type", strlen("attribute_type")};
	const char *code = type_code(node->text);
	ExprNode *operand;

	if (b->kind == EXPR_UPDATE)
		build_fail(b, node, "a condition stands where a value is needed");
	operand = build_any(b, linitial(node->args));
	if (!expr_is_path(operand))
		build_fail(b, node, "what is before IS is no document path");
	if (partiql_word_is(node->text, "missing"))
		return expr_build_function(b->expr, missing, node->place.at, list_make1(operand));
	if (code == NULL)
		partiql_fail(b->statement, node->place, NULL, "\"%s\" is no type of an attribute",
					 item_quoted(node->text));
	return expr_build_function(b->expr, type, node->place.at,
							   list_make2(operand, build_text(b, node, code)));
}

static ExprNode *
build_any(Build *b, PartiqlNode *node)
{
	check_stack_depth();
	switch (node->type)
	{
		case PARTIQL_PATH:
			return expr_build_operand(b->expr, build_path(b, node));
		case PARTIQL_PARAMETER:
		case PARTIQL_STRING:
		case PARTIQL_NUMBER:
		case PARTIQL_BOOL:
		case PARTIQL_NULL:
		case PARTIQL_LIST:
		case PARTIQL_BAG:
		case PARTIQL_TUPLE:
			return build_value(b, node);
		case PARTIQL_MISSING:
			build_fail(b, node, "a value cannot be MISSING");
		case PARTIQL_STAR:
			build_fail(b, node, "* is no argument of a function");
		case PARTIQL_NEGATE:
			build_fail(b, node, "only a number can have a sign");
		case PARTIQL_FUNCTION:
			return build_function(b, node);
		case PARTIQL_PLUS:
			return build_sum(b, node, NODE_PLUS);
		case PARTIQL_MINUS:
			return build_sum(b, node, NODE_MINUS);
		case PARTIQL_EQ:
			return build_compared(b, node, NODE_EQ);
		case PARTIQL_NE:
			return build_compared(b, node, NODE_NE);
		case PARTIQL_LT:
			return build_compared(b, node, NODE_LT);
		case PARTIQL_LE:
			return build_compared(b, node, NODE_LE);
		case PARTIQL_GT:
			return build_compared(b, node, NODE_GT);
		case PARTIQL_GE:
			return build_compared(b, node, NODE_GE);
		case PARTIQL_BETWEEN:
			return build_compared(b, node, NODE_BETWEEN);
		case PARTIQL_IN:
			return build_compared(b, node, NODE_IN);
		case PARTIQL_IS:
			return build_is(b, node);
		case PARTIQL_AND:
			return build_joined(b, node, NODE_AND);
		case PARTIQL_OR:
			return build_joined(b, node, NODE_OR);
		case PARTIQL_NOT:
			return build_joined(b, node, NODE_NOT);
	}
	pg_unreachable();
}

/*
 * Clauses
 */

static void
build_begin(Build *b, ExprKind kind)
{
	const PartiqlStatement *statement = b->compiled->statement;

	b->again = b->compiled->built;
	b->statement = statement;
	b->kind = kind;
	b->expr = expr_build(kind, "PartiQL statement", statement->text, b->compiled->nslots);
}

static const ExprCompiled *
build_where(PartiqlCompiled *compiled)
{
	Build b = {.compiled = compiled};

	build_begin(&b, EXPR_CONDITION);
	expr_build_condition(b.expr, build_condition(&b, compiled->statement->where));
	return expr_built(b.expr);
}

static const ExprCompiled *
build_columns(PartiqlCompiled *compiled)
{
	Build b = {.compiled = compiled};
	ListCell *cell;

	build_begin(&b, EXPR_PROJECTION);
	foreach (cell, compiled->statement->columns)
	{
		PartiqlNode *column = lfirst(cell);

		expr_build_column(b.expr, partiql_column_name(column), build_path(&b, column));
	}
	return expr_built(b.expr);
}

static const char *
upper_case(ItemSpan name)
{
	char *upper = span_string(name);

	for (char *c = upper; *c != '\0'; c++)
		*c = (char) pg_ascii_toupper((unsigned char) *c);
	return upper;
}

/*
 * Raises ERRCODE_DYN_VALIDATION: the second argument of set_add() or set_delete() is no set.
 * DynamoDB points at the first one.
 */
void
partiql_fail_set(const PartiqlStatement *statement, const PartiqlNode *function)
{
	const PartiqlNode *first = linitial(function->args);

	partiql_fail(statement, first->place,
				 psprintf("The second argument to %s must be a value with type SET at %s",
						  upper_case(function->text), partiql_where(statement->text, first->place)),
				 "the second argument of %s is no set", item_quoted(function->text));
}

static void
check_set_call(const Build *b, PartiqlNode *function, const ExprPath *path, const ExprNode *first)
{
	PartiqlNode *second;

	if (!expr_is_path_to(first, path))
		partiql_fail(b->statement, function->place,
					 psprintf("The first argument to %s must equal the assignment value at %s",
							  upper_case(function->text),
							  partiql_where(b->statement->text, function->place)),
					 "the first argument of %s is not the path that is set",
					 item_quoted(function->text));
	second = lsecond(function->args);
	if (second->type != PARTIQL_BAG && second->type != PARTIQL_PARAMETER)
		partiql_fail_set(b->statement, function);
}

/* set_add() and set_delete() are the verbs ADD and DELETE of update expressions. */
static void
build_set_call(Build *b, ExprPath *path, PartiqlNode *function)
{
	bool add = item_span_is(function->text, "set_add");
	PartiqlNode *second;
	ExprNode *value;

	if (list_length(function->args) != 2)
		partiql_fail(b->statement, function->place,
					 psprintf("%s must have exactly two arguments at %s",
							  upper_case(function->text),
							  partiql_where(b->statement->text, function->place)),
					 "%s has two arguments", item_quoted(function->text));
	check_set_call(b, function, path, build_any(b, linitial(function->args)));
	second = lsecond(function->args);
	value = build_value(b, second);
	if (second->type == PARTIQL_PARAMETER)
	{
		PartiqlSetArgument *argument = palloc(sizeof(PartiqlSetArgument));

		*argument = (PartiqlSetArgument){second->slot, function};
		b->compiled->sets = lappend(b->compiled->sets, argument);
	}
	expr_build_action(b->expr, add ? EXPR_ADD : EXPR_DELETE, path, value);
}

static bool
is_set_call(PartiqlNode *node)
{
	return node->type == PARTIQL_FUNCTION &&
		   (item_span_is(node->text, "set_add") || item_span_is(node->text, "set_delete"));
}

static const ExprCompiled *
build_changes(PartiqlCompiled *compiled)
{
	Build b = {.compiled = compiled};
	ListCell *cell;

	build_begin(&b, EXPR_UPDATE);
	foreach (cell, compiled->statement->changes)
	{
		const PartiqlChange *change = lfirst(cell);
		ExprPath *path = build_path(&b, change->path);

		if (change->value == NULL)
			expr_build_action(b.expr, EXPR_REMOVE, path, NULL);
		else if (is_set_call(change->value))
			build_set_call(&b, path, change->value);
		else
			expr_build_action(b.expr, EXPR_SET, path, build_any(&b, change->value));
	}
	return expr_built(b.expr);
}

/* Each value of the item to insert is a literal of its own, or a parameter. */
static List *
build_attributes(PartiqlCompiled *compiled)
{
	Build b = {.compiled = compiled, .statement = compiled->statement};
	const List *pairs = compiled->statement->value->args;
	List *attributes = NIL;

	for (int i = 0; i < list_length(pairs); i += 2)
	{
		PartiqlAttribute *attribute = palloc(sizeof(PartiqlAttribute));

		attribute->name = partiql_tuple_name(compiled->statement, list_nth(pairs, i));
		attribute->slot = value_slot(&b, list_nth(pairs, i + 1));
		attributes = lappend(attributes, attribute);
	}
	return attributes;
}

static int
count_slots(const PartiqlStatement *statement)
{
	int n = statement->nparameters;
	ListCell *cell;

	if (statement->where != NULL)
		n += count_values(statement->where);
	if (statement->value != NULL)
		n += list_length(statement->value->args) / 2;
	foreach (cell, statement->changes)
	{
		const PartiqlChange *change = lfirst(cell);

		if (change->value != NULL)
			n += count_values(change->value);
	}
	return n;
}

/*
 * Builds what a parsed statement says, in the current memory context.  Raises ERRCODE_DYN_VALIDATION
 * if it cannot be, whatever tables and parameters are.
 */
void
partiql_build(PartiqlCompiled *compiled)
{
	const PartiqlStatement *statement = compiled->statement;

	compiled->nslots = count_slots(statement);
	compiled->nused = statement->nparameters;
	compiled->literals = palloc0(compiled->nslots * sizeof(ItemSpan));
	if (statement->columns != NIL)
		compiled->projection = build_columns(compiled);
	if (statement->value != NULL)
		compiled->attributes = build_attributes(compiled);
	if (statement->changes != NIL)
		compiled->update = build_changes(compiled);
	if (statement->where != NULL)
		compiled->condition = build_where(compiled);
	compiled->built = true;
}

/*
 * Returns the condition that AND joins of some conditions of the statement, with the same values, in
 * the current memory context.
 */
Expr *
partiql_build_joined(const PartiqlBound *bound, const List *conditions)
{
	Build b = {.compiled = unconstify(PartiqlCompiled *, bound->compiled)};
	ExprNode *root = NULL;
	ListCell *cell;

	build_begin(&b, EXPR_CONDITION);
	foreach (cell, conditions)
	{
		PartiqlNode *node = lfirst(cell);
		ExprNode *condition = build_condition(&b, node);

		root = root == NULL ? condition
							: expr_build_operator(b.expr, NODE_AND, node->place.at,
												  list_make2(root, condition));
	}
	expr_build_condition(b.expr, root);
	return expr_bind_values(expr_built(b.expr), bound->values);
}
