/*
 * follow.c
 *	  dyn_follow_migration(): triggers that keep items in step with the tables that they are made of.
 *
 * What refresh.c relies on is checked here, when the triggers are made:
 *
 *	 the key of an item depends on the row of the source alone, and the row can be told from it;
 *	 an item depends on nothing but the rows of the relations that are named.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "catalog/distribute.h"
#include "catalog/follower.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "models/migrate/collide.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/work/brief_lock.h"
#include "store/plan.h"

/*
 * Triggers that there are
 */

/* Returns whether the trigger's only argument is this name. */
static bool
has_argument(HeapTuple tuple, Relation rel, const char *name)
{
	bool isnull;
	Datum value = heap_getattr(tuple, Anum_pg_trigger_tgargs, RelationGetDescr(rel), &isnull);
	bytea *arguments = DatumGetByteaPP(value);

	return ((Form_pg_trigger) GETSTRUCT(tuple))->tgnargs == 1 &&
		   VARSIZE_ANY_EXHDR(arguments) == strlen(name) + 1 &&
		   memcmp(VARDATA_ANY(arguments), name, strlen(name) + 1) == 0;
}

/*
 * Returns triggers with the name of a migration, without those that a partition has from its
 * parent, which come and go with the parent's.  Any role can create such a trigger on its own
 * table, so only triggers are returned that may be of the migration of relid; if relid is
 * InvalidOid, those on tables that the user owns.
 */
List *
migration_followers(const char *name, Oid relid)
{
	Relation rel = table_open(TriggerRelationId, AccessShareLock);
	ItemSpan span = {name, (uint32) strlen(name)};
	List *triggers = NIL;
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(form->tgparentid) &&
			strncmp(NameStr(form->tgname), DYN_FOLLOW_TRIGGER, strlen(DYN_FOLLOW_TRIGGER)) == 0 &&
			has_argument(tuple, rel, name) &&
			(OidIsValid(relid) ? migration_may_be_followed(span, relid, form->tgrelid)
							   : rights_owns(form->tgrelid, GetUserId())))
			triggers = lappend_oid(triggers, form->oid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return triggers;
}

static bool
follows(const Trigger *trigger, const Migration *migration)
{
	return strncmp(trigger->tgname, DYN_FOLLOW_TRIGGER, strlen(DYN_FOLLOW_TRIGGER)) == 0 &&
		   trigger->tgnargs == 1 && strcmp(trigger->tgargs[0], migration->name) == 0;
}

/* Returns whether a table that a migration reads has triggers that follow it. */
bool
migration_has_followers(const Migration *migration, Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;
	bool found = false;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		found = found || follows(&triggers->triggers[i], migration);
	return found;
}

/* Returns a relation and its partitions, if it has some. */
static List *
table_and_partitions(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE
			   ? find_all_inheritors(relid, AccessShareLock, NULL)
			   : list_make1_oid(relid);
}

/* Returns whether a trigger fires where it was made to, or anywhere; see create_triggers(). */
static bool
fires(const Trigger *trigger, Relation rel)
{
	bool by_row = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || rel->rd_rel->relispartition;

	if (trigger->tgenabled == TRIGGER_FIRES_ALWAYS)
		return true;
	if (by_row || TRIGGER_FOR_TRUNCATE(trigger->tgtype))
		return false;
	return trigger->tgenabled ==
		   (TRIGGER_FOR_ROW(trigger->tgtype) ? TRIGGER_FIRES_ON_REPLICA : TRIGGER_FIRES_ON_ORIGIN);
}

/* Returns whether a table has a trigger that does not. */
static bool
is_disabled(const Migration *migration, Oid relid)
{
	Relation rel = try_relation_open(relid, AccessShareLock);
	bool disabled = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		disabled = disabled || (follows(trigger, migration) && !fires(trigger, rel));
	}
	relation_close(rel, NoLock);
	return disabled;
}

