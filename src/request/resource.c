/*
 * resource.c
 *	  The tables that requests are about: found, locked, their settings changed.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "catalog/rights.h"
#include "ground/compat.h"
#include "ground/errors.h"
#include "index/index.h"
#include "request/resource.h"
#include "work/brief_lock.h"

pg_noreturn static void
fail_not_found(ItemSpan given)
{
	ItemSpan name = dyn_table_name(given);

	dyn_check_request_name("table", name);
	dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, "Table: %.*s not found", (int) name.len, name.data);
}

/* By name or ARN, under the lock of a reader. */
Relation
request_open_table(ItemSpan name, DynTable **table)
{
	Relation rel = dyn_table_find(name, AccessShareLock, table);

	if (rel == NULL)
		fail_not_found(name);
	return rel;
}

/* The same to describe it. */
Relation
request_open_state(ItemSpan name, DynTable **table)
{
	Relation rel = dyn_table_find_state(name, table);

	if (rel == NULL)
		fail_not_found(name);
	return rel;
}

/* Raise an error unless the current user has the rights of the table's owner. */
void
request_check_owner(Relation rel)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
}

/*
 * The same to change what the table is: for its owner, and under a lock that lets nobody else do
 * so.  Those who queue behind us for it do not queue long.
 */
Relation
request_lock_table(ItemSpan name, LOCKMODE mode, DynTable **table)
{
	Relation rel = request_open_table(name, table);
	Oid relid = RelationGetRelid(rel);

	request_check_owner(rel);
	/* two who held it while they wait for more would wait for each other */
	relation_close(rel, AccessShareLock);
	brief_lock(relid, mode);
	rel = try_relation_open(relid, NoLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_not_found(name);
	return rel;
}

/* Nobody may be at work on indexes of the table. */
void
request_keep_procedures_away(ItemSpan name)
{
	DynTable *table;
	Relation rel = request_open_table(name, &table);
	Oid relid = RelationGetRelid(rel);

	request_check_owner(rel);
	relation_close(rel, AccessShareLock);
	if (!procedure_await_turn(relid, false))
		dyn_error(ERRCODE_DYN_RESOURCE_IN_USE,
				  "Attempt to change a resource which is still in use: Table is being updated: "
				  "%s",
				  table->name);
}

/* What a procedure would do is begun here, on a table that is locked for it. */
void
request_begin_work(GsiWork *work, Relation rel, const DynTable *table)
{
	work->procedure.relid = RelationGetRelid(rel);
	work->procedure.table = table->name;
	rights_require_plain_table(rel, work->ttl ? work->procedure.what : "indexes");
}

/* For a background worker, which is to do the rest. */
void
request_require_permanent(Relation rel, const char *hint)
{
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a background worker cannot use temporary table \"%s\"",
							   RelationGetRelationName(rel)),
						errhint("%s", hint)));
}

/* A request that has a table's name and nothing else. */
ItemSpan
request_read_table_name(JsonReader *reader)
{
	static const RequestMember members[] = {{"TableName", MEMBER_STRING, 0, true}};
	ItemSpan name;

	request_read_members(reader, members, lengthof(members), &name);
	json_reader_done(reader);
	return name;
}

/* Write what a table that request_lock_table() has opened is to be, and close it. */
void
request_write_shape(Relation rel, DynShape *shape)
{
	relation_close(rel, NoLock);
	SPI_connect();
	dyn_shape_write_trigger(shape, true);
	SPI_finish();
}

/* The same of its settings. */
void
request_write_settings(Relation rel, const DynTable *table, const DynSettings *settings)
{
	DynShape *shape = dyn_shape_of(rel, table);

	shape->settings = *settings;
	request_write_shape(rel, shape);
}
