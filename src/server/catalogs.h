/*
 * catalogs.h
 *	  Rows of the server's catalogs that have an OID, and names of relations for SQL.
 */
#ifndef DYNAMO_TABLE_SERVER_CATALOGS_H
#define DYNAMO_TABLE_SERVER_CATALOGS_H

#include "access/htup.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

extern List *catalogs_shown(Snapshot snapshot, Oid catalog, Oid index, AttrNumber column,
							Oid value);
extern HeapTuple catalogs_relation_shown(Snapshot snapshot, Oid relid);
extern List *catalogs_rows(Oid catalog, Oid index, AttrNumber column, Oid value);
extern HeapTuple catalogs_row(Oid catalog, Oid index, AttrNumber column, Oid value);
extern List *catalogs_dependents(Oid relid, Oid catalog);
extern char *catalogs_qualified(Oid relid);
extern bool catalogs_within_reach(Oid relid);

#endif
