/*
 * members.h
 *	  The members of a JSON object of a request, by a table.
 *
 *		static const RequestMember members[] = {
 *			{"TableName", MEMBER_TEXT, offsetof(Get, table), true},
 *			{"Key", MEMBER_ITEM, offsetof(Get, key), true},
 *			{"ConsistentRead", MEMBER_BOOL, offsetof(Get, consistent)}};
 *
 *		request_read_members(reader, members, lengthof(members), &get);
 *
 * What is not given keeps its value; null is as if it were not given.  Unknown members, and
 * required ones that are missing, are ERRCODE_DYN_VALIDATION.
 */
#ifndef DYNAMO_TABLE_REQUEST_MEMBERS_H
#define DYNAMO_TABLE_REQUEST_MEMBERS_H

#include "item/reader.h"

typedef enum MemberKind
{
	MEMBER_TEXT, /* text * */
	MEMBER_STRING, /* ItemSpan */
	MEMBER_BOOL, /* bool */
	MEMBER_INTEGER, /* RequestInteger */
	MEMBER_ITEM, /* DynItem *, of typed values */
	MEMBER_VALUES, /* the same of an expression's, which may be larger */
	MEMBER_NAMES, /* Jsonb *, an object of strings */
	MEMBER_CHOICE, /* int: the number of the choice */
	MEMBER_STRINGS, /* List * of ItemSpan * */
	MEMBER_CUSTOM /* whatever the member's function makes of it */
} MemberKind;

/* A number that may be missing. */
typedef struct RequestInteger
{
	bool given;
	int64 value;
} RequestInteger;

/* Reads a value into what the offset says. */
typedef void (*MemberReader)(JsonReader *reader, void *to);

typedef struct RequestMember
{
	const char *name;
	MemberKind kind;
	size_t offset;
	bool required;
	const char *const *choices; /* of MEMBER_CHOICE: their names, NULL at the end */
	MemberReader read; /* of MEMBER_CUSTOM */
} RequestMember;

extern void request_read_members(JsonReader *reader, const RequestMember *members, int n, void *to);
extern ItemSpan request_read_table_name(JsonReader *reader);

#endif
