/*
 * node.c
 *	  Nodes of conditions and of the values in updates, and where each is allowed.
 *
 * This file checks what the grammar does not: a comparison takes values, AND takes conditions, a
 * function has its arguments and the kinds of expression that allow it.
 */
#include "postgres.h"

#include "expr/tree.h"
#include "server/errors.h"

static void
count_operator(ExprParse *parse, int location)
{
	if (++parse->noperators > EXPR_MAX_OPERATORS)
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "The expression contains too many operators; operator count: %d",
							 parse->noperators),
				  "more than %d operators and functions", EXPR_MAX_OPERATORS);
}

/* Makes a node without any check, with an array of arguments: evaluation reads it often. */
ExprNode *
expr_new_node(ExprNodeType type, int location, List *args)
{
	ExprNode *node = palloc0(sizeof(ExprNode));
	ListCell *cell;

	node->type = type;
	node->rule = &expr_rules[type];
	node->location = location;
	node->args = args == NIL ? NULL : palloc(list_length(args) * sizeof(ExprNode *));
	foreach (cell, args)
		node->args[node->nargs++] = lfirst(cell);
	list_free(args);
	return node;
}

/*
 * To DynamoDB's grammar a value is no condition, so the token behind it is wrong, where a comparison
 * could be.
 */
static const char *
value_words(const ExprParse *parse, const ExprNode *node)
{
	if (expr_is_function(node->rule))
		return expr_words_misused(parse->compiled, node->rule);
	return expr_words_syntax(parse->compiled, node->next);
}

/* Raises an error for a value, since AND, OR and NOT join conditions. */
static void
require_condition(ExprParse *parse, const ExprNode *node)
{
	if (!node->rule->condition)
		expr_fail(parse->compiled, node->location, value_words(parse, node),
				  "\"%s\" is a value, not a condition", expr_operand_text(parse->compiled, node));
}

/* Returns the words for it: what is more than a value is wrong from its first operator on. */
static const char *
operator_words(const ExprParse *parse, const ExprNode *node)
{
	while (node->type == NODE_AND || node->type == NODE_OR)
		node = node->args[0];
	if (expr_is_function(node->rule))
		return expr_words_misused(parse->compiled, node->rule);
	return expr_words_syntax(parse->compiled, node->location);
}

/* Comparisons and arithmetic take values.  On the left of an operator it is that which is wrong. */
static void
require_operand(ExprParse *parse, const ExprNode *node, const ExprNode *operator)
{
	const char *problem = NULL;

	if (node->rule->condition)
		problem = "a condition stands where a value is needed";
	else if (node->type == NODE_PLUS || node->type == NODE_MINUS)
		problem = "only one + or - is allowed in a value";
	else if (node->type == NODE_LIST_APPEND)
		problem = "list_append cannot be added or subtracted";
	if (problem == NULL)
		return;
	if (node == operator->args[0] && !expr_is_function(node->rule))
		expr_fail(parse->compiled, node->location,
				  expr_words_syntax(parse->compiled, operator->location), "%s", problem);
	expr_fail(parse->compiled, node->location, operator_words(parse, node), "%s", problem);
}

/* Makes a node of an operator. */
ExprNode *
expr_make_node(ExprParse *parse, ExprNodeType type, int location, List *args)
{
	ExprNode *node = expr_new_node(type, location, args);

	count_operator(parse, location);
	for (int i = 0; i < node->nargs; i++)
	{
		if (node->rule->joins)
			require_condition(parse, node->args[i]);
		else
			require_operand(parse, node->args[i], node);
	}
	if (type == NODE_IN && node->nargs > EXPR_MAX_IN + 1)
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "The IN operator is provided with too many operands; number of "
							 "operands: %d",
							 node->nargs - 1),
				  "IN lists more than %d values", EXPR_MAX_IN);
	return node;
}

