/*
 * statement.h
 *	  PartiQL statements in requests.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_STATEMENT_H
#define DYNAMO_TABLE_API_REQUEST_STATEMENT_H

#include "api/partiql/partiql.h"
#include "api/request/members.h"

/* statement.c */
extern void statement_read_parameters(JsonReader *reader, void *list);
extern const char *statement_privilege(PartiqlKind kind);
extern text *statement_table(const PartiqlBound *bound);

#endif
