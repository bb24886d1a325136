/*
 * declare.c
 *	  dyn_create_migration(), dyn_drop_migration().
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "catalog/definition/label.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "item/json_writer.h"
#include "models/migrate/collide.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "store/plan.h"

static void
refuse_followed(ItemSpan name, Relation rel)
{
	if (migration_followers(span_string(name), RelationGetRelid(rel)) != NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("migration \"%s\" is followed", item_quoted(name)),
						errdetail("Triggers of the tables that it reads make its items."),
						errhint("Call dyn_follow_migration() with enabled => false first.")));
}

/* Returns another table of the owner that has a migration of this name, or InvalidOid. */
Oid
migration_taken_by(ItemSpan name, Oid owner, Oid relid)
{
	ListCell *cell;

	foreach (cell, label_tables())
	{
		Oid other = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		if (other != relid && rights_owner(other) == owner && migration_is_declared(other, name))
			return other;
	}
	return InvalidOid;
}

static void
refuse_taken(ItemSpan name, Relation rel)
{
	Oid other = migration_taken_by(name, rel->rd_rel->relowner, RelationGetRelid(rel));

	if (OidIsValid(other))
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("table \"%s\" has a migration \"%s\"", get_rel_name(other),
							   item_quoted(name))));
}

static void
step_context(void *arg)
{
	errcontext("step \"%s\" of a migration", ((MigrationStep *) arg)->name);
}

/*
 * Analyses the statements that the migration will run, so that errors come now and name the step.
 */
static void
check_statements(Migration *migration)
{
	SelectOptions options = {.which = SELECT_RANGE};
	ErrorContextCallback callback = {.callback = step_context, .previous = error_context_stack};

	error_context_stack = &callback;
	for (int i = 0; i < migration->nsteps; i++)
	{
		MigrationStep *step = &migration->steps[i];
		SPIPlanPtr plan;

		callback.arg = step;
		plan = SPI_prepare(step_select(step, &options), 0, NULL);
		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_freeplan(plan);
	}
	error_context_stack = callback.previous;
}

/* Reads the declaration with the user's search_path, and then as it will be read later. */
static char *
canonical(Relation rel, const DynTable *table, ItemSpan name, Jsonb *steps)
{
	MemoryContext context = CurrentMemoryContext;
	JsonWriter given = json_writer(JSON_SPACED);
	Migration *migration;
	char *json;
	int nest;

	json_write_begin(&given, NULL);
	json_write_span(&given, "migration", name);
	json_write_raw(&given, "steps", JsonbToCString(NULL, &steps->root, VARSIZE(steps)));
	json_write_end(&given);
	json = migration_print(migration_parse(rel, table, given.text->data));

	nest = migration_enter();
	migration = migration_parse(rel, table, json);
	check_statements(migration);
	migration_leave(nest);
	MemoryContextSwitchTo(context);
	return json;
}

/* Returns the declaration as it is kept, or raises an error.  Connected to SPI. */
static char *
checked(Relation rel, const DynTable *table, ItemSpan name, Jsonb *steps)
{
	if (model_find(model_declarations(rel, MODEL_MIGRATION), name) == NULL)
		refuse_taken(name, rel);
	refuse_followed(name, rel);
	return canonical(rel, table, name, steps);
}

/*
 * Locks the relations that the declaration names, until the transaction ends, and may wait for
 * them.  So it is read before the table of items is locked, whose writers would wait too.
 */
static void
lock_sources(text *table_name, ItemSpan name, Jsonb *steps)
{
	DynTable *table;
	Relation rel = dyn_table_open(table_name, AccessShareLock, &table);

	rights_require_owner(rel);
	(void) checked(rel, table, name, steps);
	relation_close(rel, AccessShareLock);
}

PG_FUNCTION_INFO_V1(dyn_create_migration);
Datum
dyn_create_migration(PG_FUNCTION_ARGS)
{
	text *table_name = argument_required_text(fcinfo, 0, "table_name");
	ItemSpan name = text_span(argument_required_text(fcinfo, 1, "migration"));
	DynTable *table;
	Jsonb *steps;
	Relation rel;
	char *json;

	argument_require(fcinfo, 2, "steps");
	steps = PG_GETARG_JSONB_P(2);
	if (name.len == 0 || name.len > NAMEDATALEN - 1)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("the name of a migration must have 1 to %d bytes", NAMEDATALEN - 1)));
	store_connect();
	lock_sources(table_name, name, steps);
	rel = model_open(table_name, MODEL_MIGRATION, &table);
	json = checked(rel, table, name, steps);
	SPI_finish();
	model_set(rel, MODEL_MIGRATION, name, json);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(dyn_drop_migration);
Datum
dyn_drop_migration(PG_FUNCTION_ARGS)
{
	ItemSpan name = text_span(argument_required_text(fcinfo, 0, "migration"));
	DynTable *table;
	Relation rel;

	rel = model_lock_table(migration_open_table(name, AccessShareLock, &table), MODEL_MIGRATION,
						   &table);
	refuse_followed(name, rel);
	model_remove(rel, MODEL_MIGRATION, name);
	PG_RETURN_VOID();
}
