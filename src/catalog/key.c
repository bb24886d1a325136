/*
 * key.c
 *	  Key attributes: their rules, and the columns derived from them.
 *
 * S becomes text in collation "C", N numeric, B bytea; the columns' own order is DynamoDB's.
 * text cannot hold U+0000, so strings are escaped, in an order-preserving way: byte 00
 * becomes 01 01, byte 01 becomes 01 02.  Nearly no string has either.
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/key.h"
#include "server/errors.h"

/* Returns the type of the column derived from a key attribute of type S, N or B. */
Oid
dyn_key_column_type(ItemType type)
{
	return type == ITEM_S ? TEXTOID : type == ITEM_N ? NUMERICOID : BYTEAOID;
}

static Datum
bytes_datum(const char *data, Size len)
{
	struct varlena *datum = palloc(VARHDRSZ + len);

	SET_VARSIZE(datum, VARHDRSZ + len);
	memcpy(VARDATA(datum), data, len);
	return PointerGetDatum(datum);
}

/* Returns the escaped form of a string, or the string itself if it needs none. */
static ItemSpan
escape_string(ItemSpan s)
{
	char *out;
	uint32 len = 0;
	uint32 i = 0;

	while (i < s.len && (unsigned char) s.data[i] > 1)
		i++;
	if (i == s.len)
		return s;
	out = palloc(2 * (Size) s.len);
	for (i = 0; i < s.len; i++)
	{
		if ((unsigned char) s.data[i] <= 1)
		{
			out[len++] = 1;
			out[len++] = s.data[i] + 1;
		}
		else
			out[len++] = s.data[i];
	}
	return (ItemSpan){out, len};
}

/* Returns the column's value for a key attribute's payload. */
Datum
dyn_key_datum(ItemType type, ItemSpan payload)
{
	if (type == ITEM_N)
		return NumericGetDatum(item_number_to_numeric(payload));
	if (type == ITEM_S)
		payload = escape_string(payload);
	return bytes_datum(payload.data, payload.len);
}

/* Drops the bytes FF at the end and counts up the last one that is left. */
static bool
next_bytes(char *bytes, uint32 *len)
{
	while (*len > 0 && (unsigned char) bytes[*len - 1] == 0xff)
		(*len)--;
	if (*len == 0)
		return false;
	bytes[*len - 1]++;
	return true;
}

/* Makes the next string by code points, so that the result is valid UTF-8. */
static bool
next_string(char *s, uint32 *len)
{
	while (*len > 0)
	{
		uint32 start = *len - 1;
		pg_wchar code;

		while (start > 0 && ((unsigned char) s[start] & 0xc0) == 0x80)
			start--;
		code = utf8_to_unicode((unsigned char *) s + start);
		if (code < 0x10ffff)
		{
			code = code == 0xd7ff ? 0xe000 : code + 1;
			unicode_to_utf8(code, (unsigned char *) s + start);
			*len = start + pg_utf_mblen((unsigned char *) s + start);
			return true;
		}
		*len = start;
	}
	return false;
}

/* Finds the smallest key above all that begin with a prefix; false if there is none. */
bool
dyn_key_prefix_end(ItemType type, ItemSpan prefix, Datum *end)
{
	char *bytes;
	uint32 len;
	bool found;

	if (type == ITEM_S)
		prefix = escape_string(prefix);
	len = prefix.len;
	/* the last code point may grow by a byte */
	bytes = palloc(len + MAX_MULTIBYTE_CHAR_LEN);
	memcpy(bytes, prefix.data, len);
	found = type == ITEM_S ? next_string(bytes, &len) : next_bytes(bytes, &len);
	if (found)
		*end = bytes_datum(bytes, len);
	return found;
}

