/*
 * owned.h
 *	  Tables of the extension's own, on which only their owner has rights.
 */
#ifndef DYNAMO_TABLE_WORK_OWNED_H
#define DYNAMO_TABLE_WORK_OWNED_H

#include "ground/extension.h"

typedef struct OwnedRights
{
	Oid user;
	int context;
	int nest;
} OwnedRights;

extern Oid owned_table(const char *name);
extern void owned_refuse_triggers(Oid relid);
extern void owned_begin(Oid relid, OwnedRights *before);
extern void owned_end(const OwnedRights *before);
extern uint64 owned_execute(const char *name, const char *sql, int nargs, Oid *types, Datum *values,
							const char *nulls);
extern Datum owned_value(int column);

#endif
