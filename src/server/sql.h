/*
 * sql.h
 *	  Statements of the extension's own, and the rows that they find.
 */
#ifndef DYNAMO_TABLE_SERVER_SQL_H
#define DYNAMO_TABLE_SERVER_SQL_H

#include "executor/spi.h"

extern void sql_init(void);
extern char *sql_on(Oid relid, const char *sql);
extern char *sql_on_rows(Oid relid, const char *sql);
extern uint64 sql_execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls,
						  bool read_only, long limit);

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
