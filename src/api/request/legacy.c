/*
 * legacy.c
 *	  The legacy parameters of requests.
 *
 * They are read without being checked against each other: errors about parameters that exclude each
 * other come first, and these are known only at the end of the request (parameters.c).
 */
#include "postgres.h"

#include "actions/actions.h"
#include "api/request/legacy.h"
#include "server/arguments.h"
#include "server/errors.h"

/* This is an attribute with a condition or an update. */
typedef struct LegacyAttribute
{
	ItemSpan name;
	int op; /* ExprLegacyOperator, or -1 */
	LegacyList values; /* AttributeValueList: DynItem * */
	DynItem *value; /* or NULL */
	int exists; /* 1 or 0; -1: it is not given */
	int action; /* ExprLegacyAction */
} LegacyAttribute;

/*
 * Reading
 */

static void
read_values(JsonReader *reader, void *to)
{
	LegacyList *values = to;

	values->given = true;
	for (json_read_array(reader); json_read_element(reader);)
		values->members = lappend(values->members, json_read_item(reader, ITEM_SYNTAX_VALUE));
}

static void
read_value(JsonReader *reader, void *to)
{
	*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_VALUE);
}

#define OPERATOR_SET \
	"IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS"

static const RequestMember condition_members[] = {
	{"AttributeValueList", MEMBER_CUSTOM, offsetof(LegacyAttribute, values), .read = read_values},
	{"ComparisonOperator", MEMBER_CHOICE, offsetof(LegacyAttribute, op), true,
	 .choices = expr_legacy_operators, .set = OPERATOR_SET},
};

static const RequestMember expected_members[] = {
	{"Value", MEMBER_CUSTOM, offsetof(LegacyAttribute, value), .read = read_value},
	{"Exists", MEMBER_FLAG, offsetof(LegacyAttribute, exists)},
	{"ComparisonOperator", MEMBER_CHOICE, offsetof(LegacyAttribute, op),
	 .choices = expr_legacy_operators, .set = OPERATOR_SET},
	{"AttributeValueList", MEMBER_CUSTOM, offsetof(LegacyAttribute, values), .read = read_values},
};

static const RequestMember update_members[] = {
	{"Value", MEMBER_CUSTOM, offsetof(LegacyAttribute, value), .read = read_value},
	{"Action", MEMBER_CHOICE, offsetof(LegacyAttribute, action), .choices = expr_legacy_actions},
};

static void
read_attributes(JsonReader *reader, const RequestMember *members, int n, LegacyList *to)
{
	ItemSpan name;

	to->given = true;
	for (json_read_map(reader); json_read_member(reader, &name);)
	{
		LegacyAttribute *attribute = palloc0(sizeof(LegacyAttribute));

		attribute->name = name;
		attribute->op = -1;
		attribute->exists = -1;
		request_read_members(reader, members, n, attribute);
		to->members = lappend(to->members, attribute);
	}
}

/* Reads QueryFilter, ScanFilter or KeyConditions into a LegacyList of LegacyAttribute. */
void
legacy_read_conditions(JsonReader *reader, void *to)
{
	read_attributes(reader, condition_members, lengthof(condition_members), to);
}

/* Reads Expected into a LegacyList of LegacyAttribute. */
void
legacy_read_expected(JsonReader *reader, void *to)
{
	read_attributes(reader, expected_members, lengthof(expected_members), to);
}

/* Reads AttributeUpdates into a LegacyList of LegacyAttribute. */
void
legacy_read_updates(JsonReader *reader, void *to)
{
	read_attributes(reader, update_members, lengthof(update_members), to);
}

/* Reads AttributesToGet into a LegacyList of ItemSpan. */
void
legacy_read_names(JsonReader *reader, void *to)
{
	LegacyList *names = to;

	names->given = true;
	for (json_read_array(reader); json_read_element(reader);)
	{
		ItemSpan *name = palloc(sizeof(ItemSpan));

		*name = json_read_string(reader);
		names->members = lappend(names->members, name);
	}
	if (names->members == NIL || list_length(names->members) > EXPR_MAX_LEGACY_PROJECTION)
		request_check_length(reader, list_length(names->members), 1, EXPR_MAX_LEGACY_PROJECTION,
							 request_strings_text(names->members));
}

