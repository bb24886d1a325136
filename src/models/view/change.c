/*
 * change.c
 *	  Writing to views of entities: their INSTEAD OF trigger.
 *
 * Rows of a view become items by the declaration of the entity as it is now, and are written by
 * the store with the caller's rights.  An UPDATE writes the attributes whose columns it changes and
 * leaves the others as they are, whether they are declared or not.
 *
 * The executor has read the row under its snapshot, and calls a trigger of a view without locking
 * anything or looking again.  So after locking the item it is compared with the row: if another
 * session has changed what the view shows of it, the statement has not seen that, and fails with a
 * serialization failure at every isolation level.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "commands/trigger.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "actions/write.h"
#include "models/view/view.h"
#include "server/errors.h"
#include "server/extension.h"

/* This is a row of the view. */
typedef struct ViewRow
{
	HeapTuple tuple;
	Datum *values;
	bool *nulls;
} ViewRow;

typedef struct ViewCall
{
	Relation rel; /* the view */
	const EntityView *view;
	const EntityViewWriter *writer;
	const Entity *entity;
	Relation items; /* the table */
	DynTable *table;
	ViewRow old_row;
	ViewRow new_row;
	DynItem *key; /* of the item */
	bool gone; /* another session has deleted it meanwhile */
	DynItem *new;
} ViewCall;

static TupleDesc
columns_of(const ViewCall *call)
{
	return RelationGetDescr(call->rel);
}

static const char *
column_name(const ViewCall *call, int i)
{
	return NameStr(TupleDescAttr(columns_of(call), i)->attname);
}

static ViewRow
read_row(const ViewCall *call, HeapTuple tuple)
{
	int n = call->view->ncolumns + 1;
	ViewRow row = {tuple, palloc(n * sizeof(Datum)), palloc(n * sizeof(bool))};

	heap_deform_tuple(tuple, columns_of(call), row.values, row.nulls);
	return row;
}

/* Opens a call.  All rows of a statement use one declaration, even if it is changed meanwhile. */
static void
open_call(FunctionCallInfo fcinfo, Relation rel, ViewCall *call)
{
	const EntityViewWriter *writer = fcinfo->flinfo->fn_extra;

	*call = (ViewCall){.rel = rel};
	if (writer == NULL)
		fcinfo->flinfo->fn_extra = (void *) (writer = entity_view_writer(rel, &call->items));
	else
		call->items = table_open(writer->view->table, RowExclusiveLock);
	call->writer = writer;
	call->view = writer->view;
	call->entity = writer->entity;
	call->table = entity_view_table(call->items);
}

/*
 * Rows
 */

static const EntityAttribute *
attribute_of(const ViewCall *call, int i)
{
	return call->writer->columns[i].attribute;
}

/* Writes a column's value as the attribute is declared, unless it is to be absent. */
static void
write_column(const ViewCall *call, int i, const ViewRow *row, ItemBuilder *b)
{
	const ViewWriterColumn *column = &call->writer->columns[i];

	if (row->nulls[i] || value_is_absent(column->writer, row->values[i]))
		return;
	item_build_name(b, column->attribute->name);
	value_write(column->writer, b, row->values[i]);
}

pg_noreturn static void
fail_column(const ViewCall *call, int i)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("column \"%s\" of view \"%s\" cannot be written to",
						   column_name(call, i), RelationGetRelationName(call->rel)),
					errdetail("It shows no attribute that is declared.")));
}

pg_noreturn static void
fail_twice(const ViewCall *call)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("view \"%s\" cannot be written to", RelationGetRelationName(call->rel)),
					errdetail("Two of its columns show one attribute.")));
}

/* Finishes an item.  A view that was written by hand may show an attribute in several columns. */
static DynItem *
finish_item(const ViewCall *call, ItemBuilder *b)
{
	if (item_build_end(b) != ITEM_BUILD_OK)
		fail_twice(call);
	return item_build_finish(b);
}

/* Returns all attributes of a new row, by their declared names. */
static DynItem *
logical_item(const ViewCall *call)
{
	ItemBuilder b;

	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < call->view->ncolumns; i++)
	{
		if (attribute_of(call, i) != NULL)
			write_column(call, i, &call->new_row, &b);
		else if (!call->new_row.nulls[i])
			fail_column(call, i);
	}
	return finish_item(call, &b);
}

static bool
same_value(const ViewCall *call, int i, bool isnull, Datum value, const ViewRow *row)
{
	Form_pg_attribute column = TupleDescAttr(columns_of(call), i);

	return isnull == row->nulls[i] &&
		   (isnull || datum_image_eq(value, row->values[i], column->attbyval, column->attlen));
}

static bool
is_changed(const ViewCall *call, int i)
{
	return !same_value(call, i, call->new_row.nulls[i], call->new_row.values[i], &call->old_row);
}

