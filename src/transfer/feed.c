/*
 * feed.c
 *	  What is imported, as it comes: from bytes to records, and to items.
 *
 * A file is a text that is there as a whole, or rows that are its lines, or pieces that may end
 * anywhere.  Of pieces no more is kept than what is not yet a record, and a record has a limit, so
 * the memory does not depend on the file.  Records of pieces are checked to be UTF-8, since nothing
 * has checked them before.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "catalog/key.h"
#include "ground/attempt.h"
#include "ground/errors.h"
#include "transfer/feed.h"

/* An item is much smaller, however it is written. */
#define MAX_RECORD (16 * 1024 * 1024)

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/*
 * Readers of records
 */

static TransferKind
read_plain(void *arg, const char *record, int len, DynItem **item)
{
	*item = NULL;
	while (len > 0 && is_space(record[len - 1]))
		len--;
	if (len == 0)
		return TRANSFER_BLANK;
	*item = item_parse(record, len, ITEM_SYNTAX_PLAIN_ITEM, NULL);
	return TRANSFER_ITEM;
}

static TransferKind
read_csv(void *arg, const char *record, int len, DynItem **item)
{
	const TransferFeed *feed = arg;

	*item = csv_read_item(&feed->csv, record, len);
	return TRANSFER_ITEM;
}

static TransferKind
refuse_long(void *arg, const char *record, int len, DynItem **item)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid line: it is longer than %d bytes", MAX_RECORD)));
	return TRANSFER_BLANK;
}

/*
 * The format
 */

static void
set_format(TransferFeed *feed, TransferFormat format)
{
	Transfer *transfer = feed->transfer;

	feed->format = format;
	if (feed->types != NULL && format != TRANSFER_CSV)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("types can be given for CSV only"),
						errhint("Values of JSON have types.")));
	transfer->read_arg = feed;
	if (format == TRANSFER_PLAIN)
		transfer->read = read_plain;
	else if (format == TRANSFER_CSV)
	{
		transfer->read = read_csv;
		transfer->unit = "line";
		feed->line = transfer->line + 1;
	}
	else if (format == TRANSFER_SCAN)
	{
		transfer->unit = "item";
		transfer->line = 0;
	}
}

/* Sets the format of a file that begins so.  What is no JSON at all may be meant for CSV. */
static void
choose_format(TransferFeed *feed, TransferFormat format, RecordText text)
{
	const DynTable *table = feed->transfer->table;
	MemoryContext old;

	set_format(feed, format);
	if (format != TRANSFER_JSON || *text.data == '{')
		return;
	old = MemoryContextSwitchTo(feed->context);
	feed->transfer->hint = psprintf("The first line of CSV must have all keys of the table: %s.",
									dyn_key_names(table, &table->primary, table->nkeys));
	MemoryContextSwitchTo(old);
}

/*
 * Begins to read, in the current memory context, which outlives the import.  types is NULL, or the
 * types of columns of CSV.
 */
void
transfer_feed_begin(TransferFeed *feed, Transfer *transfer, TransferFormat format,
					const Jsonb *types)
{
	*feed = (TransferFeed){transfer, .types = types, .context = CurrentMemoryContext};
	initStringInfo(&feed->kept);
	feed->text.data = feed->kept.data;
	if (format != TRANSFER_AUTO)
		set_format(feed, format);
}

/*
 * What there is
 */

/* All of a file, which is not copied. */
void
transfer_feed_whole(TransferFeed *feed, const char *data, Size len)
{
	feed->text = (RecordText){data, len, true};
}

/* The next piece of a file, which is copied. */
void
transfer_feed_piece(TransferFeed *feed, const char *data, Size len)
{
	StringInfo kept = &feed->kept;

	if (feed->text.data != kept->data)
		memmove(kept->data, feed->text.data, feed->text.len);
	kept->len = (int) feed->text.len;
	appendBinaryStringInfo(kept, data, (int) len);
	feed->text = (RecordText){kept->data, kept->len, false};
}

