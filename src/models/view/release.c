/*
 * release.c
 *	  Views do without the keys of an index that is dropped.
 *
 * A view of all items of an entity names the columns of indexes in which all of them are, so that the
 * planner can use these.  When such an index is dropped, the view loses these conditions in the same
 * transaction, and nothing else: it keeps its OID, columns and rights.  Its rule is changed as it is, and
 * not made again of the declaration, which may be another one by now.
 *
 * A view of what is in the index depends on its columns, and keeps them from being dropped.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "models/view/view.h"
#include "server/attempt.h"
#include "server/compat.h"
#include "services/index/index.h"

/* This is a view, and what it says without the columns. */
typedef struct Release
{
	Oid table;
	Bitmapset *columns; /* numbers of those that go */
	Relation view;
	Query *query;
	bool changed; /* it has conditions on the columns */
	bool kept; /* and others by which an item is of the entity */
} Release;

/*
 * The rule
 */

/* Forgets a column; privileges on one that is not used are not asked for. */
static void
forget_column(Query *query, int varno, AttrNumber attnum)
{
	RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	int bit = attnum - FirstLowInvalidHeapAttributeNumber;
#if PG16_GE
	RTEPermissionInfo *rights = getRTEPermissionInfo(query->rteperminfos, entry);

	rights->selectedCols = bms_del_member(rights->selectedCols, bit);
#else
	entry->selectedCols = bms_del_member(entry->selectedCols, bit);
#endif
}

/* Returns whether a condition goes: it is about a key that all items have, in such a column. */
static bool
goes(Release *release, Node *condition)
{
	const Member *member = entity_view_member(condition);
	const Var *column;

	if (member == NULL)
		return false;
	column = list_nth(((FuncExpr *) condition)->args, MEMBER_COLUMN_ARGUMENT);
	if (member->entity->required && IsA(column, Var) && column->varlevelsup == 0 &&
		rt_fetch(column->varno, release->query->rtable)->relid == release->table &&
		bms_is_member(column->varattno, release->columns))
	{
		forget_column(release->query, (int) column->varno, column->varattno);
		return true;
	}
	release->kept |= !member->entity->required;
	return false;
}

static void
read_view(void *arg)
{
	Release *release = arg;
	FromExpr *from;
	List *conditions = NIL;
	ListCell *cell;

	if (release->view->rd_rel->relkind != RELKIND_VIEW)
		return;
	release->query = entity_view_query(release->view);
	from = release->query->jointree;
	foreach (cell, from == NULL ? NIL : make_ands_implicit((Expr *) from->quals))
	{
		if (goes(release, lfirst(cell)))
			release->changed = true;
		else
			conditions = lappend(conditions, lfirst(cell));
	}
	if (!release->changed)
		return;
	from->quals = (Node *) make_ands_explicit(conditions);
}

/*
 * Views
 */

static bool
is_own(Oid view)
{
	return object_ownercheck(RelationRelationId, view, GetUserId());
}

/* Reads a view.  Any role can create one of the table with any text: what cannot be read stays. */
static bool
has_columns(Release *release)
{
	return attempt(read_view, release) == NULL && release->changed && release->kept;
}

/* Returns whether the view does, or is now to do, without the columns. */
static bool
release_view(Oid table, Oid view, Bitmapset *columns, bool now)
{
	Release release = {.table = table, .columns = columns};
	bool changes;

	/* our own are locked already when they change */
	if (!ConditionalLockRelationOid(view, AccessShareLock))
		return false;
	release.view = try_relation_open(view, NoLock);
	if (release.view == NULL)
		return false;
	changes = has_columns(&release);
	relation_close(release.view, NoLock);
	if (!changes || !now)
		return changes;
	/* a procedure has none between its statements */
	PushActiveSnapshot(GetTransactionSnapshot());
	DefineQueryRewrite(pstrdup(ViewSelectRuleName), view, NULL, CMD_SELECT, true, true,
					   list_make1(release.query));
	PopActiveSnapshot();
	CommandCounterIncrement();
	return true;
}

/*
 * For the layer below
 */

static List *
own_views(Oid table)
{
	List *views = NIL;
	ListCell *cell;

	foreach (cell, entity_views_of(table))
	{
		if (is_own(lfirst_oid(cell)))
			views = lappend_oid(views, lfirst_oid(cell));
	}
	return views;
}

/*
 * Makes views of the current user do without columns of a table, given by their names, or only looks
 * which of them can.
 */
static List *
release_columns(Oid table, List *names, bool now)
{
	Bitmapset *columns = NULL;
	List *released = NIL;
	ListCell *cell;

	foreach (cell, names)
	{
		AttrNumber attnum = get_attnum(table, lfirst(cell));

		if (attnum > 0)
			columns = bms_add_member(columns, attnum);
	}
	foreach (cell, columns == NULL ? NIL : own_views(table))
	{
		CHECK_FOR_INTERRUPTS();
		if (release_view(table, lfirst_oid(cell), columns, now))
			released = lappend_oid(released, lfirst_oid(cell));
	}
	return released;
}

/* Makes views do without indexes that are dropped.  Called once by _PG_init(). */
void
entity_view_release_init(void)
{
	static const IndexBuildDependents dependents = {own_views, entity_views_of, release_columns};

	index_build_set_dependents(&dependents);
}