/* Returns the names of followed tables and their partitions that are so, as a list of char *. */
static List *
tables_that(const Migration *migration, bool (*are)(const Migration *migration, Oid relid))
{
	List *tables = NIL;
	ListCell *cell;
	ListCell *part;

	foreach (cell, migration->relids)
	{
		foreach (part, table_and_partitions(lfirst_oid(cell)))
		{
			Oid relid = lfirst_oid(part);

			if (are(migration, relid))
				tables = lappend(tables, catalogs_qualified(relid));
		}
	}
	return tables;
}

/*
 * Returns the tables whose triggers do not fire as they were made, as a list of char *.  ALTER TABLE
 * disables all triggers of a table, and does not enable them as they were; a restore of data does
 * both.
 */
List *
migration_disabled(const Migration *migration)
{
	return tables_that(migration, is_disabled);
}

/* Returns whether a partition has row triggers from its table, and none for TRUNCATE. */
static bool
is_later(const Migration *migration, Oid relid)
{
	Relation rel = try_relation_open(relid, AccessShareLock);
	bool copied = false;
	bool guarded = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (!follows(trigger, migration))
			continue;
		copied = copied || trigger->tgisclone;
		guarded = guarded || TRIGGER_FOR_TRUNCATE(trigger->tgtype);
	}
	relation_close(rel, NoLock);
	return copied && !guarded;
}

/*
 * Returns the partitions that followed tables have got since the following began, as a list of
 * char *.  Nothing but a hook refuses TRUNCATE of them; see truncate.c.
 */
List *
migration_later_partitions(const Migration *migration)
{
	return tables_that(migration, is_later);
}

/*
 * What following needs
 */

pg_noreturn static void
follow_refuse(const MigrationStep *step, const char *why, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("step \"%s\" of migration \"%s\" cannot be followed", step->name,
						   step->migration->name),
					errdetail("%s", why), hint == NULL ? 0 : errhint("%s", hint)));
}

/* Checks a table, or a partition of one. */
static void
check_table(const MigrationStep *step, Oid relid)
{
	Relation rel = relation_open(relid, AccessShareLock);
	const char *migration = step->migration->name;
	const char *name = catalogs_qualified(RelationGetRelid(rel));

	rights_require_owner(rel);
	if (rel->rd_rel->relkind == RELKIND_VIEW || rel->rd_rel->relkind == RELKIND_MATVIEW)
		follow_refuse(step, psprintf("%s is a view.", name), NULL);
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		follow_refuse(step, psprintf("%s is a foreign table.", name), NULL);
	if (citus_kind(relid) != CITUS_NONE)
		follow_refuse(step, psprintf("%s is managed by Citus.", name), NULL);
	if (rel->rd_rel->relkind == RELKIND_RELATION && dyn_has_children(rel))
		follow_refuse(step, psprintf("%s has child tables.", name), NULL);
	if (!rel->rd_rel->relispartition && has_superclass(relid))
		follow_refuse(step, psprintf("%s is a child table.", name), NULL);
	if (!migration_may_follow(step->migration->relid, relid))
		follow_refuse(
			step,
			psprintf("The owner of the table of items has not the rights of the owner of %s.",
					 name),
			"Let one role own both, or grant it the other one.");
	if (!migration_may_be_followed(item_span(migration), step->migration->relid, relid))
		follow_refuse(step, psprintf("The owner of %s has a migration of this name.", name),
					  "Give it another name.");
	relation_close(rel, AccessShareLock);
}

/* Checks that the attributes of the key come from the row of the source alone. */
static void
check_key(const MigrationStep *step)
{
	for (int i = 0; i < step->nparents; i++)
	{
		for (int k = 0; k < step->parents[i].attributes.n; k++)
		{
			if (step_makes_key(step, step->parents[i].attributes.list[k].attribute))
				follow_refuse(step, "The key of its items depends on a parent.", NULL);
		}
	}
	for (int i = 0; i < step->nchildren; i++)
	{
		if (step_makes_key(step, step->children[i].attribute))
			follow_refuse(step, "The key of its items depends on children.", NULL);
	}
	if (!step_key_is_injective(step))
		follow_refuse(step, "Rows that differ can make one key, as its templates are.", NULL);
	for (int i = 0; i < step->migration->nsteps; i++)
	{
		const MigrationStep *other = &step->migration->steps[i];

		if (other != step && steps_may_collide(step, other))
			follow_refuse(step, psprintf("Step \"%s\" may make the same items.", other->name),
						  NULL);
	}
}

