/*
 * compile.c
 *	  Compiles statements, keeps them by their text, and binds parameters to them.
 *
 * A statement with an error is never kept, so it fails alike each time.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "api/partiql/compile.h"
#include "item/build.h"
#include "server/errors.h"

static TextCache cache = {.name = "PartiQL statements",
						  .max = 256,
						  .max_key = 4 * PARTIQL_MAX_TEXT};

/* Compiles in a context of its own, which goes with the current one if there is an error. */
static PartiqlCompiled *
compile_statement(ItemSpan text)
{
	MemoryContext cxt =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table PartiQL", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	PartiqlCompiled *compiled = palloc0(sizeof(PartiqlCompiled));

	compiled->entry.context = cxt;
	compiled->entry.key.text = span_copy(text);
	compiled->statement = partiql_parse(compiled->entry.key.text);
	partiql_build(compiled);
	MemoryContextSwitchTo(old);
	return compiled;
}

/*
 * Returns a compiled statement, which lives until the current memory context is reset.  Raises
 * ERRCODE_DYN_VALIDATION if it is not valid, whatever tables and parameters are.
 */
const PartiqlCompiled *
partiql_compile(ItemSpan text)
{
	TextKey key = {.text = text};
	MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));
	PartiqlCompiled *compiled = (PartiqlCompiled *) text_cache_find(&cache, &key);

	if (compiled == NULL)
	{
		compiled = compile_statement(text);
		text_cache_keep(&cache, &compiled->entry);
	}
	text_cache_unpin_later(&compiled->entry, callback);
	return compiled;
}

/* Returns what a statement does. */
PartiqlKind
partiql_kind(const PartiqlCompiled *compiled)
{
	return compiled->statement->kind;
}

/* Sets *index to no data if the statement names the table alone. */
void
partiql_source(const PartiqlCompiled *compiled, ItemSpan *table, ItemSpan *index)
{
	*table = compiled->statement->table;
	*index = compiled->statement->index;
}

/* A value of SQL may be as deep as one that is stored, or a whole item. */
static void
check_nesting(int n, const ItemSpan *parameters)
{
	for (int i = 0; i < n; i++)
	{
		if (item_nesting(parameters[i]) > ITEM_CALL_NESTING)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("parameter %d of the PartiQL statement has more than %d levels "
								   "of nesting",
								   i + 1, ITEM_CALL_NESTING),
							errwords(ITEM_NESTING_WORDS_LONG)));
	}
}

static const ItemSpan *
bind_values(const PartiqlCompiled *compiled, int n, const ItemSpan *parameters)
{
	int wanted = compiled->statement->nparameters;
	ItemSpan *values;

	if (n < wanted)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("too few values for the parameters of the PartiQL statement"),
						errdetail("Parameters: %d, values: %d.", wanted, n),
						errwords("Number of parameters in request and statement don't match.")));
	if (wanted == 0)
		return compiled->literals;
	check_nesting(wanted, parameters);
	values = palloc(compiled->nslots * sizeof(ItemSpan));
	memcpy(values, compiled->literals, compiled->nslots * sizeof(ItemSpan));
	memcpy(values, parameters, wanted * sizeof(ItemSpan));
	return values;
}

/* Returns the item that INSERT makes. */
static DynItem *
bind_item(const PartiqlCompiled *compiled, const ItemSpan *values)
{
	const PartiqlStatement *statement = compiled->statement;
	ItemBuilder b;
	ListCell *cell;

	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	foreach (cell, compiled->attributes)
	{
		const PartiqlAttribute *attribute = lfirst(cell);

		item_build_name(&b, attribute->name);
		item_build_value(&b, values[attribute->slot]);
	}
	if (item_build_end(&b) != ITEM_BUILD_OK)
		partiql_fail(statement, statement->value->place, NULL, "the item has an attribute twice");
	return item_build_finish(&b);
}

static void
check_sets(const PartiqlCompiled *compiled, const ItemSpan *values)
{
	ListCell *cell;

	foreach (cell, compiled->sets)
	{
		const PartiqlSetArgument *argument = lfirst(cell);

		if (!item_type_is_set(item_type(values[argument->slot])))
			partiql_fail_set(compiled->statement, argument->function);
	}
}

/*
 * Binds parameters, with their tags, to a statement, in the current memory context.  Both have to
 * live as long as the result; parameters beyond those of the statement are not looked at.  Raises
 * ERRCODE_DYN_VALIDATION if one is missing, or can never be what it is used for.
 */
PartiqlBound *
partiql_bind(const PartiqlCompiled *compiled, int n, const ItemSpan *parameters)
{
	PartiqlBound *bound = palloc0(sizeof(PartiqlBound));

	bound->compiled = compiled;
	bound->values = bind_values(compiled, n, parameters);
	check_sets(compiled, bound->values);
	if (compiled->update != NULL)
		bound->update = expr_bind_values(compiled->update, bound->values);
	if (compiled->condition != NULL)
		bound->condition = expr_bind_values(compiled->condition, bound->values);
	if (compiled->projection != NULL)
		bound->projection = expr_bind_values(compiled->projection, bound->values);
	if (compiled->statement->kind == PARTIQL_INSERT)
		bound->item = bind_item(compiled, bound->values);
	return bound;
}
