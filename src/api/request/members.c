/*
 * members.c
 *	  The members of a JSON object of a request, by a table.
 *
 * Problems are gathered member by member, and put in the order of the table when its object ends:
 * so the envelope has the order of the tables, at each level, whatever that of the text.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "api/request/denied.h"
#include "api/request/members.h"
#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "catalog/table.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/name.h"

#define MAX_MEMBERS 64
#define MAX_PROBLEMS 10 /* told of a request; more are left out */
#define MAX_GATHERED 100 /* before they are put in order */
#define MAX_LIST 4096 /* bytes of a list that is told, about */

/* This is an error that is raised later. */
typedef struct Refusal
{
	char *message; /* NULL: there is none */
	const char *words; /* or NULL */
	char *detail;
} Refusal;

typedef struct RequestProblems
{
	List *problems; /* char *, of the member that is being read */
	int gathered; /* of all members so far */
	const char *first; /* goes before all others, or NULL */
	Refusal refusal; /* the first one */
} RequestProblems;

/* Returns whether what is read is the argument of a function, and no request. */
bool
request_is_argument(const JsonReader *reader)
{
	return reader->problems == NULL;
}

/* Returns whether a member that is not known is an error, and not ignored. */
bool
request_is_strict(const JsonReader *reader)
{
	return reader->strict || request_is_argument(reader);
}

/*
 * What is wrong
 */

/* Returns whether so much is wrong already that more need not be known. */
static bool
is_hopeless(const JsonReader *reader)
{
	return !request_is_argument(reader) && reader->problems->gathered == MAX_GATHERED;
}

/* Adds a part of the envelope; for an argument, raises it as all of that. */
static void
add_problem(JsonReader *reader, char *problem)
{
	if (request_is_argument(reader))
		dyn_error(ERRCODE_DYN_VALIDATION, "1 validation error detected: %s", problem);
	reader->problems->problems = lappend(reader->problems->problems, problem);
	reader->problems->gathered++;
}

/*
 * Notes that the value at the place that the reader is at breaks the constraint.  The value is told
 * as it is; NULL if it is missing.
 */
void
request_invalid(JsonReader *reader, const char *value, const char *format, ...)
{
	va_list args;
	char *constraint;

	if (is_hopeless(reader))
		return;
	va_start(args, format);
	constraint = words_format(format, args);
	va_end(args);
	add_problem(reader,
				psprintf("Value %s%s%s at '%s' failed to satisfy constraint: %s",
						 value == NULL ? "" : "'", value == NULL ? "null" : value,
						 value == NULL ? "" : "'", json_reader_api_path(reader), constraint));
}

/* Notes that a bound of the value at a place is broken, in the form without the value. */
void
request_invalid_plain(JsonReader *reader, const char *path, const char *what, const char *than,
					  int64 bound)
{
	if (!is_hopeless(reader))
		add_problem(reader, psprintf("Value at '%s' failed to satisfy constraint: Member must have "
									 "%s %s than or equal to " INT64_FORMAT,
									 path, what, than, bound));
}

pg_noreturn static void
raise_refusal(const Refusal *refusal)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg_internal("%s", refusal->message),
					refusal->detail != NULL ? errdetail_internal("%s", refusal->detail) : 0,
					errwords_if(refusal->words)));
}

/*
 * Notes that the request is refused for a reason that is no constraint of a single member: told
 * behind the envelope.  The words are DynamoDB's, or NULL; the message is the extension's own.
 */
void
request_refuse(JsonReader *reader, const char *words, const char *format, ...)
{
	Refusal refusal = {.words = words};
	va_list args;
	char *path;

	if (!request_is_argument(reader) && reader->problems->refusal.message != NULL)
		return;
	path = json_reader_path(reader);
	va_start(args, format);
	refusal.message = words_format(format, args);
	va_end(args);
	if (*path != '\0')
		refusal.detail = psprintf("In \"%s\".", path);
	if (request_is_argument(reader))
		raise_refusal(&refusal);
	reader->problems->refusal = refusal;
}

/* Notes what is told alone and before all else: of several the first one. */
void
request_tell_first(JsonReader *reader, const char *words)
{
	if (reader->problems->first == NULL)
		reader->problems->first = words;
}

static bool
is_within(const RequestMember *member, int64 number)
{
	return number >= member->min && (member->max == 0 || number <= member->max);
}

