/*
 * node_error.h
 *	  Errors that nodes of Citus tell each other as JSON, since Citus changes some that it passes on.
 */
#ifndef DYNAMO_TABLE_CATALOG_NODE_ERROR_H
#define DYNAMO_TABLE_CATALOG_NODE_ERROR_H

extern char *node_error_json(const ErrorData *error);
extern void node_error_raise(const char *answer);

#endif
