/*
 * compile.h
 *	  A compiled statement, for the files of this folder only.
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_COMPILE_H
#define DYNAMO_TABLE_API_PARTIQL_COMPILE_H

#include "api/partiql/tree.h"
#include "expr/build.h"
#include "server/text_cache.h"

/* A PartiqlAttribute is one of the item that INSERT makes. */
typedef struct PartiqlAttribute
{
	ItemSpan name;
	int slot;
} PartiqlAttribute;

/* A PartiqlSetArgument is a parameter that must be a set. */
typedef struct PartiqlSetArgument
{
	int slot;
	const PartiqlNode *function;
} PartiqlSetArgument;

/*
 * Values have slots, which all expressions of the statement share: first the parameters, then the
 * literals in the order in which they were met.
 */
struct PartiqlCompiled
{
	TextEntry entry; /* in the cache */
	const PartiqlStatement *statement;
	int nslots;
	int nused;
	bool built; /* nothing changes any more */
	ItemSpan *literals; /* by slot; those of parameters have no data */
	const ExprCompiled *condition; /* NULL: there is no WHERE */
	const ExprCompiled *projection; /* NULL: all attributes */
	const ExprCompiled *update;
	List *attributes; /* PartiqlAttribute, of INSERT */
	List *sets; /* PartiqlSetArgument */
};

/* build.c */
extern void partiql_build(PartiqlCompiled *compiled);
extern Expr *partiql_build_joined(const PartiqlBound *bound, const List *conditions);
pg_noreturn extern void partiql_fail_set(const PartiqlStatement *statement,
										 const PartiqlNode *function);

#endif
