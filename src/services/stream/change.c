/*
 * change.c
 *	  From the change of a row to records of what happened to the item.
 *
 * What the WAL has of the old row depends on the table's replica identity: all of it (FULL), the
 * key columns, or nothing.  It always has the new row, except for a value that is out of line and
 * that the update has not changed: then it has a TOAST pointer, whose target may be gone.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "utils/timestamp.h"

#include "catalog/key.h"
#include "server/compat.h"
#include "services/stream/subject.h"

/* A StreamRow is what the WAL has of a row. */
typedef struct StreamRow
{
	HeapTuple tuple; /* NULL: nothing */
	const DynItem *item; /* NULL: it has not, or no valid one */
	bool untouched; /* only a pointer to the item */
	bool placeholder;
	bool unsound; /* it has bytes that are no item */
	ItemSpan keys[DYN_MAX_KEYS]; /* values of the key attributes, if read_keys() says so */
} StreamRow;

/*
 * Writes once for a table to the log that it has such items.  A table's owner can store bytes of
 * another type after dropping the table's constraint.
 */
static void
complain_of_item(const StreamPlugin *plugin, StreamSubject *subject)
{
	if (subject->unsound)
		return;
	subject->unsound = true;
	ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED),
				  errmsg("invalid items of table \"%.*s\" are left out of its changes",
						 (int) subject->table.len, subject->table.data),
				  errdetail("The first one is in the transaction committed at " LSN ".",
							LSN_FORMAT_ARGS(plugin->place.lsn)),
				  errhint("Call dyn_check_table() to find those that are stored.")));
}

static bool
is_placeholder(const DynItem *item)
{
	return VARSIZE_ANY_EXHDR(item) > 0 && *VARDATA_ANY(item) == ITEM_FORMAT_PLACEHOLDER;
}

/* Reads a row; what comes from the WAL is checked before it is looked at. */
static void
read_row(const StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc, HeapTuple tuple,
		 StreamRow *row)
{
	const DynItem *item;
	Datum datum;
	bool isnull;

	memset(row, 0, offsetof(StreamRow, keys));
	row->tuple = tuple;
	if (tuple == NULL)
		return;
	datum = heap_getattr(tuple, subject->item_attnum, desc, &isnull);
	if (isnull)
		return;
	row->untouched = VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum));
	if (row->untouched)
		return;
	item = DatumGetDynItem(datum);
	row->placeholder = is_placeholder(item);
	row->unsound = !row->placeholder && !item_is_sound(item);
	if (row->unsound)
		complain_of_item(plugin, subject);
	else if (!row->placeholder)
		row->item = item;
}

/*
 * Keys
 */

static bool
key_of_item(const StreamSubject *subject, int i, const DynItem *item, ItemSpan *value)
{
	if (item == NULL)
		return false;
	return item_lookup(item_root(item), subject->keys[i].attribute, value) &&
		   item_type(*value) == subject->keys[i].type;
}

/* Not every numeric is a number of an item. */
static bool
is_number(Datum numeric)
{
	char number[ITEM_NUMBER_SIZE];

	return item_number_from_numeric(DatumGetNumeric(numeric), number) >= 0;
}

static bool
key_of_column(const StreamSubject *subject, int i, TupleDesc desc, HeapTuple tuple, ItemSpan *value)
{
	const DynKey *key = &subject->keys[i];
	ItemBuilder builder;
	Datum datum;
	bool isnull;

	datum = heap_getattr(tuple, key->attnum, desc, &isnull);
	if (isnull || VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)) ||
		(key->type == ITEM_N && !is_number(datum)))
		return false;
	item_build_init(&builder, 64);
	dyn_key_build(&builder, key->type, datum);
	*value = item_root(item_build_finish(&builder));
	return true;
}

/* Reads the keys by the item, or else by the columns. */
static bool
read_keys(const StreamSubject *subject, TupleDesc desc, StreamRow *row)
{
	for (int i = 0; i < subject->nkeys; i++)
	{
		if (!key_of_item(subject, i, row->item, &row->keys[i]) &&
			!key_of_column(subject, i, desc, row->tuple, &row->keys[i]))
			return false;
	}
	return true;
}

static bool
same_keys(const StreamSubject *subject, const StreamRow *a, const StreamRow *b)
{
	for (int i = 0; i < subject->nkeys; i++)
	{
		if (item_compare_bytes(a->keys[i], b->keys[i]) != 0)
			return false;
	}
	return true;
}

/* Returns the keys; NULL: what a trigger's arguments call keys are none together. */
static const DynItem *
build_keys(const StreamSubject *subject, const StreamRow *row)
{
	ItemBuilder builder;

	item_build_init(&builder, 64);
	item_build_begin(&builder, ITEM_M);
	for (int i = 0; i < subject->nkeys; i++)
	{
		item_build_name(&builder, subject->keys[i].attribute);
		item_build_value(&builder, row->keys[i]);
	}
	if (item_build_end(&builder) != ITEM_BUILD_OK)
		return NULL;
	return item_build_finish(&builder);
}

