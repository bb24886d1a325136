/*
 * plan.c
 *	  Kept plans of a step's statements.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "optimizer/cost.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "models/migrate/migrate.h"
#include "server/sql.h"

typedef struct StepPlan
{
	SelectOptions options;
	SPIPlanPtr plan;
	struct StepPlan *next;
} StepPlan;

/* Returns the type of arrays of a type; of text, if there can be no arrays of it. */
Oid
step_array_type(Oid type)
{
	Oid array = get_array_type(type);

	return OidIsValid(array) ? array : TEXTARRAYOID;
}

/* Sets the types of the parameters, and returns their number. */
static int
parameter_types(const MigrationStep *step, const SelectOptions *options, Oid **types)
{
	const StepRelation *relation = options->relation;
	int n = 0;

	*types =
		palloc((2 * INDEX_MAX_KEYS + step->attributes.n + MaxHeapAttributeNumber) * sizeof(Oid));
	switch (options->which)
	{
		case SELECT_RANGE:
		case SELECT_KEYS:
			n = ((options->lower ? 1 : 0) + (options->upper ? 1 : 0)) * step->nkeys;
			break;
		case SELECT_KEY:
			n = step->nkeys;
			break;
		case SELECT_ROW:
			(*types)[0] = get_array_type(step->source.desc->tdtypeid);
			return 1;
		case SELECT_EACH:
			for (n = 0; n < step->nkeys; n++)
				(*types)[n] = step_array_type(step->keys[n].type);
			return n;
		case SELECT_SAME:
			for (int i = 0; i < step->attributes.n; i++)
			{
				if (step_makes_key(step, step->attributes.list[i].attribute))
					(*types)[n++] = step_array_type(step->attributes.list[i].attribute->type.sql);
			}
			return n;
		case SELECT_REFERRING:
		case SELECT_PRESENT:
			for (n = 0; n < relation->npairs; n++)
				(*types)[n] = step_array_type(step_type(relation, relation->pairs[n].column));
			return n;
		case SELECT_LOCK:
			for (n = 0; n < relation->npairs; n++)
				(*types)[n] = step_array_type(step_type(relation->other, relation->pairs[n].other));
			return n;
	}
	for (int i = 0; i < n; i++)
		(*types)[i] = TEXTOID;
	return n;
}

static bool
sorts_children(const MigrationStep *step)
{
	for (int i = 0; i < step->nchildren; i++)
	{
		if (step->children[i].order != NIL)
			return true;
	}
	return false;
}

/*
 * Sets the planner's switches for a statement.  Rows of a range are to come from an index in its
 * order; otherwise all rows that are left would be sorted for each range.  If children are sorted,
 * sorting stays enabled, or the planner would read all children of all rows in the order of an
 * index.  Several rows are to be found by an index one by one, however few rows the table has when
 * the plan is made.
 */
static void
set_planner(const MigrationStep *step, const SelectOptions *options)
{
	jit_enabled = false;
	if (options->which == SELECT_RANGE)
	{
		enable_sort = enable_sort && sorts_children(step);
		return;
	}
	enable_hashjoin = false;
	enable_mergejoin = false;
	enable_seqscan = false;
	enable_material = false;
}

/* Has the server plan the statement again, if it has to, under these switches. */
static void
ensure_plan(const MigrationStep *step, const SelectOptions *options, SPIPlanPtr plan)
{
	bool *const switches[] = {&jit_enabled,      &enable_sort,    &enable_hashjoin,
							  &enable_mergejoin, &enable_seqscan, &enable_material};
	bool before[lengthof(switches)];
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	CachedPlan *generic;

	for (int i = 0; i < lengthof(switches); i++)
		before[i] = *switches[i];
	PG_TRY();
	{
		set_planner(step, options);
		generic = GetCachedPlan(source, NULL, CurrentResourceOwner, NULL);
		ReleaseCachedPlan(generic, CurrentResourceOwner);
	}
	PG_FINALLY();
	{
		for (int i = 0; i < lengthof(switches); i++)
			*switches[i] = before[i];
	}
	PG_END_TRY();
}

static bool
same_options(const SelectOptions *a, const SelectOptions *b)
{
	return a->which == b->which && a->lower == b->lower && a->upper == b->upper &&
		   a->limit == b->limit && a->relation == b->relation;
}

static StepPlan *
step_plan_prepare(MigrationStep *step, const SelectOptions *options)
{
	MemoryContext context = CurrentMemoryContext;
	StepPlan *plan = MemoryContextAlloc(step->migration->context, sizeof(StepPlan));
	Oid *types;
	int n = parameter_types(step, options, &types);
	const char *sql;

	plan->options = *options;
	sql = step_select(step, options);
	/* it has the rights of the relation's owner */
	if (options->which == SELECT_LOCK)
		sql = sql_on(options->relation->relid, sql);
	plan->plan = SPI_prepare_cursor(sql, n, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan->plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan->plan);
	MemoryContextSwitchTo(context);
	plan->next = step->plans;
	step->plans = plan;
	return plan;
}

/* This is a statement, and its plan. */
typedef struct Planning
{
	MigrationStep *step;
	const SelectOptions *options;
	SPIPlanPtr plan;
} Planning;

static void
find_plan(void *arg)
{
	Planning *planning = arg;
	StepPlan *plan = planning->step->plans;

	while (plan != NULL && !same_options(&plan->options, planning->options))
		plan = plan->next;
	if (plan == NULL)
		plan = step_plan_prepare(planning->step, planning->options);
	if (planning->options->which != SELECT_KEY && planning->options->which != SELECT_KEYS)
		ensure_plan(planning->step, planning->options, plan->plan);
	planning->plan = plan->plan;
}

/*
 * Returns the kept plan of a statement; called between migration_enter() and migration_leave().
 * Raises the error of fit.c if the statement cannot be analysed any more.
 */
SPIPlanPtr
step_plan(MigrationStep *step, const SelectOptions *options)
{
	const Migration *migration = step->migration;
	Planning planning = {step, options, NULL};

	migration_fit(migration->name, OidIsValid(migration->of), step->name, find_plan, &planning);
	return planning.plan;
}

/* Frees the prepared statements that step_plan() has kept with a step. */
void
step_free_plans(MigrationStep *step)
{
	for (StepPlan *plan = step->plans; plan != NULL; plan = plan->next)
		SPI_freeplan(plan->plan);
	step->plans = NULL;
}
