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
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/rel.h"

#include "catalog/key.h"
#include "errors.h"

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

/* The escaped form of a string; the string itself if it needs none. */
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

/* The column's value for a key attribute's payload. */
Datum
dyn_key_datum(ItemType type, ItemSpan payload)
{
	if (type == ITEM_N)
		return NumericGetDatum(item_number_to_numeric(payload));
	if (type == ITEM_S)
		payload = escape_string(payload);
	return bytes_datum(payload.data, payload.len);
}

int
dyn_key_compare(ItemType type, ItemSpan a, ItemSpan b)
{
	return type == ITEM_N ? item_number_compare(a, b) : item_compare_bytes(a, b);
}

/* Drop the bytes FF at the end and count up the last one that is left. */
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

/* The same with code points, so that what comes out is UTF-8 again. */
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

/* The smallest key above all that begin with a prefix; false if there is none. */
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

/*
 * Rules of key values, DynamoDB's for all but the size of numbers, which are always small.
 */

static void
fail_key(const DynKey *key, const char *message)
{
	StringInfoData name;

	initStringInfo(&name);
	item_quote(&name, key->attribute);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("key attribute \"%s\" %s", name.data, message)));
}

/* Whether a value, given with its tag, can be this key. */
void
dyn_key_check(const DynTable *table, int i, ItemSpan value)
{
	const DynKey *key = &table->keys[i];
	uint32 limit = i == 0 ? DYN_MAX_PARTITION_KEY : DYN_MAX_SORT_KEY;
	uint32 len = value.len - 1;

	if (item_type(value) != key->type)
		fail_key(key, psprintf("must be of type %s, not %s", item_type_code(key->type),
							   item_type_code(item_type(value))));
	if (key->type == ITEM_N)
		return;
	if (len == 0)
		fail_key(key, "must not be empty");
	if (len > limit)
		fail_key(key, psprintf("has %u bytes, more than the limit of %u for a %s key", len, limit,
							   i == 0 ? "partition" : "sort"));
}

/* A key attribute's value in an item, checked. */
ItemSpan
dyn_key_attribute(const DynTable *table, const DynItem *item, int i)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan value = {NULL, 0};

	if (!item_find(&attributes, table->keys[i].attribute, &value))
		fail_key(&table->keys[i], "is missing");
	dyn_key_check(table, i, value);
	return value;
}

void
dyn_key_of_item(const DynTable *table, const DynItem *item, DynKeyValues *key)
{
	key->nkeys = table->nkeys;
	for (int i = 0; i < table->nkeys; i++)
		key->values[i] =
			dyn_key_datum(table->keys[i].type, item_payload(dyn_key_attribute(table, item, i)));
}

/* The same of an argument that must be the key and nothing else. */
void
dyn_key_exact(const DynTable *table, const DynItem *given, DynKeyValues *key)
{
	ItemChildren attributes = item_children(item_root(given));

	dyn_key_of_item(table, given, key);
	if (attributes.count == table->nkeys)
		return;
	for (uint32 i = 0; i < attributes.count; i++)
	{
		StringInfoData quoted;
		bool known = false;
		ItemSpan name;

		item_entry(item_child(&attributes, i), &name);
		for (int k = 0; k < table->nkeys; k++)
			known |= item_compare_bytes(name, table->keys[k].attribute) == 0;
		if (known)
			continue;
		initStringInfo(&quoted);
		item_quote(&quoted, name);
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("\"%s\" is not a key attribute of table \"%s\"", quoted.data,
							   table->name)));
	}
}

/* What nbtree allows for one entry, which it only says of a page at hand. */
#define MAX_INDEX_ENTRY \
	((Size) (MAXALIGN_DOWN((BLCKSZ - MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
							MAXALIGN(sizeof(BTPageOpaqueData))) / \
						   3) - \
			 MAXALIGN(sizeof(ItemPointerData))))

/*
 * One entry of a btree holds about a third of a page, after compression.  A full partition key
 * with a full sort key can be more than that: say so in terms of the table.  Only keys near
 * the limit cost the trial.
 */
void
dyn_key_check_entry(const DynTable *table, const Datum *values)
{
	Size total = MAXALIGN(sizeof(IndexTupleData));
	Datum columns[INDEX_MAX_KEYS] = {0};
	bool nulls[INDEX_MAX_KEYS];
	Relation index;
	IndexTuple entry;

	for (int i = 0; i < table->nkeys; i++)
		total += MAXALIGN(VARSIZE_ANY(DatumGetPointer(values[i])));
	if (total <= MAX_INDEX_ENTRY)
		return;
	/* The primary key may have columns of INCLUDE, which do not matter here. */
	memset(nulls, true, sizeof(nulls));
	for (int i = 0; i < table->nkeys; i++)
	{
		columns[i] = values[i];
		nulls[i] = false;
	}
	index = relation_open(table->key_index, AccessShareLock);
	entry = index_form_tuple(RelationGetDescr(index), columns, nulls);
	if (IndexTupleSize(entry) > MAX_INDEX_ENTRY)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("keys are too large for index \"%s\"", RelationGetRelationName(index)),
				 errdetail("Together they take %zu bytes after compression; the limit is %zu.",
						   IndexTupleSize(entry), MAX_INDEX_ENTRY)));
	pfree(entry);
	relation_close(index, AccessShareLock);
}
