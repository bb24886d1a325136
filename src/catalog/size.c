/*
 * size.c
 *	  How large a table and its indexes are, wherever their rows are.
 *
 * Of a distributed table each node is asked for the sizes of its shards, all at the same time and
 * with the caller's role.  That waits for no lock: a shard that is locked against readers, or has
 * an index that is, as by a command in the caller's own transaction, counts with 0.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#include "catalog/key_grant.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "catalog/size.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"

/* No table has as many; the number comes from another node. */
#define MAX_SIZES 1000

/* So many blocks of a table are counted. */
#define COUNT_BLOCKS 256

/* Returns the number of sizes: of the table and its indexes. */
static int
count_sizes(const DynTable *table)
{
	return 1 + table->nindexes;
}

/*
 * Tables of this node
 */

/* Returns whether a relation cannot have rows, unseen.  A btree has a page to begin with. */
static bool
is_empty(Relation rel)
{
	return RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		   RelationGetNumberOfBlocks(rel) <= (rel->rd_rel->relkind == RELKIND_INDEX ? 1 : 0);
}

/* Returns the size.  A relation without rows has files too, as of its TOAST table. */
static DynSize
size_of(Relation rel, PGFunction bytes, bool empty)
{
	return (DynSize){
		(int64) Max(rel->rd_rel->reltuples, 0), /* -1 until the first one */
		empty ? 0
			  : DatumGetInt64(DirectFunctionCall1(bytes, ObjectIdGetDatum(RelationGetRelid(rel))))};
}

static void
local_sizes(Relation rel, const DynTable *table, DynSize *sizes)
{
	bool empty = is_empty(rel);

	sizes[0] = size_of(rel, pg_table_size, empty);
	for (int i = 0; i < table->nindexes; i++)
	{
		Relation btree;

		/* it is not built yet, or its entries are somewhere else */
		if (!OidIsValid(table->indexes[i].relid) || table->indexes[i].entries != NULL)
			continue;
		btree = relation_open(table->indexes[i].relid, AccessShareLock);
		sizes[1 + i] = size_of(btree, pg_total_relation_size, empty || is_empty(btree));
		/* DeleteTable waits for the table next, and a second one would then wait for this lock */
		relation_close(btree, AccessShareLock);
	}
}

/*
 * Begins a scan of the rows in the blocks that begin with from and end before to, by the active
 * snapshot.  Returns NULL if the access method has no such scan.
 */
TableScanDesc
dyn_begin_block_scan(Relation rel, BlockNumber from, BlockNumber to)
{
	ItemPointerData first;
	ItemPointerData last;

	if (rel->rd_tableam->scan_set_tidrange == NULL || from >= to)
		return NULL;
	ItemPointerSet(&first, from, FirstOffsetNumber);
	ItemPointerSet(&last, to - 1, MaxOffsetNumber);
	return begin_tid_scan(rel, GetActiveSnapshot(), &first, &last);
}

static bool
is_in_index(TupleTableSlot *slot, const DynTable *table, const DynIndex *index)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		if (slot_attisnull(slot, dyn_index_key(table, index, i)->attnum))
			return false;
	}
	return OidIsValid(index->relid);
}

