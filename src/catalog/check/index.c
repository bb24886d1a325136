/*
 * index.c
 *	  The primary key, and the btrees of secondary indexes and of time to live.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "catalog/key.h"
#include "server/catalogs.h"

/* Returns the primary key's btree, even if it is not valid; InvalidOid: there is none. */
Oid
check_find_primary(Relation rel)
{
	Oid found = InvalidOid;
	ListCell *cell;

	foreach (cell, RelationGetIndexList(rel))
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisprimary)
			found = lfirst_oid(cell);
		index_close(index, AccessShareLock);
	}
	return found;
}

static bool
can_be_concurrent(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		   rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP;
}

/* Returns the statement that builds a btree of the table again. */
static char *
check_reindex_sql(const TableCheck *check, Oid btree)
{
	return psprintf("REINDEX INDEX %s%s;", can_be_concurrent(check->rel) ? "CONCURRENTLY " : "",
					catalogs_qualified(btree));
}

/* Returns ADD PRIMARY KEY with the columns that are named like the keys. */
static char *
add_primary_key(const TableCheck *check)
{
	StringInfoData sql;

	if (check->shape == NULL)
		return pstrdup("ADD PRIMARY KEY (…)");
	initStringInfo(&sql);
	appendStringInfoString(&sql, "ADD PRIMARY KEY (");
	for (int i = 0; i < check->nkeys; i++)
	{
		const DynShapeColumn *column = list_nth(dyn_shape_columns(check->shape), i);

		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", quote_identifier(column->column));
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/*
 * Reports if the primary key is missing, deferrable, or has a btree that is not valid.
 * check->primary must be set.
 */
void
check_primary_key(TableCheck *check)
{
	static const char *const object = "primary key";
	Relation index;
	bool valid;
	bool immediate;

	if (!OidIsValid(check->primary))
	{
		check_report(check, object, "it is missing",
					 psprintf("ALTER TABLE %s %s;", check->qualified, add_primary_key(check)));
		return;
	}
	index = index_open(check->primary, AccessShareLock);
	valid = index->rd_index->indisvalid;
	immediate = index->rd_index->indimmediate;
	index_close(index, AccessShareLock);
	if (!immediate)
		check_report(check, object, "it is deferrable, so nothing is unique when it is written",
					 psprintf("ALTER TABLE %s DROP CONSTRAINT %s, %s;", check->qualified,
							  quote_identifier(get_rel_name(check->primary)),
							  add_primary_key(check)));
	else if (!valid)
		check_report(check, object, "its btree is not valid",
					 check_reindex_sql(check, check->primary));
}

/*
 * Secondary indexes
 */

static bool
has_columns(Relation btree, const DynTable *table, const DynIndex *index)
{
	if (btree->rd_index->indnkeyatts != index->ncolumns)
		return false;
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (btree->rd_index->indkey.values[i] != dyn_index_key(table, index, i)->attnum)
			return false;
	}
	return true;
}

/*
 * Returns a btree of the index's columns that cannot be used: it is not valid, or has another order
 * or predicate.
 */
static Oid
find_remains(const TableCheck *check, const DynIndex *index, bool *valid)
{
	Oid found = InvalidOid;
	ListCell *cell;

	foreach (cell, RelationGetIndexList(check->rel))
	{
		Relation btree = index_open(lfirst_oid(cell), AccessShareLock);

		if (!btree->rd_index->indisprimary && has_columns(btree, check->table, index))
		{
			found = lfirst_oid(cell);
			*valid = btree->rd_index->indisvalid;
		}
		index_close(btree, AccessShareLock);
	}
	return found;
}

/* Returns the statement that builds the btree of an index, or, if spec is NULL, of time to live. */
static char *
build_sql(const TableCheck *check, const DynIndexSpec *spec)
{
	static const ItemSpan ttl = {"ttl", 3};
	char *name = dyn_index_relation_name(RelationGetNamespace(check->rel),
										 RelationGetRelationName(check->rel),
										 spec != NULL ? spec->name : ttl);

	return spec != NULL
			   ? dyn_shape_index_sql(check->shape, spec, name, can_be_concurrent(check->rel))
			   : dyn_shape_ttl_sql(check->shape, name, can_be_concurrent(check->rel));
}

static void
check_btree(TableCheck *check, const char *object, const DynIndex *index, const DynIndexSpec *spec)
{
	Oid remains;
	bool valid = true;
	char *build;

	if (OidIsValid(index->relid))
		return;
	build = build_sql(check, spec);
	remains = find_remains(check, index, &valid);
	if (build == NULL)
		check_report(check, object, "the primary key does not serve as its btree",
					 "Mend the primary key.");
	else if (!OidIsValid(remains))
		check_report(check, object, "it has no btree of its columns", psprintf("%s;", build));
	else if (!valid)
		check_report(check, object,
					 psprintf("its btree \"%s\" is not valid", get_rel_name(remains)),
					 check_reindex_sql(check, remains));
	else
		check_report(check, object,
					 psprintf("its btree \"%s\" has another predicate, order or kind",
							  get_rel_name(remains)),
					 psprintf("%s;", build));
}

/* Returns the advice for an index that is being built or removed, or left by a broken call. */
static char *
advise_resuming(const TableCheck *check, ItemSpan index)
{
	return psprintf("Wait if dyn_jobs shows it; otherwise %s;",
					dyn_resume_call(quote_literal_cstr(check->qualified), index));
}

static const char *
describe_status(DynIndexStatus status)
{
	return status == DYN_INDEX_CREATING ? "it is being created, or that was interrupted"
										: "it is being deleted, or that was interrupted";
}

static void
check_ttl(TableCheck *check)
{
	static const char *const object = "time to live";
	DynIndexStatus status = check->shape->settings.ttl_status;

	if (status == DYN_INDEX_ACTIVE)
		check_btree(check, object, check->table->ttl, NULL);
	else
		check_report(check, object, describe_status(status),
					 advise_resuming(check, (ItemSpan){NULL, 0}));
}

/*
 * Reports secondary indexes and time to live that have no usable btree, or whose creation or
 * removal has not finished.  Does nothing unless check->table and check->shape are set.
 */
void
check_indexes(TableCheck *check)
{
	ListCell *cell;

	if (check->table == NULL || check->shape == NULL)
		return;
	foreach (cell, check->shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);
		const DynIndex *index = dyn_find_index(check->table, spec->name);
		const char *object = psprintf("index \"%.*s\"", (int) spec->name.len, spec->name.data);

		if (spec->status != DYN_INDEX_ACTIVE)
			check_report(check, object, describe_status(spec->status),
						 advise_resuming(check, spec->name));
		else if (index != NULL && index->entries == NULL)
			check_btree(check, object, index, spec);
	}
	if (check->table->ttl != NULL)
		check_ttl(check);
}
