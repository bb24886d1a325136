/*
 * model.c
 *	  Declarations in the label of a table; and the trigger that refuses what they do not allow.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "catalog/lookup.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "catalog/definition/label.h"
#include "catalog/derive.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "item/json_writer.h"
#include "item/reader.h"
#include "models/entity/entity.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/work/brief_lock.h"

const char *const model_kind_names[] = {"entity", "pattern", "migration", NULL};

/* People call them this. */
static const char *const kind_words[] = {"entity", "access pattern", "migration"};

/* The label has these members, by kind. */
static const char *const member_names[] = {LABEL_ENTITIES, LABEL_PATTERNS, LABEL_MIGRATIONS};

/*
 * Reading
 */

static ModelDeclaration *
read_declaration(ModelKind kind, const char *json)
{
	ModelDeclaration *declaration = palloc(sizeof(ModelDeclaration));
	JsonReader reader;
	ItemSpan member;

	json_reader_begin(&reader, json, (int) strlen(json), "declaration",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_object(&reader); json_read_member(&reader, &member); json_skip(&reader))
	{
		if (!item_span_is(member, model_kind_names[kind]))
			continue;
		*declaration = (ModelDeclaration){kind, json_read_string(&reader), json, NULL};
		return declaration;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("a declaration in \"%s\" of a security label has no name", member_names[kind]),
			 errdetail("It has no member \"%s\".", model_kind_names[kind]),
			 errhint("Correct the label with SECURITY LABEL, or restore it from a dump.")));
}

/*
 * Returns the declarations of one kind in the label of a table itself (ModelDeclaration), in the
 * order declared, copied into the current memory context.  Raises an error if one of them is no
 * declaration.
 */
List *
model_label_declarations(Oid relid, ModelKind kind)
{
	const char *label = label_text(relid);
	List *declarations = NIL;
	ListCell *cell;

	if (label == NULL)
		return NIL;
	foreach (cell, label_elements(label, member_names[kind]))
		declarations = lappend(declarations, read_declaration(kind, lfirst(cell)));
	return declarations;
}

/* Returns the table that has the label, which is the partitioned table of a partition. */
static Oid
labelled_table(Relation rel)
{
	List *ancestors =
		rel->rd_rel->relispartition ? get_partition_ancestors(RelationGetRelid(rel)) : NIL;

	return ancestors == NIL ? RelationGetRelid(rel) : llast_oid(ancestors);
}

/* Returns those of a table.  NIL if there are none, or the table has no label. */
List *
model_declarations(Relation rel, ModelKind kind)
{
	return model_label_declarations(labelled_table(rel), kind);
}

/* Finds the JSON text of a member of a declaration: what is in it has its order.  False: it has none. */
bool
model_member(const ModelDeclaration *declaration, const char *name, ItemSpan *json)
{
	JsonReader reader;
	ItemSpan member;

	json_reader_begin(&reader, declaration->json, (int) strlen(declaration->json), "declaration",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_object(&reader); json_read_member(&reader, &member); json_skip(&reader))
	{
		if (!item_span_is(member, name))
			continue;
		*json = json_read_raw(&reader);
		return true;
	}
	return false;
}