/* Counts the items that a scan finds, and those of them that are in indexes. */
static void
count_items(TableScanDesc scan, const DynTable *table, DynSize *sizes)
{
	TupleTableSlot *slot = table_slot_create(scan->rs_rd, NULL);

	memset(sizes, 0, count_sizes(table) * sizeof(DynSize));
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		sizes[0].items++;
		for (int i = 0; i < table->nindexes; i++)
			sizes[1 + i].items += is_in_index(slot, table, &table->indexes[i]);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Counts the items of a small table, since its statistics may be older than what the caller has
 * just written.  Of a large table that has no statistics it counts those at the beginning.  A
 * serializable transaction would conflict with what it counts.
 */
static void
count_if_small(Relation rel, const DynTable *table, DynSize *sizes)
{
	DynSize *counts;
	BlockNumber blocks;
	BlockNumber end;
	TableScanDesc scan;

	if (rel->rd_rel->relkind != RELKIND_RELATION || !ActiveSnapshotSet() ||
		IsolationIsSerializable() || !dyn_reads_all(RelationGetRelid(rel)))
		return;
	blocks = RelationGetNumberOfBlocks(rel);
	end = Min(blocks, COUNT_BLOCKS);
	scan = blocks > end && rel->rd_rel->reltuples >= 0 ? NULL : dyn_begin_block_scan(rel, 0, end);
	if (scan == NULL)
		return;
	counts = palloc(count_sizes(table) * sizeof(DynSize));
	count_items(scan, table, counts);
	table_endscan(scan);
	for (int i = 0; i < count_sizes(table); i++)
		sizes[i].items = counts[i].items * blocks / end;
}

/*
 * Shards
 */

/* Adds the sizes of a shard of this node, unless it is gone or locked. */
static void
add_shard(text *name, int n, DynSize *sizes)
{
	Oid relid =
		RangeVarGetRelid(makeRangeVarFromNameList(textToQualifiedNameList(name)), NoLock, true);
	DynTable *table;
	DynSize *shard;
	List *indexes;
	Relation rel;

	if (!OidIsValid(relid) || !rights_to_see(relid) ||
		!dyn_try_locks(relid, AccessShareLock, &indexes))
		return;
	rel = try_relation_open(relid, NoLock);
	table = rel == NULL ? NULL : dyn_schema_shard(rel);
	if (table != NULL && count_sizes(table) == n)
	{
		shard = palloc0(n * sizeof(DynSize));
		local_sizes(rel, table, shard);
		for (int i = 0; i < n; i++)
		{
			sizes[i].items += shard[i].items;
			sizes[i].bytes += shard[i].bytes;
		}
		pfree(shard);
	}
	if (rel != NULL)
		relation_close(rel, NoLock);
}

/* shard_sizes(shards, sizes) returns items and bytes of table and indexes, of all these shards. */
PG_FUNCTION_INFO_V1(dyn_shard_sizes);
Datum
dyn_shard_sizes(PG_FUNCTION_ARGS)
{
	int n = PG_GETARG_INT32(1);
	DynSize *sizes;
	Datum *names;
	Datum *result;
	bool *nulls;
	int nnames;

	if (n < 1 || n > MAX_SIZES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid number of sizes")));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls,
					  &nnames);
	sizes = palloc0(n * sizeof(DynSize));
	for (int i = 0; i < nnames; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			add_shard(DatumGetTextPP(names[i]), n, sizes);
	}
	result = palloc(2 * n * sizeof(Datum));
	for (int i = 0; i < n; i++)
	{
		result[2 * i] = Int64GetDatum(sizes[i].items);
		result[2 * i + 1] = Int64GetDatum(sizes[i].bytes);
	}
	PG_RETURN_ARRAYTYPE_P(
		construct_array(result, 2 * n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Adds the answer of a node: its name, what it says, and that as numbers unless it failed. */
static void
add_answer(uint64 row, int n, DynSize *sizes)
{
	bool failed;
	Datum answer = sql_nullable(SPI_tuptable, row, 3, &failed);
	const char *why = sql_text_or_null(SPI_tuptable, row, 2);
	Datum *values;
	bool *nulls;
	int nvalues;

	if (failed)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
						errmsg("node %s does not say how large its shards are",
							   sql_text(SPI_tuptable, row, 1)),
						why == NULL ? 0 : errdetail("%s", why)));
	deconstruct_array(DatumGetArrayTypeP(answer), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &nvalues);
	for (int i = 0; i < n && nvalues == 2 * n; i++)
	{
		sizes[i].items += DatumGetInt64(values[2 * i]);
		sizes[i].bytes += DatumGetInt64(values[2 * i + 1]);
	}
}

/* This groups shards by their nodes, with a command for each; their names have "public", too. */
#define ASK_NODES \
	"SELECT r.node_name, r.result, CASE WHEN r.success THEN r.result::pg_catalog.int8[] END FROM " \
	"(SELECT pg_catalog.array_agg(nodename) AS names," \
	" pg_catalog.array_agg(nodeport) AS ports, pg_catalog.array_agg(command) AS commands FROM (" \
	"SELECT n.nodename::pg_catalog.text, n.nodeport, pg_catalog.format('SELECT " DYN_INTERNAL \
	".shard_sizes(%L, %s)', pg_catalog.array_agg(pg_catalog.shard_name($1, s.shardid, " \
	"false) ORDER BY s.shardid), $2) AS command FROM " CITUS_SHARDS_ON_NODES \
	" WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1 GROUP BY 1, 2) nodes) nodes," \
	" pg_catalog.master_run_on_worker(names, ports, commands, true) r" \
	" WHERE names IS NOT NULL"

/* Asks the shards of a table of entries for their sizes, which need no privilege. */
#define ASK_SHARDS \
	"SELECT pg_catalog.sum(r.sizes[1])::pg_catalog.int8," \
	" pg_catalog.sum(r.sizes[2])::pg_catalog.int8 FROM" \
	" (SELECT result::pg_catalog.int8[] AS sizes FROM pg_catalog.run_command_on_shards($1," \
	" 'SELECT ARRAY[CASE WHEN reltuples OPERATOR(pg_catalog.>) 0 THEN reltuples ELSE 0 END," \
	" pg_catalog.pg_total_relation_size(oid)]::pg_catalog.int8[] FROM pg_catalog.pg_class" \
	" WHERE oid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass') WHERE success) r"

static DynSize
entries_size(Oid relid)
{
	sql_execute(ASK_SHARDS, false, 0, SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(relid))));
	return (DynSize){DatumGetInt64(sql_value_or_zero(SPI_tuptable, 0, 1)),
					 DatumGetInt64(sql_value_or_zero(SPI_tuptable, 0, 2))};
}

