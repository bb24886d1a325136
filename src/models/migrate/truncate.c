/*
 * truncate.c
 *	  TRUNCATE of followed tables, which is refused.
 *
 * A trigger refuses it.  Partitions that a followed table gets later do not have that trigger,
 * since PostgreSQL gives them copies of row triggers only.  TRUNCATE of such a partition is refused
 * by a hook, where the library is loaded.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/follower.h"
#include "models/migrate/migrate.h"
#include "server/extension.h"
#include "server/object_access.h"

/* This tells whether all sessions have the hook. */
static bool is_preloaded;

pg_noreturn static void
truncate_refuse(const char *table, const char *migration)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("table \"%s\" cannot be truncated, since migration \"%s\" follows it",
						   table, item_quoted(item_span(migration))),
					errhint("Use DELETE, or call dyn_follow_migration(%s, enabled => false) first.",
							dyn_follower_literal(migration))));
}

/* Returns whether the trigger's table was followed as a partition, and is none any more. */
static bool
was_partition(const TriggerData *trigger)
{
	const char *part = DYN_FOLLOW_TRIGGER "_truncate_part_";

	return !trigger->tg_relation->rd_rel->relispartition &&
		   strncmp(trigger->tg_trigger->tgname, part, strlen(part)) == 0;
}

PG_FUNCTION_INFO_V1(dyn_migration_truncated);
Datum
dyn_migration_truncated(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs != 1)
		migration_refuse_call(DYN_INTERNAL ".migration_truncated", "a TRUNCATE trigger");
	if (!was_partition(trigger))
		truncate_refuse(RelationGetRelationName(trigger->tg_relation),
						trigger->tg_trigger->tgargs[0]);
	return PointerGetDatum(NULL);
}

/*
 * Refuses to truncate a partition, unless it is restored.  A restore in parallel truncates a table
 * before it loads its rows, perhaps when the partition has triggers already: see is_restored() in
 * trigger.c.
 *
 * The table is not locked yet, and may be gone.  Who may not truncate it gets the server's error, and
 * is not told who follows it.
 */
static void
check_partition(Oid relid)
{
	bool missing = false;
	const char *migration;
	const char *name;

	if (!check_function_bodies || !get_rel_relispartition(relid) ||
		pg_class_aclcheck_ext(relid, GetUserId(), ACL_TRUNCATE, &missing) != ACLCHECK_OK)
		return;
	migration = dyn_follower_of_partition(relid);
	name = migration == NULL ? NULL : get_rel_name(relid);
	if (name != NULL)
		truncate_refuse(name, migration);
}

static void
check_access(ObjectAccessType access, Oid class, Oid object, int column)
{
	if (access == OAT_TRUNCATE && class == RelationRelationId)
		check_partition(object);
}

/* Returns whether no session can truncate a partition that has not the trigger. */
bool
migration_truncate_is_refused(void)
{
	return is_preloaded;
}

/* Called once by _PG_init(). */
void
migration_truncate_init(void)
{
	object_access_subscribe(check_access);
	is_preloaded = process_shared_preload_libraries_in_progress;
}
