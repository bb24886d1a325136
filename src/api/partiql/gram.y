%code top {
/*
 * gram.y
 *	  The grammar of PartiQL's statements, as far as DynamoDB has them.
 *
 * It takes what PartiQL takes, and check.c refuses what DynamoDB does not: so an error of syntax
 * anywhere in the text comes before all others.
 */
#include "postgres.h"

#include "api/partiql/tree.h"

/* Memory goes with the context, also after an error. */
#define YYMALLOC palloc
#define YYFREE pfree

/* How deep a statement may nest.  Lists need no depth. */
#define YYMAXDEPTH 2000
}

%code {
extern int dyn_partiql_lex(DYN_PARTIQL_STYPE *value, PartiqlParse *parse);

static void
dyn_partiql_error(PartiqlParse *parse, const char *message)
{
	/* bison has two messages only */
	if (strcmp(message, "syntax error") != 0)
		partiql_fail_nesting(parse);
	partiql_fail_syntax(parse);
}

#define LIST1(x) list_make1(x)
#define LIST2(x, y) list_make2(x, y)
#define LIST3(x, y, z) list_make3(x, y, z)
}

%define api.pure full
%define api.prefix {dyn_partiql_}
/* so that a syntax error is told before anything is made of what it follows */
%define lr.default-reduction accepting
%expect 0
%parse-param {PartiqlParse *parse}
%lex-param {PartiqlParse *parse}
/* bison's code counts this and never uses it, of which newer compilers warn */
%initial-action { (void) yynerrs; }

%union
{
	PartiqlToken token;
	PartiqlNode *node;
	PartiqlOrder *order;
	List *list;
	int number;
	bool flag;
}

%token <token> NAME QUOTED STRING NUMBER PARAMETER
%token <token> SELECT FROM WHERE ORDER BY ASC DESC LIMIT INSERT INTO VALUE UPDATE SET REMOVE DELETE
%token <token> RETURNING ALL MODIFIED OLD NEW EXISTS AS
%token <token> AND OR NOT NOT_IN NOT_BETWEEN BETWEEN IN IS NULL_WORD MISSING TRUE_WORD FALSE_WORD
%token <token> NE LE GE BAG_OPEN BAG_CLOSE
%token <token> '=' '<' '>' '+' '-' '*' '(' '[' '{' '.'
/* words that name functions, types or both, and words and operators that stand nowhere */
%token <token> FUNCTION_WORD TYPE_WORD LIST_WORD KEYWORD OPERATOR

%type <token> name function type
%type <node> simple column or and not equality comparison sum unary path term where limit
%type <list> columns order keys args exprs any_exprs pairs any_pairs
%type <order> key
%type <number> returning
%type <flag> direction

%%

start:
	statement
	| statement ';'
	;

statement:
	select							{ parse->statement->kind = PARTIQL_SELECT; }
	| insert						{ parse->statement->kind = PARTIQL_INSERT; }
	| update						{ parse->statement->kind = PARTIQL_UPDATE; }
	| delete						{ parse->statement->kind = PARTIQL_DELETE; }
	| EXISTS '(' select ')'			{ parse->statement->kind = PARTIQL_EXISTS; }
	;

select:
	SELECT columns FROM simple alias where order limit
									{
										parse->statement->columns = $2;
										parse->statement->source = $4;
										parse->statement->where = $6;
										parse->statement->order = $7;
										parse->statement->limit = $8;
									}
	;

columns:
	column							{ $$ = LIST1($1); }
	| columns ',' column			{ $$ = lappend($1, $3); }
	;

column:
	'*'								{ $$ = partiql_node(PARTIQL_STAR, $1, NIL); }
	| or alias
	;

alias:
	%empty
	| name							{ parse->statement->aliased = true; }
	| AS name						{ parse->statement->aliased = true; }
	;

where:
	%empty							{ $$ = NULL; }
	| WHERE or						{
										$$ = $2;
										partiql_set_where(parse, $1);
									}
	;

order:
	%empty							{ $$ = NIL; }
	| ORDER BY keys					{ $$ = $3; }
	;

keys:
	key								{ $$ = LIST1($1); }
	| keys ',' key					{ $$ = lappend($1, $3); }
	;

key:
	simple direction				{ $$ = partiql_order($1, $2); }
	;

direction:
	%empty							{ $$ = false; }
	| ASC							{ $$ = false; }
	| DESC							{ $$ = true; }
	;

limit:
	%empty							{ $$ = NULL; }
	| LIMIT or						{ $$ = $2; }
	;

insert:
	INSERT INTO simple VALUE or
									{
										parse->statement->source = $3;
										parse->statement->value = $5;
									}
	;

update:
	UPDATE simple alias changes where returning
									{
										parse->statement->source = $2;
										parse->statement->where = $5;
										parse->statement->returning = $6;
									}
	| FROM simple alias where changes returning
									{
										parse->statement->source = $2;
										parse->statement->where = $4;
										parse->statement->returning = $6;
									}
	;

delete:
	DELETE FROM simple alias where returning
									{
										parse->statement->source = $3;
										parse->statement->where = $5;
										parse->statement->returning = $6;
									}
	;

changes:
	change
	| changes change
	;

change:
	SET sets
	| REMOVE simple					{
										parse->statement->changes =
											lappend(parse->statement->changes,
													partiql_change($2, NULL));
									}
	;

sets:
	set
	| sets ',' set
	;

set:
	simple '=' or					{
										parse->statement->changes =
											lappend(parse->statement->changes,
													partiql_change($1, $3));
									}
	;

