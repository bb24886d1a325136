/*
 * dependent.c
 *	  What needs the extension, or the column of items, beside what the extension has made itself.
 *
 * Nothing of that is dropped or changed: a table that has some cannot be detached.
 */
#include "postgres.h"

#include "catalog/pg_class_d.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger_d.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "detach/detach.h"
#include "ground/errors.h"
#include "ground/sql.h"
#include "ground/trigger.h"

/*
 * The parts of relations $1 that depend on extension $2; and of these relations' columns $3 what
 * depends on them.  Left out are objects ($4, $5), and, if there are columns, these themselves and
 * the relation, which depends on its access method.  The rule of a view is
 * told as the view.
 */
static const char dependents_sql[] =
	"WITH member AS (SELECT classid, objid FROM pg_depend WHERE refclassid = "
	"'pg_extension'::regclass AND refobjid = $2 AND deptype = 'e'),"
	" part (classid, objid) AS ("
	"SELECT 'pg_class'::regclass::oid, unnest($1)"
	" UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_policy'::regclass, oid FROM pg_policy WHERE polrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_rewrite'::regclass, oid FROM pg_rewrite WHERE ev_class = ANY ($1)"
	" UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext"
	" WHERE stxrelid = ANY ($1)"
	" UNION ALL SELECT 'pg_publication_rel'::regclass, oid FROM pg_publication_rel"
	" WHERE prrelid = ANY ($1)),"
	" found AS ("
	"SELECT classid, objid, objsubid FROM pg_depend JOIN part USING (classid, objid)"
	" WHERE (refclassid, refobjid) IN (SELECT * FROM member)"
	" UNION SELECT classid, objid, objsubid FROM pg_depend WHERE refclassid = 'pg_class'::regclass"
	" AND refobjid = ANY ($1) AND refobjsubid = ANY ($3)"
	" AND NOT (classid = 'pg_constraint'::regclass AND EXISTS ("
	"SELECT FROM pg_constraint c WHERE c.oid = objid AND contype = 'n')))"
	" SELECT DISTINCT COALESCE(pg_describe_object('pg_class'::regclass, v.oid, 0),"
	" pg_describe_object(classid, objid, objsubid)) COLLATE \"C\""
	" FROM found LEFT JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid"
	" AND r.rulename = '_RETURN' LEFT JOIN pg_class v ON v.oid = r.ev_class"
	" WHERE (classid, objid) NOT IN (SELECT * FROM unnest($4, $5))"
	" AND (v.oid IS NULL OR ('pg_class'::regclass, v.oid) NOT IN (SELECT * FROM unnest($4, $5)))"
	" AND NOT (classid = 'pg_class'::regclass AND objid = ANY ($1) AND (objsubid = ANY ($3)"
	" OR objsubid = 0 AND cardinality($3) > 0))"
	" ORDER BY 1";

/* What is left out. */
typedef struct Known
{
	int n;
	Datum *classes;
	Datum *objects;
} Known;

static void
add_known(Known *known, Oid class, Oid object)
{
	if (!OidIsValid(object))
		return;
	known->classes = known->n == 0 ? palloc(sizeof(Datum))
								   : repalloc(known->classes, (known->n + 1) * sizeof(Datum));
	known->objects = known->n == 0 ? palloc(sizeof(Datum))
								   : repalloc(known->objects, (known->n + 1) * sizeof(Datum));
	known->classes[known->n] = ObjectIdGetDatum(class);
	known->objects[known->n++] = ObjectIdGetDatum(object);
}

static Datum
oid_array(Datum *oids, int n)
{
	return PointerGetDatum(construct_array(oids, n, OIDOID, sizeof(Oid), true, 'i'));
}

/* Connected to SPI; of the names of dependents, in the current memory context. */
static List *
find(List *relids, List *attnums, const Known *known)
{
	Oid types[] = {OIDARRAYOID, OIDOID, INT4ARRAYOID, OIDARRAYOID, OIDARRAYOID};
	Datum values[5];
	MemoryContext context = CurrentMemoryContext;
	Datum *elements = palloc((list_length(relids) + list_length(attnums) + 1) * sizeof(Datum));
	List *names = NIL;
	ListCell *cell;

	foreach (cell, relids)
		elements[foreach_current_index(cell)] = ObjectIdGetDatum(lfirst_oid(cell));
	values[0] = oid_array(elements, list_length(relids));
	values[1] = ObjectIdGetDatum(get_extension_oid("dynamo_table", false));
	foreach (cell, attnums)
		elements[foreach_current_index(cell)] = Int32GetDatum(lfirst_int(cell));
	values[2] = PointerGetDatum(
		construct_array(elements, list_length(attnums), INT4OID, sizeof(int32), true, 'i'));
	values[3] = oid_array(known->classes, known->n);
	values[4] = oid_array(known->objects, known->n);
	sql_execute(dependents_sql, 5, types, values, NULL, false, 0);
	MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *name = sql_text_or_null(SPI_tuptable, i, 1);

		/* it has no description if it was dropped meanwhile */
		if (name != NULL)
			names = lappend(names, name);
	}
	SPI_freetuptable(SPI_tuptable);
	return names;
}

static void
add_triggers(Known *known, Relation rel)
{
	for (int role = 0; role < DYN_TRIGGERS; role++)
	{
		const Trigger *trigger = dyn_trigger_find(rel, (DynTriggerRole) role);

		if (trigger != NULL)
			add_known(known, TriggerRelationId, trigger->tgoid);
	}
}

/* The column of items, and those that go. */
static List *
columns_at_stake(const Detach *detach)
{
	List *attnums = list_make1_int(detach->table->item_attnum);
	ListCell *cell;

	foreach (cell, detach_lost_columns(detach))
		attnums = lappend_int(attnums, ((const DynKey *) lfirst(cell))->attnum);
	return attnums;
}

/* Note the objects for which the table cannot be detached. */
void
detach_find_dependents(Detach *detach, Relation rel)
{
	List *attnums = columns_at_stake(detach);
	Known known = {0};
	ListCell *cell;

	add_triggers(&known, rel);
	add_known(&known, ConstraintRelationId,
			  get_relation_constraint_oid(detach->relid, DYN_KEYS_CONSTRAINT, true));
	foreach (cell, detach_lost_btrees(detach))
		add_known(&known, RelationRelationId, lfirst_oid(cell));
	foreach (cell, detach->views)
		add_known(&known, RelationRelationId, ((const DetachView *) lfirst(cell))->relid);
	foreach (cell, find(list_make1_oid(detach->relid), attnums, &known))
		detach->problems = lappend(detach->problems, psprintf("%s depends on column item or on the "
															  "extension",
															  (const char *) lfirst(cell)));
}

/* Raise an error if something of the table still depends on the extension. */
void
detach_check_independent(const Detach *detach)
{
	List *relids = list_make1_oid(detach->relid);
	Known known = {0};
	List *names;
	ListCell *cell;

	foreach (cell, detach->views)
		relids = lappend_oid(relids, ((const DetachView *) lfirst(cell))->relid);
	names = find(relids, NIL, &known);
	if (names != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("%s would still depend on the extension", (const char *) linitial(names))));
}