static const char *
function_hint(const ExprCompiled *c)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < EXPR_NODE_TYPES; i++)
	{
		const ExprRule *rule = &expr_rules[i];

		if (expr_is_function(rule) && rule->in_update == (c->kind == EXPR_UPDATE))
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", rule->name);
	}
	return psprintf("Functions are %s.", names.data);
}

/* Finds a function that this kind of expression knows. */
static ExprNodeType
find_function(ExprParse *parse, ItemSpan name, int location)
{
	const ExprCompiled *c = parse->compiled;

	for (int i = 0; i < EXPR_NODE_TYPES; i++)
	{
		const ExprRule *rule = &expr_rules[i];

		if (!expr_is_function(rule) || !item_span_is(name, rule->name))
			continue;
		if (rule->in_update != (c->kind == EXPR_UPDATE))
			expr_fail(c, location,
					  expr_words(c, "The function is not allowed in %s expression; function: %s",
								 c->kind == EXPR_UPDATE ? "an update" : "a condition", rule->name),
					  "function \"%s\" is not allowed here", rule->name);
		return (ExprNodeType) i;
	}
	expr_fail_hint(c, location,
				   expr_words(c, "Invalid function name; function: %s", item_quoted_words(name)),
				   function_hint(c), psprintf("unknown function \"%s\"", item_quoted(name)));
}

/* There is one level of nesting: if_not_exists() in either function of updates. */
static bool
argument_fits(const ExprNode *arg, ExprArgument rule)
{
	switch (rule)
	{
		case ARG_NONE:
			return false;
		case ARG_PATH:
			return arg->type == NODE_PATH;
		case ARG_VALUE:
			return arg->type == NODE_VALUE;
		case ARG_OPERAND:
			return arg->type == NODE_PATH || arg->type == NODE_VALUE;
		case ARG_NESTED:
			return arg->type == NODE_PATH || arg->type == NODE_VALUE ||
				   arg->type == NODE_IF_NOT_EXISTS;
	}
	return false;
}

static const char *
argument_words(const ExprParse *parse, const ExprRule *rule, const ExprNode *arg,
			   ExprArgument wanted)
{
	const ExprCompiled *c = parse->compiled;

	if (arg->rule->condition || arg->type == NODE_PLUS || arg->type == NODE_MINUS)
		return operator_words(parse, arg);
	if (arg->type == NODE_LIST_APPEND)
		return expr_words_misused(c, arg->rule);
	if (wanted == ARG_PATH)
		return expr_words(c,
						  "Operator or function requires a document path; operator or function: %s",
						  rule->name);
	/* a size(), or a path in the place of a type */
	return expr_words_type(c, rule,
						   arg->type == NODE_SIZE ? "N" : "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
}

/*
 * Returns the node of a function call and frees the list of arguments.  Raises
 * ERRCODE_DYN_VALIDATION if the function is unknown or not allowed in this kind of expression, or
 * if an argument does not fit.
 */
ExprNode *
expr_make_function(ExprParse *parse, ItemSpan name, int location, List *args)
{
	static const char *const wanted[] = {NULL, "a document path", "a value placeholder",
										 "a document path or a value placeholder",
										 "a document path, a value placeholder or if_not_exists"};
	ExprNode *node = expr_new_node(find_function(parse, name, location), location, args);
	const ExprRule *f = node->rule;
	int nargs = f->args[1] == ARG_NONE ? 1 : 2;

	count_operator(parse, location);
	if (node->nargs != nargs)
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "Incorrect number of operands for operator or function; operator or "
							 "function: %s, number of operands: %d",
							 f->name, node->nargs),
				  "function \"%s\" has %s", f->name, nargs == 1 ? "one argument" : "two arguments");
	for (int i = 0; i < nargs; i++)
	{
		if (!argument_fits(node->args[i], f->args[i]))
			expr_fail(parse->compiled, node->args[i]->location,
					  argument_words(parse, f, node->args[i], f->args[i]),
					  "argument %d of function \"%s\" must be %s", i + 1, f->name,
					  wanted[f->args[i]]);
	}
	if (f->differ && node->args[0]->type == NODE_PATH && node->args[1]->type == NODE_PATH &&
		expr_path_equal(node->args[0]->path, node->args[1]->path))
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "The first operand must be distinct from the remaining operands for "
							 "this operator or function; operator: %s, first operand: %s",
							 f->name, expr_words_path(node->args[0]->path)),
				  "both arguments of function \"%s\" are \"%s\"", f->name,
				  expr_path_text(node->args[0]->path));
	return node;
}

