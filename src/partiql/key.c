/*
 * key.c
 *	  The key of the item that a statement writes.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "ground/errors.h"
#include "item/build.h"
#include "partiql/plan.h"
#include "partiql/term.h"

/* The values of the key, as they are found. */
typedef struct KeyValues
{
	PartiqlKeys keys;
	ItemSpan values[DYN_MAX_INDEX_KEYS]; /* no data: not found */
	bool alone; /* there is no other condition */
} KeyValues;

static void
take_value(KeyValues *found, int number, ItemSpan value)
{
	ItemSpan *known = &found->values[number];
	ItemSpan attribute;

	if (known->data == NULL || item_compare_bytes(*known, value) == 0)
	{
		*known = value;
		return;
	}
	attribute = dyn_index_key(found->keys.table, found->keys.index, number)->attribute;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("the PartiQL statement requires two values of key \"%s\"",
						   item_quoted(attribute)),
					errwords("Multiple conditions on same key %s. Only single item "
							 "Update/Insert/Delete are supported",
							 item_quoted_words(attribute))));
}

/* Equalities that AND joins. */
static void
find_values(KeyValues *found, const PartiqlNode *node)
{
	PartiqlTerm term;

	check_stack_depth();
	if (node->type == PARTIQL_AND)
	{
		find_values(found, linitial(node->args));
		find_values(found, lsecond(node->args));
	}
	else if (node->type == PARTIQL_EQ && partiql_find_term(&found->keys, node, &term))
		take_value(found, term.key, partiql_term_value(&found->keys, &term, 0));
	else
		found->alone = false;
}

/*
 * Returns the key of the item that the condition of a statement names, in the current memory context.
 * Sets *alone to whether it requires nothing else.  Raises ERRCODE_DYN_VALIDATION if it names none.
 */
DynItem *
partiql_key(const PartiqlBound *bound, const DynTable *table, bool *alone)
{
	const PartiqlStatement *statement = bound->compiled->statement;
	KeyValues found = {.keys = {statement, bound->values, table, &table->primary}, .alone = true};
	ItemBuilder b;

	if (statement->where != NULL)
		find_values(&found, statement->where);
	item_build_init(&b, 64);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < table->primary.nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, &table->primary, i)->attribute;

		if (found.values[i].data == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("the PartiQL statement does not require key \"%s\" to equal a value",
							item_quoted(attribute)),
					 errwords("Where clause does not contain a mandatory equality on all key "
							  "attributes")));
		item_build_name(&b, attribute);
		item_build_value(&b, found.values[i]);
	}
	(void) item_build_end(&b);
	*alone = found.alone;
	return item_build_finish(&b);
}
