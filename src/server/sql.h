/*
 * sql.h
 *	  Statements of the extension's own, and the rows that they find.
 */
#ifndef DYNAMO_TABLE_SERVER_SQL_H
#define DYNAMO_TABLE_SERVER_SQL_H

#include "catalog/pg_type_d.h"
#include "executor/spi.h"

#include "server/span.h"

extern void sql_init(void);
extern char *sql_on(Oid relid, const char *sql);
extern char *sql_on_rows(Oid relid, const char *sql);

/* An SqlValue is what stands for $1 and the like, or a column of a function's result. */
typedef struct SqlValue
{
	Oid type;
	Datum value;
	bool isnull;
} SqlValue;

#define SQL_NULLABLE(type, value, isnull) ((SqlValue){type, value, isnull})
#define SQL_VALUE(type, value) SQL_NULLABLE(type, value, false)
#define SQL_OID(oid) SQL_VALUE(OIDOID, ObjectIdGetDatum(oid))
#define SQL_INT4(number) SQL_VALUE(INT4OID, Int32GetDatum(number))
#define SQL_INT8(number) SQL_VALUE(INT8OID, Int64GetDatum(number))
#define SQL_BOOL(value) SQL_VALUE(BOOLOID, BoolGetDatum(value))
#define SQL_TIME(time) SQL_VALUE(TIMESTAMPTZOID, TimestampTzGetDatum(time))
#define SQL_LSN(lsn) SQL_VALUE(PG_LSNOID, LSNGetDatum(lsn))

/* What is at NULL is NULL; the type of a result's column need not be told. */
#define SQL_POINTER(type, pointer) SQL_NULLABLE(type, PointerGetDatum(pointer), (pointer) == NULL)
#define SQL_TEXT(string) sql_string(string)
extern SqlValue sql_string(const char *string);
extern SqlValue sql_span(ItemSpan span);

/* These are the last two parameters of the functions that take values. */
#define SQL_VALUES(...) \
	lengthof(((const SqlValue[]){__VA_ARGS__})), (const SqlValue[]) \
	{ \
		__VA_ARGS__ \
	}

extern uint64 sql_execute(const char *sql, bool read_only, long limit, int nargs,
						  const SqlValue *arguments);

extern void sql_put(ReturnSetInfo *result, int n, const SqlValue *values);
extern Datum sql_row_of(TupleDesc desc, int n, const SqlValue *values);
extern Datum sql_row(FunctionCallInfo fcinfo, int n, const SqlValue *values);

/* Takes row i of the rows, and returns whether the next one is wanted. */
typedef bool (*SqlRow)(void *arg, const SPITupleTable *rows, uint64 i);
extern void sql_scan(const char *sql, SqlRow row, void *arg);

extern Datum sql_oids(List *oids); /* as an array */
extern Datum sql_value(const SPITupleTable *rows, uint64 row, int column);
extern Datum sql_value_or_zero(const SPITupleTable *rows, uint64 row, int column);
extern Datum sql_nullable(const SPITupleTable *rows, uint64 row, int column, bool *isnull);
extern char *sql_text(const SPITupleTable *rows, uint64 row, int column);
extern char *sql_text_or_null(const SPITupleTable *rows, uint64 row, int column);

#endif
