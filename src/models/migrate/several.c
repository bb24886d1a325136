/*
 * several.c
 *	  Values of several rows as the arrays that statements take.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "models/migrate/refresh.h"

/* Makes room for so many rows.  The caller sets the types. */
void
several_init(Several *several, int ncolumns, int max)
{
	several->ncolumns = ncolumns;
	several->n = 0;
	several->types = palloc(Max(ncolumns, 1) * sizeof(Oid));
	several->values = palloc(Max(ncolumns, 1) * sizeof(Datum *));
	several->nulls = palloc(Max(ncolumns, 1) * sizeof(bool *));
	for (int i = 0; i < ncolumns; i++)
	{
		several->values[i] = palloc(max * sizeof(Datum));
		several->nulls[i] = palloc0(max * sizeof(bool));
	}
}

static void
make_text(Oid type, int n, Datum *values, const bool *nulls)
{
	Oid output;
	bool varlena;

	getTypeOutputInfo(type, &output, &varlena);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			values[i] = CStringGetTextDatum(OidOutputFunctionCall(output, values[i]));
	}
}

static Datum
make_array(Oid type, int n, Datum *values, bool *nulls)
{
	int lower = 1;
	int16 len;
	bool byval;
	char align;

	if (!OidIsValid(get_array_type(type)))
	{
		make_text(type, n, values, nulls);
		type = TEXTOID;
	}
	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(
		construct_md_array(values, nulls, 1, &n, &lower, type, len, byval, align));
}

/*
 * Returns an array of each column, with n of its rows, of the type that step_array_type() tells.
 * Called once for each row, between migration_enter() and migration_leave(): values may be printed.
 */
Datum *
several_arrays(const Several *several, int first, int n)
{
	Datum *arrays = palloc(Max(several->ncolumns, 1) * sizeof(Datum));

	for (int i = 0; i < several->ncolumns; i++)
		arrays[i] =
			make_array(several->types[i], n, several->values[i] + first, several->nulls[i] + first);
	return arrays;
}

/*
 * Executes a statement of a step under a new snapshot, whatever the isolation level.  SPI has the
 * result.  Called between migration_enter() and migration_leave().
 */
void
step_execute(MigrationStep *step, const SelectOptions *options, Datum *values)
{
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute_snapshot(step_plan(step, options), values, NULL, GetLatestSnapshot(),
									  InvalidSnapshot, false, false, 0);

	MemoryContextSwitchTo(context);
	if (result < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
}
