/*
 * check.c
 *	  What is wrong with a request for an item, as far as that can be said without reading any.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/several.h"
#include "catalog/derive.h"

/*
 * Raise an error if the request is invalid for its table: its expressions, its item or key, and the
 * attributes that its update changes are checked.  No item is read.  The table stays locked in
 * AccessShareLock mode until the transaction ends.
 */
void
action_check(TransactKind kind, const ItemRequest *request)
{
	const Expr *update = request->built.update;
	DynTable *table;
	DynKeyValues key;
	Relation rel;

	(void) action_condition(request);
	if (request->projection != NULL)
		(void) expr_projection(request->expressions, action_span(request->projection));
	if (request->update != NULL)
		update = expr_update(request->expressions, action_span(request->update));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, AccessShareLock, &table);
	if (kind == TRANSACT_PUT)
	{
		dyn_key_of_item(table, request->item, &key);
		dyn_check_index_keys(rel, table, NULL, request->item);
	}
	else
		dyn_key_exact(table, &table->primary, request->item, &key);
	if (update != NULL)
		action_forbid_keys(table, &table->primary, update,
						   "Delete the item and put it with its new key.");
	relation_close(rel, NoLock);
}
