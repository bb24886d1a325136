/*
 * carried.c
 *	  What the entries of a covering index carry, see carried.h.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/itup.h"
#include "access/toast_internals.h"

#include "catalog/carried.h"
#include "catalog/key.h"
#include "item/fields.h"
#include "server/errors.h"

#define STRINGS "an array of strings"

/*
 * The constants
 */

static void
fail_member(const FieldReader *reader, const char *message, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid definition of what an index carries: %s", message),
					detail == NULL ? 0 : errdetail("%s", detail)));
}

static void
read_keys(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynCarried *carried = target;
	ItemSpan *specs;

	if (item_type(value) == ITEM_L && item_children(value).count > DYN_MAX_INDEX_COLUMNS)
		field_fail(reader, field->name,
				   psprintf("an array of at most %u strings", DYN_MAX_INDEX_COLUMNS));
	carried->nkeys = field_strings(reader, field, value, STRINGS, &specs);
	for (int i = 0; i < carried->nkeys; i++)
		dyn_parse_key_spec(specs[i], &carried->attributes_of[i], &carried->types[i]);
}

static void
print_keys(JsonWriter *json, const Field *field, const void *target)
{
	const DynCarried *carried = target;

	json_write_begin_array(json, field->name);
	for (int i = 0; i < carried->nkeys; i++)
		json_write_span(json, NULL,
						dyn_key_spec(carried->attributes_of[i], item_type_code(carried->types[i])));
	json_write_end_array(json);
}

static void
read_attributes(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynCarried *carried = target;

	carried->nincluded = field_strings(reader, field, value, STRINGS, &carried->included);
	carried->whole = false;
	qsort(carried->included, carried->nincluded, sizeof(ItemSpan), item_compare_spans);
}

static void
print_attributes(JsonWriter *json, const Field *field, const void *target)
{
	const DynCarried *carried = target;

	if (!carried->whole)
		json_write_spans(json, field->name, carried->included, carried->nincluded);
}

static const Field carried_fields[] = {
	{"keys", FIELD_OWN, .required = true, .read = read_keys, .print = print_keys},
	{"attributes", FIELD_OWN, .read = read_attributes, .print = print_attributes},
	{"limit", FIELD_COUNT, FIELD_AT(DynCarried, limit), .required = true},
	{"compression", FIELD_CHOICE, FIELD_AT(DynCarried, compression), .required = true,
	 .choices = dyn_compression_names},
	{NULL}};

/* Returns whether the text of a derived column's source is such a definition, and not a key. */
bool
dyn_carried_is_spec(ItemSpan spec)
{
	return spec.len > 0 && spec.data[0] == '{' && spec.data[spec.len - 1] == '}';
}

/* Raises an error for what no definition of ours has, and an owner may have written. */
static void
carried_check(const FieldReader *reader, const DynCarried *carried)
{
	for (int i = 1; i < carried->nincluded; i++)
	{
		if (item_compare_bytes(carried->included[i - 1], carried->included[i]) == 0)
			fail_member(reader, "an attribute is named twice", NULL);
	}
	if (carried->limit < 1 || carried->limit > DYN_MAX_ENTRY_LIMIT)
		fail_member(reader, psprintf("\"limit\" must be from 1 to %d", DYN_MAX_ENTRY_LIMIT), NULL);
}

/* Returns a definition from its text, which a table's owner may have written. */
DynCarried *
dyn_carried_parse(ItemSpan spec)
{
	DynCarried *carried = palloc0(sizeof(DynCarried));
	FieldReader reader = {fail_member, .context = carried};

	carried->whole = true;
	fields_read(&reader, carried_fields, carried,
				item_root(item_parse(spec.data, (int) spec.len, ITEM_SYNTAX_PLAIN_ITEM, NULL)));
	carried_check(&reader, carried);
	return carried;
}

static bool
is_key(const DynCarried *carried, ItemSpan attribute)
{
	for (int i = 0; i < carried->nkeys; i++)
	{
		if (item_compare_bytes(carried->attributes_of[i], attribute) == 0)
			return true;
	}
	return false;
}

/* Returns what a covering index carries; keys: the specs of an entry's columns. */
DynCarried *
dyn_carried_of(const DynIndexSpec *index, const ItemSpan *keys, int nkeys)
{
	DynCarried *carried = palloc0(sizeof(DynCarried));

	carried->nkeys = nkeys;
	for (int i = 0; i < nkeys; i++)
		dyn_parse_key_spec(keys[i], &carried->attributes_of[i], &carried->types[i]);
	carried->whole = index->projection == DYN_PROJECT_ALL;
	carried->included = palloc(index->nincluded * sizeof(ItemSpan));
	for (int i = 0; i < index->nincluded; i++)
	{
		if (!is_key(carried, index->included[i]))
			carried->included[carried->nincluded++] = index->included[i];
	}
	carried->limit = index->entry_limit;
	carried->compression = index->compression;
	return carried;
}

