/*
 * view.c
 *	  dyn_create_entity_view(): a relational view of an entity's items.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "models/view/view.h"
#include "server/arguments.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"

#define VIEW_TRIGGER "dynamo_entity"

/* This is a view on its way. */
typedef struct NewView
{
	const DynTable *table;
	const Entity *entity;
	const DynIndex *index; /* or NULL */
	const EntityAttribute *unnested; /* or NULL */
	char *schema;
	char *name;
	List *keys; /* of MemberKey: what its items are known by */
	List *attributes; /* of EntityAttribute: its columns */
	bool exists;
} NewView;

static bool
view_same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

/*
 * Columns
 */

static bool
in_list(List *attributes, const EntityAttribute *attribute)
{
	return list_member_ptr(attributes, attribute);
}

/* Returns what the table's key is made of, in its order. */
static List *
key_attributes(const NewView *view)
{
	List *attributes = NIL;

	for (int i = 0; i < view->entity->nkeys; i++)
	{
		const EntityKey *key = &view->entity->keys[i];

		for (int k = 0; key->of_table && k < key->ntemplates; k++)
		{
			const Template *t = key->templates[k].template;

			for (int p = 0; p < t->nparts; p++)
			{
				const EntityAttribute *attribute =
					t->parts[p].npath > 0 ? entity_attribute(view->entity, t->parts[p].path[0])
										  : NULL;

				if (attribute != NULL)
					attributes = list_append_unique_ptr(attributes, (void *) attribute);
			}
		}
	}
	return attributes;
}

/* Returns the attributes of the columns that a view has, which can only stay where they are. */
static List *
columns_of(const NewView *view, Relation rel)
{
	EntityView *old = entity_view_read(rel);
	List *attributes = NIL;

	if (old == NULL || old->table != view->table->relid ||
		!view_same(member_parse(old->definitions[0])->entity->name, view->entity->name))
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_TABLE),
						errmsg("relation \"%s\" already exists", RelationGetRelationName(rel)),
						errdetail("It is no view of entity \"%s\" of table \"%s\".",
								  item_quoted(view->entity->name), view->table->name),
						errhint("Give another name as view_name.")));
	for (int i = 0; i < old->ncolumns; i++)
	{
		const EntityAttribute *attribute =
			entity_stored_attribute(view->entity, old->columns[i].stored);

		if (attribute != NULL && !entity_view_shows(&old->columns[i], attribute))
			ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
							errmsg("view \"%s\" cannot get another type for attribute \"%s\"",
								   RelationGetRelationName(rel), item_quoted(attribute->name)),
							errdetail("Columns of a view keep their types."),
							errhint("Drop the view, and call dyn_create_entity_view() again.")));
		if (attribute != NULL)
			attributes = list_append_unique_ptr(attributes, (void *) attribute);
	}
	return attributes;
}

static Oid
relation_of_name(const NewView *view)
{
	return get_relname_relid(view->name, get_namespace_oid(view->schema, false));
}

/*
 * Checks an owner, who can give a view triggers and other columns: who makes a view here must not
 * get one of a role that could not have hung these on the table.
 */
static void
check_owner(const NewView *view, Oid relid)
{
	char kind = get_rel_relkind(relid);
	Oid owner = rights_owner(relid);

	if (kind != '\0' && !object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(kind), view->name);
	if (kind == RELKIND_VIEW && owner != GetUserId() && !rights_owns(view->table->relid, owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("view \"%s\" belongs to role \"%s\"", view->name,
						GetUserNameFromId(owner, true)),
				 errdetail("The role has not the rights of the owner of the table."),
				 errhint("Drop the view, change its owner, or give another name as view_name.")));
}

/*
 * Locks a view for CREATE OR REPLACE VIEW, which would wait for it while readers wait behind.  What
 * is no view is looked at only.
 */
static Relation
open_old(const NewView *view, Oid relid)
{
	check_owner(view, relid);
	if (get_rel_relkind(relid) != RELKIND_VIEW)
		return relation_open(relid, AccessShareLock);
	brief_lock(relid, AccessExclusiveLock);
	/* before it was locked, it may have got another owner, and its name another view */
	if (relation_of_name(view) != relid)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("view \"%s\" was renamed or dropped meanwhile", view->name),
						errhint("Try again.")));
	check_owner(view, relid);
	return relation_open(relid, NoLock);
}

