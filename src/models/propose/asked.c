/*
 * asked.c
 *	  The chart of what the database is asked, and the access patterns that answer it.
 *
 * The queries are given, or they are those of pg_stat_statements, as far as it shows them to the
 * caller.
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

typedef struct Asked
{
	List *queries; /* of AskedQuery */
	Oid relid; /* of pg_stat_statements */
	bool given; /* else they are those of pg_stat_statements */
	bool hidden; /* there are some that are not shown to the caller */
	bool cut; /* there are more */
	const char *failure; /* why pg_stat_statements cannot be read */
} Asked;

typedef struct Printing
{
	const Proposal *proposal;
	Chart *chart;
	List *patterns; /* of PrintedPattern */
	StringInfo texts; /* of the queries */
	int shown;
	int elsewhere; /* that use no source */
} Printing;

typedef struct PrintedPattern
{
	const char *name;
	const char *request;
	const char *statement;
} PrintedPattern;

/*
 * The queries
 */

/* Makes a query in the current memory context. */
static AskedQuery *
make_query(const char *text, int64 calls)
{
	AskedQuery *query = palloc0(sizeof(AskedQuery));

	query->text = text;
	query->calls = calls;
	return query;
}

static void
take_given(Asked *asked, ArrayType *queries)
{
	int n;
	Datum *elements = argument_elements(queries, "queries", &n);

	asked->given = true;
	for (int i = 0; i < n; i++)
		asked->queries = lappend(asked->queries, make_query(TextDatumGetCString(elements[i]), 0));
}

static char *
statements_sql(Oid relid)
{
	return psprintf(
		"SELECT query, pg_catalog.sum(calls)::pg_catalog.int8, "
		"query OPERATOR(pg_catalog.=) '<insufficient privilege>' "
		"FROM %s "
		"WHERE dbid OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database "
		"WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) "
		"AND query IS NOT NULL GROUP BY query "
		"ORDER BY 3, 2 DESC, query COLLATE pg_catalog.\"C\" LIMIT %d",
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), STATEMENTS),
		MAX_STATEMENTS + 1);
}

/* Reads the statements in the caller's memory context. */
static void
read_statements(void *arg)
{
	Asked *asked = arg;
	MemoryContext context = CurrentMemoryContext;

	store_connect();
	if (SPI_execute(sql_on(asked->relid, statements_sql(asked->relid)), true, 0) < 0)
		elog(ERROR, "could not read %s", STATEMENTS);
	asked->cut = SPI_processed > MAX_STATEMENTS;
	for (uint64 i = 0; i < SPI_processed && i < MAX_STATEMENTS; i++)
	{
		int64 calls = DatumGetInt64(sql_value(SPI_tuptable, i, 2));
		MemoryContext old;

		if (DatumGetBool(sql_value(SPI_tuptable, i, 3)))
		{
			asked->hidden = true;
			continue;
		}
		old = MemoryContextSwitchTo(context);
		asked->queries = lappend(
			asked->queries, make_query(TextDatumGetCString(sql_value(SPI_tuptable, i, 1)), calls));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

static bool
take_statements(Asked *asked)
{
	ErrorData *error;

	asked->relid = extension_relation(STATEMENTS, STATEMENTS);
	if (!OidIsValid(asked->relid))
		return false;
	error = attempt_and_undo(read_statements, asked);
	if (error == NULL)
		return true;
	/* it is not preloaded, or not for the caller */
	if (error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
		error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE)
		ReThrowError(error);
	asked->queries = NIL;
	asked->failure = error->message;
	return true;
}

/*
 * Text that may be anybody's: one line, without what controls a terminal
 */

/* Returns the text as one line, cut, with one space for any white space. */
static char *
one_line(const char *text)
{
	StringInfoData line;

	initStringInfo(&line);
	while (*text != '\0' && line.len <= SHOWN_TEXT)
	{
		int skipped = *text == ' ' ? 1 : propose_control_length(text);
		int length = skipped > 0 ? skipped : pg_mblen(text);

		if (skipped == 0)
			appendBinaryStringInfo(&line, text, length);
		else if (line.len > 0 && line.data[line.len - 1] != ' ')
			appendStringInfoChar(&line, ' ');
		text += length;
	}
	while (line.len > 0 && line.data[line.len - 1] == ' ')
		line.data[--line.len] = '\0';
	if (line.len > SHOWN_TEXT)
	{
		line.len = pg_mbcliplen(line.data, line.len, SHOWN_TEXT);
		line.data[line.len] = '\0';
		appendStringInfoString(&line, " …");
	}
	return line.data;
}

static char *
join_notes(const List *notes)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, notes)
		appendStringInfo(&text, "%s%s", text.len > 0 ? "; " : "", (char *) lfirst(cell));
	return one_line(text.data);
}

/*
 * Access patterns
 */

static bool
is_pattern(const AskedAnswer *answer)
{
	return answer->kind == ANSWER_ONE_READ ||
		   (answer->kind == ANSWER_WRITE && answer->read != NULL &&
			strcmp(asked_operation(answer->read), "Query") == 0);
}

static bool
is_name(const Printing *p, const char *name)
{
	ListCell *cell;

	foreach (cell, p->patterns)
	{
		if (strcmp(((const PrintedPattern *) lfirst(cell))->name, name) == 0)
			return true;
	}
	return false;
}

