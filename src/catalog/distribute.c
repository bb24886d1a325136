/*
 * distribute.c
 *	  dyn_distribute_table() and dyn_undistribute_table(): tables whose items are on all nodes of
 *	  Citus, and back.
 *
 * A distributed table can have no triggers.  What its derive trigger said is in a constraint, its
 * definition, which Citus takes to all nodes and shards; its constraint on keys is what guards
 * rows.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/definition/arn.h"
#include "catalog/definition/definition.h"
#include "catalog/distribute.h"
#include "catalog/entries.h"
#include "catalog/follower.h"
#include "catalog/key.h"
#include "catalog/key_grant.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "catalog/vector.h"
#include "catalog/shard_guard.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"

#define FORCED_DETAIL \
	"Row-level security is forced on its owner, with whose rights items are copied."
#define FORCED_HINT \
	"Call ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, and force it again afterwards."

/*
 * Refusals
 */

/* Raises an error for a table that Citus manages; what completes "cannot …". */
void
dyn_refuse_distributed(Relation rel, const char *what, const char *detail, const char *hint)
{
	if (citus_kind(RelationGetRelid(rel)) == CITUS_NONE)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("distributed table \"%s\" cannot %s", RelationGetRelationName(rel), what),
			 errdetail("%s", detail), hint == NULL ? 0 : errhint("%s", hint)));
}

/* Requires Citus, and that this is the node where it makes and ends distributed tables. */
static void
require_coordinator(void)
{
	if (!citus_is_installed())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("extension \"citus\" is not installed in this database"),
						errdetail("It is what distributes tables."),
						errhint("Install it on all nodes, and add these to the coordinator.")));
	if (!citus_is_coordinator())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("tables cannot be distributed from this node"),
						errdetail("It is a worker of Citus."),
						errhint("Connect to the coordinator and call the function again.")));
}

pg_noreturn static void
distribute_fail(Relation rel, const char *detail, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("table \"%s\" cannot be distributed", RelationGetRelationName(rel)),
					errdetail("%s", detail), hint == NULL ? 0 : errhint("%s", hint)));
}

static void
refuse_relation(Relation rel, const DynTable *table)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(rel), table->keys[0].attnum - 1);

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relispartition)
		distribute_fail(rel, "It is partitioned, or a partition.", NULL);
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		distribute_fail(rel, "It is a temporary table.", NULL);
	if (table->rules)
		distribute_fail(rel, "It has rules.", "Drop them first.");
	if (column->attgenerated != '\0' || column->attidentity != '\0')
		distribute_fail(rel, psprintf("Column \"%s\" is generated.", NameStr(column->attname)),
						"The column of the partition key must be an ordinary one.");
}

/* Refuses a trigger; foreign keys, on either side, are triggers too. */
static void
refuse_trigger(Relation rel, const Trigger *trigger)
{
	if (strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0)
		return;
	if (strncmp(trigger->tgname, DYN_VECTOR_TRIGGER, strlen(DYN_VECTOR_TRIGGER)) == 0)
		distribute_fail(rel, "It has vector indexes, which take triggers.",
						"Drop them by dyn_drop_index first, and create them again afterwards.");
	if (OidIsValid(trigger->tgconstrrelid))
		distribute_fail(rel,
						psprintf("It has a foreign key to or from table \"%s\".",
								 get_rel_name(trigger->tgconstrrelid)),
						"Drop the foreign key first.");
	if (trigger->tgisinternal)
		distribute_fail(rel, "It has a deferrable constraint.", "Drop the constraint first.");
	if (strcmp(trigger->tgname, DYN_ENFORCE_TRIGGER) == 0)
		distribute_fail(rel, "Its entities are enforced, which takes a trigger.",
						"Call dyn_enforce_entities() with enabled => false first.");
	if (strncmp(trigger->tgname, DYN_FOLLOW_TRIGGER, strlen(DYN_FOLLOW_TRIGGER)) == 0)
		distribute_fail(rel, "A migration follows it, which takes triggers.",
						"Call dyn_follow_migration() with enabled => false first.");
	distribute_fail(rel, psprintf("It has trigger \"%s\".", trigger->tgname),
					"Drop the trigger first.");
}

static void
refuse_triggers(Relation rel)
{
	/* a copy: look-ups may rebuild the relation */
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		refuse_trigger(rel, &triggers->triggers[i]);
}

