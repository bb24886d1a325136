/*
 * model.c
 *	  Where declarations are kept: the arguments of the trigger "~dynamo_model".
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/indexspec.h"
#include "errors.h"
#include "item/reader.h"
#include "model/entity.h"

const char *const model_kind_names[] = {"entity", "pattern", "migration", NULL};

extern PGDLLEXPORT Datum dyn_model_check(PG_FUNCTION_ARGS);

/*
 * Reading
 */

/* A copy, since the look-up of the function may rebuild rel; NULL if there is none. */
static const Trigger *
find_trigger(Relation rel)
{
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		FmgrInfo flinfo;

		if (strcmp(triggers->triggers[i].tgname, MODEL_TRIGGER) != 0)
			continue;
		fmgr_info(triggers->triggers[i].tgfoid, &flinfo);
		if (flinfo.fn_addr == dyn_model_check)
			return &triggers->triggers[i];
	}
	return NULL;
}

static ModelDeclaration *
read_declaration(Relation rel, const char *json)
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
						   MODEL_TRIGGER, RelationGetRelationName(rel)),
					errdetail("It is: %s", json)));
}

List *
model_declarations(Relation rel)
{
	const Trigger *trigger = find_trigger(rel);
	List *declarations = NIL;

	for (int i = 0; trigger != NULL && i < trigger->tgnargs; i++)
		declarations = lappend(declarations, read_declaration(rel, trigger->tgargs[i]));
	return declarations;
}

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

bool
model_enforced(Relation rel)
{
	const Trigger *trigger = find_trigger(rel);

	return trigger != NULL && trigger->tgenabled != TRIGGER_DISABLED;
}

/*
 * Changing
 */

void
model_require_owner(Relation rel)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/*
 * From a table that is open for reading to one that is locked for a change, by its owner: whoever
 * is not gets his error before his lock could hold up writers.
 */
Relation
model_lock(Relation rel, DynTable **table)
{
	Oid relid = RelationGetRelid(rel);
	char *name = pstrdup(RelationGetRelationName(rel));

	model_require_owner(rel);
	/* two who held it while they wait for more would wait for each other */
	relation_close(rel, AccessShareLock);
	LockRelationOid(relid, ShareRowExclusiveLock);
	rel = try_relation_open(relid, NoLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" does not exist", name)));
	return rel;
}

Relation
model_open(text *name, DynTable **table)
{
	return model_lock(dyn_table_open(name, AccessShareLock, table), table);
}

static void
alter_trigger(const DynTable *table, const char *change)
{
	dyn_execute(psprintf("ALTER TABLE %s %s TRIGGER %s", table->qualified, change,
						 quote_identifier(MODEL_TRIGGER)));
}

/* The trigger with these declarations, or none without any.  A replaced one is enabled at first. */
static void
write_trigger(const DynTable *table, List *declarations, bool enforced)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	if (declarations == NIL)
	{
		appendStringInfo(&sql, "DROP TRIGGER %s ON %s", quote_identifier(MODEL_TRIGGER),
						 table->qualified);
		dyn_execute(sql.data);
		return;
	}
	appendStringInfo(&sql,
					 "CREATE OR REPLACE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW"
					 " EXECUTE FUNCTION %s.dyn_model_check(",
					 quote_identifier(MODEL_TRIGGER), table->qualified, table->extension);
	foreach (cell, declarations)
		appendStringInfo(&sql, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
						 quote_literal_cstr(((ModelDeclaration *) lfirst(cell))->json));
	appendStringInfoChar(&sql, ')');
	dyn_execute(sql.data);
	alter_trigger(table, enforced ? "ENABLE ALWAYS" : "DISABLE");
}

/* A change on its way.  The schema goes out of date in it. */
typedef struct ModelChange
{
	DynTable table; /* as far as statements need it */
	const char *name;
	List *declarations;
	bool exists;
	bool enforced;
} ModelChange;

/* ALTER TABLE refuses tables that are open. */
static void
begin_change(ModelChange *change, Relation rel, const DynTable *table)
{
	model_require_owner(rel);
	change->table = *table;
	change->table.qualified = pstrdup(table->qualified);
	change->table.extension = pstrdup(table->extension);
	change->name = pstrdup(RelationGetRelationName(rel));
	change->declarations = model_declarations(rel);
	change->exists = find_trigger(rel) != NULL;
	change->enforced = model_enforced(rel);
	relation_close(rel, NoLock);
	SPI_connect();
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

void
model_set(Relation rel, const DynTable *table, ModelKind kind, ItemSpan name, const char *json)
{
	ModelDeclaration declaration = {kind, name, json};
	ModelChange change;

	begin_change(&change, rel, table);
	change.declarations =
		replaced(change.declarations, model_find(change.declarations, kind, name), &declaration);
	write_trigger(&change.table, change.declarations, change.enforced);
	SPI_finish();
}

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
	write_trigger(&change.table, list_delete_ptr(change.declarations, (void *) old),
				  change.enforced);
	SPI_finish();
}

void
model_enforce(Relation rel, const DynTable *table, bool enforced)
{
	ModelChange change;

	begin_change(&change, rel, table);
	if (!change.exists)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" has no entities", change.name)));
	alter_trigger(&change.table, enforced ? "ENABLE ALWAYS" : "DISABLE");
	SPI_finish();
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
	table = dyn_schema(trigger->tg_relation);
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
