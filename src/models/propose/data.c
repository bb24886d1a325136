/*
 * data.c
 *	  What the rows of the sources hold, by one statement for each table.
 *
 * Of a large table a sample of its pages is read.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"
#include "server/sql.h"

/* These are asked of a column, in this order, then about each delimiter. */
enum
{
	ASK_COUNT,
	ASK_WIDTH,
	ASK_LONGEST,
	ASK_EMPTY,
	ASK_DIGITS,
	ASK_NEGATIVE,
	ASK_FRACTIONS,
	ASK_UNSTORABLE,
	ASK_TIMELESS,
	ASK_OBJECTS,
	ASK_ARRAYS,
	ASK_SCALARS,
	ASK_DELIMITERS
};

/* Kinds of types, as bits. */
enum
{
	OF_INTEGERS = 1,
	OF_FRACTIONS = 2,
	OF_TIMES = 4,
	OF_JSON = 8
};

/* What is asked from ASK_DIGITS on, each of some kinds; $ stands for the column. */
static const struct
{
	int kinds;
	const char *sql;
} questions[] = {
	{OF_INTEGERS | OF_FRACTIONS,
	 "length(max(abs(trunc($::numeric))) FILTER (WHERE $::numeric NOT IN"
	 " ('NaN', 'Infinity', '-Infinity'))::text)"},
	{OF_INTEGERS | OF_FRACTIONS, "bool_or($::numeric < 0)"},
	{OF_FRACTIONS, "bool_or($::numeric <> trunc($::numeric))"},
	{OF_FRACTIONS, "bool_or($::numeric IN ('NaN', 'Infinity', '-Infinity') OR"
				   " abs($::numeric) >= 1e125 OR length(trim(BOTH '0' FROM"
				   " replace(abs($::numeric)::text, '.', ''))) > 38)"},
	{OF_TIMES, "bool_or(NOT isfinite($) OR extract(year FROM $) NOT BETWEEN 1 AND 9999)"},
	{OF_JSON, "bool_or(json_typeof($::json) = 'object')"},
	{OF_JSON, "bool_or(json_typeof($::json) = 'array')"},
	{OF_JSON, "bool_or(json_typeof($::json) NOT IN ('object', 'array'))"},
};

/*
 * Statements
 */

/* Appends SQL, in which $ stands for the column. */
static void
append_for(StringInfo sql, const char *pattern, const char *column)
{
	for (const char *p = pattern; *p != '\0'; p++)
	{
		if (*p == '$')
			appendStringInfoString(sql, column);
		else
			appendStringInfoChar(sql, *p);
	}
}

/* Returns which kind a type is of, or 0. */
static int
kind_of(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return OF_INTEGERS;
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return OF_FRACTIONS;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return OF_TIMES;
		case JSONOID:
		case JSONBOID:
			return OF_JSON;
		default:
			return 0;
	}
}

/* A value may be in a key only if it is not empty and has no delimiter. */
static void
append_key(StringInfo sql, const ProposeColumn *column)
{
	if (!column->in_key && !column->asked)
		return;
	for (const char *p = PROPOSE_DELIMITERS; *p != '\0'; p++)
	{
		appendStringInfo(sql, ", bool_or(strpos(%s COLLATE \"C\", '%c') > 0)::text",
						 propose_text_sql(column), *p);
	}
}

static void
append_column(StringInfo sql, const ProposeColumn *column)
{
	const char *name = psprintf("src.%s", quote_identifier(column->name));
	const char *length =
		psprintf("octet_length(%s)",
				 getBaseType(column->type) == BYTEAOID ? name : propose_text_sql(column));

	appendStringInfo(sql, ", ARRAY[count(%s)::text, avg(%s)::text, max(%s)::text", name, length,
					 length);
	appendStringInfo(sql, ", bool_or(%s = 0)::text", length);
	for (int i = 0; i < lengthof(questions); i++)
	{
		if ((questions[i].kinds & kind_of(column->type)) == 0)
		{
			appendStringInfoString(sql, ", NULL");
			continue;
		}
		appendStringInfoString(sql, ", ");
		append_for(sql, questions[i].sql, name);
		appendStringInfoString(sql, "::text");
	}
	append_key(sql, column);
	appendStringInfoChar(sql, ']');
}

