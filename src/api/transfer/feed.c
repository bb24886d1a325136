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

#include "api/transfer/feed.h"
#include "catalog/key.h"
#include "server/attempt.h"
#include "server/errors.h"

/* A record is not longer than this: an item is much smaller, however it is written. */
#define MAX_RECORD (16 * 1024 * 1024)

/* Messages tell so many tables of a batch. */
#define MAX_TABLES 20
#define MAX_TABLE_NAME 1024 /* bytes: that of an ARN */

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

#define NO_TABLES "from_table can be given for bodies of BatchWriteItem only"

/* Checks that nothing is given for another format, where it has no meaning. */
static void
check_form(const TransferForm *form)
{
	const char *option = form->types != NULL       ? "types"
						 : form->delimiter != NULL ? "delimiter"
						 : form->header != NULL    ? "header"
												   : NULL;

	if (option != NULL && form->format != TRANSFER_CSV)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("%s can be given for CSV only", option),
				 form->types != NULL ? errhint("Values of JSON have types.") : 0));
	if (form->from_table != NULL && form->format != TRANSFER_DOCUMENT)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg(NO_TABLES)));
}

static void
set_format(TransferFeed *feed, TransferFormat format)
{
	Transfer *transfer = feed->transfer;

	if (format == TRANSFER_ION)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("files of Amazon Ion cannot be imported"),
				 errhint("Export the table with the format DYNAMODB_JSON.")));
	feed->form.format = format;
	check_form(&feed->form);
	transfer->read_arg = feed;
	if (format == TRANSFER_PLAIN)
		transfer->read = read_plain;
	else if (format == TRANSFER_CSV)
	{
		transfer->read = read_csv;
		transfer->unit = "line";
		feed->line = transfer->line + 1;
	}
	else if (format == TRANSFER_DOCUMENT)
	{
		transfer->unit = "item";
		feed->line = transfer->line + 1;
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
	feed->transfer->hint = psprintf("The first line of CSV must have all keys of the table: %s. A "
									"delimiter other than the comma has to be given.",
									dyn_key_names(table, &table->primary, table->nkeys));
	MemoryContextSwitchTo(old);
}

static char
check_delimiter(const text *delimiter)
{
	char c;

	if (delimiter == NULL)
		return ',';
	c = *VARDATA_ANY(delimiter);
	if (VARSIZE_ANY_EXHDR(delimiter) != 1 || IS_HIGHBIT_SET(c) || strchr("\"\r\n", c) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("delimiter must be one character of ASCII that is neither a quote nor the "
						"end of a line")));
	return c;
}

/*
 * Begins to read, in the current memory context, which outlives the import, as does what is known of
 * the form.
 */
void
transfer_feed_begin(TransferFeed *feed, Transfer *transfer, const TransferForm *form)
{
	*feed = (TransferFeed){transfer, *form, CurrentMemoryContext};
	initStringInfo(&feed->kept);
	feed->text.data = feed->kept.data;
	feed->csv.delimiter = check_delimiter(form->delimiter);
	if (form->format != TRANSFER_AUTO)
		set_format(feed, form->format);
	else if (form->delimiter != NULL || form->header != NULL)
		set_format(feed, TRANSFER_CSV);
}

/*
 * What there is
 */

/* Feeds all of a file, which is not copied. */
void
transfer_feed_whole(TransferFeed *feed, const char *data, Size len)
{
	feed->text = (RecordText){data, len, true};
}

/* Feeds the next piece of a file, which is copied. */
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
feed_pass(TransferFeed *feed, Size len)
{
	feed->text.data += len;
	feed->text.len -= len;
	feed->needed = 0;
}

/* Passes a byte order mark; returns false if more is needed. */
static bool
pass_byte_order_mark(TransferFeed *feed)
{
	if (feed->begun)
		return true;
	if (feed->text.len < 3 && !feed->text.whole)
		return false;
	feed->begun = true;
	if (feed->text.len >= 3 && memcmp(feed->text.data, BYTE_ORDER_MARK, 3) == 0)
		feed_pass(feed, 3);
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
	feed_pass(feed, n);
	return feed->text.len > 0;
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

/* Finds the format; returns false if more is needed, or there is nothing. */
static bool
find_format(TransferFeed *feed)
{
	TransferFormat format;
	DocumentKind kind;

	if (feed->form.format != TRANSFER_AUTO)
		return true;
	if (!pass_space(feed))
		return false;
	format = transfer_format(feed->transfer->table, feed->text, &kind);
	if (format == TRANSFER_AUTO)
		return false;
	choose_format(feed, format, feed->text);
	return true;
}

/* Finds the kind of a document in the same way. */
static bool
find_kind(TransferFeed *feed)
{
	DocumentKind kind;
	Size n = 0;

	if (feed->form.format != TRANSFER_DOCUMENT || feed->document.kind != DOCUMENT_UNKNOWN)
		return true;
	while (n < feed->text.len && is_space(feed->text.data[n]))
		n++;
	feed->line += count_lines(feed->text.data, n);
	feed_pass(feed, n);
	if (transfer_format(feed->transfer->table, feed->text, &kind) == TRANSFER_AUTO)
		return false;
	if (kind != DOCUMENT_OF_BATCH && feed->form.from_table != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg(NO_TABLES)));
	feed->document.kind = kind;
	feed->survey = kind == DOCUMENT_OF_BATCH;
	return true;
}