/* There are no more pieces. */
void
transfer_feed_end(TransferFeed *feed)
{
	feed->text.whole = true;
}

static void
pass(TransferFeed *feed, Size len)
{
	feed->text.data += len;
	feed->text.len -= len;
	feed->needed = 0;
}

/* False: more is needed. */
static bool
pass_byte_order_mark(TransferFeed *feed)
{
	if (feed->begun)
		return true;
	if (feed->text.len < 3 && !feed->text.whole)
		return false;
	feed->begun = true;
	if (feed->text.len >= 3 && memcmp(feed->text.data, BYTE_ORDER_MARK, 3) == 0)
		pass(feed, 3);
	return true;
}

/* Passes space, and counts its lines.  False: there is nothing else. */
static bool
pass_space(TransferFeed *feed)
{
	Size n = 0;

	for (; n < feed->text.len && is_space(feed->text.data[n]); n++)
	{
		if (feed->text.data[n] == '\n')
			transfer_blank(feed->transfer);
	}
	pass(feed, n);
	return feed->text.len > 0;
}

/* False: more is needed, or there is nothing. */
static bool
find_format(TransferFeed *feed)
{
	TransferFormat format;

	if (feed->format != TRANSFER_AUTO)
		return true;
	if (!pass_space(feed))
		return false;
	format = transfer_format(feed->transfer->table, feed->text);
	if (format == TRANSFER_AUTO)
		return false;
	choose_format(feed, format, feed->text);
	return true;
}

/*
 * Records
 */

static void
take_line(TransferFeed *feed, const char *line, Size len)
{
	if (!feed->too_long)
		transfer_take(feed->transfer, line, (int) len);
	feed->too_long = false;
}

typedef struct HeaderStep
{
	TransferFeed *feed;
	const char *record;
	int len;
} HeaderStep;

static void
read_header(void *arg)
{
	HeaderStep *step = arg;
	TransferFeed *feed = step->feed;
	MemoryContext old = MemoryContextSwitchTo(feed->context);

	if (feed->transfer->verify)
		(void) pg_verify_mbstr(PG_UTF8, step->record, step->len, false);
	csv_read_header(&feed->csv, feed->transfer->table, feed->types, step->record, step->len);
	MemoryContextSwitchTo(old);
}

static bool
is_about_item(const ErrorData *error)
{
	return item_is_to_blame(error, false);
}

/* Without its header nothing of CSV can be read, so its errors are not skipped. */
static void
take_header(TransferFeed *feed, const char *record, int len)
{
	HeaderStep step = {feed, record, len};
	MemoryContext old = CurrentMemoryContext;
	ErrorData *error = attempt_to_compute(read_header, &step, is_about_item);

	MemoryContextSwitchTo(old);
	if (error == NULL)
		return;
	error->message = psprintf("line " INT64_FORMAT ": %s", feed->line, error->message);
	ReThrowError(error);
}

static int64
count_lines(const char *data, Size len)
{
	const char *end = data + len;
	int64 n = 0;

	while (data < end && (data = memchr(data, '\n', end - data)) != NULL)
	{
		data++;
		n++;
	}
	return n;
}

static void
take_csv(TransferFeed *feed, const char *record, const Record *found)
{
	bool blank = found->len == 0 || (found->len == 1 && *record == '\r');

	feed->transfer->line = feed->line - 1;
	if (blank)
		transfer_blank(feed->transfer);
	else if (feed->csv.n == 0)
		take_header(feed, record, (int) found->len);
	else
		transfer_take(feed->transfer, record, (int) found->len);
	feed->line += count_lines(record, found->next);
}

static void
take_item(TransferFeed *feed, const char *item, Size len)
{
	if (len == 0)
		return;
	/* the first one tells of all */
	if (feed->transfer->line == 0 && transfer_is_plain(feed->transfer->table, item, (int) len))
		feed->transfer->read = read_plain;
	transfer_take(feed->transfer, item, (int) len);
}

