/*
 * tree.h
 *	  What the parser makes of a statement, for the files of this folder only.
 *
 * All memory is that of the context in which the statement was parsed.  After the statement was
 * compiled nothing of the tree changes, so a cache may share it.
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_TREE_H
#define DYNAMO_TABLE_API_PARTIQL_TREE_H

#include "nodes/pg_list.h"

#include "api/partiql/partiql.h"

#define PARTIQL_MAX_LITERAL_NESTING 31 /* lists and maps inside each other */

/* A PartiqlPlace is a stretch of the text, in bytes. */
typedef struct PartiqlPlace
{
	int at;
	int len;
} PartiqlPlace;

typedef struct PartiqlToken
{
	PartiqlPlace place;
	ItemSpan text; /* without quotes */
} PartiqlToken;

typedef enum PartiqlType
{
	/* values */
	PARTIQL_PATH,
	PARTIQL_PARAMETER,
	PARTIQL_STRING,
	PARTIQL_NUMBER,
	PARTIQL_BOOL,
	PARTIQL_NULL,
	PARTIQL_MISSING,
	PARTIQL_LIST,
	PARTIQL_BAG,
	PARTIQL_TUPLE, /* names and values in turn */
	PARTIQL_FUNCTION,
	PARTIQL_STAR, /* alone in a select list or in the arguments of a function */
	/* operators */
	PARTIQL_NEGATE,
	PARTIQL_PLUS,
	PARTIQL_MINUS,
	PARTIQL_EQ,
	PARTIQL_NE,
	PARTIQL_LT,
	PARTIQL_LE,
	PARTIQL_GT,
	PARTIQL_GE,
	PARTIQL_BETWEEN,
	PARTIQL_IN, /* the other arguments are what is in the list */
	PARTIQL_IS, /* the type is the text */
	PARTIQL_AND,
	PARTIQL_OR,
	PARTIQL_NOT
} PartiqlType;

typedef struct PartiqlNode
{
	PartiqlType type;
	PartiqlPlace place; /* of the token by which it is known */
	bool parens; /* stands in parentheses of its own */
	bool negative; /* of a number */
	bool truth; /* of a BOOL */
	int slot; /* of a parameter, or of a literal after it was built: see compile.h */
	ItemSpan text; /* of a string or number, of a function its name in lower case */
	List *steps; /* of a path: PartiqlStep */
	List *args; /* PartiqlNode */
} PartiqlNode;

/* A PartiqlStep is a name, or a list index if the name has no data. */
typedef struct PartiqlStep
{
	PartiqlPlace place;
	ItemSpan name;
	PartiqlNode *expression; /* between the brackets */
	uint32 index; /* known after the checks */
} PartiqlStep;

/* A PartiqlOrder is a key of ORDER BY. */
typedef struct PartiqlOrder
{
	PartiqlNode *path;
	bool descending;
} PartiqlOrder;

/* A PartiqlChange is SET, or REMOVE if there is no value. */
typedef struct PartiqlChange
{
	PartiqlNode *path;
	PartiqlNode *value;
} PartiqlChange;

struct PartiqlStatement
{
	ItemSpan text;
	PartiqlKind kind;
	PartiqlNode *source; /* the path behind FROM, INTO or UPDATE */
	ItemSpan table; /* known after the checks */
	ItemSpan index; /* no data: the table itself */
	bool aliased; /* a table or a column has another name */
	List *columns; /* NIL: all */
	/* COUNT(*) of an index, which is refused once that is known; NULL: there is none */
	const PartiqlNode *count;
	PartiqlNode *where; /* NULL: there is none */
	PartiqlPlace where_place; /* of its text */
	List *order; /* PartiqlOrder */
	PartiqlNode *limit; /* of a clause that is refused */
	PartiqlNode *value; /* of INSERT */
	List *changes; /* PartiqlChange */
	PartiqlReturning returning;
	int nparameters;
};

/* A PartiqlParse is the state of a parse. */
typedef struct PartiqlParse
{
	PartiqlStatement *statement;
	void *scanner;
	int offset; /* of the scanner: behind its last token */
	bool ahead; /* a token was read too far: */
	int ahead_type;
	PartiqlToken ahead_token;
	/* for errors: types of tokens, 0 for none */
	int first;
	int before; /* the last token but one */
	int last;
	bool is_not; /* before that stands IS NOT */
	int clause; /* the last word that began a clause */
	PartiqlPlace place; /* of the last token */
	int end; /* of the last token but one */
} PartiqlParse;

/* parse.c */
extern PartiqlStatement *partiql_parse(ItemSpan text);

/* keyword.c */
extern int partiql_keyword(ItemSpan word);
extern bool partiql_word_is(ItemSpan word, const char *lower);

/* scan.l */
extern int partiql_scan(PartiqlToken *token, void *scanner);
extern void *partiql_begin_scan(PartiqlParse *parse);
extern void partiql_end_scan(void *scanner);

/* error.c */
extern char *partiql_where(ItemSpan text, PartiqlPlace place);
pg_noreturn extern void partiql_fail(const PartiqlStatement *statement, PartiqlPlace place,
									 const char *words, const char *format, ...)
	pg_attribute_printf(4, 5);
pg_noreturn extern void partiql_fail_token(const PartiqlStatement *statement, PartiqlPlace place);
pg_noreturn extern void partiql_fail_syntax(const PartiqlParse *parse);
pg_noreturn extern void partiql_fail_nesting(const PartiqlParse *parse);

/* node.c, called by the grammar */
extern PartiqlNode *partiql_node(PartiqlType type, PartiqlToken token, List *args);
extern PartiqlNode *partiql_parameter(PartiqlParse *parse, PartiqlToken token);
extern PartiqlNode *partiql_bool(PartiqlToken token, bool truth);
extern PartiqlNode *partiql_function(PartiqlToken name, List *args);
extern PartiqlNode *partiql_group(PartiqlToken token, List *args);
extern PartiqlNode *partiql_sign(PartiqlToken token, PartiqlNode *node, bool negative);
extern PartiqlNode *partiql_in(PartiqlToken token, PartiqlNode *operand, PartiqlNode *list);
extern PartiqlNode *partiql_not(PartiqlToken token, PartiqlNode *node);
extern PartiqlNode *partiql_is(PartiqlToken token, PartiqlNode *operand, PartiqlToken type);
extern PartiqlNode *partiql_path(PartiqlToken name);
extern PartiqlNode *partiql_path_name(PartiqlNode *term, PartiqlToken dot, PartiqlToken name);
extern PartiqlNode *partiql_path_index(PartiqlNode *term, PartiqlToken bracket, PartiqlNode *index);
extern PartiqlOrder *partiql_order(PartiqlNode *path, bool descending);
extern PartiqlChange *partiql_change(PartiqlNode *path, PartiqlNode *value);
extern void partiql_set_where(PartiqlParse *parse, PartiqlToken where);

/* check.c */
extern ItemSpan partiql_column_name(const PartiqlNode *path);
extern char *partiql_path_text(const PartiqlNode *path);
pg_noreturn extern void partiql_fail_column(const PartiqlStatement *statement,
											const PartiqlNode *column);
extern void partiql_check(PartiqlStatement *statement);

/* literal.c */
extern bool partiql_is_literal(const PartiqlNode *node);
extern ItemSpan partiql_tuple_name(const PartiqlStatement *statement, const PartiqlNode *node);
extern ItemSpan partiql_literal(const PartiqlStatement *statement, const PartiqlNode *node);

#endif
