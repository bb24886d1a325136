/*
 * check.c
 *	  dyn_check_entities(): items and views that do not agree with the declarations of a table.
 *
 * Items are read page by page, with the rights of maintenance: types of attributes may be domains with
 * checks of the owner's.  Each is checked in memory that is reset after it.  At most max_problems problems are reported.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/size.h"
#include "models/view/view.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/errors.h"
#include "server/progress.h"
#include "server/sql.h"

#define PAGE_SIZE 1000

typedef struct Check
{
	DynTable *table;
	List *entities; /* of Entity */
	List *members; /* for each: a list of Member, by the keys of a view of all its items */
	ReturnSetInfo *result;
	int64 found;
	int64 max;
	MemoryContext item_context;
	int64 read; /* items, of so many by statistics */
	double expected;
	TimestampTz told;
} Check;

static bool
is_full(const Check *check)
{
	return check->found == check->max;
}

static void
entities_report(Check *check, const DynItem *item, ItemSpan entity, const char *problem,
				const char *detail)
{
	DynItem *key = NULL;

	if (is_full(check))
		return;
	check->found++;
	if (item != NULL)
		key = dyn_key_item(check->table, &check->table->primary, item);
	sql_put(check->result, SQL_VALUES(SQL_POINTER(InvalidOid, key), sql_span(entity),
									  SQL_TEXT(problem), SQL_TEXT(detail)));
}

/*
 * Items
 */

/* Checks indexes: items that are older than one may have keys that cannot be in it. */
static void
check_indexes(Check *check, const Entity *entity, const DynItem *item)
{
	for (int i = 0; i < check->table->nindexes; i++)
	{
		const DynIndex *index = &check->table->indexes[i];

		if (entity_view_needs_index(entity, check->table, index, item) &&
			!dyn_index_has(check->table, index, item))
			entities_report(check, item, entity->name, "not shown by views",
							psprintf("index \"%s\" leaves it out", item_quoted(index->name)));
	}
}

static void
check_as_entity(Check *check, int number, const DynItem *item)
{
	const Entity *entity = list_nth(check->entities, number);
	List *problems = entity_problems(entity, item);
	ListCell *cell;

	foreach (cell, problems)
		entities_report(check, item, entity->name, "not as declared", lfirst(cell));
	if (problems != NIL)
		return;
	if (!entity_view_has(list_nth(check->members, number), item))
		entities_report(check, item, entity->name, "not shown by views",
						"an attribute of its key is not written as its type writes it");
	else
		check_indexes(check, entity, item);
}

/* Returns "Org", "Project". */
static char *
name_entities(const Check *check, List *numbers)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, numbers)
	{
		const Entity *entity = list_nth(check->entities, lfirst_int(cell));

		appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "", item_quoted(entity->name));
	}
	return names.data;
}

static void
check_item(Datum datum, void *arg)
{
	Check *check = arg;
	MemoryContext old = MemoryContextSwitchTo(check->item_context);
	DynItem *item = DatumGetDynItem(datum);
	List *numbers = NIL;
	ListCell *cell;

	if (is_full(check))
	{
		MemoryContextSwitchTo(old);
		return;
	}
	foreach (cell, check->entities)
	{
		if (entity_has(lfirst(cell), item))
			numbers = lappend_int(numbers, foreach_current_index(cell));
	}
	if (numbers == NIL)
		entities_report(check, item, (ItemSpan){0}, "no entity", NULL);
	else if (list_length(numbers) > 1)
		entities_report(check, item, (ItemSpan){0}, "several entities",
						name_entities(check, numbers));
	else
		check_as_entity(check, linitial_int(numbers), item);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->item_context);
}

/* Checks items a page at a time, so that a check that has found enough ends. */
static void
check_items(Check *check, const FrontCall *call)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext page =
		AllocSetContextCreate(context, "dynamo_table page", ALLOCSET_DEFAULT_SIZES);
	DynItem *start = NULL;

	do
	{
		ScanRequest request = {
			.read = {.call = call, .start_key = start, .paged = true, .page_size = PAGE_SIZE}};
		ReadResult result;

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(page);
		request.read.expressions = expr_request(NULL, NULL);
		action_scan(&request, check_item, check, &result);
		MemoryContextSwitchTo(context);
		if (start != NULL)
			pfree(start);
		start = result.last_key == NULL ? NULL : item_from_value(item_root(result.last_key));
		check->read += result.scanned;
		if (progress_is_due(&check->told))
			ereport(NOTICE, (errmsg("check of table \"%s\": %s items read", check->table->name,
									progress_count(check->read, check->expected))));
		MemoryContextReset(page);
	} while (start != NULL && !is_full(check));
	MemoryContextDelete(page);
}

