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

/* Names of columns that are not dropped, copied. */
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

		step->columns = lappend(step->columns, pnstrdup(name.data, name.len));
	}
}

/* Where the step does not tell, it knows all that there are. */
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

/* Anybody lists what is known by any label, so this must not take long. */
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

/* The relation that "from" names, without a look at privileges and without a lock. */
static Oid
find_relation(ItemSpan from)
{
	char *text = pnstrdup(from.data, from.len);
	List *names;
	Oid namespace;

	if (!SplitIdentifierString(text, '.', &names) || list_length(names) != 2)
		return InvalidOid;
	namespace = get_namespace_oid(linitial(names), true);
	return OidIsValid(namespace) ? get_relname_relid(lsecond(names), namespace) : InvalidOid;
}

static List *
columns_of_relation(Oid relid)
{
	List *names = NIL;
	AttrNumber natts = 0;
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (HeapTupleIsValid(tuple))
	{
		natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	for (AttrNumber i = 1; i <= natts; i++)
	{
		/* of a dropped one there is none */
		tuple = SearchSysCacheAttNum(relid, i);
		if (!HeapTupleIsValid(tuple))
			continue;
		names = lappend(names, pstrdup(NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname)));
		ReleaseSysCache(tuple);
	}
	return names;
}

/*
 * The same by the members "from" and "columns" of a declaration, which may be any text.  Takes no
 * lock; what is not known is not new.
 */
List *
step_new_columns_of(ItemSpan from, ItemSpan columns)
{
	List *known = NIL;
	ItemChildren elements;
	Oid relid;

	if (item_type(columns) != ITEM_L || item_children(columns).count > MaxHeapAttributeNumber)
		return NIL;
	elements = item_children(columns);
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan name = item_child(&elements, i);

		if (item_type(name) != ITEM_S)
			return NIL;
		name = item_payload(name);
		known = lappend(known, pnstrdup(name.data, name.len));
	}
	relid = known == NIL ? InvalidOid : find_relation(from);
	return OidIsValid(relid) ? unknown(columns_of_relation(relid), known) : NIL;
}
