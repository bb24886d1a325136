/*
 * asked_request.c
 *	  The request of an access pattern that reads what a query asks for.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "item/json_writer.h"
#include "models/propose/asked.h"

/* The name of a pattern has 255 bytes at most; a number may follow. */
#define MAX_NAME 200

static const ProposeEntity *
first_entity(const AskedRead *read)
{
	return linitial(read->entities);
}

static bool
gets_item(const AskedRead *read)
{
	return read->place < 0 && read->whole;
}

/* Returns the operation by which items are read. */
const char *
asked_operation(const AskedRead *read)
{
	return gets_item(read) ? "GetItem" : "Query";
}

/* A parameter is named like its attribute, unless a template would read that in another way. */
static char *
parameter(const AskedFilter *filter, int number)
{
	const char *name = filter->column->attribute;
	const char *suffix = "";

	if (filter->test == ASKED_ABOVE || filter->test == ASKED_ABOVE_EQUAL)
		suffix = "_from";
	else if (filter->test == ASKED_BELOW || filter->test == ASKED_BELOW_EQUAL)
		suffix = "_to";
	if (strpbrk(name, "<>.:") != NULL)
		name = psprintf("value%d", number);
	return psprintf("<%s%s>", name, suffix);
}

static const char *
sign(AskedTest test)
{
	switch (test)
	{
		case ASKED_EQUAL:
		case ASKED_ANY_OF:
			break;
		case ASKED_BELOW:
			return "<";
		case ASKED_BELOW_EQUAL:
			return "<=";
		case ASKED_ABOVE:
			return ">";
		case ASKED_ABOVE_EQUAL:
			return ">=";
	}
	return "=";
}

static void
write_value(JsonWriter *json, const char *name, const char *text)
{
	json_write_begin(json, name);
	json_write_string(json, "S", text);
	json_write_end(json);
}

/*
 * Query
 */

/* Returns the text of the filters: "#f1 = :f1 AND #t IN (:t1, :t2)". */
static char *
filter_text(const AskedRead *read)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 1; i <= list_length(read->filters); i++)
	{
		const AskedFilter *filter = list_nth(read->filters, i - 1);

		appendStringInfo(&text, "%s#f%d %s :f%d", i > 1 ? " AND " : "", i, sign(filter->test), i);
	}
	if (read->others)
	{
		appendStringInfo(&text, "%s#t IN (", text.len > 0 ? " AND " : "");
		for (int i = 1; i <= list_length(read->entities); i++)
			appendStringInfo(&text, "%s:t%d", i > 1 ? ", " : "", i);
		appendStringInfoChar(&text, ')');
	}
	return text.data;
}

static void
write_names(JsonWriter *json, const Proposal *proposal, const AskedRead *read)
{
	const char *index = read->place < 0 ? NULL : propose_index_name(proposal, read->place);

	json_write_begin(json, "ExpressionAttributeNames");
	json_write_string(json, "#p",
					  index == NULL ? proposal->partition_name : psprintf("%sPK", index));
	if (read->sort != NIL)
		json_write_string(json, "#s",
						  index == NULL ? proposal->sort_name : psprintf("%sSK", index));
	for (int i = 1; i <= list_length(read->filters); i++)
	{
		const AskedFilter *filter = list_nth(read->filters, i - 1);

		json_write_string(json, psprintf("#f%d", i), filter->column->attribute);
	}
	if (read->others)
		json_write_string(json, "#t", proposal->type_name);
	json_write_end(json);
}

static void
write_values(JsonWriter *json, const AskedRead *read)
{
	const ProposeEntity *entity = first_entity(read);

	json_write_begin(json, "ExpressionAttributeValues");
	write_value(json, ":p", propose_key_text(entity, read->partition));
	if (read->sort != NIL)
		write_value(json, ":s", propose_key_text(entity, read->sort));
	for (int i = 1; i <= list_length(read->filters); i++)
		write_value(json, psprintf(":f%d", i), parameter(list_nth(read->filters, i - 1), i));
	for (int i = 1; read->others && i <= list_length(read->entities); i++)
		write_value(json, psprintf(":t%d", i),
					((const ProposeEntity *) list_nth(read->entities, i - 1))->name);
	json_write_end(json);
}

static void
write_query(JsonWriter *json, const Proposal *proposal, const AskedRead *read)
{
	const char *condition = "#p = :p";

	if (read->sort != NIL)
		condition = read->whole ? "#p = :p AND #s = :s" : "#p = :p AND begins_with(#s, :s)";
	if (read->place >= 0)
		json_write_string(json, "IndexName", propose_index_name(proposal, read->place));
	json_write_string(json, "KeyConditionExpression", condition);
	if (read->filters != NIL || read->others)
		json_write_string(json, "FilterExpression", filter_text(read));
	write_names(json, proposal, read);
	write_values(json, read);
	if (read->backward)
		json_write_bool(json, "ScanIndexForward", false);
}

static void
write_get(JsonWriter *json, const Proposal *proposal, const AskedRead *read)
{
	const ProposeEntity *entity = first_entity(read);

	json_write_begin(json, "Key");
	write_value(json, proposal->partition_name, propose_key_text(entity, read->partition));
	write_value(json, proposal->sort_name, propose_key_text(entity, read->sort));
	json_write_end(json);
}

/* Returns the request as JSON, in which parameters are placeholders. */
char *
asked_request(const Proposal *proposal, const AskedRead *read)
{
	JsonWriter json = json_writer(JSON_SPACED);

	json_write_begin(&json, NULL);
	if (gets_item(read))
		write_get(&json, proposal, read);
	else
		write_query(&json, proposal, read);
	json_write_end(&json);
	return json.text->data;
}

/*
 * Its name
 */

static void
append_columns(StringInfo name, const ProposeEntity *entity, const ProposeKey *key)
{
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL)
			appendStringInfo(name, "_%s", entity->table->columns[part->column].attribute);
	}
}

/* Appends each column once: a range has two conditions. */
static void
append_filters(StringInfo name, const List *filters)
{
	const ProposeColumn *last = NULL;
	ListCell *cell;

	foreach (cell, filters)
	{
		const AskedFilter *filter = lfirst(cell);

		if (filter->column != last)
			appendStringInfo(name, "%s_%s", last == NULL ? "_where" : "",
							 filter->column->attribute);
		last = filter->column;
	}
}

/* Returns a name that says what is read by what: "orders_by_customer_id_where_open". */
char *
asked_pattern_name(const AskedRead *read)
{
	StringInfoData name;
	ListCell *cell;

	initStringInfo(&name);
	foreach (cell, read->entities)
		appendStringInfo(&name, "%s%s", name.len > 0 ? "_and_" : "",
						 ((const ProposeEntity *) lfirst(cell))->name);
	appendStringInfoString(&name, "_by");
	append_columns(&name, first_entity(read), read->partition);
	append_columns(&name, first_entity(read), read->sort);
	append_filters(&name, read->filters);
	if (read->backward)
		appendStringInfoString(&name, "_backward");
	name.len = pg_mbcliplen(name.data, name.len, MAX_NAME);
	name.data[name.len] = '\0';
	return name.data;
}
