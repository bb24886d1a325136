/*
 * declare.c
 *	  dyn_create_entity() and what goes with it: declaring entities, listing them, enforcing them.
 *
 * A declaration that is well-formed may still be a mistake that shows only with the data; mistakes
 * that can be detected now are reported by a WARNING.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "catalog/distribute.h"
#include "catalog/lookup.h"
#include "models/entity/entity.h"
#include "server/arguments.h"
#include "server/errors.h"

/*
 * Warnings
 */

static bool
keys_overlap(const EntityKey *a, const EntityKey *b)
{
	for (int i = 0; i < a->ntemplates; i++)
	{
		for (int k = 0; k < b->ntemplates; k++)
		{
			if (a->type != ITEM_S ||
				template_overlaps(a->templates[i].template, b->templates[k].template))
				return true;
		}
	}
	return false;
}

/* Warns of two entities whose items could have the same key (docs/semantics.md, M07). */
static void
warn_same_key(const DynTable *table, const Entity *entity, const Entity *other)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!keys_overlap(&entity->keys[i], &other->keys[i]))
			return;
	}
	ereport(WARNING,
			(errmsg("an item of entity \"%s\" could have the same key as one of entity \"%s\"",
					item_quoted(entity->name), item_quoted(other->name)),
			 errhint("Begin keys of each with a prefix of its own.")));
}

/* Returns the first index before one that has the attribute as a key, or NULL. */
static const DynIndex *
earlier_user(const DynTable *table, const DynIndex *index, int place)
{
	for (const DynIndex *other = table->indexes; other < index; other++)
	{
		for (int k = 0; k < other->nkeys; k++)
		{
			if (other->columns[k] == place)
				return other;
		}
	}
	return NULL;
}

/*
 * Appends lines on the attributes of an index that are in another key as well: none can be changed
 * in one of the two keys alone (docs/semantics.md, M11, I26).  Nothing is said of an index that has
 * the table's own keys in another order, nor of the partition key of a local index, which is the
 * table's.
 */
static void
list_shared(const DynTable *table, const DynIndex *index, StringInfo lines)
{
	bool own = false;

	for (int i = 0; i < index->nkeys; i++)
		own |= index->columns[i] >= table->nkeys;
	for (int i = index->local ? 1 : 0; i < index->nkeys && own; i++)
	{
		const char *attribute = item_quoted(dyn_index_key(table, index, i)->attribute);
		const DynIndex *other = earlier_user(table, index, index->columns[i]);

		if (index->columns[i] >= table->nkeys && (other == NULL || other->local))
			continue;
		appendStringInfo(lines, "%sIndex \"%s\" shares attribute \"%s\" with ",
						 lines->len > 0 ? "\n" : "", item_quoted(index->name), attribute);
		if (index->columns[i] < table->nkeys)
			appendStringInfoString(lines, "the table's key.");
		else
			appendStringInfo(lines, "index \"%s\".", item_quoted(other->name));
	}
}

/* Lists those of all indexes; uses: of which an entity has a key. */
static char *
shared_attributes(const DynTable *table, const Entity *uses)
{
	StringInfoData lines;

	initStringInfo(&lines);
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];
		bool used = uses == NULL;

		for (int k = 0; !used && k < uses->nkeys; k++)
		{
			for (int c = 0; c < index->nkeys; c++)
				used |= !uses->keys[k].of_table && uses->keys[k].place == index->columns[c];
		}
		if (used)
			list_shared(table, index, &lines);
	}
	return lines.data;
}

static bool
is_sort_key(const DynIndex *index, int place)
{
	for (int i = index->npartition; i < index->nkeys; i++)
	{
		if (index->columns[i] == place)
			return true;
	}
	return false;
}

static const char *
sort_hint(const EntityAttribute *attribute)
{
	const char *name = item_quoted(attribute->name);
	const char *format = value_sort_format(&attribute->type);

	if (format == NULL)
		return psprintf("Only integers can be padded: store a smaller unit, such as cents, or have"
						" a key of type N whose template is <%s> alone.",
						name);
	return psprintf("%s them, as in <%s:%s>.", *format == '0' ? "Pad" : "Cut", name, format);
}

