/*
 * writer.c
 *	  What writing to a view needs of it, kept by the session.
 *
 * Statements that write one row are many, so nothing of it is read or parsed for each of them: the
 * rule of the view, the declaration of its entity, and the ways between columns and attributes.
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/rights.h"
#include "models/view/view.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/kept.h"

/*
 * Requires a current view.  Keys are made by the declaration: those of items that an older view
 * shows would be others.  Attributes are written as they are declared, so a column has to be of
 * what is declared.
 */
static void
require_current(const Entity *entity, const EntityView *view, Relation rel)
{
	const EntityAttribute *changed;
	EntityViewState state = entity_view_state(entity, view, &changed);

	if (state == ENTITY_VIEW_CURRENT)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("view \"%s\" is out of date", RelationGetRelationName(rel)),
			 changed == NULL ? errdetail("It was made of another declaration of entity \"%s\".",
										 item_quoted(entity->name))
							 : errdetail("Attribute \"%s\" of entity \"%s\" is of type %s by now.",
										 item_quoted(changed->name), item_quoted(entity->name),
										 value_type_print(&changed->type)),
			 errhint(state == ENTITY_VIEW_OTHER_COLUMN
						 ? "Drop the view, and call dyn_create_entity_view() again."
						 : "Call dyn_create_entity_view() again.")));
}

static bool
template_uses(const Entity *entity, const Template *t, const EntityAttribute *attribute)
{
	for (int p = 0; p < t->nparts; p++)
	{
		if (t->parts[p].npath > 0 && entity_attribute(entity, t->parts[p].path[0]) == attribute)
			return true;
	}
	return false;
}

/* Returns whether the table's key is made of an attribute; *conditional: so it may be of any. */
static bool
key_uses(const Entity *entity, const EntityAttribute *attribute, bool *conditional)
{
	bool uses = false;

	*conditional = false;
	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];

		for (int k = 0; key->of_table && k < key->ntemplates; k++)
		{
			uses |= template_uses(entity, key->templates[k].template, attribute);
			*conditional |= key->templates[k].when != NULL;
		}
	}
	return uses;
}

static void
make_column(const Entity *entity, const ViewColumn *of, ViewWriterColumn *column)
{
	bool conditional;

	if (of->stored.len == 0)
		return;
	column->reader = value_reader(&of->type);
	column->attribute = entity_stored_attribute(entity, of->stored);
	if (column->attribute == NULL)
		return;
	/* require_current() has seen that the column is of that type */
	column->writer = value_writer(&column->attribute->type);
	column->in_key = key_uses(entity, column->attribute, &conditional);
	/* numbers and strings in a map are what they are */
	column->inexact = column->in_key && of->type.type != ITEM_M && !member_is_determined(&of->type);
	column->in_key |= conditional;
}

static void
make_columns(EntityViewWriter *writer)
{
	const EntityView *view = writer->view;

	writer->columns = palloc0((view->ncolumns + 1) * sizeof(ViewWriterColumn));
	for (int i = 0; i < view->ncolumns; i++)
	{
		make_column(writer->entity, &view->columns[i], &writer->columns[i]);
		for (int j = 0; j < i; j++)
			writer->twice |= writer->columns[i].attribute != NULL &&
							 writer->columns[j].attribute == writer->columns[i].attribute;
	}
}

/*
 * Chooses what is checked.  An item of the entity has the keys of the table that its attributes
 * make, and those that all items have.  It may lack another key of an index, or have a uuid or date
 * in a key that is not written as its type writes it.
 */
static void
choose_checked(EntityViewWriter *writer)
{
	const EntityView *view = writer->view;

	writer->checked = palloc(view->nkeys * sizeof(Member *));
	for (int i = 0; i < view->nkeys; i++)
	{
		const Member *member = member_parse(view->definitions[i]);
		const EntityKey *key = entity_key(writer->entity, member->key->attribute);

		bool made = member->entity->required || (key != NULL && key->of_table);

		if (!made || member->nexact > 0)
			writer->checked[writer->nchecked++] = member;
	}
}

/* Opens the items.  A view may be of anybody's, and of any table: a privilege on that is needed. */
static Relation
open_items(const EntityView *view)
{
	Relation items = rights_open(view->table, RowExclusiveLock);

	if (items == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", view->table)));
	return items;
}

static void *
make_writer(void *arg, Oid *also)
{
	Relation rel = arg;
	EntityViewWriter *writer = palloc0(sizeof(EntityViewWriter));
	EntityView *view = writer->view = entity_view_read(rel);
	Relation items;

	if (view == NULL || !view->plain)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("\"%s\" is no view of an entity that can be written to",
							   RelationGetRelationName(rel))));
	*also = view->table;
	items = open_items(view);
	writer->entity = entity_read(items, entity_view_table(items),
								 member_parse(view->definitions[0])->entity->name);
	table_close(items, NoLock);
	require_current(writer->entity, view, rel);
	choose_checked(writer);
	make_columns(writer);
	return writer;
}

/* Returns the schema of the table of a view. */
DynTable *
entity_view_table(Relation items)
{
	DynTable *table = dyn_schema(items);

	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is not a table of items", RelationGetRelationName(items))));
	return table;
}

/*
 * Returns what writing to an open view needs, which is good until the transaction ends, and the table,
 * locked.  Raises an error if the view cannot be written to, or is out of date.
 */
const EntityViewWriter *
entity_view_writer(Relation rel, Relation *items)
{
	static const char kind = 0;
	const EntityViewWriter *writer = kept_get(RelationGetRelid(rel), &kind, make_writer, rel);

	/* what has changed is heard of when the lock is there; the view is locked already */
	*items = open_items(writer->view);
	return kept_get(RelationGetRelid(rel), &kind, make_writer, rel);
}
