/*
 * counters.c
 *	  Counters of operations in shared memory.
 *
 * An entry is one kind of operation on a table or an index.  Each session counts in a few slots of
 * its own, which nobody else writes to, so that counting takes no lock and no atomic instruction;
 * what is shown is the sum of the entry and of the slots that belong to it.  A session gets a slot
 * under the lock, when it counts for an entry for the first time or again after its slots were
 * needed for others.  A slot that is given up is added to its entry.
 *
 * An entry that goes takes its slots away from their sessions.  What one of these counts there at
 * that moment is lost, and goes to no other entry.
 *
 * If there is no room, the owner of tables with the most entries loses those that were not used for
 * the longest time: who makes many tables drives out their own.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "actions/operation.h"
#include "ground/compat.h"
#include "ground/object_access.h"

#define NAME "dynamo_table operations"

/* Enough for what an application's session does over and over. */
#define SESSION_SLOTS 32

#define NO_ENTRY (-1)

/* Of the longest unused entries, one in so many of all goes at a time. */
#define EVICTED_PART 20

typedef struct EntryKey
{
	Oid database;
	Oid relid;
	uint32 kind;
	uint32 index; /* a hash of its name, 0: the table itself */
} EntryKey;

typedef struct Entry
{
	EntryKey key;
	int32 next; /* of its bucket, or of those that are free */
	Oid owner; /* InvalidOid: it is free */
	uint64 used; /* when it was, by Shared.clock */
	char index[MAX_COUNTED_NAME + 1];
	TimestampTz since;
	uint64 counts[NCOUNTS]; /* of slots that were given up */
} Entry;

/* Its entry is set by its session and taken away by others, under the lock. */
typedef struct Slot
{
	pg_atomic_uint32 entry; /* its place plus 1; 0: none */
	uint64 seen; /* its calls when unused entries were looked for */
	pg_atomic_uint64 counts[NCOUNTS];
} Slot;

typedef struct Shared
{
	LWLock *lock;
	uint64 clock;
	bool told; /* that there is too little room */
	int32 nbuckets;
	int32 free; /* the first entry that is */
	int32 *buckets;
	Entry *entries; /* max_tracked_operations */
	int32 *order; /* to sort entries; likewise */
	Slot *slots; /* of all sessions: MaxBackends * SESSION_SLOTS */
} Shared;

static Shared *shared = NULL;
static int max_tracked_operations = 5000;
static bool track_operations = true;

/* Of this session. */
static Slot *slots = NULL;
static EntryKey slot_keys[SESSION_SLOTS];
static int last_slot = 0;

static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

/*
 * The block
 */

static Size
part(Size n, Size size)
{
	return MAXALIGN(mul_size(n, size));
}

static Size
memory_size(void)
{
	Size size = MAXALIGN(sizeof(Shared));

	size = add_size(size, part(max_tracked_operations, 2 * sizeof(int32) + sizeof(Entry)));
	size = add_size(size, 3 * MAXIMUM_ALIGNOF);
	return add_size(size, part(mul_size(MaxBackends, SESSION_SLOTS), sizeof(Slot)));
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(memory_size());
	RequestNamedLWLockTranche(NAME, 1);
}

static void *
take(char **at, Size n, Size size)
{
	void *taken = *at;

	*at += part(n, size);
	return taken;
}

static void
make_memory(void)
{
	char *at = (char *) shared;

	memset(shared, 0, memory_size());
	(void) take(&at, 1, sizeof(Shared));
	shared->lock = &GetNamedLWLockTranche(NAME)->lock;
	shared->nbuckets = max_tracked_operations;
	shared->buckets = take(&at, max_tracked_operations, sizeof(int32));
	shared->order = take(&at, max_tracked_operations, sizeof(int32));
	shared->entries = take(&at, max_tracked_operations, sizeof(Entry));
	shared->slots = take(&at, (Size) MaxBackends * SESSION_SLOTS, sizeof(Slot));
	for (int i = 0; i < max_tracked_operations; i++)
	{
		shared->buckets[i] = NO_ENTRY;
		shared->entries[i].next = i + 1 < max_tracked_operations ? i + 1 : NO_ENTRY;
	}
	for (int i = 0; i < MaxBackends * SESSION_SLOTS; i++)
	{
		pg_atomic_init_u32(&shared->slots[i].entry, 0);
		for (int c = 0; c < NCOUNTS; c++)
			pg_atomic_init_u64(&shared->slots[i].counts[c], 0);
	}
}

