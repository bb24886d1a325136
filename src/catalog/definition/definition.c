/*
 * definition.c
 *	  The definition of a table that can have no triggers, in a constraint that is always true.
 *
 * The constraint is CHECK ('["pk S", …]'::text IS NOT NULL).  Citus makes it on each shard of a
 * distributed table, also where shards are moved or split, and changes it there in the transaction
 * that changes it here.
 *
 * The expression is looked at as it is stored.  Nothing in it is evaluated, since the owner of the
 * table has chosen it.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/definition/definition.h"
#include "item/json_writer.h"
#include "item/reader.h"
#include "server/citus.h"
#include "server/errors.h"

/* Returns the text in an expression of exactly that form, or NULL if it is another one. */
static const char *
text_in(const char *expression)
{
	const NullTest *test = stringToNode(expression);
	const Const *value;

	if (!IsA(test, NullTest) || test->nulltesttype != IS_NOT_NULL || test->argisrow ||
		!IsA(test->arg, Const))
		return NULL;
	value = (const Const *) test->arg;
	return value->constisnull || value->consttype != TEXTOID
			   ? NULL
			   : TextDatumGetCString(value->constvalue);
}

/* Returns the text of the constraint, or NULL if it is another one. */
static const char *
text_of(Relation rel, const ConstrCheck *check)
{
	return citus_name_is(rel, check->ccname, DEFINITION_CONSTRAINT) ? text_in(check->ccbin) : NULL;
}

/* Returns whether a constraint of a relation is its definition, which holds for all rows. */
bool
definition_is(Relation rel, const ConstrCheck *check)
{
	return text_of(rel, check) != NULL;
}

static const char *
find_text(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;
	const char *text = NULL;

	for (int i = 0; constraints != NULL && i < constraints->num_check && text == NULL; i++)
		text = text_of(rel, &constraints->check[i]);
	return text;
}

/* Returns whether a relation has a definition, which may be unreadable. */
bool
definition_exists(Relation rel)
{
	return find_text(rel) != NULL;
}

/* Raises ERRCODE_INVALID_TABLE_DEFINITION if the text is no JSON array of strings. */
static List *
parse_text(const char *text)
{
	List *arguments = NIL;
	JsonReader reader;

	json_reader_begin(&reader, text, (int) strlen(text), "constraint \"" DEFINITION_CONSTRAINT "\"",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_array(&reader); json_read_element(&reader);)
	{
		ItemSpan argument = json_read_string(&reader);

		arguments = lappend(arguments, span_string(argument));
	}
	json_reader_done(&reader);
	return arguments;
}

/* Returns the arguments that the derive trigger would have; NIL if there is no definition. */
List *
definition_read(Relation rel)
{
	const char *text = find_text(rel);

	return text == NULL ? NIL : parse_text(text);
}

/* Returns the arguments that the expression of a constraint has, as pg_constraint stores it. */
List *
definition_parse(const char *expression)
{
	const char *text = text_in(expression);

	return text == NULL ? NIL : parse_text(text);
}

/* Returns the part of ALTER TABLE that adds it.  No row has to be looked at. */
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
