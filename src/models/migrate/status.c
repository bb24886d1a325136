/*
 * status.c
 *	  dyn_migration_step_list(), dyn_migration_problems(): migrations by their declarations alone, which
 *	  may name what is not there any more, and what their last run has noted.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "actions/actions.h"
#include "catalog/definition/label.h"
#include "catalog/rights.h"
#include "models/migrate/migrate.h"
#include "server/arguments.h"
#include "server/extension.h"
#include "server/sql.h"
#include "store/plan.h"
#include "store/store.h"

extern PGDLLEXPORT Datum dyn_migration_problems(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_migration_step_list(PG_FUNCTION_ARGS);

static Datum
member_text(const ItemChildren *members, const char *name, bool *isnull)
{
	ItemSpan value;

	*isnull = !item_find(members, (ItemSpan){name, (uint32) strlen(name)}, &value) ||
			  item_type(value) != ITEM_S;
	if (*isnull)
		return (Datum) 0;
	value = item_payload(value);
	return PointerGetDatum(cstring_to_text_with_len(value.data, (int) value.len));
}

static Datum
new_columns(const ItemChildren *members, bool *isnull)
{
	List *names = NIL;
	Datum *values;
	int n = 0;
	ItemSpan from;
	ItemSpan columns;
	ListCell *cell;

	if (item_find(members, (ItemSpan){"from", 4}, &from) && item_type(from) == ITEM_S &&
		item_find(members, (ItemSpan){"columns", 7}, &columns))
		names = step_new_columns_of(item_payload(from), columns);
	*isnull = names == NIL;
	if (names == NIL)
		return (Datum) 0;
	values = palloc(list_length(names) * sizeof(Datum));
	foreach (cell, names)
		values[n++] = CStringGetTextDatum(lfirst(cell));
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

typedef struct Parsing
{
	const char *json;
	DynItem *item;
} Parsing;

static void
parse(void *arg)
{
	Parsing *parsing = arg;

	parsing->item =
		item_parse(parsing->json, (int) strlen(parsing->json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
}

static void
put_steps(ReturnSetInfo *result, Oid relid, const ModelDeclaration *declaration)
{
	char *name = pnstrdup(declaration->name.data, declaration->name.len);
	Parsing parsing = {declaration->json};
	bool followed = migration_followers(name, relid) != NIL;
	ItemChildren members;
	ItemSpan value;
	ItemChildren steps;

	if (!migration_try_read(parse, &parsing))
		return;
	members = item_children(item_root(parsing.item));
	if (!item_find(&members, (ItemSpan){"steps", 5}, &value) || item_type(value) != ITEM_L)
		return;
	steps = item_children(value);
	for (uint32 i = 0; i < steps.count; i++)
	{
		ItemSpan step = item_child(&steps, i);
		Datum values[8];
		bool nulls[8] = {false};

		if (item_type(step) != ITEM_M)
			continue;
		members = item_children(step);
		values[0] = CStringGetTextDatum(name);
		values[1] = ObjectIdGetDatum(relid);
		values[2] = Int32GetDatum((int32) i + 1);
		values[3] = member_text(&members, "name", &nulls[3]);
		values[4] = member_text(&members, "entity", &nulls[4]);
		values[5] = member_text(&members, "from", &nulls[5]);
		values[6] = BoolGetDatum(followed);
		values[7] = new_columns(&members, &nulls[7]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

static void
put_migrations(ReturnSetInfo *result, Oid relid, const text *name)
{
	ListCell *cell;

	foreach (cell, migration_declarations(relid))
	{
		const ModelDeclaration *declaration = lfirst(cell);

		if (name == NULL || item_compare_bytes(declaration->name, text_span(name)) == 0)
			put_steps(result, relid, declaration);
	}
}

/* Lists migrations of tables that the user may read or see the state of. */
PG_FUNCTION_INFO_V1(dyn_migration_step_list);
Datum
dyn_migration_step_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	text *name = argument_text(fcinfo, 0);
	MemoryContext context;
	MemoryContext old;
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table label", ALLOCSET_DEFAULT_SIZES);
	foreach (cell, label_tables())
	{
		CHECK_FOR_INTERRUPTS();
		if (!rights_to_list(lfirst_oid(cell)))
			continue;
		old = MemoryContextSwitchTo(context);
		put_migrations(result, lfirst_oid(cell), name);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	return (Datum) 0;
}

/* Reads the views, which show each user what that user may see. */
static char *
problems_sql(void)
{
	const char *schema = extension_schema();

	return psprintf("SELECT p.step, s.entity, p.what, p.source_row, p.problem, p.noted_at"
					" FROM %s.dyn_job_problems AS p LEFT JOIN " DYN_INTERNAL
					".migration_steps($1) AS s"
					" ON s.step OPERATOR(pg_catalog.=) p.step AND s.relation::pg_catalog.oid"
					" OPERATOR(pg_catalog.=) p.relation::pg_catalog.oid"
					" WHERE p.job OPERATOR(pg_catalog.=) (SELECT pg_catalog.max(l.job) FROM"
					" %s.dyn_jobs AS l WHERE l.kind OPERATOR(pg_catalog.=) 'migration'"
					" AND l.name OPERATOR(pg_catalog.=) $1 AND ($2 OPERATOR(pg_catalog.=) 0"
					" OR l.relation::pg_catalog.oid OPERATOR(pg_catalog.=) $2))"
					" ORDER BY s.number, p.noted_at, p.source_row",
					schema, schema);
}

PG_FUNCTION_INFO_V1(dyn_migration_problems);
Datum
dyn_migration_problems(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid types[] = {TEXTOID, OIDOID};
	Datum values[2];
	Portal portal;

	argument_require(fcinfo, 0, "migration");
	values[0] = PG_GETARG_DATUM(0);
	values[1] = ObjectIdGetDatum(migration_table(text_span(PG_GETARG_TEXT_PP(0))));
	InitMaterializedSRF(fcinfo, 0);
	store_connect();
	portal = SPI_cursor_open_with_args(NULL, sql_on(InvalidOid, problems_sql()), 2, types, values,
									   NULL, true, CURSOR_OPT_NO_SCROLL);
	do
	{
		SPI_cursor_fetch(portal, true, 500);
		for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
			tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
	return (Datum) 0;
}