static void
start_memory(void)
{
	bool found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, memory_size(), &found);
	if (!found)
		make_memory();
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Entries; the caller has the lock
 */

/* All entries of a table are in one bucket. */
static int32 *
bucket_of(const EntryKey *key)
{
	uint32 hash = hash_combine(murmurhash32(key->database), murmurhash32(key->relid));

	return &shared->buckets[hash % (uint32) shared->nbuckets];
}

static int32
find_entry(const EntryKey *key)
{
	int32 i = *bucket_of(key);

	while (i != NO_ENTRY && memcmp(&shared->entries[i].key, key, sizeof(*key)) != 0)
		i = shared->entries[i].next;
	return i;
}

/* take_slots_away() follows, before another entry has its place. */
static void
remove_entry(int32 i)
{
	Entry *entry = &shared->entries[i];
	int32 *link = bucket_of(&entry->key);

	while (*link != i)
		link = &shared->entries[*link].next;
	*link = entry->next;
	entry->next = shared->free;
	entry->owner = InvalidOid;
	shared->free = i;
}

static Entry *
entry_of(const Slot *slot)
{
	uint32 entry = pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &slot->entry));

	return entry == 0 ? NULL : &shared->entries[entry - 1];
}

/* After entries were removed. */
static void
take_slots_away(void)
{
	for (int i = 0; i < MaxBackends * SESSION_SLOTS; i++)
	{
		const Entry *entry = entry_of(&shared->slots[i]);

		if (entry != NULL && !OidIsValid(entry->owner))
			pg_atomic_write_u32(&shared->slots[i].entry, 0);
	}
}

/* Sessions do not say when they use their slots. */
static void
note_used(void)
{
	shared->clock++;
	for (int i = 0; i < MaxBackends * SESSION_SLOTS; i++)
	{
		Slot *slot = &shared->slots[i];
		Entry *entry = entry_of(slot);
		uint64 calls = pg_atomic_read_u64(&slot->counts[COUNT_CALLS]);

		if (entry == NULL || calls == slot->seen)
			continue;
		slot->seen = calls;
		entry->used = shared->clock;
	}
}

static int
compare_entries(const void *a, const void *b)
{
	const Entry *x = &shared->entries[*(const int32 *) a];
	const Entry *y = &shared->entries[*(const int32 *) b];

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->used == y->used ? 0 : x->used < y->used ? -1 : 1;
}

/* Where the entries of the owner with the most of them begin in shared->order, and their number. */
static int
longest_run(int *length)
{
	int longest = 0;

	*length = 0;
	for (int first = 0, next; first < max_tracked_operations; first = next)
	{
		for (next = first + 1; next < max_tracked_operations; next++)
		{
			if (shared->entries[shared->order[next]].owner !=
				shared->entries[shared->order[first]].owner)
				break;
		}
		if (next - first > *length)
		{
			*length = next - first;
			longest = first;
		}
	}
	return longest;
}

/* No entry is free. */
static void
evict(void)
{
	int first;
	int n;

	note_used();
	for (int i = 0; i < max_tracked_operations; i++)
		shared->order[i] = i;
	qsort(shared->order, max_tracked_operations, sizeof(int32), compare_entries);
	first = longest_run(&n);
	n = Max(Min(n / 2, max_tracked_operations / EVICTED_PART), 1);
	for (int i = first; i < first + n; i++)
		remove_entry(shared->order[i]);
	take_slots_away();
}

static int32
make_entry(const EntryKey *key, const OperationTable *table)
{
	int32 *bucket = bucket_of(key);
	int32 i = shared->free;
	Entry *entry = &shared->entries[i];
	int len = pg_mbcliplen(table->index.data, (int) table->index.len, MAX_COUNTED_NAME);

	shared->free = entry->next;
	*entry = (Entry){.key = *key, .next = *bucket, .owner = table->owner};
	entry->used = shared->clock;
	entry->since = GetCurrentTimestamp();
	if (len > 0)
		memcpy(entry->index, table->index.data, len);
	*bucket = i;
	return i;
}

/*
 * Slots of this session
 */

static void
give_up(Slot *slot)
{
	Entry *entry = entry_of(slot);

	for (int i = 0; i < NCOUNTS; i++)
	{
		if (entry != NULL)
			entry->counts[i] += pg_atomic_read_u64(&slot->counts[i]);
		pg_atomic_write_u64(&slot->counts[i], 0);
	}
	if (entry != NULL)
		entry->used = shared->clock;
	slot->seen = 0;
	pg_atomic_write_u32(&slot->entry, 0);
}