/*
 * Tables of a batch
 *
 * Which tables there are is known when all has been read, and nothing is imported before.
 */

static bool
is_from_table(const TransferFeed *feed, ItemSpan name)
{
	const text *given = feed->form.from_table;

	return given == NULL || item_compare_bytes(text_span(given), name) == 0;
}

static void
note_table(TransferFeed *feed, ItemSpan name)
{
	MemoryContext old;
	ListCell *cell;

	feed->found |= is_from_table(feed, name);
	foreach (cell, feed->tables)
	{
		if (item_compare_bytes(*(ItemSpan *) lfirst(cell), name) == 0)
			return;
	}
	feed->more_tables = list_length(feed->tables) == MAX_TABLES;
	if (feed->more_tables)
		return;
	if (feed->transfer->verify)
		(void) pg_verify_mbstr(PG_UTF8, name.data, (int) name.len, false);
	old = MemoryContextSwitchTo(feed->context);
	name.data = memcpy(palloc(name.len), name.data, name.len);
	feed->tables = lappend(feed->tables, memcpy(palloc(sizeof(ItemSpan)), &name, sizeof(ItemSpan)));
	MemoryContextSwitchTo(old);
}

static char *
tables_listed(const TransferFeed *feed)
{
	StringInfoData list;
	ListCell *cell;

	initStringInfo(&list);
	foreach (cell, feed->tables)
		appendStringInfo(&list, "%s\"%s\"", list.len > 0 ? ", " : "",
						 item_quoted(*(ItemSpan *) lfirst(cell)));
	if (feed->more_tables)
		appendStringInfoString(&list, " and others");
	return list.data;
}

/* Chooses the table whose items are wanted. */
static ItemSpan
choose_table(const TransferFeed *feed)
{
	const text *given = feed->form.from_table;

	if (!feed->found)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the batch has no table \"%s\"", item_quoted(text_span(given))),
						errdetail("It has %s.", tables_listed(feed))));
	if (given != NULL)
		return text_span(given);
	if (list_length(feed->tables) > 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("the batch has several tables"),
						errdetail("They are %s.", tables_listed(feed)),
						errhint("Choose one as from_table (--from-table of the command).")));
	return *(ItemSpan *) linitial(feed->tables);
}

/*
 * Returns, when all has been taken, whether it has to be given again, from its beginning, because
 * so far only its tables are known.
 */
bool
transfer_feed_again(TransferFeed *feed)
{
	if (!feed->survey)
		return false;
	feed->document = (Document){DOCUMENT_OF_BATCH, choose_table(feed)};
	feed->survey = feed->begun = false;
	feed->line = 1;
	feed->text = (RecordText){feed->kept.data};
	feed->needed = 0;
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
	csv_read_header(&feed->csv, feed->transfer->table, feed->form.types, step->record, step->len);
	MemoryContextSwitchTo(old);
}

/* Without its header nothing of CSV can be read, so its errors are not skipped. */
static void
take_header(TransferFeed *feed, const char *record, int len)
{
	HeaderStep step = {feed, record, len};
	MemoryContext old = CurrentMemoryContext;
	ErrorData *error = attempt_to_compute(read_header, &step, value_is_to_blame);

	MemoryContextSwitchTo(old);
	if (error == NULL)
		return;
	error->message = psprintf("line " INT64_FORMAT ": %s", feed->line, error->message);
	ReThrowError(error);
}

/* Takes a header that is given instead of the first record. */
static void
take_given_header(TransferFeed *feed)
{
	ItemSpan header = text_span(feed->form.header);
	Record record = record_of_csv((RecordText){header.data, header.len, true}, feed->csv.delimiter);
	MemoryContext old = MemoryContextSwitchTo(feed->context);

	if (record.step == RECORD_FAULT || record.next < header.len)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid CSV header: %s", record.step == RECORD_FAULT
															 ? record.fault
															 : "it is longer than a record")));
	csv_read_header(&feed->csv, feed->transfer->table, feed->form.types, header.data,
					(int) header.len);
	MemoryContextSwitchTo(old);
}

