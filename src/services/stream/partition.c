/*
 * partition.c
 *	  The partitions of stream_records: made when they are needed, dropped when they have expired.
 *
 * Partitions are spans of the time of collection, which never goes back, so only the newest one is
 * written to, and none is when it has expired.  They are members of the extension, like the table,
 * so that no dump has them.
 *
 * Lock order: stream_records, then a partition, then rows of stream_trimmed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "server/sql.h"
#include "server/work/brief_lock.h"
#include "server/work/owned.h"
#include "services/stream/collect.h"

/* The retention is divided into at least so many partitions, of one of these widths in seconds. */
#define PARTITIONS 24

static const int widths[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
							 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};

#define NAME_FORMAT STREAM_RECORDS_TABLE "_%04d%02d%02d%02d%02d%02d"

/*
 * The partitions that there are
 */

/* A bound of ours is a constant. */
static TimestampTz
read_bound(List *datums, TimestampTz otherwise)
{
	PartitionRangeDatum *datum = linitial_node(PartitionRangeDatum, datums);

	if (datum->kind != PARTITION_RANGE_DATUM_VALUE)
		return otherwise;
	return DatumGetTimestampTz(castNode(Const, datum->value)->constvalue);
}

/* Reads a partition; false if it is none any more, or the default one, which we never make. */
static bool
read_partition(Oid relid, StreamPartition *partition)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	PartitionBoundSpec *spec = NULL;
	Datum bound;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
		spec = stringToNode(TextDatumGetCString(bound));
	ReleaseSysCache(tuple);
	if (spec == NULL || spec->is_default)
		return false;
	partition->relid = relid;
	partition->lower = read_bound(spec->lowerdatums, DT_NOBEGIN);
	partition->upper = read_bound(spec->upperdatums, DT_NOEND);
	return true;
}

static List *
list_partitions(Oid parent)
{
	List *partitions = NIL;
	ListCell *cell;

	foreach (cell, find_inheritance_children(parent, NoLock))
	{
		StreamPartition *partition = palloc(sizeof(StreamPartition));

		if (read_partition(lfirst_oid(cell), partition))
			partitions = lappend(partitions, partition);
	}
	return partitions;
}

/*
 * Making one
 */

static TimestampTz
partition_width(void)
{
	int width = widths[0];

	for (int i = 0; i < lengthof(widths) && widths[i] <= dyn_stream_retention / PARTITIONS; i++)
		width = widths[i];
	return width * USECS_PER_SEC;
}

/* Chooses the span of the width that a time is in, less what other partitions have of it. */
static void
choose_bounds(List *partitions, TimestampTz time, StreamPartition *partition)
{
	TimestampTz width = partition_width();
	TimestampTz into = time % width;
	ListCell *cell;

	partition->lower = time - (into < 0 ? into + width : into);
	partition->upper = partition->lower + width;
	foreach (cell, partitions)
	{
		const StreamPartition *other = lfirst(cell);

		if (other->upper <= time)
			partition->lower = Max(partition->lower, other->upper);
		if (other->lower > time)
			partition->upper = Min(partition->upper, other->lower);
	}
}

/* Returns whether a name is taken as that of a table, whose row type has the name as well. */
static bool
is_taken(const char *name)
{
	Oid schema = get_namespace_oid(DYN_INTERNAL, false);

	return OidIsValid(get_relname_relid(name, schema)) ||
		   SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(name), ObjectIdGetDatum(schema));
}

