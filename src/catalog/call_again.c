/*
 * call_again.c
 *	  The call that does the rest of what was begun with an index, for people.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/shape.h"

static void
append_texts(StringInfo sql, const char *before, const ItemSpan *texts, int n, bool array)
{
	appendStringInfo(sql, "%s%s", before, array ? "ARRAY[" : "");
	for (int i = 0; i < n; i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "",
						 quote_literal_cstr(pnstrdup(texts[i].data, texts[i].len)));
	appendStringInfoString(sql, array ? "]" : "");
}

/* Appends the arguments of dyn_create_index() after the index's name. */
static void
append_definition(StringInfo sql, const DynIndexSpec *spec)
{
	int nsort = spec->nkeys - spec->npartition;
	bool array = spec->npartition > 1 || nsort > 1;
	ItemSpan projection = {dyn_projection_names[spec->projection],
						   (uint32) strlen(dyn_projection_names[spec->projection])};

	append_texts(sql, ", ", spec->keys, spec->npartition, array);
	if (nsort > 0)
		append_texts(sql, ", ", spec->keys + spec->npartition, nsort, array);
	if (spec->projection != DYN_PROJECT_ALL)
		append_texts(sql, ", projection => ", &projection, 1, false);
	if (spec->nincluded > 0)
		append_texts(sql, ", non_key_attributes => ", spec->included, spec->nincluded, true);
	if (spec->covering)
		appendStringInfoString(sql, ", covering => true");
}

static void
append_ttl_call(StringInfo sql, const char *table, const DynShape *shape)
{
	const DynSettings *settings = &shape->settings;

	if (settings->ttl_status == DYN_INDEX_DELETING)
		appendStringInfo(sql, "dyn_disable_ttl(%s", table);
	else
	{
		appendStringInfo(sql, "dyn_enable_ttl(%s", table);
		append_texts(sql, ", ", &settings->ttl, 1, false);
		appendStringInfoString(sql, settings->hide_expired ? ", true" : "");
	}
}

/* Returns the name as an argument, without its schema if that has a dot and cannot be named. */
static const char *
table_argument(Relation rel)
{
	const char *schema = get_namespace_name(RelationGetNamespace(rel));
	const char *name = RelationGetRelationName(rel);

	return quote_literal_cstr(strchr(schema, '.') != NULL ? name : psprintf("%s.%s", schema, name));
}

/*
 * Returns the call that does the rest of what was begun with an index, or, if spec is NULL, with
 * time to live.  It is the call that begins it as well.
 */
char *
dyn_shape_call_again(Relation rel, const DynShape *shape, const DynIndexSpec *spec)
{
	const char *table = table_argument(rel);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CALL %s.", shape->extension);
	if (spec == NULL)
		append_ttl_call(&sql, table, shape);
	else
	{
		bool drop = spec->status == DYN_INDEX_DELETING;

		appendStringInfo(&sql, "%s(%s", drop ? "dyn_drop_index" : "dyn_create_index", table);
		append_texts(&sql, ", ", &spec->name, 1, false);
		if (!drop)
			append_definition(&sql, spec);
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}