static void
take_csv(TransferFeed *feed, const char *record, const Record *found)
{
	bool blank = found->len == 0 || (found->len == 1 && *record == '\r');

	if (feed->csv.n == 0 && feed->form.header != NULL)
		take_given_header(feed);
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
fail_record(const TransferFeed *feed, const Record *record, const char *fault)
{
	int64 line = feed->line + count_lines(feed->text.data, record->start);

	if (feed->form.format == TRANSFER_CSV)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("line " INT64_FORMAT ": invalid CSV: %s", line, fault)));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("line " INT64_FORMAT ": invalid document: %s", line, fault),
					errdetail("The number of items before it is %s.",
							  psprintf(INT64_FORMAT, feed->transfer->line))));
}

static void
take_item(TransferFeed *feed, const Record *record)
{
	const char *item = feed->text.data + record->start;

	if (record->table.len > MAX_TABLE_NAME)
		fail_record(feed, record, "the name of a table is too long");
	if (feed->survey && record->table.data != NULL)
		note_table(feed, record->table);
	if (!feed->survey && record->len > 0)
	{
		/* the first one tells of all */
		if (feed->transfer->line == 0 &&
			transfer_is_plain(feed->transfer->table, item, (int) record->len))
			feed->transfer->read = read_plain;
		feed->transfer->place = feed->line + count_lines(feed->text.data, record->start);
		transfer_take(feed->transfer, item, (int) record->len);
	}
	feed->line += count_lines(feed->text.data, record->next);
}

static Record
find_record(TransferFeed *feed)
{
	if (feed->form.format == TRANSFER_CSV)
		return record_of_csv(feed->text, feed->csv.delimiter);
	if (feed->form.format == TRANSFER_DOCUMENT)
		return record_of_document(&feed->document, feed->text);
	return record_of_lines(feed->text);
}

/* Waits for more, unless there is so much already that no record has it. */
static void
wait_for_more(TransferFeed *feed, const Record *record)
{
	TransferReader read = feed->transfer->read;
	Size len = feed->text.len;

	if (len < MAX_RECORD && !feed->too_long)
	{
		feed->needed = Min(Max(len * 2, 1), MAX_RECORD);
		return;
	}
	if (feed->form.format == TRANSFER_CSV || feed->form.format == TRANSFER_DOCUMENT)
		fail_record(feed, record, psprintf("a record is longer than %d bytes", MAX_RECORD));
	feed_pass(feed, len);
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

	if (feed->form.format == TRANSFER_CSV)
		take_csv(feed, data, record);
	else if (feed->form.format == TRANSFER_DOCUMENT)
		take_item(feed, record);
	else
		take_line(feed, data, record->len);
	feed_pass(feed, record->next);
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
	if (!pass_byte_order_mark(feed) || !find_format(feed) || !find_kind(feed))
		return false;
	while (feed->transfer->batches == batches)
	{
		Record record = find_record(feed);

		CHECK_FOR_INTERRUPTS();
		if (record.step == RECORD_FAULT)
			fail_record(feed, &record, record.fault);
		if (record.step == RECORD_MORE)
			wait_for_more(feed, &record);
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
	if (feed->form.format == TRANSFER_JSON || feed->form.format == TRANSFER_PLAIN)
	{
		transfer_take(feed->transfer, data, (int) len);
		return;
	}
	transfer_feed_piece(feed, data, len);
	transfer_feed_piece(feed, "\n", 1);
	(void) transfer_feed_take(feed);
}

static TransferFormat
format_of_row(const TransferFeed *feed, RecordText row)
{
	const DynTable *table = feed->transfer->table;
	DocumentKind kind;
	TransferFormat format = transfer_format(table, row, &kind);

	/* an item over several lines, all of it */
	if (format == TRANSFER_DOCUMENT && kind == DOCUMENT_OF_ITEMS && *row.data == '{' && row.len > 1)
		return transfer_is_plain(table, row.data, (int) row.len) ? TRANSFER_PLAIN : TRANSFER_JSON;
	return format;
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
	if (feed->form.format == TRANSFER_AUTO && space < len)
	{
		RecordText row = {data + space, len - space, true};

		while (is_space(row.data[row.len - 1]))
			row.len--;
		choose_format(feed, format_of_row(feed, row), row);
	}
	if (feed->form.format == TRANSFER_AUTO)
		transfer_blank(feed->transfer);
	else
		take_row(feed, data, len);
	return feed->transfer->batches > batches;
}