static List *
old_columns(NewView *view)
{
	Oid relid = relation_of_name(view);
	List *attributes;
	Relation rel;

	view->exists = OidIsValid(relid);
	if (!view->exists)
		return NIL;
	rel = open_old(view, relid);
	attributes = columns_of(view, rel);
	relation_close(rel, NoLock);
	return attributes;
}

/* Chooses columns in the order of the declaration; those of a view that is replaced come first. */
static void
choose_columns(NewView *view)
{
	view->attributes = old_columns(view);
	if (view->unnested != NULL)
	{
		view->attributes = key_attributes(view);
		return;
	}
	for (int i = 0; i < view->entity->nattributes; i++)
	{
		EntityAttribute *attribute = &view->entity->attributes[i];

		if (!in_list(view->attributes, attribute))
			view->attributes = lappend(view->attributes, attribute);
	}
}

static char *
attribute_value(const NewView *view, const EntityAttribute *attribute)
{
	return entity_view_value("t.item", attribute->stored, &attribute->type);
}

static void
append_columns(StringInfo sql, const NewView *view)
{
	const char *comma = "";
	ListCell *cell;

	foreach (cell, view->attributes)
	{
		const EntityAttribute *attribute = lfirst(cell);

		appendStringInfo(sql, "%s%s AS %s", comma, attribute_value(view, attribute),
						 quote_identifier(dyn_identifier(attribute->name)));
		comma = ", ";
	}
	if (view->unnested != NULL)
		appendStringInfo(sql, "%su.\"position\", u.element", comma);
}

/* Appends the elements of a list or set, with their numbers from 1 on. */
static void
append_elements(StringInfo sql, const NewView *view)
{
	Oid type = getBaseType(view->unnested->type.sql);

	appendStringInfo(sql,
					 " CROSS JOIN LATERAL pg_catalog.%s(%s) WITH ORDINALITY AS"
					 " u (element, \"position\")",
					 type == JSONBOID  ? "jsonb_array_elements"
					 : type == JSONOID ? "json_array_elements"
									   : "unnest",
					 attribute_value(view, view->unnested));
}

/*
 * The statements
 */

static const char *
column_of(const DynTable *table, ItemSpan attribute)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (view_same(table->keys[i].attribute, attribute))
			return quote_identifier(table->keys[i].column);
	}
	elog(ERROR, "key \"%s\" has no column", item_quoted(attribute));
}

static char *
qualified_name(const NewView *view)
{
	return quote_qualified_identifier(view->schema, view->name);
}

/* Returns the statement.  A view that was not there is not replaced: it would be another role's. */
static char *
view_statement(const NewView *view)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE %sVIEW %s WITH (security_invoker = true) AS SELECT ",
					 view->exists ? "OR REPLACE " : "", qualified_name(view));
	append_columns(&sql, view);
	appendStringInfo(&sql, " FROM %s t", view->table->qualified);
	if (view->unnested != NULL)
		append_elements(&sql, view);
	foreach (cell, view->keys)
	{
		const MemberKey *key = lfirst(cell);

		appendStringInfo(&sql, " %s " DYN_INTERNAL ".%s(t.item, %s, t.%s)",
						 foreach_current_index(cell) == 0 ? "WHERE" : "AND",
						 key->ngiven > 0 ? "is_entity_in_index" : "is_entity",
						 quote_literal_cstr(member_definition(view->entity, key)),
						 column_of(view->table, key->key->attribute));
	}
	/*
	 * What the index is restricted to: without it the planner may not use it.  The calls say it of
	 * their columns, since they are strict.
	 */
	for (int i = 0; view->index != NULL && i < view->index->nkeys; i++)
	{
		const DynKey *key = dyn_index_key(view->table, view->index, i);

		if (!entity_view_has_key(view->keys, key->attribute))
			appendStringInfo(&sql, " AND t.%s IS NOT NULL", quote_identifier(key->column));
	}
	return sql.data;
}

/*
 * Tells of a key that cannot be looked up by an attribute.  Of timestamps there are ranges.
 */
static void
notice_key(const NewView *view, const EntityKey *key, const TemplatePart *part)
{
	const EntityAttribute *attribute =
		part->npath == 1 ? entity_attribute(view->entity, part->path[0]) : NULL;
	Oid type = attribute == NULL ? InvalidOid : getBaseType(attribute->type.sql);
	const char *name;

	if (attribute == NULL || type == TIMESTAMPOID || type == TIMESTAMPTZOID ||
		member_makes_one(&attribute->type, part, type))
		return;
	name = item_quoted(attribute->name);
	ereport(NOTICE,
			(errmsg("view \"%s\" cannot search key \"%s\" by attribute \"%s\"", view->name,
					item_quoted(key->attribute), name),
			 errdetail("Values of type %s that are equal make different keys.",
					   format_type_be(attribute->type.sql)),
			 member_is_determined(&attribute->type)
				 ? errhint("Declare the key with <%s:lower>, or compare the column as text.", name)
				 : 0));
}

