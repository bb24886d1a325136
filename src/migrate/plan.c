/*
 * plan.c
 *	  Kept plans of a step's statements.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "optimizer/cost.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "migrate/migrate.h"

typedef struct StepPlan
{
	SelectOptions options;
	SPIPlanPtr plan;
	struct StepPlan *next;
} StepPlan;

static Oid
column_type(const StepRelation *relation, AttrNumber attnum)
{
	return TupleDescAttr(relation->desc, attnum - 1)->atttypid;
}

/* Sets the types of the parameters, and returns their number. */
static int
parameter_types(const MigrationStep *step, const SelectOptions *options, Oid **types)
{
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
			(*types)[0] = step->source.desc->tdtypeid;
			return 1;
		case SELECT_SAME:
			for (int i = 0; i < step->attributes.n; i++)
			{
				if (step_makes_key(step, step->attributes.list[i].attribute))
					(*types)[n++] = step->attributes.list[i].attribute->type.sql;
			}
			return n;
		case SELECT_REFERRING:
			for (n = 0; n < options->relation->npairs; n++)
				(*types)[n] = column_type(options->relation, options->relation->pairs[n].column);
			return n;
		case SELECT_LOCK:
			for (n = 0; n < options->relation->npairs; n++)
				(*types)[n] =
					column_type(options->link != NULL ? &options->link->relation : &step->source,
								options->relation->pairs[n].other);
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
 * Rows of a range are to come from an index in its order; otherwise all rows that are left would be
 * sorted for each range.  If children are sorted, sorting stays enabled, or the planner would read
 * all children of all rows in the order of an index.
 */
static void
ensure_ordered(const MigrationStep *step, SPIPlanPtr plan)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	bool sort = enable_sort;
	bool jit = jit_enabled;
	CachedPlan *generic;

	PG_TRY();
	{
		enable_sort = enable_sort && sorts_children(step);
		jit_enabled = false;
		generic = GetCachedPlan(source, NULL, CurrentResourceOwner, NULL);
		ReleaseCachedPlan(generic, CurrentResourceOwner);
	}
	PG_FINALLY();
	{
		enable_sort = sort;
		jit_enabled = jit;
	}
	PG_END_TRY();
}

static bool
same_options(const SelectOptions *a, const SelectOptions *b)
{
	return a->which == b->which && a->lower == b->lower && a->upper == b->upper &&
		   a->limit == b->limit && a->relation == b->relation && a->link == b->link;
}

static StepPlan *
prepare(MigrationStep *step, const SelectOptions *options)
{
	MemoryContext context = CurrentMemoryContext;
	StepPlan *plan = MemoryContextAlloc(step->migration->context, sizeof(StepPlan));
	Oid *types;
	int n = parameter_types(step, options, &types);

	plan->options = *options;
	plan->plan = SPI_prepare_cursor(step_select(step, options), n, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan->plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan->plan);
	MemoryContextSwitchTo(context);
	plan->next = step->plans;
	step->plans = plan;
	return plan;
}

/* Returns the kept plan of a statement; called between migration_enter() and migration_leave(). */
SPIPlanPtr
step_plan(MigrationStep *step, const SelectOptions *options)
{
	StepPlan *plan = step->plans;

	while (plan != NULL && !same_options(&plan->options, options))
		plan = plan->next;
	if (plan == NULL)
		plan = prepare(step, options);
	if (options->which == SELECT_RANGE)
		ensure_ordered(step, plan->plan);
	return plan->plan;
}

/* Frees the prepared statements that step_plan() has kept with a step. */
void
step_free_plans(MigrationStep *step)
{
	for (StepPlan *plan = step->plans; plan != NULL; plan = plan->next)
		SPI_freeplan(plan->plan);
	step->plans = NULL;
}
