/*
 * item_fuzz.c
 *	  libFuzzer harness over the item layer, without a server.
 *
 * The first byte chooses the entry: text of an item, text of a value, plain JSON, binary,
 * a line of an import, bytes that were never validated, a file of records, or an item of a model.  What is accepted has to come back the same
 * through text and through the bytes; AddressSanitizer and UBSan watch the memory, since palloc is malloc
 * here.
 */
#include "postgres.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

#include "check.h"
#include "server/attempt.h"
#include "item/build.h"
#include "api/transfer/feed.h"
#include "standin.h"

/*
 * The properties
 */

static bool
same(const DynItem *a, const DynItem *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		   memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Copy with the attributes in reverse, through the builder. */
static DynItem *
rebuild(ItemSpan root)
{
	ItemBuilder b;
	ItemChildren c = item_children(root);

	item_build_init(&b, 0);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = c.count; i-- > 0;)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&c, i), &name);

		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

static void
check_item(const DynItem *item, ItemSyntax syntax)
{
	StringInfoData text;
	StringInfoData plain;
	DynItem *again;
	ItemSpan root = item_root(item);

	CHECK(item_validate(root));
	initStringInfo(&text);
	if (syntax == ITEM_SYNTAX_VALUE)
		item_print_typed(&text, root);
	else
	{
		CHECK(same(rebuild(root), item));
		item_print_attributes(&text, root);
	}
	again = item_parse(text.data, text.len,
					   syntax == ITEM_SYNTAX_VALUE ? ITEM_SYNTAX_VALUE : ITEM_SYNTAX_ITEM, NULL);
	CHECK(same(item, again));
	CHECK(item_size_by(root, ITEM_SIZE_STORED) <= ITEM_MAX_SIZE);
	initStringInfo(&plain);
	item_print_plain(&plain, root);
	/* what was not given is at no address */
	item_print_string(&plain, (ItemSpan){NULL, 0});
}

/* A request takes what the type takes, and says otherwise what is wrong. */
static void
fuzz_request(const char *text, int len, ItemSyntax syntax, const DynItem *typed)
{
	static ItemComplaint complaint;
	const DynItem *volatile item = NULL;

	complaint = (ItemComplaint){NULL};
	if (sigsetjmp(standin_error, 0) == 0)
	{
		JsonLexContext *lex = make_json_lexer(text, len);

		if (json_lex(lex) == JSON_SUCCESS)
			item = item_parse_inside(lex, syntax, false, false, &complaint, NULL);
	}
	if (typed != NULL)
	{
		CHECK(item != NULL && complaint.message == NULL);
		CHECK(same(typed, (const DynItem *) item));
	}
	if (item == NULL || complaint.message != NULL)
		return;
	if (sigsetjmp(standin_error, 0) != 0)
		CHECK(!"a request's item is refused when it came back");
	check_item((const DynItem *) item, syntax);
}

static void
fuzz_text(const char *text, int len, ItemSyntax syntax)
{
	const DynItem *volatile item = NULL;

	/* The server hands over verified UTF-8, ended with a NUL. */
	if (pg_encoding_verifymbstr(PG_UTF8, text, len) != len)
		return;
	if (sigsetjmp(standin_error, 0) == 0)
		item = item_parse(text, len, syntax, NULL);
	if (syntax != ITEM_SYNTAX_PLAIN_ITEM)
		fuzz_request(text, len, syntax, (const DynItem *) item);
	if (item == NULL)
		return;
	if (sigsetjmp(standin_error, 0) != 0)
		CHECK(!"accepted, and refused when it came back");
	check_item((const DynItem *) item, syntax);
}

static void
fuzz_binary(const char *bytes, int len)
{
	ItemSpan root = {bytes, (uint32) len};
	DynItem *item;

	if (!item_validate(root) || item_size_by(root, ITEM_SIZE_STORED) > ITEM_MAX_SIZE)
		return;
	item = item_from_value(root);
	if (sigsetjmp(standin_error, 0) != 0)
		CHECK(!"valid bytes whose text is refused");
	check_item(item, item_type(root) == ITEM_M ? ITEM_SYNTAX_ITEM : ITEM_SYNTAX_VALUE);
}

/* Every way into a value, whatever is there. */
static void
walk(ItemSpan value)
{
	ItemType type = item_type(value);
	ItemChildren c;

	CHECK(item_type_code(type) != NULL);
	if (type == ITEM_BOOL)
		(void) item_bool(value);
	if (!item_type_has_children(type))
		return;
	c = item_children(value);
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan child = item_child(&c, i);
		ItemSpan found;
		ItemSpan name;

		if (type == ITEM_M)
		{
			walk(item_entry(child, &name));
			(void) item_find(&c, name, &found);
		}
		else if (type == ITEM_L)
			walk(child);
		else
			(void) item_set_contains(value, child);
	}
}

