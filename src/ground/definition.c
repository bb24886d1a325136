/*
 * definition.c
 *	  The definition of a table that can have no triggers, in a constraint that is always true.
 *
 * Citus makes such a constraint on each shard of a distributed table, also where shards are moved or
 * split, and changes it there in the transaction that changes it here.  It adds the number of the
 * shard to the name.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type_d.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "ground/definition.h"
#include "ground/errors.h"
#include "ground/json_writer.h"
#include "item/reader.h"

/* The text of CHECK ('…' IS NOT NULL), or NULL if the expression is another. */
const char *
definition_text(const char *expression)
{
	const NullTest *test = stringToNode(expression);
	const Const *value = IsA(test, NullTest) ? (const Const *) test->arg : NULL;

	if (value == NULL || !IsA(value, Const) || value->constisnull || value->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(value->constvalue);
}

static const char *
definition_of(const ConstrCheck *check)
{
	if (strncmp(check->ccname, DEFINITION_CONSTRAINT, strlen(DEFINITION_CONSTRAINT)) != 0)
		return NULL;
	return definition_text(check->ccbin);
}

bool
definition_is(const ConstrCheck *check)
{
	return definition_of(check) != NULL;
}

/* The arguments that its derive trigger would have, as C strings; NIL if it has no definition. */
List *
definition_read(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;
	const char *json = NULL;
	List *arguments = NIL;
	JsonReader reader;

	for (int i = 0; constraints != NULL && i < constraints->num_check && json == NULL; i++)
		json = definition_of(&constraints->check[i]);
	if (json == NULL)
		return NIL;
	json_reader_begin(&reader, json, (int) strlen(json), "definition",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_array(&reader); json_read_element(&reader);)
	{
		ItemSpan argument = json_read_string(&reader);

		arguments = lappend(arguments, pnstrdup(argument.data, argument.len));
	}
	return arguments;
}

/* The part of ALTER TABLE that adds it.  No row has to be looked at. */
char *
definition_sql(List *arguments)
{
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	json_write_begin_array(&json, NULL);
	foreach (cell, arguments)
		json_write_string(&json, NULL, lfirst(cell));
	json_write_end_array(&json);
	return psprintf("ADD CONSTRAINT " DEFINITION_CONSTRAINT
					" CHECK (%s::pg_catalog.text IS NOT NULL) NOT VALID",
					quote_literal_cstr(json.text->data));
}