/* Returns the declaration in a list that has this name, or NULL. */
ModelDeclaration *
model_find(List *declarations, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, declarations)
	{
		ModelDeclaration *declaration = lfirst(cell);

		if (item_compare_bytes(declaration->name, name) == 0)
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
 * Locks a table that is open for reading to change it, by its owner: another role gets its error
 * before its lock could hold up anybody.
 */
static Relation
lock_table(Relation rel, LOCKMODE mode, DynTable **table)
{
	Oid relid = RelationGetRelid(rel);
	char *name = pstrdup(RelationGetRelationName(rel));

	rights_require_owner(rel);
	if (rel->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("table \"%s\" is a partition", name),
				 errhint("What is declared of the partitioned table holds for its partitions.")));
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
 * Closes a table that is open under AccessShareLock, and opens it again to change declarations of a
 * kind, under ShareUpdateExclusiveLock.  Where entities are enforced, a change of them waits for
 * writers that may have looked at those before.  Raises an error if the caller does not own the
 * table, if the lock is not to be had soon (ERRCODE_DYN_RESOURCE_IN_USE), or if it is no table of
 * items any more.
 */
Relation
model_lock_table(Relation rel, ModelKind kind, DynTable **table)
{
	rel = lock_table(rel, ShareUpdateExclusiveLock, table);
	if (kind != MODEL_ENTITY || !model_enforced(rel))
		return rel;
	brief_lock(RelationGetRelid(rel), ShareRowExclusiveLock);
	*table = dyn_schema(rel);
	return rel;
}

/* Opens a table of items by its name to change declarations, as model_lock_table() does. */
Relation
model_open(text *name, ModelKind kind, DynTable **table)
{
	return model_lock_table(dyn_table_open(name, AccessShareLock, table), kind, table);
}

/* Opens a table of items by its name to switch enforcement on or off: its trigger comes or goes. */
Relation
model_open_to_enforce(text *name, bool enforced, DynTable **table)
{
	return lock_table(dyn_table_open(name, AccessShareLock, table),
					  enforced ? ShareRowExclusiveLock : AccessExclusiveLock, table);
}

static void
write_kind(Oid relid, ModelKind kind, List *declarations)
{
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	json_write_begin_array(&json, NULL);
	foreach (cell, declarations)
		json_write_raw(&json, NULL, ((const ModelDeclaration *) lfirst(cell))->json);
	json_write_end_array(&json);
	label_set_member(relid, member_names[kind], declarations == NIL ? NULL : json.text->data);
}

/*
 * Adds a declaration of the table, or replaces the one of its kind and name; json is all of it.
 * The caller has opened the table by model_open() or model_lock_table().  rel is closed, and its
 * lock stays.
 */
void
model_set(Relation rel, ModelKind kind, ItemSpan name, const char *json)
{
	ModelDeclaration new = {kind, name, json, NULL};
	List *declarations = model_declarations(rel, kind);
	ModelDeclaration *old = model_find(declarations, name);
	Oid relid = RelationGetRelid(rel);

	rights_require_owner(rel);
	relation_close(rel, NoLock);
	if (old != NULL)
		*old = new;
	else
		declarations = lappend(declarations, &new);
	write_kind(relid, kind, declarations);
}

/*
 * Removes a declaration of the table.  Raises ERRCODE_UNDEFINED_OBJECT if there is none.  The caller
 * has opened the table by model_open() or model_lock_table(); rel is closed as by model_set().
 */
void
model_remove(Relation rel, ModelKind kind, ItemSpan name)
{
	List *declarations = model_declarations(rel, kind);
	const ModelDeclaration *old = model_find(declarations, name);
	Oid relid = RelationGetRelid(rel);

	rights_require_owner(rel);
	if (old == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("%s \"%s\" of table \"%s\" does not exist", kind_words[kind],
							   item_quoted(name), RelationGetRelationName(rel))));
	declarations = list_delete_ptr(declarations, (void *) old);
	if (kind == MODEL_ENTITY && declarations == NIL && model_enforced(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("entity \"%s\" is the last one of table \"%s\", which enforces entities",
						item_quoted(name), RelationGetRelationName(rel)),
				 errhint("Call dyn_enforce_entities() with enabled => false first.")));
	relation_close(rel, NoLock);
	write_kind(relid, kind, declarations);
}

/*
 * Switches on or off that only items of declared entities may be written.  The caller has opened
 * the table by model_open_to_enforce().  rel is closed, its lock stays, and table is out of date.
 */
void
model_enforce(Relation rel, const DynTable *table, bool enforced)
{
	Oid relid = table->relid;
	char *qualified = pstrdup(table->qualified);
	bool before = model_enforced(rel);

	rights_require_owner(rel);
	/* ALTER TABLE refuses tables that are open */
	relation_close(rel, NoLock);
	SPI_connect();
	if (enforced && !before)
		dyn_execute(dyn_trigger_sql(DYN_TRIGGER_ENFORCE, qualified, NIL));
	else if (!enforced && before)
		dyn_execute(
			psprintf("DROP TRIGGER %s ON %s", quote_identifier(DYN_ENFORCE_TRIGGER), qualified));
	dyn_triggers_enable(relid, qualified);
	SPI_finish();
}

/*
 * Enforcing
 */

/*
 * Returns whether an update leaves the item.  Filling the columns of an index goes over items that
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
						DYN_INTERNAL ".model_check")));
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