static void
use_number(ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];
	char sum[ITEM_NUMBER_SIZE];
	ItemSpan one = {"\xc1\x02", 2};
	int64 integer;

	(void) item_number_is_negative(number);
	(void) item_number_compare(number, one);
	(void) item_number_digits(number);
	(void) item_number_pairs_by_point(number);
	(void) item_number_to_int64(number, 3, &integer);
	CHECK(item_number_add(number, one, false, sum) <= ITEM_NUMBER_SIZE);
	CHECK(item_number_add(one, number, true, sum) <= ITEM_NUMBER_SIZE);
	CHECK(item_number_print(number, text) < ITEM_NUMBER_TEXT);
}

typedef enum RawUse
{
	RAW_WALK,
	RAW_TYPED,
	RAW_ATTRIBUTES,
	RAW_PLAIN,
	RAW_SIZE,
	RAW_NESTING,
	RAW_REBUILD,
	RAW_SCALAR,
	RAW_NUMBER,
	RAW_USES
} RawUse;

static void
use_raw(RawUse use, ItemSpan value)
{
	StringInfoData out;
	ItemBuilder b;

	initStringInfo(&out);
	switch (use)
	{
		case RAW_WALK:
			walk(value);
			break;
		case RAW_TYPED:
			item_print_typed(&out, value);
			break;
		case RAW_ATTRIBUTES:
			item_print_attributes(&out, value);
			break;
		case RAW_PLAIN:
			item_print_plain(&out, value);
			break;
		case RAW_SIZE:
			(void) item_size(value);
			break;
		case RAW_NESTING:
			(void) item_nesting(value);
			break;
		case RAW_REBUILD:
			(void) rebuild(value);
			break;
		case RAW_SCALAR:
			item_build_init(&b, 0);
			item_build_scalar(&b, item_type(value), item_payload(value));
			(void) item_build_finish(&b);
			break;
		default:
			use_number(value);
	}
}

/* Bytes as they may be in a table that is damaged: an error or a result, and nothing else. */
static void
fuzz_raw(const char *bytes, int len)
{
	/* just as long as they are */
	char *copy = memcpy(palloc(len), bytes, len);

	for (volatile int use = 0; use < RAW_USES; use++)
	{
		if (sigsetjmp(standin_error, 0) == 0)
			use_raw((RawUse) use, (ItemSpan){copy, (uint32) len});
	}
}

/* A line that has the item inside it, or is it, gives it back, whatever its attributes are called. */
static void
check_line(const char *before, const char *text, const char *after, const DynItem *item,
		   TransferKind kind)
{
	StringInfoData line;
	DynItem *again;

	initStringInfo(&line);
	appendStringInfo(&line, "%s%s%s", before, text, after);
	CHECK(transfer_parse_line(line.data, line.len, &again) == kind);
	CHECK(same(item, again));
}

/* A file that begins with the line has its format, whatever its attributes are called. */
static TransferFormat
format_of(const char *text, int len)
{
	DynKey key = {.attribute = {"p", 1}, .type = ITEM_S};
	DynTable table = {.nkeys = 1, .keys = &key};

	DocumentKind kind = DOCUMENT_UNKNOWN;
	TransferFormat format = transfer_format(&table, (RecordText){text, len, true}, &kind);

	CHECK(format != TRANSFER_AUTO && kind != DOCUMENT_UNKNOWN);
	return format;
}

static void
fuzz_line(const char *text, int len)
{
	DynItem *volatile item = NULL;
	StringInfoData printed;

	/* of what is no UTF-8, too */
	if (len > 0)
		(void) format_of(text, len);
	if (pg_encoding_verifymbstr(PG_UTF8, text, len) != len)
		return;
	if (sigsetjmp(standin_error, 0) == 0)
	{
		DynItem *found = NULL;

		if (transfer_parse_line(text, len, &found) != TRANSFER_BLANK)
			item = found;
	}
	if (item == NULL)
		return;
	if (sigsetjmp(standin_error, 0) != 0)
		CHECK(!"an item of a line is refused when it came back");
	initStringInfo(&printed);
	item_print_attributes(&printed, item_root(item));
	CHECK(format_of(printed.data, printed.len) == TRANSFER_JSON);
	check_line("", printed.data, "", item, TRANSFER_ITEM);
	check_line("{\"Item\":", printed.data, "}", item, TRANSFER_ITEM);
	check_line("{\"PutRequest\":{\"Item\":", printed.data, "}}", item, TRANSFER_ITEM);
	check_line("{\"NewImage\":", printed.data, "}", item, TRANSFER_PUT);
	check_line("{\"Metadata\":{\"WriteTimestampMicros\":1},\"Keys\":", printed.data, "}", item,
			   TRANSFER_DELETE);
}

