/*
 * owner.c
 *	  In whose collection the items of an entity are.
 *
 * By itself that is decided by the key: a table whose key holds a foreign key is part of what that
 * refers to.  A named owner comes before it.
 */
#include "postgres.h"

#include "models/propose/propose.h"
#include "server/errors.h"

/* Returns where the first of its columns is in the key. */
static int
first_in_key(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	int first = 0;

	while (first < list_length(table->key) &&
		   !list_member_int(foreign->columns, list_nth_int(table->key, first)))
		first++;
	return first;
}

/* Returns whether a is closer than b: with more columns it is a line's order, not its customer. */
static bool
is_closer(const ProposeTable *table, const ProposeForeignKey *a, const ProposeForeignKey *b)
{
	bool in_key = propose_are_in(a->columns, table->key);

	if (in_key != propose_are_in(b->columns, table->key))
		return in_key;
	if (list_length(a->columns) != list_length(b->columns))
		return list_length(a->columns) > list_length(b->columns);
	return first_in_key(table, a) < first_in_key(table, b);
}

static bool
may_own(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	return foreign->parent != NULL && foreign->parent != table && foreign->to_key;
}

static const ProposeForeignKey *
owner_by_key(const ProposeTable *table)
{
	const ProposeForeignKey *best = NULL;

	for (int i = 0; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = &table->foreign[i];

		if (may_own(table, foreign) && propose_are_in(foreign->columns, table->key) &&
			(best == NULL || is_closer(table, foreign, best)))
			best = foreign;
	}
	return best;
}

/*
 * Named owners
 */

static ProposeTable *
named(const Proposal *proposal, ItemSpan name)
{
	ProposeTable *table = propose_find_table(proposal, name);

	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid owners: \"%s\" is none of the sources", item_quoted(name)),
						errhint("A table is named without quotes: \"Track\" or \"music.Track\".")));
	if (table->entity == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid owners: table \"%s\" has no key", table->name)));
	return table;
}

/* A row without an owner has no key. */
static void
remark_null(ProposeTable *table, const ProposeForeignKey *foreign)
{
	const char *columns = propose_columns(table, foreign->columns);
	bool filled = true;
	ListCell *cell;

	foreach (cell, foreign->columns)
		filled &= table->rows < 1 || table->columns[lfirst_int(cell)].data.filled >= 1;
	if (filled)
		propose_remark(
			&table->remarks, false,
			"%s may be NULL, and is not: a row without an owner would have no key, so make "
			"it NOT NULL.",
			columns);
	else
		propose_remark(
			&table->remarks, true,
			"In some rows %s is NULL.  Without an owner they have no key, and make no item: "
			"what are they to become?",
			columns);
}

static void
set_owner(ProposeTable *table, const ProposeTable *owner)
{
	const ProposeForeignKey *best = NULL;
	int ways = 0;

	for (int i = 0; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = &table->foreign[i];

		if (!may_own(table, foreign) || foreign->parent != owner)
			continue;
		ways++;
		if (best == NULL || (foreign->required && !best->required) ||
			(foreign->required == best->required && is_closer(table, foreign, best)))
			best = foreign;
	}
	if (best == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid owners: \"%s\" has no foreign key to the key of \"%s\"",
							   table->name, owner->name)));
	if (!best->required)
		remark_null(table, best);
	if (ways > 1)
		propose_remark(&table->remarks, true,
					   "%d foreign keys refer to the owner %s: is %s the one that is meant?", ways,
					   owner->name, best->name);
	table->entity->owner = best;
}

static void
set_named_owners(const Proposal *proposal, Jsonb *owners)
{
	JsonbIterator *iterator = JsonbIteratorInit(&owners->root);
	JsonbIteratorToken token;
	JsonbValue value;

	if (!JB_ROOT_IS_OBJECT(owners))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("owners must be an object of names of tables"),
						errhint("Write it like {\"Track\": \"Album\"}.")));
	token = JsonbIteratorNext(&iterator, &value, false);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) == WJB_KEY)
	{
		ItemSpan name = {value.val.string.val, (uint32) value.val.string.len};

		(void) JsonbIteratorNext(&iterator, &value, true);
		if (value.type != jbvString)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("invalid owners: the owner of \"%s\" must be the name of a table",
							item_quoted(name))));
		set_owner(named(proposal, name),
				  named(proposal, (ItemSpan){value.val.string.val, (uint32) value.val.string.len}));
	}
}

/*
 * All of them
 */

/* Gives the first of tables that own each other in a circle a collection of its own. */
static void
break_circle(const Proposal *proposal, ProposeEntity *entity)
{
	const ProposeEntity *walk = entity;

	for (int i = 0; i < proposal->ntables && walk->owner != NULL; i++)
	{
		walk = walk->owner->parent->entity;
		if (walk != entity)
			continue;
		propose_remark(&entity->table->remarks, true,
					   "The keys of tables refer to each other in a circle: is it right that %s "
					   "has a collection of its own?",
					   entity->name);
		entity->owner = NULL;
		return;
	}
}

/* Chooses the owners of all entities. */
void
propose_owners(Proposal *proposal, Jsonb *owners)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		ProposeEntity *entity = lfirst(cell);

		entity->owner = owner_by_key(entity->table);
	}
	if (owners != NULL)
		set_named_owners(proposal, owners);
	foreach (cell, proposal->entities)
		break_circle(proposal, lfirst(cell));
}
