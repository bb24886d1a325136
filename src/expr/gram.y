%code top {
/*
 * gram.y
 *	  The grammar of all kinds of expression.
 *
 * Conditions, filters and key conditions are one language.  What may stand where beyond
 * the syntax (a value or a condition, which function) is checked as nodes are made, in
 * node.c, so that the messages can say it.
 */
#include "postgres.h"

#include "expr/tree.h"

/* Memory goes with the context, also after an error. */
#define YYMALLOC palloc
#define YYFREE pfree

#define YYLLOC_DEFAULT(current, rhs, n) ((current) = (rhs)[(n) > 0 ? 1 : 0])
}

%code {
extern int dyn_expr_lex(DYN_EXPR_STYPE *value, DYN_EXPR_LTYPE *location, void *scanner);

static void
dyn_expr_error(DYN_EXPR_LTYPE *location, ExprParse *parse, void *scanner, const char *message)
{
	expr_fail_syntax(parse, message);
}
}

%define api.pure full
%define api.prefix {dyn_expr_}
%define api.location.type {int}
%locations
/* so that a syntax error comes before an error about what it follows */
%define lr.default-reduction accepting
%expect 0
%parse-param {ExprParse *parse} {void *scanner}
%lex-param {void *scanner}
/* bison's code counts this and never uses it, of which newer compilers warn */
%initial-action { (void) yynerrs; }

%union
{
	ItemSpan span;
	ExprNodeType type;
	ExprNode *node;
	ExprPath *path;
	List *list;
}

%token START_CONDITION START_PROJECTION START_UPDATE
%token AND OR NOT BETWEEN IN SET ADD DELETE NE LE GE INVALID
%token <span> NAME NAME_REF VALUE_REF INDEX REMOVE

%type <span> name
%type <path> path
%type <type> comparator
%type <node> or and not predicate term sum operand
%type <list> terms sums

%%

start:
	START_CONDITION or				{ expr_set_condition(parse, $2); }
	| START_PROJECTION projection
	| START_UPDATE update
	;

/* paths; REMOVE is a keyword but not a reserved word */

name:
	NAME
	| REMOVE
	;

path:
	name							{ $$ = expr_make_path(parse, $1, @1); }
	| NAME_REF						{ $$ = expr_make_path_ref(parse, $1, @1); }
	| path '.' name					{ $$ = expr_path_name(parse, $1, $3, @3); }
	| path '.' NAME_REF				{ $$ = expr_path_ref(parse, $1, $3, @3); }
	| path '[' INDEX ']'			{ $$ = expr_path_index(parse, $1, $3, @3); }
	;

/* conditions */

or:
	and
	| or OR and						{ $$ = expr_make_node(parse, NODE_OR, @2, list_make2($1, $3)); }
	;

and:
	not
	| and AND not					{ $$ = expr_make_node(parse, NODE_AND, @2, list_make2($1, $3)); }
	;

not:
	predicate
	| NOT not						{ $$ = expr_make_node(parse, NODE_NOT, @1, list_make1($2)); }
	;

predicate:
	term							{ $$ = expr_make_condition(parse, $1); }
	| term comparator term			{ $$ = expr_make_node(parse, $2, @2, list_make2($1, $3)); }
	| term BETWEEN term AND term	{ $$ = expr_make_node(parse, NODE_BETWEEN, @2, list_make3($1, $3, $5)); }
	| term IN '(' terms ')'			{ $$ = expr_make_node(parse, NODE_IN, @2, lcons($1, $4)); }
	;

comparator:
	'='								{ $$ = NODE_EQ; }
	| NE							{ $$ = NODE_NE; }
	| '<'							{ $$ = NODE_LT; }
	| LE							{ $$ = NODE_LE; }
	| '>'							{ $$ = NODE_GT; }
	| GE							{ $$ = NODE_GE; }
	;

term:
	path							{ $$ = expr_make_path_node(parse, $1); }
	| VALUE_REF						{ $$ = expr_make_value(parse, $1, @1); }
	| name '(' terms ')'			{ $$ = expr_make_function(parse, $1, @1, $3); }
	| '(' or ')'					{ $$ = expr_make_parens(parse, $2, @1); }
	;

terms:
	term							{ $$ = list_make1($1); }
	| terms ',' term				{ $$ = lappend($1, $3); }
	;

/* projections */

projection:
	path							{ expr_tree_add(parse, $1); }
	| projection ',' path			{ expr_tree_add(parse, $3); }
	;

/* updates */

update:
	clause
	| update clause
	;

clause:
	SET								{ expr_begin_clause(parse, EXPR_SET, @1); } sets
	| REMOVE						{ expr_begin_clause(parse, EXPR_REMOVE, @1); } removes
	| ADD							{ expr_begin_clause(parse, EXPR_ADD, @1); } adds
	| DELETE						{ expr_begin_clause(parse, EXPR_DELETE, @1); } deletes
	;

sets:
	path '=' sum					{ expr_add_action(parse, EXPR_SET, $1, $3); }
	| sets ',' path '=' sum			{ expr_add_action(parse, EXPR_SET, $3, $5); }
	;

removes:
	path							{ expr_add_action(parse, EXPR_REMOVE, $1, NULL); }
	| removes ',' path				{ expr_add_action(parse, EXPR_REMOVE, $3, NULL); }
	;

adds:
	path VALUE_REF					{ expr_add_action(parse, EXPR_ADD, $1, expr_make_value(parse, $2, @2)); }
	| adds ',' path VALUE_REF		{ expr_add_action(parse, EXPR_ADD, $3, expr_make_value(parse, $4, @4)); }
	;

deletes:
	path VALUE_REF					{ expr_add_action(parse, EXPR_DELETE, $1, expr_make_value(parse, $2, @2)); }
	| deletes ',' path VALUE_REF	{ expr_add_action(parse, EXPR_DELETE, $3, expr_make_value(parse, $4, @4)); }
	;

sum:
	operand
	| operand '+' operand			{ $$ = expr_make_node(parse, NODE_PLUS, @2, list_make2($1, $3)); }
	| operand '-' operand			{ $$ = expr_make_node(parse, NODE_MINUS, @2, list_make2($1, $3)); }
	;

operand:
	path							{ $$ = expr_make_path_node(parse, $1); }
	| VALUE_REF						{ $$ = expr_make_value(parse, $1, @1); }
	| name '(' sums ')'				{ $$ = expr_make_function(parse, $1, @1, $3); }
	| '(' sum ')'					{ $$ = expr_make_parens(parse, $2, @1); }
	;

sums:
	sum								{ $$ = list_make1($1); }
	| sums ',' sum					{ $$ = lappend($1, $3); }
	;

%%
