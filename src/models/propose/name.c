/*
 * name.c
 *	  Names of entities, attributes and views, and prefixes of keys.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
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

/* Returns the name, or the first of name2, name3, … that is free. */
static const char *
free_name(const Proposal *proposal, const char *name, IsTaken is_taken)
{
	const char *result = clipped(name, "");

	for (int i = 2; is_taken(proposal, result); i++)
		result = clipped(name, psprintf("%d", i));
	return result;
}

/*
 * Entities
 */

static bool
is_entity(const Proposal *proposal, const char *name)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		const char *other = ((const ProposeEntity *) lfirst(cell))->name;

		if (other != NULL && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static bool
is_prefix(const Proposal *proposal, const char *prefix)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		const char *other = ((const ProposeEntity *) lfirst(cell))->prefix;

		if (other != NULL && strcmp(other, prefix) == 0)
			return true;
	}
	return false;
}

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
name_entity(Proposal *proposal, ProposeTable *table)
{
	ProposeEntity *entity = table->entity;
	const char *name = name_is_shared(proposal, table)
						   ? psprintf("%s_%s", table->schema, table->name)
						   : table->name;

	entity->name = free_name(proposal, name, is_entity);
	entity->prefix = free_name(proposal, propose_prefix(entity->name), is_prefix);
}

/*
 * Views
 */

/* Returns whether a relation or a type of that name is in the schema, or will be. */
static bool
is_view(const Proposal *proposal, const char *name)
{
	ListCell *cell;

	if (strcmp(name, proposal->relation) == 0 ||
		OidIsValid(get_relname_relid(name, proposal->schema)) ||
		SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(name),
							  ObjectIdGetDatum(proposal->schema)))
		return true;
	foreach (cell, proposal->entities)
	{
		const char *view = ((const ProposeEntity *) lfirst(cell))->view;

		if (view != NULL && strcmp(view, name) == 0)
			return true;
	}
	return false;
}

/* Names the views by the entities, if there is no such relation. */
void
propose_view_names(Proposal *proposal)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		ProposeEntity *entity = lfirst(cell);

		entity->view = is_view(proposal, entity->name)
						   ? free_name(proposal, clipped(entity->name, "_item"), is_view)
						   : entity->name;
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

static void
name_attributes(ProposeTable *table)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		ProposeColumn *column = &table->columns[i];

		column->attribute =
			column->in_key || column->asked ? name_in_template(table, column) : column->name;
	}
}

static bool
is_new_attribute(const ProposeEntity *entity, const char *name)
{
	ListCell *cell;

	foreach (cell, entity->copies)
	{
		if (strcmp(((const ProposeCopy *) lfirst(cell))->attribute, name) == 0)
			return true;
	}
	foreach (cell, entity->lists)
	{
		if (strcmp(((const ProposeList *) lfirst(cell))->attribute, name) == 0)
			return true;
	}
	return is_attribute(entity->table, name);
}

/*
 * Returns a name for another attribute of an entity: "artist_name", or "ArtistName" after a stem
 * with a capital.  Without a name it is the stem.
 */
const char *
propose_new_attribute(const ProposeEntity *entity, const char *stem, const char *name)
{
	const char *base = stem;
	const char *result;

	if (name != NULL && isupper((unsigned char) stem[0]) && strchr(stem, '_') == NULL)
		base = psprintf("%s%c%s", stem, pg_ascii_toupper((unsigned char) name[0]), name + 1);
	else if (name != NULL)
		base = psprintf("%s_%s", stem, name);
	result = base;
	for (int i = 2; is_new_attribute(entity, result); i++)
		result = psprintf("%s%d", base, i);
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
		name = psprintf("_%s", name);
	return name;
}

static bool
is_migration(const Proposal *proposal, const char *name)
{
	ItemSpan span = {name, (uint32) strlen(name)};

	return OidIsValid(migration_taken_by(span, GetUserId(), InvalidOid));
}

static void
name_migration(Proposal *proposal)
{
	proposal->migration = free_name(proposal, proposal->relation, is_migration);
}

/* Names all that is to be made; key attributes must not have the name of a column. */
void
propose_names(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		name_attributes(table);
		if (table->entity != NULL)
			name_entity(proposal, table);
	}
	name_migration(proposal);
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
