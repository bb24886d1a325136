/*
 * listing.c
 *	  Lists of the tables of items in the database, by the settings that they have.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/definition/definition.h"
#include "catalog/definition/trigger.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "catalog/table.h"
#include "server/attempt.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"

/*
 * Triggers
 */

/*
 * Compares the name of the C function, which only a superuser can give to a function; the library
 * is not loaded for this.
 */
static bool
is_function(Oid oid, const char *name)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
	bool same = false;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
		same = strcmp(TextDatumGetCString(
						  SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull)),
					  name) == 0;
	ReleaseSysCache(tuple);
	return same;
}

/* No table's declarations ever take as much; others than its owner hold them in memory. */
#define MAX_ARGUMENTS (1024 * 1024)

/* This is what is read of tables of other roles, without a lock on them. */
typedef struct Listing
{
	Oid relid; /* one table, whose arguments are asked for; InvalidOid: all tables */
	const char *text; /* only tables whose arguments have it; NULL: any */
	List *tables; /* OIDs */
	bytea *arguments; /* of the trigger; each ends with a zero byte */
} Listing;

/* Adds a table, if it is asked for.  The arguments are NULL where nobody asks for them. */
static void
add_listed(Listing *listing, Oid relid, bytea *arguments)
{
	if (listing->text == NULL || memmem(VARDATA_ANY(arguments), VARSIZE_ANY_EXHDR(arguments),
										listing->text, strlen(listing->text)) != NULL)
		listing->tables = lappend_oid(listing->tables, relid);
	if (OidIsValid(listing->relid))
		listing->arguments = arguments;
	else if (arguments != NULL)
		pfree(arguments);
}

static void
add_trigger(Listing *listing, Relation rel, HeapTuple tuple)
{
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
	bool asked = OidIsValid(listing->relid) || listing->text != NULL;
	bool isnull;
	Datum arguments = heap_getattr(tuple, Anum_pg_trigger_tgargs, RelationGetDescr(rel), &isnull);

	if (toast_raw_datum_size(arguments) <= MAX_ARGUMENTS &&
		is_function(form->tgfoid, dyn_triggers[DYN_TRIGGER_DERIVE].symbol) &&
		catalogs_within_reach(form->tgrelid))
		add_listed(listing, form->tgrelid, asked ? DatumGetByteaPCopy(arguments) : NULL);
}

static void
list_triggers(Listing *listing)
{
	Relation rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], Anum_pg_trigger_tgname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(dyn_triggers[DYN_TRIGGER_DERIVE].name));
	ScanKeyInit(&keys[1], Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(listing->relid));
	scan =
		systable_beginscan(rel, InvalidOid, false, NULL, OidIsValid(listing->relid) ? 2 : 1, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		add_trigger(listing, rel, tuple);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * Definitions of distributed tables
 */

static bool
is_unreadable(const ErrorData *error)
{
	int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_DATA_EXCEPTION || category == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		   category == ERRCODE_TO_CATEGORY(ERRCODE_DYN_VALIDATION) ||
		   error->sqlerrcode == ERRCODE_INVALID_TABLE_DEFINITION;
}

typedef struct DefinitionRead
{
	const char *expression;
	List *arguments;
} DefinitionRead;

static void
read_definition(void *arg)
{
	DefinitionRead *read = arg;

	read->arguments = definition_parse(read->expression);
}

/* Returns arguments as pg_trigger would have them; none if the definition cannot be read. */
static bytea *
definition_arguments(const char *expression)
{
	DefinitionRead read = {expression, NIL};
	StringInfoData arguments;
	ListCell *cell;

	initStringInfo(&arguments);
	if (attempt_to_compute(read_definition, &read, is_unreadable) != NULL)
		read.arguments = NIL;
	foreach (cell, read.arguments)
		appendBinaryStringInfo(&arguments, lfirst(cell), (int) strlen(lfirst(cell)) + 1);
	return (bytea *) cstring_to_text_with_len(arguments.data, arguments.len);
}

/* Adds the definition in a constraint, if it counts; see dyn_derive_arguments(). */
static void
add_definition(Listing *listing, Relation rel, HeapTuple tuple)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	bool isnull;
	Datum expression;

	if (form->contype != CONSTRAINT_CHECK || citus_kind(form->conrelid) != CITUS_DISTRIBUTED ||
		list_member_oid(listing->tables, form->conrelid))
		return;
	expression = heap_getattr(tuple, Anum_pg_constraint_conbin, RelationGetDescr(rel), &isnull);
	if (!isnull && toast_raw_datum_size(expression) <= MAX_ARGUMENTS)
		add_listed(listing, form->conrelid, definition_arguments(TextDatumGetCString(expression)));
}

