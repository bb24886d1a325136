/*
 * covering.c
 *	  Storage parameters of tables that have covering indexes.
 */
#include "postgres.h"

#include "utils/rel.h"

#include "catalog/shape.h"

/*
 * An index-only read visits the rows of pages that are not visible to all.  With autovacuum's own
 * scale factors a table is vacuumed when a fifth of it was written, and nearly no page is visible
 * to all by then, if writes are spread evenly.
 */
#define SCALE_FACTOR "0.01"

static bool
has_covering(const DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		if (((const DynIndexSpec *) lfirst(cell))->covering)
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
