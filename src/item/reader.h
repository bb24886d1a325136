/*
 * reader.h
 *	  JSON around items, read once from the front to the back: requests, and lists of actions.
 *
 *		json_reader_init(&reader, json, len);
 *		for (json_read_object(&reader); json_read_member(&reader, &name);)
 *			... read the member's value with one of these functions ...
 *		json_reader_done(&reader);
 *
 * What is no JSON, or has another type than is asked for, is ERRCODE_DYN_SERIALIZATION in a request,
 * and ERRCODE_DYN_VALIDATION in an argument of another function.
 */
#ifndef DYNAMO_TABLE_ITEM_READER_H
#define DYNAMO_TABLE_ITEM_READER_H

#include "utils/jsonb.h"

#include "item/item.h"

#define JSON_READER_DEPTH 8 /* objects and arrays around items */

/* A JsonLevelKind says what an object or array is: a map's members have names that are data. */
typedef enum JsonLevelKind
{
	JSON_STRUCTURE,
	JSON_MAP,
	JSON_LIST
} JsonLevelKind;

/* A JsonLevel is an object or array that is being read. */
typedef struct JsonLevel
{
	JsonLevelKind kind;
	int count; /* of members or elements that were begun */
	ItemSpan member; /* that is being read, empty in an array; no data: none */
} JsonLevel;

typedef struct JsonReader
{
	struct JsonLexContext *lex;
	const char *what; /* it is, for messages */
	int sqlerrcode; /* of errors */
	ItemComplaint complaint; /* of the values of a request */
	ItemDepth late; /* of the values that were read last as ITEM_SYNTAX_LATE_VALUES */
	bool stored; /* items have been stored, and are none that a call brings */
	int depth;
	JsonLevel levels[JSON_READER_DEPTH];
	struct RequestProblems *problems; /* of src/api/request/members.c; NULL: of no request */
	bool strict; /* in a request members that are not known are errors */
	struct Denial *denial; /* of src/api/request/denied.c; NULL: nobody asks */
	const struct Node *site; /* where the request is given to an SQL function; or NULL */
} JsonReader;

extern void json_reader_begin(JsonReader *reader, const char *json, int len, const char *what,
							  int sqlerrcode);
extern void json_reader_init(JsonReader *reader, const char *json, int len);
extern void json_reader_init_argument(JsonReader *reader, const text *json, const char *what);
extern void json_reader_done(JsonReader *reader);

/* One goes into an object or array, then on, until there is no more and it is left. */
extern void json_read_object(JsonReader *reader);
extern void json_read_map(JsonReader *reader);
extern bool json_read_member(JsonReader *reader, ItemSpan *name);
extern void json_read_array(JsonReader *reader);
extern bool json_read_element(JsonReader *reader);

/* These read values. */
extern bool json_read_null(JsonReader *reader); /* false: it is another value, and not read */
extern ItemSpan json_read_string(JsonReader *reader);
extern bool json_read_bool(JsonReader *reader);
extern int64 json_read_integer(JsonReader *reader);
extern int64 json_read_long(JsonReader *reader);
extern DynItem *json_read_item(JsonReader *reader, ItemSyntax syntax);
extern Jsonb *json_read_names(JsonReader *reader);
extern void json_skip(JsonReader *reader);
extern ItemSpan json_read_raw(JsonReader *reader);
extern const char *json_reader_at(const JsonReader *reader);
extern ItemSpan json_read_since(const JsonReader *reader, const char *start);

extern char *json_reader_path(const JsonReader *reader);
extern char *json_reader_api_path(const JsonReader *reader);

#endif
