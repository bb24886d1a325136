/*
 * owned.h
 *	  Tables of the extension's own, on which only their owner has rights.
 */
#ifndef DYNAMO_TABLE_WORK_OWNED_H
#define DYNAMO_TABLE_WORK_OWNED_H

typedef struct OwnedRights
{
	Oid user;
	int context;
	int nest;
} OwnedRights;

extern Oid owned_table(Oid schema, const char *name);
extern void owned_refuse_triggers(Oid relid);
extern void owned_begin(Oid relid, OwnedRights *before);
extern void owned_end(const OwnedRights *before);
extern const char *owned_schema_name(Oid schema);
extern uint64 owned_execute_sql(Oid schema, const char *name, const char *sql, int nargs,
								Oid *types, Datum *values, const char *nulls);
extern Datum owned_value(int column);

/*
 * Executes a literal in which %1$s stands for the extension's schema, quoted.  The literal is a
 * format, so no text may be put into it before: a statement with other names in it is made by
 * psprintf() and goes to owned_execute_sql().
 */
#define owned_execute(schema, name, statement, ...) \
	owned_execute_sql((schema), (name), psprintf(statement, owned_schema_name(schema)), __VA_ARGS__)

#endif
