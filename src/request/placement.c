/*
 * placement.c
 *	  dyn_set_placement(): the setting of a table.
 */
#include "postgres.h"

#include "fmgr.h"

#include "ground/errors.h"
#include "request/resource.h"

PG_FUNCTION_INFO_V1(dyn_set_placement);
Datum
dyn_set_placement(PG_FUNCTION_ARGS)
{
	text *name = PG_GETARG_TEXT_PP(0);
	DynSettings settings;
	DynTable *table;
	Relation rel = request_lock_table(text_span(name), ShareRowExclusiveLock, &table);

	settings = table->settings;
	settings.no_placement = !PG_GETARG_BOOL(1);
	request_write_settings(rel, table, &settings);
	PG_RETURN_VOID();
}
