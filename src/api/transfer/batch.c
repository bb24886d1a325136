/*
 * batch.c
 *	  Lines of an import, written in batches.
 *
 * A batch is written in the order of the keys, like all calls of several items, so two imports with
 * one batch in a transaction cannot deadlock.  Of several lines with the same key, only the one
 * that counts is written.
 *
 * An error of a line by itself is found when the line is parsed.  An error that only the write
 * finds (a trigger, a policy, a key that its index cannot hold) fails the whole batch.  So a batch
 * is written in a subtransaction, and one that has failed is written in halves, until the line at
 * fault is found.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "api/transfer/transfer.h"
#include "catalog/kinds.h"
#include "server/attempt.h"
#include "server/errors.h"

/* So many bytes of items, and of what is refused, are kept in memory for one batch. */
#define MAX_BATCH_BYTES (16 * 1024 * 1024)

/*
 * Puts that are written together where collections have a limited size: the size of each collection
 * is read before the write.
 */
#define LIMITED_RUN 25

struct TransferEntry
{
	int64 line;
	int64 place;
	bool put;
	ItemWrite write;
};

/* Begins an import, in the current memory context, which outlives the import. */
void
transfer_begin(Transfer *transfer, const char *unit, int max)
{
	/* before functions of types are called, whose errors could not be taken back then */
	PreventCommandIfParallelMode("an import");
	transfer->unit = unit;
	transfer->max = max;
	transfer->outer = CurrentMemoryContext;
	transfer->errors = json_writer(JSON_SPACED);
	transfer->context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table import", ALLOCSET_DEFAULT_SIZES);
	transfer->transient = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table import line",
												ALLOCSET_DEFAULT_SIZES);
	transfer->entries = palloc(max * sizeof(TransferEntry));
	transfer->sorted = palloc(max * sizeof(TransferEntry *));
	transfer->writes = palloc(max * sizeof(ItemWrite *));
	transfer->inserted = palloc(max * sizeof(bool));
}

/*
 * Errors
 */

static void
write_problem(JsonWriter *json, const char *name, const Transfer *transfer,
			  const TransferEntry *entry, int code, const char *message, const char *detail)
{
	json_write_begin(json, name);
	json_write_integer(json, transfer->unit, entry->line);
	if (entry->place > 0)
		json_write_integer(json, "line", entry->place);
	json_write_string(json, "code", unpack_sql_state(code));
	json_write_string(json, "message", message);
	json_write_string(json, "detail", detail);
	json_write_end(json);
}

/* Keeps a refused entry as a line that can be imported, if there is an item. */
static void
keep_refused(Transfer *transfer, const TransferEntry *entry, int code, const char *message,
			 const char *detail)
{
	MemoryContext old = MemoryContextSwitchTo(transfer->outer);
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	write_problem(&json, "Metadata", transfer, entry, code, message, detail);
	if (entry->write.row != NULL)
		json_write_item(&json, "Item", entry->write.row->item);
	json_write_end(&json);
	transfer->refused = lappend(transfer->refused, cstring_to_text(json.text->data));
	transfer->bytes += json.text->len;
	pfree(json.text->data);
	pfree(json.text);
	MemoryContextSwitchTo(old);
}

/* Returns what has been refused since the last call, as an array of text; NULL: nothing. */
ArrayType *
transfer_take_refused(Transfer *transfer)
{
	int n = list_length(transfer->refused);
	Datum *lines;
	ListCell *cell;
	int i = 0;
	ArrayType *array;

	if (n == 0)
		return NULL;
	lines = palloc(n * sizeof(Datum));
	foreach (cell, transfer->refused)
		lines[i++] = PointerGetDatum(lfirst(cell));
	array = construct_array(lines, n, TEXTOID, -1, false, TYPALIGN_INT);
	pfree(lines);
	list_free_deep(transfer->refused);
	transfer->refused = NIL;
	return array;
}

