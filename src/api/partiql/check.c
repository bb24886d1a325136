/*
 * check.c
 *	  What a statement must be beyond its syntax, as far as the text alone says it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/tree.h"

/*
 * Paths
 */

/* Checks the index between the brackets of a step. */
static void
check_index(const PartiqlStatement *statement, PartiqlStep *step)
{
	const PartiqlNode *number = step->expression;
	uint64 index = 0;

	if (number->type != PARTIQL_NUMBER ||
		strspn(number->text.data, "0123456789") < number->text.len)
		partiql_fail(statement, number->place, NULL, "a list index is a whole number");
	for (uint32 i = 0; i < number->text.len && index <= PG_INT32_MAX; i++)
		index = index * 10 + (number->text.data[i] - '0');
	if (index > PG_INT32_MAX || (number->negative && index > 0))
	{
		const char *digits =
			psprintf("%s%s", number->negative ? "-" : "", item_quoted_words(number->text));

		partiql_fail(statement, number->place,
					 psprintf("List index is not within the allowable range; index: [%s] at %s",
							  digits, partiql_where(statement->text, number->place)),
					 "list index %s is out of range", digits);
	}
	step->index = (uint32) index;
}

#define EMPTY_NAME_WORDS "Path component cannot be an empty string"

static void
check_path(const PartiqlStatement *statement, PartiqlNode *path)
{
	ListCell *cell;

	foreach (cell, path->steps)
	{
		PartiqlStep *step = lfirst(cell);

		if (step->name.data == NULL && cell == list_head(path->steps))
			partiql_fail(statement, step->place, NULL, "a document path begins with a name");
		if (step->name.data == NULL)
			check_index(statement, step);
		else if (step->name.len == 0)
			partiql_fail(statement, step->place, EMPTY_NAME_WORDS, "a name is empty");
	}
}

/* Checks all paths in an expression. */
static void
check_paths(const PartiqlStatement *statement, PartiqlNode *node)
{
	ListCell *cell;

	check_stack_depth();
	if (node->type == PARTIQL_PATH)
		check_path(statement, node);
	foreach (cell, node->args)
		check_paths(statement, lfirst(cell));
}

static void
append_step(StringInfo out, const PartiqlStep *step)
{
	if (step->name.data == NULL)
		appendStringInfo(out, "[%u]", step->index);
	else
		appendBinaryStringInfo(out, step->name.data, (int) step->name.len);
}

/* Returns a path that was checked, for messages. */
char *
partiql_path_text(const PartiqlNode *path)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	foreach (cell, path->steps)
	{
		const PartiqlStep *step = lfirst(cell);

		if (step->name.data != NULL && cell != list_head(path->steps))
			appendStringInfoChar(&out, '.');
		append_step(&out, step);
	}
	return item_quoted_words((ItemSpan){out.data, (uint32) out.len});
}

/*
 * The tables
 */

static void
check_source(PartiqlStatement *statement)
{
	const List *steps = statement->source->steps;
	ListCell *cell;

	foreach (cell, steps)
	{
		const PartiqlStep *step = lfirst(cell);

		if (step->name.data == NULL)
			partiql_fail(statement, step->place, NULL, "a table has no list index");
		if (step->name.len == 0)
			partiql_fail(statement, step->place, EMPTY_NAME_WORDS, "a name is empty");
	}
	if (list_length(steps) > 2)
		partiql_fail(statement, statement->source->place,
					 "A path may contain at most 2 components in the FROM clause",
					 "a table and an index are all that can be named");
	statement->table = ((const PartiqlStep *) linitial(steps))->name;
	if (list_length(steps) == 1)
		return;
	statement->index = ((const PartiqlStep *) lsecond(steps))->name;
	if (statement->kind == PARTIQL_INSERT)
		partiql_fail(statement, statement->source->place,
					 "FROM clause may only contain a single table name",
					 "items are inserted into tables, not into indexes");
	if (statement->kind == PARTIQL_UPDATE || statement->kind == PARTIQL_DELETE)
		partiql_fail(statement, statement->source->place,
					 "This operation is not supported on an index",
					 "items are changed in tables, not in indexes");
}

/*
 * Select lists
 */

