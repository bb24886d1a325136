/*
 * item_request.c
 *	  The options of a request for one item: return values, conditions, attributes
 *	  that must not be keys, and the form in which its application sees items.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/several.h"
#include "actions/write.h"
#include "server/arguments.h"
#include "server/errors.h"

/*
 * ReturnValues may be these: of puts and deletes, and of updates (docs/semantics.md, R07).  The
 * first ones are also those of ReturnValuesOnConditionCheckFailure (docs/semantics.md, R12).
 */
const char *const option_return_old[] = {"NONE", "ALL_OLD", NULL};
const char *const option_return_any[] = {"NONE",    "ALL_OLD",     "UPDATED_OLD",
										 "ALL_NEW", "UPDATED_NEW", NULL};

/*
 * Reads what the arguments of all writes end with, from i on: condition, names, vals,
 * return_values, return_values_on_condition_check_failure.
 */
void
action_write_arguments(FunctionCallInfo fcinfo, int i, const char *const *choices,
					   ItemRequest *request)
{
	request->condition = argument_text(fcinfo, i);
	request->expressions = expr_request_arguments(fcinfo, i + 1, i + 2);
	request->return_values =
		(ReturnValues) argument_choice(fcinfo, i + 3, "return_values", RETURN_NONE, choices);
	request->old_on_failure =
		argument_choice(fcinfo, i + 4, "return_values_on_condition_check_failure", RETURN_NONE,
						option_return_old) == RETURN_ALL_OLD;
}

/*
 * Returns a stored item as conditions and updates of the request see it.  NULL gives NULL; a
 * request without a form gives the item itself, not a copy.
 */
DynItem *
action_shown(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->shown(stored, request->form->arg);
}

/*
 * Returns a stored item as the result of the request has it.  NULL gives NULL; a request without a
 * form gives the item itself, not a copy.
 */
DynItem *
action_returned(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->returned(stored, request->form->arg);
}

/* Returns what an update begins with where there is no item, as it is shown. */
DynItem *
action_blank(const ItemRequest *request)
{
	return request->form == NULL ? request->item : request->form->blank;
}

/*
 * Returns what an update makes of an item, which is shown to it, or of nothing (NULL); without an
 * update the item stays, or is made.  NULL if there is none and none is made.
 */
DynItem *
action_updated(const ItemRequest *request, const Expr *update, const DynItem *shown)
{
	DynItem *new;

	if (update != NULL)
		new = expr_apply(update, shown, action_blank(request));
	else
		new = shown != NULL ? (DynItem *) shown : action_blank(request);
	if (new == NULL || request->form == NULL)
		return new;
	return request->form->stored(new, request->form->arg);
}

/* Returns the condition of a request, or NULL if it has none. */
const Expr *
action_condition(const ItemRequest *request)
{
	if (request->condition == NULL || request->built.condition != NULL)
		return request->built.condition;
	return expr_condition(request->expressions, EXPR_CONDITION, text_span(request->condition));
}

/* Returns the update of a request, or NULL if it has none. */
const Expr *
action_update_expression(const ItemRequest *request)
{
	if (request->update == NULL || request->built.update != NULL)
		return request->built.update;
	return expr_update(request->expressions, text_span(request->update));
}

/* Returns the projection of a request, or NULL if it has none. */
const Expr *
action_projection(const ItemRequest *request)
{
	if (request->projection == NULL || request->built.projection != NULL)
		return request->built.projection;
	return expr_projection(request->expressions, text_span(request->projection));
}

/*
 * Parses the expressions of a request before its action does, which will find them built.  Raises
 * ERRCODE_DYN_VALIDATION for what is wrong with these, and with their names and values.
 */
void
action_parse(ItemRequest *request)
{
	request->built.condition = action_condition(request);
	request->built.update = action_update_expression(request);
	request->built.projection = action_projection(request);
	expr_request_done(request->expressions);
}

/* Returns whether an item, NULL if there is none, meets the condition of a request. */
bool
action_passes(const ItemRequest *request, const Expr *condition, const DynItem *item)
{
	if (item == NULL && request->absent != ABSENT_JUDGED)
		return request->absent == ABSENT_PASSES;
	return condition == NULL || expr_matches(condition, action_shown(request, item));
}

/*
 * Raises ConditionalCheckFailedException unless the item, NULL if there is none, meets the
 * condition.  DETAIL is the item alone, for programs to read.
 */