/* Warns of a number in a string: only padded it sorts by its value (docs/semantics.md, M22). */
static void
warn_unpadded(const Entity *entity, const EntityKey *key)
{
	for (int i = 0; i < key->ntemplates; i++)
	{
		const Template *t = key->templates[i].template;

		for (int p = 0; p < t->nparts && !t->whole; p++)
		{
			const TemplatePart *part = &t->parts[p];
			const EntityAttribute *attribute =
				part->npath == 1 ? entity_attribute(entity, part->path[0]) : NULL;

			if (attribute == NULL || attribute->type.type != ITEM_N || part->width > 0 ||
				part->unit != TEMPLATE_WHOLE)
				continue;
			ereport(WARNING,
					(errmsg("numbers of attribute \"%s\" do not sort by value in key \"%s\"",
							item_quoted(attribute->name), item_quoted(key->attribute)),
					 errhint("%s", sort_hint(attribute))));
		}
	}
}

static void
warn_sorting(const DynTable *table, const Entity *entity)
{
	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];
		bool sorts = is_sort_key(&table->primary, key->place);

		for (int k = 0; k < table->nindexes && !sorts; k++)
			sorts = is_sort_key(&table->indexes[k], key->place);
		if (sorts)
			warn_unpadded(entity, key);
	}
}

static void
declare_warn(Relation rel, const DynTable *table, const Entity *entity)
{
	bool shares = *shared_attributes(table, entity) != '\0';
	ListCell *cell;

	foreach (cell, model_declarations(rel, MODEL_ENTITY))
	{
		const ModelDeclaration *declaration = lfirst(cell);
		const Entity *other;

		/* the replaced declaration need not be valid any more */
		if (item_compare_bytes(declaration->name, entity->name) == 0)
			continue;
		other = entity_find(rel, table, declaration->name);
		warn_same_key(table, entity, other);
		shares = shares && *shared_attributes(table, other) == '\0';
	}
	/* once for a table, with its first entity that is concerned */
	if (shares)
		ereport(WARNING, (errmsg("keys of table \"%s\" and its indexes share attributes",
								 RelationGetRelationName(rel)),
						  errdetail("%s", shared_attributes(table, NULL)),
						  errhint("An index with attributes of its own can be changed alone.")));
	warn_sorting(table, entity);
}

/*
 * Declaring
 */

static void
add_string(ItemBuilder *b, const char *name, ItemSpan value)
{
	item_build_name(b, item_span(name));
	item_build_scalar(b, ITEM_S, value);
}

static void
add_jsonb(ItemBuilder *b, const char *name, Datum jsonb)
{
	item_build_name(b, item_span(name));
	item_build_jsonb(b, jsonb);
}

/* Returns the argument as jsonb, whatever type it has.  *ordered: text of another, ordered type. */
static Datum
attributes_argument(FunctionCallInfo fcinfo, int i, text **ordered)
{
	if (get_fn_expr_argtype(fcinfo->flinfo, i) == JSONBOID)
		return PG_GETARG_DATUM(i);
	*ordered = PG_GETARG_TEXT_PP(i);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(*ordered)));
}

/* Returns whether it is declared so already; raises an error if it is in another way. */
static bool
is_there(Relation rel, const Entity *entity)
{
	ListCell *cell;

	foreach (cell, model_declarations(rel, MODEL_ENTITY))
	{
		const ModelDeclaration *declaration = lfirst(cell);

		if (item_compare_bytes(declaration->name, entity->name) != 0)
			continue;
		if (strcmp(declaration->json, entity_print(entity)) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("entity \"%s\" of table \"%s\" already exists, and is another one",
							item_quoted(entity->name), RelationGetRelationName(rel)),
					 errdetail("It is declared as %s.", declaration->json)));
		ereport(NOTICE, (errcode(ERRCODE_DUPLICATE_OBJECT),
						 errmsg("entity \"%s\" of table \"%s\" already exists, skipping",
								item_quoted(entity->name), RelationGetRelationName(rel))));
		return true;
	}
	return false;
}