static void
note_error(Transfer *transfer, const TransferEntry *entry, int code, const char *message,
		   const char *detail)
{
	message = message_shortened(message);
	detail = detail == NULL ? NULL : message_shortened(detail);
	if (transfer->keep_refused)
		keep_refused(transfer, entry, code, message, detail);
	if (transfer->skipped++ < TRANSFER_MAX_ERRORS)
		write_problem(&transfer->errors, NULL, transfer, entry, code, message, detail);
}

/* Returns what a message begins with. */
static char *
place_of(const Transfer *transfer, const TransferEntry *entry)
{
	if (entry->place > 0)
		return psprintf("%s " INT64_FORMAT " (line " INT64_FORMAT ")", transfer->unit, entry->line,
						entry->place);
	return psprintf("%s " INT64_FORMAT, transfer->unit, entry->line);
}

/* Notes the error, or raises it with the number of the line. */
static void
tell_error(Transfer *transfer, const TransferEntry *entry, ErrorData *error)
{
	if (!transfer->skip)
	{
		error->message = psprintf("%s: %s", place_of(transfer, entry), error->message);
		if (transfer->hint != NULL)
			error->hint = unconstify(char *, transfer->hint);
		ReThrowError(error);
	}
	note_error(transfer, entry, error->sqlerrcode, error->message, error->detail);
}

/*
 * Taking lines in
 */

static TransferKind
read_line(const Transfer *transfer, const char *line, int len, DynItem **item)
{
	if (transfer->verify)
		(void) pg_verify_mbstr(PG_UTF8, line, len, false);
	if (transfer->read != NULL)
		return transfer->read(transfer->read_arg, line, len, item);
	return transfer_parse_line(line, len, item);
}

/* Prepares the write in the batch's memory; other memory is freed with the line. */
static void
fill_entry(Transfer *transfer, TransferEntry *entry, const DynItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(transfer->context);
	ItemWriter writer;

	write_open(&writer, &(FrontCall){.rel = transfer->rel, .table = transfer->table});
	item = memcpy(palloc(VARSIZE_ANY(item)), item, VARSIZE_ANY(item));
	if (entry->put)
		write_prepare(&writer, item, &entry->write);
	else
		write_prepare_key(&writer, item, &entry->write);
	transfer->bytes += VARSIZE_ANY(item);
	MemoryContextSwitchTo(old);
}

/* Parses a line; returns false if it is blank. */
static bool
batch_parse(Transfer *transfer, const char *line, int len, TransferEntry *entry)
{
	DynItem *item;
	TransferKind kind = read_line(transfer, line, len, &item);

	if (kind == TRANSFER_BLANK)
		return false;
	if (kind != TRANSFER_ITEM &&
		(transfer->on_conflict != TRANSFER_REPLACE || transfer->condition != NULL))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("a change can only replace what is there"),
			 errhint("Use on_conflict \"replace\", and no condition, for incremental exports.")));
	entry->put = kind != TRANSFER_DELETE;
	if (entry->put && transfer->from_keys)
		item = unconstify(
			DynItem *,
			item_kinds->completed(item_kinds->of_table(transfer->rel, transfer->table), item));
	fill_entry(transfer, entry, item);
	return true;
}

/* This is a line that is parsed. */
typedef struct Parsing
{
	Transfer *transfer;
	const char *line;
	int len;
	TransferEntry *entry;
	bool found;
} Parsing;

static void
parse_line(void *arg)
{
	Parsing *parsing = arg;

	parsing->found = batch_parse(parsing->transfer, parsing->line, parsing->len, parsing->entry);
}

static bool
try_parse(Transfer *transfer, const char *line, int len, TransferEntry *entry)
{
	Parsing parsing = {transfer, line, len, entry, false};
	ErrorData *error;

	entry->line = transfer->line;
	entry->place = transfer->place;
	entry->write.row = NULL;
	error = attempt_to_compute(parse_line, &parsing, value_is_to_blame);
	if (error != NULL)
	{
		transfer->items++;
		tell_error(transfer, entry, error);
	}
	return parsing.found;
}