/* Notes that the value, or its length, is out of bounds; the value is told where DynamoDB does. */
static void
tell_bounds(JsonReader *reader, const RequestMember *member, const char *what, int64 number,
			const char *value)
{
	const char *than = number < member->min ? "greater" : "less";
	int64 bound = number < member->min ? member->min : member->max;

	if (member->plain)
		request_invalid_plain(reader, member->name, what, than, bound);
	else
		request_invalid(reader, value, "Member must have %s %s than or equal to " INT64_FORMAT,
						what, than, bound);
}

/* Checks the number of elements, or the length, of what was read last.  A max of 0 is none. */
void
request_check_length(JsonReader *reader, int64 length, int64 min, int64 max, const char *value)
{
	const RequestMember member = {.min = min, .max = max};

	if (!is_within(&member, length))
		tell_bounds(reader, &member, "length", length, value);
}

static bool
has_name_characters(ItemSpan name)
{
	for (uint32 i = 0; i < name.len; i++)
	{
		if (!dyn_is_name_character(name.data[i]))
			return false;
	}
	return true;
}

/* Returns whether a name may exist that DynamoDB does not allow: of what an SQL call has made. */
static bool
may_exist(ItemSpan name, MemberName of)
{
	if (name.len == 0 || name.len > DYN_MAX_TABLE_NAME || memchr(name.data, '\0', name.len) != NULL)
		return false;
	return of == NAME_ANY || (of == NAME_TABLE && OidIsValid(dyn_table_lookup(name)));
}

/* Names that are given with an ARN are told with it. */
static void
check_name(JsonReader *reader, ItemSpan given, MemberName of)
{
	ItemSpan name = of == NAME_TABLE || of == NAME_NEW_TABLE ? dyn_table_name(given) : given;

	if (is_hopeless(reader) || dyn_is_request_name(name) || may_exist(name, of))
		return;
	if (!has_name_characters(name))
		request_invalid(reader, item_quoted_words(given),
						"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
	/* an empty name of a table is told by another bound (docs/semantics.md, SV23) */
	request_check_length(reader, item_characters(name), of == NAME_TABLE && name.len == 0 ? 1 : 3,
						 DYN_MAX_TABLE_NAME, item_quoted_words(given));
}

/* Returns whether a table can have the name, or the ARN, or there is one that has it. */
bool
request_is_table(ItemSpan given)
{
	ItemSpan name = dyn_table_name(given);

	return dyn_is_request_name(name) || may_exist(name, NAME_TABLE);
}

static void
check_string(JsonReader *reader, const RequestMember *member, ItemSpan string)
{
	int64 length = member->min > 0 || member->max > 0 ? item_characters(string) : 0;

	if (!is_within(member, length))
		tell_bounds(reader, member, "length", length, item_quoted_words(string));
	if (member->name_of != NAME_NONE && !request_is_argument(reader))
		check_name(reader, string, member->name_of);
}

/*
 * Values as DynamoDB prints them
 */

static bool
is_missing(const RequestMember *member, const void *from)
{
	return (member->kind == MEMBER_TEXT && *(text *const *) from == NULL) ||
		   (member->kind == MEMBER_STRING && ((const ItemSpan *) from)->data == NULL) ||
		   (member->kind == MEMBER_CHOICE && *(const int *) from < 0);
}

static void
print_value(StringInfo out, const RequestMember *member, const void *from)
{
	if (is_missing(member, from))
	{
		appendStringInfoString(out, "null");
		return;
	}
	switch (member->kind)
	{
		case MEMBER_TEXT:
			item_quote_words(out, text_span(*(text *const *) from));
			break;
		case MEMBER_STRING:
			item_quote_words(out, *(const ItemSpan *) from);
			break;
		case MEMBER_BOOL:
			appendStringInfoString(out, *(const bool *) from ? "true" : "false");
			break;
		case MEMBER_INTEGER:
			appendStringInfo(out, INT64_FORMAT, ((const RequestInteger *) from)->value);
			break;
		case MEMBER_CHOICE:
			appendStringInfoString(out, member->choices[*(const int *) from]);
			break;
		case MEMBER_ITEM:
		case MEMBER_VALUES:
		case MEMBER_LATE_VALUES:
		case MEMBER_NAMES:
		case MEMBER_FLAG:
		case MEMBER_LONG:
		case MEMBER_STRINGS:
		case MEMBER_PART:
		case MEMBER_OBJECT:
		case MEMBER_OBJECTS:
		case MEMBER_CUSTOM:
		case MEMBER_IGNORED:
		case MEMBER_REFUSED:
			appendStringInfoString(out, "...");
			break;
	}
}

static void
print_structure(StringInfo out, const RequestType *type, const void *from)
{
	appendStringInfo(out, "%s(", type->name);
	for (int i = 0; i < type->nmembers; i++)
	{
		const RequestMember *member = &type->members[i];

		appendStringInfo(out, "%s%c%s=", i > 0 ? ", " : "",
						 pg_tolower((unsigned char) member->name[0]), member->name + 1);
		print_value(out, member, (const char *) from + member->offset);
	}
	appendStringInfoChar(out, ')');
}

/* Returns whether another element of a list has room; otherwise the list is cut. */
static bool
begin_element(StringInfo out)
{
	bool room = out->len < MAX_LIST;

	appendStringInfo(out, "%s%s", out->len > 1 ? ", " : "", room ? "" : "...");
	return room;
}

/* Returns a list of ItemSpan, or of structures that begin with one: of these. */
char *
request_strings_text(const List *strings)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	foreach (cell, strings)
	{
		if (!begin_element(&out))
			break;
		item_quote_words(&out, *(const ItemSpan *) lfirst(cell));
	}
	appendStringInfoChar(&out, ']');
	return out.data;
}