typedef enum RecordKind
{
	RECORDS_LINES,
	RECORDS_CSV,
	RECORDS_ITEMS,
	RECORDS_ANSWER,
	RECORDS_BATCH,
	RECORDS_TABLE, /* of a batch */
	RECORD_KINDS
} RecordKind;

static Record
next_record(RecordKind kind, Document *document, RecordText text)
{
	switch (kind)
	{
		case RECORDS_LINES:
			return record_of_lines(text);
		case RECORDS_CSV:
			return record_of_csv(text, ',');
		default:
			return record_of_document(document, text);
	}
}

/* All fields of a record of CSV: they end where it does. */
static void
walk_fields(const char *record, Size len)
{
	const char *end = record + len;
	CsvField field;

	do
	{
		field = csv_field(record, end, ',');
		CHECK(field.closed && field.start <= field.end && field.end <= field.behind &&
			  field.behind <= end);
		record = field.behind + 1;
	} while (field.behind < end && *field.behind == ',');
	CHECK(field.behind == end);
}

/* The records of a file that comes in pieces of a size; each with its length in front. */
static StringInfoData
split(RecordKind kind, const char *data, Size len, Size piece)
{
	Document document = {kind == RECORDS_ITEMS    ? DOCUMENT_OF_ITEMS
						 : kind == RECORDS_ANSWER ? DOCUMENT_OF_ANSWER
												  : DOCUMENT_OF_BATCH};
	RecordText text = {data, Min(piece, len), piece >= len};
	StringInfoData records;

	if (kind == RECORDS_TABLE)
		document.table = (ItemSpan){"a", 1};
	initStringInfo(&records);
	for (;;)
	{
		/* as much as there is, and nothing behind it */
		char *copy = memcpy(palloc(text.len + 1), text.data, text.len);
		Record record = next_record(kind, &document, (RecordText){copy, text.len, text.whole});

		if (record.step == RECORD_MORE)
		{
			CHECK(!text.whole);
			text.len = Min(text.len + piece, (Size) (data + len - text.data));
			text.whole = text.data + text.len == data + len;
			pfree(copy);
			continue;
		}
		if (record.step != RECORD_FOUND)
		{
			CHECK((record.step == RECORD_FAULT) == (record.fault != NULL));
			CHECK(record.step != RECORD_END || text.whole);
			appendStringInfo(&records, "%d", record.step);
			return records;
		}
		CHECK(record.next > 0 && record.start + record.len <= record.next &&
			  record.next <= text.len);
		if (kind == RECORDS_CSV)
			walk_fields(copy + record.start, record.len);
		appendBinaryStringInfo(&records, record.table.data, (int) record.table.len);
		if (kind < RECORDS_ITEMS || record.len > 0)
			appendStringInfo(&records, "%zu:", record.len);
		appendBinaryStringInfo(&records, copy + record.start, (int) record.len);
		text.data += record.next;
		text.len -= record.next;
		pfree(copy);
	}
}

/* Where records begin does not depend on where pieces end. */
static void
fuzz_records(const char *data, int len)
{
	for (RecordKind kind = 0; kind < RECORD_KINDS; kind++)
	{
		StringInfoData whole = split(kind, data, len, len + 1);
		StringInfoData small = split(kind, data, len, 1);
		StringInfoData large = split(kind, data, len, 7);

		CHECK(whole.len == small.len && memcmp(whole.data, small.data, whole.len) == 0);
		CHECK(whole.len == large.len && memcmp(whole.data, large.data, whole.len) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *input;
	int len = (int) size - 1;

	if (size == 0)
		return 0;
	input = palloc(len + 1);
	memcpy(input, data + 1, len);
	input[len] = '\0';
	switch (data[0] % 7)
	{
		case 0:
			fuzz_text(input, len, ITEM_SYNTAX_ITEM);
			break;
		case 1:
			fuzz_text(input, len, ITEM_SYNTAX_VALUE);
			break;
		case 2:
			fuzz_text(input, len, ITEM_SYNTAX_PLAIN_ITEM);
			break;
		case 3:
			fuzz_binary(input, len);
			break;
		case 4:
			fuzz_line(input, len);
			break;
		case 5:
			fuzz_raw(input, len);
			break;
		case 6:
			fuzz_records(input, len);
			break;
	}
	standin_free_chunks();
	return 0;
}