/* Reads ConditionalOperator into a LegacyOperator. */
void
legacy_read_operator(JsonReader *reader, void *to)
{
	static const char *const choices[] = {"AND", "OR", NULL};
	int choice = request_read_choice(reader, "ConditionalOperator", choices, "OR, AND");

	*(LegacyOperator *) to = choice == 0 ? LEGACY_AND : LEGACY_OR;
}

/* Reads Query's operator, which is told alone and before all else (docs/semantics.md, SV27). */
void
legacy_read_query_operator(JsonReader *reader, void *to)
{
	ItemSpan name = json_read_string(reader);

	if (item_span_is(name, "AND"))
		*(LegacyOperator *) to = LEGACY_AND;
	else if (item_span_is(name, "OR"))
		*(LegacyOperator *) to = LEGACY_OR;
	else
		request_tell_first(reader, "Failed to satisfy constraint: Member must satisfy enum value "
								   "set: [ALL, OR]");
}

/*
 * What goes together
 */

static void
add_name(StringInfo names, bool given, const char *name)
{
	if (given)
		appendStringInfo(names, "%s%s", names->len > 0 ? ", " : "", name);
}

/*
 * Returns the legacy parameters that are given, joined.  KeyConditions are one only beside a
 * KeyConditionExpression: with other expressions they may go.
 */
char *
legacy_names(const LegacyParameters *legacy, bool key_condition)
{
	StringInfoData names;

	initStringInfo(&names);
	add_name(&names, legacy->attributes_to_get.given, "AttributesToGet");
	add_name(&names, legacy->query_filter.given, "QueryFilter");
	add_name(&names, legacy->scan_filter.given, "ScanFilter");
	add_name(&names, legacy->attribute_updates.given, "AttributeUpdates");
	add_name(&names, legacy->expected.given, "Expected");
	add_name(&names, legacy->conditional_operator != LEGACY_NONE, "ConditionalOperator");
	add_name(&names, legacy->key_conditions.given && key_condition, "KeyConditions");
	return names.data;
}

static void
check_operator(const LegacyParameters *legacy)
{
	int n = list_length(legacy->expected.members) + list_length(legacy->query_filter.members) +
			list_length(legacy->scan_filter.members);

	if (legacy->conditional_operator == LEGACY_NONE || n > 1)
		return;
	if (n == 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "ConditionalOperator cannot be used without Filter or Expected");
	dyn_error(ERRCODE_DYN_VALIDATION,
			  "ConditionalOperator can only be used when Filter or Expected has two or more "
			  "elements");
}

/*
 * Building
 */

pg_noreturn static void
legacy_fail_parameter(const char *problem, ItemSpan attribute)
{
	dyn_error_kind(WORDS_EXPECTED, DYN_INVALID_WORDS "%s for Attribute: %s", problem,
				   item_quoted_words(attribute));
}

/* Checks what of Value, Exists, ComparisonOperator and AttributeValueList makes sense together. */
static void
check_expected(const LegacyAttribute *a)
{
	if (a->values.given && a->value != NULL)
		legacy_fail_parameter("Value and AttributeValueList cannot be used together", a->name);
	if (a->op >= 0)
	{
		if (a->exists >= 0)
			legacy_fail_parameter("Exists and ComparisonOperator cannot be used together", a->name);
		if (a->op != EXPR_LEGACY_NULL && a->op != EXPR_LEGACY_NOT_NULL && !a->values.given &&
			a->value == NULL)
			legacy_fail_parameter(
				psprintf("Value or AttributeValueList must be used with ComparisonOperator: %s",
						 expr_legacy_operators[a->op]),
				a->name);
		return;
	}
	if (a->values.given)
		legacy_fail_parameter("AttributeValueList can only be used with a ComparisonOperator",
							  a->name);
	if (a->exists == 0 && a->value != NULL)
		legacy_fail_parameter("Value cannot be used when Exists is false", a->name);
	if (a->exists != 0 && a->value == NULL)
		legacy_fail_parameter(
			psprintf("Value must be provided when Exists is %s", a->exists == 1 ? "true" : "null"),
			a->name);
}