/* Refuses a stream, which reads the changes of one relation. */
static void
refuse_stream(Relation rel, const DynTable *table)
{
	if (dyn_settings_stream(&table->settings) != NULL)
		distribute_fail(rel, "It has a change stream.", "Call dyn_disable_stream() first.");
}

static void
refuse_unfinished(Relation rel, const DynTable *table)
{
	if (!dyn_shape_is_filled(dyn_shape_of(rel, table)))
		distribute_fail(rel, "An index of it, or time to live, is being made or removed.",
						"Finish that first.");
}

/*
 * Returns whether policies hide items from the owner, with whose rights they are copied on all
 * nodes.  The rights that this session has for maintenance are not asked: with them, forced
 * policies do not count.
 */
static bool
hides_from_owner(Relation rel)
{
	return rel->rd_rel->relrowsecurity && rel->rd_rel->relforcerowsecurity &&
		   !has_bypassrls_privilege(rel->rd_rel->relowner);
}

/* Raises an error unless the table, which the caller has locked, can be distributed. */
static void
refuse_table(Relation rel, const DynTable *table)
{
	refuse_relation(rel, table);
	refuse_triggers(rel);
	refuse_stream(rel, table);
	refuse_unfinished(rel, table);
	dyn_follower_refuse(rel, "distributed");
}

/*
 * Steps
 */

/* Suppresses notices for a time: Citus tells the caller to do what is done here. */
static int
begin_quietly(void)
{
	int nest = NewGUCNestLevel();

	if (client_min_messages < WARNING)
		(void) set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return nest;
}

/*
 * Returns the table that a new one is colocated with unless the caller names one, as Citus wants
 * it.  That is "none" if every group that Citus would choose has tables of another owner, or
 * entries of an index.  Citus moves the shards of a group by one subscription for each owner, and
 * may switch over before all of them have caught up: then writes are lost.
 */
static const char *
choose_colocated(Oid relid, Oid type, int32 shard_count)
{
	sql_execute(
		"SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM"
		" (SELECT pg_catalog.min(d.logicalrelid::pg_catalog.oid) AS relid, g.colocationid"
		" FROM pg_catalog.pg_dist_colocation g JOIN pg_catalog.pg_dist_partition d"
		" ON d.colocationid OPERATOR(pg_catalog.=) g.colocationid"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.logicalrelid"
		" WHERE d.partmethod OPERATOR(pg_catalog.=) 'h'::pg_catalog.\"char\""
		" AND g.distributioncolumntype OPERATOR(pg_catalog.=) $2"
		" AND g.shardcount OPERATOR(pg_catalog.=) COALESCE($3,"
		" pg_catalog.current_setting('citus.shard_count', true)::pg_catalog.int4)"
		" AND g.replicationfactor OPERATOR(pg_catalog.=)"
		" pg_catalog.current_setting('citus.shard_replication_factor', true)::pg_catalog.int4"
		" GROUP BY g.colocationid"
		" HAVING pg_catalog.bool_and(c.relowner OPERATOR(pg_catalog.=) $1"
		/* not with entries of an index, which are written with other rights */
		" AND (NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a"
		" WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid"
		" AND a.attname OPERATOR(pg_catalog.=) '" DYN_ITEM_COLUMN "')"
		" OR EXISTS (SELECT FROM pg_catalog.pg_constraint k"
		" WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid"
		" AND k.conname OPERATOR(pg_catalog.=) '" DEFINITION_CONSTRAINT "')))) g"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) g.relid"
		" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
		/* shards may have been split since */
		" WHERE $3 IS NULL OR $3 OPERATOR(pg_catalog.=) (SELECT pg_catalog.count(*)"
		" FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid OPERATOR(pg_catalog.=) c.oid)"
		" ORDER BY g.colocationid LIMIT 1",
		false, 0,
		SQL_VALUES(SQL_OID(rights_owner(relid)), SQL_OID(type),
				   SQL_NULLABLE(INT4OID, Int32GetDatum(shard_count), shard_count == 0)));
	return SPI_processed == 0 ? "none" : sql_text(SPI_tuptable, 0, 1);
}