static bool
is_virtual(const StepRelation *relation, AttrNumber attnum)
{
	return TupleDescAttr(relation->desc, attnum - 1)->attgenerated == 'v';
}

/*
 * Checks that keys are made of no virtual generated column (18): they are NULL in the rows that
 * triggers get.
 */
static void
check_virtual(const MigrationStep *step)
{
	bool any = false;

	for (AttrNumber i = 1; i <= step->source.desc->natts; i++)
		any = any || is_virtual(&step->source, i);
	for (int i = 0; any && i < step->attributes.n; i++)
	{
		const StepAttribute *attribute = &step->attributes.list[i];

		if (step_makes_key(step, attribute->attribute) &&
			(attribute->column == InvalidAttrNumber ||
			 is_virtual(&step->source, attribute->column)))
			follow_refuse(step, "The key of its items may depend on a virtual generated column.",
						  "Let the column be stored.");
	}
}

static bool
has_sublink(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_sublink, context, 0);
	return expression_tree_walker(node, has_sublink, context);
}

/*
 * Refuses subqueries in expressions of the declaration: the statements themselves have no subquery
 * in an expression.
 */
static void
analyse_expressions(void *arg)
{
	MigrationStep *step = arg;
	SelectOptions options = {.which = SELECT_RANGE};
	SPIPlanPtr plan = SPI_prepare(step_select(step, &options), 0, NULL);
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	Node *query = linitial(source->query_list);

	if (has_sublink(query, NULL))
		follow_refuse(step, "An expression has a subquery, whose tables are not followed.",
					  "Use \"parents\" or \"children\".");
	if (contain_volatile_functions(query))
		follow_refuse(step, "An expression has a volatile function.", NULL);
	SPI_freeplan(plan);
}

static void
check_expressions(MigrationStep *step)
{
	MemoryContext context = CurrentMemoryContext;
	RightsBefore rights;
	int nest = migration_enter();

	rights_take(rights_owner(step->migration->relid), 0, &rights);
	migration_fit(step->migration->name, false, step->name, analyse_expressions, step);
	MemoryContextSwitchTo(context);
	rights_give_back(&rights);
	migration_leave(nest);
}

static void
check_step(MigrationStep *step)
{
	ListCell *cell;

	if (step->query != NULL)
		follow_refuse(step, "It reads a query.", "Use \"from\", \"parents\" and \"children\".");
	foreach (cell, step_relations(step))
	{
		ListCell *table;

		foreach (table, table_and_partitions(((const StepRelation *) lfirst(cell))->relid))
			check_table(step, lfirst_oid(table));
	}
	if (step->key_is_given)
		follow_refuse(step, "Its \"key\" is not a primary key, and not unique and NOT NULL.", NULL);
	check_key(step);
	check_virtual(step);
	check_expressions(step);
}

/*
 * Making and removing triggers
 */

static const char *
trigger_name(const char *migration, const char *what)
{
	return quote_identifier(
		psprintf(DYN_FOLLOW_TRIGGER "%s %08x", what,
				 hash_bytes((const unsigned char *) migration, (int) strlen(migration))));
}

/* Tells what a table is followed for, and how its triggers are told so. */
typedef struct Following
{
	const char *migration;
	const char *relation; /* the followed table, quoted */
	const char *condition; /* see catalog/follower.h */
} Following;

/* Creates a trigger, by what is said of it in the order of CREATE TRIGGER. */
static void
create_trigger(const Following *following, const char *name, const char *event, const char *tables,
			   const char *level, const char *function, const char *enable)
{
	name = trigger_name(following->migration, name);
	dyn_execute(psprintf("CREATE TRIGGER %s %s ON %s%s FOR EACH %s WHEN (%s)"
						 " EXECUTE FUNCTION " DYN_INTERNAL ".%s(%s)",
						 name, event, following->relation, tables, level, following->condition,
						 function, quote_literal_cstr(following->migration)));
	if (enable != NULL)
		dyn_execute(
			psprintf("ALTER TABLE %s ENABLE %s TRIGGER %s", following->relation, enable, name));
}