static ItemSpan *
value_spans(const LegacyAttribute *a, int *n)
{
	ItemSpan *spans = palloc((list_length(a->values.members) + 1) * sizeof(ItemSpan));
	ListCell *cell;

	*n = 0;
	if (a->value != NULL)
		spans[(*n)++] = item_root(a->value);
	foreach (cell, a->values.members)
		spans[(*n)++] = item_root(lfirst(cell));
	return spans;
}

static ExprLegacyCondition *
make_conditions(const LegacyList *list, int *n)
{
	ExprLegacyCondition *conditions =
		palloc(list_length(list->members) * sizeof(ExprLegacyCondition));
	ListCell *cell;

	*n = 0;
	foreach (cell, list->members)
	{
		const LegacyAttribute *a = lfirst(cell);
		ExprLegacyCondition *condition = &conditions[(*n)++];

		condition->attribute = a->name;
		condition->values = value_spans(a, &condition->nvalues);
		if (a->op >= 0)
			condition->op = (ExprLegacyOperator) a->op;
		else
			condition->op = a->exists == 0 ? EXPR_LEGACY_NULL : EXPR_LEGACY_EQ;
	}
	return conditions;
}

static const Expr *
build_condition(const LegacyParameters *legacy, const LegacyList *list, ExprKind kind,
				const char *parameter)
{
	int n;
	ExprLegacyCondition *conditions;

	/* none is as good as not given */
	if (list->members == NIL)
		return NULL;
	conditions = make_conditions(list, &n);
	return expr_legacy_condition(kind, parameter, conditions, n,
								 legacy->conditional_operator == LEGACY_OR);
}

static const Expr *
build_names(const LegacyList *list)
{
	ItemSpan *names = palloc(list_length(list->members) * sizeof(ItemSpan));
	int n = 0;
	ListCell *cell;

	if (!list->given)
		return NULL;
	foreach (cell, list->members)
		names[n++] = *(const ItemSpan *) lfirst(cell);
	return expr_legacy_projection(names, n);
}

static const Expr *
build_update(const LegacyList *list)
{
	ExprLegacyUpdate *updates = palloc(list_length(list->members) * sizeof(ExprLegacyUpdate));
	int n = 0;
	ListCell *cell;

	if (list->members == NIL)
		return NULL;
	foreach (cell, list->members)
	{
		const LegacyAttribute *a = lfirst(cell);
		ItemSpan value = {NULL, 0};

		if (a->value != NULL)
			value = item_root(a->value);
		updates[n++] = (ExprLegacyUpdate){a->name, (ExprLegacyAction) a->action, value};
	}
	return expr_legacy_update(updates, n);
}

/* Builds the legacy parameters of GetItem, PutItem, UpdateItem and DeleteItem. */
void
legacy_build_item(const LegacyParameters *legacy, ItemRequest *request)
{
	ListCell *cell;

	check_operator(legacy);
	request->built.projection = build_names(&legacy->attributes_to_get);
	request->built.update = build_update(&legacy->attribute_updates);
	foreach (cell, legacy->expected.members)
		check_expected(lfirst(cell));
	request->built.condition =
		build_condition(legacy, &legacy->expected, EXPR_CONDITION, "Expected");
}

/* Builds the legacy parameters of Query and Scan. */
void
legacy_build_read(const LegacyParameters *legacy, ReadRequest *request)
{
	ExprLegacyCondition *conditions;
	int n;

	check_operator(legacy);
	request->built.condition =
		legacy->scan_filter.given
			? build_condition(legacy, &legacy->scan_filter, EXPR_FILTER, "ScanFilter")
			: build_condition(legacy, &legacy->query_filter, EXPR_FILTER, "QueryFilter");
	request->built.projection = build_names(&legacy->attributes_to_get);
	if (!legacy->key_conditions.given)
		return;
	conditions = make_conditions(&legacy->key_conditions, &n);
	request->built.key_condition = expr_legacy_key_condition(conditions, n);
}

/* Builds the legacy parameter of BatchGetItem, of one table. */
const Expr *
legacy_build_projection(const LegacyParameters *legacy)
{
	return build_names(&legacy->attributes_to_get);
}