/* dyn_create_entity(table_name, entity, keys, attributes, type_attribute, type_value, if_not_exists) */
PG_FUNCTION_INFO_V1(dyn_create_entity);
Datum
dyn_create_entity(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"table_name", "entity", "keys", "attributes"};
	text *ordered = NULL;
	ItemBuilder b;
	DynItem *declaration;
	Entity *entity;
	DynTable *table;
	Relation rel;

	for (int i = 0; i < lengthof(names); i++)
		argument_require(fcinfo, i, names[i]);
	if (PG_ARGISNULL(4) && !PG_ARGISNULL(5))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("type_value needs a type_attribute")));
	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	add_string(&b, "entity", text_span(PG_GETARG_TEXT_PP(1)));
	add_jsonb(&b, "keys", PG_GETARG_DATUM(2));
	add_jsonb(&b, "attributes", attributes_argument(fcinfo, 3, &ordered));
	if (!PG_ARGISNULL(4))
		add_string(&b, "type_attribute", text_span(PG_GETARG_TEXT_PP(4)));
	if (!PG_ARGISNULL(5))
		add_string(&b, "type", text_span(PG_GETARG_TEXT_PP(5)));
	(void) item_build_end(&b);
	declaration = item_build_finish(&b);
	item_check_size(item_root(declaration));

	rel = model_open(PG_GETARG_TEXT_PP(0), MODEL_ENTITY, &table);
	entity = entity_parse(table, declaration, true);
	if (ordered != NULL)
		entity_order(entity, text_span(ordered));
	if (argument_flag(fcinfo, 6, false) && is_there(rel, entity))
	{
		relation_close(rel, NoLock);
		PG_RETURN_VOID();
	}
	declare_warn(rel, table, entity);
	model_set(rel, MODEL_ENTITY, entity->name, entity_print(entity));
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(dyn_drop_entity);
Datum
dyn_drop_entity(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	ItemSpan entity = text_span(argument_required_text(fcinfo, 1, "entity"));
	DynTable *table;
	Relation rel = model_open(name, MODEL_ENTITY, &table);

	model_remove(rel, MODEL_ENTITY, entity);
	PG_RETURN_VOID();
}

/* dyn_enforce_entities(table_name, enabled) */
PG_FUNCTION_INFO_V1(dyn_enforce_entities);
Datum
dyn_enforce_entities(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	DynTable *table;
	bool enabled;
	Relation rel;

	argument_require(fcinfo, 1, "enabled");
	enabled = PG_GETARG_BOOL(1);
	rel = model_open_to_enforce(name, enabled, &table);
	if (enabled)
		dyn_refuse_distributed(rel, "enforce entities",
							   "They are enforced by a trigger, which its shards cannot have.",
							   NULL);
	if (enabled && entities_of(rel, table) == NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" has no entities", RelationGetRelationName(rel)),
						errhint("Declare them with dyn_create_entity() first.")));
	model_enforce(rel, table, enabled);
	PG_RETURN_VOID();
}

/*
 * Listing
 */

static bool
get_member(const ItemChildren *members, const char *name, ItemSpan *value)
{
	return item_find(members, item_span(name), value);
}

static void
put_entity(ReturnSetInfo *result, const ModelDeclaration *declaration)
{
	static const char *const members[] = {"entity", "type_attribute", "type", "keys", "attributes"};
	DynItem *item = item_parse(declaration->json, (int) strlen(declaration->json),
							   ITEM_SYNTAX_PLAIN_ITEM, NULL);
	ItemChildren map = item_children(item_root(item));
	Datum values[lengthof(members)];
	bool nulls[lengthof(members)];

	for (int i = 0; i < lengthof(members); i++)
	{
		ItemSpan value;

		nulls[i] = !get_member(&map, members[i], &value) || (i < 3 && item_type(value) != ITEM_S);
		if (nulls[i])
			continue;
		/* the attributes have an order */
		if (i == 4 && model_member(declaration, members[i], &value))
			values[i] = PointerGetDatum(span_text(value));
		else
			values[i] =
				i >= 3 ? item_to_jsonb(value) : PointerGetDatum(span_text(item_payload(value)));
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_entities(table_name) */
PG_FUNCTION_INFO_V1(dyn_entities);
Datum
dyn_entities(PG_FUNCTION_ARGS)
{
	ListCell *cell;
	DynTable *table;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	InitMaterializedSRF(fcinfo, 0);
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &table);
	foreach (cell, model_declarations(rel, MODEL_ENTITY))
		put_entity((ReturnSetInfo *) fcinfo->resultinfo, lfirst(cell));
	relation_close(rel, NoLock);
	return (Datum) 0;
}
