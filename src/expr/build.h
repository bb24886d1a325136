/*
 * build.h
 *	  Expressions of other languages than DynamoDB's: the same trees, built node by node.
 *
 *		build = expr_build(EXPR_CONDITION, "WHERE", text, nslots);
 *		... expr_build_path(), expr_build_value(), expr_build_operator() ...
 *		expr_build_condition(build, root);
 *		compiled = expr_built(build);
 *
 *		expr = expr_bind_values(compiled, values);
 *
 * A value has a slot, and the slots are filled each time when the expression is bound.  So what is
 * built may be kept and bound often; its memory is that of the context in which it was built.
 * Nodes get the checks that the grammar of expressions has for them, and values the same checks when
 * they are bound.  What a grammar ensures by itself is the caller's: see expr_build_operator().
 */
#ifndef DYNAMO_TABLE_EXPR_BUILD_H
#define DYNAMO_TABLE_EXPR_BUILD_H

#include "nodes/pg_list.h"

#include "expr/expr.h"

/* These are the operators and functions, in the order of expr_rules. */
typedef enum ExprNodeType
{
	NODE_PATH,
	NODE_VALUE,
	/* operators */
	NODE_PLUS,
	NODE_MINUS,
	NODE_EQ,
	NODE_NE,
	NODE_LT,
	NODE_LE,
	NODE_GT,
	NODE_GE,
	NODE_BETWEEN,
	NODE_IN,
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	/* functions */
	NODE_ATTRIBUTE_EXISTS,
	NODE_ATTRIBUTE_NOT_EXISTS,
	NODE_ATTRIBUTE_TYPE,
	NODE_BEGINS_WITH,
	NODE_CONTAINS,
	NODE_SIZE,
	NODE_IF_NOT_EXISTS,
	NODE_LIST_APPEND,
	/* a condition as a value; there is no way to write it in an expression */
	NODE_TRUTH
} ExprNodeType;

/* An ExprStep is a name, or a list index if the name has no data. */
typedef struct ExprStep
{
	ItemSpan name;
	uint32 index;
} ExprStep;

typedef enum ExprVerb
{
	EXPR_SET,
	EXPR_REMOVE,
	EXPR_ADD,
	EXPR_DELETE
} ExprVerb;

typedef struct ExprPath ExprPath;
typedef struct ExprNode ExprNode;
typedef struct ExprParse ExprParse;
typedef struct ExprCompiled ExprCompiled;

/* build.c */
extern ExprParse *expr_build(ExprKind kind, const char *what, ItemSpan text, int nslots);
extern void expr_build_slot(ExprParse *build, int slot, ItemSpan name, int location);
extern ExprPath *expr_build_path(ExprParse *build, const ExprStep *steps, int nsteps, int location);
extern ExprNode *expr_build_operand(ExprParse *build, ExprPath *path);
extern ExprNode *expr_build_value(ExprParse *build, int slot, int location);
extern ExprNode *expr_build_operator(ExprParse *build, ExprNodeType type, int location, List *args);
extern bool expr_knows_function(ExprKind kind, ItemSpan name);
extern ExprNode *expr_build_function(ExprParse *build, ItemSpan name, int location, List *args);
extern bool expr_is_condition(const ExprNode *node);
extern bool expr_is_path(const ExprNode *node);
extern bool expr_is_value(const ExprNode *node);
extern bool expr_is_path_to(const ExprNode *node, const ExprPath *path);
extern ExprNode *expr_build_truth(ExprParse *build, ExprNode *condition);
extern void expr_build_condition(ExprParse *build, ExprNode *root);
extern void expr_build_action(ExprParse *build, ExprVerb verb, ExprPath *path, ExprNode *value);
extern void expr_build_column(ExprParse *build, ItemSpan name, ExprPath *path);
extern const ExprCompiled *expr_built(ExprParse *build);
extern Expr *expr_bind_values(const ExprCompiled *compiled, const ItemSpan *values);

#endif
