/*
 * covering.c
 *	  Making covering indexes: how they carry what they project, and what their table needs for it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/shape.h"
#include "ground/settings.h"

/*
 * The row of an item that is in the index doubles with a column, and no update of the table is HOT
 * with an expression over the item.  So an expression is for indexes that have at least this share
 * of the items.
 */
#define DENSE 0.25

/*
 * An index-only read visits the rows of pages that are not visible to all.  With autovacuum's own
 * scale factors a table is vacuumed when a fifth of it was written, and nearly no page is visible to
 * all by then, if writes are spread evenly.
 */
#define SCALE_FACTOR "0.01"

/* Whether an index is to be covering, and how is not settled yet. */
bool
dyn_covering_is_open(const DynIndexSpec *spec)
{
	return spec->covering == DYN_COVERING_WANTED && spec->projection == DYN_PROJECT_ALL;
}

/*
 * Settles how a new index that is to be covering carries what it projects.  share: of the table's
 * items, those that are in the index; below 0: it is not known.
 */
void
dyn_covering_settle(DynIndexSpec *spec, double share)
{
	if (spec->covering == DYN_COVERING_NONE)
		return;
	if (spec->covering == DYN_COVERING_WANTED)
		spec->covering = spec->projection == DYN_PROJECT_ALL && share >= DENSE
							 ? DYN_COVERING_EXPRESSION
							 : DYN_COVERING_COLUMN;
	spec->entry_limit = dyn_covering_entry_limit;
	spec->compression = DYN_COMPRESSION_PGLZ;
#ifdef USE_LZ4
	spec->compression = DYN_COMPRESSION_LZ4;
#endif
}

/* Tells the choice for an index that carries whole items, and its price. */
void
dyn_covering_tell(const DynIndexSpec *spec, const char *table, double share)
{
	bool column = spec->covering == DYN_COVERING_COLUMN;

	if (spec->covering == DYN_COVERING_NONE || spec->projection != DYN_PROJECT_ALL)
		return;
	ereport(
		NOTICE,
		(errmsg("index \"%s\" of table \"%s\" carries items %s", item_quoted(spec->name), table,
				column ? "in a column of its own" : "by an expression"),
		 column ? errdetail("Rows of items that are in the index are about twice as long.  Updates "
							"of other items stay HOT.")
				: errdetail("Rows stay as long as they are.  No update of the table is HOT, so "
							"each one writes to all of its indexes."),
		 share < 0 ? 0
				   : errhint("%.0f %% of the items are in the index.  \"covering\" may also be "
							 "\"%s\".",
							 100 * share, column ? "expression" : "column")));
}

/*
 * Returns the statement that keeps the values of a btree's expression out of the statistics, where
 * they are items and tell nothing.
 */
char *
dyn_covering_statistics_sql(Oid btree)
{
	Relation rel = index_open(btree, AccessShareLock);
	char *sql = psprintf("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS 0",
						 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
													RelationGetRelationName(rel)),
						 RelationGetNumberOfAttributes(rel));

	index_close(rel, AccessShareLock);
	return sql;
}

static bool
has_covering(const DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		if (((const DynIndexSpec *) lfirst(cell))->covering != DYN_COVERING_NONE)
			return true;
	}
	return false;
}

/*
 * Returns the storage parameters that a table of the shape needs and does not have, separated by
 * commas; empty if there are none.  rel: NULL for a table that is to be created.
 */
const char *
dyn_covering_parameters(const DynShape *shape, Relation rel)
{
	const StdRdOptions *options = rel == NULL ? NULL : (const StdRdOptions *) rel->rd_options;
	bool updates = options == NULL || options->autovacuum.vacuum_scale_factor < 0;
	bool inserts = options == NULL || options->autovacuum.vacuum_ins_scale_factor < 0;

	if (!has_covering(shape) || (!updates && !inserts))
		return "";
	return psprintf("%s%s%s", updates ? "autovacuum_vacuum_scale_factor = " SCALE_FACTOR : "",
					updates && inserts ? ", " : "",
					inserts ? "autovacuum_vacuum_insert_scale_factor = " SCALE_FACTOR : "");
}
