/*
 * nodes.c
 *	  The shards of a distributed table's stream on all nodes, and their records.
 *
 * Nodes are asked by Citus' own functions, which connect as the current role.  They are answered by
 * node.c.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/definition/arn.h"
#include "catalog/node_error.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "services/stream/nodes.h"

static char *
field(uint64 row, int column)
{
	return sql_text(SPI_tuptable, row, column);
}

static char *
field_or_null(uint64 row, int column)
{
	return sql_text_or_null(SPI_tuptable, row, column);
}

static bool
is_true(uint64 row, int column)
{
	const char *value = field_or_null(row, column);

	return value != NULL && *value == 't';
}

static uint64
nodes_execute(const char *sql, int nargs, const SqlValue *arguments)
{
	return sql_execute(sql, false, 0, nargs, arguments);
}

static uint64
execute_with_text(const char *sql, const char *argument)
{
	return nodes_execute(sql, SQL_VALUES(SQL_TEXT(argument)));
}

/* Returns a table's name as all nodes read it, whatever the search_path is. */
static char *
table_literal(Oid relid)
{
	return psprintf("%s::pg_catalog.regclass", quote_literal_cstr(catalogs_qualified(relid)));
}

pg_noreturn static void
fail_node(const char *node, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
					errmsg("change streams at node %s cannot be read", node),
					errdetail_internal("%s", message == NULL ? "" : message)));
}

/*
 * Shards
 */

static StreamNodeShard
read_shard(uint64 row)
{
	return (StreamNodeShard){.placement = {atoi(field(row, 1)), strtoll(field(row, 2), NULL, 10),
										   (Oid) strtoul(field(row, 3), NULL, 10)},
							 .lower = atoi(field(row, 4)),
							 .upper = atoi(field(row, 5)),
							 .began = strtoll(field(row, 6), NULL, 10),
							 .ended = is_true(row, 7),
							 .first = field(row, 8),
							 .last = field(row, 9),
							 .parent = -1};
}

static void
take_answer(const char *answer, StreamNodeShard **shards, int *n)
{
	uint64 rows;

	node_error_raise(answer);
	rows = execute_with_text(
		"SELECT node, shard, relation, lower, upper, began, ended, first, last"
		" FROM pg_catalog.json_to_recordset($1::pg_catalog.json OPERATOR(pg_catalog.->) 'shards')"
		" AS s(node pg_catalog.int4, shard pg_catalog.int8, relation pg_catalog.int8,"
		" lower pg_catalog.int4, upper pg_catalog.int4, began pg_catalog.int8,"
		" ended pg_catalog.bool, first pg_catalog.text, last pg_catalog.text)",
		answer);
	*shards = *shards == NULL ? palloc((*n + rows + 1) * sizeof(StreamNodeShard))
							  : repalloc(*shards, (*n + rows + 1) * sizeof(StreamNodeShard));
	for (uint64 i = 0; i < rows; i++)
		(*shards)[(*n)++] = read_shard(i);
}

static int
compare_shards(const void *a, const void *b)
{
	const StreamNodeShard *first = a;
	const StreamNodeShard *second = b;

	if (first->began != second->began)
		return first->began < second->began ? -1 : 1;
	if (first->placement.shard != second->placement.shard)
		return first->placement.shard < second->placement.shard ? -1 : 1;
	return first->placement.node - second->placement.node;
}

/*
 * Finds the parent of each shard: the latest one before it that has had some of its keys.  That one
 * has had all of them, since shards are moved as they are, or split.  A shard is shown when its
 * parent can be read to its end, so that readers read the parent first.
 */
static void
find_parents(StreamNodeShard *shards, int n)
{
	for (int i = 0; i < n; i++)
	{
		StreamNodeShard *shard = &shards[i];

		for (int j = 0; j < i; j++)
		{
			if (shards[j].lower <= shard->upper && shard->lower <= shards[j].upper)
				shard->parent = j;
		}
		shard->shown =
			shard->parent < 0 || (shards[shard->parent].ended && shards[shard->parent].shown);
	}
}

