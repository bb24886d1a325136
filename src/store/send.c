/*
 * send.c
 *	  Writes of one item, sent to the node that has the shard of the item.
 *
 * By statements such a write is a distributed transaction, of one or two statements.  The call
 * itself is one statement, which is a transaction of the other node, where it works on the shard.
 * So a call is sent only if it is all that its transaction does here.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/definition/arn.h"
#include "catalog/entries.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "item/build.h"
#include "server/citus.h"
#include "store/direct.h"
#include "store/plan.h"
#include "store/shard.h"

/* These shapes, one for each function, come beside those of remote_scan.c. */
#define SEND (1 << 30)

/*
 * Returns whether a call is sent.  What came from another node of Citus is not sent on: nodes may
 * not agree on where a shard is while it moves.  The characteristics of the transaction are not
 * sent, so neither is a call that depends on them.  On another node a call could not reach the
 * entries of indexes that are distributed by their own key.
 */
static bool
is_sent(DynTable *table, Datum partition, FunctionCallInfo call)
{
	const Node *site = call->flinfo->fn_expr;

	return table->distributed && !dyn_has_entries(table) && !XactReadOnly &&
		   !IsolationUsesXactSnapshot() && store_call_is_alone(site) &&
		   store_result_is_plain(site) && !citus_is_calling() &&
		   direct_call_refusal(table, ACL_SELECT) == NULL && store_shard_is_away(table, partition);
}

/*
 * Returns whether a call was sent here.  It must not wait for the table: the node that has sent it
 * has locked the table there, and whoever changes the table may have locked it here and wait for it
 * there.  Then it returns store_not_done().
 */
bool
store_was_sent(const Node *site)
{
	return citus_is_calling() && store_call_is_alone(site);
}

/* Returns an item without attributes, as no call returns that has written. */
DynItem *
store_not_done(void)
{
	ItemBuilder b;

	item_build_init(&b, 64);
	item_build_begin(&b, ITEM_M);
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns the table's name as calls have it, whatever the search_path; NULL if that is another one's. */
static char *
name_everywhere(const DynTable *table)
{
	char *name = psprintf("%s.%s", get_namespace_name(get_rel_namespace(table->relid)),
						  get_rel_name(table->relid));

	return dyn_table_lookup(dyn_table_name(item_span(name))) == table->relid ? name : NULL;
}

/* Executes a call on the node of a partition key's shard, and returns what the call returns. */
static DynItem *
execute(DynTable *table, const char *name, Datum partition, int number, FunctionCallInfo call)
{
	Oid types[1 + FUNC_MAX_ARGS] = {dyn_key_column_type(table->keys[0].type)};
	Datum values[1 + FUNC_MAX_ARGS] = {partition, CStringGetTextDatum(name)};
	Oid function = call->flinfo->fn_oid;
	ParamListInfo parameters;
	Oid *declared;
	Datum answer;
	int n;

	(void) get_func_signature(function, &declared, &n);
	memcpy(types + 1, declared, n * sizeof(Oid));
	for (int i = 1; i < n; i++)
		values[1 + i] = call->args[i].value;
	parameters = store_parameters(1 + n, types, values);
	for (int i = 1; i < n; i++)
		parameters->params[1 + i].isnull = call->args[i].isnull;
	return store_call(table, SEND + number,
					  quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
												 get_func_name(function)),
					  parameters, &answer)
			   ? DatumGetDynItem(answer)
			   : NULL;
}

/*
 * Has the node of a partition key's shard execute a call of an SQL function that writes an item,
 * whose first argument is the table.  Sets *item to what the call returns.  False if the call is
 * not sent, or has found the table locked, and is to be executed here.  The number tells the
 * functions apart.
 */
bool
store_send(DynTable *table, Datum partition, int number, FunctionCallInfo call, DynItem **item)
{
	ErrorContextCallback callback;
	const char *name = is_sent(table, partition, call) ? name_everywhere(table) : NULL;
	DynItem *answer;

	if (name == NULL)
		return false;
	store_begin(&callback);
	answer = execute(table, name, partition, number, call);
	store_end(&callback);
	if (answer != NULL && item_children(item_root(answer)).count == 0)
		return false;
	*item = answer;
	return true;
}