/* Reads what a column shows of an item; returns false for NULL. */
static bool
read_column(const ViewCall *call, int i, const DynItem *item, Datum *value)
{
	ValueReader *reader = call->writer->columns[i].reader;
	ItemSpan attribute;

	return reader != NULL &&
		   item_lookup(item_root(item), call->view->columns[i].stored, &attribute) &&
		   value_read(reader, attribute, true, value);
}

/*
 * Returns the row for RETURNING, with what the view shows of the item that was written: as given,
 * if it shows just that.
 */
static HeapTuple
returned_row(const ViewCall *call)
{
	ViewRow row = call->new_row;
	bool same = true;

	for (int i = 0; i < call->view->ncolumns; i++)
	{
		Datum value = (Datum) 0;
		bool isnull;

		if (call->writer->columns[i].reader == NULL)
			continue;
		/* what an UPDATE leaves as it is, but for what templates make */
		if (call->old_row.tuple != NULL && attribute_of(call, i) != NULL && !is_changed(call, i))
			continue;
		isnull = !read_column(call, i, call->new, &value);
		same &= same_value(call, i, isnull, value, &call->new_row);
		row.values[i] = value;
		row.nulls[i] = isnull;
	}
	return same ? row.tuple : heap_form_tuple(columns_of(call), row.values, row.nulls);
}

/*
 * What is there
 */

/* Raises an error unless the view would show of the item what the statement has seen. */
static void
check_unchanged(const ViewCall *call, const DynItem *item)
{
	for (int i = 0; i < call->view->ncolumns; i++)
	{
		Datum value = (Datum) 0;
		bool isnull = !read_column(call, i, item, &value);

		if (call->writer->columns[i].reader == NULL ||
			same_value(call, i, isnull, value, &call->old_row))
			continue;
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access to view \"%s\" due to concurrent update",
							   RelationGetRelationName(call->rel)),
						errdetail("Column \"%s\" has changed since the statement began.",
								  column_name(call, i)),
						errhint("Run it again, unless it changes a row twice by itself.")));
	}
}

/* Checks that the view shows the item, as WITH CHECK OPTION does. */
static void
check_visible(const ViewCall *call, const DynItem *item)
{
	bool visible = true;

	for (int i = 0; i < call->writer->nchecked && visible; i++)
		visible = member_matches(call->writer->checked[i], item_root(item), NULL,
								 member_memory(call->writer->checked[i]));
	if (!visible)
		ereport(ERROR, (errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
						errmsg("new row violates check option for view \"%s\"",
							   RelationGetRelationName(call->rel)),
						errdetail("The view would not show it.")));
}

static void
name_key(const ViewCall *call, StringInfo detail)
{
	ItemChildren attributes = item_children(item_root(call->key));

	for (int pass = 0; pass < 2; pass++)
	{
		appendStringInfoString(detail, pass == 0 ? "Key (" : ")=(");
		for (int i = 0; i < call->table->nkeys; i++)
		{
			ItemSpan value = call->table->keys[i].attribute;

			if (i > 0)
				appendStringInfoString(detail, ", ");
			if (pass == 0)
				item_quote(detail, value);
			else if (item_find(&attributes, call->table->keys[i].attribute, &value))
			{
				StringInfoData text;

				initStringInfo(&text);
				if (item_type(value) == ITEM_S)
					item_quote(detail, item_payload(value));
				else
				{
					item_print_plain(&text, value);
					item_quote(detail, (ItemSpan){text.data, (uint32) text.len});
				}
			}
		}
	}
	appendStringInfoString(detail, ") already exists.");
}

/*
 * INSERT
 */

static HeapTuple
insert_row(ViewCall *call)
{
	ItemWriter writer;
	ItemWrite write;
	bool inserted;

	call->new = entity_item(call->entity, logical_item(call));
	call->key = call->new;
	check_visible(call, call->new);
	write_open(&writer, &(FrontCall){.rel = call->items, .table = call->table});
	write_prepare(&writer, call->new, &write);
	inserted = write_insert(&writer, &write);
	if (inserted)
		write_done(&writer, &write);
	write_close(&writer);
	if (!inserted)
	{
		StringInfoData detail;

		initStringInfo(&detail);
		name_key(call, &detail);
		ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
						errmsg("duplicate key value violates unique constraint \"%s\"",
							   get_rel_name(call->table->primary.relid)),
						errdetail("%s", detail.data),
						errhint("Use UPDATE, or dyn_put_entity() to replace the item.")));
	}
	return returned_row(call);
}

/*
 * UPDATE and DELETE
 */

/* Opens a row for a write; the statement has read it. */
static void
open_read_row(const ViewCall *call, ItemWriter *writer)
{
	write_open(writer, &(FrontCall){.rel = call->items, .table = call->table});
	store_writer_after_read(writer->store);
}

/* Finds the key of a row's item: the view shows no items that are not where they belong. */
static void
find_key(ViewCall *call, const ItemWriter *writer, ItemWrite *write)
{
	ItemBuilder b;

	if (call->writer->twice)
		fail_twice(call);
	item_build_init(&b, 128);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < call->view->ncolumns; i++)
	{
		if (call->writer->columns[i].in_key)
			write_column(call, i, &call->old_row, &b);
	}
	call->key = entity_keys(call->entity, finish_item(call, &b), true);
	write_prepare_key(writer, call->key, write);
}

