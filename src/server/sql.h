/*
 * sql.h
 *	  Statements of the extension's own, and the rows that they find.
 */
#ifndef DYNAMO_TABLE_SERVER_SQL_H
#define DYNAMO_TABLE_SERVER_SQL_H

#include "catalog/pg_type_d.h"
#include "executor/spi.h"

extern void sql_init(void);
extern char *sql_on(Oid relid, const char *sql);
extern char *sql_on_rows(Oid relid, const char *sql);

/* An SqlArgument is what stands for $1 and the like. */
typedef struct SqlArgument
{
	Oid type;
	Datum value;
	bool isnull;
} SqlArgument;

#define SQL_NULLABLE(type, value, isnull) ((SqlArgument){type, value, isnull})
#define SQL_VALUE(type, value) SQL_NULLABLE(type, value, false)
#define SQL_OID(oid) SQL_VALUE(OIDOID, ObjectIdGetDatum(oid))
#define SQL_INT4(number) SQL_VALUE(INT4OID, Int32GetDatum(number))
#define SQL_INT8(number) SQL_VALUE(INT8OID, Int64GetDatum(number))
#define SQL_TEXT(string) SQL_VALUE(TEXTOID, CStringGetTextDatum(string))
#define SQL_TIME(time) SQL_VALUE(TIMESTAMPTZOID, TimestampTzGetDatum(time))
#define SQL_LSN(lsn) SQL_VALUE(PG_LSNOID, LSNGetDatum(lsn))

/* These are the last two parameters of the functions that execute a statement. */
#define SQL_ARGUMENTS(...) \
	lengthof(((const SqlArgument[]){__VA_ARGS__})), (const SqlArgument[]) \
	{ \
		__VA_ARGS__ \
	}

extern uint64 sql_execute(const char *sql, bool read_only, long limit, int nargs,
						  const SqlArgument *arguments);

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
