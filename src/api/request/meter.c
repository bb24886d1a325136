/*
 * meter.c
 *	  What a request for several items takes: capacity and collections, by table.
 */
#include "postgres.h"

#include "api/request/meter.h"

/*
 * Returns the counter of a table; name is how the request names it first.  The schema may have been
 * read again since then.
 */
static Capacity *
find_capacity(RequestMeter *meter, const DynTable *table, text *name)
{
	MemoryContext old;
	Capacity *capacity;
	ListCell *cell;

	foreach (cell, meter->capacities)
	{
		capacity = lfirst(cell);
		if (capacity->table->relid == table->relid)
			return capacity;
	}
	old = MemoryContextSwitchTo(meter->context);
	capacity = palloc(sizeof(Capacity));
	capacity_init(capacity, table);
	meter->names = lappend(meter->names, name);
	meter->capacities = lappend(meter->capacities, capacity);
	MemoryContextSwitchTo(old);
	return capacity;
}

static void
count_item(int part, const ItemMeasure *measure, void *arg)
{
	RequestMeter *meter = arg;
	const MeterPart *p = &meter->parts[part];
	Capacity *capacity;

	if (meter->detail == CAPACITY_NONE)
		return;
	capacity = find_capacity(meter, measure->table, p->table);
	if (measure->replayed)
		capacity_add_replay(capacity, measure->replayed_size);
	else
		capacity_add_item(capacity, measure->old, measure->new, p->kind);
}

/* Adds a collection; they come table by table. */
static void
add_collection(int part, const ItemMeasure *measure, void *arg)
{
	RequestMeter *meter = arg;
	JsonWriter *out = &meter->collections;

	if (meter->collected == NULL || meter->collected->relid != measure->table->relid)
	{
		if (meter->collected != NULL)
			json_write_end_array(out);
		json_write_member(out, text_span(meter->parts[part].table));
		json_write_begin_array(out, NULL);
		meter->collected = measure->table;
	}
	metrics_print(out, NULL, measure);
}

/*
 * Begins to count for a request of nparts parts, which the caller sets in meter->parts.  detail is a
 * CapacityDetail, and metrics a number among metrics_choices.  All is allocated in the current
 * memory context.  The meter has a pointer to itself, so it must not be moved or copied.
 */
void
meter_init(RequestMeter *meter, int detail, int metrics, int nparts)
{
	memset(meter, 0, sizeof(*meter));
	meter->meter = (ItemMeter){count_item, metrics != 0 ? add_collection : NULL, meter};
	meter->detail = (CapacityDetail) detail;
	meter->context = CurrentMemoryContext;
	meter->parts = palloc0(nparts * sizeof(MeterPart));
	meter->collections = json_writer(JSON_COMPACT);
	json_write_begin(&meter->collections, NULL);
}

/* Returns the callbacks for the action, or NULL if the request asks for no numbers. */
const ItemMeter *
meter_wanted(const RequestMeter *meter)
{
	return meter->detail != CAPACITY_NONE || meter->meter.collection != NULL ? &meter->meter : NULL;
}

/*
 * Appends the members ConsumedCapacity and ItemCollectionMetrics to the response, as far as they are
 * asked for.
 */
void
meter_print(JsonWriter *response, RequestMeter *meter)
{
	ListCell *name;
	ListCell *capacity;

	if (meter->detail != CAPACITY_NONE)
	{
		json_write_begin_array(response, "ConsumedCapacity");
		forboth(name, meter->names, capacity, meter->capacities) capacity_print(
			response, NULL, text_span(lfirst(name)), meter->detail, lfirst(capacity));
		json_write_end_array(response);
	}
	if (meter->collected != NULL)
	{
		json_write_end_array(&meter->collections);
		json_write_end(&meter->collections);
		json_write_raw(response, "ItemCollectionMetrics", meter->collections.text->data);
	}
}
