/*
 * model.c
 *	  Where declarations are kept: the arguments of the trigger "~dynamo_model"; and the trigger that
 *	  refuses what they do not allow.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "entity/entity.h"
#include "ground/errors.h"
#include "item/reader.h"
#include "work/brief_lock.h"

const char *const model_kind_names[] = {"entity", "pattern", "migration", NULL};

/*
 * Reading
 */

static ModelDeclaration *
read_declaration(const char *table, const char *json)
{
	ModelDeclaration *declaration = palloc(sizeof(ModelDeclaration));
	JsonReader reader;
	ItemSpan member;

	json_reader_init(&reader, json, strlen(json));
	json_read_object(&reader);
	if (json_read_member(&reader, &member))
	{
		for (int kind = 0; kind <= MODEL_LAST_KIND; kind++)
		{
			if (!item_span_is(member, model_kind_names[kind]))
				continue;
			declaration->kind = (ModelKind) kind;
			declaration->name = json_read_string(&reader);
			declaration->json = json;
			return declaration;
		}
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					errmsg("an argument of trigger \"%s\" of table \"%s\" declares nothing",
						   DYN_MODEL_TRIGGER, table),
					errdetail("It is: %s", json)));
}

/*
 * Returns the declarations of the table (ModelDeclaration) in the order declared, copied into the
 * current memory context; NIL if there are none.  Raises an error if an argument of the trigger is
 * no declaration.
 */
List *
model_declarations(Relation rel)
{
	List *declarations = NIL;
	ListCell *cell;

	foreach (cell, dyn_trigger_arguments(rel, DYN_TRIGGER_MODEL))
		declarations =
			lappend(declarations, read_declaration(RelationGetRelationName(rel), lfirst(cell)));
	return declarations;
}

/*
 * Returns the declarations in the arguments of a trigger found without opening its table.  Their
 * texts point into the arguments.  Raises an error if an argument is no declaration.
 */
List *
model_listed_declarations(const DynListedTrigger *trigger)
{
	const char *at = VARDATA_ANY(trigger->arguments);
	const char *end = at + VARSIZE_ANY_EXHDR(trigger->arguments);
	List *declarations = NIL;

	for (; at < end; at += strlen(at) + 1)
		declarations = lappend(declarations, read_declaration(psprintf("%u", trigger->relid), at));
	return declarations;
}

/* Returns the declaration in a list that has this kind and name, or NULL. */
const ModelDeclaration *
model_find(List *declarations, ModelKind kind, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, declarations)
	{
		const ModelDeclaration *declaration = lfirst(cell);

		if (declaration->kind == kind && item_compare_bytes(declaration->name, name) == 0)
			return declaration;
	}
	return NULL;
}

/*
 * Returns whether the table has the trigger that refuses items of no declared entity, whether or
 * not it is enabled.
 */
bool
model_enforced(Relation rel)
{
	return dyn_trigger_find(rel, DYN_TRIGGER_ENFORCE) != NULL;
}

/*
 * Changing
 */

/*
 * Closes a table that is open for reading, and opens it again under a lock for a change.  The user
 * has to own it, which is checked before the lock, since a session that waits for it holds up
 * writers.
 */
static Relation
lock_table(Relation rel, LOCKMODE mode, DynTable **table)
{
	Oid relid = RelationGetRelid(rel);
	char *name = pstrdup(RelationGetRelationName(rel));

	rights_require_owner(rel);
	/* two who held it while they wait for more would wait for each other */
	relation_close(rel, AccessShareLock);
	brief_lock(relid, mode);
	rel = try_relation_open(relid, NoLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" does not exist", name)));
	return rel;
}

/*
 * Closes a table that is open under AccessShareLock, and opens it again under ShareRowExclusiveLock
 * to change its declarations.  Raises an error if the caller does not own it, if the lock is not to
 * be had soon (ERRCODE_DYN_RESOURCE_IN_USE), or if it is no table of items any more.
 */