/*
 * Views
 */

/* This is a view to check, and what is found.  Any role may own the view. */
typedef struct ViewCheck
{
	const Check *check;
	Relation rel;
	ItemSpan entity;
	char *problem; /* NULL: none */
} ViewCheck;

static char *
view_state_problem(const Entity *entity, const EntityView *view, const char *name)
{
	const EntityAttribute *changed;
	EntityViewState state = entity_view_state(entity, view, &changed);

	if (state == ENTITY_VIEW_CURRENT)
		return NULL;
	if (changed == NULL)
		return psprintf(
			"view \"%s\" was made of another declaration: call dyn_create_entity_view() again",
			name);
	return psprintf("view \"%s\" shows attribute \"%s\" as of another type than %s: %s", name,
					item_quoted(changed->name), value_type_print(&changed->type),
					state == ENTITY_VIEW_OTHER_COLUMN
						? "drop it, and call dyn_create_entity_view() again"
						: "call dyn_create_entity_view() again");
}

static void
read_view(void *arg)
{
	ViewCheck *read = arg;
	EntityView *view = entity_view_read(read->rel);
	const char *name = RelationGetRelationName(read->rel);
	const Entity *entity = NULL;
	ListCell *cell;

	if (view == NULL || view->table != read->check->table->relid)
		return;
	read->entity = member_parse(view->definitions[0])->entity->name;
	foreach (cell, read->check->entities)
	{
		if (item_compare_bytes(((Entity *) lfirst(cell))->name, read->entity) == 0)
			entity = lfirst(cell);
	}
	if (entity == NULL)
		read->problem = psprintf("the entity of view \"%s\" is not declared", name);
	else
		read->problem = view_state_problem(entity, view, name);
}

/*
 * Checks a view.  Any role can create one of the table with any text in it, so an error is reported
 * as a problem.
 */
static void
check_view(Check *check, Relation rel)
{
	ViewCheck read = {.check = check, .rel = rel};
	ErrorData *error = attempt(read_view, &read);

	if (error == NULL)
	{
		if (read.problem != NULL)
			entities_report(check, NULL, read.entity, "view out of date", read.problem);
		return;
	}
	entities_report(check, NULL, (ItemSpan){0}, "view unreadable",
					psprintf("view \"%s\" is not as dyn_create_entity_view() makes it: %s",
							 RelationGetRelationName(rel), error->message));
}

/* Checks views.  One that another session has locked is reported as locked, and not waited for. */
static void
check_views(Check *check)
{
	ListCell *cell;

	foreach (cell, entity_views_of(check->table->relid))
	{
		Oid relid = lfirst_oid(cell);
		char *name = get_rel_name(relid);
		Relation rel;

		if (name == NULL)
			continue;
		if (!ConditionalLockRelationOid(relid, AccessShareLock))
		{
			entities_report(check, NULL, (ItemSpan){0}, "view locked",
							psprintf("view \"%s\" is locked by another session", name));
			continue;
		}
		/* it may be gone by now */
		rel = try_relation_open(relid, NoLock);
		if (rel == NULL)
		{
			UnlockRelationOid(relid, AccessShareLock);
			continue;
		}
		check_view(check, rel);
		relation_close(rel, AccessShareLock);
	}
}

/*
 * The function
 */

static void
entities_prepare(Check *check, Relation rel)
{
	ListCell *cell;

	check->expected = dyn_expected_items(rel);
	check->entities = entities_of(rel, check->table);
	if (check->entities == NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" has no entities", RelationGetRelationName(rel))));
	foreach (cell, check->entities)
		check->members =
			lappend(check->members,
					entity_view_members(lfirst(cell),
										entity_view_keys(lfirst(cell), check->table, NULL, true)));
	check->item_context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table checked item",
												ALLOCSET_DEFAULT_SIZES);
}

/* dyn_check_entities(table_name, max_problems): key, entity, problem, detail */
PG_FUNCTION_INFO_V1(dyn_check_entities);
Datum
dyn_check_entities(PG_FUNCTION_ARGS)
{
	Check check = {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	RightsBefore before;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "max_problems");
	check.max = argument_positive(fcinfo, 1, "max_problems");
	InitMaterializedSRF(fcinfo, 0);
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &check.table);
	entities_prepare(&check, rel);
	check_views(&check);
	rights_take_for_rows(rel, false, &before);
	if (!is_full(&check))
		check_items(&check, &(FrontCall){.rel = rel, .table = check.table});
	rights_give_back(&before);
	if (is_full(&check))
		ereport(NOTICE, (errmsg("the check of table \"%s\" ended after %lld problems",
								RelationGetRelationName(rel), (long long) check.max)));
	relation_close(rel, NoLock);
	return (Datum) 0;
}
