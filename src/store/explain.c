/*
 * explain.c
 *	  What it takes to read a range: the plan, the pages, and the range in words.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "store/direct.h"
#include "store/shard.h"
#include "store/spi_store.h"

/*
 * Words: "pk = 'x' AND sk >= 'a'", in the attributes' own names and values.
 */

static void
append_name(StringInfo out, const DynTable *table, const StoreRange *range, int i)
{
	item_quote(out, dyn_index_key(table, range->index, i)->attribute);
}

/* Appends a column's value as the attribute's. */
static void
append_value(StringInfo out, const DynTable *table, const StoreRange *range, int i, Datum value)
{
	ItemType type = dyn_index_key(table, range->index, i)->type;
	ItemBuilder b;

	if (type == ITEM_N)
		appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(numeric_out, value)));
	else if (type == ITEM_B)
		appendStringInfo(out, "'%s'", DatumGetCString(DirectFunctionCall1(byteaout, value)));
	else
	{
		item_build_init(&b, 64);
		dyn_key_build(&b, type, value);
		appendStringInfoChar(out, '\'');
		item_quote(out, item_payload(item_root(item_build_finish(&b))));
		appendStringInfoChar(out, '\'');
	}
}

static void
append_term(StringInfo out, const DynTable *table, const StoreRange *range, int i, const char *op,
			Datum value)
{
	if (out->len > 0)
		appendStringInfoString(out, " AND ");
	append_name(out, table, range, i);
	appendStringInfo(out, " %s ", op);
	append_value(out, table, range, i, value);
}

static void
append_position(StringInfo out, const DynTable *table, const StoreRange *range)
{
	const char *op = range->forward ? ">" : "<";

	if (range->nposition == range->nequal + 1)
	{
		append_term(out, table, range, range->nequal, op, range->position[range->nequal]);
		return;
	}
	appendStringInfoString(out, out->len > 0 ? " AND (" : "(");
	for (int i = range->nequal; i < range->nposition; i++)
	{
		appendStringInfoString(out, i > range->nequal ? ", " : "");
		append_name(out, table, range, i);
	}
	appendStringInfo(out, ") %s (", op);
	for (int i = range->nequal; i < range->nposition; i++)
	{
		appendStringInfoString(out, i > range->nequal ? ", " : "");
		append_value(out, table, range, i, range->position[i]);
	}
	appendStringInfoChar(out, ')');
}

static char *
range_words(const DynTable *table, const StoreRange *range)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < range->nequal; i++)
		append_term(&out, table, range, i, "=", range->equal[i]);
	if (range->lower.given)
		append_term(&out, table, range, range->nequal, range->lower.inclusive ? ">=" : ">",
					range->lower.value);
	if (range->upper.given)
		append_term(&out, table, range, range->nequal, range->upper.inclusive ? "<=" : "<",
					range->upper.value);
	if (range->nposition > 0)
		append_position(&out, table, range);
	return out.len > 0 ? out.data : "everything";
}

static int64
pages_visited(void)
{
	const BufferUsage *usage = &pgBufferUsage;

	return usage->shared_blks_hit + usage->shared_blks_read + usage->local_blks_hit +
		   usage->local_blks_read;
}

static bool
stop_at_once(const StoreRow *row, void *arg)
{
	/* a TOAST table's schema is wanted only here */
	if (row->item != (Datum) 0)
		(void) PG_DETOAST_DATUM(row->item);
	return false;
}

/*
 * Explains a read of a distributed table by its shards, each by its part of the index.  Citus finds
 * the one shard by an equal partition key, which a local index has too.
 */
static void
plan_remote(DynTable *table, const StoreRange *range, StoreExplanation *explanation)
{
	bool routed = range->nequal > 0 && range->index->columns[0] == table->primary.columns[0];

	explanation->remote = true;
	explanation->index = range->index->relid;
	explanation->refusal =
		range->index->entries == NULL ? store_shards_words(table, routed ? &range->equal[0] : NULL)
		: range->nequal > 0           ? "the index is distributed, and one shard of it is read"
									  : "the index is distributed, and all its shards are read";
}

/* Tells what is known before a range is read, which it narrows; false if nothing is to be read. */
static bool
plan_range(DynTable *table, StoreRange *range, StoreExplanation *explanation)
{
	memset(explanation, 0, sizeof(*explanation));
	explanation->refusal = direct_index_refusal(table, range->index);
	explanation->write_refusal = direct_write_refusal(table, ACL_INSERT | ACL_UPDATE);
	if (!store_range_narrow(table, range))
	{
		explanation->words = "nothing, since the start key is at the end";
		return false;
	}
	explanation->words = range_words(table, range);
	if (table->distributed)
		plan_remote(table, range, explanation);
	else if (explanation->refusal == NULL)
	{
		explanation->index = range->index->relid;
		explanation->index_only = !store_wants_item(range->want);
	}
	else
		spi_range_plan(table, range, explanation);
	return true;
}

/* Explains what a range would take, as far as that is known without reading it. */
void
store_explain_unread(DynTable *table, const StoreRange *range, StoreExplanation *explanation)
{
	StoreRange narrowed = *range;

	(void) plan_range(table, &narrowed, explanation);
}

/* Explains what a write of the item of a key would take that needs the privileges. */
void
store_explain_write(const DynTable *table, const DynKeyValues *key, AclMode privileges,
					StoreExplanation *explanation)
{
	StoreRange range = {.index = &table->primary, .nequal = table->primary.nkeys};

	memset(explanation, 0, sizeof(*explanation));
	memcpy(range.equal, key->values, range.nequal * sizeof(Datum));
	explanation->words = range_words(table, &range);
	explanation->index = table->primary.relid;
	explanation->write_refusal = direct_write_refusal(table, privileges);
	explanation->remote = table->distributed;
}

/*
 * Runs store_range(), and explains what it took.  A first run that stops at once has the caches
 * filled, so that no visits of catalogs are counted.
 */
void
store_explain_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg,
					StoreExplanation *explanation)
{
	StoreRange narrowed = *range;

	if (!plan_range(table, &narrowed, explanation))
		return;
	store_range_read(table, &narrowed, stop_at_once, NULL);
	narrowed.skipped = &explanation->skipped;
	explanation->pages = -pages_visited();
	store_range_read(table, &narrowed, callback, arg);
	explanation->pages += pages_visited();
}