/*
 * Takes in a line, and writes the batch if it is full.  The line is not kept.  An error that the line
 * is to blame for is noted if transfer->skip is set, and raised otherwise.
 */
void
transfer_take(Transfer *transfer, const char *line, int len)
{
	MemoryContext old = MemoryContextSwitchTo(transfer->transient);
	TransferEntry *entry = &transfer->entries[transfer->n];

	transfer->line++;
	if (try_parse(transfer, line, len, entry))
	{
		transfer->items++;
		transfer->n++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(transfer->transient);
	if (transfer->n == transfer->max || transfer->bytes > MAX_BATCH_BYTES)
		transfer_write(transfer);
}

/* Counts a line without content, so that the numbers of the lines after it are right. */
void
transfer_blank(Transfer *transfer)
{
	transfer->line++;
}

/*
 * Writing
 */

/* Compares entries by key, then by line. */
static int
compare_entries(const void *a, const void *b, void *table)
{
	const TransferEntry *x = *(TransferEntry *const *) a;
	const TransferEntry *y = *(TransferEntry *const *) b;
	int cmp = store_key_compare(table, &x->write.key, &y->write.key);

	if (cmp != 0)
		return cmp;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool
same_key(const Transfer *transfer, int a, int b)
{
	return store_key_compare(transfer->table, &transfer->sorted[a]->write.key,
							 &transfer->sorted[b]->write.key) == 0;
}

/* Refuses a line, for what an item of the table or an earlier line with its key is. */
static void
batch_refuse(Transfer *transfer, const TransferEntry *entry)
{
	static const char message[] = "there is an item with this key already";

	if (transfer->condition != NULL)
		note_error(transfer, entry, ERRCODE_DYN_CONDITIONAL_CHECK_FAILED,
				   "the condition is not met", NULL);
	else if (transfer->on_conflict == TRANSFER_KEEP)
		transfer->kept++;
	else if (transfer->skip)
		note_error(transfer, entry, ERRCODE_DYN_CONDITIONAL_CHECK_FAILED, message, NULL);
	else
		ereport(ERROR, (errcode(ERRCODE_DYN_CONDITIONAL_CHECK_FAILED),
						errmsg("%s: %s", place_of(transfer, entry), message)));
}

/*
 * Sorts the entries, and keeps one of each key: the last one if items are replaced, otherwise the
 * first.  A condition has to see all of them.  Returns their number.
 */
static int
sort_entries(Transfer *transfer)
{
	int n = 0;

	for (int i = 0; i < transfer->n; i++)
		transfer->sorted[i] = &transfer->entries[i];
	qsort_arg(transfer->sorted, transfer->n, sizeof(TransferEntry *), compare_entries,
			  transfer->table);
	for (int i = 0; i < transfer->n; i++)
	{
		bool again = n > 0 && same_key(transfer, n - 1, i);

		if (!again || transfer->condition != NULL)
			transfer->sorted[n++] = transfer->sorted[i];
		else if (transfer->on_conflict == TRANSFER_REPLACE)
		{
			transfer->sorted[n - 1] = transfer->sorted[i];
			transfer->written++;
		}
		else
			batch_refuse(transfer, transfer->sorted[i]);
	}
	return n;
}

/* A Judged is a put under a condition. */
typedef struct Judged
{
	const Expr *condition;
	const DynItem *item;
	bool met;
} Judged;

static DynItem *
put_if_met(DynItem *old, void *arg)
{
	Judged *judged = arg;

	judged->met = expr_matches(judged->condition, old);
	return judged->met ? (DynItem *) judged->item : old;
}

/* Puts items under a condition; each sees what those before it have left. */
static void
put_judged(Transfer *transfer, ItemWriter *writer, int first, int n)
{
	bool met = expr_matches(transfer->condition, NULL);

	for (int i = first; i < first + n; i++)
	{
		ItemWrite write = *transfer->writes[i];
		Judged judged = {transfer->condition, write.row->item, met};

		CHECK_FOR_INTERRUPTS();
		write_change(writer, &write, met ? EXPECT_INSERT : EXPECT_REPLACE, put_if_met, &judged);
		write_done(writer, &write);
		transfer->inserted[i] = judged.met;
	}
}

static void
write_run(Transfer *transfer, ItemWriter *writer, int first, int n)
{
	if (!transfer->sorted[first]->put)
		write_delete_many(writer, n, transfer->writes + first);
	else if (transfer->condition != NULL)
		put_judged(transfer, writer, first, n);
	else if (transfer->on_conflict == TRANSFER_REPLACE)
		write_put_many(writer, n, transfer->writes + first);
	else
		write_insert_many(writer, n, transfer->writes + first, transfer->inserted + first);
}

/* Writes neighbouring entries, runs of puts and of deletes together. */
static void
write_entries(Transfer *transfer, int first, int n)
{
	int longest = dyn_local_indexes(transfer->table) > 0 ? LIMITED_RUN : n;
	int end = first + n;
	ItemWriter writer;
	int next;

	write_open(&writer, &(FrontCall){.rel = transfer->rel, .table = transfer->table});
	for (; first < end; first = next)
	{
		CHECK_FOR_INTERRUPTS();
		for (next = first + 1; next < end && next - first < longest; next++)
		{
			if (transfer->sorted[next]->put != transfer->sorted[first]->put)
				break;
		}
		write_run(transfer, &writer, first, next - first);
	}
	write_close(&writer);
}

typedef struct Part
{
	Transfer *transfer;
	int first;
	int n;
} Part;

static void
write_some(void *arg)
{
	const Part *part = arg;

	MemoryContextSwitchTo(part->transfer->transient);
	write_entries(part->transfer, part->first, part->n);
}

/* Returns the error if a line may be to blame for it, or NULL if there was none; raises others. */
static ErrorData *
try_write(Transfer *transfer, int first, int n)
{
	Part part = {transfer, first, n};
	ErrorData *error = attempt(write_some, &part);

	MemoryContextReset(transfer->transient);
	if (error != NULL && !item_is_to_blame(error, transfer->table->row_security))
		ReThrowError(error);
	return error;
}

static void
count_written(Transfer *transfer, int first, int n)
{
	for (int i = first; i < first + n; i++)
	{
		bool replaces = transfer->on_conflict == TRANSFER_REPLACE && transfer->condition == NULL;

		if (replaces || transfer->inserted[i])
			transfer->written++;
		else
			batch_refuse(transfer, transfer->sorted[i]);
	}
}

static void
write_part(Transfer *transfer, int first, int n)
{
	ErrorData *error = try_write(transfer, first, n);

	if (error == NULL)
		count_written(transfer, first, n);
	else if (n == 1)
		tell_error(transfer, transfer->sorted[first], error);
	else
	{
		write_part(transfer, first, n / 2);
		write_part(transfer, first + n / 2, n - n / 2);
	}
}

/*
 * Writes the lines that were taken in, and begins a new batch.  transfer->rel and transfer->table
 * must be those of the current transaction.  Errors are noted or raised as in transfer_take().
 */
void
transfer_write(Transfer *transfer)
{
	MemoryContext old = MemoryContextSwitchTo(transfer->context);
	int n = sort_entries(transfer);

	for (int i = 0; i < n; i++)
		transfer->writes[i] = &transfer->sorted[i]->write;
	if (n > 0)
		write_part(transfer, 0, n);
	transfer->batches++;
	transfer->n = 0;
	transfer->bytes = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(transfer->context);
}