/* Returns a list of structures, as "[KeySchemaElement(attributeName=a)]". */
static char *
list_text(const List *list, const RequestType *type)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	foreach (cell, list)
	{
		if (!begin_element(&out))
			break;
		print_structure(&out, type, lfirst(cell));
	}
	appendStringInfoChar(&out, ']');
	return out.data;
}

/*
 * Values
 */

/* Returns a string as text, which cannot hold U+0000. */
static text *
text_of(JsonReader *reader, ItemSpan string, const char *name)
{
	if (memchr(string.data, '\0', string.len) != NULL)
		request_refuse(reader, NULL, "member \"%s\" must not contain U+0000", name);
	return span_text(string);
}

static ItemSpan
read_string(JsonReader *reader, const RequestMember *member)
{
	ItemSpan string = json_read_string(reader);

	check_string(reader, member, string);
	return string;
}

static RequestInteger
read_number(JsonReader *reader, const RequestMember *member)
{
	RequestInteger number = {true, member->kind == MEMBER_LONG ? json_read_long(reader)
															   : json_read_integer(reader)};

	if ((member->min > 0 || member->max > 0) && !is_within(member, number.value))
		tell_bounds(reader, member, "value", number.value, psprintf(INT64_FORMAT, number.value));
	return number;
}

static List *
read_strings(JsonReader *reader, const RequestMember *member)
{
	List *strings = NIL;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ItemSpan *string = palloc(sizeof(ItemSpan));

		*string =
			member->each != NULL ? read_string(reader, member->each) : json_read_string(reader);
		strings = lappend(strings, string);
	}
	if (!is_within(member, list_length(strings)))
		tell_bounds(reader, member, "length", list_length(strings), request_strings_text(strings));
	return strings;
}

/* Reads an object of that type, newly allocated. */
void *
request_read_object(JsonReader *reader, const RequestType *type)
{
	void *object = palloc0(type->size);

	if (type->initial != NULL)
		memcpy(object, type->initial, type->size);
	request_read_members(reader, type->members, type->nmembers, object);
	return object;
}

static List *
read_objects(JsonReader *reader, const RequestMember *member)
{
	List *objects = NIL;

	for (json_read_array(reader); json_read_element(reader);)
		objects = lappend(objects, request_read_object(reader, member->of));
	if (objects == NIL && member->empty != NULL)
		request_refuse(reader, member->empty, "the list of indexes is empty");
	if (!is_within(member, list_length(objects)))
		tell_bounds(reader, member, "length", list_length(objects), list_text(objects, member->of));
	return objects;
}

/* Returns the names of choices as DynamoDB lists them. */
static const char *
choice_set(const RequestMember *member)
{
	StringInfoData set;

	if (member->set != NULL)
		return member->set;
	initStringInfo(&set);
	for (int i = 0; member->choices[i] != NULL; i++)
		appendStringInfo(&set, "%s%s", i > 0 ? ", " : "", member->choices[i]);
	return set.data;
}

