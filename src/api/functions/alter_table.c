/*
 * alter_table.c
 *	  dyn_alter_table(): settings of a table, which UpdateTable and TagResource change as well.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "catalog/definition/description.h"
#include "catalog/resource.h"
#include "catalog/shape.h"
#include "item/fields.h"
#include "server/arguments.h"
#include "server/errors.h"

/* Holds what is changed.  What is not given is -1, or a span without data. */
typedef struct TableChange
{
	int billing;
	DynCapacity capacity;
	int deletion_protection;
	int table_class;
	int placement;
	ItemSpan tags;
	ItemSpan indexes;
} TableChange;

static void
alter_fail(const FieldReader *reader, const char *message, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid settings: %s", message),
					detail == NULL ? 0 : errdetail("%s", detail)));
}

static void
read_flag(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	if (item_type(value) != ITEM_BOOL)
		field_fail(reader, field->name, "true or false");
	*FIELD_POINTER(field, int, target) = item_bool(value);
}

static const Field change_fields[] = {
	{"billing_mode", FIELD_CHOICE, FIELD_AT(TableChange, billing), .choices = dyn_billing_names},
	{"read_capacity_units", FIELD_COUNT, FIELD_AT(TableChange, capacity.read)},
	{"write_capacity_units", FIELD_COUNT, FIELD_AT(TableChange, capacity.write)},
	{"deletion_protection", FIELD_OWN, FIELD_AT(TableChange, deletion_protection),
	 .read = read_flag},
	{"table_class", FIELD_CHOICE, FIELD_AT(TableChange, table_class),
	 .choices = dyn_table_class_names},
	{"placement", FIELD_OWN, FIELD_AT(TableChange, placement), .read = read_flag},
	{"tags", FIELD_OBJECT, FIELD_AT(TableChange, tags)},
	{"global_indexes", FIELD_OBJECT, FIELD_AT(TableChange, indexes)},
	{NULL}};

static const Field index_fields[] = {
	{"read_capacity_units", FIELD_COUNT, FIELD_AT(DynCapacity, read)},
	{"write_capacity_units", FIELD_COUNT, FIELD_AT(DynCapacity, write)},
	{NULL}};

/* Changes tags.  First it removes those whose values are null: the number of tags is limited. */
static void
change_tags(DynDescription *description, ItemSpan tags)
{
	for (ItemMembers m = item_members(tags); item_next(&m);)
	{
		if (item_type(m.value) == ITEM_NULL)
			description_remove_tag(description, m.name);
	}
	for (ItemMembers m = item_members(tags); item_next(&m);)
	{
		if (item_type(m.value) == ITEM_S)
			description_set_tag(description, m.name, item_payload(m.value));
		else if (item_type(m.value) != ITEM_NULL)
			alter_fail(NULL, psprintf("tag \"%s\" must be a string, or null", item_quoted(m.name)),
					   NULL);
	}
}

static void
change_index(DynDescription *description, const DynShape *shape, ItemSpan name, ItemSpan units)
{
	FieldReader reader = {alter_fail, psprintf("index \"%s\"", item_quoted(name))};
	const DynIndexSpec *spec = dyn_shape_index(shape, name);
	DynUnits changed = description_index_units(description, name);

	if (spec == NULL || spec->local)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" has no global index \"%s\"", shape->qualified,
							   item_quoted(name))));
	fields_read(&reader, index_fields, &changed.provisioned, units);
	description_set_index_units(description, name, &changed);
}

static void
change_indexes(DynDescription *description, const DynShape *shape, ItemSpan indexes)
{
	for (ItemMembers m = item_members(indexes); item_next(&m);)
		change_index(description, shape, m.name, m.value);
}

static void
change_capacities(DynDescription *description, const DynShape *shape, const TableChange *change)
{
	DynCapacity *capacity = &description->units.provisioned;

	if (change->billing >= 0)
		description_set_billing(description, (DynBilling) change->billing);
	if (change->capacity.read >= 0)
		capacity->read = change->capacity.read;
	if (change->capacity.write >= 0)
		capacity->write = change->capacity.write;
	description_check_units(description->billing, &description->units, NULL);
	if (change->indexes.data != NULL)
		change_indexes(description, shape, change->indexes);
	description_check_indexes(description, shape->indexes);
}

static void
change_description(DynDescription *description, const DynShape *shape, const TableChange *change)
{
	if (change->billing >= 0 || change->capacity.read >= 0 || change->capacity.write >= 0 ||
		change->indexes.data != NULL)
		change_capacities(description, shape, change);
	if (change->deletion_protection >= 0)
		description->deletion_protection = change->deletion_protection > 0;
	if (change->table_class >= 0)
		description->table_class = (DynTableClass) change->table_class;
	if (change->tags.data != NULL)
		change_tags(description, change->tags);
}

/* Changes a table.  Placement is one of the settings that writers obey. */
static void
alter_table(ItemSpan name, const TableChange *change)
{
	LOCKMODE mode = change->placement >= 0 ? ShareRowExclusiveLock : ShareUpdateExclusiveLock;
	DynTable *table;
	Relation rel = resource_lock(name, mode, &table);
	Oid relid = table->relid;
	DynDescription *description = description_read(relid);
	DynShape *shape = dyn_shape_of(rel, table);

	change_description(description, shape, change);
	if (change->placement >= 0)
	{
		shape->settings.no_placement = change->placement == 0;
		resource_write_shape(rel, shape);
	}
	else
		relation_close(rel, NoLock);
	description_write(relid, description);
}

static DynItem *
read_settings(Jsonb *settings)
{
	if (!JB_ROOT_IS_OBJECT(settings))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("settings must be a JSON object")));
	return DatumGetDynItem(DirectFunctionCall1(dyn_item_from_jsonb, JsonbPGetDatum(settings)));
}

/* dyn_alter_table(table_name, settings) */
PG_FUNCTION_INFO_V1(dyn_alter_table);
Datum
dyn_alter_table(PG_FUNCTION_ARGS)
{
	TableChange change = {-1, {-1, -1}, -1, -1, -1, {0}, {0}};
	FieldReader reader = {alter_fail};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "settings");
	fields_read(&reader, change_fields, &change, item_root(read_settings(PG_GETARG_JSONB_P(1))));
	alter_table(text_span(PG_GETARG_TEXT_PP(0)), &change);
	PG_RETURN_VOID();
}