/* Returns the size of the entries of a vector index. */
DynSize
dyn_entries_size(Oid relid)
{
	MemoryContext context = CurrentMemoryContext;
	DynSize size = {0};

	if (!OidIsValid(relid))
		return size;
	SPI_connect();
	size = entries_size(relid);
	SPI_finish();
	MemoryContextSwitchTo(context);
	return size;
}

static void
distributed_sizes(const DynTable *table, DynSize *sizes)
{
	MemoryContext context = CurrentMemoryContext;

	SPI_connect();
	sql_execute(ASK_NODES, false, 0,
				SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(table->relid)),
						   SQL_INT4(count_sizes(table))));
	for (uint64 i = 0; i < SPI_processed; i++)
		add_answer(i, count_sizes(table), sizes);
	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].entries != NULL && OidIsValid(table->indexes[i].relid))
			sizes[1 + i] = entries_size(table->indexes[i].relid);
	}
	SPI_finish();
	MemoryContextSwitchTo(context);
}

/*
 * Returns the sizes of the table, which is open, and of each of its indexes, palloc'd.  Raises an
 * error if a node with shards of it does not answer.
 */
DynSize *
dyn_sizes(Relation rel, const DynTable *table)
{
	DynSize *sizes = palloc0(count_sizes(table) * sizeof(DynSize));

	if (table->distributed)
		distributed_sizes(table, sizes);
	else
	{
		local_sizes(rel, table, sizes);
		count_if_small(rel, table, sizes);
	}
	return sizes;
}

/*
 * Estimates
 */

/* Returns how many items there may be; below 0: it is not known. */
double
dyn_expected_items(Relation rel)
{
	const DynTable *table = dyn_schema(rel);

	if (table == NULL || !table->distributed)
		return rel->rd_rel->reltuples;
	return (double) dyn_sizes(rel, table)[0].items;
}