/* Returns a stream's shards, in the order in which they began; all nodes have to answer. */
int
stream_nodes_shards(const StreamTarget *target, StreamNodeShard **shards)
{
	MemoryContext context = CurrentMemoryContext;
	StreamNodeShard *found = NULL;
	SPITupleTable *answers;
	uint64 nodes;
	int n = 0;

	SPI_connect();
	nodes = execute_with_text(
		"SELECT n.nodeid, n.success, n.result FROM pg_catalog.run_command_on_all_nodes($1) n",
		psprintf("SELECT " DYN_INTERNAL ".stream_node_shards(%s, " INT64_FORMAT ")",
				 table_literal(target->relid), target->stream.label));
	answers = SPI_tuptable;
	for (uint64 i = 0; i < nodes; i++)
	{
		bool success = DatumGetBool(sql_value_or_zero(answers, i, 2));
		char *answer = sql_text_or_null(answers, i, 3);

		if (!success || answer == NULL)
			fail_node(sql_text(answers, i, 1), answer);
		take_answer(answer, &found, &n);
	}
	*shards = MemoryContextAlloc(context, (n + 1) * sizeof(StreamNodeShard));
	for (int i = 0; i < n; i++)
	{
		(*shards)[i] = found[i];
		(*shards)[i].first = MemoryContextStrdup(context, found[i].first);
		(*shards)[i].last = MemoryContextStrdup(context, found[i].last);
	}
	SPI_finish();
	qsort(*shards, n, sizeof(StreamNodeShard), compare_shards);
	find_parents(*shards, n);
	return n;
}

/*
 * One node
 */

/* Asks the node of a shard and returns its answer; connected to SPI. */
static char *
nodes_ask(const StreamPlacement *placement, char *command)
{
	if (nodes_execute(
			"SELECT r.node_name, r.success, r.result FROM pg_catalog.pg_dist_node n,"
			" pg_catalog.master_run_on_worker(ARRAY[n.nodename], ARRAY[n.nodeport], ARRAY[$2],"
			" false) r WHERE n.groupid OPERATOR(pg_catalog.=) $1"
			" AND n.noderole OPERATOR(pg_catalog.=) 'primary'::pg_catalog.noderole",
			SQL_VALUES(SQL_INT4(placement->node), SQL_TEXT(command))) != 1)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Shard does not exist");
	if (!is_true(0, 2) || field_or_null(0, 3) == NULL)
		fail_node(field(0, 1), field_or_null(0, 3));
	return field(0, 3);
}

/* Returns the place in the WAL of a shard's node after which comes what commits from now on. */
char *
stream_nodes_position(const StreamPlacement *placement)
{
	MemoryContext context = CurrentMemoryContext;
	char *position;

	SPI_connect();
	position = MemoryContextStrdup(
		context,
		nodes_ask(placement, psprintf("SELECT %s.dyn_stream_position()", extension_schema())));
	SPI_finish();
	return position;
}

/* Reads a page of records of a shard, from after a position: TRIM_HORIZON, or a sequence number. */
void
stream_nodes_read(const StreamTarget *target, const StreamPlacement *placement, ItemSpan position,
				  int64 max_records, StreamNodePage *page)
{
	MemoryContext context = CurrentMemoryContext;
	char *answer;

	SPI_connect();
	answer = nodes_ask(placement,
					   psprintf("SELECT " DYN_INTERNAL ".stream_node_records(%s, " INT64_FORMAT
								", %u::pg_catalog.oid, %s, " INT64_FORMAT ", %s, %s)",
								table_literal(target->relid), target->stream.label,
								placement->relid, quote_literal_cstr(span_string(position)),
								max_records, quote_literal_cstr(span_string(target->table)),
								quote_literal_cstr(dyn_arn_region())));
	node_error_raise(answer);
	execute_with_text("SELECT a.j OPERATOR(pg_catalog.->>) 'records', a.j OPERATOR(pg_catalog.->>) "
					  "'position', a.j OPERATOR(pg_catalog.->>) 'ended'"
					  " FROM (SELECT $1::pg_catalog.json) a(j)",
					  answer);
	*page = (StreamNodePage){MemoryContextStrdup(context, field(0, 1)),
							 MemoryContextStrdup(context, field(0, 2)), is_true(0, 3)};
	SPI_finish();
}