/*
 * Creates triggers.  Statement triggers take all rows of a statement at once.  What replication
 * applies is no statement, and fires row triggers alone.  So these fire where
 * session_replication_role is "replica", and the others where it is not.  One of the row triggers
 * has a transition table, which it does not use: the server lets no table with such a trigger
 * become a partition or a child, whose rows could then be changed by a statement on the parent
 * without a trigger of ours.
 */
static void
create_triggers(const Following *following)
{
	create_trigger(following, "_insert", "AFTER INSERT", " REFERENCING NEW TABLE AS \"~new\"",
				   "STATEMENT", "migration_changed", NULL);
	create_trigger(following, "_update", "AFTER UPDATE",
				   " REFERENCING OLD TABLE AS \"~old\" NEW TABLE AS \"~new\"", "STATEMENT",
				   "migration_changed", NULL);
	create_trigger(following, "_delete", "AFTER DELETE", " REFERENCING OLD TABLE AS \"~old\"",
				   "STATEMENT", "migration_changed", NULL);
	create_trigger(following, "_row_insert", "AFTER INSERT", " REFERENCING NEW TABLE AS \"~new\"",
				   "ROW", "migration_changed", "REPLICA");
	create_trigger(following, "_row", "AFTER UPDATE OR DELETE", "", "ROW", "migration_changed",
				   "REPLICA");
	create_trigger(following, "_truncate", "BEFORE TRUNCATE", "", "STATEMENT",
				   "migration_truncated", "ALWAYS");
}

/*
 * Creates row triggers.  Statements may name a partitioned table, any of its partitions, or another
 * table that has it as a partition, and the triggers of that table alone have the rows.  But row
 * triggers fire wherever a row is, and partitions that are made later get them, too.  The hash is
 * that of the table's name: a partition may have triggers of several tables that it is a part of.
 */
static void
create_row_triggers(const Following *following, Oid relid)
{
	Following of_one = *following;
	uint32 hash =
		hash_bytes((const unsigned char *) following->relation, (int) strlen(following->relation));
	ListCell *cell;

	create_trigger(following, psprintf("_row_%08x", hash), "AFTER INSERT OR UPDATE OR DELETE", "",
				   "ROW", "migration_changed", "ALWAYS");
	foreach (cell, table_and_partitions(relid))
	{
		Oid oid = lfirst_oid(cell);

		of_one.relation = catalogs_qualified(oid);
		create_trigger(&of_one,
					   psprintf(oid == relid ? "_truncate_%08x" : "_truncate_part_%08x", hash),
					   "BEFORE TRUNCATE", "", "STATEMENT", "migration_truncated", "ALWAYS");
	}
}

/* Checks that the migration can be followed, and returns the tables that it follows. */
static List *
check_steps(Migration *migration)
{
	List *relids = NIL;

	for (int i = 0; i < migration->nsteps; i++)
	{
		ListCell *cell;

		check_step(&migration->steps[i]);
		foreach (cell, step_relations(&migration->steps[i]))
			relids = list_concat_unique_oid(
				relids, table_and_partitions(((const StepRelation *) lfirst(cell))->relid));
	}
	return relids;
}

static void
refuse_followed(const Migration *migration)
{
	if (migration_followers(migration->name, migration->relid) != NIL)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("migration \"%s\" is followed already", migration->name)));
}

/*
 * Opens the migration, with the locks that creating the triggers needs.  All tables are locked at
 * once, so that writers of one do not wait while another is waited for.  The lock on the table of
 * items does not stop its writers; it keeps the declaration from changing.
 */