/* Says so where tables of several owners are in the group of a distributed table. */
void
dyn_warn_owners(Oid relid)
{
	SPI_connect();
	sql_execute(
		"SELECT pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(pg_catalog.pg_get_userbyid("
		"c.relowner)), ', ') FROM pg_catalog.pg_dist_partition t"
		" JOIN pg_catalog.pg_dist_partition d"
		" ON d.colocationid OPERATOR(pg_catalog.=) t.colocationid"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.logicalrelid"
		" WHERE t.logicalrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass"
		" HAVING pg_catalog.min(c.relowner) OPERATOR(pg_catalog.<>) pg_catalog.max(c.relowner)",
		false, 1, SQL_VALUES(SQL_OID(relid)));
	if (SPI_processed > 0)
		ereport(WARNING,
				(errmsg("tables of several owners are colocated with table \"%s\"",
						get_rel_name(relid)),
				 errdetail("They belong to %s. Writes may be lost when Citus moves or splits "
						   "their shards by logical replication.",
						   sql_text(SPI_tuptable, 0, 1)),
				 errhint("Move and split them with shard_transfer_mode => 'block_writes', or give "
						 "all of them one owner.")));
	SPI_finish();
}

/* Calls Citus, which copies the rows of a table to the shards; those left behind are removed. */
static void
call_distribute(Oid relid, const char *column, bool rows, const char *colocate_with,
				int32 shard_count)
{
	/* a table that is named has them */
	bool counted = shard_count != 0 && strcmp(colocate_with, "none") == 0;
	int nest = begin_quietly();

	sql_execute("SELECT pg_catalog.create_distributed_table($1, $2, colocate_with => $3, "
				"shard_count => $4)",
				false, 0,
				SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(relid)), SQL_TEXT(column),
						   SQL_TEXT(colocate_with),
						   SQL_NULLABLE(INT4OID, Int32GetDatum(shard_count), !counted)));
	if (rows)
		sql_execute("SELECT pg_catalog.truncate_local_data_after_distributing_table($1)", false, 0,
					SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(relid))));
	AtEOXact_GUC(true, nest);
}

/* Citus makes so many shards at the same time, by a connection for each, and more by one for each node. */
#define SHARDS_AT_ONCE 64

/*
 * Has Citus work on one shard after the other where a connection for each of them would be more
 * than nodes allow.  All that a transaction does has to be done so, since Citus refuses to mix both
 * ways.  Returns a nesting level of settings, which the caller ends.
 */
static int
begin_distributing(int32 shard_count)
{
	int nest = NewGUCNestLevel();

	if (shard_count > SHARDS_AT_ONCE)
		(void) set_config_option("citus.multi_shard_modify_mode", "sequential", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nest;
}

static int32
count_shards(Oid relid)
{
	sql_execute("SELECT pg_catalog.count(*)::pg_catalog.int4 FROM pg_catalog.pg_dist_shard"
				" WHERE logicalrelid OPERATOR(pg_catalog.=) $1",
				true, 0, SQL_VALUES(SQL_OID(relid)));
	return DatumGetInt32(sql_value(SPI_tuptable, 0, 1));
}

/*
 * Distributes the new table of entries of an index by one of its columns, in as many shards as the
 * table of items has.  It is colocated with that table if beside is true, and with no table
 * otherwise.
 */
void
dyn_distribute_entries(Oid entries, Oid table, AttrNumber key, bool beside)
{
	char *column = get_attname(entries, key, false);
	int32 shard_count = count_shards(table);
	int nest;

	nest = begin_distributing(shard_count);
	call_distribute(entries, column, false, beside ? catalogs_qualified(table) : "none",
					shard_count);
	AtEOXact_GUC(true, nest);
}

/* Lets go of entries that indexes may have had, so that rows can be copied to shards without them. */
static void
forget_entries(DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		DynIndexSpec *spec = lfirst(cell);

		if (spec->distribution == DYN_DISTRIBUTE_KEY)
			spec->status = DYN_INDEX_DELETING;
	}
}

/* Takes vector indexes, which a restored table may have had, from the definition. */
static void
forget_vectors(DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->vectors)
	{
		const DynIndexSpec *index = &((DynVectorSpec *) lfirst(cell))->index;

		ereport(WARNING,
				(errmsg("vector index \"%s\" has to be created again", item_quoted(index->name)),
				 errdetail("Its entries were in table \"%s\", which can be dropped.",
						   span_string(index->entries))));
	}
	shape->vectors = NIL;
}