Relation
model_lock_table(Relation rel, DynTable **table)
{
	return lock_table(rel, ShareRowExclusiveLock, table);
}

/* To remove a declaration: the trigger goes with the last one, and that takes a stronger lock. */
Relation
model_lock_to_remove(Relation rel, DynTable **table)
{
	bool last = list_length(model_declarations(rel)) <= 1;

	return lock_table(rel, last ? AccessExclusiveLock : ShareRowExclusiveLock, table);
}

/*
 * Opens a table of items by its name to add or replace a declaration, locked as by
 * model_lock_table().
 */
Relation
model_open(text *name, DynTable **table)
{
	return model_lock_table(dyn_table_open(name, AccessShareLock, table), table);
}

/*
 * Opens a table of items by its name to remove a declaration, locked as by model_lock_to_remove().
 */
Relation
model_open_to_remove(text *name, DynTable **table)
{
	return model_lock_to_remove(dyn_table_open(name, AccessShareLock, table), table);
}

/* To switch enforcement off: its trigger goes. */
Relation
model_open_to_allow(text *name, DynTable **table)
{
	Relation rel = dyn_table_open(name, AccessShareLock, table);

	return lock_table(rel, AccessExclusiveLock, table);
}

/* A change on its way.  The schema goes out of date in it. */
typedef struct ModelChange
{
	Oid relid;
	const char *name;
	const char *qualified;
	const char *extension;
	List *declarations;
	bool enforced;
} ModelChange;

/* ALTER TABLE refuses tables that are open. */
static void
begin_change(ModelChange *change, Relation rel, const DynTable *table)
{
	rights_require_owner(rel);
	change->relid = table->relid;
	change->name = pstrdup(RelationGetRelationName(rel));
	change->qualified = pstrdup(table->qualified);
	change->extension = pstrdup(table->extension);
	change->declarations = model_declarations(rel);
	change->enforced = model_enforced(rel);
	relation_close(rel, NoLock);
	SPI_connect();
}

static void
end_change(const ModelChange *change)
{
	dyn_triggers_enable(change->relid, change->qualified);
	SPI_finish();
}

/* CREATE OR REPLACE TRIGGER as far as its function's arguments. */
static void
begin_trigger(StringInfo sql, const ModelChange *change, const char *name, const char *function)
{
	initStringInfo(sql);
	appendStringInfo(sql,
					 "CREATE OR REPLACE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW"
					 " EXECUTE FUNCTION %s.%s(",
					 quote_identifier(name), change->qualified, change->extension, function);
}

/*
 * Who calls has the lock, unless others have changed declarations since the table was looked at.
 * Then a stronger lock is not waited for while writers wait for the one that is held.
 */
static void
drop_trigger(const ModelChange *change, const char *name)
{
	if (!brief_lock_try(change->relid, AccessExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
				 errmsg("declarations of table %s were changed meanwhile", change->qualified),
				 errhint("Try again.")));
	dyn_execute(psprintf("DROP TRIGGER %s ON %s", quote_identifier(name), change->qualified));
}

/* The trigger with these declarations, or none without any, and then nothing is enforced. */
static void
write_declarations(const ModelChange *change)
{
	StringInfoData sql;
	ListCell *cell;

	if (change->declarations == NIL)
	{
		drop_trigger(change, DYN_MODEL_TRIGGER);
		if (change->enforced)
			drop_trigger(change, DYN_ENFORCE_TRIGGER);
		return;
	}
	begin_trigger(&sql, change, DYN_MODEL_TRIGGER, "dyn_model");
	foreach (cell, change->declarations)
		appendStringInfo(&sql, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
						 quote_literal_cstr(((ModelDeclaration *) lfirst(cell))->json));
	appendStringInfoChar(&sql, ')');
	dyn_execute(sql.data);
}

