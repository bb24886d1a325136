/*
 * sql.h
 *	  Statements of the extension's own.
 */
#ifndef DYNAMO_TABLE_GROUND_SQL_H
#define DYNAMO_TABLE_GROUND_SQL_H

extern uint64 sql_execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls,
						  bool read_only, long limit);

#endif
