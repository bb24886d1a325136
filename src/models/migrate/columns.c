/*
 * columns.c
 *	  Columns that a source has got since its step was declared.
 *
 * Such a column breaks nothing, but its values are in no item.  So a step keeps the names of the
 * columns that its source had, in the member "columns".
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "models/migrate/parts.h"

/*
 * The member of a step
 */

/* Returns the names of columns that are not dropped, copied. */
static List *
columns_of(TupleDesc desc)
{
	List *names = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (!column->attisdropped)
			names = lappend(names, pstrdup(NameStr(column->attname)));
	}
	return names;
}

/* Reads the columns that the source had, of which some may be gone by now. */
void
step_read_columns(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;
	ItemChildren elements;

	if (step->query != NULL)
		part_fail(reader, "\"columns\" belongs to \"from\"");
	if (item_type(value) != ITEM_L || item_children(value).count == 0 ||
		item_children(value).count > MaxHeapAttributeNumber)
		field_fail(reader, field->name, "an array of columns");
	elements = item_children(value);
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan name = part_string(reader, field->name, item_child(&elements, i));

		step->columns = lappend(step->columns, span_string(name));
	}
}

/* Takes all columns that there are, where the step does not tell which it knows. */
void
step_default_columns(const FieldReader *reader, const Field *field, void *target)
{
	MigrationStep *step = target;

	if (step->query == NULL)
		step->columns = columns_of(step->source.desc);
}

/* Writes the columns as a member; a query has none. */
void
step_print_columns(JsonWriter *json, const Field *field, const void *target)
{
	const MigrationStep *step = target;
	ListCell *cell;

	if (step->columns == NIL)
		return;
	json_write_begin_array(json, field->name);
	foreach (cell, step->columns)
		json_write_string(json, NULL, lfirst(cell));
	json_write_end_array(json);
}

/*
 * New ones
 */

/* Returns the names of the columns that the source of a step has and the step does not know. */
List *
step_new_columns(const MigrationStep *step)
{
	List *new = NIL;
	ListCell *cell;

	foreach (cell, step->query != NULL ? NIL : columns_of(step->source.desc))
	{
		ListCell *known;

		foreach (known, step->columns)
		{
			if (strcmp(lfirst(cell), lfirst(known)) == 0)
				break;
		}
		if (known == NULL)
			new = lappend(new, lfirst(cell));
	}
	return new;
}
