/*
 * drop.c
 *	  DROP EXTENSION while the database has its slot, which no transaction can drop.
 *
 * Whatever drops the extension comes by a hook.  An event trigger has the library loaded before DROP
 * EXTENSION, in sessions that have not used it.
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "replication/slot.h"

#include "stream/service.h"
#include "stream/stream.h"

static object_access_hook_type next_hook;

/* Without the lock, a worker that collects would fail at tables that are gone. */
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

static void
check_access(ObjectAccessType access, Oid class, Oid object, int column, void *arg)
{
	if (next_hook != NULL)
		next_hook(access, class, object, column, arg);
	if (access == OAT_DROP && class == ExtensionRelationId &&
		object == get_extension_oid(STREAM_PLUGIN, true))
		leave_slot();
}

/* Sets the hook.  Called once by _PG_init(). */
void
stream_drop_init(void)
{
	next_hook = object_access_hook;
	object_access_hook = check_access;
}
