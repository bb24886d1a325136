/*
 * syntax.c
 *	  The grammar alone, without what its rules make: whether a text is an expression at all.
 *
 * The parser finds whatever is wrong in the order of the text.  DynamoDB looks at the syntax of all
 * of it first, so a text with another error is parsed again by this.
 */
#include "postgres.h"

#include "expr/tree.h"

static inline void *
nothing(void)
{
	return NULL;
}

#define expr_make_node(...) nothing()
#define expr_make_function(...) nothing()
#define expr_make_value(...) nothing()
#define expr_make_path_node(...) nothing()
#define expr_make_parens(...) nothing()
#define expr_make_condition(...) nothing()
#define expr_set_condition(...) nothing()
#define expr_add_action(...) nothing()
#define expr_begin_clause(...) nothing()
#define expr_make_path(...) nothing()
#define expr_make_path_ref(...) nothing()
#define expr_path_name(...) nothing()
#define expr_path_ref(...) nothing()
#define expr_path_index(...) nothing()
#define expr_tree_add(...) nothing()

#define dyn_expr_parse dyn_expr_check
#include "expr/gram.c"