static const PrintedPattern *
add_pattern(Printing *p, const AskedRead *read)
{
	PrintedPattern *pattern = palloc(sizeof(PrintedPattern));
	char *first = asked_pattern_name(read);
	StringInfoData statement;

	initStringInfo(&statement);
	pattern->name = first;
	for (int i = 2; is_name(p, pattern->name); i++)
		pattern->name = psprintf("%s_%d", first, i);
	pattern->request = asked_request(p->proposal, read);
	propose_call(&statement, p->proposal, "dyn_create_access_pattern");
	appendStringInfo(&statement, ", %s, %s,", quote_literal_cstr(pattern->name),
					 quote_literal_cstr(asked_operation(read)));
	propose_piece(&statement, pattern->request);
	appendStringInfo(&statement, ", %s);",
					 quote_literal_cstr(((const ProposeEntity *) linitial(read->entities))->name));
	pattern->statement = statement.data;
	p->patterns = lappend(p->patterns, pattern);
	return pattern;
}

/* Finds the pattern of a read, which may have answered another query already. */
static const PrintedPattern *
find_pattern(Printing *p, const AskedRead *read)
{
	const char *request = asked_request(p->proposal, read);
	ListCell *cell;

	foreach (cell, p->patterns)
	{
		if (strcmp(((const PrintedPattern *) lfirst(cell))->request, request) == 0)
			return lfirst(cell);
	}
	return add_pattern(p, read);
}

/*
 * The chart
 */

static const char *
kind_text(const AskedAnswer *answer)
{
	switch (answer->kind)
	{
		case ANSWER_ONE_READ:
			return "one read";
		case ANSWER_WRITE:
			return "write";
		case ANSWER_INDEX:
			return "another index or copy";
		case ANSWER_VIEWS:
			return "SQL over views";
		case ANSWER_UNKNOWN:
			return "not classified";
		case ANSWER_ELSEWHERE:
			return "none: no source";
		case ANSWER_UTILITY:
			return "none: no rows";
	}
	return "";
}

static void
show(Printing *p, const AskedQuery *asked, const AskedAnswer *answer)
{
	const AskedRead *read = answer->read;
	const char *pattern = is_pattern(answer) ? find_pattern(p, read)->name : "";
	char *cells[5] = {psprintf("Q%d", ++p->shown), (char *) kind_text(answer)};

	if (asked->calls > 0)
		propose_comment(p->texts, "%s (calls: " INT64_FORMAT "): %s", cells[0], asked->calls,
						one_line(asked->text));
	else
		propose_comment(p->texts, "%s: %s", cells[0], one_line(asked->text));
	if (read != NULL && read->place >= 0)
		cells[2] = (char *) propose_index_name(p->proposal, read->place);
	else if (read != NULL)
		cells[2] = "Main table";
	cells[3] = (char *) pattern;
	cells[4] = join_notes(answer->notes);
	chart_add(p->chart, cells);
}

static void
print_one(Printing *p, const Asked *asked, AskedQuery *query)
{
	const AskedAnswer *answer;

	asked_analyse(query, p->proposal);
	answer = asked_answer(p->proposal, query);
	if (!asked->given && (answer->kind == ANSWER_ELSEWHERE || answer->kind == ANSWER_UTILITY))
		p->elsewhere++;
	else
		show(p, query, answer);
}

static void
print_heading(const Asked *asked, const Printing *p, StringInfo out)
{
	propose_comment(out, "Access patterns, from %s:",
					asked->given ? "the queries that were given" : "pg_stat_statements");
	if (asked->failure != NULL)
		propose_comment(out, "It cannot be read: %s", one_line(asked->failure));
	if (p->elsewhere > 0)
		propose_comment(out, "%d of its statements use none of the sources.", p->elsewhere);
	if (asked->hidden)
		propose_comment(out, "It does not show the statements of some other roles to this role.");
	if (asked->cut)
		propose_comment(out, "It has more statements than the %d that were looked at.",
						MAX_STATEMENTS);
}

static void
print_chart(const Printing *p, StringInfo out)
{
	ListCell *cell;

	if (p->shown == 0)
		return;
	appendStringInfoString(out, p->texts->data);
	appendStringInfoString(out, "--\n");
	foreach (cell, chart_lines(p->chart, NIL))
		propose_comment(out, "%s", (const char *) lfirst(cell));
}

/*
 * Returns the access patterns of a proposal, as texts: comments, then statements that create them.
 * queries: what is asked, or NULL for what pg_stat_statements has seen.  NIL: nothing says what is
 * asked.
 */
List *
asked_print(const Proposal *proposal, ArrayType *queries)
{
	char *header[] = {"Query", "Answer", "Index", "Access pattern", "Notes"};
	Asked asked = {0};
	Chart chart = {lengthof(header), .width = CHART_MAX_WIDTH};
	Printing p = {.proposal = proposal, .chart = &chart, .texts = makeStringInfo()};
	StringInfoData out;
	List *result;
	ListCell *cell;

	if (proposal->entities == NIL)
		return NIL;
	chart_add(&chart, header);
	if (queries != NULL)
		take_given(&asked, queries);
	else if (!take_statements(&asked))
		return NIL;
	foreach (cell, asked.queries)
	{
		CHECK_FOR_INTERRUPTS();
		print_one(&p, &asked, lfirst(cell));
	}
	if (asked.given && p.shown == 0)
		return NIL;
	initStringInfo(&out);
	print_heading(&asked, &p, &out);
	print_chart(&p, &out);
	result = list_make1(out.data);
	foreach (cell, p.patterns)
		result = lappend(result, (void *) ((const PrintedPattern *) lfirst(cell))->statement);
	return result;
}
