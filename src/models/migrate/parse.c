/*
 * parse.c
 *	  The steps of a migration, read from JSON and checked against the table's entities and the
 *	  relations that they read; and printed, with all that was left out filled in and relations
 *	  with their schemas.
 *
 * A declaration that a user gives and one that is kept are read by the same code, since the owner
 * of the table can write any text into the latter.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "catalog/definition/label.h"
#include "models/migrate/parts.h"
#include "server/catalogs.h"
#include "server/errors.h"

/*
 * What a step reads
 */

/* Reads the entity, which is the first field that names the step in errors. */
static void
read_entity(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	Reading *reading = reader->context;
	MigrationStep *step = target;

	value = item_payload(value);
	if (step->name == NULL)
	{
		item_forbid_nul(value);
		step->name = span_string(value);
	}
	reading->where = psprintf("step \"%s\"", step->name);
	step->entity = entity_read(reading->rel, reading->table, value);
	reading->named = palloc0((step->entity->nattributes + 1) * sizeof(bool));
}

static void
print_entity(JsonWriter *json, const Field *field, const void *target)
{
	json_write_span(json, field->name, ((const MigrationStep *) target)->entity->name);
}

static void
read_source(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	part_read_relation(reader, field, target, value);
	((MigrationStep *) target)->source.alias = "src";
}

static void
check_source(const FieldReader *reader, const MigrationStep *step, bool has_query)
{
	if ((step->source.desc != NULL) == has_query)
		part_fail(reader, "either \"from\" or \"query\" must be given");
}

static void
read_query(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;

	check_source(reader, step, true);
	value = item_payload(value);
	item_forbid_nul(value);
	step_open_query(&step->source, value, ((const Reading *) reader->context)->where);
	step->source.alias = "src";
	step->query = span_string(value);
}

static void
read_no_query(const FieldReader *reader, const Field *field, void *target)
{
	check_source(reader, target, false);
}

/*
 * The key of its rows
 */

static void
add_key(MigrationStep *step, AttrNumber attnum)
{
	StepKey *key = &step->keys[step->nkeys++];

	key->attnum = attnum;
	key->column = step_column(&step->source, attnum);
	key->type = TupleDescAttr(step->source.desc, attnum - 1)->atttypid;
	key->type_name = step_column_type(&step->source, attnum);
}

static void
read_key(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;
	ItemChildren elements;

	if (item_type(value) != ITEM_L || item_children(value).count == 0 ||
		item_children(value).count > INDEX_MAX_KEYS)
		field_fail(reader, field->name, "an array of columns");
	elements = item_children(value);
	step->keys = palloc0(elements.count * sizeof(StepKey));
	for (uint32 i = 0; i < elements.count; i++)
		add_key(step, part_column(reader, &step->source,
								  part_string(reader, field->name, item_child(&elements, i))));
}

static void
default_key(const FieldReader *reader, const Field *field, void *target)
{
	MigrationStep *step = target;
	List *columns = step_default_key(&step->source);
	ListCell *cell;

	if (columns == NIL)
		part_fail(reader, step->query != NULL
							  ? "a query needs a \"key\""
							  : psprintf("%s has no primary key, so \"key\" must be given",
										 step->source.name));
	step->keys = palloc0(INDEX_MAX_KEYS * sizeof(StepKey));
	foreach (cell, columns)
		add_key(step, (AttrNumber) lfirst_int(cell));
}

static void
print_key(JsonWriter *json, const Field *field, const void *target)
{
	const MigrationStep *step = target;

	json_write_begin_array(json, field->name);
	for (int i = 0; i < step->nkeys; i++)
		json_write_string(json, NULL, part_raw_column(&step->source, step->keys[i].attnum));
	json_write_end_array(json);
}

/*
 * Attributes
 */

static void
read_attributes(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;

	part_read_attributes(reader, &step->source, &step->attributes, value);
}

static void
no_attributes(const FieldReader *reader, const Field *field, void *target)
{
	MigrationStep *step = target;

	step->attributes.relation = &step->source;
	step->attributes.list = palloc0((step->entity->nattributes + 1) * sizeof(StepAttribute));
}

/*
 * Refuses a default that differs each time: it would make another item of the same row, and of a
 * row that was migrated already.
 */
static void
check_defaults(const FieldReader *reader, const MigrationStep *step, const bool *named)
{
	for (int i = 0; i < step->entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &step->entity->attributes[i];

		if (named[i])
			continue;
		if (attribute->missing != ENTITY_NO_DEFAULT)
			part_fail(reader, psprintf("attribute \"%s\" has a default that differs each time, so "
									   "something must make it",
									   item_quoted(attribute->name)));
		if (attribute->required)
			part_fail(reader, psprintf("attribute \"%s\" is required, and nothing makes it",
									   item_quoted(attribute->name)));
	}
}

/*
 * Steps
 */

