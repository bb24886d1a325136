/*
 * member_test.c
 *	  Members of JSON objects: each text is also cut everywhere, which must do no harm.
 */
#include "member.h"
#include "test.h"

#include <stdlib.h>

#define NAME "TransactItems"

typedef struct Trial
{
	const char *json;
	const char *value; /* NULL: there is none */
	size_t elements;
} Trial;

static const Trial trials[] = {
	{"{}", NULL, 0},
	{"[]", NULL, 0},
	{"7", NULL, 0},
	{"\"TransactItems\"", NULL, 0},
	{"", NULL, 0},
	{"{\"TransactItems\":[]}", "[]", 0},
	{" { \"TransactItems\" : [ ] } ", "[ ]", 0},
	{"{\"TransactItems\":[1]}", "[1]", 1},
	{"{\"TransactItems\":[{},[1,2],\"a,b\",true,null,-1e5]}", "[{},[1,2],\"a,b\",true,null,-1e5]",
	 6},
	{"{\"a\":1,\"TransactItems\":[1,2],\"b\":2}", "[1,2]", 2},
	{"{\"a\":{\"TransactItems\":[1]},\"b\":[\"TransactItems\",[1]],\"TransactItems\":[1,2,3]}",
	 "[1,2,3]", 3},
	{"{\"a\":\"\\\"TransactItems\\\":[1]\",\"TransactItems\":[\"]}\\\\\",\"\\\"\"]}",
	 "[\"]}\\\\\",\"\\\"\"]", 2},
	{"{\"TransactItems\":\"[1,2]\"}", "\"[1,2]\"", 0},
	{"{\"TransactItems\":{\"a\":1}}", "{\"a\":1}", 0},
	{"{\"TransactItemsX\":[1],\"Transact\":[1]}", NULL, 0},
	{"{\"TransactItems\"\t:\n[\r1 , 2 ]\n}", "[\r1 , 2 ]", 2},
};

static void
test_value(const Trial *trial)
{
	Member found = member_find(trial->json, strlen(trial->json), NAME);
	char *value = found.text == NULL ? NULL : strndup(found.text, found.length);

	if (trial->value == NULL)
		ok(value == NULL, "no member in %s", trial->json);
	else
		is(value, trial->value, "the value");
	ok(member_elements(found) == trial->elements, "%zu elements in %.8s", trial->elements,
	   trial->json);
	free(value);
}

/* The text ends where its memory does, so that AddressSanitizer sees who reads on. */
static void
test_cut(const Trial *trial)
{
	bool within = true;

	for (size_t length = 0; length <= strlen(trial->json); length++)
	{
		char *cut = malloc(length + 1);
		Member found;

		memcpy(cut, trial->json, length);
		cut[length] = '\0';
		found = member_find(cut, length, NAME);
		member_elements(found);
		within = within && (found.text == NULL || found.text + found.length <= cut + length);
		free(cut);
	}
	ok(within, "a cut text has no more than it has");
}

/* Every member, with its name as it is written. */
static void
test_scan(void)
{
	static const struct
	{
		const char *json;
		const char *expected;
	} objects[] = {
		{"{}", "whole"},
		{" { } ", "whole"},
		{"{\"a\":1}", "a=1 whole"},
		{"{\"a\":1,\"a\":{\"b\":[1,2]}, \"\\u0041\\\"\" : \"x,}\" }",
		 "a=1 a={\"b\":[1,2]} \\u0041\\\"=\"x,}\" whole"},
		{"{\"\":null}", "=null whole"},
		{"[1]", ""},
		{"true", ""},
		{"{\"a\":1", "a=1 "},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
	{
		MemberScan scan = member_scan((Member){objects[i].json, strlen(objects[i].json)});
		char got[256] = "";
		size_t used = 0;
		Member name;
		Member value;

		while (member_next(&scan, &name, &value))
			used += (size_t) snprintf(got + used, sizeof(got) - used, "%.*s=%.*s ",
									  (int) name.length, name.text, (int) value.length, value.text);
		snprintf(got + used, sizeof(got) - used, "%s", scan.whole ? "whole" : "");
		is(got, objects[i].expected, objects[i].json);
	}
}

int
main(void)
{
	test_scan();
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
	{
		test_value(&trials[i]);
		test_cut(&trials[i]);
	}
	return failures > 0;
}
