/*
 * legacy.h
 *	  The legacy parameters of a request: read as they are, then made into expressions.
 *
 * An operation has a LegacyParameters, all zero at first, and in its table of members those
 * of these that it takes:
 *
 *		LEGACY_EXPECTED(Put, legacy), LEGACY_CONDITIONAL_OPERATOR(Put, legacy)
 *
 * Once the request is read, and its parameters go together (parameters.h), legacy_build_item() or
 * legacy_build_read() gives the action what it is to use instead of the texts;
 * legacy_build_projection() does so for a table of BatchGetItem.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_LEGACY_H
#define DYNAMO_TABLE_API_REQUEST_LEGACY_H

#include "nodes/pg_list.h"

#include "actions/actions.h"
#include "api/request/members.h"

/* This is a list that may be missing, which is not the same as empty. */
typedef struct LegacyList
{
	bool given;
	List *members; /* LegacyAttribute *, or ItemSpan * of names */
} LegacyList;

typedef enum LegacyOperator
{
	LEGACY_NONE,
	LEGACY_AND,
	LEGACY_OR
} LegacyOperator;

typedef struct LegacyParameters
{
	LegacyList attributes_to_get;
	LegacyList query_filter;
	LegacyList scan_filter;
	LegacyList attribute_updates;
	LegacyList expected;
	LegacyList key_conditions;
	LegacyOperator conditional_operator;
} LegacyParameters;

#define LEGACY_MEMBER(name, type, field, reader) \
	{ \
		name, MEMBER_CUSTOM, offsetof(type, field), false, NULL, reader \
	}
#define LEGACY_ATTRIBUTES_TO_GET(type, legacy) \
	LEGACY_MEMBER("AttributesToGet", type, legacy.attributes_to_get, legacy_read_names)
#define LEGACY_QUERY_FILTER(type, legacy) \
	LEGACY_MEMBER("QueryFilter", type, legacy.query_filter, legacy_read_conditions)
#define LEGACY_SCAN_FILTER(type, legacy) \
	LEGACY_MEMBER("ScanFilter", type, legacy.scan_filter, legacy_read_conditions)
#define LEGACY_ATTRIBUTE_UPDATES(type, legacy) \
	LEGACY_MEMBER("AttributeUpdates", type, legacy.attribute_updates, legacy_read_updates)
#define LEGACY_EXPECTED(type, legacy) \
	LEGACY_MEMBER("Expected", type, legacy.expected, legacy_read_expected)
#define LEGACY_KEY_CONDITIONS(type, legacy) \
	LEGACY_MEMBER("KeyConditions", type, legacy.key_conditions, legacy_read_conditions)
#define LEGACY_CONDITIONAL_OPERATOR(type, legacy) \
	LEGACY_MEMBER("ConditionalOperator", type, legacy.conditional_operator, legacy_read_operator)
#define LEGACY_QUERY_OPERATOR(type, legacy) \
	LEGACY_MEMBER("ConditionalOperator", type, legacy.conditional_operator, \
				  legacy_read_query_operator)

extern void legacy_read_names(JsonReader *reader, void *to);
extern void legacy_read_conditions(JsonReader *reader, void *to);
extern void legacy_read_updates(JsonReader *reader, void *to);
extern void legacy_read_expected(JsonReader *reader, void *to);
extern void legacy_read_operator(JsonReader *reader, void *to);
extern void legacy_read_query_operator(JsonReader *reader, void *to);

extern char *legacy_names(const LegacyParameters *legacy, bool key_condition);
extern void legacy_build_item(const LegacyParameters *legacy, ItemRequest *request);
extern void legacy_build_read(const LegacyParameters *legacy, ReadRequest *request);
extern const Expr *legacy_build_projection(const LegacyParameters *legacy);

#endif
