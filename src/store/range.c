/*
 * range.c
 *	  What the stores share of ranges: ordered reads of an index, or of the table by its key.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "store/range.h"

/* Returns whether entries of a range are wanted with the whole item. */
bool
store_wants_item(StoreWant want)
{
	return want == STORE_WANT_ITEM || want == STORE_WANT_ITEM_PARTITION;
}

/* Returns whether entries of a range are wanted with what the index projects. */
bool
store_wants_part(StoreWant want)
{
	return want == STORE_WANT_PART || want == STORE_WANT_PART_PARTITION;
}

/* Returns whether entries of a range are wanted with the partition key's columns. */
bool
store_wants_partition(StoreWant want)
{
	return want == STORE_WANT_PARTITION || want == STORE_WANT_ITEM_PARTITION ||
		   want == STORE_WANT_KEYS_PARTITION || want == STORE_WANT_PART_PARTITION;
}

/* Returns whether entries of a range are wanted with an item made of the index's columns. */
bool
store_wants_keys(StoreWant want)
{
	return want == STORE_WANT_KEYS || want == STORE_WANT_KEYS_PARTITION;
}

/* Compares values of key columns in their own order. */
int
store_column_compare(ItemType type, Datum a, Datum b)
{
	struct varlena *x;
	struct varlena *y;

	if (type == ITEM_N)
		return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b));
	x = PG_DETOAST_DATUM_PACKED(a);
	y = PG_DETOAST_DATUM_PACKED(b);
	return item_compare_bytes(text_span(x), text_span(y));
}

/* Compares primary keys by the order of their btree. */
int
store_key_compare(const DynTable *table, const DynKeyValues *a, const DynKeyValues *b)
{
	int cmp = 0;

	for (int i = 0; i < table->nkeys && cmp == 0; i++)
		cmp = store_column_compare(table->keys[i].type, a->values[i], b->values[i]);
	return cmp;
}

/* These are listed by strategy, and at 0 is what compares for a row. */
static const RegProcedure text_functions[] = {F_BTTEXTCMP, F_TEXT_LT, F_TEXT_LE,
											  F_TEXTEQ,    F_TEXT_GE, F_TEXT_GT};
static const RegProcedure numeric_functions[] = {F_NUMERIC_CMP, F_NUMERIC_LT, F_NUMERIC_LE,
												 F_NUMERIC_EQ,  F_NUMERIC_GE, F_NUMERIC_GT};
static const RegProcedure bytea_functions[] = {F_BYTEACMP, F_BYTEALT, F_BYTEALE,
											   F_BYTEAEQ,  F_BYTEAGE, F_BYTEAGT};

/* Makes a key of the direct store's scans; the column is one of the index. */
void
store_scan_key(ScanKey key, int flags, ItemType type, int column, StrategyNumber strategy,
			   Datum value)
{
	const RegProcedure *functions = type == ITEM_N   ? numeric_functions
									: type == ITEM_B ? bytea_functions
													 : text_functions;

	ScanKeyEntryInitialize(key, flags, (AttrNumber) (column + 1), strategy, InvalidOid,
						   type == ITEM_S ? C_COLLATION_OID : InvalidOid,
						   functions[flags & SK_ROW_MEMBER ? 0 : strategy], value);
}

/*
 * Keeps, of the position and the bound where reading starts, the one that is further on.  A btree
 * begins at one of them; if that were the bound, each page of a long read would begin where the
 * first page does.  Returns false if all of the range lies before the position.
 */
bool
store_range_narrow(const DynTable *table, StoreRange *range)
{
	StoreBound *bound = range->forward ? &range->lower : &range->upper;
	int sign = range->forward ? 1 : -1;

	if (range->nposition == 0)
		return true;
	for (int i = 0; i < Min(range->nequal, range->nposition); i++)
	{
		int cmp = sign * store_column_compare(dyn_index_key(table, range->index, i)->type,
											  range->position[i], range->equal[i]);

		if (cmp > 0)
			return false;
		if (cmp < 0)
		{
			range->nposition = 0;
			return true;
		}
	}
	if (range->nposition <= range->nequal)
		return false;
	if (bound->given)
	{
		const DynKey *key = dyn_index_key(table, range->index, range->nequal);
		int cmp =
			sign * store_column_compare(key->type, range->position[range->nequal], bound->value);

		if (cmp < 0 || (cmp == 0 && !bound->inclusive))
			range->nposition = 0;
		else
			bound->given = false;
	}
	return true;
}

/* So many entries are looked at if more are taken than was likely. */
#define FEW_ENTRIES 8

/*
 * Returns how many entries of a range are worth looking at ahead: as many as are likely to be
 * taken, and if more are taken, since some are filtered out, twice as many each time.
 */
int64
store_range_wanted(const StoreRange *range, int64 taken)
{
	int64 rest = range->likely - taken;

	if (range->likely == 0)
		return PG_INT64_MAX;
	return rest > 0 ? rest : FEW_ENTRIES - rest;
}

/* Sorts the columns of an index in the byte order of their attributes, as an item has them. */
static void
sort_columns(const DynTable *table, const DynIndex *index, int *order)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;
		int j = i;

		for (; j > 0 && item_compare_bytes(dyn_index_key(table, index, order[j - 1])->attribute,
										   attribute) > 0;
			 j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
}

/* Adds the next of the attributes, which are in byte order, as far as they come before a name. */
static void
add_attributes(ItemBuilder *b, const ItemChildren *attributes, uint32 *next, const ItemSpan *before)
{
	for (; *next < attributes->count; (*next)++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(attributes, *next), &name);

		if (before != NULL && item_compare_bytes(name, *before) > 0)
			return;
		item_build_name(b, name);
		item_build_value(b, value);
	}
}

/* Builds an item of an entry's columns and of other attributes, in order: nothing needs sorting. */
static DynItem *
build_item(const DynTable *table, const DynIndex *index, const Datum *columns,
		   const ItemChildren *attributes)
{
	int order[DYN_MAX_INDEX_COLUMNS];
	uint32 next = 0;
	ItemBuilder b;

	sort_columns(table, index, order);
	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < index->ncolumns; i++)
	{
		const DynKey *key = dyn_index_key(table, index, order[i]);

		if (attributes != NULL)
			add_attributes(&b, attributes, &next, &key->attribute);
		item_build_name(&b, key->attribute);
		dyn_key_build(&b, key->type, columns[order[i]]);
	}
	if (attributes != NULL)
		add_attributes(&b, attributes, &next, NULL);
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns the item of an entry's columns. */
DynItem *
store_range_item(const DynTable *table, const DynIndex *index, const Datum *columns)
{
	return build_item(table, index, columns, NULL);
}

/* Returns what a covering index projects: an entry's columns, and what it carries. */
DynItem *
store_range_part(const DynTable *table, const DynIndex *index, const Datum *columns, Datum carried)
{
	DynItem *item = DatumGetDynItem(carried);
	ItemChildren attributes;

	if (index->projection == DYN_PROJECT_ALL)
		return item;
	attributes = item_children(item_root(item));
	return build_item(table, index, columns, &attributes);
}
