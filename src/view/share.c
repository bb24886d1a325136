/*
 * share.c
 *	  What the statistics of a key's column say of keys that begin with a literal.
 *
 * The planner estimates a range of strings by where its ends would lie between two bounds of the
 * histogram, as numbers made of their bytes.  Of "CUSTOMER#" between "COUNTRY#9" and "DAY#1" that
 * says nothing.  Here the bounds that begin with the literal are counted, and it is kept how much more
 * there can be: so another key of the entity that is known better can be believed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "view/member_plan.h"

/* The values of a column beside NULL, as the statistics have them. */
typedef struct Values
{
	HeapTuple tuple;
	Selectivity common; /* part of the rows that have one of the most common values */
	int ncommon;
	Selectivity other;
	double nother; /* number of other values */
} Values;

static bool
begins_with(Datum key, ItemSpan literal)
{
	const text *t = DatumGetTextPP(key);

	return VARSIZE_ANY_EXHDR(t) >= literal.len &&
		   memcmp(VARDATA_ANY(t), literal.data, literal.len) == 0;
}

/* The most common values, and of them those that begin with the literal. */
static void
read_common(Values *values, const ItemSpan *literal, MemberShare *share)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, values->tuple, STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return;
	for (int i = 0; i < slot.nvalues; i++)
	{
		values->common += slot.numbers[i];
		values->ncommon++;
		if (literal != NULL && !begins_with(slot.values[i], *literal))
			continue;
		share->common += slot.numbers[i];
		share->ncommon++;
	}
	free_attstatsslot(&slot);
}

/* Bounds that begin with the literal, and how many are before them. */
static int
count_bounds(const AttStatsSlot *slot, ItemSpan literal, int *before)
{
	text *first = cstring_to_text_with_len(literal.data, (int) literal.len);
	int n = 0;

	*before = 0;
	for (int i = 0; i < slot->nvalues; i++)
	{
		if (begins_with(slot->values[i], literal))
			n++;
		else if (n == 0 &&
				 DatumGetInt32(DirectFunctionCall2Coll(bttextcmp, C_COLLATION_OID, slot->values[i],
													   PointerGetDatum(first))) < 0)
			(*before)++;
	}
	return n;
}

/*
 * Adds the part of the other values that begin with the literal.  Between two bounds there is always
 * the same number of rows: all of them if both begin so, and some of them at the two ends, of which
 * half is supposed.
 */
static bool
add_bounds(const Values *values, ItemSpan literal, Oid less, MemberShare *share)
{
	AttStatsSlot slot;
	double step;
	double steps;
	int before;
	int n;

	share->part = share->most = share->common;
	/* all of its values are common */
	if (values->ncommon > 0 && values->nother < 1)
		return true;
	if (!get_attstatsslot(&slot, values->tuple, STATISTIC_KIND_HISTOGRAM, less,
						  ATTSTATSSLOT_VALUES))
		return false;
	if (slot.stacoll != C_COLLATION_OID || slot.nvalues < 2)
	{
		free_attstatsslot(&slot);
		return false;
	}
	n = count_bounds(&slot, literal, &before);
	step = values->other / (slot.nvalues - 1);
	/* before the first bound and after the last one there is nothing */
	steps = (n > 0 ? n - 1 : -0.5) + (before > 0 ? 0.5 : 0) + (before + n < slot.nvalues ? 0.5 : 0);
	if (n == 0 && (before == 0 || before == slot.nvalues))
		steps = 0;
	share->part += steps * step;
	share->most += (n + 1) * step;
	free_attstatsslot(&slot);
	return true;
}

/* Returns which part of the rows has a key, by the row of pg_statistic; 0: it is none of the common ones. */
Selectivity
member_share_common(HeapTuple tuple, const Const *key)
{
	ItemSpan span = text_span(DatumGetTextPP(key->constvalue));
	Selectivity part = 0;
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return 0;
	for (int i = 0; i < slot.nvalues && part == 0; i++)
	{
		if (item_compare_bytes(text_span(DatumGetTextPP(slot.values[i])), span) == 0)
			part = slot.numbers[i];
	}
	free_attstatsslot(&slot);
	return part;
}

static double
count_values(const Values *values, double tuples)
{
	double n = ((Form_pg_statistic) GETSTRUCT(values->tuple))->stadistinct;

	return n < 0 ? -n * tuples : n;
}

/*
 * Sets the part of a table's rows whose key begins with a literal (NULL: with anything), by the row of
 * pg_statistic about its column.  False: it does not say.
 */
bool
member_share_read(HeapTuple tuple, double tuples, const ItemSpan *literal, Oid less,
				  MemberShare *share)
{
	Values values = {.tuple = tuple};
	Selectivity present = 1.0 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	double n = count_values(&values, tuples);

	*share = (MemberShare){0};
	read_common(&values, literal, share);
	values.other = Max(present - values.common, 0);
	values.nother = Max(n - values.ncommon, 0);
	if (literal == NULL)
		share->part = share->most = present;
	else if (!add_bounds(&values, *literal, less, share))
		return false;
	share->keys = share->ncommon;
	if (values.other > 0)
		share->keys += values.nother * Min((share->part - share->common) / values.other, 1.0);
	return n > 0;
}
