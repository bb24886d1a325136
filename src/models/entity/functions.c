/*
 * functions.c
 *	  Items of entities by the attributes of the application: a front end over the actions.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/lookup.h"
#include "models/entity/request.h"
#include "server/arguments.h"
#include "server/errors.h"

/*
 * Entities by name
 */

/*
 * Reads the first two arguments of nearly all functions here, and checks that the third one is
 * given.
 */
static const Entity *
entity_argument(FunctionCallInfo fcinfo, LOCKMODE lockmode, const char *third)
{
	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "entity");
	argument_require(fcinfo, 2, third);
	return entity_open(PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1), lockmode);
}

static Datum
return_item(FunctionCallInfo fcinfo, DynItem *item)
{
	if (item == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item);
}

/*
 * Rendering
 */

/* dyn_render(template, vals) */
PG_FUNCTION_INFO_V1(dyn_render);
Datum
dyn_render(PG_FUNCTION_ARGS)
{
	Template *t = template_parse(text_span(PG_GETARG_TEXT_PP(0)));
	const TemplatePart *missing;
	StringInfoData out;

	initStringInfo(&out);
	if (!template_render(t, item_root(PG_GETARG_DYN_ITEM(1)), &out, &missing))
		PG_RETURN_NULL();
	item_forbid_nul((ItemSpan){out.data, (uint32) out.len});
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* dyn_entity_keys(table_name, entity, attributes) */
PG_FUNCTION_INFO_V1(dyn_entity_keys);
Datum
dyn_entity_keys(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");

	PG_RETURN_POINTER(entity_keys(entity, PG_GETARG_DYN_ITEM(2), false));
}

/* dyn_entity_item(table_name, entity, attributes) */
PG_FUNCTION_INFO_V1(dyn_entity_item);
Datum
dyn_entity_item(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");

	PG_RETURN_POINTER(entity_item(entity, PG_GETARG_DYN_ITEM(2)));
}

/* dyn_entity_attributes(table_name, item) omits what templates make (docs/semantics.md, M10). */
PG_FUNCTION_INFO_V1(dyn_entity_attributes);
Datum
dyn_entity_attributes(PG_FUNCTION_ARGS)
{
	DynItem *item = argument_item(fcinfo, 1);
	const Entity *entity;
	DynTable *table;
	Relation rel =
		dyn_table_open(argument_required_text(fcinfo, 0, "table_name"), AccessShareLock, &table);

	entity = item == NULL ? NULL : entity_of_item(entities_of(rel, table), item);
	relation_close(rel, NoLock);
	return return_item(fcinfo, entity == NULL ? NULL : entity_logical(entity, item));
}

/*
 * Items by the attributes of the application
 */

/* return_values of a put may be one of these: an item has values that the caller did not give. */
static const char *const put_returns[] = {"NONE", "ALL_OLD", "ALL_NEW", NULL};
static const ReturnValues put_return_values[] = {RETURN_NONE, RETURN_ALL_OLD, RETURN_ALL_NEW};

/* dyn_put_entity(table_name, entity, attributes, condition, …) */
PG_FUNCTION_INFO_V1(dyn_put_entity);
Datum
dyn_put_entity(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, RowExclusiveLock, "attributes");
	ItemRequest request = {.table = PG_GETARG_TEXT_PP(0)};

	entity_request_put(entity, PG_GETARG_DYN_ITEM(2), &request);
	action_write_arguments(fcinfo, 3, put_returns, &request);
	request.return_values = put_return_values[request.return_values];
	return return_item(fcinfo, action_put(&request));
}

/* dyn_get_entity(table_name, entity, attributes, consistent_read) */
PG_FUNCTION_INFO_V1(dyn_get_entity);
Datum
dyn_get_entity(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");
	ItemRequest request = {0};
	DynItem *item;

	request.table = PG_GETARG_TEXT_PP(0);
	request.item = entity_keys(entity, PG_GETARG_DYN_ITEM(2), true);
	request.expressions = expr_request(NULL, NULL);
	request.consistent = argument_flag(fcinfo, 3, false);
	item = action_get(&request);
	if (item == NULL || entity_is_another(entity, item))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(entity_logical(entity, item));
}

/* dyn_update_entity(table_name, entity, attributes, update, condition, …) */
PG_FUNCTION_INFO_V1(dyn_update_entity);
Datum
dyn_update_entity(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, RowExclusiveLock, "attributes");
	ItemRequest request = {.table = PG_GETARG_TEXT_PP(0), .update = argument_text(fcinfo, 3)};

	entity_request_update(entity, PG_GETARG_DYN_ITEM(2), &request);
	action_write_arguments(fcinfo, 4, option_return_any, &request);
	return return_item(fcinfo, action_update(&request));
}

/* dyn_delete_entity(table_name, entity, attributes, condition, …) */
PG_FUNCTION_INFO_V1(dyn_delete_entity);
Datum
dyn_delete_entity(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, RowExclusiveLock, "attributes");
	ItemRequest request = {.table = PG_GETARG_TEXT_PP(0)};

	entity_request_key(entity, PG_GETARG_DYN_ITEM(2), &request);
	action_write_arguments(fcinfo, 3, option_return_old, &request);
	return return_item(fcinfo, action_delete(&request));
}