/* Puts a column's value into an item: the opposite of dyn_key_datum(). */
void
dyn_key_build(ItemBuilder *builder, ItemType type, Datum column)
{
	const struct varlena *value;
	const char *in;
	const char *end;
	char *out;
	char *at;

	if (type == ITEM_N)
	{
		int len;

		at = item_build_reserve(builder, ITEM_N, ITEM_NUMBER_SIZE);
		len = item_number_from_numeric(DatumGetNumeric(column), at);
		/* a table's owner who has dropped the trigger and the constraint can store anything */
		if (len < 0)
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("a key column holds a number that no item can have"),
							errhint("Call dyn_check_table to find the row.")));
		item_build_reserved(builder, (uint32) len);
		return;
	}
	value = PG_DETOAST_DATUM_PACKED(column);
	in = VARDATA_ANY(value);
	end = in + VARSIZE_ANY_EXHDR(value);
	out = at = item_build_reserve(builder, type, VARSIZE_ANY_EXHDR(value));
	while (in < end)
	{
		/* the second byte of an escape is the escaped byte plus one */
		if (type == ITEM_S && *in == 1 && in + 1 < end)
		{
			*at++ = in[1] - 1;
			in += 2;
		}
		else
			*at++ = *in++;
	}
	item_build_reserved(builder, (uint32) (at - out));
}

/*
 * Rules of key values.  They are DynamoDB's; the size of numbers is not checked, since they are
 * always small.
 */

/* Tells what is wrong with a key. */
typedef enum KeyFault
{
	KEY_VALID,
	KEY_MISSING,
	KEY_TYPE,
	KEY_EMPTY,
	KEY_LONG,
	KEY_SURPLUS /* an attribute that is in no key */
} KeyFault;

static uint32
key_limit(bool partition)
{
	return partition ? DYN_MAX_PARTITION_KEY : DYN_MAX_SORT_KEY;
}

static KeyFault
find_fault(const DynKey *key, bool partition, ItemSpan value)
{
	uint32 len = value.len - 1;

	if (item_type(value) != key->type)
		return KEY_TYPE;
	if (key->type == ITEM_N)
		return KEY_VALID;
	if (len == 0)
		return KEY_EMPTY;
	return len > key_limit(partition) ? KEY_LONG : KEY_VALID;
}

/* Returns whether a value, given with its tag, is an empty string or no bytes where this key is one. */
bool
dyn_key_is_empty(const DynKey *key, ItemSpan value)
{
	return find_fault(key, true, value) == KEY_EMPTY;
}

/* Returns why a value, given with its tag, cannot be this key, or NULL if it can. */
const char *
dyn_key_problem(const DynKey *key, bool partition, ItemSpan value)
{
	switch (find_fault(key, partition, value))
	{
		case KEY_TYPE:
			return psprintf("must be of type %s, not %s", item_type_code(key->type),
							item_type_code(item_type(value)));
		case KEY_EMPTY:
			return "must not be empty";
		case KEY_LONG:
			return psprintf("has %u bytes, more than the limit of %u for a %s key", value.len - 1,
							key_limit(partition), partition ? "partition" : "sort");
		case KEY_MISSING:
		case KEY_SURPLUS:
		case KEY_VALID:
			break;
	}
	return NULL;
}

/*
 * What DynamoDB says of wrong keys.  It has one text for most that is wrong with a key that is
 * given by itself, and others for the keys of an item.
 */

#define START_KEY_WORDS "The provided starting key is invalid"

static const char *
empty_words(const DynKey *key, const char *which, const char *where)
{
	return psprintf("One or more parameter values are not valid. %sThe AttributeValue for a key "
					"attribute cannot contain an empty %s value.%s",
					which, key->type == ITEM_S ? "string" : "binary", where);
}

static const char *
long_words(bool partition)
{
	return partition ? DYN_INVALID_WORDS "Size of hashkey has exceeded the maximum size limit "
										 "of2048 bytes"
					 : DYN_INVALID_WORDS "Aggregated size of all range keys has exceeded the "
										 "size limit of 1024 bytes";
}

