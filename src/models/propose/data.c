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

/* Kinds of types, as bits. */
enum
{
	OF_INTEGERS = 1,
	OF_FRACTIONS = 2,
	OF_TIMES = 4,
	OF_JSON = 8,
	OF_ALL = 15 | 16
};

#define ANSWER(member) offsetof(ProposeData, member)

/*
 * What is asked of columns of some kinds, and where the answer is kept: a number, or a flag, which is
 * asked for as one.  $ stands for the column, # for its text.
 */
static const struct
{
	int kinds;
	bool flag;
	size_t answer;
	const char *sql;
} questions[] = {
	{OF_ALL, false, ANSWER(filled), "count($)"},
	{OF_ALL, false, ANSWER(width), "avg(octet_length(#))"},
	{OF_ALL, false, ANSWER(longest), "max(octet_length(#))"},
	{OF_ALL, true, ANSWER(empty), "bool_or(octet_length(#) = 0)::int"},
	{OF_INTEGERS | OF_FRACTIONS, false, ANSWER(digits),
	 "length(max(abs(trunc($::numeric))) FILTER (WHERE $::numeric NOT IN"
	 " ('NaN', 'Infinity', '-Infinity'))::text)"},
	{OF_INTEGERS | OF_FRACTIONS, true, ANSWER(negative), "bool_or($::numeric < 0)::int"},
	{OF_FRACTIONS, true, ANSWER(fractions), "bool_or($::numeric <> trunc($::numeric))::int"},
	{OF_FRACTIONS, true, ANSWER(unstorable),
	 "bool_or($::numeric IN ('NaN', 'Infinity', '-Infinity') OR abs($::numeric) >= 1e125 OR"
	 " length(trim(BOTH '0' FROM replace(abs($::numeric)::text, '.', ''))) > 38)::int"},
	{OF_TIMES, true, ANSWER(unstorable),
	 "bool_or(NOT isfinite($) OR extract(year FROM $) NOT BETWEEN 1 AND 9999)::int"},
	{OF_JSON, true, ANSWER(objects), "bool_or(json_typeof($::json) = 'object')::int"},
	{OF_JSON, true, ANSWER(arrays), "bool_or(json_typeof($::json) = 'array')::int"},
	{OF_JSON, true, ANSWER(scalars),
	 "bool_or(json_typeof($::json) NOT IN ('object', 'array'))::int"},
};

/*
 * Statements
 */

/* Appends SQL, in which $ stands for the column, and # for its text. */
static void
append_for(StringInfo sql, const char *pattern, const ProposeColumn *column)
{
	const char *name = psprintf("src.%s", quote_identifier(column->name));
	bool is_text = getBaseType(column->type) != BYTEAOID;

	for (const char *p = pattern; *p != '\0'; p++)
	{
		if (*p == '$' || (*p == '#' && !is_text))
			appendStringInfoString(sql, name);
		else if (*p == '#')
			appendStringInfoString(sql, propose_text_sql(column));
		else
			appendStringInfoChar(sql, *p);
	}
}

/* Returns which kind a type is of. */
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
			return OF_ALL & ~(OF_INTEGERS | OF_FRACTIONS | OF_TIMES | OF_JSON);
	}
}

static void
append_column(StringInfo sql, const ProposeColumn *column)
{
	for (int i = 0; i < lengthof(questions); i++)
	{
		appendStringInfoString(sql, i == 0 ? ", ARRAY[" : ", ");
		append_for(sql, questions[i].kinds & kind_of(column->type) ? questions[i].sql : "NULL",
				   column);
	}
	/* a value may be in a key only if it has no delimiter */
	for (const char *p = column->in_key || column->asked ? PROPOSE_DELIMITERS : ""; *p != '\0'; p++)
		appendStringInfo(sql, ", bool_or(strpos(%s COLLATE \"C\", '%c') > 0)::int",
						 propose_text_sql(column), *p);
	appendStringInfoString(sql, "]::float8[]");
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

static void
take_answers(ProposeData *data, double rows, Datum array)
{
	Datum *answers;
	bool *nulls;
	int n;

	deconstruct_array(DatumGetArrayTypeP(array), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &answers, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		double answer = nulls[i] ? 0 : DatumGetFloat8(answers[i]);
		char *place = (char *) data + (i < lengthof(questions) ? questions[i].answer : 0);

		if (i >= lengthof(questions))
			data->delimiters |= answer > 0 ? 1 << (i - lengthof(questions)) : 0;
		else if (questions[i].flag)
			*(bool *) place |= answer > 0;
		else
			*(double *) place = answer;
	}
	data->filled = rows > 0 ? data->filled / rows : 0;
}

/*
 * A sample may lack the largest number of the key, by whose first column an index finds it.
 */
static void
read_extremes(ProposeTable *table)
{
	ProposeColumn *column = &table->columns[linitial_int(table->key)];
	StringInfoData sql;

	initStringInfo(&sql);
	append_for(&sql,
			   "SELECT length(greatest(abs(max($)::numeric), abs(min($)::numeric))::text),"
			   " (min($) < 0)::int",
			   column);
	appendStringInfo(&sql, " FROM %s AS src", table->qualified);
	propose_execute_on(table, sql.data, 0, NULL);
	column->data.digits = Max(column->data.digits, propose_answer(1));
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
		take_answers(&table->columns[i].data, rows, sql_value(SPI_tuptable, 0, i + 2));
	table->rows = rows / table->sampled;
	SPI_freetuptable(SPI_tuptable);
	if (table->sampled < 1 && table->key != NIL &&
		kind_of(table->columns[linitial_int(table->key)].type) == OF_INTEGERS)
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