/* Names a partition by the lower bound, in UTC, with a number if others have taken that. */
static char *
choose_name(TimestampTz lower)
{
	char *name;
	char *chosen;
	struct pg_tm tm;
	fsec_t fsec;

	if (timestamp2tm(lower, NULL, &tm, &fsec, NULL, NULL) != 0)
		elog(ERROR, "time of a partition is out of range");
	name =
		psprintf(NAME_FORMAT, tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	chosen = name;
	for (int i = 1; is_taken(chosen); i++)
	{
		CHECK_FOR_INTERRUPTS();
		chosen = psprintf("%s_%d", name, i);
	}
	return chosen;
}

static const char *
qualified(const char *name)
{
	return quote_qualified_identifier(DYN_INTERNAL, name);
}

static void
partition_execute(const char *sql)
{
	(void) owned_execute(STREAM_RECORDS_TABLE, sql, 0, NULL);
}

/* Default privileges may have given some to others. */
static void
revoke_rights(Oid relid, const char *table)
{
	const char *grantees = "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC'"
						   " ELSE quote_ident(pg_get_userbyid(a.grantee)) END"
						   " FROM pg_class c, aclexplode(c.relacl) a"
						   " WHERE c.oid = $1 AND a.grantee <> c.relowner";
	uint64 n = owned_execute(STREAM_RECORDS_TABLE, grantees, SQL_VALUES(SQL_OID(relid)));
	SPITupleTable *found = SPI_tuptable;

	for (uint64 i = 0; i < n; i++)
		partition_execute(
			psprintf("REVOKE ALL ON %s FROM %s CASCADE", table, sql_text(found, i, 1)));
}

/* Both bounds are whole seconds. */
static void
create_partition(StreamPartition *partition)
{
	char *name = choose_name(partition->lower);
	const char *table = qualified(name);
	const char *records = qualified(STREAM_RECORDS_TABLE);

	partition_execute(psprintf("CREATE TABLE %s (LIKE %s INCLUDING STORAGE INCLUDING COMPRESSION)"
							   " USING heap",
							   table, records));
	CommandCounterIncrement();
	partition->relid = owned_table(name);
	revoke_rights(partition->relid, table);
	partition_execute(psprintf("ALTER TABLE %s ENABLE ROW LEVEL SECURITY", table));
	/* no lock that keeps readers out */
	partition_execute(
		psprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (to_timestamp(" INT64_FORMAT
				 ")) TO (to_timestamp(" INT64_FORMAT "))",
				 records, table, (int64) timestamptz_to_time_t(partition->lower),
				 (int64) timestamptz_to_time_t(partition->upper)));
	partition_execute(psprintf("ALTER EXTENSION dynamo_table ADD TABLE %s", table));
}

static bool
contains(const StreamPartition *partition, TimestampTz time)
{
	return partition->lower <= time && time < partition->upper;
}

/*
 * Finds the partition for a time, or makes it; one that was found before is looked at first.  It
 * needs a transaction that is connected to SPI.
 */
void
stream_partition_for(TimestampTz time, StreamPartition *partition)
{
	List *partitions;
	ListCell *cell;

	if (OidIsValid(partition->relid) && contains(partition, time) &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(partition->relid)))
		return;
	partitions = list_partitions(owned_table(STREAM_RECORDS_TABLE));
	foreach (cell, partitions)
	{
		*partition = *(StreamPartition *) lfirst(cell);
		if (contains(partition, time))
			return;
	}
	choose_bounds(partitions, time, partition);
	create_partition(partition);
}

/*
 * Dropping those that have expired
 */

/*
 * Returns whether a partition has expired, by the clock.  After the clock was set back, a partition
 * may begin later than it is by the clock.  Then it expires by the time of collection, which never
 * goes back: by the clock it would stay until that is there again.
 */
static bool
has_expired(const StreamPartition *partition, TimestampTz time)
{
	TimestampTz now = GetCurrentTimestamp();

	if (partition->lower <= now)
		time = now;
	return TimestampTzPlusMilliseconds(partition->upper, dyn_stream_retention * INT64CONST(1000)) <
		   time;
}

static StreamPartition *
oldest_expired(Oid parent, TimestampTz time)
{
	StreamPartition *oldest = NULL;
	ListCell *cell;

	foreach (cell, list_partitions(parent))
	{
		StreamPartition *partition = lfirst(cell);

		if (has_expired(partition, time) && (oldest == NULL || partition->upper < oldest->upper))
			oldest = partition;
	}
	return oldest;
}

/*
 * Notes the last record of each stream in a partition.  The statement goes from stream to stream by
 * the index: there may be very many records, and few streams.
 */
static void
note_last_records(const char *name)
{
	const char *table = qualified(name);

	(void) owned_execute(
		STREAM_TRIMMED_TABLE,
		psprintf("INSERT INTO %s AS t (relation, stream, lsn, ordinal)"
				 " WITH RECURSIVE last AS ((SELECT relation, stream, lsn, ordinal FROM %s"
				 " ORDER BY relation DESC, stream DESC, lsn DESC, ordinal DESC LIMIT 1)"
				 " UNION ALL SELECT n.* FROM last l CROSS JOIN LATERAL"
				 " (SELECT r.relation, r.stream, r.lsn, r.ordinal FROM %s r"
				 " WHERE (r.relation, r.stream) < (l.relation, l.stream)"
				 " ORDER BY r.relation DESC, r.stream DESC, r.lsn DESC, r.ordinal DESC LIMIT 1) n)"
				 " SELECT relation, stream, lsn, ordinal FROM last"
				 " ON CONFLICT (relation, stream) DO UPDATE SET lsn = EXCLUDED.lsn, ordinal = "
				 "EXCLUDED.ordinal"
				 " WHERE (EXCLUDED.lsn, EXCLUDED.ordinal) > (t.lsn, t.ordinal)",
				 qualified(STREAM_TRIMMED_TABLE), table, table),
		0, NULL);
}

/* A member of an extension cannot be dropped, so it leaves that first. */
static void
drop_partition(const char *name)
{
	const char *table = qualified(name);

	partition_execute(psprintf("ALTER EXTENSION dynamo_table DROP TABLE %s", table));
	partition_execute(psprintf("DROP TABLE %s", table));
}

/*
 * Removes what no stream asks for.  Gaps stay: a reader may come from before any of them, and there
 * are few.
 */
static void
forget_what_is_over(void)
{
	(void) owned_execute(STREAM_TRIMMED_TABLE,
						 "DELETE FROM " DYN_INTERNAL "." STREAM_TRIMMED_TABLE
						 " t WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.relation)",
						 0, NULL);
	(void) owned_execute(STREAM_ENDS_TABLE,
						 "DELETE FROM " DYN_INTERNAL "." STREAM_ENDS_TABLE
						 " e WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = e.relation)",
						 0, NULL);
}

/*
 * Drops the oldest partition if it has expired; true if one was dropped, so that there may be
 * more.  Readers queue behind our lock, so it is waited for only briefly, and tried again another
 * time.  Called in a transaction of its own that is connected to SPI.
 */
bool
stream_trim(TimestampTz time)
{
	Oid parent = owned_table(STREAM_RECORDS_TABLE);
	StreamPartition *partition = oldest_expired(parent, time);
	char *name;

	if (partition == NULL || !brief_lock_try(parent, AccessExclusiveLock) ||
		!brief_lock_try(partition->relid, AccessExclusiveLock))
		return false;
	name = get_rel_name(partition->relid);
	if (name == NULL)
		return false;
	note_last_records(name);
	drop_partition(name);
	forget_what_is_over();
	return true;
}
