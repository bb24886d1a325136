/*
 * unchanged.c
 *	  Rows that stay as they are, and keys that triggers must not change.
 *
 * The direct store asks before it writes.  In the statements of the SPI store the derive trigger
 * asks: it runs after the row was locked, after the policies that decide which rows may be updated,
 * and after users' BEFORE triggers, and before anything is written.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "nodes/nodes.h"
#include "rewrite/rowsecurity.h"
#include "storage/predicate.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "catalog/unchanged.h"

/*
 * Returns whether two versions of a row have the same bytes in every column, after detoasting;
 * dropped columns are ignored.
 */
bool
dyn_row_unchanged(TupleDesc desc, const Datum *old, const bool *old_nulls, const Datum *new,
				  const bool *new_nulls)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped)
			continue;
		if (old_nulls[i] != new_nulls[i])
			return false;
		/* sizes first: values in TOAST are fetched only if the sizes are equal */
		if (!old_nulls[i] && !datum_image_eq(old[i], new[i], column->attbyval, column->attlen))
			return false;
	}
	return true;
}

/* Counts a row that was found unchanged as read, whatever snapshot has found it. */
void
dyn_row_kept(Relation rel, HeapTuple row)
{
	PredicateLockTID(rel, &row->t_self, GetActiveSnapshot(), HeapTupleHeaderGetXmin(row->t_data));
}

/*
 * Statements of the SPI store, and BEFORE triggers of the direct one
 */

static DynStatement *statements = NULL;

static int
trigger_depth(void)
{
	return DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0));
}

/*
 * Returns whether a policy has a stricter condition for updated rows than for rows that may be
 * updated.  Only a write evaluates that condition.
 */
static bool
policies_check_updates(const DynTable *table)
{
	bool check = false;
	Relation rel;
	ListCell *cell;

	if (!table->row_security || check_enable_rls(table->relid, InvalidOid, true) != RLS_ENABLED)
		return false;
	rel = RelationIdGetRelation(table->relid);
	foreach (cell, rel->rd_rsdesc->policies)
	{
		const RowSecurityPolicy *policy = lfirst(cell);

		if ((policy->polcmd == '*' || policy->polcmd == ACL_UPDATE_CHR) &&
			policy->with_check_qual != NULL && !equal(policy->with_check_qual, policy->qual))
			check = true;
	}
	RelationClose(rel);
	return check;
}

/*
 * Begins a statement.  The caller has the relation locked.  The command is that of the statement's
 * snapshot.  The keys are those of the items that the statement inserts, in that order; there are
 * none if it only updates.
 */
void
dyn_statement_begin(DynStatement *statement, const DynTable *table, CommandId command, int nkeys,
					const DynKeyValues *const *keys)
{
	*statement = (DynStatement){.relid = table->relid,
								.keeps = !policies_check_updates(table),
								.rules = table->rules,
								.command = command,
								.depth = trigger_depth(),
								.nkeys = nkeys,
								.keys = keys,
								.outer = statements};
	statements = statement;
}

/*
 * Ends what dyn_statement_begin() has begun.  It must be called after an error too, because the
 * list of statements points to the caller's stack.
 */
void
dyn_statement_end(const DynStatement *statement)
{
	statements = statement->outer;
}

/*
 * Returns whether the running statement is one of the extension's on that relation.  Statements of
 * users' triggers, defaults and checks are later commands.  Those of rules are on other relations;
 * but they may come before ours, which is a later command then, so nesting depth has to tell.
 */
static bool
is_ours(const DynStatement *statement, Relation rel)
{
	if (statement == NULL ||
		(RelationGetRelid(rel) != statement->relid && !rel->rd_rel->relispartition))
		return false;
	return statement->rules ? trigger_depth() == statement->depth + 1
							: GetActiveSnapshot()->curcid == statement->command;
}

/* Called by a trigger: whether the statement that has fired it is one of the extension's. */
bool
dyn_statement_runs(Relation rel)
{
	return is_ours(statements, rel);
}

/*
 * Called by a trigger before an update.  Returns true if nothing is to be written; the row is
 * locked, and was counted.
 */
bool
dyn_statement_keeps(Relation rel, HeapTuple old, HeapTuple new)
{
	TupleDesc desc = RelationGetDescr(rel);
	Datum *values;
	bool *nulls;

	if (!is_ours(statements, rel) || !statements->keeps)
		return false;
	values = palloc(2 * desc->natts * sizeof(Datum));
	nulls = palloc(2 * desc->natts * sizeof(bool));
	heap_deform_tuple(old, desc, values, nulls);
	heap_deform_tuple(new, desc, values + desc->natts, nulls + desc->natts);
	if (!dyn_row_unchanged(desc, values, nulls, values + desc->natts, nulls + desc->natts))
		return false;
	dyn_row_kept(rel, old);
	statements->kept++;
	return true;
}

pg_noreturn static void
fail_changed_key(const DynTable *table)
{
	ereport(ERROR, (errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
					errmsg("a trigger of table \"%s\" changed the key of the item", table->name)));
}

static bool
same_key(const DynKeyValues *a, const DynKeyValues *b)
{
	for (int i = 0; i < a->nkeys; i++)
	{
		if (!datum_image_eq(a->values[i], b->values[i], false, -1))
			return false;
	}
	return true;
}

/*
 * Called by a trigger before an insert, with the key that the item has by now.  Triggers before it
 * may have suppressed rows, whose keys are passed over.
 */
void
dyn_statement_check_inserted(Relation rel, const DynTable *table, const DynKeyValues *key)
{
	DynStatement *statement = statements;

	if (!is_ours(statement, rel) || statement->nkeys == 0)
		return;
	while (statement->next < statement->nkeys)
	{
		if (same_key(statement->keys[statement->next++], key))
			return;
	}
	fail_changed_key(table);
}

/* Called by a trigger before an update that has changed the key. */
void
dyn_statement_check_updated(Relation rel, const DynTable *table)
{
	if (is_ours(statements, rel))
		fail_changed_key(table);
}
