/*
 * csv.c
 *	  Records of CSV as items: a column is an attribute.
 *
 * A field that is empty and has no quotes is an attribute that the item does not have; one with
 * quotes is an empty value.  So COPY writes them, too.  Fields are data, whatever they begin with.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "api/transfer/csv.h"
#include "api/transfer/record.h"
#include "item/build.h"
#include "server/attempt.h"
#include "server/errors.h"

/*
 * Fields
 */

static void
fail_field(const char *fault)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid CSV: %s", fault)));
}

/* RFC 4180 has no control characters but for the ends of lines; tabs are in many files. */
static void
refuse_control(ItemSpan text)
{
	for (uint32 i = 0; i < text.len; i++)
	{
		unsigned char c = text.data[i];

		if (c < 0x20 && c != '\t' && c != '\r' && c != '\n')
			fail_field(psprintf("it has the control character U+%04X", c));
	}
}

/* Returns what a field says, without its quotes. */
static ItemSpan
field_text(const CsvField *field)
{
	ItemSpan text = {field->start, (uint32) (field->end - field->start)};
	char *copy;
	uint32 len = 0;

	refuse_control(text);
	if (!field->doubled)
		return text;
	copy = palloc(text.len);
	for (const char *at = field->start; at < field->end; at++)
	{
		copy[len++] = *at;
		if (*at == '"')
			at++;
	}
	return (ItemSpan){copy, len};
}

/* Reads the fields of a record one after the other, until it returns false. */
static bool
next_field(const Csv *csv, const char **at, const char *end, CsvField *field)
{
	if (*at == NULL)
		return false;
	*field = csv_field(*at, end, csv->delimiter);
	if (field->fault != NULL)
		fail_field(field->fault);
	*at = field->behind < end && *field->behind == csv->delimiter ? field->behind + 1 : NULL;
	return true;
}

/*
 * The header
 */

static const DynKey *
find_key(const DynTable *table, ItemSpan name)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (item_compare_bytes(table->keys[i].attribute, name) == 0)
			return &table->keys[i];
	}
	return NULL;
}

static CsvColumn *
find_column(const Csv *csv, ItemSpan name)
{
	for (int i = 0; i < csv->n; i++)
	{
		if (item_compare_bytes(csv->columns[i].name, name) == 0)
			return &csv->columns[i];
	}
	return NULL;
}

static void
add_column(Csv *csv, int *max, const DynTable *table, ItemSpan name)
{
	const DynKey *key = find_key(table, name);

	if (name.len == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid CSV header: column %d has no name", csv->n + 1)));
	if (name.len > ITEM_MAX_NAME)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid CSV header: column \"%s\" has a name longer than %d bytes",
							   item_quoted(name), ITEM_MAX_NAME)));
	if (csv->n == *max)
	{
		*max *= 2;
		csv->columns = repalloc(csv->columns, *max * sizeof(CsvColumn));
	}
	csv->columns[csv->n].name = span_copy(name);
	csv->columns[csv->n++].type = key != NULL ? key->type : ITEM_S;
}

/* There may be very many columns. */
static int
compare_columns(const void *a, const void *b)
{
	return item_compare_bytes((*(const CsvColumn *const *) a)->name,
							  (*(const CsvColumn *const *) b)->name);
}

static void
refuse_duplicates(const Csv *csv)
{
	const CsvColumn **sorted = palloc(csv->n * sizeof(CsvColumn *));

	for (int i = 0; i < csv->n; i++)
		sorted[i] = &csv->columns[i];
	qsort(sorted, csv->n, sizeof(CsvColumn *), compare_columns);
	for (int i = 1; i < csv->n; i++)
	{
		if (compare_columns(&sorted[i - 1], &sorted[i]) == 0)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("invalid CSV header: column \"%s\" is there twice",
								   item_quoted(sorted[i]->name))));
	}
	pfree(sorted);
}

static void
require_keys(const Csv *csv, const DynTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		if (find_column(csv, table->keys[i].attribute) == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("invalid CSV header: there is no column \"%s\"",
								   item_quoted(table->keys[i].attribute)),
							errdetail("It is a key attribute of table \"%s\".", table->name)));
	}
}

