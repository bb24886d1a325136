/*
 * numeric.c
 *	  Between N and Postgres' numeric.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "item/item.h"

/* Returns a packed number as a numeric, palloc'd. */
Numeric
item_number_to_numeric(ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];

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
