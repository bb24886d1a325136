/*
 * citus.c
 *	  What Citus says of a relation, by its catalogs.
 *
 * The catalogs are read as those of the server are, under a catalog snapshot and with no privilege.
 * Only superusers can create tables in their schema.  Nothing of Citus is linked; its
 * functions are looked up.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "server/citus.h"
#include "server/compat.h"

/* This is a value of pg_dist_partition.partmethod. */
#define BY_HASH 'h'

/* This is a value of pg_dist_placement.shardstate. */
#define PLACEMENT_ACTIVE 1

/* This is a value of pg_dist_local_group.groupid. */
#define COORDINATOR_GROUP 0

static Oid
catalog_oid(const char *name)
{
	return get_relname_relid(name, PG_CATALOG_NAMESPACE);
}

/* Reads the next row.  False if there is none. */
bool
citus_scan_next(CitusScan *scan)
{
	scan->tuple = systable_getnext(scan->scan);
	return HeapTupleIsValid(scan->tuple);
}

/*
 * Begins to read a catalog of Citus: the rows in which a column has a value, or all of them without a
 * column.  False, with nothing open, if there is no such catalog.
 */
bool
citus_scan_begin(CitusScan *scan, const char *catalog, const char *index, const char *column,
				 RegProcedure equal, Datum value)
{
	Oid relid = catalog_oid(catalog);
	Oid btree = index == NULL ? InvalidOid : catalog_oid(index);
	AttrNumber attnum =
		!OidIsValid(relid) || column == NULL ? InvalidAttrNumber : get_attnum(relid, column);
	ScanKeyData key;

	if (!OidIsValid(relid) || (column != NULL && attnum <= 0))
		return false;
	if (column != NULL)
		ScanKeyInit(&key, attnum, BTEqualStrategyNumber, equal, value);
	scan->rel = table_open(relid, AccessShareLock);
	scan->scan =
		systable_beginscan(scan->rel, btree, OidIsValid(btree), NULL, column == NULL ? 0 : 1, &key);
	return true;
}

/* Ends a scan that has begun. */
void
citus_scan_end(const CitusScan *scan)
{
	systable_endscan(scan->scan);
	table_close(scan->rel, AccessShareLock);
}

/* Returns a column of the row, which is valid until the next one. */
Datum
citus_scan_value(const CitusScan *scan, const char *column)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(scan->rel), column);
	bool isnull = true;
	Datum value = (Datum) 0;

	if (attnum > 0)
		value = heap_getattr(scan->tuple, attnum, RelationGetDescr(scan->rel), &isnull);
	if (isnull)
		elog(ERROR, "table \"%s\" has no value of column \"%s\"",
			 RelationGetRelationName(scan->rel), column);
	return value;
}

/* Returns whether Citus is installed in the database. */
bool
citus_is_installed(void)
{
	return OidIsValid(catalog_oid("pg_dist_partition"));
}

/* Returns the number of this node's group in Citus; -1 without Citus. */
int32
citus_local_group(void)
{
	int32 group = -1;
	CitusScan scan;

	if (!citus_scan_begin(&scan, "pg_dist_local_group", NULL, NULL, InvalidOid, (Datum) 0))
		return group;
	if (citus_scan_next(&scan))
		group = DatumGetInt32(citus_scan_value(&scan, "groupid"));
	citus_scan_end(&scan);
	return group;
}

/* Returns whether this node is the coordinator, from which alone tables are distributed. */
bool
citus_is_coordinator(void)
{
	return citus_local_group() == COORDINATOR_GROUP;
}

/* Returns whether another node executes something by this session. */
bool
citus_is_calling(void)
{
	return application_name != NULL &&
		   strncmp(application_name, "citus_internal", strlen("citus_internal")) == 0;
}

/*
 * Has Citus execute statements in what another node executes here, until the transaction ends.  By itself
 * it does not, for it cannot tell that they have nothing to do with the shard that they seem to come from.
 */