static void
give_up_all(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SESSION_SLOTS; i++)
		give_up(&slots[i]);
	LWLockRelease(shared->lock);
}

static void
begin_session(void)
{
	slots = &shared->slots[my_process_number() * SESSION_SLOTS];
	before_shmem_exit(give_up_all, 0);
}

/* A slot that is not in use; if there is none, one after the other. */
static int
choose_slot(void)
{
	static int victim = 0;

	for (int i = 0; i < SESSION_SLOTS; i++)
	{
		if (entry_of(&slots[i]) == NULL)
			return i;
	}
	return victim = (victim + 1) % SESSION_SLOTS;
}

static int
take_slot(const EntryKey *key, const OperationTable *table)
{
	bool tell = false;
	int slot;
	int32 entry;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	slot = choose_slot();
	give_up(&slots[slot]);
	entry = find_entry(key);
	if (entry == NO_ENTRY)
	{
		if (shared->free == NO_ENTRY)
		{
			evict();
			tell = !shared->told;
			shared->told = true;
		}
		entry = make_entry(key, table);
	}
	slot_keys[slot] = *key;
	pg_atomic_write_u32(&slots[slot].entry, (uint32) entry + 1);
	LWLockRelease(shared->lock);
	if (tell)
		ereport(LOG, (errmsg("counters of operations do not suffice"),
					  errdetail("Those that were not used for the longest time are reused."),
					  errhint("Set dynamo_table.max_tracked_operations to more than %d.",
							  max_tracked_operations)));
	return slot;
}

static bool
is_slot_of(int slot, const EntryKey *key)
{
	return memcmp(&slot_keys[slot], key, sizeof(*key)) == 0 && entry_of(&slots[slot]) != NULL;
}

static Slot *
slot_of(const EntryKey *key, const OperationTable *table)
{
	if (slots == NULL)
		begin_session();
	/* a session that does the same again finds it at once */
	for (int i = 0; i < SESSION_SLOTS; i++)
	{
		if (is_slot_of(last_slot, key))
			return &slots[last_slot];
		last_slot = (last_slot + 1) % SESSION_SLOTS;
	}
	last_slot = take_slot(key, table);
	return &slots[last_slot];
}

/* Whether operations are counted. */
bool
counters_are_on(void)
{
	return shared != NULL && track_operations;
}

/* Adds to what is counted of a kind of operation on a table or an index. */
void
counters_add(OperationKind kind, const OperationTable *table, const int64 counts[NCOUNTS])
{
	EntryKey key = {MyDatabaseId, table->relid, kind, 0};
	Slot *slot;

	if (table->index.len > 0)
		key.index = hash_bytes((const unsigned char *) table->index.data, (int) table->index.len);
	slot = slot_of(&key, table);
	for (int i = 0; i < NCOUNTS; i++)
	{
		if (counts[i] != 0)
			pg_atomic_write_u64(&slot->counts[i],
								pg_atomic_read_u64(&slot->counts[i]) + (uint64) counts[i]);
	}
}

/*
 * All that is counted
 */

static void
require_memory(void)
{
	if (shared == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("operations are counted only if dynamo_table is preloaded"),
						errhint("Add dynamo_table to shared_preload_libraries, and restart the "
								"server.")));
}

static void
copy_entry(const Entry *entry, CountedOperation *counted)
{
	counted->kind = (OperationKind) entry->key.kind;
	counted->relid = entry->key.relid;
	counted->since = entry->since;
	memcpy(counted->index, entry->index, sizeof(counted->index));
	memcpy(counted->counts, entry->counts, sizeof(counted->counts));
}

/* places: where each entry went, and 0 if it is of another database; else counted from 1 */
static void
add_slots(const int32 *places, CountedOperation *counted)
{
	for (int i = 0; i < MaxBackends * SESSION_SLOTS; i++)
	{
		Slot *slot = &shared->slots[i];
		const Entry *entry = entry_of(slot);
		int32 place = entry == NULL ? 0 : places[entry - shared->entries];

		for (int c = 0; c < NCOUNTS && place > 0; c++)
			counted[place - 1].counts[c] += pg_atomic_read_u64(&slot->counts[c]);
	}
}

/*
 * Returns what was counted in this database, palloc'd, and sets *n to their number.  Raises an error
 * if the library is not preloaded.
 */