static void
notice_keys(const NewView *view)
{
	ListCell *cell;

	foreach (cell, view->keys)
	{
		const EntityKey *key = ((MemberKey *) lfirst(cell))->key;

		for (int k = 0; k < key->ntemplates; k++)
		{
			for (int i = 0; i < key->templates[k].template->nparts; i++)
				notice_key(view, key, &key->templates[k].template->parts[i]);
		}
	}
}

static void
make_view(const NewView *view)
{
	SPI_connect();
	dyn_execute(sql_on(view->table->relid, view_statement(view)));
	if (view->unnested == NULL)
		dyn_execute(psprintf("CREATE OR REPLACE TRIGGER %s INSTEAD OF INSERT OR UPDATE OR DELETE"
							 " ON %s FOR EACH ROW EXECUTE FUNCTION " DYN_INTERNAL
							 ".entity_view_change()",
							 VIEW_TRIGGER, qualified_name(view)));
	SPI_finish();
}

/*
 * Arguments
 */

static const EntityAttribute *
find_list(const Entity *entity, ItemSpan name)
{
	const EntityAttribute *attribute = entity_attribute(entity, name);

	if (attribute == NULL)
	{
		const char *hint = entity_attribute_hint(entity, name);

		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("entity \"%s\" has no attribute \"%s\"", item_quoted(entity->name),
							   item_quoted(name)),
						hint == NULL ? 0 : errhint("%s", hint)));
	}
	if (attribute->type.type != ITEM_L && !item_type_is_set(attribute->type.type))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("attribute \"%s\" of entity \"%s\" is no list and no set",
							   item_quoted(name), item_quoted(entity->name))));
	return attribute;
}

static const DynIndex *
find_index(const DynTable *table, ItemSpan name)
{
	const DynIndex *index = dyn_find_index(table, name);

	if (index == NULL)
		dyn_fail_no_index(table, name, ERRCODE_DYN_VALIDATION, NULL);
	return index;
}

/* Returns the name of the entity, with what it is a view of beside that. */
static char *
default_name(const Entity *entity, const text *unnest, const text *index)
{
	StringInfoData name;

	initStringInfo(&name);
	appendBinaryStringInfo(&name, entity->name.data, (int) entity->name.len);
	if (unnest != NULL)
		appendStringInfo(&name, "_%s", text_to_cstring(unnest));
	if (index != NULL)
		appendStringInfo(&name, "_%s", text_to_cstring(index));
	return dyn_identifier((ItemSpan){name.data, (uint32) name.len});
}

/* dyn_create_entity_view(table_name, entity, view_name, unnest, index_name, use_indexes) */
PG_FUNCTION_INFO_V1(dyn_create_entity_view);
Datum
dyn_create_entity_view(PG_FUNCTION_ARGS)
{
	text *name = argument_text(fcinfo, 2);
	text *unnest = argument_text(fcinfo, 3);
	text *index = argument_text(fcinfo, 4);
	NewView view = {0};
	DynTable *table;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "entity");
	argument_require(fcinfo, 5, "use_indexes");
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &table);
	view.table = table;
	view.entity = entity_find(rel, table, text_span(PG_GETARG_TEXT_PP(1)));
	view.schema = get_namespace_name(RelationGetNamespace(rel));
	view.index = index == NULL ? NULL : find_index(table, text_span(index));
	view.unnested = unnest == NULL ? NULL : find_list(view.entity, text_span(unnest));
	if (name == NULL)
		view.name = default_name(view.entity, unnest, index);
	else
		view.name = dyn_identifier(text_span(name));
	view.keys = entity_view_keys(view.entity, table, view.index, PG_GETARG_BOOL(5));
	choose_columns(&view);
	make_view(&view);
	notice_keys(&view);
	if (view.index == NULL && view.unnested == NULL)
		entity_view_tell_empty(view.name, view.entity, view.keys, rel, table);
	relation_close(rel, NoLock);
	PG_RETURN_OID(get_relname_relid(view.name, get_namespace_oid(view.schema, false)));
}
