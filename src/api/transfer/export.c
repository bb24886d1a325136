/*
 * export.c
 *	  dyn_export(): items as lines of DynamoDB JSON.
 *
 * Lines are returned one by one, and items are read page by page, all under the snapshot of the
 * statement.  So if the caller takes rows as they come, as COPY does, no more than a page is in
 * memory, however large the table is.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "api/transfer/transfer.h"
#include "catalog/kinds.h"
#include "catalog/lookup.h"
#include "catalog/size.h"
#include "server/arguments.h"
#include "server/progress.h"

/* A page has so many items at most. */
#define PAGE_ITEMS 1000

/* An Export is in the memory context of all calls. */
typedef struct Export
{
	text *table;
	const Entity *entity; /* NULL: all items */
	bool wrapped;
	text *filter;
	Jsonb *names;
	DynItem *vals;
	DynItem *position; /* of the last page; NULL at first */
	bool done; /* that was the last one */
	int64 read; /* items, of so many by statistics */
	double expected;
	TimestampTz told;
	MemoryContext page;
	int n; /* lines of the page, and how many were returned */
	int returned;
	text *lines[PAGE_ITEMS];
} Export;

static void *
copy_argument(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(i));
}

/* Looks the table up once, as the statement has one snapshot.  name: of the entity; NULL: none. */
static void
open_table(Export *export, text *name)
{
	DynTable *table;
	Relation rel = dyn_table_open(export->table, AccessShareLock, &table);

	if (name != NULL)
		export->entity = item_kinds->find(rel, table, text_span(name));
	export->expected = dyn_expected_items(rel);
	relation_close(rel, NoLock);
}

/* Begins with the arguments table_name, entity, filter, names, vals, wrapped. */
static Export *
export_begin(FunctionCallInfo fcinfo)
{
	Export *export = palloc0(sizeof(Export));

	argument_require(fcinfo, 0, "table_name");
	export->table = copy_argument(fcinfo, 0);
	open_table(export, argument_text(fcinfo, 1));
	export->filter = copy_argument(fcinfo, 2);
	export->names = copy_argument(fcinfo, 3);
	export->vals = copy_argument(fcinfo, 4);
	export->wrapped = argument_flag(fcinfo, 5, true);
	export->page =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table export", ALLOCSET_DEFAULT_SIZES);
	return export;
}

static void
add_line(Datum datum, void *arg)
{
	Export *export = arg;
	DynItem *item = DatumGetDynItem(datum);
	MemoryContext old;
	StringInfoData line;
	JsonWriter json;

	if (export->entity != NULL && !item_kinds->has(export->entity, item))
		return;
	old = MemoryContextSwitchTo(export->page);
	initStringInfo(&line);
	/* where the header of the text goes */
	appendStringInfoSpaces(&line, VARHDRSZ);
	json = json_writer_into(&line, JSON_COMPACT);
	if (export->wrapped)
		json_write_begin(&json, NULL);
	json_write_item(&json, export->wrapped ? "Item" : NULL, item);
	if (export->wrapped)
		json_write_end(&json);
	SET_VARSIZE(line.data, line.len);
	export->lines[export->n++] = (text *) line.data;
	MemoryContextSwitchTo(old);
}

static void
read_page(Export *export)
{
	MemoryContext context = MemoryContextSwitchTo(export->page);
	ScanRequest request = {0};
	ReadResult result;

	request.read.table = export->table;
	request.read.expressions = expr_request(export->names, export->vals);
	request.read.filter = export->filter;
	request.read.paged = true;
	request.read.page_size = PAGE_ITEMS;
	request.read.start_key = export->position;
	export->n = export->returned = 0;
	action_scan(&request, add_line, export, &result);
	MemoryContextSwitchTo(context);
	export->done = result.last_key == NULL;
	if (export->position != NULL)
		pfree(export->position);
	export->position = NULL;
	if (!export->done)
		export->position = DatumGetDynItem(datumCopy(PointerGetDatum(result.last_key), false, -1));
	export->read += result.scanned;
	if (progress_is_due(&export->told))
		ereport(NOTICE, (errmsg("export of table \"%s\": %s items read", result.table->name,
								progress_count(export->read, export->expected))));
}

/* dyn_export(table_name, entity, filter, names, vals, wrapped) */
PG_FUNCTION_INFO_V1(dyn_export);
Datum
dyn_export(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	Export *export;
	MemoryContext old;

	if (SRF_IS_FIRSTCALL())
	{
		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = export_begin(fcinfo);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	export = call->user_fctx;
	old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
	while (export->returned == export->n && !export->done)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(export->page);
		read_page(export);
	}
	MemoryContextSwitchTo(old);
	if (export->returned == export->n)
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call, PointerGetDatum(export->lines[export->returned++]));
}
