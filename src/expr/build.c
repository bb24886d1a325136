/*
 * build.c
 *	  Expressions of other languages: the trees that the parser makes, without a text of our own.
 */
#include "postgres.h"

#include "expr/tree.h"

/*
 * Begins an expression, in the current memory context.  what names it in messages, and text is what
 * locations point into.
 */
ExprParse *
expr_build(ExprKind kind, const char *what, ItemSpan text, int nslots)
{
	ExprParse *build = palloc0(sizeof(ExprParse));
	ExprCompiled *c = palloc0(sizeof(ExprCompiled));

	c->kind = kind;
	c->parameter = what;
	c->bare = true;
	c->text = text;
	c->nslots = c->maxslots = nslots;
	c->slots = palloc0(nslots * sizeof(ExprSlot));
	build->compiled = c;
	return build;
}

/* Says what the value of a slot is called in messages, and where it stands. */
void
expr_build_slot(ExprParse *build, int slot, ItemSpan name, int location)
{
	build->compiled->slots[slot] = (ExprSlot){name, location};
}

/* Makes a path, whose first step is a name.  Raises ERRCODE_DYN_VALIDATION if it is too long. */
ExprPath *
expr_build_path(ExprParse *build, const ExprStep *steps, int nsteps, int location)
{
	ExprPath *path = palloc0(sizeof(ExprPath));

	Assert(nsteps > 0 && steps[0].name.data != NULL);
	path->nsteps = path->maxsteps = nsteps;
	path->location = location;
	path->steps = palloc(nsteps * sizeof(ExprStep));
	memcpy(path->steps, steps, nsteps * sizeof(ExprStep));
	expr_check_path(build->compiled, path);
	return path;
}

/* Makes an operand of a path. */
ExprNode *
expr_build_operand(ExprParse *build, ExprPath *path)
{
	return expr_make_path_node(build, path);
}

/* Makes an operand of the value of a slot. */
ExprNode *
expr_build_value(ExprParse *build, int slot, int location)
{
	ExprNode *node = expr_new_node(NODE_VALUE, location, NIL);

	Assert(slot >= 0 && slot < build->compiled->nslots);
	node->slot = slot;
	return node;
}

/*
 * Makes a node of an operator and its arguments: conditions for AND, OR and NOT, else values, among
 * which none is a sum.  Raises ERRCODE_DYN_VALIDATION if there are too many.
 */
ExprNode *
expr_build_operator(ExprParse *build, ExprNodeType type, int location, List *args)
{
	return expr_make_node(build, type, location, args);
}

/* Returns whether expressions of this kind have a function. */
bool
expr_knows_function(ExprKind kind, ItemSpan name)
{
	for (int i = 0; i < EXPR_NODE_TYPES; i++)
	{
		const ExprRule *rule = &expr_rules[i];

		if (expr_is_function(rule) && item_span_is(name, rule->name))
			return rule->in_update == (kind == EXPR_UPDATE);
	}
	return false;
}

/*
 * Makes a call of a function that these expressions have.  None of its arguments is a condition or
 * a sum.  Raises ERRCODE_DYN_VALIDATION if it has other arguments.
 */
ExprNode *
expr_build_function(ExprParse *build, ItemSpan name, int location, List *args)
{
	return expr_make_function(build, name, location, args);
}

/* Returns whether a node is true or false, and no value. */
bool
expr_is_condition(const ExprNode *node)
{
	return node->rule->condition;
}

/* Returns whether a node is a path. */
bool
expr_is_path(const ExprNode *node)
{
	return node->type == NODE_PATH;
}

/* Returns whether a node is the value of a slot. */
bool
expr_is_value(const ExprNode *node)
{
	return node->type == NODE_VALUE;
}

/* Returns whether a node is this path. */
bool
expr_is_path_to(const ExprNode *node, const ExprPath *path)
{
	return node->type == NODE_PATH && expr_path_equal(node->path, path);
}

/* Makes a value of type BOOL of a condition. */
ExprNode *
expr_build_truth(ExprParse *build, ExprNode *condition)
{
	Assert(expr_is_condition(condition));
	return expr_new_node(NODE_TRUTH, condition->location, list_make1(condition));
}

/* Makes a node the condition that was built. */
void
expr_build_condition(ExprParse *build, ExprNode *root)
{
	expr_set_condition(build, root);
}

/*
 * Adds an action to an update.  Raises ERRCODE_DYN_VALIDATION if its path overlaps with another one
 * that the update writes.
 */
void
expr_build_action(ExprParse *build, ExprVerb verb, ExprPath *path, ExprNode *value)
{
	expr_add_action(build, verb, path, value);
}

/*
 * Adds a column to a flat projection: what is at the path becomes an attribute with this name.  Names
 * are distinct.
 */
void
expr_build_column(ExprParse *build, ItemSpan name, ExprPath *path)
{
	ExprCompiled *c = build->compiled;

	/* few, so one at a time */
	c->columns = c->columns == NULL ? palloc(sizeof(ExprColumn))
									: repalloc(c->columns, (c->ncolumns + 1) * sizeof(ExprColumn));
	c->columns[c->ncolumns++] = (ExprColumn){name, path};
	expr_add_attribute(c, path->steps[0].name);
}

/* Returns what was built, which never changes from now on. */
const ExprCompiled *
expr_built(ExprParse *build)
{
	return build->compiled;
}

/*
 * Binds values, by slot and with their tags, to what was built, in the current memory context.  All of
 * these have to live as long.  Raises ERRCODE_DYN_VALIDATION if a value can never be what it is used
 * for.
 */
Expr *
expr_bind_values(const ExprCompiled *compiled, const ItemSpan *values)
{
	Expr *expr = palloc0(sizeof(Expr));

	expr->compiled = (ExprCompiled *) compiled;
	expr->values = values;
	expr_check_values(expr);
	return expr;
}
