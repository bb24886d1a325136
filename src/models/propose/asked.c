/*
 * asked.c
 *	  The questions, the chart of what answers them, and access patterns.
 *
 * They are given, or they are those of pg_stat_statements, as far as it shows them to the caller.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/asked.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/chart.h"
#include "server/extension.h"
#include "server/sql.h"
#include "store/plan.h"

/* So many queries of pg_stat_statements are looked at, the most frequent ones first. */
#define MAX_STATEMENTS 500

#define STATEMENTS "pg_stat_statements"

/* A comment shows so many bytes of a query. */
#define SHOWN_TEXT 200

/*
 * The questions
 */

static void
add_question(Proposal *proposal, Datum query, int64 calls)
{
	AskedQuery *asked = palloc0(sizeof(AskedQuery));

	*asked = (AskedQuery){TextDatumGetCString(query), calls, proposal, .notes = ""};
	proposal->questions = lappend(proposal->questions, asked);
}

/* Reads the statements in the caller's memory context. */
static void
read_statements(void *arg)
{
	Proposal *proposal = arg;
	Oid relid = extension_relation(STATEMENTS, STATEMENTS);
	MemoryContext context = CurrentMemoryContext;
	char *sql = psprintf(
		"SELECT query, pg_catalog.sum(calls)::pg_catalog.int8, "
		"query OPERATOR(pg_catalog.=) '<insufficient privilege>' "
		"FROM %s "
		"WHERE dbid OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database "
		"WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) "
		"AND query IS NOT NULL GROUP BY query "
		"ORDER BY 3, 2 DESC, query COLLATE pg_catalog.\"C\" LIMIT %d",
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), STATEMENTS),
		MAX_STATEMENTS + 1);

	store_connect();
	if (SPI_execute(sql_on(relid, sql), true, 0) < 0)
		elog(ERROR, "could not read %s", STATEMENTS);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool hidden = DatumGetBool(sql_value(SPI_tuptable, i, 3));
		MemoryContext old = MemoryContextSwitchTo(context);

		if (hidden || i == MAX_STATEMENTS)
			proposal->unseen_questions =
				hidden ? "It does not show the statements of some other roles to this role."
					   : "It has more statements than those that were looked at.";
		else
			add_question(proposal, sql_value(SPI_tuptable, i, 1),
						 DatumGetInt64(sql_value(SPI_tuptable, i, 2)));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

/*
 * Takes the questions, with the rights and the search_path of the caller.  queries: what is asked,
 * or NULL for what pg_stat_statements has seen.
 */
void
propose_ask(Proposal *proposal, ArrayType *queries)
{
	int n = 0;
	Datum *elements = queries == NULL ? NULL : argument_elements(queries, "queries", &n);
	ErrorData *error = NULL;
	ListCell *cell;

	for (int i = 0; i < n; i++)
		add_question(proposal, elements[i], 0);
	proposal->statements =
		queries == NULL && OidIsValid(extension_relation(STATEMENTS, STATEMENTS));
	if (proposal->statements)
		error = attempt_and_undo(read_statements, proposal);
	/* it is not preloaded, or not for the caller */
	if (error != NULL && error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
		error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE)
		ReThrowError(error);
	if (error != NULL)
	{
		proposal->questions = NIL;
		proposal->unseen_questions = psprintf("It cannot be read: %s", error->message);
	}
	foreach (cell, proposal->questions)
	{
		AskedQuery *asked = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		asked_analyse(asked);
		proposal->asked |= asked->kind <= ASKED_VIEWS;
	}
}

/*
 * Access patterns
 */

/* Returns a bound of the sort key.  "~" is behind all that such keys are sorted by. */
static char *
bound(const AskedRead *read, bool low)
{
	const char *sort = propose_key_text(read->place->entity, read->sort);
	const ProposeColumn *column = &read->relation->table->columns[Max(read->range, 0)];
	const AskedUse *use = &read->relation->uses[Max(read->range, 0)];
	StrategyNumber test = read->range < 0 ? InvalidStrategy : low ? use->low : use->high;

	if (test == InvalidStrategy)
		return psprintf("%s%s%s", sort, low ? "" : "~",
						low || read->head == NULL ? "" : read->head->prefix);
	return psprintf("%s<%s_%s%s>%s", sort, column->attribute, low ? "from" : "to",
					propose_format(column->width),
					test == BTGreaterStrategyNumber || test == BTLessEqualStrategyNumber ? "~"
																						 : "");
}

/* Returns the request of a read, in which parameters are placeholders. */
static char *
request(const Proposal *proposal, const AskedRead *read)
{
	int index = read->place->index;
	const char *partition = propose_key_name(proposal, index, false);
	const char *sort = propose_key_name(proposal, index, true);
	bool whole = index == 0 && read->head != NULL;
	bool between = read->range >= 0 || (read->place->head != NULL && read->head == NULL);
	const char *value =
		propose_string(propose_key_text(read->place->entity, read->place->partition));
	const char *low = propose_string(bound(read, true));
	const char *names;
	StringInfoData json;

	if (read->gets_item)
		return psprintf("{\"Key\": {%s: {\"S\": %s}, %s: {\"S\": %s}}}", propose_string(partition),
						value, propose_string(sort), low);
	initStringInfo(&json);
	appendStringInfo(&json, "{\"ExpressionAttributeValues\": {\":p\": {\"S\": %s}", value);
	if (!whole)
		appendStringInfo(&json, ", \":s\": {\"S\": %s}", low);
	if (between)
		appendStringInfo(&json, ", \":t\": {\"S\": %s}", propose_string(bound(read, false)));
	appendStringInfo(&json, "}, \"KeyConditionExpression\": \"#p = :p%s\"",
					 whole     ? ""
					 : between ? " AND #s BETWEEN :s AND :t"
							   : " AND begins_with(#s, :s)");
	names = propose_member("", "#p", partition);
	appendStringInfo(&json, ", \"ExpressionAttributeNames\": {%s}",
					 whole ? names : propose_member(names, "#s", sort));
	if (index > 0)
		appendStringInfo(&json, ", \"IndexName\": %s",
						 propose_string(propose_index_name(proposal, index)));
	if (read->backward)
		appendStringInfoString(&json, ", \"ScanIndexForward\": false");
	if (read->limit > 0)
		appendStringInfo(&json, ", \"Limit\": %d", read->limit + (read->head != NULL ? 1 : 0));
	appendStringInfoChar(&json, '}');
	return json.data;
}

