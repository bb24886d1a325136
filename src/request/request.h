/*
 * request.h
 *	  DynamoDB's low-level API word for word: a front end over the actions, and the tables.
 */
#ifndef DYNAMO_TABLE_REQUEST_REQUEST_H
#define DYNAMO_TABLE_REQUEST_REQUEST_H

#include "lib/stringinfo.h"

#include "request/members.h"

/* Reads a request, does what it says, and writes the response: a JSON object. */
typedef void (*RequestOperation)(JsonReader *reader, StringInfo response);

/* limits.c */
extern void request_describe_limits(JsonReader *reader, StringInfo response);
extern void request_describe_endpoints(JsonReader *reader, StringInfo response);

#endif