/*
 * Slots
 */

/*
 * stream_slots_of_nodes(): node and slot, as JSON, of each other node of Citus, for dyn_stream_slots.  One that
 * does not answer has a state too.
 */
PG_FUNCTION_INFO_V1(dyn_stream_slots_of_nodes);
Datum
dyn_stream_slots_of_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64 nodes;

	InitMaterializedSRF(fcinfo, 0);
	if (citus_local_group() < 0 || RecoveryInProgress())
		PG_RETURN_NULL();
	SPI_connect();
	nodes = nodes_execute(
		"SELECT pg_catalog.concat(n.nodename, ':', n.nodeport), CASE WHEN r.success THEN r.result"
		" ELSE pg_catalog.json_build_object('state', 'unreachable', 'last_error', r.result)"
		"::pg_catalog.text END"
		" FROM pg_catalog.pg_dist_node n JOIN pg_catalog.run_command_on_all_nodes($1) r"
		" ON r.nodeid OPERATOR(pg_catalog.=) n.nodeid"
		" WHERE n.groupid OPERATOR(pg_catalog.<>) $2 ORDER BY n.groupid",
		SQL_VALUES(SQL_TEXT("SELECT pg_catalog.row_to_json(s) FROM " STREAM_SLOT_VIEW " s"),
				   SQL_INT4(citus_local_group())));
	for (uint64 i = 0; i < nodes; i++)
		sql_put(result, SQL_VALUES(SQL_TEXT(field(i, 1)), SQL_TEXT(field(i, 2))));
	SPI_finish();
	PG_RETURN_NULL();
}

/*
 * Enabling
 */

/*
 * Raises an error unless the streams of a distributed table would be whole: every node collects
 * changes, Citus marks what it copies, and each shard is at one node.
 */
void
stream_nodes_require(Oid relid)
{
	uint64 nodes;

	SPI_connect();
	if (nodes_execute(
			"SELECT FROM pg_catalog.pg_dist_shard s"
			" JOIN pg_catalog.pg_dist_placement p ON p.shardid OPERATOR(pg_catalog.=) s.shardid"
			" WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass"
			" GROUP BY s.shardid HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1",
			SQL_VALUES(SQL_OID(relid))) > 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" cannot have a change stream", get_rel_name(relid)),
						errdetail("Its shards have replicas, so each change is made at several "
								  "nodes."),
						errhint("Distribute it with citus.shard_replication_factor = 1.")));
	nodes = execute_with_text(
		"SELECT n.nodeid, n.success, n.result FROM pg_catalog.run_command_on_all_nodes($1) n",
		psprintf("SELECT CASE"
				 " WHEN NOT pg_catalog.current_setting('citus.enable_change_data_capture')"
				 "::pg_catalog.bool THEN 'citus.enable_change_data_capture is off'"
				 " WHEN state OPERATOR(pg_catalog.<>) ALL (ARRAY['ready', '" STREAM_WAITS
				 "', '" STREAM_FAILS "']) THEN 'change streams are: ' "
				 "OPERATOR(pg_catalog.||) state"
				 " ELSE 'ready' END FROM " STREAM_SLOT_VIEW));
	for (uint64 i = 0; i < nodes; i++)
	{
		const char *answer = field_or_null(i, 3);

		if (is_true(i, 2) && answer != NULL && strcmp(answer, "ready") == 0)
			continue;
		/* a client of DynamoDB sees only the message */
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a stream cannot be enabled: %s. %s",
							   psprintf("node %s is not ready: %s", field(i, 1),
										answer == NULL ? "" : answer),
							   "On each node of Citus, set citus.enable_change_data_capture to on "
							   "in the configuration, and CALL dyn_setup_streams().")));
	}
	SPI_finish();
}