CountedOperation *
counters_read(int *n)
{
	CountedOperation *counted;
	int32 *places;

	require_memory();
	counted = palloc(max_tracked_operations * sizeof(CountedOperation));
	places = palloc0(max_tracked_operations * sizeof(int32));
	*n = 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < max_tracked_operations; i++)
	{
		const Entry *entry = &shared->entries[i];

		if (!OidIsValid(entry->owner) || entry->key.database != MyDatabaseId)
			continue;
		copy_entry(entry, &counted[*n]);
		places[i] = ++*n;
	}
	add_slots(places, counted);
	LWLockRelease(shared->lock);
	pfree(places);
	return counted;
}

/*
 * Forgetting
 */

/* All of a database. */
static bool
forget_database(Oid database)
{
	bool any = false;

	for (int i = 0; i < max_tracked_operations; i++)
	{
		const Entry *entry = &shared->entries[i];

		if (!OidIsValid(entry->owner) || entry->key.database != database)
			continue;
		remove_entry(i);
		any = true;
	}
	return any;
}

/* All of a table of this database. */
static bool
forget_table(Oid relid)
{
	EntryKey table = {.database = MyDatabaseId, .relid = relid};
	bool any = false;
	int32 next;

	for (int32 i = *bucket_of(&table); i != NO_ENTRY; i = next)
	{
		const EntryKey *key = &shared->entries[i].key;

		next = shared->entries[i].next;
		if (key->database != table.database || key->relid != relid)
			continue;
		remove_entry(i);
		any = true;
	}
	return any;
}

/*
 * Forgets what was counted in this database.  Raises an error if the library is not preloaded.
 */
void
counters_reset(void)
{
	require_memory();
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (forget_database(MyDatabaseId))
		take_slots_away();
	LWLockRelease(shared->lock);
}

/* In this transaction, in its memory; a subtransaction may have taken it back. */
static List *dropped_tables = NIL;
static List *dropped_databases = NIL;

/* Tables that are there after all stay: their drop was rolled back. */
static void
keep_restored(void)
{
	int kept = 0;
	ListCell *cell;

	foreach (cell, dropped_tables)
	{
		Oid relid = lfirst_oid(cell);

		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
			lfirst_oid(list_nth_cell(dropped_tables, kept++)) = relid;
	}
	dropped_tables = list_truncate(dropped_tables, kept);
}

/* Nothing may fail after a commit. */
static void
forget_dropped(void)
{
	bool any = false;
	ListCell *cell;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	foreach (cell, dropped_tables)
		any |= forget_table(lfirst_oid(cell));
	foreach (cell, dropped_databases)
		any |= forget_database(lfirst_oid(cell));
	if (any)
		take_slots_away();
	LWLockRelease(shared->lock);
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	if (dropped_tables == NIL && dropped_databases == NIL)
		return;
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		keep_restored();
		return;
	}
	/* Who commits a prepared transaction does not know what it drops. */
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		forget_dropped();
	dropped_tables = dropped_databases = NIL;
}

static void
note_drop(List **list, Oid oid)
{
	static bool registered = false;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	if (!registered)
		RegisterXactCallback(end_of_transaction, NULL);
	registered = true;
	*list = lappend_oid(*list, oid);
	MemoryContextSwitchTo(old);
}

static bool
is_table(Oid relid)
{
	char kind = get_rel_relkind(relid);

	return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE;
}

static void
note_access(ObjectAccessType access, Oid class, Oid object, int part_of)
{
	if (access != OAT_DROP || part_of != 0 || shared == NULL)
		return;
	if (class == RelationRelationId && is_table(object))
		note_drop(&dropped_tables, object);
	else if (class == DatabaseRelationId)
		note_drop(&dropped_databases, object);
}

/*
 * Beginning
 */

static void
define_settings(bool preloaded)
{
	DefineCustomBoolVariable("dynamo_table.track_operations",
							 "Sets whether operations are counted for dyn_operations.", NULL,
							 &track_operations, true, PGC_SUSET, 0, NULL, NULL, NULL);
	/* Where it changes nothing any more it still has to be known, as it may be in the server's file. */
	DefineCustomIntVariable("dynamo_table.max_tracked_operations",
							"Sets how many rows dyn_operations can have.", NULL,
							&max_tracked_operations, 5000, 100, 100000,
							preloaded ? PGC_POSTMASTER : PGC_SIGHUP, 0, NULL, NULL, NULL);
}

/* Called by _PG_init(). */
void
counters_init(void)
{
	define_settings(process_shared_preload_libraries_in_progress);
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_memory;
	object_access_subscribe(note_access);
}