void
citus_allow_statements(void)
{
	(void) set_config_option("citus.allow_nested_distributed_execution", "on", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

/* Returns what a relation is to Citus, which need not be installed. */
CitusKind
citus_kind(Oid relid)
{
	CitusKind kind = CITUS_NONE;
	CitusScan scan;

	if (!citus_scan_begin(&scan, "pg_dist_partition", "pg_dist_partition_logical_relid_index",
						  "logicalrelid", F_OIDEQ, ObjectIdGetDatum(relid)))
		return kind;
	if (citus_scan_next(&scan))
		kind = DatumGetChar(citus_scan_value(&scan, "partmethod")) == BY_HASH ? CITUS_DISTRIBUTED
																			  : CITUS_OTHER;
	citus_scan_end(&scan);
	return kind;
}

/*
 * Shards
 */

/* Returns the number that ends the name of a shard, with the underscore before it; or NULL. */
static const char *
shard_suffix(const char *relation)
{
	const char *underscore = strrchr(relation, '_');
	size_t digits;

	if (underscore == NULL || underscore == relation)
		return NULL;
	digits = strspn(underscore + 1, "0123456789");
	return digits > 0 && digits < 19 && underscore[1 + digits] == '\0' ? underscore : NULL;
}

/* Returns whether the catalogs have a shard on this node, finished and not left to be dropped. */
bool
citus_shard_is_here(int64 shard)
{
	int32 group = citus_local_group();
	bool found = false;
	CitusScan scan;

	if (!citus_scan_begin(&scan, "pg_dist_placement", "pg_dist_placement_shardid_index", "shardid",
						  F_INT8EQ, Int64GetDatum(shard)))
		return false;
	while (!found && citus_scan_next(&scan))
		found = DatumGetInt32(citus_scan_value(&scan, "groupid")) == group &&
				DatumGetInt32(citus_scan_value(&scan, "shardstate")) == PLACEMENT_ACTIVE;
	citus_scan_end(&scan);
	return found;
}

/* Returns whether two relations have the same schema and the same owner. */
static bool
belong_together(Oid relid, Oid table)
{
	HeapTuple a = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	HeapTuple b = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool same = false;

	if (HeapTupleIsValid(a) && HeapTupleIsValid(b))
	{
		Form_pg_class x = (Form_pg_class) GETSTRUCT(a);
		Form_pg_class y = (Form_pg_class) GETSTRUCT(b);

		same = x->relnamespace == y->relnamespace && x->relowner == y->relowner;
	}
	if (HeapTupleIsValid(a))
		ReleaseSysCache(a);
	if (HeapTupleIsValid(b))
		ReleaseSysCache(b);
	return same;
}

/* Returns the bound of a range of hashes, which is text. */
int32
citus_scan_bound(const CitusScan *scan, const char *column)
{
	return pg_strtoint32(TextDatumGetCString(citus_scan_value(scan, column)));
}

/*
 * Returns the distributed table that a relation is a shard of, or InvalidOid.  It is a shard if it
 * has the number of one that is placed on this node, and is where that is and belongs to whom it
 * belongs: another relation of that name could only be made by the table's owner, to whom the shard
 * belongs.  Sets the range of hashes that are in the shard unless range is NULL.
 */
Oid
citus_shard_range(Oid relid, CitusRange *range)
{
	char *name = get_rel_name(relid);
	const char *suffix = name == NULL ? NULL : shard_suffix(name);
	int64 shard = suffix == NULL ? 0 : strtoll(suffix + 1, NULL, 10);
	Oid table = InvalidOid;
	CitusScan scan;

	if (suffix == NULL || !citus_scan_begin(&scan, "pg_dist_shard", "pg_dist_shard_shardid_index",
											"shardid", F_INT8EQ, Int64GetDatum(shard)))
		return InvalidOid;
	if (citus_scan_next(&scan))
	{
		table = DatumGetObjectId(citus_scan_value(&scan, "logicalrelid"));
		if (range != NULL && citus_kind(table) == CITUS_DISTRIBUTED)
			*range = (CitusRange){citus_scan_bound(&scan, "shardminvalue"),
								  citus_scan_bound(&scan, "shardmaxvalue")};
	}
	citus_scan_end(&scan);
	return OidIsValid(table) && belong_together(relid, table) &&
				   citus_kind(table) == CITUS_DISTRIBUTED && citus_shard_is_here(shard)
			   ? table
			   : InvalidOid;
}

/* Does the same for an open relation. */
Oid
citus_shard_of(Relation rel)
{
	return citus_shard_range(RelationGetRelid(rel), NULL);
}

/*
 * Returns the relation on this node of a shard of a table, by the name that Citus' shard_name()
 * gives it, or InvalidOid.  A shard is in the schema of its table, which that name has unless it is
 * "public", so the search_path is not asked.
 */
Oid
citus_shard_relation(Oid table, const char *name)
{
	List *names = qualified_name_list(name);

	return get_relname_relid(strVal(llast(names)), get_rel_namespace(table));
}

/*
 * Returns whether an object of a relation has that name.  Citus adds the number of the shard to the
 * names of objects that it makes on shards after these.
 */
bool
citus_name_is(Relation rel, const char *name, const char *base)
{
	size_t len = strlen(base);
	const char *suffix;

	if (strncmp(name, base, len) != 0)
		return false;
	if (name[len] == '\0')
		return true;
	suffix = shard_suffix(RelationGetRelationName(rel));
	return suffix != NULL && strcmp(name + len, suffix) == 0;
}

/*
 * Functions of Citus, which is loaded where its tables are used
 */

typedef struct CitusFunctions
{
	bool (*cancelled)(bool clear);
	bool (*loaded)(void);
	void (*join)(void);
	void (*two_phases)(void);
	PGFunction assign;
	const bool *local; /* a setting, which costs more to look up by its name */
} CitusFunctions;

/* Returns them; NULL where its library hides one.  It is loaded when the server starts, or never. */
static const CitusFunctions *
citus_functions(void)
{
	static CitusFunctions functions;
	static bool known = false;

	if (!known)
		functions = (CitusFunctions){
			(bool (*)(bool)) dlsym(RTLD_DEFAULT, "MyBackendGotCancelledDueToDeadlock"),
			(bool (*)(void)) dlsym(RTLD_DEFAULT, "CitusHasBeenLoaded"),
			(void (*)(void)) dlsym(RTLD_DEFAULT, "UseCoordinatedTransaction"),
			(void (*)(void)) dlsym(RTLD_DEFAULT, "Use2PCForCoordinatedTransaction"),
			(PGFunction) dlsym(RTLD_DEFAULT, "assign_distributed_transaction_id"),
			(const bool *) dlsym(RTLD_DEFAULT, "EnableLocalExecution")};
	known = true;
	return &functions;
}

/* Returns whether Citus executes a statement on a shard of this node without a connection. */
bool
citus_executes_locally(void)
{
	const bool *local = citus_functions()->local;
	const char *setting;

	if (local != NULL)
		return *local;
	setting = GetConfigOption("citus.enable_local_execution", true, false);
	return setting != NULL && strcmp(setting, "on") == 0;
}

/*
 * Returns whether the cancel that is being raised is the one by which Citus ends a deadlock of several
 * nodes.  Citus gives that error its code when it is sent to the client.
 */
bool
citus_ends_deadlock(void)
{
	const CitusFunctions *citus = citus_functions();

	return citus->cancelled != NULL && citus->cancelled(true);
}

/*
 * Returns whether the error that is being raised is the one by which Citus says that its catalogs have a
 * shard, or its place, no longer.  It has no code of its own, also when another node has raised it.
 */
bool
citus_misses_shard(void)
{
	static const char words[] = "could not find valid entry for shard";
	MemoryContext old;
	ErrorData *error;
	bool misses;

	if (geterrcode() != ERRCODE_INTERNAL_ERROR)
		return false;
	old = MemoryContextSwitchTo(CurTransactionContext);
	error = CopyErrorData();
	misses = error->message != NULL && strncmp(error->message, words, strlen(words)) == 0;
	FreeErrorData(error);
	MemoryContextSwitchTo(old);
	return misses;
}

/*
 * Makes this transaction one of Citus', which commits in two phases what it writes on other nodes.
 * Whoever writes to a shard past Citus, and on other nodes, calls it first.  Citus does not know of such
 * writes, and would commit a single node's before them.  Returns false if Citus cannot be told: from
 * PostgreSQL 16 on its library hides the functions.
 */
bool
citus_join_transaction(void)
{
	const CitusFunctions *citus = citus_functions();

	/* to ask that also makes a background worker ready for Citus, which a session is from its start */
	if (!citus_can_join() || !citus->loaded())
		return false;
	citus->join();
	citus->two_phases();
	return true;
}

/* Returns whether citus_join_transaction() joins. */
bool
citus_can_join(void)
{
	const CitusFunctions *citus = citus_functions();

	return citus->loaded != NULL && citus->join != NULL && citus->two_phases != NULL;
}

/*
 * Names this transaction to Citus, as Citus does one that comes from another node.  Whoever writes to a
 * shard past Citus, and on no other node, calls it first: when Citus looks for deadlocks it takes all
 * sessions of a node without a name for one transaction, so that two of them that wait for each
 * other's rows would be a deadlock to it.  It does not cancel what was named so, and there is another
 * transaction in every circle over several nodes.  Returns false if Citus cannot be told this, or can be
 * told more.
 */
bool
citus_name_transaction(int32 group)
{
	static LocalTransactionId named = InvalidLocalTransactionId;
	const CitusFunctions *citus = citus_functions();

	if (citus->assign == NULL || citus_can_join())
		return false;
	if (named != my_local_xid())
		(void) DirectFunctionCall3(citus->assign, Int32GetDatum(group),
								   Int64GetDatum((INT64CONST(1) << 62) | MyProcPid),
								   TimestampTzGetDatum(GetCurrentTimestamp()));
	named = my_local_xid();
	return true;
}
