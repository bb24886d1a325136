/*
 * model.c
 *	  The declarations of the table, and what its stream needs.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "catalog/definition/description.h"
#include "models/entity/entity.h"
#include "services/stream/stream.h"

typedef struct Declared
{
	Relation rel;
	const DynTable *table;
	List *entities;
} Declared;

static void
read_entities(void *arg)
{
	Declared *declared = arg;

	declared->entities = entities_of(declared->rel, declared->table);
}

static void
read_description(void *arg)
{
	(void) description_read(RelationGetRelid(((Declared *) arg)->rel));
}

static void
report_label(TableCheck *check, const char *what, const char *problem, const char *advice)
{
	if (problem != NULL)
		check_report(check, "security label", psprintf("its %s cannot be read: %s", what, problem),
					 advice);
}

/* Returns the name of the table as an argument of the functions. */
static char *
table_name(Relation rel)
{
	return psprintf("%s.%s", get_namespace_name(RelationGetNamespace(rel)),
					RelationGetRelationName(rel));
}

/*
 * Report if the declarations of entities cannot be read, or if entities are enforced and none is
 * declared.  Does nothing unless check->table is set.
 */
void
check_model(TableCheck *check)
{
	Declared declared = {check->rel, check->table, NIL};
	const char *problem;

	if (check->table == NULL)
		return;
	report_label(check, "settings", check_try(read_description, &declared),
				 "Correct \"settings\" in the label, or restore it from a dump.");
	problem = check_try(read_entities, &declared);
	report_label(check, "declarations", problem,
				 psprintf("Declare what is wrong again with %s.dyn_create_entity(), or restore the "
						  "label from a dump.",
						  check->extension));
	if (problem == NULL && model_enforced(check->rel) && declared.entities == NIL)
		check_report(check, "trigger \"" DYN_ENFORCE_TRIGGER "\"",
					 "no entity is declared, so it refuses all items",
					 psprintf("Declare entities, or SELECT %s.dyn_enforce_entities(%s, false);",
							  check->extension, quote_literal_cstr(table_name(check->rel))));
}

/* Reports if the WAL lacks the old rows that the records of the table's stream are to have. */
void
check_stream(TableCheck *check)
{
	const DynStream *stream =
		check->table == NULL ? NULL : dyn_settings_stream(&check->table->settings);
	DynSettings settings;

	if (stream == NULL)
		return;
	if (check->rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		check_report(check, "stream", "changes of the table are not in the WAL",
					 psprintf("ALTER TABLE %s SET LOGGED;", check->qualified));
	if (stream_identity_suffices(check->rel, stream->view))
		return;
	settings = check->table->settings;
	check_report(check, "stream",
				 psprintf("the table's replica identity leaves out what view %s has",
						  dyn_stream_view_names[stream->view]),
				 psprintf("%s;", stream_identity_change(check->rel, stream->view, &settings)));
}
