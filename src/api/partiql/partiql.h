/*
 * partiql.h
 *	  PartiQL: statements that select, insert, update and delete items.
 *
 *		compiled = partiql_compile(text);
 *		bound = partiql_bind(compiled, n, parameters);
 *
 * A statement becomes a tree that says what is written, and nothing is looked up for it.  From the
 * tree come the expressions of the expr folder, so that no rule of conditions and updates is written
 * twice, and a plan of which keys are read.  Values are literals or parameters, and no text of
 * another statement is made of any of it.
 *
 *		tree.h			the tree of a statement, for the files of this folder
 *		scan.l			tokens
 *		gram.y			the grammar
 *		keyword.c		the words that are no names
 *		error.c			errors: what is wrong, and where in the text
 *		parse.c			running the parser
 *		node.c			nodes of the tree, called by the grammar
 *		check.c			what a statement must be beyond its syntax
 *		literal.c		the values that literals stand for
 *		compile.h		a compiled statement, for the files of this folder
 *		build.c			from the tree to expressions
 *		compile.c		the cache of compiled statements, and binding their parameters
 *		parameters.c	reading these
 *		plan.h			the keys that a statement reads or writes
 *		term.h			conditions on keys, for the files of this folder
 *		term.c			finding these
 *		plan.c			the reads of a SELECT
 *		key.c			the key of a write
 *		execute.c		running a statement
 *		explain.c		what that takes
 *		several.h		requests of several statements
 *		transact.c		statements as the actions of a transaction
 *		batch.c			batches of statements
 *		token.c			NextToken
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_PARTIQL_H
#define DYNAMO_TABLE_API_PARTIQL_PARTIQL_H

#include "nodes/pg_list.h"

#include "actions/actions.h"
#include "item/reader.h"

#define PARTIQL_MAX_TEXT 8192 /* characters of a statement */

typedef enum PartiqlKind
{
	PARTIQL_SELECT,
	PARTIQL_INSERT,
	PARTIQL_UPDATE,
	PARTIQL_DELETE,
	PARTIQL_EXISTS
} PartiqlKind;

typedef enum PartiqlReturning
{
	PARTIQL_RETURNING_NOTHING,
	PARTIQL_RETURNING_ALL_OLD,
	PARTIQL_RETURNING_ALL_NEW,
	PARTIQL_RETURNING_MODIFIED_OLD,
	PARTIQL_RETURNING_MODIFIED_NEW
} PartiqlReturning;

typedef struct PartiqlStatement PartiqlStatement;
typedef struct PartiqlCompiled PartiqlCompiled;

/* A PartiqlBound is a statement with its parameters.  What it does not have is NULL. */
typedef struct PartiqlBound
{
	const PartiqlCompiled *compiled;
	const ItemSpan *values; /* by slot, see compile.h */
	Expr *condition; /* of WHERE, all of it */
	Expr *projection;
	Expr *update;
	DynItem *item; /* to insert */
} PartiqlBound;

/* A PartiqlCall says how a statement is to be run.  What is not given is NULL or 0. */
typedef struct PartiqlCall
{
	const PartiqlBound *bound;
	FrontCall front; /* whose table is the statement's */
	bool consistent;
	bool paged; /* as of ReadRequest, which has the others of a SELECT, too */
	int64 page_size;
	int64 max_items;
	int first_read; /* the reads before it were done */
	DynItem *start_key; /* in that one */
	bool old_on_failure;
	struct PartiqlExplainer *explainer; /* of explain.c */
} PartiqlCall;

/* A PartiqlAccess is a read of a SELECT, or a write. */
typedef struct PartiqlAccess
{
	PartiqlKind kind;
	bool scan; /* a read of all */
	bool forward;
	ItemSpan condition; /* that is evaluated on each item, no data: none */
	int64 items_read;
	int64 items_returned;
	int64 bytes_read;
	StoreExplanation store;
} PartiqlAccess;

typedef void (*PartiqlAccessCallback)(const PartiqlAccess *step, void *arg);

/* compile.c */
extern const PartiqlCompiled *partiql_compile(ItemSpan text);
extern PartiqlKind partiql_kind(const PartiqlCompiled *compiled);
extern void partiql_source(const PartiqlCompiled *compiled, ItemSpan *table, ItemSpan *index);
extern PartiqlBound *partiql_bind(const PartiqlCompiled *compiled, int n,
								  const ItemSpan *parameters);

/* parameters.c */
extern List *partiql_read_parameters(JsonReader *reader);
extern PartiqlBound *partiql_bind_list(const PartiqlCompiled *compiled, const List *parameters);

/* execute.c */
extern void partiql_init(void);
extern void partiql_forbid_exists(const PartiqlCompiled *compiled);
extern void partiql_forbid_count(const PartiqlCompiled *compiled);
extern int partiql_select(const PartiqlCall *call, ResultCallback callback, void *arg,
						  ReadResult *result);
extern DynItem *partiql_write(const PartiqlCall *call);
extern void partiql_begin_request(const PartiqlBound *bound, ItemRequest *request);

/* explain.c */
extern void partiql_explain(PartiqlCall *call, PartiqlAccessCallback callback, void *arg);

/* token.c */
#define PARTIQL_MAX_TOKEN 32768
extern char *partiql_print_token(const PartiqlBound *bound, int read, const DynItem *key);
extern DynItem *partiql_parse_token(const PartiqlBound *bound, ItemSpan text, int *read);

#endif