/* Lists definitions.  Shards are in no list: to Citus they are no distributed tables. */
static void
list_definitions(Listing *listing)
{
	Relation rel = table_open(ConstraintRelationId, AccessShareLock);
	bool all = !OidIsValid(listing->relid);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], Anum_pg_constraint_conname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(DEFINITION_CONSTRAINT));
	ScanKeyInit(&keys[1], Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(listing->relid));
	scan = systable_beginscan(rel, all ? ConstraintNameNspIndexId : InvalidOid, all, NULL,
							  all ? 1 : 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		add_definition(listing, rel, tuple);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * Reads what is asked for, in the current memory context; the definition of a distributed table is
 * in place of its trigger.  It is read under a catalog snapshot, not the transaction's, which may
 * be older.
 */
static void
list_tables(Listing *listing)
{
	list_triggers(listing);
	if (citus_is_installed())
		list_definitions(listing);
}

/*
 * Returns whether the table is one that DynamoDB would list: it is visible by its unqualified name,
 * which means it (lookup.c), and is no partition.  False if it is gone.
 */
bool
dyn_is_named_alone(Oid relid)
{
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) &&
		   !get_rel_relispartition(relid) && RelationIsVisible(relid) &&
		   !(isAnyTempNamespace(get_rel_namespace(relid)) &&
			 strchr(get_rel_name(relid), '.') != NULL);
}

/*
 * Returns the OIDs of all tables that may have a setting, judged by their triggers' arguments, or
 * of all tables for NULL, in the current memory context.
 */
List *
dyn_listed_tables(const char *member)
{
	MemoryContext work =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table list", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	Listing listing = {.text = member == NULL ? NULL : psprintf("\"%s\"", member)};
	List *tables;

	list_tables(&listing);
	MemoryContextSwitchTo(old);
	tables = list_copy(listing.tables);
	list_sort(tables, list_oid_cmp);
	MemoryContextDelete(work);
	return tables;
}

/*
 * Settings
 */

typedef struct SettingsRead
{
	bytea *arguments;
	DynSettings *settings;
} SettingsRead;

/* Reads the settings from the arguments, which each end with a zero byte. */
static void
read_settings(void *arg)
{
	SettingsRead *read = arg;
	const char *at = VARDATA_ANY(read->arguments);
	const char *end = at + VARSIZE_ANY_EXHDR(read->arguments);

	while (at < end && !dyn_settings_is_argument(at))
		at += strlen(at) + 1;
	if (at < end)
		dyn_settings_parse(at, read->settings);
}

/*
 * Reads the settings in the derive trigger's arguments as pg_trigger stores them, so the table
 * needs no lock.  Returns false if there are none, or if they cannot be read: any user can create
 * such a trigger on a table of their own.
 */
bool
dyn_listed_settings(Oid relid, DynSettings *settings)
{
	Listing listing = {.relid = relid};
	SettingsRead read = {NULL, settings};

	*settings = (DynSettings){0};
	list_tables(&listing);
	read.arguments = listing.arguments;
	if (read.arguments == NULL)
		return false;
	return attempt_to_compute(read_settings, &read, is_unreadable) == NULL;
}

typedef struct SchemaRead
{
	Relation rel;
	DynTable *table;
} SchemaRead;

static void
read_schema(void *arg)
{
	SchemaRead *read = arg;

	read->table = dyn_schema_any(read->rel);
}

/*
 * Does a step that is about one table.  It may raise any error, since what is declared of a table
 * is what its owner has written, and that must not keep the other tables from being listed.
 * Returns whether there was none.
 */
bool
dyn_try_listed(void (*step)(void *arg), void *arg)
{
	return attempt(step, arg) == NULL;
}