static char *
table_sql(const ProposeTable *table)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT count(*)");
	for (int i = 0; i < table->ncolumns; i++)
		append_column(&sql, &table->columns[i]);
	appendStringInfo(&sql, " FROM %s AS src", table->qualified);
	if (table->sampled < 1)
		appendStringInfo(&sql, " TABLESAMPLE SYSTEM (%.6f) REPEATABLE (0)", table->sampled * 100);
	return sql.data;
}

/*
 * Answers
 */

static double
as_number(char *const *answers, int i)
{
	return answers[i] == NULL ? 0 : strtod(answers[i], NULL);
}

static bool
as_bool(char *const *answers, int i)
{
	return answers[i] != NULL && strcmp(answers[i], "true") == 0;
}

static char **
answers_at(int column, int *n)
{
	Datum array = sql_value(SPI_tuptable, 0, column);
	Datum *elements;
	bool *nulls;
	char **answers;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  &nulls, n);
	answers = palloc(*n * sizeof(char *));
	for (int i = 0; i < *n; i++)
		answers[i] = nulls[i] ? NULL : TextDatumGetCString(elements[i]);
	return answers;
}

static void
take_answers(ProposeData *data, double rows, int n, char *const *answers)
{
	data->filled = rows > 0 ? as_number(answers, ASK_COUNT) / rows : 0;
	data->width = as_number(answers, ASK_WIDTH);
	data->longest = (int) as_number(answers, ASK_LONGEST);
	data->digits = (int) as_number(answers, ASK_DIGITS);
	data->negative = as_bool(answers, ASK_NEGATIVE);
	data->fractions = as_bool(answers, ASK_FRACTIONS);
	data->unstorable = as_bool(answers, ASK_UNSTORABLE) || as_bool(answers, ASK_TIMELESS);
	data->empty = as_bool(answers, ASK_EMPTY);
	data->objects = as_bool(answers, ASK_OBJECTS);
	data->arrays = as_bool(answers, ASK_ARRAYS);
	data->scalars = as_bool(answers, ASK_SCALARS);
	for (int i = ASK_DELIMITERS; i < n; i++)
		data->delimiters |= as_bool(answers, i) ? 1 << (i - ASK_DELIMITERS) : 0;
}

/*
 * A sample may lack the largest number of the key, by whose first column an index finds it.
 */
static void
read_extremes(ProposeTable *table)
{
	ProposeColumn *column = &table->columns[table->keys[0]];
	const char *name = psprintf("src.%s", quote_identifier(column->name));
	StringInfoData sql;

	initStringInfo(&sql);
	append_for(&sql,
			   "SELECT length(greatest(abs(max($)::numeric), abs(min($)::numeric))::text),"
			   " (min($) < 0)::int",
			   name);
	appendStringInfo(&sql, " FROM %s AS src", table->qualified);
	propose_execute_on(table, sql.data, 0, NULL);
	column->data.digits = Max(column->data.digits, (int) propose_answer(1));
	column->data.negative |= propose_answer(2) > 0;
	SPI_freetuptable(SPI_tuptable);
}

static void
read_table(ProposeTable *table)
{
	double rows;

	propose_execute_on(table, table_sql(table), 0, NULL);
	rows = propose_answer(1);
	for (int i = 0; i < table->ncolumns; i++)
	{
		int n;
		char **answers = answers_at(i + 2, &n);

		take_answers(&table->columns[i].data, rows, n, answers);
	}
	table->rows = rows / table->sampled;
	SPI_freetuptable(SPI_tuptable);
	if (table->sampled < 1 && table->nkeys > 0 &&
		kind_of(table->columns[table->keys[0]].type) == OF_INTEGERS)
		read_extremes(table);
}

/* Looks at the rows of all tables. */
void
propose_read_data(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (proposal->tables[i].unseen == NULL)
			read_table(&proposal->tables[i]);
	}
}
