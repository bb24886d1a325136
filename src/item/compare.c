/*
 * compare.c
 *	  Equality, order and hashing of dyn_item and dyn_value, and the size of an item.
 *
 * They work on the bytes, since the encoding is canonical.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/hashfn.h"

#include "item/item.h"

/* The length is known without fetching a value from TOAST. */
static bool
items_equal(Datum a, Datum b)
{
	DynItem *x;
	DynItem *y;

	if (toast_raw_datum_size(a) != toast_raw_datum_size(b))
		return false;
	x = DatumGetDynItem(a);
	y = DatumGetDynItem(b);
	return memcmp(VARDATA_ANY(x), VARDATA_ANY(y), VARSIZE_ANY_EXHDR(x)) == 0;
}

PG_FUNCTION_INFO_V1(dyn_value_eq);
Datum
dyn_value_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(items_equal(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}

PG_FUNCTION_INFO_V1(dyn_value_ne);
Datum
dyn_value_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!items_equal(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}

static int
compare_arguments(FunctionCallInfo fcinfo)
{
	DynItem *x = PG_GETARG_DYN_ITEM(0);
	DynItem *y = PG_GETARG_DYN_ITEM(1);
	int cmp = item_value_compare(item_root(x), item_root(y));

	PG_FREE_IF_COPY(x, 0);
	PG_FREE_IF_COPY(y, 1);
	return cmp;
}

PG_FUNCTION_INFO_V1(dyn_value_cmp);
Datum
dyn_value_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_arguments(fcinfo));
}

PG_FUNCTION_INFO_V1(dyn_value_lt);
Datum
dyn_value_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) < 0);
}

PG_FUNCTION_INFO_V1(dyn_value_le);
Datum
dyn_value_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) <= 0);
}

PG_FUNCTION_INFO_V1(dyn_value_gt);
Datum
dyn_value_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) > 0);
}

PG_FUNCTION_INFO_V1(dyn_value_ge);
Datum
dyn_value_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) >= 0);
}

PG_FUNCTION_INFO_V1(dyn_value_hash);
Datum
dyn_value_hash(PG_FUNCTION_ARGS)
{
	DynItem *item = PG_GETARG_DYN_ITEM(0);
	Datum hash = hash_any((unsigned char *) VARDATA_ANY(item), VARSIZE_ANY_EXHDR(item));

	PG_FREE_IF_COPY(item, 0);
	return hash;
}

PG_FUNCTION_INFO_V1(dyn_value_hash_extended);
Datum
dyn_value_hash_extended(PG_FUNCTION_ARGS)
{
	DynItem *item = PG_GETARG_DYN_ITEM(0);
	Datum hash = hash_any_extended((unsigned char *) VARDATA_ANY(item), VARSIZE_ANY_EXHDR(item),
								   PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(item, 0);
	return hash;
}

PG_FUNCTION_INFO_V1(dyn_size);
Datum
dyn_size(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) item_size(item_root(PG_GETARG_DYN_ITEM(0))));
}