/*
 * Returns the shard of a partition key.  Records are read by shard for as long as they are kept,
 * and parents of shards are known by it, so this never changes.
 */
static int
shard_of(const StreamSubject *subject, ItemSpan partition)
{
	uint32 hash = hash_bytes((const unsigned char *) partition.data, (int) partition.len);

	return subject->first_shard + (int) (hash % (uint32) subject->shards);
}

/*
 * Records
 */

static bool
same_item(const DynItem *a, const DynItem *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		   memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

static int
image_size(const DynItem *image)
{
	return image == NULL ? 0 : (int) item_size(item_root(image));
}

/*
 * A generation of shards has ended before the first record of the next one, even if nobody has decoded
 * where: the transaction was left out, or the table was restored from a dump.
 */
static void
begin_generation(StreamPlugin *plugin, StreamSubject *subject)
{
	if (subject->begun)
		return;
	subject->begun = true;
	if (subject->generation > 0 && plugin->close != NULL)
		plugin->close(plugin, subject->named, subject->stream, subject->generation - 1);
}

static void
deliver(StreamPlugin *plugin, StreamSubject *subject, StreamRecord *record)
{
	begin_generation(plugin, subject);
	plugin->place.ordinal++;
	record->place = plugin->place;
	plugin->deliver(plugin, record);
}

static void
start_record(const StreamPlugin *plugin, const StreamSubject *subject, StreamEvent event,
			 StreamRecord *record)
{
	*record = (StreamRecord){.relid = subject->named,
							 .table = subject->table,
							 .stream = subject->stream,
							 .view = subject->view,
							 .event = event,
							 .committed = plugin->committed,
							 .citus_shard = subject->citus_shard,
							 .relation = subject->relation,
							 .schema = subject->schema,
							 .owner = subject->owner};
}

/*
 * Held records
 *
 * In a shard, a place is held for an absent item by a row that has its keys alone, which is inserted
 * and deleted at once.  So the record of such an insert waits for the next change.
 */

static const DynItem *
copy_item(MemoryContext context, const DynItem *item)
{
	Size size = item == NULL ? 0 : VARSIZE_ANY(item);
	void *copy = item == NULL ? NULL : MemoryContextAlloc(context, size);

	if (copy != NULL)
		memcpy(copy, item, size);
	return copy;
}

static ItemSpan
copy_span(MemoryContext context, ItemSpan span)
{
	char *copy = MemoryContextAlloc(context, span.len);

	memcpy(copy, span.data, span.len);
	return (ItemSpan){copy, span.len};
}

static void
hold(StreamPlugin *plugin, const StreamSubject *subject, const StreamRecord *record)
{
	MemoryContext context = plugin->transaction_context;
	StreamRecord *held = MemoryContextAlloc(context, sizeof(StreamRecord));

	*held = *record;
	held->table = copy_span(context, record->table);
	held->relation = copy_span(context, record->relation);
	held->keys = copy_item(context, record->keys);
	held->new_image = copy_item(context, record->new_image);
	plugin->held = held;
	plugin->held_relid = subject->relid;
}

static void
forget_held(StreamPlugin *plugin)
{
	pfree((char *) plugin->held->table.data);
	pfree((char *) plugin->held->relation.data);
	pfree((void *) plugin->held->keys);
	if (plugin->held->new_image != NULL)
		pfree((void *) plugin->held->new_image);
	pfree(plugin->held);
	plugin->held = NULL;
}

/* Nothing takes it back any more. */
void
stream_release(StreamPlugin *plugin)
{
	if (plugin->held == NULL)
		return;
	plugin->held->place = plugin->place;
	plugin->held->place.ordinal = ++plugin->place.ordinal;
	plugin->deliver(plugin, plugin->held);
	forget_held(plugin);
}

/* Records an item; key is the row that has the keys.  The images are those that the WAL has. */
static void
record_item(StreamPlugin *plugin, StreamSubject *subject, StreamEvent event, const StreamRow *key,
			const DynItem *new, const DynItem *old, bool expired)
{
	bool both = subject->view == DYN_STREAM_NEW_AND_OLD_IMAGES;
	bool view_old = both || subject->view == DYN_STREAM_OLD_IMAGE;
	StreamRecord record;

	start_record(plugin, subject, event, &record);
	record.keys = build_keys(subject, key);
	if (record.keys == NULL || !item_is_sound(record.keys))
	{
		complain_of_item(plugin, subject);
		return;
	}
	record.shard = shard_of(subject, key->keys[0]);
	record.expired = expired;
	if (both || subject->view == DYN_STREAM_NEW_IMAGE)
		record.new_image = new;
	if (view_old)
		record.old_image = old;
	record.incomplete = view_old && old == NULL && event != STREAM_INSERT && subject->view_asked;
	record.size =
		image_size(record.keys) + image_size(record.new_image) + image_size(record.old_image);
	if (subject->placed && event == STREAM_INSERT && same_item(record.keys, new))
		hold(plugin, subject, &record);
	else
		deliver(plugin, subject, &record);
}

/* Writes once for a table or its partition; the remedy is to change its replica identity. */
static void
leave_out(StreamPlugin *plugin, StreamSubject *subject)
{
	if (plugin->lose != NULL && subject->stream != 0)
		plugin->lose(plugin, subject->named);
	if (subject->keyless)
		return;
	subject->keyless = true;
	ereport(WARNING,
			(errmsg("changes of table \"%.*s\" are left out, since they have no keys in the WAL",
					(int) subject->table.len, subject->table.data),
			 errhint("Its replica identity must be its primary key (DEFAULT) or FULL.")));
}

/*
 * Changes
 */

static void
change_insert(StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc, StreamRow *row)
{
	if (row->item == NULL)
		return;
	if (read_keys(subject, desc, row))
		record_item(plugin, subject, STREAM_INSERT, row, row->item, NULL, false);
	else
		leave_out(plugin, subject);
}

/*
 * Returns whether the columns may belong to another item, which is only possible in a table without
 * its trigger.
 */
static bool
is_moved(const StreamSubject *subject, TupleDesc desc, StreamRow *old, const StreamRow *new)
{
	return old->tuple != NULL && read_keys(subject, desc, old) && !same_keys(subject, old, new);
}

static void
change_update(StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc, StreamRow *old,
			  StreamRow *new)
{
	if (new->item == NULL || (old->item != NULL && same_item(old->item, new->item)))
		return;
	if (old->item == NULL && stream_is_marked(plugin, subject, DYN_MARK_BACKFILL))
		return;
	if (!read_keys(subject, desc, new))
	{
		leave_out(plugin, subject);
		return;
	}
	if (!is_moved(subject, desc, old, new))
	{
		record_item(plugin, subject, STREAM_MODIFY, new, new->item, old->item, false);
		return;
	}
	record_item(plugin, subject, STREAM_REMOVE, old, NULL, old->item, false);
	record_item(plugin, subject, STREAM_INSERT, new, new->item, NULL, false);
}

/* Returns a time as seconds since 1970. */
static double
unix_time(TimestampTz time)
{
	return (double) time / USECS_PER_SEC +
		   (double) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
}

/* Returns whether the removed item had expired, judged by the item, if the WAL has it. */
static bool
is_expired(const StreamPlugin *plugin, const StreamSubject *subject, const StreamRow *old)
{
	char text[ITEM_NUMBER_TEXT];
	ItemSpan value;

	if (!stream_is_marked(plugin, subject, DYN_MARK_EXPIRY))
		return false;
	if (old->item == NULL)
		return true;
	if (subject->ttl.len == 0 || !item_lookup(item_root(old->item), subject->ttl, &value) ||
		item_type(value) != ITEM_N)
		return false;
	item_number_print(item_payload(value), text);
	return strtod(text, NULL) < unix_time(plugin->committed);
}

static void
remove_item(StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc, StreamRow *old)
{
	if (old->placeholder || stream_is_marked(plugin, subject, DYN_MARK_PLACEHOLDER))
		return;
	if (old->tuple != NULL && read_keys(subject, desc, old))
		record_item(plugin, subject, STREAM_REMOVE, old, NULL, old->item,
					is_expired(plugin, subject, old));
	else
		leave_out(plugin, subject);
}

/* Returns whether a change takes the held record back: both are of no item then. */
static bool
takes_back(StreamPlugin *plugin, const StreamSubject *subject, const ReorderBufferChange *change,
		   const StreamRow *old)
{
	bool takes = plugin->held != NULL && change->action == REORDER_BUFFER_CHANGE_DELETE &&
				 plugin->held_relid == subject->relid && old->item != NULL &&
				 same_item(plugin->held->keys, old->item);

	if (takes)
		forget_held(plugin);
	else
		stream_release(plugin);
	return takes;
}

/* Delivers what a change of a row is to its item: nothing, one record, or two if it got another key. */
void
stream_change(StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc,
			  ReorderBufferChange *change)
{
	StreamRow old;
	StreamRow new;

	read_row(plugin, subject, desc, decoded_tuple(change->data.tp.oldtuple), &old);
	read_row(plugin, subject, desc, decoded_tuple(change->data.tp.newtuple), &new);
	if (takes_back(plugin, subject, change, &old))
		return;
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			change_insert(plugin, subject, desc, &new);
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			change_update(plugin, subject, desc, &old, &new);
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			remove_item(plugin, subject, desc, &old);
			break;
		default:
			break;
	}
}

/* Tells each open shard that the table lost all items, or those of a partition. */
void
stream_truncate(StreamPlugin *plugin, StreamSubject *subject, bool part)
{
	StreamRecord record;

	stream_release(plugin);
	start_record(plugin, subject, STREAM_TRUNCATE, &record);
	record.incomplete = part;
	for (int i = 0; i < subject->shards; i++)
	{
		record.shard = subject->first_shard + i;
		record.repeated = i > 0;
		deliver(plugin, subject, &record);
	}
}