static int
read_choice(JsonReader *reader, const RequestMember *member)
{
	ItemSpan name = json_read_string(reader);

	if (request_is_argument(reader))
		return option_choice(member->name, name, member->choices);
	for (int i = 0; member->choices[i] != NULL; i++)
	{
		if (item_span_is(name, member->choices[i]))
			return i;
	}
	if (!is_hopeless(reader))
		request_invalid(reader, item_quoted_words(name), "Member must satisfy enum value set: [%s]",
						choice_set(member));
	return 0;
}

/* Reads one of the choices, of a member of that name, whose set DynamoDB lists. */
int
request_read_choice(JsonReader *reader, const char *name, const char *const *choices,
					const char *set)
{
	const RequestMember member = {name, MEMBER_CHOICE, .choices = choices, .set = set};

	return read_choice(reader, &member);
}

static void
refuse_member(JsonReader *reader, const RequestMember *member)
{
	json_skip(reader);
	request_refuse(reader, NULL, "member \"%s\" is not supported%s%s", member->name,
				   member->hint == NULL ? "" : ": ", member->hint == NULL ? "" : member->hint);
}

static void
read_value(JsonReader *reader, const RequestMember *member, void *to)
{
	int64 number;

	switch (member->kind)
	{
		case MEMBER_TEXT:
			*(text **) to = text_of(reader, read_string(reader, member), member->name);
			break;
		case MEMBER_STRING:
			*(ItemSpan *) to = read_string(reader, member);
			break;
		case MEMBER_BOOL:
			*(bool *) to = json_read_bool(reader);
			break;
		case MEMBER_FLAG:
			*(int *) to = json_read_bool(reader);
			break;
		case MEMBER_INTEGER:
			*(RequestInteger *) to = read_number(reader, member);
			break;
		case MEMBER_LONG:
			number = read_number(reader, member).value;
			*(int64 *) to = number == 0 ? PG_INT64_MIN : number;
			break;
		case MEMBER_ITEM:
			*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_ITEM);
			break;
		case MEMBER_VALUES:
			*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_VALUES);
			break;
		case MEMBER_LATE_VALUES:
			*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_LATE_VALUES);
			break;
		case MEMBER_NAMES:
			*(Jsonb **) to = json_read_names(reader);
			break;
		case MEMBER_CHOICE:
			*(int *) to = read_choice(reader, member);
			break;
		case MEMBER_STRINGS:
			*(List **) to = read_strings(reader, member);
			break;
		case MEMBER_PART:
			request_read_members(reader, member->of->members, member->of->nmembers, to);
			break;
		case MEMBER_OBJECT:
			*(void **) to = request_read_object(reader, member->of);
			break;
		case MEMBER_OBJECTS:
			*(List **) to = read_objects(reader, member);
			break;
		case MEMBER_CUSTOM:
			member->read(reader, to);
			break;
		case MEMBER_IGNORED:
			json_skip(reader);
			break;
		case MEMBER_REFUSED:
			refuse_member(reader, member);
			break;
	}
}

/*
 * Objects
 */

pg_noreturn static void
fail_member(const JsonReader *reader, ItemSpan name, const char *problem)
{
	char *quoted = item_quoted(name);
	char *path = json_reader_path(reader);

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("member \"%s\" %s", quoted, problem),
					strcmp(path, quoted) != 0 ? errdetail("In \"%s\".", path) : 0));
}

/* Returns what is said of an object of that path that lacks a member. */
static char *
missing_problem(const char *path, const char *name)
{
	return psprintf(
		"Value null at '%s%s%c%s' failed to satisfy constraint: Member must not be null", path,
		*path == '\0' ? "" : ".", pg_tolower((unsigned char) name[0]), name + 1);
}

/* Raises the error in an argument, whose members have no paths. */
pg_noreturn static void
fail_missing(const JsonReader *reader, const char *name)
{
	char *path = json_reader_path(reader);
	char *message = psprintf("1 validation error detected: %s", missing_problem("", name));

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg_internal("%s", message),
					*path != '\0' ? errdetail("In \"%s\".", path) : 0, errwords("%s", message)));
}

/* Notes that the object that was left lacks a member.  Its path is that of the reader now. */
void
request_missing(JsonReader *reader, const char *name)
{
	if (!is_hopeless(reader))
		add_problem(reader, missing_problem(json_reader_api_path(reader), name));
}