returning:
	%empty							{ $$ = PARTIQL_RETURNING_NOTHING; }
	| RETURNING ALL OLD '*'			{ $$ = PARTIQL_RETURNING_ALL_OLD; }
	| RETURNING ALL NEW '*'			{ $$ = PARTIQL_RETURNING_ALL_NEW; }
	| RETURNING MODIFIED OLD '*'	{ $$ = PARTIQL_RETURNING_MODIFIED_OLD; }
	| RETURNING MODIFIED NEW '*'	{ $$ = PARTIQL_RETURNING_MODIFIED_NEW; }
	;

/* paths where nothing else may stand */

name:
	NAME
	| QUOTED
	;

simple:
	name							{ $$ = partiql_path($1); }
	| simple '.' name				{ $$ = partiql_path_name($1, $2, $3); }
	| simple '[' or ']'				{ $$ = partiql_path_index($1, $2, $3); }
	;

/* expressions, from what binds loosely to what binds tightly */

or:
	and
	| or OR and						{ $$ = partiql_node(PARTIQL_OR, $2, LIST2($1, $3)); }
	;

and:
	not
	| and AND not					{ $$ = partiql_node(PARTIQL_AND, $2, LIST2($1, $3)); }
	;

not:
	equality
	| NOT not						{ $$ = partiql_not($1, $2); }
	;

equality:
	comparison
	| equality '=' comparison		{ $$ = partiql_node(PARTIQL_EQ, $2, LIST2($1, $3)); }
	| equality NE comparison		{ $$ = partiql_node(PARTIQL_NE, $2, LIST2($1, $3)); }
	| equality IN comparison		{ $$ = partiql_in($2, $1, $3); }
	| equality NOT_IN comparison	{ $$ = partiql_not($2, partiql_in($2, $1, $3)); }
	| equality IS type				{ $$ = partiql_is($2, $1, $3); }
	| equality IS NOT type			{ $$ = partiql_not($3, partiql_is($2, $1, $4)); }
	;

comparison:
	sum
	| comparison '<' sum			{ $$ = partiql_node(PARTIQL_LT, $2, LIST2($1, $3)); }
	| comparison LE sum				{ $$ = partiql_node(PARTIQL_LE, $2, LIST2($1, $3)); }
	| comparison '>' sum			{ $$ = partiql_node(PARTIQL_GT, $2, LIST2($1, $3)); }
	| comparison GE sum				{ $$ = partiql_node(PARTIQL_GE, $2, LIST2($1, $3)); }
	| comparison BETWEEN sum AND sum
									{ $$ = partiql_node(PARTIQL_BETWEEN, $2, LIST3($1, $3, $5)); }
	| comparison NOT_BETWEEN sum AND sum
									{
										$$ = partiql_not($2, partiql_node(PARTIQL_BETWEEN, $2,
																		  LIST3($1, $3, $5)));
									}
	;

sum:
	unary
	| sum '+' unary					{ $$ = partiql_node(PARTIQL_PLUS, $2, LIST2($1, $3)); }
	| sum '-' unary					{ $$ = partiql_node(PARTIQL_MINUS, $2, LIST2($1, $3)); }
	;

unary:
	path
	| '-' unary						{ $$ = partiql_sign($1, $2, true); }
	| '+' unary						{ $$ = partiql_sign($1, $2, false); }
	;

path:
	term
	| path '.' name					{ $$ = partiql_path_name($1, $2, $3); }
	| path '[' or ']'				{ $$ = partiql_path_index($1, $2, $3); }
	;

term:
	name							{ $$ = partiql_path($1); }
	| function '(' args ')'			{ $$ = partiql_function($1, $3); }
	| PARAMETER						{ $$ = partiql_parameter(parse, $1); }
	| STRING						{ $$ = partiql_node(PARTIQL_STRING, $1, NIL); }
	| NUMBER						{ $$ = partiql_node(PARTIQL_NUMBER, $1, NIL); }
	| TRUE_WORD						{ $$ = partiql_bool($1, true); }
	| FALSE_WORD					{ $$ = partiql_bool($1, false); }
	| NULL_WORD						{ $$ = partiql_node(PARTIQL_NULL, $1, NIL); }
	| MISSING						{ $$ = partiql_node(PARTIQL_MISSING, $1, NIL); }
	| '(' exprs ')'					{ $$ = partiql_group($1, $2); }
	| '[' any_exprs ']'				{ $$ = partiql_node(PARTIQL_LIST, $1, $2); }
	| BAG_OPEN any_exprs BAG_CLOSE	{ $$ = partiql_node(PARTIQL_BAG, $1, $2); }
	| '{' any_pairs '}'				{ $$ = partiql_node(PARTIQL_TUPLE, $1, $2); }
	;

function:
	name
	| FUNCTION_WORD
	| LIST_WORD
	| EXISTS
	;

type:
	TYPE_WORD
	| LIST_WORD
	| NULL_WORD
	| MISSING
	;

args:
	any_exprs
	| '*'							{ $$ = LIST1(partiql_node(PARTIQL_STAR, $1, NIL)); }
	;

exprs:
	or								{ $$ = LIST1($1); }
	| exprs ',' or					{ $$ = lappend($1, $3); }
	;

any_exprs:
	%empty							{ $$ = NIL; }
	| exprs
	;

pairs:
	or ':' or						{ $$ = LIST2($1, $3); }
	| pairs ',' or ':' or			{ $$ = lappend(lappend($1, $3), $5); }
	;

any_pairs:
	%empty							{ $$ = NIL; }
	| pairs
	;

%%