/* Returns what DynamoDB says of a fault; the value is that of a fault of the type. */
static const char *
fault_words(DynKeyRole role, KeyFault fault, const DynKey *key, bool partition, ItemSpan value)
{
	if (fault == KEY_EMPTY)
		return empty_words(key, "", psprintf(" Key: %s", item_quoted_words(key->attribute)));
	if (fault == KEY_LONG)
		return long_words(partition);
	if (role == DYN_KEY_OF_CONDITION)
		return DYN_INVALID_WORDS "Condition parameter type does not match schema type";
	if (role != DYN_KEY_OF_ITEM)
		return DYN_KEY_MISMATCH_WORDS;
	if (fault == KEY_MISSING)
		return psprintf(DYN_INVALID_WORDS "Missing the key %s in the item",
						item_quoted_words(key->attribute));
	return psprintf(DYN_INVALID_WORDS "Type mismatch for key %s expected: %s actual: %s",
					item_quoted_words(key->attribute), item_type_code(key->type),
					item_type_code(item_type(value)));
}

static bool
is_scalar(ItemType type)
{
	return type == ITEM_S || type == ITEM_N || type == ITEM_B;
}

/*
 * Returns what DynamoDB says of the i-th column of a start key that has n attributes.  Query, and
 * Scan of an index, look at its form first, then at the keys of the index, and then at those of the
 * table.
 */
static const char *
start_words(DynKeyRole role, const DynIndex *index, int i, KeyFault fault, bool scalar, uint32 n,
			const char *words)
{
	/* a value that could be a key, but not this one (docs/semantics.md, SV27) */
	if (fault == KEY_TYPE && scalar)
		return START_KEY_WORDS;
	if (role == DYN_KEY_OF_QUERY_START || !dyn_index_is_table(index))
	{
		if (n != (uint32) index->ncolumns || (fault == KEY_MISSING && i < index->nkeys))
			return START_KEY_WORDS;
		if (i < index->nkeys)
			return words;
	}
	return psprintf(START_KEY_WORDS ": %s", words);
}

#define COPIED_WORDS "The update expression attempted to update the secondary index key "

/*
 * Returns what DynamoDB says of the value for an index, where dyn_key_problem() finds one.  It has
 * other texts for updates, and for values that updates copy, which it checks late.
 */
const char *
dyn_index_key_words(const DynIndex *index, const DynKey *key, bool partition, ItemSpan value,
					DynKeySource source)
{
	const char *name = item_quoted_words(index->name);

	switch (find_fault(key, partition, value))
	{
		case KEY_TYPE:
			if (source == DYN_KEY_COPIED)
				return COPIED_WORDS "to unsupported type";
			return psprintf(DYN_INVALID_WORDS
							"Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
							item_quoted_words(key->attribute), item_type_code(key->type),
							item_type_code(item_type(value)), name);
		case KEY_EMPTY:
			if (source != DYN_KEY_PUT)
				return empty_words(key,
								   "The update expression attempted to update a secondary index "
								   "key to a value that is not supported. ",
								   "");
			return empty_words(
				key, "A value specified for a secondary index key is not supported. ",
				psprintf(" IndexName: %s, IndexKey: %s", name, item_quoted_words(key->attribute)));
		case KEY_LONG:
			return source == DYN_KEY_COPIED ? COPIED_WORDS "beyond allowed size limits"
											: long_words(partition);
		case KEY_MISSING:
		case KEY_SURPLUS:
		case KEY_VALID:
			break;
	}
	pg_unreachable();
}

/* This is a key that is being read, for messages. */
typedef struct KeySource
{
	const DynTable *table;
	const DynIndex *index;
	DynKeyRole role;
	ItemChildren attributes;
} KeySource;

static const char *
source_words(const KeySource *source, int i, KeyFault fault, bool partition, ItemSpan value)
{
	const DynKey *key = dyn_index_key(source->table, source->index, i);
	const char *words = fault_words(source->role, fault, key, partition, value);

	if (source->role == DYN_KEY_OF_SCAN_START || source->role == DYN_KEY_OF_QUERY_START)
		return start_words(source->role, source->index, i, fault,
						   value.data != NULL && is_scalar(item_type(value)),
						   source->attributes.count, words);
	return words;
}

/* Returns what the words are about: some operations tell keys of items in their own way. */
static WordsKind
fault_kind(DynKeyRole role, KeyFault fault)
{
	return role == DYN_KEY_OF_ITEM && (fault == KEY_MISSING || fault == KEY_TYPE) ? WORDS_ITEM_KEY
																				  : WORDS_OTHER;
}

