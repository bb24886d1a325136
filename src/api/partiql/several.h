/*
 * several.h
 *	  Requests of several statements: transactions and batches.
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_SEVERAL_H
#define DYNAMO_TABLE_API_PARTIQL_SEVERAL_H

#include "actions/several.h"
#include "api/partiql/partiql.h"

/* transact.c */
pg_noreturn extern void partiql_fail_part(int number, const ErrorData *error);
extern void partiql_set_action(const PartiqlBound *bound, int number, TransactAction *action);

/* A PartiqlPart is a statement of a batch. */
typedef struct PartiqlPart
{
	const PartiqlBound *bound; /* NULL: there is nothing to run */
	bool consistent;
	DynItem *item; /* what it has returned, or NULL */
} PartiqlPart;

typedef struct PartiqlBatch
{
	int nparts;
	PartiqlPart *parts;
	const ItemMeter *meter; /* or NULL */
	PartUnderWay *part; /* as of BatchGetRequest */
	/* a statement has failed: its error, which has just been caught */
	void (*failed)(int part, const ErrorData *error, void *arg);
	void *arg;
} PartiqlBatch;

/* batch.c */
extern void partiql_batch(const PartiqlBatch *batch);

#endif
