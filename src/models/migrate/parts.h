/*
 * parts.h
 *	  What the tables of fields of a migration share, for parse.c, parts.c and children.c.
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_PARTS_H
#define DYNAMO_TABLE_MODELS_MIGRATE_PARTS_H

#include "item/fields.h"
#include "models/migrate/migrate.h"

/* This is the context of the readers of a migration's fields. */
typedef struct Reading
{
	const char *where; /* for messages: "step \"Order\"", with more about where in it; or NULL */
	Relation rel; /* of items */
	const DynTable *table;
	MigrationStep *step;
	bool *named; /* attributes of the entity that something makes */
} Reading;

/* parts.c: what is wrong is ERRCODE_DYN_VALIDATION */
extern FieldReader part_reader(Reading *reading);
extern FieldReader part_reader_of(const FieldReader *outer, Reading *reading, const char *what,
								  ItemSpan name);
pg_noreturn extern void part_fail(const FieldReader *reader, const char *message);
extern ItemSpan part_string(const FieldReader *reader, const char *name, ItemSpan value);
extern AttrNumber part_column(const FieldReader *reader, const StepRelation *relation,
							  ItemSpan name);
extern const char *part_raw_column(const StepRelation *relation, AttrNumber attnum);
extern const EntityAttribute *part_attribute(const FieldReader *reader, ItemSpan name);
extern void part_claim(const FieldReader *reader, const EntityAttribute *attribute);

/* These read and print fields: an expression, a relation, its "on", and attributes. */
extern void part_read_expression(const FieldReader *reader, const Field *field, void *target,
								 ItemSpan value);
extern void part_read_relation(const FieldReader *reader, const Field *field, void *target,
							   ItemSpan value);
extern void part_read_on(const FieldReader *reader, const Field *field, void *target,
						 ItemSpan value);
extern void part_print_on(JsonWriter *json, const Field *field, const void *target);
extern void part_read_attributes(const FieldReader *reader, const StepRelation *relation,
								 StepAttributes *attributes, ItemSpan value);
extern void part_print_attributes(JsonWriter *json, const Field *field, const void *target);

/* Both are for the relations of a "join". */
extern void part_read_pairs(const FieldReader *reader, StepRelation *relation,
							const StepRelation *other, ItemSpan value);
extern void part_print_pairs(JsonWriter *json, const char *name, const StepRelation *relation);

/* They read "columns", "parents" and "children" of a step. */
extern void step_read_columns(const FieldReader *reader, const Field *field, void *target,
							  ItemSpan value);
extern void step_default_columns(const FieldReader *reader, const Field *field, void *target);
extern void step_print_columns(JsonWriter *json, const Field *field, const void *target);
extern void step_read_parents(const FieldReader *reader, const Field *field, void *target,
							  ItemSpan value);
extern void step_print_parents(JsonWriter *json, const Field *field, const void *target);
extern void step_read_children(const FieldReader *reader, const Field *field, void *target,
							   ItemSpan value);
extern void step_print_children(JsonWriter *json, const Field *field, const void *target);

#endif