/* In the place of the one that is there, NULL, or at the end. */
static List *
replaced(List *declarations, const ModelDeclaration *old, ModelDeclaration *new)
{
	ListCell *cell;

	if (old == NULL)
		return lappend(declarations, new);
	foreach (cell, declarations)
	{
		if (lfirst(cell) == old)
			lfirst(cell) = new;
	}
	return declarations;
}

/*
 * Adds a declaration of the table, or replaces the one of its kind and name; json is all of it.
 * The caller has opened the table by model_open() or model_lock_table().  rel is closed, its lock
 * stays, and table is out of date.
 */
void
model_set(Relation rel, const DynTable *table, ModelKind kind, ItemSpan name, const char *json)
{
	ModelDeclaration declaration = {kind, name, json};
	ModelChange change;

	begin_change(&change, rel, table);
	change.declarations =
		replaced(change.declarations, model_find(change.declarations, kind, name), &declaration);
	write_declarations(&change);
	end_change(&change);
}

/*
 * Removes a declaration of the table, or raises ERRCODE_UNDEFINED_OBJECT if there is none.  With
 * the last one the triggers of the model are dropped.  The caller has opened the table by
 * model_open_to_remove() or model_lock_to_remove(); rel is closed as by model_set().
 */
void
model_remove(Relation rel, const DynTable *table, ModelKind kind, ItemSpan name)
{
	const ModelDeclaration *old;
	ModelChange change;

	begin_change(&change, rel, table);
	old = model_find(change.declarations, kind, name);
	if (old == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("%s \"%s\" of table \"%s\" does not exist", model_kind_names[kind],
							   item_quoted(name), change.name)));
	change.declarations = list_delete_ptr(change.declarations, (void *) old);
	write_declarations(&change);
	end_change(&change);
}

/*
 * Switches on or off that only items of declared entities may be written.  The caller has opened
 * the table by model_open(), or by model_open_to_allow() to switch it off; rel is closed as by
 * model_set().
 */
void
model_enforce(Relation rel, const DynTable *table, bool enforced)
{
	ModelChange change;
	StringInfoData sql;

	begin_change(&change, rel, table);
	if (enforced && !change.enforced)
	{
		begin_trigger(&sql, &change, DYN_ENFORCE_TRIGGER, "dyn_model_check");
		appendStringInfoChar(&sql, ')');
		dyn_execute(sql.data);
	}
	else if (!enforced && change.enforced)
		drop_trigger(&change, DYN_ENFORCE_TRIGGER);
	end_change(&change);
}

/*
 * Enforcing
 */

/*
 * An update of other columns than the item.  Filling the columns of an index goes over items that
 * were there before their entities were enforced, and must not fail at one of them.
 */
static bool
keeps_item(TupleDesc desc, const DynTable *table, HeapTuple old, HeapTuple new)
{
	Form_pg_attribute column = TupleDescAttr(desc, table->item_attnum - 1);
	bool old_null;
	bool new_null;
	Datum before = heap_getattr(old, table->item_attnum, desc, &old_null);
	Datum after = heap_getattr(new, table->item_attnum, desc, &new_null);

	return !old_null && !new_null && datumIsEqual(before, after, column->attbyval, column->attlen);
}

PG_FUNCTION_INFO_V1(dyn_model_check);
Datum
dyn_model_check(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc desc;
	HeapTuple tuple;
	DynTable *table;
	Datum item;
	bool isnull;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be called by a BEFORE INSERT OR UPDATE row trigger",
						"dyn_model_check")));
	table = dyn_schema_any(trigger->tg_relation);
	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("trigger \"%s\" is for tables of items only",
							   trigger->tg_trigger->tgname)));
	tuple =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	desc = RelationGetDescr(trigger->tg_relation);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) &&
		keeps_item(desc, table, trigger->tg_trigtuple, tuple))
		return PointerGetDatum(tuple);
	item = heap_getattr(tuple, table->item_attnum, desc, &isnull);
	if (!isnull)
		entity_enforce(trigger->tg_relation, table, DatumGetDynItem(item));
	return PointerGetDatum(tuple);
}
