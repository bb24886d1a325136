/*
 * asked.c
 *	  The questions, the chart of what answers them, and access patterns.
 *
 * They are given, or they are those of pg_stat_statements, as far as it shows them to the caller.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "models/propose/asked.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/catalogs.h"
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

static void
read_statements(void *arg)
{
	Proposal *proposal = arg;
	Oid relid = extension_relation(STATEMENTS, STATEMENTS);
	MemoryContext context = CurrentMemoryContext;
	char *sql =
		psprintf("SELECT query, pg_catalog.sum(calls)::pg_catalog.int8, "
				 "query OPERATOR(pg_catalog.=) '<insufficient privilege>' "
				 "FROM %s "
				 "WHERE dbid OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database "
				 "WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) "
				 "AND query IS NOT NULL GROUP BY query "
				 "ORDER BY 3, 2 DESC, query COLLATE pg_catalog.\"C\" LIMIT %d",
				 catalogs_qualified(relid), MAX_STATEMENTS + 1);

	store_connect();
	sql_execute(sql_on(relid, sql), true, 0, 0, NULL);
	/* the SPI leaves its own context behind */
	MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		if (DatumGetBool(sql_value(SPI_tuptable, i, 3)))
			proposal->unseen_questions =
				"It does not show the statements of some other roles to this role.";
		else if (i == MAX_STATEMENTS)
			proposal->unseen_questions = "It has more statements than those that were looked at.";
		else
			add_question(proposal, sql_value(SPI_tuptable, i, 1),
						 DatumGetInt64(sql_value(SPI_tuptable, i, 2)));
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
	if (error != NULL)
	{
		/* it is not preloaded, or not for the caller */
		if (error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
			error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE)
			ReThrowError(error);
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
	const ProposeColumn *column = read->range == NULL ? NULL : asked_column(read->range);
	int tests = column == NULL ? 0 : read->range->tests & (low ? ASKED_LOW : ASKED_HIGH);
	int behind = ASKED_TEST(BTGreaterStrategyNumber) | ASKED_TEST(BTLessEqualStrategyNumber);

	if (tests == 0)
		return psprintf("%s%s%s", sort, low ? "" : "~",
						low || read->head == NULL ? "" : read->head->prefix);
	return psprintf("%s<%s_%s%s>%s", sort, column->attribute, low ? "from" : "to",
					propose_format(column->width), (tests & behind) != 0 ? "~" : "");
}

/* Returns members of an object of JSON with another one, which is a string of an item. */
static char *
add_value(const char *members, const char *name, const char *text)
{
	return propose_add(members, ", ", psprintf("\"%s\": {\"S\": %s}", name, propose_string(text)));
}

/* Returns the request of a read, in which parameters are placeholders. */
static char *
request(const Proposal *proposal, const AskedRead *read)
{
	const ProposePlace *place = read->place;
	const char *partition = propose_key_name(proposal, place->index, false);
	const char *sort = propose_key_name(proposal, place->index, true);
	bool whole = place->index == 0 && read->head != NULL;
	bool between = read->range != NULL || (place->head != NULL && read->head == NULL);
	const char *values = add_value("", read->gets_item ? partition : ":p",
								   propose_key_text(place->entity, place->partition));

	if (!whole)
		values = add_value(values, read->gets_item ? sort : ":s", bound(read, true));
	if (read->gets_item)
		return psprintf("{\"Key\": {%s}}", values);
	if (between)
		values = add_value(values, ":t", bound(read, false));
	return psprintf(
		"{\"ExpressionAttributeValues\": {%s}, \"KeyConditionExpression\": \"%s = :p%s\"%s%s%s}",
		values, partition,
		whole     ? ""
		: between ? psprintf(" AND %s BETWEEN :s AND :t", sort)
				  : psprintf(" AND begins_with(%s, :s)", sort),
		place->index == 0
			? ""
			: psprintf(", \"IndexName\": \"%s\"", propose_index_name(proposal, place->index)),
		read->backward ? ", \"ScanIndexForward\": false" : "",
		read->limit > 0 ? psprintf(", \"Limit\": %d", read->limit + (read->head != NULL)) : "");
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
	static const char *const kinds[] = {"", "a put", "SQL over views", "not classified", "none"};
	const char *reads = asked->each          ? "a read for each row"
						: asked->nreads > 2  ? psprintf("%d reads", asked->nreads)
						: asked->nreads == 2 ? "two reads"
											 : "one read";

	if (asked->kind != ASKED_READS)
		return kinds[asked->kind];
	return asked->command == CMD_SELECT ? reads : psprintf("%s, writes", reads);
}

/* Adds the line of a question to the chart; returns the patterns of its reads. */
static List *
add_line(Chart *chart, const AskedQuery *asked, const char *name)
{
	const Proposal *proposal = asked->proposal;
	char *cells[5] = {(char *) name, (char *) answer_text(asked), "", "",
					  propose_shown(asked->notes)};
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
	cells[3] = propose_shown(cells[3]);
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
