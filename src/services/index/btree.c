/*
 * btree.c
 *	  The btree behind a secondary index: found, built, dropped.
 *
 * Building and dropping without a lock in the way of writers is CREATE and DROP INDEX
 * CONCURRENTLY, which run in no function, so a worker does it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "server/catalogs.h"
#include "server/errors.h"
#include "server/sql.h"
#include "services/index/index.h"

/* A build that meets a deadlock is begun again. */
#define MAX_BUILDS 10

/* Opens the table as it is; nothing stays locked once the transaction ends. */
static Relation
btree_look(IndexBuild *work, DynTable **table)
{
	return index_build_open(work, AccessShareLock, table);
}

/*
 * Runs a statement about the index.  While it runs nothing is held here: it waits for every
 * transaction that has the table locked or a snapshot.  It may have met a deadlock instead of coming
 * to its end.
 */
void
index_build_run_statement(IndexBuild *work, const char *sql)
{
	char *kept = MemoryContextStrdup(work->procedure.context, sql);

	procedure_next_transaction(&work->procedure);
	if (work->temporary)
		dyn_execute(kept);
	else
		statement_run(&work->procedure, &work->place, kept);
	pfree(kept);
}

/* Returns whether the entries of the index are no btree's; they are dropped with its definition. */
static bool
has_entries(IndexBuild *work)
{
	DynTable *table;
	Relation rel = btree_look(work, &table);
	bool entries = index_build_find(work, table)->entries != NULL;

	relation_close(rel, NoLock);
	return entries;
}

static char *
drop_sql(const IndexBuild *work, Oid btree)
{
	return psprintf("DROP INDEX %s%s", work->temporary ? "" : "CONCURRENTLY ",
					catalogs_qualified(btree));
}

/*
 * Remains
 */

/* Returns the columns of an index as pg_index prints them. */
static char *
column_numbers(const DynTable *table, const DynIndex *index)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(&out, "%s%d", i > 0 ? " " : "", dyn_index_key(table, index, i)->attnum);
	if (index->carried != NULL)
		appendStringInfo(&out, " %d", table->keys[index->carried_column].attnum);
	return out.data;
}

/*
 * Returns the drop of a btree that is not valid: left by an interrupted build, drop or REINDEX.  No
 * session is working on it: building and dropping one need the lock that is taken here.
 */
static char *
drop_remains_sql(IndexBuild *work)
{
	DynTable *table;
	Relation rel = index_build_open_briefly(work, ShareUpdateExclusiveLock, &table);
	const DynIndex *index = index_build_find(work, table);
	const char *columns = column_numbers(table, index);
	const char *name = psprintf("%s_%s", RelationGetRelationName(rel), work->index);
	char *sql = NULL;

	relation_close(rel, NoLock);
	sql_execute("SELECT i.indexrelid FROM pg_catalog.pg_index i"
				" JOIN pg_catalog.pg_class c"
				" ON c.oid OPERATOR(pg_catalog.=) i.indexrelid"
				" WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND NOT i.indisvalid"
				" AND i.indkey::pg_catalog.text OPERATOR(pg_catalog.=) $2"
				" AND pg_catalog.starts_with(c.relname::pg_catalog.text, $3)",
				true, 1,
				SQL_VALUES(SQL_OID(work->procedure.relid), SQL_TEXT(columns), SQL_TEXT(name)));
	if (SPI_processed > 0)
		sql = drop_sql(work, DatumGetObjectId(sql_value(SPI_tuptable, 0, 1)));
	SPI_freetuptable(SPI_tuptable);
	return sql;
}

static void
drop_remains(IndexBuild *work)
{
	char *sql;

	while ((sql = drop_remains_sql(work)) != NULL)
		index_build_run_statement(work, sql);
}

/*
 * Build
 */

/* Returns the statement that builds it, or NULL if there is a btree already. */
static char *
build_sql(IndexBuild *work)
{
	DynTable *table;
	Relation rel = btree_look(work, &table);
	char *sql = NULL;

	if (!OidIsValid(index_build_find(work, table)->relid))
		sql = index_build_btree_sql(work, dyn_shape_of(rel, table), rel, !work->temporary);
	relation_close(rel, NoLock);
	return sql;
}

/*
 * Builds the index's btree unless there is a valid one, after it has dropped those that interrupted
 * builds or drops have left.  It commits the caller's transaction, and waits for a background
 * worker unless the table is temporary (see statement_run()).
 */
void
index_build_btree(IndexBuild *work)
{
	char *sql;

	if (has_entries(work))
	{
		index_build_entries(work);
		return;
	}
	for (int i = 0; i < MAX_BUILDS; i++)
	{
		drop_remains(work);
		sql = build_sql(work);
		if (sql == NULL)
			return;
		index_build_progress(work, INDEX_BUILD_BTREE);
		ereport(NOTICE, (errmsg("%s: building", work->procedure.what)));
		index_build_run_statement(work, sql);
	}
	if (build_sql(work) != NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the btree of %s of table \"%s\" is not there", work->procedure.what,
							   work->procedure.table),
						errhint("Call %s again.", work->procedure.name)));
}

/*
 * Drop
 */

/* Returns whether the btree is the primary key's or another index's as well. */
static bool
is_shared(const DynTable *table, const DynIndex *index)
{
	if (index->relid == table->primary.relid)
		return true;
	for (int i = 0; i < table->nindexes; i++)
	{
		if (&table->indexes[i] != index && table->indexes[i].relid == index->relid)
			return true;
	}
	return false;
}

/*
 * Drops the index's btree, unless it is that of the primary key or of another index too, and what
 * interrupted builds or drops have left of it.  It commits and waits like index_build_btree().
 */
void
index_build_drop_btree(IndexBuild *work)
{
	DynTable *table;
	Relation rel;
	const DynIndex *index;
	char *sql;

	if (has_entries(work))
		return;
	do
	{
		drop_remains(work);
		rel = btree_look(work, &table);
		index = index_build_find(work, table);
		sql = OidIsValid(index->relid) && !is_shared(table, index) ? drop_sql(work, index->relid)
																   : NULL;
		relation_close(rel, NoLock);
		if (sql != NULL)
			index_build_run_statement(work, sql);
	} while (sql != NULL);
}
