/*
 * key.c
 *	  The key of the one item that a statement names.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/plan.h"
#include "api/partiql/term.h"
#include "item/build.h"
#include "server/errors.h"

/* A KeySearch holds the values of the key, as they are found. */
typedef struct KeySearch
{
	PartiqlKeys keys;
	PartiqlKeyUse use;
	ItemSpan values[DYN_MAX_INDEX_KEYS]; /* no data: not found */
	List *others;
} KeySearch;

pg_noreturn static void
fail_twofold(const KeySearch *search, int number)
{
	ItemSpan attribute = dyn_index_key(search->keys.table, search->keys.index, number)->attribute;

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("the PartiQL statement requires two values of key \"%s\"",
						   item_quoted(attribute)),
					errwords("Multiple conditions on same key %s. Only single item "
							 "Update/Insert/Delete are supported",
							 item_quoted_words(attribute))));
}

/* Takes a value; returns false if another is known: then it is not part of the key. */
static bool
take_value(KeySearch *search, const PartiqlTerm *term)
{
	ItemSpan value = partiql_term_value(&search->keys, term, 0);
	ItemSpan *known = &search->values[term->key];

	if (known->data == NULL)
	{
		*known = value;
		return true;
	}
	if (item_compare_bytes(*known, value) == 0)
		return true;
	if (search->use == PARTIQL_KEY_WRITTEN)
		fail_twofold(search, term->key);
	return false;
}

/* Returns whether a condition requires a key to equal one value. */
static bool
is_equality(const KeySearch *search, const PartiqlNode *node, PartiqlTerm *term)
{
	if (node->type != PARTIQL_EQ && (node->type != PARTIQL_IN || search->use != PARTIQL_KEY_READ))
		return false;
	return partiql_find_term(&search->keys, node, term) && term->nvalues == 1;
}

/* Finds the values of equalities that AND joins. */
static void
find_values(KeySearch *search, PartiqlNode *node)
{
	PartiqlTerm term;

	check_stack_depth();
	if (node->type == PARTIQL_AND)
	{
		find_values(search, linitial(node->args));
		find_values(search, lsecond(node->args));
	}
	else if (!is_equality(search, node, &term) || !take_value(search, &term))
		search->others = lappend(search->others, node);
}

/*
 * Finds the key that the condition of a statement names: the attributes that it has, in the current
 * memory context.  Raises ERRCODE_DYN_VALIDATION if it is the key of an item to be written, and names
 * two.
 */
PartiqlKey
partiql_find_key(const PartiqlBound *bound, const DynTable *table, PartiqlKeyUse use)
{
	const PartiqlStatement *statement = bound->compiled->statement;
	KeySearch search = {{statement, bound->values, table, &table->primary}, use};
	PartiqlKey key = {.missing = -1};
	ItemBuilder b;

	if (statement->where != NULL)
		find_values(&search, statement->where);
	item_build_init(&b, 64);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < table->primary.nkeys; i++)
	{
		if (search.values[i].data == NULL)
		{
			key.missing = i;
			continue;
		}
		item_build_name(&b, dyn_index_key(table, &table->primary, i)->attribute);
		item_build_value(&b, search.values[i]);
	}
	(void) item_build_end(&b);
	key.item = item_build_finish(&b);
	key.others = search.others;
	return key;
}

/* Finds the key likewise; raises ERRCODE_DYN_VALIDATION unless it is the whole key. */
PartiqlKey
partiql_whole_key(const PartiqlBound *bound, const DynTable *table)
{
	PartiqlKey key = partiql_find_key(bound, table, PARTIQL_KEY_WRITTEN);

	if (key.missing >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("the PartiQL statement does not require key \"%s\" to equal a value",
						item_quoted(dyn_index_key(table, &table->primary, key.missing)->attribute)),
				 errwords("Where clause does not contain a mandatory equality on all key "
						  "attributes")));
	return key;
}
