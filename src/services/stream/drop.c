/*
 * drop.c
 *	  Commands that streams have to hear of, by a hook.
 *
 * DROP EXTENSION, while the database has its slot, which no transaction can drop.  An event trigger has
 * the library loaded before it, in sessions that have not used it.
 *
 * ALTER TABLE of an unlogged table, which may make it a logged one.  Its changes were not in the WAL, and
 * nothing there says how many they were: so a mark is written, and readers of its stream meet a gap
 * there.  Whoever opens a table of ours has loaded the library.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "replication/slot.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/definition/definition.h"
#include "catalog/definition/trigger.h"
#include "server/extension.h"
#include "server/mark.h"
#include "server/object_access.h"
#include "services/stream/service.h"
#include "services/stream/stream.h"

/* Makes a worker leave the slot: without the lock it would fail at tables that are gone. */
static void
leave_slot(void)
{
	char *name = stream_slot_name();

	if (SearchNamedReplicationSlot(name, true) == NULL)
		return;
	stream_take_slot_from_worker();
	ereport(
		WARNING,
		(errmsg("replication slot \"%s\" is not dropped with the extension", name),
		 errdetail("It holds back WAL until it is dropped."),
		 errhint("Run SELECT pg_drop_replication_slot('%s'), or CALL dyn_teardown_streams() before "
				 "DROP EXTENSION.",
				 name)));
}

/* The caches have the table as it was before the command. */
static void
mark_unlogged(Oid relid)
{
	Relation rel =
		get_rel_persistence(relid) == RELPERSISTENCE_UNLOGGED ? RelationIdGetRelation(relid) : NULL;
	DynMarked marked;

	if (!RelationIsValid(rel))
		return;
	if ((definition_exists(rel) || dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) != NULL) &&
		extension_installed())
	{
		dyn_mark_start(&marked, DYN_MARK_UNLOGGED, relid);
		dyn_mark_end(&marked);
	}
	RelationClose(rel);
}

static void
check_access(ObjectAccessType access, Oid class, Oid object, int column)
{
	if (access == OAT_DROP && class == ExtensionRelationId &&
		object == get_extension_oid(STREAM_PLUGIN, true))
		leave_slot();
	if (access == OAT_POST_ALTER && class == RelationRelationId && column == 0)
		mark_unlogged(object);
}

/* Called once by _PG_init(). */
void
stream_drop_init(void)
{
	object_access_subscribe(check_access);
}