/* Makes the tables of entries of indexes; those of rows that are there have to be built. */
static void
distribute_indexes(DynShape *shape, bool rows)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		DynIndexSpec *spec = lfirst(cell);

		if (spec->distribution != DYN_DISTRIBUTE_KEY)
			continue;
		dyn_entries_create(shape, spec, false);
		if (!rows)
			continue;
		spec->status = DYN_INDEX_CREATING;
		dyn_shape_write_trigger(shape);
	}
}

/*
 * Distributes a table of items that the caller has locked so that nobody uses it, and not open.
 * Everything is one transaction, on all nodes.
 */
void
dyn_distribute(Oid relid, const DynDistribution *how)
{
	Relation rel = relation_open(relid, NoLock);
	DynTable *table = dyn_schema(rel);
	bool rows;
	DynShape *shape;
	List *arguments;
	char *qualified;
	char *column;
	Oid type;
	int nest;

	refuse_table(rel, table);
	shape = dyn_shape_of(rel, table);
	if (how->colocate_with != NULL && how->owner != rel->rd_rel->relowner)
		distribute_fail(rel, "The table that it is to be colocated with has another owner.",
						"Give both tables the same owner.");
	/* it is no partitioned table, which has none */
	rows = RelationGetNumberOfBlocks(rel) > 0;
	if (rows && hides_from_owner(rel))
		distribute_fail(rel, FORCED_DETAIL, FORCED_HINT);
	if (rows)
		forget_entries(shape);
	forget_vectors(shape);
	arguments = dyn_shape_arguments(shape);
	qualified = pstrdup(table->qualified);
	column = pstrdup(table->keys[0].column);
	type = dyn_key_column_type(table->keys[0].type);
	relation_close(rel, NoLock);
	nest = begin_distributing(how->shard_count);
	dyn_share_tokens();
	SPI_connect();
	dyn_execute(psprintf("ALTER TABLE %s %s", qualified, definition_sql(arguments)));
	dyn_execute(psprintf("ALTER TABLE %s %s", qualified, shard_guard_sql(column)));
	dyn_execute(psprintf("DROP TRIGGER %s ON %s", quote_identifier(DYN_DERIVE_TRIGGER), qualified));
	call_distribute(relid, column, rows,
					how->colocate_with != NULL ? how->colocate_with
											   : choose_colocated(relid, type, how->shard_count),
					how->shard_count);
	distribute_indexes(shape, rows);
	SPI_finish();
	AtEOXact_GUC(true, nest);
	dyn_warn_owners(relid);
}

/*
 * Makes the derive trigger of a table that is not distributed from its definition, and drops the
 * definition.  Returns false if the table has the trigger already, or no definition.
 */
static bool
return_trigger(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);
	char *qualified = catalogs_qualified(RelationGetRelid(rel));
	List *arguments =
		dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) == NULL ? definition_read(rel) : NIL;
	int nest;

	relation_close(rel, NoLock);
	if (arguments == NIL)
		return false;
	SPI_connect();
	nest = begin_quietly();
	dyn_execute(dyn_trigger_sql(DYN_TRIGGER_DERIVE, qualified, arguments));
	dyn_triggers_enable(relid, qualified);
	dyn_execute(psprintf("ALTER TABLE %s DROP CONSTRAINT " DEFINITION_CONSTRAINT
						 ", DROP CONSTRAINT IF EXISTS " SHARD_CONSTRAINT,
						 qualified));
	AtEOXact_GUC(true, nest);
	SPI_finish();
	return true;
}

/*
 * Functions
 */

/*
 * Locks a table, which only its owner may, so that nobody uses it.  It need not be a table of items
 * yet: one that was restored has its definition alone.
 */
static Oid
lock_table(ItemSpan given)
{
	ItemSpan name = dyn_table_name(given);
	Oid relid = dyn_table_lookup(name);
	Relation rel = OidIsValid(relid) ? rights_open(relid, AccessShareLock) : NULL;

	if (rel != NULL)
	{
		rights_require_owner(rel);
		dyn_refuse_shard(rel);
		relation_close(rel, AccessShareLock);
		brief_lock(relid, AccessExclusiveLock);
		rel = try_relation_open(relid, NoLock);
	}
	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%.*s\" does not exist", (int) name.len, name.data)));
	relation_close(rel, NoLock);
	return relid;
}

