/*
 * sql.c
 *	  Statements of the extension's own, by SPI, and the rows that they find.
 *
 * A value of a row is read by the functions here only, as test/lint checks: who reads it says whether
 * it may be NULL.  Functions that describe an object return NULL once the object is gone, so NULL can
 * be where the tables have none.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "server/arguments.h"
#include "server/compat.h"
#include "server/extension.h"
#include "server/sql.h"

/* A cursor fetches so many rows at once. */
#define ROWS_AT_ONCE 200

/*
 * What a statement may name
 *
 * Statements name relations, functions and operators.  A lock on a relation does not keep its schema
 * from being renamed, and names are looked up again whenever a statement is planned anew: by then they
 * can be those of others, and so can a call for which there is a better overload.  Their code would run
 * with the rights that the session has.  So statements tell what they are about in a comment at their
 * beginning, and wherever such a statement is analysed, by whomever, it must name that relation, and
 * besides only what is PostgreSQL's or the extension's.
 */

#define MARK "/* of relation "
#define ROWS_MARK "/* of rows of relation "

static post_parse_analyze_hook_type next_hook;

/* Marked holds what a marked statement may name besides. */
typedef struct Marked
{
	Oid relid;
	bool functions; /* any */
} Marked;

/* Returns the statement with the mark; relid: InvalidOid if it names no relation but the extension's. */
char *
sql_on(Oid relid, const char *sql)
{
	return psprintf(MARK "%u */ %s", relid, sql);
}

/* Does the same for a statement that works on columns of any types. */
char *
sql_on_rows(Oid relid, const char *sql)
{
	return psprintf(ROWS_MARK "%u */ %s", relid, sql);
}

static bool
is_strange_function(Oid function, void *marked)
{
	return !extension_has(ProcedureRelationId, function, get_func_namespace(function));
}

/*
 * The constraints of a domain are calls that are in no tree.  Columns of a relation may have domains of
 * its owner's; a statement that is about none has none.
 */
static bool
is_strange_domain(const Node *node)
{
	Oid domain =
		IsA(node, CoerceToDomain) ? ((const CoerceToDomain *) node)->resulttype : InvalidOid;

	return OidIsValid(domain) && !extension_has(TypeRelationId, domain, InvalidOid);
}

static bool
check_names(Node *node, void *arg)
{
	const Marked *marked = arg;
	const RangeTblEntry *entry = (const RangeTblEntry *) node;
	Oid relid = InvalidOid;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, check_names, arg, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
		relid = entry->rtekind == RTE_RELATION ? entry->relid : InvalidOid;
	if ((OidIsValid(relid) && relid != marked->relid &&
		 !extension_has(RelationRelationId, relid, get_rel_namespace(relid))) ||
		(!OidIsValid(marked->relid) && is_strange_domain(node)) ||
		(!marked->functions && check_functions_in_node(node, is_strange_function, arg)))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("a name that a statement of the extension has belongs to another "
							   "relation or function"),
						errhint("Repeat the call, and look for functions and operators that have "
								"been created in the extension's schema.")));
	return !IsA(node, RangeTblEntry) && expression_tree_walker(node, check_names, arg);
}

static void
check_marked(ParseState *pstate, Query *query, HookJumble *jumble)
{
	const char *sql = pstate->p_sourcetext;
	Marked marked = {InvalidOid, false};

	if (next_hook != NULL)
		next_hook(pstate, query, jumble);
	if (sql == NULL || sql[0] != '/' ||
		(sscanf(sql, MARK "%u", &marked.relid) != 1 &&
		 !(marked.functions = sscanf(sql, ROWS_MARK "%u", &marked.relid) == 1)))
		return;
	if (query->commandType != CMD_UTILITY)
		(void) check_names((Node *) query, &marked);
	else if (IsA(query->utilityStmt, CallStmt))
		(void) check_names((Node *) ((CallStmt *) query->utilityStmt)->funcexpr, &marked);
}

/* Called once by _PG_init(). */
void
sql_init(void)
{
	next_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = check_marked;
}

/*
 * Execution, and what it finds
 */

/*
 * Runs a statement with arguments by SPI, to which the caller is connected and which has the result.
 * Returns the number of rows.  What SPI refuses is a fault of the statement, and so of ours.
 */
