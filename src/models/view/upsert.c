/*
 * upsert.c
 *	  INSERT … ON CONFLICT into views of entities is refused, with the call that does it.
 *
 * A view has no unique constraint, so PostgreSQL finds none for a conflict target, and of DO NOTHING its
 * INSTEAD OF trigger is not told.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class_d.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "models/view/view.h"
#include "server/compat.h"

static post_parse_analyze_hook_type next_hook = NULL;

static void
refuse_upsert(const Query *query)
{
	const RangeTblEntry *entry = rt_fetch(query->resultRelation, query->rtable);
	const EntityView *view;
	Relation rel;

	if (entry->relkind != RELKIND_VIEW)
		return;
	rel = relation_open(entry->relid, NoLock);
	/* without the trigger it is one of a user, which PostgreSQL may update by itself */
	view = rel->trigdesc != NULL && rel->trigdesc->trig_insert_instead_row ? entity_view_read(rel)
																		   : NULL;
	if (view != NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("INSERT with ON CONFLICT is not supported on a view of an entity"),
			 errdetail("\"%s\" is a view of entity \"%s\".", RelationGetRelationName(rel),
					   item_quoted(member_parse(view->definitions[0])->entity->name)),
			 query->onConflict->action == ONCONFLICT_NOTHING
				 ? errhint("Call dyn_put_entity() with the condition attribute_not_exists() of a "
						   "key.")
				 : errhint("Call dyn_update_entity(), which makes an item or changes it, or "
						   "dyn_put_entity(), which replaces it.")));
	relation_close(rel, NoLock);
}

static void
look_for_upsert(ParseState *pstate, Query *query, HookJumble *jumble)
{
	ListCell *cell;

	if (next_hook != NULL)
		next_hook(pstate, query, jumble);
	if (query->onConflict != NULL)
		refuse_upsert(query);
	foreach (cell, query->cteList)
	{
		const Query *with = castNode(Query, ((CommonTableExpr *) lfirst(cell))->ctequery);

		if (with->onConflict != NULL)
			refuse_upsert(with);
	}
}

/* Called once by _PG_init(). */
void
entity_view_upsert_init(void)
{
	next_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = look_for_upsert;
}
