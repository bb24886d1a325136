/*
 * backfill.c
 *	  dyn_backfill(): an update of all items that a filter takes.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "actions/actions.h"
#include "catalog/kinds.h"
#include "server/arguments.h"
#include "server/work/procedure.h"
#include "services/job/items.h"

/* Views and messages show so many bytes of the request. */
#define LONGEST_NAME 200

typedef struct Backfill
{
	const Expr *filter; /* or NULL */
	const Expr *condition; /* or NULL */
	const Expr *update;
	bool from_keys; /* items have the attributes that their keys say */
	List *entities; /* of the transaction */
} Backfill;

enum
{
	TABLE_NAME,
	UPDATE,
	FILTER,
	CONDITION,
	NAMES,
	VALS,
	BATCH_SIZE,
	FROM_KEYS = BATCH_SIZE + 4
};

static void
begin_transaction(ItemJob *work, Relation rel, DynTable *table)
{
	Backfill *backfill = work->arg;

	if (backfill->from_keys)
		backfill->entities = item_kinds->of_table(rel, table);

	/* an item's key does not change (docs/semantics.md, K18) */
	action_forbid_keys(table, &table->primary, backfill->update,
					   "Delete the item and put it with its new key.");
}

/* Returns what the expressions are about. */
static const DynItem *
with_attributes(const Backfill *backfill, const DynItem *item)
{
	return backfill->from_keys ? item_kinds->completed(backfill->entities, item) : item;
}

static bool
is_wanted(ItemJob *work, const DynItem *item)
{
	const Backfill *backfill = work->arg;

	item = with_attributes(backfill, item);
	return (backfill->filter == NULL || expr_matches(backfill->filter, item)) &&
		   (backfill->condition == NULL || expr_matches(backfill->condition, item));
}

static DynItem *
updated(ItemJob *work, const DynItem *item)
{
	const Backfill *backfill = work->arg;

	return expr_apply(backfill->update, with_attributes(backfill, item), NULL);
}

/* Returns all arguments that decide what the job does, as a JSON array. */
static char *
backfill_fingerprint(FunctionCallInfo fcinfo)
{
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin_array(&json, NULL);
	for (int i = UPDATE; i <= VALS; i++)
	{
		if (PG_ARGISNULL(i))
			json_write_raw(&json, NULL, "null");
		else if (i == VALS)
			json_write_item(&json, NULL, PG_GETARG_DYN_ITEM(i));
		else if (i == NAMES)
			json_write_raw(&json, NULL, JsonbToCString(NULL, &PG_GETARG_JSONB_P(i)->root, -1));
		else
			json_write_span(&json, NULL, text_span(PG_GETARG_TEXT_PP(i)));
	}
	if (PG_GETARG_BOOL(FROM_KEYS))
		json_write_bool(&json, NULL, true);
	json_write_end_array(&json);
	return json.text->data;
}

static char *
shown_name(FunctionCallInfo fcinfo)
{
	StringInfoData shown;

	initStringInfo(&shown);
	appendStringInfoString(&shown, text_to_cstring(PG_GETARG_TEXT_PP(UPDATE)));
	if (!PG_ARGISNULL(FILTER))
		appendStringInfo(&shown, " WHERE %s", text_to_cstring(PG_GETARG_TEXT_PP(FILTER)));
	shown.data[pg_mbcliplen(shown.data, shown.len, LONGEST_NAME)] = '\0';
	return shown.data;
}

static void
read_expressions(FunctionCallInfo fcinfo, Backfill *backfill)
{
	ExprRequest *request = expr_request_arguments(fcinfo, NAMES, VALS);

	if (!PG_ARGISNULL(FILTER))
		backfill->filter =
			expr_condition(request, EXPR_FILTER, text_span(PG_GETARG_TEXT_PP(FILTER)));
	backfill->update = expr_update(request, text_span(PG_GETARG_TEXT_PP(UPDATE)));
	if (!PG_ARGISNULL(CONDITION))
		backfill->condition =
			expr_condition(request, EXPR_CONDITION, text_span(PG_GETARG_TEXT_PP(CONDITION)));
	expr_request_done(request);
}

PG_FUNCTION_INFO_V1(dyn_backfill);
Datum
dyn_backfill(PG_FUNCTION_ARGS)
{
	Backfill backfill = {0};
	ItemJob work = {.procedure = "dyn_backfill",
					.kind = "backfill",
					.arg = &backfill,
					.open = begin_transaction,
					.wants = is_wanted,
					.change = updated};
	DynTable *table;
	Relation rel;

	procedure_connect(fcinfo, work.procedure);
	argument_require(fcinfo, TABLE_NAME, "table_name");
	argument_require(fcinfo, UPDATE, "update");
	argument_require(fcinfo, FROM_KEYS, "from_keys");
	backfill.from_keys = PG_GETARG_BOOL(FROM_KEYS);
	work.table_name = PG_GETARG_TEXT_PP(TABLE_NAME);
	work.name = shown_name(fcinfo);
	work.fingerprint = backfill_fingerprint(fcinfo);
	item_job_arguments(&work, fcinfo, BATCH_SIZE);
	read_expressions(fcinfo, &backfill);
	rel = item_job_open(&work, &table);
	begin_transaction(&work, rel, table);
	relation_close(rel, AccessShareLock);
	item_job_run(&work);
	SPI_finish();
	PG_RETURN_VOID();
}