static const Field step_fields[] = {
	{"name", FIELD_TEXT, FIELD_AT(MigrationStep, name)},
	{"entity", FIELD_NAME, .required = true, .read = read_entity, .print = print_entity},
	{"from", FIELD_TEXT, FIELD_AT(MigrationStep, source), .read = read_source},
	{"query", FIELD_TEXT, FIELD_AT(MigrationStep, query), .read = read_query,
	 .missing = read_no_query},
	{"columns", FIELD_OWN, .read = step_read_columns, .missing = step_default_columns,
	 .print = step_print_columns},
	{"key", FIELD_OWN, .read = read_key, .missing = default_key, .print = print_key},
	{"where", FIELD_TEXT, FIELD_AT(MigrationStep, where), .read = part_read_expression},
	{"attributes", FIELD_OBJECT, FIELD_AT(MigrationStep, attributes), .read = read_attributes,
	 .missing = no_attributes, .print = part_print_attributes},
	{"parents", FIELD_OBJECT, .read = step_read_parents, .print = step_print_parents},
	{"children", FIELD_OBJECT, .read = step_read_children, .print = step_print_children},
	{NULL}};

static void
check_name(const MigrationStep *step)
{
	const MigrationStep *other = step->migration->steps;

	for (; other < step; other++)
	{
		if (strcmp(other->name, step->name) == 0)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("invalid migration: step %d: there is another step \"%s\"; give "
								   "them a \"name\"",
								   step->number, step->name)));
	}
}

static void
read_step(Reading *reading, ItemSpan value)
{
	FieldReader reader = part_reader(reading);
	MigrationStep *step = reading->step;

	reading->where = psprintf("step %d", step->number);
	fields_read(&reader, step_fields, step, value);
	step->key_is_given = !step_key_is_unique(step);
	step_default_attributes(step, reading->named);
	check_defaults(&reader, step, reading->named);
	check_name(step);
}

static void
add_step(const Reading *context, Migration *migration, int number, ItemSpan value)
{
	Reading reading = *context;

	reading.step = &migration->steps[migration->nsteps++];
	reading.step->migration = migration;
	reading.step->number = number;
	read_step(&reading, value);
}

static void
read_steps(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	Migration *migration = target;
	ItemChildren elements;

	if (item_type(value) != ITEM_L || item_children(value).count == 0)
		field_fail(reader, field->name, "an array of steps");
	elements = item_children(value);
	migration->steps = palloc0(elements.count * sizeof(MigrationStep));
	for (uint32 i = 0; i < elements.count; i++)
		add_step(reader->context, migration, (int) i + 1, item_child(&elements, i));
}

static void
print_steps(JsonWriter *json, const Field *field, const void *target)
{
	const Migration *migration = target;

	json_write_begin_array(json, field->name);
	for (int i = 0; i < migration->nsteps; i++)
	{
		fields_print_object(json, NULL, step_fields, &migration->steps[i]);
	}
	json_write_end_array(json);
}

static const Field migration_fields[] = {
	{"migration", FIELD_TEXT, FIELD_AT(Migration, name), .required = true},
	{"steps", FIELD_OWN, .required = true, .read = read_steps, .print = print_steps},
	{NULL}};

static Migration *
new_migration(Relation rel)
{
	Migration *migration = palloc0(sizeof(Migration));

	migration->relid = RelationGetRelid(rel);
	migration->table = pstrdup(RelationGetRelationName(rel));
	return migration;
}

static DynItem *
parse_json(const char *json)
{
	return item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
}

/* Returns the object of a declaration, "migration" being its name. */
Migration *
migration_parse(Relation rel, const DynTable *table, const char *json)
{
	Migration *migration = new_migration(rel);
	Reading reading = {.rel = rel, .table = table};
	FieldReader reader = part_reader(&reading);

	migration->json = pstrdup(json);
	fields_read(&reader, migration_fields, migration, item_root(parse_json(json)));
	return migration;
}

/* Returns the name of a relation as a string of a declaration that migration_print() has made. */
static const char *
printed_name(Oid relid)
{
	StringInfoData text;

	initStringInfo(&text);
	item_print_string(&text, item_span(catalogs_qualified(relid)));
	return text.data;
}

/*
 * Returns the object of a declaration that is kept, with the steps alone that name a table.  The other
 * steps, of which there may be hundreds, are not read, nor are their tables.  Where no step names it,
 * as after a RENAME, all are read, which tells what does not fit.  The texts of the steps are where the
 * declaration is.
 */
Migration *
migration_parse_of(Relation rel, const DynTable *table, const ModelDeclaration *declaration,
				   Oid relid)
{
	const char *name = printed_name(relid);
	Migration *migration = new_migration(rel);
	Reading reading = {.rel = rel, .table = table};
	MemoryContext old =
		MemoryContextSwitchTo(GetMemoryChunkContext(unconstify(ModelDeclaration *, declaration)));
	List *steps = label_elements(declaration->json, "steps");
	ListCell *cell;
	int n = 0;

	MemoryContextSwitchTo(old);
	migration->name = span_string(declaration->name);
	foreach (cell, steps)
		n += strstr(lfirst(cell), name) != NULL;
	migration->steps = palloc0(n * sizeof(MigrationStep));
	foreach (cell, steps)
	{
		const char *step = lfirst(cell);

		if (strstr(step, name) != NULL)
			add_step(&reading, migration, foreach_current_index(cell) + 1,
					 item_root(parse_json(step)));
	}
	return n == 0 ? migration_parse(rel, table, declaration->json) : migration;
}

/*
 * Returns a migration as the JSON text of its declaration in the table's label: names of relations
 * with their schemas, default keys and attributes written out.
 */
char *
migration_print(const Migration *migration)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, migration_fields, migration);
	return json.text->data;
}