uint64
sql_execute(const char *sql, bool read_only, long limit, int nargs, const SqlValue *arguments)
{
	Oid *types = palloc((nargs + 1) * sizeof(Oid));
	Datum *values = palloc((nargs + 1) * sizeof(Datum));
	char *nulls = palloc(nargs + 1);
	int result;

	for (int i = 0; i < nargs; i++)
	{
		types[i] = arguments[i].type;
		values[i] = arguments[i].value;
		nulls[i] = arguments[i].isnull ? 'n' : ' ';
	}
	result = SPI_execute_with_args(sql, nargs, types, values, nulls, read_only, limit);
	if (result < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* Returns a text. */
SqlValue
sql_string(const char *string)
{
	return sql_span((ItemSpan){string, string == NULL ? 0 : (uint32) strlen(string)});
}

/* Does the same for bytes of something else. */
SqlValue
sql_span(ItemSpan span)
{
	return SQL_NULLABLE(TEXTOID, span.data == NULL ? (Datum) 0 : PointerGetDatum(span_text(span)),
						span.data == NULL);
}

/* A row of a function's result has at most so many columns. */
#define MAX_COLUMNS 16

static void
split_values(int n, const SqlValue *values, Datum *columns, bool *nulls)
{
	Assert(n <= MAX_COLUMNS);
	for (int i = 0; i < n; i++)
	{
		columns[i] = values[i].value;
		nulls[i] = values[i].isnull;
	}
}

/* Adds a row to the result of a function that returns a set. */
void
sql_put(ReturnSetInfo *result, int n, const SqlValue *values)
{
	Datum columns[MAX_COLUMNS];
	bool nulls[MAX_COLUMNS];

	split_values(n, values, columns, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, columns, nulls);
}

/* Returns a row as a value. */
Datum
sql_row_of(TupleDesc desc, int n, const SqlValue *values)
{
	Datum columns[MAX_COLUMNS];
	bool nulls[MAX_COLUMNS];

	Assert(n == desc->natts);
	split_values(n, values, columns, nulls);
	return HeapTupleGetDatum(heap_form_tuple(desc, columns, nulls));
}

/* Returns a row as the result of a function. */
Datum
sql_row(FunctionCallInfo fcinfo, int n, const SqlValue *values)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return sql_row_of(BlessTupleDesc(desc), n, values);
}

/*
 * Calls a function for each row of a query, which a cursor reads by and by, in a memory context that
 * is reset after it.
 */
void
sql_scan(const char *sql, SqlRow row, void *arg)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);
	Portal portal =
		SPI_cursor_open_with_args(NULL, sql, 0, NULL, NULL, NULL, true, CURSOR_OPT_NO_SCROLL);
	bool more = true;

	while (more)
	{
		SPITupleTable *rows;

		SPI_cursor_fetch(portal, true, ROWS_AT_ONCE);
		rows = SPI_tuptable;
		MemoryContextSwitchTo(context);
		more = rows->numvals > 0;
		for (uint64 i = 0; i < rows->numvals && more; i++)
		{
			CHECK_FOR_INTERRUPTS();
			more = row(arg, rows, i);
			MemoryContextReset(context);
		}
		MemoryContextSwitchTo(old);
		SPI_freetuptable(rows);
	}
	SPI_cursor_close(portal);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Returns a list of OIDs as an argument of type oid[]. */
Datum
sql_oids(List *oids)
{
	Datum *elements = palloc(list_length(oids) * sizeof(Datum));
	ListCell *cell;

	foreach (cell, oids)
		elements[foreach_current_index(cell)] = ObjectIdGetDatum(lfirst_oid(cell));
	return PointerGetDatum(
		construct_array(elements, list_length(oids), OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

static HeapTuple
get_row(const SPITupleTable *rows, uint64 row)
{
	if (row >= rows->numvals)
		elog(ERROR, "a statement has found " UINT64_FORMAT " rows", rows->numvals);
	return rows->vals[row];
}

static void
forbid_null(const SPITupleTable *rows, int column, bool isnull)
{
	if (isnull)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("column \"%s\" of a row that was read is null",
							   SPI_fname(rows->tupdesc, column))));
}

/* Returns a column, counted from 1, of a row, counted from 0; *isnull tells whether it is NULL. */
Datum
sql_nullable(const SPITupleTable *rows, uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(get_row(rows, row), rows->tupdesc, column, isnull);
}

/* Does the same where NULL is an error. */
Datum
sql_value(const SPITupleTable *rows, uint64 row, int column)
{
	bool isnull;
	Datum value = sql_nullable(rows, row, column, &isnull);

	forbid_null(rows, column, isnull);
	return value;
}

/* Does the same, but with 0 for NULL of a type passed by value; a pointer would be followed. */
Datum
sql_value_or_zero(const SPITupleTable *rows, uint64 row, int column)
{
	bool isnull;
	Datum value = sql_nullable(rows, row, column, &isnull);

	forbid_null(rows, column, isnull && !TupleDescAttr(rows->tupdesc, column - 1)->attbyval);
	return isnull ? (Datum) 0 : value;
}

/* Returns a column as text, by the output function of its type, or NULL for NULL. */
char *
sql_text_or_null(const SPITupleTable *rows, uint64 row, int column)
{
	return SPI_getvalue(get_row(rows, row), rows->tupdesc, column);
}

/* Does the same where NULL is an error. */
char *
sql_text(const SPITupleTable *rows, uint64 row, int column)
{
	char *text = sql_text_or_null(rows, row, column);

	forbid_null(rows, column, text == NULL);
	return text;
}