static void
add_missing(JsonReader *reader, const RequestMember *member)
{
	if (request_is_argument(reader))
		fail_missing(reader, member->name);
	if (member->missing != NULL)
		request_tell_first(reader, member->missing);
	else
		request_missing(reader, member->name);
}

/* Reads the value of a member, whose problems are added to those of the same member. */
static void
read_member(JsonReader *reader, const RequestMember *member, void *to, List **problems)
{
	List *before;

	if (request_is_argument(reader))
	{
		read_value(reader, member, to);
		return;
	}
	before = reader->problems->problems;
	reader->problems->problems = NIL;
	read_value(reader, member, to);
	*problems = reader->problems->problems;
	reader->problems->problems = before;
}

/* Reads an object, whose first token the reader stands at. */
void
request_read_members(JsonReader *reader, const RequestMember *members, int n, void *to)
{
	List *problems[MAX_MEMBERS];
	uint64 seen = 0;
	ItemSpan name;

	Assert(n <= MAX_MEMBERS);
	memset(problems, 0, n * sizeof(List *));
	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		int i = 0;

		while (i < n && !item_span_is(name, members[i].name))
			i++;
		if (i == n && request_is_strict(reader))
			fail_member(reader, name, "is not known here");
		if (i == n)
		{
			json_skip(reader);
			continue;
		}
		if (seen & UINT64CONST(1) << i)
			fail_member(reader, name, "is given twice");
		if (json_read_null(reader))
			continue;
		seen |= UINT64CONST(1) << i;
		read_member(reader, &members[i], (char *) to + members[i].offset, &problems[i]);
	}
	for (int i = 0; i < n; i++)
	{
		if (members[i].required && !(seen & UINT64CONST(1) << i))
			add_missing(reader, &members[i]);
		if (problems[i] != NIL)
			reader->problems->problems = list_concat(reader->problems->problems, problems[i]);
	}
}

/*
 * Requests
 */

static void
raise_envelope(const List *problems)
{
	int n = Min(list_length(problems), MAX_PROBLEMS);
	StringInfoData envelope;

	initStringInfo(&envelope);
	for (int i = 0; i < n; i++)
		appendStringInfo(&envelope, "%s%s", i > 0 ? "; " : "", (char *) list_nth(problems, i));
	dyn_error(ERRCODE_DYN_VALIDATION, "%d validation error%s detected: %s", n, n > 1 ? "s" : "",
			  envelope.data);
}

/*
 * Reads the whole of a request, and raises what is wrong with it.  check() looks at what belongs
 * together; it may be NULL.
 */
void
request_read(JsonReader *reader, const RequestMember *members, int n, void *to, RequestCheck check)
{
	RequestProblems problems = {0};

	reader->problems = &problems;
	request_read_members(reader, members, n, to);
	json_reader_done(reader);
	reader->problems = NULL;
	if (problems.first != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, "%s", problems.first);
	if (problems.problems != NIL)
		raise_envelope(problems.problems);
	if (problems.refusal.message != NULL)
		raise_refusal(&problems.refusal);
	if (check != NULL)
		check(to);
	item_complain(&reader->complaint);
}

/* Reads a request that has a table's name and nothing else. */
ItemSpan
request_read_table_name(JsonReader *reader)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, 0, true, .name_of = NAME_TABLE, .missing = REQUIRED_TABLE}};
	ItemSpan name;

	request_read(reader, members, lengthof(members), &name, NULL);
	request_names(reader, name);
	return name;
}

/*
 * Names
 */

/* Returns the first element of a list that has the name; NULL if there is none. */
void *
request_find_name(const List *list, ItemSpan name)
{
	ListCell *cell;

	CHECK_FOR_INTERRUPTS();
	foreach (cell, list)
	{
		if (item_compare_bytes(*(const ItemSpan *) lfirst(cell), name) == 0)
			return lfirst(cell);
	}
	return NULL;
}

/* Returns the first element whose name another one has before it; NULL if there is none. */
const ItemSpan *
request_find_twice(const List *list)
{
	ListCell *cell;

	foreach (cell, list)
	{
		if (request_find_name(list, *(const ItemSpan *) lfirst(cell)) != lfirst(cell))
			return lfirst(cell);
	}
	return NULL;
}