pg_noreturn static void
fail_key(const DynKey *key, const char *problem, const char *words, WordsKind kind)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("key attribute \"%s\" %s", item_quoted(key->attribute), problem),
					errwords("%s", words), errwords_kind(kind)));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a value of a key condition, given with its tag, cannot be that
 * key attribute: it has another type, is empty, or is too long for a partition or sort key.
 */
void
dyn_key_check(const DynKey *key, bool partition, ItemSpan value)
{
	KeyFault fault = find_fault(key, partition, value);

	if (fault != KEY_VALID)
		fail_key(key, dyn_key_problem(key, partition, value),
				 fault_words(DYN_KEY_OF_CONDITION, fault, key, partition, value),
				 fault_kind(DYN_KEY_OF_CONDITION, fault));
}

pg_noreturn static void
fail_missing(const KeySource *source, int i)
{
	const DynKey *key = dyn_index_key(source->table, source->index, i);
	const char *hint = item_case_hint(&source->attributes, key->attribute);

	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("key attribute \"%s\" is missing", item_quoted(key->attribute)),
			 hint == NULL ? 0 : errhint("%s", hint),
			 errwords("%s", source_words(source, i, KEY_MISSING, false, (ItemSpan){NULL, 0})),
			 errwords_kind(fault_kind(source->role, KEY_MISSING))));
}

/*
 * Returns the value of the i-th column of an index, checked.  A key of the table that the index
 * only appends is checked by its role in the table.
 */
static ItemSpan
checked_attribute(const KeySource *source, int i)
{
	const DynIndex *index = source->index;
	const DynKey *key = dyn_index_key(source->table, index, i);
	bool partition = i < index->nkeys ? i < index->npartition : index->columns[i] == 0;
	ItemSpan value = {NULL, 0};
	KeyFault fault;

	if (!item_find(&source->attributes, key->attribute, &value))
		fail_missing(source, i);
	fault = find_fault(key, partition, value);
	if (fault != KEY_VALID)
		fail_key(key, dyn_key_problem(key, partition, value),
				 source_words(source, i, fault, partition, value), fault_kind(source->role, fault));
	return value;
}

/* Returns the value in an item of the i-th column of an index, checked. */
ItemSpan
dyn_key_attribute(const DynTable *table, const DynIndex *index, const DynItem *item, int i)
{
	KeySource source = {table, index, DYN_KEY_OF_ITEM, item_children(item_root(item))};

	return checked_attribute(&source, i);
}

/*
 * Returns the key of an item's entry in an index, as LastEvaluatedKey has it: the keys of index and
 * table.  Names that are in both are there once.
 */
DynItem *
dyn_key_item(const DynTable *table, const DynIndex *index, const DynItem *item)
{
	ItemBuilder b;

	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < index->ncolumns; i++)
	{
		item_build_name(&b, dyn_index_key(table, index, i)->attribute);
		item_build_value(&b, dyn_key_attribute(table, index, item, i));
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

static void
read_key(const KeySource *source, DynKeyValues *key)
{
	key->nkeys = source->index->ncolumns;
	for (int i = 0; i < key->nkeys; i++)
		key->values[i] = dyn_key_datum(dyn_index_key(source->table, source->index, i)->type,
									   item_payload(checked_attribute(source, i)));
}

/*
 * Sets *key to the primary key's columns of an item, palloc'd.  Raises ERRCODE_DYN_VALIDATION if a
 * key attribute is missing or has a value that no key can have.  Other attributes are ignored.
 */
void
dyn_key_of_item(const DynTable *table, const DynItem *item, DynKeyValues *key)
{
	KeySource source = {table, &table->primary, DYN_KEY_OF_ITEM, item_children(item_root(item))};

	read_key(&source, key);
}

/* Returns the attributes of the first n columns of an index, for a message: "PK", "SK". */
const char *
dyn_key_names(const DynTable *table, const DynIndex *index, int n)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < n; i++)
		appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "",
						 item_quoted(dyn_index_key(table, index, i)->attribute));
	return names.data;
}