static Record
find_record(TransferFeed *feed)
{
	if (feed->format == TRANSFER_CSV)
		return record_of_csv(feed->text);
	if (feed->format == TRANSFER_SCAN)
		return record_of_document(&feed->document, feed->text);
	return record_of_lines(feed->text);
}

static void
fail_record(const TransferFeed *feed, const char *fault)
{
	if (feed->format == TRANSFER_CSV)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("line " INT64_FORMAT ": invalid CSV: %s", feed->line, fault)));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid document: %s", fault),
					errdetail("The number of items before it is %s.",
							  psprintf(INT64_FORMAT, feed->transfer->line))));
}

/* Waits for more, unless there is so much already that no record has it. */
static void
wait_for_more(TransferFeed *feed)
{
	TransferReader read = feed->transfer->read;
	Size len = feed->text.len;

	if (len < MAX_RECORD && !feed->too_long)
	{
		feed->needed = Min(Max(len * 2, 1), MAX_RECORD);
		return;
	}
	if (feed->format == TRANSFER_CSV || feed->format == TRANSFER_SCAN)
		fail_record(feed, psprintf("a record is longer than %d bytes", MAX_RECORD));
	pass(feed, len);
	if (feed->too_long)
		return;
	feed->too_long = true;
	feed->transfer->read = refuse_long;
	transfer_take(feed->transfer, "", 0);
	feed->transfer->read = read;
}

static void
take_record(TransferFeed *feed, const Record *record)
{
	const char *data = feed->text.data + record->start;

	if (feed->format == TRANSFER_CSV)
		take_csv(feed, data, record);
	else if (feed->format == TRANSFER_SCAN)
		take_item(feed, data, record->len);
	else
		take_line(feed, data, record->len);
	pass(feed, record->next);
}

/*
 * Takes the records that are there.  Returns true as soon as that has written a batch, and false if
 * there are no more records in what there is.
 */
bool
transfer_feed_take(TransferFeed *feed)
{
	int64 batches = feed->transfer->batches;

	if (!feed->text.whole && feed->text.len < feed->needed)
		return false;
	if (!pass_byte_order_mark(feed) || !find_format(feed))
		return false;
	while (feed->transfer->batches == batches)
	{
		Record record = find_record(feed);

		CHECK_FOR_INTERRUPTS();
		if (record.step == RECORD_FAULT)
			fail_record(feed, record.fault);
		if (record.step == RECORD_MORE)
			wait_for_more(feed);
		if (record.step != RECORD_FOUND)
			return feed->transfer->batches > batches;
		take_record(feed, &record);
	}
	return true;
}

/*
 * Rows
 */

/* A row is a line, even if it has the characters that end lines elsewhere. */
static void
take_row(TransferFeed *feed, const char *data, Size len)
{
	if (feed->format == TRANSFER_JSON || feed->format == TRANSFER_PLAIN)
	{
		transfer_take(feed->transfer, data, (int) len);
		return;
	}
	transfer_feed_piece(feed, data, len);
	transfer_feed_piece(feed, "\n", 1);
	(void) transfer_feed_take(feed);
}

/*
 * Takes a row that is a line.  Returns as transfer_feed_take() does.  What it leaves is taken by
 * that function.
 */
bool
transfer_feed_row(TransferFeed *feed, const char *data, Size len)
{
	int64 batches = feed->transfer->batches;
	Size space = 0;

	if (!feed->begun && len >= 3 && memcmp(data, BYTE_ORDER_MARK, 3) == 0)
	{
		data += 3;
		len -= 3;
	}
	feed->begun = true;
	while (space < len && is_space(data[space]))
		space++;
	if (feed->format == TRANSFER_AUTO && space < len)
	{
		RecordText row = {data + space, len - space, true};

		while (is_space(row.data[row.len - 1]))
			row.len--;
		choose_format(feed, transfer_format(feed->transfer->table, row), row);
	}
	if (feed->format == TRANSFER_AUTO)
		transfer_blank(feed->transfer);
	else
		take_row(feed, data, len);
	return feed->transfer->batches > batches;
}