static void
set_type(const Csv *csv, const DynTable *table, ItemSpan name, ItemSpan code)
{
	CsvColumn *column = find_column(csv, name);
	ItemType type = item_type_from_code(code);
	const DynKey *key = find_key(table, name);

	if (type == 0 || type == ITEM_NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid type \"%s\" of column \"%s\"", item_quoted(code),
							   item_quoted(name)),
						errhint("Types of columns are S, N, B, BOOL, L, M, SS, NS and BS.")));
	if (column == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("types has column \"%s\", which the CSV header has not",
							   item_quoted(name))));
	if (key != NULL && key->type != type)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("key attribute \"%s\" is of type %s, not %s", item_quoted(name),
							   item_type_code(key->type), item_type_code(type))));
	column->type = type;
}

/* Sets the types of columns from {"name": "type code", …}. */
static void
set_types(const Csv *csv, const DynTable *table, const Jsonb *types)
{
	JsonbIterator *it = JsonbIteratorInit(unconstify(JsonbContainer *, &types->root));
	JsonbIteratorToken token;
	JsonbValue name = {0};
	JsonbValue v;

	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
			name = v;
		else if (token == WJB_VALUE)
			set_type(csv, table, (ItemSpan){name.val.string.val, (uint32) name.val.string.len},
					 v.type == jbvString ? (ItemSpan){v.val.string.val, (uint32) v.val.string.len}
										 : (ItemSpan){"", 0});
	}
}

/*
 * Reads the header of CSV for a table.  types is NULL, or an object with the types of columns that
 * are no keys, which are S otherwise.  The names are allocated in the current memory context.
 */
void
csv_read_header(Csv *csv, const DynTable *table, const Jsonb *types, const char *record, int len)
{
	const char *at = record;
	int max = 16;
	CsvField field;

	csv->n = 0;
	csv->columns = palloc(max * sizeof(CsvColumn));
	while (next_field(csv, &at, record + len, &field))
		add_column(csv, &max, table, field_text(&field));
	refuse_duplicates(csv);
	require_keys(csv, table);
	if (types != NULL)
		set_types(csv, table, types);
}

/*
 * Values
 */

typedef struct Cell
{
	ItemType type;
	ItemSpan text;
	DynItem *item; /* it has the value, alone */
	ItemSpan value;
} Cell;

/*
 * Reads the value of the cell as JSON has it, inside an item of its own.  Several values are an
 * error.  B and BS are read as DynamoDB JSON has them, others as plain JSON.
 */
static void
read_json(Cell *cell)
{
	bool typed = cell->type == ITEM_B || cell->type == ITEM_BS;
	StringInfoData json;
	ItemChildren c;
	ItemSpan name;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"v\":");
	if (typed)
		appendStringInfo(&json, "{\"%s\":", item_type_code(cell->type));
	if (cell->type == ITEM_B)
		item_print_string(&json, cell->text);
	else
		appendBinaryStringInfo(&json, cell->text.data, (int) cell->text.len);
	appendStringInfoString(&json, typed ? "}}" : "}");
	cell->item =
		item_parse(json.data, json.len, typed ? ITEM_SYNTAX_ITEM : ITEM_SYNTAX_PLAIN_ITEM, NULL);
	c = item_children(item_root(cell->item));
	if (c.count != 1)
		fail_field("a field has more than one value");
	cell->value = item_entry(item_child(&c, 0), &name);
}

static void
fail_kind(ItemType type, const char *kind)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("a value of type %s must be %s", item_type_code(type), kind)));
}

static void
end_set(ItemBuilder *b)
{
	ItemBuildError error = item_build_end(b);
	StringInfoData message;

	if (error == ITEM_BUILD_OK)
		return;
	initStringInfo(&message);
	item_build_describe(b, error, &message);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg_internal("%s", message.data)));
}