pg_noreturn static void
fail_surplus(const KeySource *source, ItemSpan attribute)
{
	const DynTable *table = source->table;
	const DynIndex *index = source->index;
	const char *of = "";

	if (!dyn_index_is_table(index))
		of = psprintf("index \"%.*s\" or ", (int) index->name.len, index->name.data);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("\"%s\" is not a key attribute of %stable \"%s\"", item_quoted(attribute), of,
					table->name),
			 errhint("A key is given by the attributes %s alone.",
					 dyn_key_names(table, index, index->ncolumns)),
			 errwords("%s", source_words(source, 0, KEY_SURPLUS, false, (ItemSpan){NULL, 0}))));
}

/*
 * Reads an argument that must be the key and nothing else: the primary key, or the keys of an index
 * and its table together.
 */
void
dyn_key_exact(const DynTable *table, const DynIndex *index, const DynItem *given, DynKeyRole role,
			  DynKeyValues *key)
{
	KeySource source = {table, index, role, item_children(item_root(given))};

	read_key(&source, key);
	if (source.attributes.count == index->ncolumns)
		return;
	for (uint32 i = 0; i < source.attributes.count; i++)
	{
		bool known = false;
		ItemSpan name;

		item_entry(item_child(&source.attributes, i), &name);
		for (int k = 0; k < index->ncolumns; k++)
			known |= item_compare_bytes(name, dyn_index_key(table, index, k)->attribute) == 0;
		if (!known)
			fail_surplus(&source, name);
	}
}

/* This is the largest entry that nbtree allows; its own macro needs a page. */
#define MAX_INDEX_ENTRY \
	((Size) (MAXALIGN_DOWN((BLCKSZ - MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
							MAXALIGN(sizeof(BTPageOpaqueData))) / \
						   3) - \
			 MAXALIGN(sizeof(ItemPointerData))))

/*
 * Returns an entry's size by a tuple descriptor of plain columns; an index that is being created
 * has no btree yet.
 */
static Size
entry_size(Relation rel, const DynTable *table, const DynIndex *index, Datum *values)
{
	TupleDesc desc = CreateTemplateTupleDesc(index->ncolumns);
	bool nulls[DYN_MAX_INDEX_COLUMNS] = {false};

	for (int i = 0; i < index->ncolumns; i++)
		TupleDescCopyEntry(desc, (AttrNumber) (i + 1), RelationGetDescr(rel),
						   dyn_index_key(table, index, i)->attnum);
	return IndexTupleSize(index_form_tuple(desc, values, nulls));
}

/* Returns the bytes of a bitmap of what is null, which an entry that carries nothing has. */
static Size
bitmap_bytes(const DynIndex *index)
{
	return index->carried == NULL
			   ? 0
			   : MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData)) -
					 MAXALIGN(sizeof(IndexTupleData));
}

/*
 * Returns the size of an entry if it is too large, otherwise 0.  One entry of a btree holds about a
 * third of a page, after compression.  Keys of the full length can exceed that.  Only for keys near
 * the limit is an entry formed as a trial.
 */
Size
dyn_key_entry_too_large(Relation rel, const DynTable *table, const DynIndex *index, Datum *values)
{
	Size total = MAXALIGN(sizeof(IndexTupleData)) + bitmap_bytes(index);

	for (int i = 0; i < index->ncolumns; i++)
		total += MAXALIGN(VARSIZE_ANY(DatumGetPointer(values[i])));
	if (total <= MAX_INDEX_ENTRY)
		return 0;
	total = entry_size(rel, table, index, values) + bitmap_bytes(index);
	return total > MAX_INDEX_ENTRY ? total : 0;
}

/*
 * Raises the error for a primary key whose index entry would have the given size in bytes, as
 * dyn_key_entry_too_large() returns it.
 */
void
dyn_key_fail_too_large(const DynTable *table, Size size)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("keys are too large for index \"%s\"", get_rel_name(table->primary.relid)),
			 errdetail("Together they take %zu bytes after compression; the limit is %zu.", size,
					   MAX_INDEX_ENTRY)));
}