/*
 * Raises an error if the key that the row's values make may be of no item for another reason than
 * that it has been deleted since: the key is made of an attribute that is written in another way
 * than its type prints, like a timestamp with fewer digits.  Then nothing would ever be done, which
 * must not pass for success.
 */
static void
check_gone(const ViewCall *call)
{
	for (int i = 0; i < call->view->ncolumns; i++)
	{
		if (call->writer->columns[i].inexact)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("could not find the item of a row of view \"%s\" by its key",
								   RelationGetRelationName(call->rel)),
							errdetail("The key has column \"%s\" in another form, or is deleted.",
									  column_name(call, i)),
							errhint("Use dyn_update() or dyn_delete() with the key of the item.")));
	}
}

static void
refuse_other_columns(const ViewCall *call)
{
	for (int i = 0; i < call->view->ncolumns; i++)
	{
		if (attribute_of(call, i) == NULL && is_changed(call, i))
			fail_column(call, i);
	}
}

/* Writes the column that has changed an attribute of that name, if there is one, and forgets it. */
static bool
write_changed(const ViewCall *call, ItemSpan name, Bitmapset **changed, ItemBuilder *b)
{
	int i = -1;

	while ((i = bms_next_member(*changed, i)) >= 0)
	{
		if (item_compare_bytes(attribute_of(call, i)->name, name) != 0)
			continue;
		write_column(call, i, &call->new_row, b);
		*changed = bms_del_member(*changed, i);
		return true;
	}
	return false;
}

/* Returns the item with the columns that have changed, by the names of the declaration. */
static DynItem *
changed_item(const ViewCall *call, const DynItem *old)
{
	DynItem *shown = entity_shown(call->entity, old);
	Bitmapset *changed = NULL;
	ItemBuilder b;
	int added = -1;

	for (int i = 0; i < call->view->ncolumns; i++)
	{
		if (attribute_of(call, i) != NULL && is_changed(call, i))
			changed = bms_add_member(changed, i);
	}
	item_build_init(&b, item_root(shown).len + 64);
	item_build_begin(&b, ITEM_M);
	/* in the order of names, which need not be sorted then */
	for (ItemMembers m = item_members(item_root(shown)); item_next(&m);)
	{
		if (write_changed(call, m.name, &changed, &b))
			continue;
		item_build_name(&b, m.name);
		item_build_value(&b, m.value);
	}
	while ((added = bms_next_member(changed, added)) >= 0)
		write_column(call, added, &call->new_row, &b);
	return finish_item(call, &b);
}

static DynItem *
update_item(DynItem *old, void *arg)
{
	ViewCall *call = arg;

	call->gone = old == NULL;
	if (call->gone)
		return NULL;
	check_unchanged(call, old);
	call->new = entity_restored(call->entity, changed_item(call, old), old);
	check_visible(call, call->new);
	return call->new;
}

static HeapTuple
update_row(ViewCall *call)
{
	ItemWriter writer;
	ItemWrite write;

	open_read_row(call, &writer);
	find_key(call, &writer, &write);
	refuse_other_columns(call);
	write_change(&writer, &write, EXPECT_REPLACE, update_item, call);
	if (call->gone)
		check_gone(call);
	else
		write_done(&writer, &write);
	write_close(&writer);
	return call->gone ? NULL : returned_row(call);
}

static void
judge_deletion(const DynItem *old, void *arg)
{
	const ViewCall *call = arg;

	if (old != NULL)
		check_unchanged(call, old);
	else
		check_gone(call);
}

static HeapTuple
delete_row(ViewCall *call)
{
	ItemWriter writer;
	ItemWrite write;

	open_read_row(call, &writer);
	find_key(call, &writer, &write);
	write_delete(&writer, &write, true, judge_deletion, call);
	write_done(&writer, &write);
	write_close(&writer);
	return write.old == NULL ? NULL : call->old_row.tuple;
}

/* Changes an item.  It returns the row of RETURNING; none: nothing was done, and is not counted. */
PG_FUNCTION_INFO_V1(dyn_entity_view_change);
Datum
dyn_entity_view_change(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	HeapTuple row;
	ViewCall call;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_INSTEAD(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function \"%s\" must be called by an INSTEAD OF row trigger",
							   DYN_INTERNAL ".entity_view_change")));
	open_call(fcinfo, trigger->tg_relation, &call);
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
	{
		call.new_row = read_row(&call, trigger->tg_trigtuple);
		row = insert_row(&call);
	}
	else if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		call.old_row = read_row(&call, trigger->tg_trigtuple);
		call.new_row = read_row(&call, trigger->tg_newtuple);
		row = update_row(&call);
	}
	else
	{
		call.old_row = read_row(&call, trigger->tg_trigtuple);
		row = delete_row(&call);
	}
	table_close(call.items, NoLock);
	return PointerGetDatum(row);
}