/*
 * Gives the session the rights of the owner of a locked table, as for maintenance, since code of
 * the owner's runs where rows are written on the nodes.
 */
static void
take_rights(Oid relid, RightsBefore *before)
{
	Relation rel = relation_open(relid, NoLock);

	rights_take_for_rows(rel, true, before);
	relation_close(rel, NoLock);
}

pg_noreturn static void
fail_no_table(Relation rel)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
					errmsg("\"%s\" is not a table of items", RelationGetRelationName(rel)),
					errdetail("It has neither trigger \"%s\" nor constraint \"%s\".",
							  DYN_DERIVE_TRIGGER, DEFINITION_CONSTRAINT)));
}

/* Returns whether a table of items that is locked is distributed. */
static bool
is_distributed(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);
	DynTable *table = dyn_schema(rel);
	bool distributed;

	if (table == NULL)
		fail_no_table(rel);
	distributed = table->distributed;
	relation_close(rel, NoLock);
	return distributed;
}

/* Reads the table whose items are to be on the same nodes. */
static DynDistribution
read_colocated(ItemSpan name)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);
	DynDistribution how = {pstrdup(table->qualified), rel->rd_rel->relowner, 0};

	if (!table->distributed)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table \"%s\" is not distributed", RelationGetRelationName(rel)),
						errdetail("Argument colocate_with must name a distributed table.")));
	relation_close(rel, NoLock);
	return how;
}

/* Leaves all to be chosen.  Raises an error where no table can be distributed. */
DynDistribution
dyn_distribution_default(void)
{
	require_coordinator();
	return (DynDistribution){NULL, InvalidOid, 0};
}

/* Reads colocate_with and shard_count.  Raises an error where no table can be distributed. */
DynDistribution
dyn_distribution_read(FunctionCallInfo fcinfo, int first)
{
	DynDistribution how = dyn_distribution_default();

	if (!PG_ARGISNULL(first) && !PG_ARGISNULL(first + 1))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("colocate_with and shard_count cannot be given together"),
						errdetail("Tables on the same nodes have as many shards.")));
	if (!PG_ARGISNULL(first))
		how = read_colocated(text_span(PG_GETARG_TEXT_PP(first)));
	if (!PG_ARGISNULL(first + 1))
	{
		int64 count = PG_GETARG_INT64(first + 1);

		if (count < 1 || count > PG_INT32_MAX)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("shard_count must be from 1 to %d", PG_INT32_MAX)));
		how.shard_count = (int32) count;
	}
	return how;
}

/* Nodes are sent calls that the coordinator has not asked grants by leading keys for. */
static void
refuse_grants(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);

	if (dyn_schema(rel)->grants->any)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" with grants by leading keys cannot be distributed",
							   RelationGetRelationName(rel)),
						errhint("Revoke them with dyn_revoke_keys().")));
	relation_close(rel, NoLock);
}

/* dyn_distribute_table(table_name, colocate_with, shard_count) */
PG_FUNCTION_INFO_V1(dyn_distribute_table);
Datum
dyn_distribute_table(PG_FUNCTION_ARGS)
{
	ItemSpan name = text_span(argument_required_text(fcinfo, 0, "table_name"));
	DynDistribution how = dyn_distribution_read(fcinfo, 1);
	Oid relid = lock_table(name);
	RightsBefore before;

	take_rights(relid, &before);
	if (citus_kind(relid) == CITUS_NONE)
		(void) return_trigger(relid);
	if (is_distributed(relid))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("table \"%s\" is distributed already", get_rel_name(relid))));
	refuse_grants(relid);
	dyn_distribute(relid, &how);
	rights_give_back(&before);
	PG_RETURN_VOID();
}

/*
 * Calls Citus, which makes a new relation for the rows, and drops the old one.  Citus keeps only
 * writers of this node away.  So the constraint is dropped before, which locks the table and its
 * shards on all nodes.  Otherwise rows that others write after the copy would be lost with the
 * shards, and so would those of a transaction that a node has prepared and not committed, whose
 * session may be gone.
 */