/* Makes a node of a value: all uses of a placeholder share a slot, filled at each binding. */
ExprNode *
expr_make_value(ExprParse *parse, ItemSpan placeholder, int location)
{
	ExprCompiled *c = parse->compiled;
	ExprNode *node = expr_new_node(NODE_VALUE, location, NIL);

	if (placeholder.len > EXPR_MAX_PLACEHOLDER)
		expr_fail(c, location, expr_words_undefined(c, placeholder),
				  "placeholder is longer than %d bytes", EXPR_MAX_PLACEHOLDER);
	while (node->slot < c->nslots && !expr_span_equal(c->slots[node->slot].name, placeholder))
		node->slot++;
	if (node->slot < c->nslots)
		return node;
	if (c->nslots == c->maxslots)
	{
		c->maxslots = Max(8, 2 * c->maxslots);
		c->slots = c->slots == NULL ? palloc(c->maxslots * sizeof(ExprSlot))
									: repalloc(c->slots, c->maxslots * sizeof(ExprSlot));
	}
	c->slots[c->nslots++] = (ExprSlot){placeholder, location};
	return node;
}

/*
 * Returns the node of a document path as an operand.  Except in an update, its first name is
 * recorded for expr_attributes().
 */
ExprNode *
expr_make_path_node(ExprParse *parse, ExprPath *path)
{
	ExprNode *node = expr_new_node(NODE_PATH, path->location, NIL);

	expr_check_path(parse->compiled, path);
	node->path = path;
	/* of an update, those count that it writes: see expr_tree_add() */
	if (parse->compiled->kind != EXPR_UPDATE)
		expr_add_attribute(parse->compiled, path->steps[0].name);
	expr_add_deep(parse->compiled, path);
	return node;
}

/* DynamoDB refuses a second pair around the same. */
ExprNode *
expr_make_parens(ExprParse *parse, ExprNode *node, int location)
{
	if (node->parens)
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled, "The expression has redundant parentheses;"),
				  "redundant parentheses");
	node->parens = true;
	return node;
}

/* Notes that a node, whose next token has been read, stands where a condition may. */
ExprNode *
expr_make_condition(ExprParse *parse, ExprNode *node)
{
	node->next = parse->token;
	return node;
}

/*
 * Makes a node the root of the parsed condition.  Raises ERRCODE_DYN_VALIDATION if it is a value.
 */
void
expr_set_condition(ExprParse *parse, ExprNode *root)
{
	require_condition(parse, root);
	parse->compiled->root = root;
}

/* Each verb has one clause. */
void
expr_begin_clause(ExprParse *parse, ExprVerb verb, int location)
{
	static const char *const verbs[] = {"SET", "REMOVE", "ADD", "DELETE"};

	if (parse->verbs[verb])
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "The \"%s\" section can only be used once in an update expression;",
							 verbs[verb]),
				  "more than one %s clause", verbs[verb]);
	parse->verbs[verb] = true;
}

/* One action of an update is a leaf in the tree of paths. */
void
expr_add_action(ExprParse *parse, ExprVerb verb, ExprPath *path, ExprNode *value)
{
	ExprTree *leaf = expr_tree_add(parse, path);

	leaf->verb = verb;
	leaf->value = value;
	if (verb == EXPR_SET || verb == EXPR_ADD)
		parse->compiled->creates = true;
}
