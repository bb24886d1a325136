/*
 * name.c
 *	  Names of entities, attributes and views, and prefixes of keys.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "models/migrate/migrate.h"
#include "models/propose/propose.h"

/* Returns a name of 63 bytes at most: a name, and what makes it another one. */
static char *
clipped(const char *name, const char *suffix)
{
	int room = NAMEDATALEN - 1 - (int) strlen(suffix);

	return psprintf("%.*s%s", pg_mbcliplen(name, (int) strlen(name), room), name, suffix);
}

typedef bool (*IsTaken)(const Proposal *proposal, const char *name);

/*
 * Returns the name, or the first of name2, name3, … that is free, and adds it to the names that are
 * taken.  is_taken: whether it is for another reason; or NULL.
 */
static const char *
free_name(const Proposal *proposal, const char *name, List **taken, IsTaken is_taken)
{
	char *result = clipped(name, "");

	for (int i = 2; list_member(*taken, makeString(result)) ||
					(is_taken != NULL && is_taken(proposal, result));
		 i++)
		result = clipped(name, psprintf("%d", i));
	*taken = lappend(*taken, makeString(result));
	return result;
}

/*
 * Entities
 */

/* Returns whether several schemas have tables of that name: all are then called by both names. */
static bool
name_is_shared(const Proposal *proposal, const ProposeTable *table)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		if (&proposal->tables[i] != table && strcmp(proposal->tables[i].name, table->name) == 0)
			return true;
	}
	return false;
}

/*
 * Returns a name as a prefix of keys has it: letters in upper case, and nothing that divides the parts
 * of a key or of a template.
 */
char *
propose_prefix(const char *name)
{
	char *prefix = pstrdup(name);

	for (char *p = prefix; *p != '\0'; p++)
	{
		unsigned char c = (unsigned char) *p;

		*p = c < 0x80 && !isalnum(c) ? '_' : (char) pg_ascii_toupper(c);
	}
	return prefix;
}

static void
name_entity(const Proposal *proposal, ProposeTable *table, List **names, List **prefixes)
{
	ProposeEntity *entity = table->entity;
	const char *name = name_is_shared(proposal, table)
						   ? psprintf("%s_%s", table->schema, table->name)
						   : table->name;

	entity->name = free_name(proposal, name, names, NULL);
	entity->prefix = free_name(proposal, propose_prefix(entity->name), prefixes, NULL);
}

/*
 * Views
 */

/* Returns whether a relation or a type of that name is in the schema, or will be. */
static bool
is_relation(const Proposal *proposal, const char *name)
{
	return strcmp(name, proposal->relation) == 0 ||
		   OidIsValid(get_relname_relid(name, proposal->schema)) ||
		   SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(name),
								 ObjectIdGetDatum(proposal->schema));
}

/* Names the views by the entities, if there is no such relation. */
void
propose_view_names(Proposal *proposal)
{
	List *taken = NIL;
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		ProposeEntity *entity = lfirst(cell);
		const char *name = entity->name;

		if (list_member(taken, makeString((char *) name)) || is_relation(proposal, name))
			name = clipped(name, "_item");
		entity->view = free_name(proposal, name, &taken, is_relation);
	}
}

/*
 * Attributes
 */

static bool
is_attribute(const ProposeTable *table, const char *name)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];

		if (strcmp(column->name, name) == 0 ||
			(column->attribute != NULL && strcmp(column->attribute, name) == 0))
			return true;
	}
	return false;
}

/* Templates give these characters a meaning. */
static const char *
name_in_template(const ProposeTable *table, const ProposeColumn *column)
{
	char *name = pstrdup(column->name);
	const char *result = name;

	for (char *p = name; *p != '\0'; p++)
		*p = strchr("<>.:", *p) != NULL ? '_' : *p;
	for (int i = 2; strcmp(result, column->name) != 0 && is_attribute(table, result); i++)
		result = psprintf("%s%d", name, i);
	return result;
}

/*
 * Returns a name for another attribute of an entity: "artist_name", or "ArtistName" after a stem
 * with a capital.  Without a name it is the stem.
 */
const char *
propose_new_attribute(ProposeEntity *entity, const char *stem, const char *name)
{
	const char *base = stem;
	char *result;

	if (name != NULL && isupper((unsigned char) stem[0]) && strchr(stem, '_') == NULL)
		base = psprintf("%s%c%s", stem, pg_ascii_toupper((unsigned char) name[0]), name + 1);
	else if (name != NULL)
		base = psprintf("%s_%s", stem, name);
	result = pstrdup(base);
	for (int i = 2;
		 list_member(entity->offered, makeString(result)) || is_attribute(entity->table, result);
		 i++)
		result = psprintf("%s%d", base, i);
	entity->offered = lappend(entity->offered, makeString(result));
	return result;
}

static bool
any_attribute_begins(const Proposal *proposal, const char *name, bool whole)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		const ProposeTable *table = &proposal->tables[i];

		for (int k = 0; k < table->ncolumns; k++)
		{
			const char *attribute = table->columns[k].attribute;

			if (whole ? strcmp(attribute, name) == 0 : strncmp(attribute, name, strlen(name)) == 0)
				return true;
		}
	}
	return false;
}

/* Returns a name that no attribute has, or begins with. */
static const char *
unused_name(const Proposal *proposal, const char *name, bool whole)
{
	while (any_attribute_begins(proposal, name, whole))
		name = psprintf("Item%s", name);
	return name;
}

static bool
is_migration(const Proposal *proposal, const char *name)
{
	return OidIsValid(migration_taken_by(item_span(name), GetUserId(), InvalidOid));
}

/* Names all that is to be made; key attributes must not have the name of a column. */
void
propose_names(Proposal *proposal)
{
	List *names = NIL;
	List *prefixes = NIL;
	List *migrations = NIL;

	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		for (int k = 0; k < table->ncolumns; k++)
		{
			ProposeColumn *column = &table->columns[k];

			column->attribute =
				column->in_key || column->asked ? name_in_template(table, column) : column->name;
		}
		if (table->entity != NULL)
			name_entity(proposal, table, &names, &prefixes);
	}
	proposal->migration = free_name(proposal, proposal->relation, &migrations, is_migration);
	proposal->partition_name = unused_name(proposal, "PK", true);
	proposal->sort_name = unused_name(proposal, "SK", true);
	proposal->type_name = unused_name(proposal, "Type", true);
	proposal->index_name = unused_name(proposal, "GSI", false);
}

/* Returns the table that a user calls by its name, its schema and name, or its entity; or NULL. */
ProposeTable *
propose_find_table(const Proposal *proposal, ItemSpan name)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		if ((table->entity != NULL && item_span_is(name, table->entity->name)) ||
			(!name_is_shared(proposal, table) && item_span_is(name, table->name)) ||
			item_span_is(name, psprintf("%s.%s", table->schema, table->name)))
			return table;
	}
	return NULL;
}
