/*
 * numeric.c
 *	  Between N and Postgres' numeric.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "item/item.h"

/*
 * An int64 can hold any number of so many decimal digits, and also its product with the powers of ten
 * that occur.
 */
#define SHORT_NUMBER 14

/*
 * Returns a packed number as a numeric with so many digits behind the point, of which it needs no more;
 * NULL, if it is not short.
 */
Numeric
item_number_to_scaled(ItemSpan number, int scale)
{
	int before;
	int behind;
	int64 digits;

	item_number_places(number, &before, &behind);
	if (behind > scale || before + scale > SHORT_NUMBER ||
		!item_number_to_int64(number, (scale + 1) / 2, &digits))
		return NULL;
	return int64_div_fast_to_numeric(scale % 2 == 0 ? digits : digits / 10, scale);
}

/* Returns a packed number as a numeric, palloc'd. */
Numeric
item_number_to_numeric(ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];
	int before;
	int behind;
	Numeric numeric;

	item_number_places(number, &before, &behind);
	numeric = item_number_to_scaled(number, behind);
	if (numeric != NULL)
		return numeric;
	item_number_print(number, text);
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* Returns the length of the packed number, or an ItemNumberError. */
int
item_number_from_numeric(Numeric numeric, char out[ITEM_NUMBER_SIZE])
{
	char *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(numeric)));
	int len = item_number_parse(text, strlen(text), out);

	pfree(text);
	return len;
}
