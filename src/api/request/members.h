/*
 * members.h
 *	  The members of a JSON object of a request, by a table.
 *
 *		static const RequestMember members[] = {
 *			{"TableName", MEMBER_TEXT, offsetof(Get, table), true, .name_of = NAME_TABLE},
 *			{"Key", MEMBER_ITEM, offsetof(Get, key), true},
 *			{"ConsistentRead", MEMBER_BOOL, offsetof(Get, consistent)}};
 *
 *		request_read(reader, members, lengthof(members), &get, check);
 *
 * What is not given keeps its value; null is as if it were not given.
 *
 * A request is wrong in this order: its JSON and the types of that (ERRCODE_DYN_SERIALIZATION); its
 * members, each by itself, which are collected in the order of the tables, at most 10 of them, and
 * told in one envelope; then what request_refuse() has noted first; then what check() says of
 * members that belong together; then the first value in an item that is none.  Functions of
 * MEMBER_CUSTOM go on after a problem that they have told by request_invalid() or request_refuse():
 * what they leave behind is looked at by nobody.  A member that a table does not have is ignored, as
 * DynamoDB ignores what its API model does not have; only in the declaration of a request it is an
 * error.
 *
 * request_read_members() alone also reads arguments of functions, which are no requests.  There the
 * first problem is an error at once, and so is a member that is not known.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_MEMBERS_H
#define DYNAMO_TABLE_API_REQUEST_MEMBERS_H

#include "nodes/pg_list.h"

#include "item/reader.h"

typedef enum MemberKind
{
	MEMBER_TEXT, /* text * */
	MEMBER_STRING, /* ItemSpan */
	MEMBER_BOOL, /* bool */
	MEMBER_FLAG, /* int: 1 or 0 */
	MEMBER_INTEGER, /* RequestInteger */
	MEMBER_LONG, /* int64 that is not 0: a 0 is read as the least one */
	MEMBER_ITEM, /* DynItem *, of typed values */
	MEMBER_VALUES, /* the same of an expression's, which may be larger */
	MEMBER_LATE_VALUES, /* and of one whose depth is judged later: left in the reader */
	MEMBER_NAMES, /* Jsonb *, an object of strings */
	MEMBER_CHOICE, /* int: the number of the choice */
	MEMBER_STRINGS, /* List * of ItemSpan * */
	MEMBER_PART, /* the members of an object, as part of the same structure */
	MEMBER_OBJECT, /* a structure, newly allocated; NULL: not given */
	MEMBER_OBJECTS, /* List * of such ones */
	MEMBER_CUSTOM, /* whatever the member's function makes of it */
	MEMBER_IGNORED, /* taken, and nothing is made of it */
	MEMBER_REFUSED /* not supported: the request is refused, with the hint */
} MemberKind;

/* Says what strings name that are names. */
typedef enum MemberName
{
	NAME_NONE,
	NAME_TABLE, /* which may have any name if it exists; or an ARN */
	NAME_NEW_TABLE,
	NAME_ANY, /* of an index, or of a table that is not looked up: any name */
	NAME_NEW_INDEX
} MemberName;

/* This is a number that may be missing. */
typedef struct RequestInteger
{
	bool given;
	int64 value;
} RequestInteger;

/* Reads a value into what the offset says. */
typedef void (*MemberReader)(JsonReader *reader, void *to);

typedef struct RequestMember RequestMember;

/* This is a structure that an object is read into, by a table of its members. */
typedef struct RequestType
{
	const RequestMember *members;
	int nmembers;
	size_t size;
	const void *initial; /* what an empty object means; NULL: all zero */
	const char *name; /* where a list of them is told */
} RequestType;

struct RequestMember
{
	const char *name;
	MemberKind kind;
	size_t offset;
	bool required;
	const char *const *choices; /* of MEMBER_CHOICE: their names, NULL at the end */
	MemberReader read; /* of MEMBER_CUSTOM */
	const char *set; /* of MEMBER_CHOICE: the names in DynamoDB's order; NULL: in that of choices */
	int64 min; /* a number, or a length: characters of a string, elements of a list */
	int64 max; /* 0: none */
	MemberName name_of;
	bool plain; /* DynamoDB tells the name with its capital and no value */
	const char *missing; /* told before everything else if it is required and not there; or NULL */
	const char *hint; /* of MEMBER_REFUSED, or NULL */
	const RequestType *of; /* of MEMBER_PART, MEMBER_OBJECT, MEMBER_OBJECTS */
	const RequestMember *each; /* of MEMBER_STRINGS: what each must be; or NULL */
	const char *empty; /* of indexes: what is said of a list without any, behind the envelope */
};

/* Operations on tables say this where the name is missing. */
#define REQUIRED_TABLE "The parameter 'TableName' is required but was not present in the request"

/* Looks at what was read, where members belong together. */
typedef void (*RequestCheck)(void *read);

extern void request_read(JsonReader *reader, const RequestMember *members, int n, void *to,
						 RequestCheck check);
extern ItemSpan request_read_table_name(JsonReader *reader);

/* These read an object within a request, and note what is wrong with what was read last. */
extern void request_read_members(JsonReader *reader, const RequestMember *members, int n, void *to);
extern void *request_read_object(JsonReader *reader, const RequestType *type);
extern int request_read_choice(JsonReader *reader, const char *name, const char *const *choices,
							   const char *set);
extern void request_check_length(JsonReader *reader, int64 length, int64 min, int64 max,
								 const char *value);
extern void request_tell_first(JsonReader *reader, const char *words);
extern void request_invalid(JsonReader *reader, const char *value, const char *format, ...)
	pg_attribute_printf(3, 4);
extern void request_invalid_plain(JsonReader *reader, const char *path, const char *what,
								  const char *than, int64 bound);
extern void request_missing(JsonReader *reader, const char *name);
extern void request_refuse(JsonReader *reader, const char *words, const char *format, ...)
	pg_attribute_printf(3, 4);
extern bool request_is_strict(const JsonReader *reader);
extern bool request_is_table(ItemSpan given);
extern bool request_is_argument(const JsonReader *reader);

/* Returns the names in a list of ItemSpan, or of structures that begin with one. */
extern char *request_strings_text(const List *strings); /* as DynamoDB prints it */
extern void *request_find_name(const List *list, ItemSpan name);
extern const ItemSpan *request_find_twice(const List *list);

#endif