/* Makes a set of a list of plain JSON. */
static DynItem *
set_of_list(ItemType type, ItemSpan list)
{
	ItemChildren c = item_children(list);
	ItemBuilder b;

	item_build_init(&b, list.len);
	item_build_begin(&b, type);
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan element = item_child(&c, i);

		if (item_type(element) != item_element_type(type))
			fail_kind(type,
					  type == ITEM_SS ? "a JSON array of strings" : "a JSON array of numbers");
		item_build_element(&b);
		item_build_scalar(&b, item_element_type(type), item_payload(element));
	}
	end_set(&b);
	return item_build_finish(&b);
}

/* Reads a cell and checks its type; of B and BS the parser has done that. */
static void
read_cell(void *arg)
{
	Cell *cell = arg;
	bool list = cell->type == ITEM_L || cell->type == ITEM_SS || cell->type == ITEM_NS;

	read_json(cell);
	if (cell->type == ITEM_M && item_type(cell->value) != ITEM_M)
		fail_kind(ITEM_M, "a JSON object");
	if (list && item_type(cell->value) != ITEM_L)
		fail_kind(cell->type, "a JSON array");
	if (list && cell->type != ITEM_L)
		cell->value = item_root(set_of_list(cell->type, cell->value));
}

static void
fail_cell(const CsvColumn *column, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("column \"%s\": %s", item_quoted(column->name), message)));
}

static void
build_number(ItemBuilder *b, const CsvColumn *column, ItemSpan text)
{
	char number[ITEM_NUMBER_SIZE];
	int len = item_number_parse(text.data, text.len, number);

	if (len < 0)
		fail_cell(column, psprintf("\"%s\" %s", item_quoted(text), item_number_error(len)));
	item_build_scalar(b, ITEM_N, (ItemSpan){number, (uint32) len});
}

/* Builds a boolean, as programs write it: true, TRUE, True. */
static void
build_bool(ItemBuilder *b, const CsvColumn *column, ItemSpan text)
{
	bool value = text.len == 4 && pg_strncasecmp(text.data, "true", 4) == 0;

	if (!value && !(text.len == 5 && pg_strncasecmp(text.data, "false", 5) == 0))
		fail_cell(column, psprintf("\"%s\" is neither true nor false", item_quoted(text)));
	item_build_bool(b, value);
}

static void
build_value(ItemBuilder *b, const CsvColumn *column, ItemSpan text)
{
	Cell cell = {column->type, text};
	ErrorData *error;

	if (column->type == ITEM_S)
		item_build_scalar(b, ITEM_S, text);
	else if (column->type == ITEM_N)
		build_number(b, column, text);
	else if (column->type == ITEM_BOOL)
		build_bool(b, column, text);
	else
	{
		error = attempt_to_compute(read_cell, &cell, value_is_to_blame);
		if (error != NULL)
			fail_cell(column, error->message);
		item_build_value(b, cell.value);
	}
}

static void
fail_count(const Csv *csv, const char *record, int len)
{
	const char *at = record;
	CsvField field;
	int n = 0;

	while (next_field(csv, &at, record + len, &field))
		n++;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid CSV: the number of fields is %d, not %d as in the header", n,
						   csv->n)));
}

/* Reads a record, allocated in the current memory context. */
DynItem *
csv_read_item(const Csv *csv, const char *record, int len)
{
	const char *at = record;
	ItemBuilder b;
	CsvField field;
	DynItem *item;
	int i = 0;

	item_build_init(&b, Min(len, ITEM_MAX_ENCODED));
	item_build_begin(&b, ITEM_M);
	for (; i < csv->n && next_field(csv, &at, record + len, &field); i++)
	{
		ItemSpan text = field_text(&field);

		CHECK_FOR_INTERRUPTS();
		if (text.len == 0 && !field.quoted)
			continue;
		item_build_name(&b, csv->columns[i].name);
		build_value(&b, &csv->columns[i], text);
	}
	if (i < csv->n || at != NULL)
		fail_count(csv, record, len);
	/* names of columns are there once */
	(void) item_build_end(&b);
	item = item_build_finish(&b);
	item_check_size(item_root(item));
	return item;
}