static Oid
call_undistribute(Oid relid)
{
	char *name = get_rel_name(relid);
	Oid namespace = get_rel_namespace(relid);
	int nest;

	SPI_connect();
	nest = begin_distributing(count_shards(relid));
	(void) begin_quietly();
	dyn_execute(psprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS " SHARD_CONSTRAINT,
						 catalogs_qualified(relid)));
	sql_execute("SELECT pg_catalog.undistribute_table($1)", false, 0,
				SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(relid))));
	AtEOXact_GUC(true, nest);
	SPI_finish();
	return get_relname_relid(name, namespace);
}

/* Refuses views: Citus makes these and views of them again, without triggers as of entities. */
static void
refuse_views(Oid relid)
{
	sql_execute(
		"WITH RECURSIVE used(relation) AS (SELECT $1 UNION SELECT r.ev_class FROM used u"
		" JOIN pg_catalog.pg_depend d ON d.refobjid OPERATOR(pg_catalog.=) u.relation"
		" JOIN pg_catalog.pg_rewrite r ON r.oid OPERATOR(pg_catalog.=) d.objid"
		" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
		" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass)"
		" SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)"
		" FROM used u JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) u.relation"
		" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
		" WHERE c.relhastriggers AND c.oid OPERATOR(pg_catalog.<>) $1"
		" ORDER BY c.relname LIMIT 1",
		false, 0, SQL_VALUES(SQL_OID(relid)));
	if (SPI_processed > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("table \"%s\" cannot be made a table of one node", get_rel_name(relid)),
				 errdetail("View %s would lose its triggers.", sql_text(SPI_tuptable, 0, 1)),
				 errhint("Drop the view, and create it again afterwards.")));
}

static void
refuse_undistribute(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);
	DynTable *table = dyn_schema(rel);

	require_coordinator();
	/* nodes take their snapshots before they wait for the locks */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("table \"%s\" cannot be made a table of one node", table->name),
						errdetail("The transaction has one snapshot, and would copy items as they "
								  "were before the table was locked."),
						errhint("Call the function in a transaction that is READ COMMITTED.")));
	if (dyn_settings_stream(&table->settings) != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" cannot be made a table of one node", table->name),
						errdetail("It has a change stream."),
						errhint("Call dyn_disable_stream() first.")));
	/* Citus copies what the owner sees, and drops the shards */
	if (hides_from_owner(rel))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" cannot be made a table of one node", table->name),
						errdetail(FORCED_DETAIL), errhint(FORCED_HINT)));
	dyn_follower_refuse(rel, "made a table of one node");
	relation_close(rel, NoLock);
	SPI_connect();
	refuse_views(relid);
	SPI_finish();
}

/* Refuses a table with indexes that are distributed by their keys, also one that was restored. */
static void
refuse_entries(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);
	List *arguments = dyn_derive_arguments(rel);
	ListCell *cell;

	if (arguments == NIL)
		arguments = definition_read(rel);
	foreach (cell, arguments)
	{
		const char *argument = lfirst(cell);

		if (dyn_vector_spec_is_argument(argument) ||
			(*argument == '{' && !dyn_settings_is_argument(argument) &&
			 dyn_index_spec_parse_argument(argument)->distribution == DYN_DISTRIBUTE_KEY))
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be made a table of one node",
						RelationGetRelationName(rel)),
				 errdetail("It has a vector index, or an index that is distributed by its key."),
				 errhint("Call dyn_distribute_table() if it is not distributed, and then "
						 "dyn_drop_index().")));
	}
	relation_close(rel, NoLock);
}

/*
 * dyn_undistribute_table(table_name): the way back, also for a table that has its definition and is
 * not distributed, because it was restored from a dump or undistributed by Citus alone.
 */
PG_FUNCTION_INFO_V1(dyn_undistribute_table);
Datum
dyn_undistribute_table(PG_FUNCTION_ARGS)
{
	Oid relid = lock_table(text_span(argument_required_text(fcinfo, 0, "table_name")));
	RightsBefore before;

	take_rights(relid, &before);
	refuse_entries(relid);
	if (citus_kind(relid) != CITUS_NONE && is_distributed(relid))
	{
		refuse_undistribute(relid);
		relid = call_undistribute(relid);
	}
	if (!return_trigger(relid) && !is_distributed(relid))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table \"%s\" is not distributed", get_rel_name(relid))));
	/* it must be a table of items now */
	(void) is_distributed(relid);
	rights_give_back(&before);
	PG_RETURN_VOID();
}
