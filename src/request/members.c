/*
 * members.c
 *	  The members of a JSON object of a request, by a table.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/builtins.h"

#include "ground/arguments.h"
#include "ground/errors.h"
#include "request/members.h"

pg_noreturn static void
fail_member(const JsonReader *reader, ItemSpan name, const char *problem)
{
	StringInfoData quoted;
	char *path = json_reader_path(reader);

	initStringInfo(&quoted);
	item_quote(&quoted, name);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("member \"%s\" %s", quoted.data, problem),
			 strcmp(path, quoted.data) != 0 ? errdetail("In \"%s\".", path) : 0));
}

/* A string as text, which cannot hold U+0000. */
static text *
read_text(JsonReader *reader, const RequestMember *member)
{
	ItemSpan string = json_read_string(reader);

	if (memchr(string.data, '\0', string.len) != NULL)
		fail_member(reader, (ItemSpan){member->name, (uint32) strlen(member->name)},
					"must not contain U+0000");
	return cstring_to_text_with_len(string.data, (int) string.len);
}

static List *
read_strings(JsonReader *reader)
{
	List *strings = NIL;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ItemSpan *string = palloc(sizeof(ItemSpan));

		*string = json_read_string(reader);
		strings = lappend(strings, string);
	}
	return strings;
}

static void
read_value(JsonReader *reader, const RequestMember *member, void *to)
{
	switch (member->kind)
	{
		case MEMBER_TEXT:
			*(text **) to = read_text(reader, member);
			break;
		case MEMBER_STRING:
			*(ItemSpan *) to = json_read_string(reader);
			break;
		case MEMBER_BOOL:
			*(bool *) to = json_read_bool(reader);
			break;
		case MEMBER_INTEGER:
			((RequestInteger *) to)->value = json_read_integer(reader);
			((RequestInteger *) to)->given = true;
			break;
		case MEMBER_ITEM:
			*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_ITEM);
			break;
		case MEMBER_VALUES:
			*(DynItem **) to = json_read_item(reader, ITEM_SYNTAX_VALUES);
			break;
		case MEMBER_NAMES:
			*(Jsonb **) to = json_read_names(reader);
			break;
		case MEMBER_CHOICE:
			*(int *) to = option_choice(member->name, json_read_string(reader), member->choices);
			break;
		case MEMBER_STRINGS:
			*(List **) to = read_strings(reader);
			break;
		case MEMBER_CUSTOM:
			member->read(reader, to);
			break;
	}
}

/* In DynamoDB's words, which begin names of members with a small letter. */
pg_noreturn static void
fail_missing(const JsonReader *reader, const char *name)
{
	char *path = json_reader_path(reader);

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("1 validation error detected: Value null at '%c%s' failed to satisfy "
						   "constraint: Member must not be null",
						   pg_tolower((unsigned char) name[0]), name + 1),
					*path != '\0' ? errdetail("In \"%s\".", path) : 0));
}

/* Read an object, whose first token the reader stands at. */
void
request_read_members(JsonReader *reader, const RequestMember *members, int n, void *to)
{
	uint64 seen = 0;
	ItemSpan name;

	Assert(n <= 64);
	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		int i = 0;

		while (i < n && !item_span_is(name, members[i].name))
			i++;
		if (i == n)
			fail_member(reader, name, "is not known here");
		if (seen & UINT64CONST(1) << i)
			fail_member(reader, name, "is given twice");
		if (json_read_null(reader))
			continue;
		seen |= UINT64CONST(1) << i;
		read_value(reader, &members[i], (char *) to + members[i].offset);
	}
	for (int i = 0; i < n; i++)
	{
		if (members[i].required && !(seen & UINT64CONST(1) << i))
			fail_missing(reader, members[i].name);
	}
}

/* A request that has a table's name and nothing else. */
ItemSpan
request_read_table_name(JsonReader *reader)
{
	static const RequestMember members[] = {{"TableName", MEMBER_STRING, 0, true}};
	ItemSpan name;

	request_read_members(reader, members, lengthof(members), &name);
	json_reader_done(reader);
	return name;
}
