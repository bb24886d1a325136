/*
 * unlogged.c
 *	  Tables that were unlogged for a while.
 *
 * Changes of an unlogged table are not in the WAL, and nothing in it says how many there were.  So
 * where such a table becomes a logged one again a mark is written, and readers of its stream meet a
 * gap there.  ALTER TABLE comes by a hook; whoever opens a table of ours has loaded the library.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "ground/definition.h"
#include "ground/extension.h"
#include "ground/mark.h"
#include "ground/trigger.h"
#include "stream/stream.h"

static object_access_hook_type next_hook;

/* As the command that runs has made it; the caches have it as it was before. */
static bool
becomes_logged(Oid relid)
{
	Relation classes;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;
	bool logged;

	if (get_rel_persistence(relid) != RELPERSISTENCE_UNLOGGED)
		return false;
	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(classes, ClassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	logged = HeapTupleIsValid(tuple) &&
			 ((Form_pg_class) GETSTRUCT(tuple))->relpersistence == RELPERSISTENCE_PERMANENT;
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return logged;
}

static bool
has_items(Oid relid)
{
	Relation rel = RelationIdGetRelation(relid);
	bool found;

	if (!RelationIsValid(rel))
		return false;
	found = definition_exists(rel) || dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) != NULL;
	RelationClose(rel);
	return found;
}

static void
check_access(ObjectAccessType access, Oid class, Oid object, int column, void *arg)
{
	DynMarked marked;

	if (next_hook != NULL)
		next_hook(access, class, object, column, arg);
	if (access != OAT_POST_ALTER || class != RelationRelationId || column != 0 ||
		!becomes_logged(object) || !has_items(object) || !extension_installed())
		return;
	dyn_mark_start(&marked, DYN_MARK_UNLOGGED, object);
	dyn_mark_end(&marked);
}

/* Sets the hook.  Called once by _PG_init(). */
void
stream_unlogged_init(void)
{
	next_hook = object_access_hook;
	object_access_hook = check_access;
}
