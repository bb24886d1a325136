/*
 * term.h
 *	  Conditions on keys, for the files of this folder only.
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_TERM_H
#define DYNAMO_TABLE_API_PARTIQL_TERM_H

#include "api/partiql/compile.h"
#include "catalog/table.h"

/* PartiqlKeys are those that conditions are looked at for. */
typedef struct PartiqlKeys
{
	const PartiqlStatement *statement;
	const ItemSpan *values; /* by slot */
	const DynTable *table;
	const DynIndex *index;
} PartiqlKeys;

typedef struct PartiqlTerm
{
	const PartiqlNode *node;
	int key; /* number in the index */
	ExprKeyOp op;
	bool turned; /* the value is on the left */
	int nvalues;
} PartiqlTerm;

/* term.c */
extern int partiql_key_number(const PartiqlKeys *keys, const PartiqlNode *node);
extern bool partiql_names_key(const PartiqlKeys *keys, const PartiqlNode *node, int from);
extern bool partiql_find_term(const PartiqlKeys *keys, const PartiqlNode *node, PartiqlTerm *term);
extern ItemSpan partiql_term_value(const PartiqlKeys *keys, const PartiqlTerm *term, int number);

#endif
