/*
 * owned.h
 *	  Tables of the extension's own, which nobody has rights on but their owner.
 */
#ifndef DYNAMO_TABLE_CATALOG_OWNED_H
#define DYNAMO_TABLE_CATALOG_OWNED_H

typedef struct OwnedRights
{
	Oid user;
	int context;
	int nest;
} OwnedRights;

extern Oid owned_extension_schema(void);
extern Oid owned_table(Oid schema, const char *name);
extern void owned_refuse_triggers(Oid relid);
extern void owned_begin(Oid relid, OwnedRights *before);
extern void owned_end(const OwnedRights *before);
extern uint64 owned_execute(Oid schema, const char *name, const char *statement, int nargs,
							Oid *types, Datum *values, const char *nulls);
extern Datum owned_value(int column);

#endif