/* Returns a definition as text. */
char *
dyn_carried_print(const DynCarried *carried)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, carried_fields, carried);
	return json.text->data;
}

/* Returns whether two definitions carry the same of every item. */
bool
dyn_carried_equal(const DynCarried *a, const DynCarried *b)
{
	return a->whole == b->whole && a->limit == b->limit && a->compression == b->compression &&
		   item_spans_equal(a->attributes_of, a->nkeys, b->attributes_of, b->nkeys) &&
		   memcmp(a->types, b->types, a->nkeys * sizeof(ItemType)) == 0 &&
		   item_spans_equal(a->included, a->nincluded, b->included, b->nincluded);
}

/*
 * What is carried
 */

/* What is so many times as long as the limit is not compressed to see whether it fits. */
#define WORTH_COMPRESSING 8

/* Returns the part of an item that entries carry, not compressed; that may be the item itself. */
const DynItem *
dyn_carried_part(const DynCarried *carried, const DynItem *item)
{
	ItemChildren attributes;
	ItemBuilder b;

	if (carried->whole)
		return item;
	attributes = item_children(item_root(item));
	item_build_init(&b, 128);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < carried->nincluded; i++)
	{
		ItemSpan value;

		if (!item_find(&attributes, carried->included[i], &value))
			continue;
		item_build_name(&b, carried->included[i]);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns where an attribute of so many bytes ends in an entry, as heap_fill_tuple() places it. */
static Size
place_bytes(Size at, Size bytes)
{
	if (bytes + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
		return at + VARHDRSZ_SHORT + bytes;
	return INTALIGN(at) + VARHDRSZ + bytes;
}

static Size
key_bytes(ItemType type, ItemSpan value)
{
	struct varlena *datum =
		(struct varlena *) DatumGetPointer(dyn_key_datum(type, item_payload(value)));
	Size bytes = VARSIZE_ANY_EXHDR(datum);

	pfree(datum);
	return bytes;
}

/* Adds the bytes of an entry's keys; false if the item lacks one, or has another type for it. */
static bool
place_keys(const DynCarried *carried, const DynItem *item, Size *at)
{
	ItemChildren attributes = item_children(item_root(item));

	*at = MAXALIGN(sizeof(IndexTupleData));
	for (int i = 0; i < carried->nkeys; i++)
	{
		ItemSpan value;

		if (!item_find(&attributes, carried->attributes_of[i], &value) ||
			item_type(value) != carried->types[i])
			return false;
		*at = place_bytes(*at, key_bytes(carried->types[i], value));
	}
	return true;
}

/*
 * Compresses a value, as index_form_tuple() does with longer ones; done here, the value does not
 * depend on a setting of the session, and is compressed once for row and entry.  Returns NULL if it
 * is not compressed.
 */
static struct varlena *
carried_compress(const DynCarried *carried, const DynItem *part)
{
	char method = TOAST_PGLZ_COMPRESSION;

#ifdef USE_LZ4
	if (carried->compression == DYN_COMPRESSION_LZ4)
		method = TOAST_LZ4_COMPRESSION;
#endif
	if (VARSIZE_ANY(part) <= TOAST_INDEX_TARGET)
		return NULL;
	return (struct varlena *) DatumGetPointer(toast_compress_datum(PointerGetDatum(part), method));
}

/*
 * Sets *value to what the entry of an item carries, palloc'd or the item itself.  Returns false if
 * it carries nothing: the item is not in the index, or the entry would be too large.  Keys count
 * with their bytes as they are.
 */
bool
dyn_carried_make(const DynCarried *carried, const DynItem *item, Datum *value)
{
	struct varlena *compressed;
	const DynItem *part;
	Size at;

	if (!place_keys(carried, item, &at))
		return false;
	part = dyn_carried_part(carried, item);
	if (VARSIZE_ANY(part) > (Size) carried->limit * WORTH_COMPRESSING)
		return false;
	compressed = carried_compress(carried, part);
	at = compressed == NULL ? place_bytes(at, VARSIZE_ANY_EXHDR(part))
							: INTALIGN(at) + VARSIZE(compressed);
	*value = PointerGetDatum(compressed == NULL ? part : compressed);
	return MAXALIGN(at) <= (Size) carried->limit;
}