static Relation
open_to_follow(ItemSpan name, DynTable **table, Migration **migration)
{
	Relation rel = migration_open(name, AccessShareLock, table, migration);
	List *sources;

	rights_require_owner(rel);
	dyn_refuse_distributed(rel, "be the target of a migration that is followed",
						   "Triggers of the tables that are followed would write to its shards.",
						   "Let the application write to both, and run dyn_migrate() again.");
	refuse_followed(*migration);
	sources = check_steps(*migration);
	list_sort(sources, list_oid_cmp); /* in the same order in all sessions */
	brief_lock(RelationGetRelid(rel), ShareUpdateExclusiveLock);
	relation_close(rel, AccessShareLock);
	brief_lock_all(sources, ShareRowExclusiveLock);
	rel = migration_open(name, AccessShareLock, table, migration);
	rights_require_owner(rel);
	refuse_followed(*migration);
	if (list_difference_oid(check_steps(*migration), sources) != NIL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("migration \"%s\" was changed meanwhile", (*migration)->name),
						errhint("Try again.")));
	return rel;
}

static void
follow(ItemSpan name)
{
	Migration *migration;
	DynTable *table;
	List *done = NIL;
	Following following;
	Relation rel;

	store_connect();
	rel = open_to_follow(name, &table, &migration);
	following = (Following){.migration = migration->name,
							.condition = dyn_follower_condition(table->qualified)};
	for (int i = 0; i < migration->nsteps; i++)
	{
		ListCell *cell;

		foreach (cell, step_relations(&migration->steps[i]))
		{
			const StepRelation *relation = lfirst(cell);

			if (list_member_oid(done, relation->relid))
				continue;
			following.relation = relation->name;
			if (get_rel_relkind(relation->relid) == RELKIND_PARTITIONED_TABLE ||
				get_rel_relispartition(relation->relid))
				create_row_triggers(&following, relation->relid);
			else
				create_triggers(&following);
			done = lappend_oid(done, relation->relid);
		}
	}
	relation_close(rel, NoLock);
	SPI_finish();
}

static void
drop_trigger(Oid oid)
{
	HeapTuple tuple = dyn_follower_trigger(oid);
	Form_pg_trigger form;

	if (tuple == NULL)
		return;
	form = (Form_pg_trigger) GETSTRUCT(tuple);
	dyn_execute(psprintf("DROP TRIGGER %s ON %s", quote_identifier(NameStr(form->tgname)),
						 catalogs_qualified(form->tgrelid)));
}

/* Locks all tables at once for DROP TRIGGER. */
static void
lock_followed(List *triggers)
{
	List *relids = NIL;
	ListCell *cell;

	foreach (cell, triggers)
	{
		HeapTuple tuple = dyn_follower_trigger(lfirst_oid(cell));
		Oid relid;

		if (tuple == NULL)
			continue;
		relid = ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
		if (!OidIsValid(rights_owner(relid)))
			continue;
		if (!rights_owns(relid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
		relids = list_append_unique_oid(relids, relid);
	}
	if (relids == NIL)
		return;
	list_sort(relids, list_oid_cmp);
	brief_lock_all(relids, AccessExclusiveLock);
}

/* Works even if the migration is gone or its tables were renamed. */
static void
unfollow(const char *name)
{
	Oid relid = migration_table(item_span(name));
	/* those on the user's own tables in any case: owners may have changed */
	List *triggers = migration_followers(name, InvalidOid);
	ListCell *cell;

	if (OidIsValid(relid))
		triggers = list_union_oid(triggers, migration_followers(name, relid));
	if (triggers == NIL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("migration \"%s\" is not followed", name)));
	list_sort(triggers, list_oid_cmp); /* as they were made, wherever their rows are */
	lock_followed(triggers);
	store_connect();
	foreach (cell, triggers)
		drop_trigger(lfirst_oid(cell));
	SPI_finish();
}

/* dyn_follow_migration(migration, enabled) */
PG_FUNCTION_INFO_V1(dyn_follow_migration);
Datum
dyn_follow_migration(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "migration");

	if (argument_flag(fcinfo, 1, true))
		follow(text_span(name));
	else
		unfollow(text_to_cstring(name));
	PG_RETURN_VOID();
}