/* Returns the statement that declares a read as an access pattern. */
static char *
pattern(const Proposal *proposal, const AskedRead *read, const char *name)
{
	StringInfoData statement;

	initStringInfo(&statement);
	propose_call(&statement, proposal, "dyn_create_access_pattern");
	appendStringInfo(&statement, ", %s, '%s',", quote_literal_cstr(name),
					 read->gets_item ? "GetItem" : "Query");
	propose_piece(&statement, request(proposal, read));
	appendStringInfo(&statement, ", %s);", quote_literal_cstr(read->place->entity->name));
	return statement.data;
}

/*
 * The chart
 */

/* Returns the text as one line, cut, with one space for any white space. */
char *
asked_line(const char *text)
{
	int length = pg_mbcliplen(text, (int) strlen(text), SHOWN_TEXT);
	StringInfoData line;

	initStringInfo(&line);
	for (int i = 0; i < length; i++)
	{
		if (!isspace((unsigned char) text[i]))
			appendStringInfoChar(&line, text[i]);
		else if (line.len > 0 && line.data[line.len - 1] != ' ')
			appendStringInfoChar(&line, ' ');
	}
	return psprintf("%s%s", line.data, text[length] == '\0' ? "" : " …");
}

static const char *
answer_text(const AskedQuery *asked)
{
	static const char *const kinds[] = {"", "SQL over views", "not classified", "none"};
	const char *reads = asked->each          ? "a read for each row"
						: asked->nreads > 2  ? psprintf("%d reads", asked->nreads)
						: asked->nreads == 2 ? "two reads"
											 : "one read";

	if (asked->kind != ASKED_READS)
		return kinds[asked->kind];
	if (asked->command == CMD_INSERT)
		return "a put";
	if (asked->command != CMD_SELECT)
		return psprintf("%s, writes", reads);
	return reads;
}

/* Adds the line of a question to the chart; returns the patterns of its reads. */
static List *
add_line(Chart *chart, const AskedQuery *asked, const char *name)
{
	const Proposal *proposal = asked->proposal;
	char *cells[5] = {(char *) name, (char *) answer_text(asked), "", "", (char *) asked->notes};
	List *patterns = NIL;
	ListCell *cell;

	foreach (cell, asked->reads)
	{
		const AskedRead *read = lfirst(cell);
		int i = foreach_current_index(cell);
		const char *pattern_name = psprintf("%s%s_%s", name, i == 0 ? "" : psprintf("_%d", i + 1),
											read->place->entity->name);

		cells[2] = propose_add(cells[2], ", ", propose_index_name(proposal, read->place->index));
		if (asked->kind != ASKED_READS)
			continue;
		cells[3] = propose_add(cells[3], ", ", pattern_name);
		patterns = lappend(patterns, pattern(proposal, read, pattern_name));
	}
	/* columns are as wide as what is shown in them */
	for (int i = 0; i < lengthof(cells); i++)
		cells[i] = propose_shown(cells[i]);
	chart_add(chart, cells);
	return patterns;
}

/* Returns what answers the questions: comments, then statements that create access patterns. */
List *
propose_print_asked(const Proposal *proposal)
{
	char *header[] = {"Query", "Answer", "Index", "Access patterns", "Notes"};
	Chart chart = {lengthof(header), .width = CHART_MAX_WIDTH};
	List *patterns = NIL;
	StringInfoData out;
	int shown = 0;
	ListCell *cell;

	if (proposal->entities == NIL || (proposal->questions == NIL && !proposal->statements))
		return NIL;
	initStringInfo(&out);
	propose_comment(&out, "Access patterns, from %s:",
					proposal->statements ? STATEMENTS : "the queries that were given");
	if (proposal->unseen_questions != NULL)
		propose_comment(&out, "%s", asked_line(proposal->unseen_questions));
	chart_add(&chart, header);
	foreach (cell, proposal->questions)
	{
		AskedQuery *asked = lfirst(cell);
		const char *name = psprintf("Q%d", shown + 1);

		CHECK_FOR_INTERRUPTS();
		if (proposal->statements && asked->kind > ASKED_VIEWS)
			continue;
		shown++;
		asked_answer(asked);
		propose_comment(&out, "%s%s: %s", name,
						asked->calls > 0 ? psprintf(" (calls: " INT64_FORMAT ")", asked->calls)
										 : "",
						asked_line(asked->text));
		patterns = list_concat(patterns, add_line(&chart, asked, name));
	}
	appendStringInfoString(&out, "--\n");
	foreach (cell, shown > 0 ? chart_lines(&chart, NIL) : NIL)
		propose_comment(&out, "%s", (const char *) lfirst(cell));
	return lcons(out.data, patterns);
}
