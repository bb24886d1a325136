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

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* Returns whether a sorted list has the name. */
static bool
is_known(List *known, const char *name)
{
	int low = 0;
	int high = list_length(known);

	while (low < high)
	{
		int middle = (low + high) / 2;
		int order = strcmp(name, list_nth(known, middle));

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Returns new names.  Labels may list many names, so the known ones are sorted. */
static List *
unknown(List *names, List *known)
{
	List *sorted = list_copy(known);
	List *new = NIL;
	ListCell *cell;

	list_sort(sorted, compare_names);
	foreach (cell, names)
	{
		if (!is_known(sorted, lfirst(cell)))
			new = lappend(new, lfirst(cell));
	}
	return new;
}

/* Returns the names of the columns that the source of a step has and the step does not know. */
List *
step_new_columns(const MigrationStep *step)
{
	return step->query != NULL ? NIL : unknown(columns_of(step->source.desc), step->columns);
}