void
action_check_condition(const ItemRequest *request, const Expr *condition, const DynItem *item)
{
	StringInfoData old;

	if (action_passes(request, condition, item))
		return;
	initStringInfo(&old);
	if (request->old_on_failure && item != NULL)
		item_print_attributes(&old, item_root(action_returned(request, item)));
	ereport_answer(
		(errcode(ERRCODE_DYN_CONDITIONAL_CHECK_FAILED), errmsg("the conditional request failed"),
		 errwords("The conditional request failed"),
		 old.len > 0 ? errdetail_internal("%s", old.data) : 0,
		 old.len > 0 ? errdetail_log("The item that the caller has asked for is not logged.") : 0));
}

/* Returns what DynamoDB says of an update or a filter that has to leave a key alone. */
static const char *
key_words(const Expr *expr, ItemSpan key)
{
	const char *parameter = expr_parameter(expr);

	if (expr_kind(expr) == EXPR_UPDATE)
		return psprintf(DYN_INVALID_WORDS "Cannot update attribute %s. "
										  "This attribute is part of the key",
						item_quoted_words(key));
	if (strcmp(parameter, "FilterExpression") == 0)
		parameter = "Filter Expression";
	return psprintf("%s can only contain non-primary key attributes: Primary key attribute: %s",
					parameter, item_quoted_words(key));
}

/* Raises an error if the expression mentions a key of the index. */
void
action_forbid_keys(const DynTable *table, const DynIndex *index, const Expr *expr, const char *hint)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;

		if (!expr_mentions(expr, attribute))
			continue;
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid %s: \"%s\" is a key attribute", expr_parameter(expr),
							   item_quoted(attribute)),
						errwords("%s", key_words(expr, attribute)), errhint("%s", hint)));
	}
}

/*
 * Raises an error if the expression, NULL if there is none, looks into a key of the table or of an
 * index, which is a scalar (docs/semantics.md, K26).
 */
void
action_check_paths(const DynTable *table, const Expr *expr)
{
	for (int i = 0; expr != NULL && i < table->nattributes; i++)
	{
		ItemSpan attribute = table->keys[i].attribute;

		if (expr_looks_into(expr, attribute))
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("invalid %s: there is nothing within \"%s\", which is a key "
								   "attribute",
								   expr_parameter(expr), item_quoted(attribute)),
							errwords("Key attributes must be scalars; list random access '[]' and "
									 "map lookup '.' are not allowed: %s: %s",
									 i < table->nkeys ? "Key" : "IndexKey",
									 item_quoted_words(attribute))));
	}
}

/* Raises an error if an update writes a value of the request that cannot be the key of an index. */
static void
check_index_keys(const DynTable *table, const Expr *update)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		for (int k = 0; k < index->nkeys; k++)
		{
			const DynKey *key = dyn_index_key(table, index, k);
			bool partition = k < index->npartition;
			ItemSpan value;

			if (expr_sets_value(update, key->attribute, &value) &&
				dyn_key_problem(key, partition, value) != NULL)
				dyn_fail_index_key(index, key, partition, value, DYN_KEY_UPDATED);
		}
	}
}

/* Raises an error if an update, NULL if there is none, changes what it must not. */
void
action_check_update(const ItemRequest *request, const DynTable *table, const Expr *update)
{
	if (update == NULL)
		return;
	/* an item's key does not change (docs/semantics.md, K18) */
	action_forbid_keys(table, &table->primary, update,
					   "Delete the item and put it with its new key.");
	if (request->form != NULL)
		request->form->check_update(update, request->form->arg);
	else
		check_index_keys(table, update);
	action_check_paths(table, update);
}

/*
 * Raises an error if the request is invalid for its table: its expressions, its item or key, and
 * the attributes that its update changes are checked.  No item is read.  The table stays locked in
 * AccessShareLock mode until the transaction ends.
 */
void
action_check(TransactKind kind, const ItemRequest *request)
{
	const Expr *condition = action_condition(request);
	const Expr *projection = action_projection(request);
	const Expr *update;
	FrontCall call;
	ItemWriter writer;
	ItemWrite write;

	update = action_update_expression(request);
	expr_request_done(request->expressions);
	action_open(request->call, request->table, AccessShareLock, &call);
	write_open(&writer, &call);
	if (kind == TRANSACT_PUT)
		write_prepare_put(&writer, request->item, &write);
	else
		write_prepare_key(&writer, request->item, &write);
	action_check_update(request, call.table, update);
	action_check_paths(call.table, condition);
	action_check_paths(call.table, projection);
	relation_close(call.rel, NoLock);
}