/* Returns NULL if the table is no table of items, or is broken. */
static DynTable *
try_schema(Relation rel)
{
	SchemaRead read = {rel, NULL};

	return dyn_try_listed(read_schema, &read) ? read.table : NULL;
}

/*
 * Locks without waiting
 */

static void
unlock_all(List *relids, LOCKMODE mode)
{
	ListCell *cell;

	foreach (cell, relids)
		UnlockRelationOid(lfirst_oid(cell), mode);
}

/*
 * Locks relations in their order without waiting, or none: then it returns the one that another
 * session has locked.
 */
Oid
dyn_try_lock_all(const List *relids, LOCKMODE mode)
{
	ListCell *cell;

	foreach (cell, relids)
	{
		if (ConditionalLockRelationOid(lfirst_oid(cell), mode))
			continue;
		unlock_all(list_truncate(list_copy(relids), foreach_current_index(cell)), mode);
		return lfirst_oid(cell);
	}
	return InvalidOid;
}

/*
 * Locks a table, and then its indexes, without waiting; mode is RowExclusiveLock at most.  Returns
 * false, with nothing locked, if one of the locks is not available at once.  *indexes becomes the
 * list of locked indexes; it is empty for a table that is gone, whose OID is locked nevertheless.
 */
bool
dyn_try_locks(Oid relid, LOCKMODE mode, List **indexes)
{
	Relation rel;
	bool locked;

	*indexes = NIL;
	Assert(mode <= RowExclusiveLock);
	if (!ConditionalLockRelationOid(relid, mode))
		return false;
	rel = try_relation_open(relid, NoLock);
	/* the index was dropped, which is noticed when it is opened */
	if (rel == NULL)
		return true;
	*indexes = RelationGetIndexList(rel);
	locked = !OidIsValid(dyn_try_lock_all(*indexes, mode));
	relation_close(rel, NoLock);
	if (!locked)
		UnlockRelationOid(relid, mode);
	return locked;
}

/*
 * Opening
 */

/* Reads what pg_trigger tells without a lock. */
static bool
read_locked(DynListed *listed)
{
	return dyn_listed_settings(listed->relid, &listed->settings) &&
		   get_rel_name(listed->relid) != NULL;
}

/*
 * Opens a table for a list without waiting for locks.  If another session's lock is in the way,
 * only relid and settings are filled, from pg_trigger.  Returns false, with nothing locked, if the
 * table is gone, broken, no table of items, or a temporary table of another session.
 */
bool
dyn_open_listed(Oid relid, DynListed *listed)
{
	*listed = (DynListed){.relid = relid};
	if (!dyn_try_locks(relid, AccessShareLock, &listed->indexes))
		return read_locked(listed);
	listed->rel = try_relation_open(relid, NoLock);
	if (listed->rel == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		return false;
	}
	if (!RELATION_IS_OTHER_TEMP(listed->rel))
		listed->table = try_schema(listed->rel);
	if (listed->table == NULL)
	{
		dyn_close_listed(listed);
		return false;
	}
	listed->settings = listed->table->settings;
	return true;
}

/*
 * Closes a table that dyn_open_listed() has opened and releases its locks.  Does nothing if rel is
 * NULL.
 */
void
dyn_close_listed(DynListed *listed)
{
	if (listed->rel == NULL)
		return;
	unlock_all(listed->indexes, AccessShareLock);
	relation_close(listed->rel, AccessShareLock);
	listed->rel = NULL;
}

/*
 * Has the result of a function filled for each table of a list that the caller may see.  Privileges
 * are checked first, so that no other role's table can make the list fail.
 */
void
dyn_list(FunctionCallInfo fcinfo, List *relids, PutListed put, void *arg)
{
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach (cell, relids)
	{
		DynListed listed;

		CHECK_FOR_INTERRUPTS();
		if (!rights_to_list(lfirst_oid(cell)) || !dyn_open_listed(lfirst_oid(cell), &listed))
			continue;
		put((ReturnSetInfo *) fcinfo->resultinfo, &listed, arg);
		dyn_close_listed(&listed);
	}
}

/* Returns a name for SQL; it may be gone by now. */
char *
dyn_listed_name(const DynListed *listed)
{
	char *name = catalogs_qualified(listed->relid);

	return name == NULL ? pstrdup("?") : name;
}
