/*
 * status.c
 *	  dyn_list_migration_steps(): the steps of migrations by their declarations alone, which
 *	  may name what is not there any more.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/definition/label.h"
#include "catalog/rights.h"
#include "models/migrate/migrate.h"
#include "server/arguments.h"
#include "server/sql.h"

typedef struct Parsing
{
	const char *json;
	DynItem *item;
} Parsing;

static void
status_parse(void *arg)
{
	Parsing *parsing = arg;

	parsing->item =
		item_parse(parsing->json, (int) strlen(parsing->json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
}

static void
put_steps(ReturnSetInfo *result, Oid relid, const ModelDeclaration *declaration)
{
	char *name = span_string(declaration->name);
	Parsing parsing = {declaration->json};
	bool followed;
	ItemChildren members;
	ItemSpan value;
	ItemChildren steps;

	if (!migration_try_read(status_parse, &parsing))
		return;
	members = item_children(item_root(parsing.item));
	if (!item_find(&members, (ItemSpan){"steps", 5}, &value) || item_type(value) != ITEM_L)
		return;
	steps = item_children(value);
	followed = migration_followers(name, relid) != NIL;
	for (uint32 i = 0; i < steps.count; i++)
	{
		ItemSpan step = item_child(&steps, i);

		if (item_type(step) != ITEM_M)
			continue;
		members = item_children(step);
		if (!(item_find(&members, (ItemSpan){"name", 4}, &value) ||
			  item_find(&members, (ItemSpan){"entity", 6}, &value)) ||
			item_type(value) != ITEM_S)
			continue;
		sql_put(result, SQL_VALUES(SQL_OID(relid), SQL_TEXT(name), SQL_INT4((int32) i + 1),
								   sql_span(item_payload(value)), SQL_BOOL(followed)));
	}
}

/* Lists migrations of tables that the user may read or see the state of. */
PG_FUNCTION_INFO_V1(dyn_list_migration_steps);
Datum
dyn_list_migration_steps(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context;
	MemoryContext old;
	ListCell *cell;
	ListCell *declared;

	InitMaterializedSRF(fcinfo, 0);
	context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table label", ALLOCSET_DEFAULT_SIZES);
	foreach (cell, label_tables())
	{
		CHECK_FOR_INTERRUPTS();
		if (!rights_to_list(lfirst_oid(cell)))
			continue;
		old = MemoryContextSwitchTo(context);
		foreach (declared, migration_declarations(lfirst_oid(cell)))
			put_steps(result, lfirst_oid(cell), lfirst(declared));
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	return (Datum) 0;
}
