/*
 * cache.c
 *	  The session's cache of parsed declarations.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "models/entity/model.h"
#include "server/kept.h"

typedef struct ModelRead
{
	Relation rel;
	ModelKind kind;
} ModelRead;

static void *
read_declarations(void *arg, Oid *also)
{
	const ModelRead *read = arg;

	return model_declarations(read->rel, read->kind);
}

/*
 * Returns the declarations of one kind of an open table (ModelDeclaration) as model_declarations()
 * does, from the session's cache.  The list belongs to the cache, must not be changed, and is valid
 * until the transaction ends, as is the result of model_parsed().
 */
List *
model_cached(Relation rel, ModelKind kind)
{
	ModelRead read = {rel, kind};

	return kept_get(RelationGetRelid(rel), &model_kind_names[kind], read_declarations, &read);
}

/*
 * Returns what parse makes of a declaration that model_cached() has given.  It is parsed once: the
 * result is allocated in the declaration's memory context, and becomes invalid together with it.
 */
void *
model_parsed(ModelDeclaration *declaration, ModelParse parse, Relation rel, const DynTable *table)
{
	MemoryContext context;
	MemoryContext old;
	void *parsed;

	if (declaration->parsed != NULL)
		return declaration->parsed;
	context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table declaration",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	parsed = parse(declaration, rel, table);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, GetMemoryChunkContext(declaration));
	return declaration->parsed = parsed;
}