/* Returns the name of a column: the last name of its path, and the indexes behind it. */
ItemSpan
partiql_column_name(const PartiqlNode *path)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	foreach (cell, path->steps)
	{
		const PartiqlStep *step = lfirst(cell);

		if (step->name.data != NULL)
			resetStringInfo(&out);
		append_step(&out, step);
	}
	return (ItemSpan){out.data, (uint32) out.len};
}

/* Few columns fit into a statement. */
static void
check_distinct(const PartiqlStatement *statement)
{
	ItemSpan *names = palloc(list_length(statement->columns) * sizeof(ItemSpan));
	ListCell *cell;

	foreach (cell, statement->columns)
	{
		const PartiqlNode *path = lfirst(cell);
		int n = foreach_current_index(cell);

		names[n] = partiql_column_name(path);
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (item_compare_bytes(names[i], names[n]) == 0)
				partiql_fail(statement, path->place,
							 psprintf("Duplicate identifiers in select clause: %s",
									  item_quoted_words(names[n])),
							 "two columns have the same name");
		}
	}
}

/* Raises an error since what is selected is no attribute. */
void
partiql_fail_column(const PartiqlStatement *statement, const PartiqlNode *column)
{
	partiql_fail(
		statement, column->place,
		psprintf("Unexpected path component at %s", partiql_where(statement->text, column->place)),
		"a column is a document path");
}

static bool
is_count(const PartiqlNode *node)
{
	return node->type == PARTIQL_FUNCTION && item_span_is(node->text, "count") &&
		   list_length(node->args) == 1 &&
		   ((const PartiqlNode *) linitial(node->args))->type == PARTIQL_STAR;
}

static void
check_columns(PartiqlStatement *statement)
{
	ListCell *cell;

	foreach (cell, statement->columns)
	{
		PartiqlNode *column = lfirst(cell);

		if (column->type == PARTIQL_STAR && list_length(statement->columns) == 1)
		{
			statement->columns = NIL;
			return;
		}
		if (column->type == PARTIQL_STAR)
			partiql_fail(statement, column->place, NULL, "* stands beside other columns");
		if (statement->index.data != NULL && is_count(column))
		{
			statement->count = column;
			statement->columns = NIL;
			return;
		}
		if (column->type != PARTIQL_PATH)
			partiql_fail_column(statement, column);
		check_path(statement, column);
	}
	check_distinct(statement);
}

/*
 * The other clauses
 */

static void
check_returning(const PartiqlStatement *statement)
{
	static const char *const clauses[] = {"", "ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"};

	if (statement->kind != PARTIQL_DELETE || statement->returning <= PARTIQL_RETURNING_ALL_OLD)
		return;
	partiql_fail(statement, (PartiqlPlace){-1, 0},
				 psprintf("Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is "
						  "allowed in DELETE statements.",
						  clauses[statement->returning]),
				 "DELETE returns ALL OLD or nothing");
}

static void
check_clauses(PartiqlStatement *statement)
{
	ListCell *cell;

	if (statement->limit != NULL)
		partiql_fail(statement, statement->limit->place,
					 psprintf("Unsupported clause: LIMIT at %s",
							  partiql_where(statement->text, statement->limit->place)),
					 "LIMIT is a parameter of the request, and no clause");
	foreach (cell, statement->order)
		check_path(statement, ((PartiqlOrder *) lfirst(cell))->path);
	foreach (cell, statement->changes)
	{
		PartiqlChange *change = lfirst(cell);

		check_path(statement, change->path);
		if (change->value != NULL)
			check_paths(statement, change->value);
	}
	if (statement->where != NULL)
		check_paths(statement, statement->where);
	if (statement->value != NULL && statement->value->type != PARTIQL_TUPLE)
		partiql_fail(statement, statement->value->place, NULL, "the value to insert is no tuple");
}

/*
 * Checks a statement that was parsed.  Raises ERRCODE_DYN_VALIDATION if it is not valid; what is in
 * its expressions is checked as these are built.
 */
void
partiql_check(PartiqlStatement *statement)
{
	if (statement->aliased)
		partiql_fail(statement, (PartiqlPlace){-1, 0}, "Aliasing is not supported",
					 "tables and columns have no other names");
	check_source(statement);
	check_columns(statement);
	check_clauses(statement);
	check_returning(statement);
}
