/*
 * json_test.c
 *	  What is JSON and what is not.
 */
#include "json.h"
#include "test.h"

#include <stdlib.h>

static const char *const valid[] = {
	"{}",
	"[]",
	" { } ",
	"\t[\n]\r\n",
	"0",
	"-0",
	"1",
	"-1",
	"10",
	"1.5",
	"-1.05e+10",
	"1e5",
	"1E-5",
	"0.0",
	"0e0",
	"true",
	"false",
	"null",
	"\"\"",
	"\"a\"",
	"[1]",
	"[1,2]",
	"[ 1 , 2 ]",
	"[[],{}]",
	"{\"a\":1}",
	"{\"a\":1,\"b\":[1,{\"c\":null}]}",
	"{ \"a\" : 1 , \"a\" : 2 }",
	"{\"\":{}}",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
	"\"\\u0000\"",
	"\"\\uD800\"",
	"\"\\uaBcD\"",
	"\"\x7f\"",
	"\"\xc3\xa4\"",
	"\"\xed\x9f\xbf\"",
	"\"\xee\x80\x80\"",
	"\"\xf0\x90\x80\x80\"",
	"\"\xf4\x8f\xbf\xbf\"",
	"\"\xef\xbf\xbf\"",
	"123456789012345678901234567890123456789012345",
	"[[[[[[[[[]]]]]]]]]",
	"[{},[],[{}],{\"a\":[]}]",
};

static const char *const broken[] = {
	"",
	" ",
	"{",
	"}",
	"[",
	"]",
	"[}",
	"{]",
	"{}}",
	"[]]",
	"{}{}",
	"[] []",
	"1 2",
	"{\"a\"}",
	"{\"a\":}",
	"{\"a\":1,}",
	"{,}",
	"{\"a\" 1}",
	"{a:1}",
	"{1:1}",
	"{\"a\":1 \"b\":2}",
	"[1,]",
	"[,1]",
	"[1 2]",
	"[1,,2]",
	"{\"a\":1],",
	"[\"a\":1]",
	"00",
	"01",
	"-",
	"+1",
	"1.",
	".5",
	"1.e5",
	"1e",
	"1e+",
	"0x1",
	"-a",
	"NaN",
	"Infinity",
	"tru",
	"truee",
	"True",
	"nul",
	"nulll",
	"\"",
	"\"a",
	"'a'",
	"\"\\\"",
	"\"\\a\"",
	"\"\\u\"",
	"\"\\u123\"",
	"\"\\u123g\"",
	"\"\\u12\"",
	"\"\\U0041\"",
	"\"\t\"",
	"\"\n\"",
	"\"\x1f\"",
	"\"\x80\"",
	"\"\xc3\"",
	"\"\xc3",
	"\"\xc0\x80\"",
	"\"\xc1\xbf\"",
	"\"\xe0\x9f\xbf\"",
	"\"\xed\xa0\x80\"",
	"\"\xed\xbf\xbf\"",
	"\"\xf0\x8f\xbf\xbf\"",
	"\"\xf4\x90\x80\x80\"",
	"\"\xf5\x80\x80\x80\"",
	"\"\xff\"",
	"\"\xe2\x82\"",
	"\"\xf0\x9f\x98\"",
	"\xef\xbb\xbf{}",
	"\xc3\xa4",
	"{}\xc2\xa0",
	"/**/{}",
	"{}//",
	"\f{}",
	"\v1",
	"1]",
	"1,",
};

/* Whether the text is JSON, in memory of exactly its size. */
static bool
is_json(const char *text, size_t length)
{
	char *copy = malloc(length > 0 ? length : 1);
	bool is;

	memcpy(copy, text, length);
	is = json_valid(copy, length);
	free(copy);
	return is;
}

/* Arrays or objects within each other. */
static bool
is_nested(const char *opening, const char *value, const char *closing, size_t depth)
{
	size_t size = depth * (strlen(opening) + strlen(closing)) + strlen(value);
	char *text = malloc(size + 1);
	char *end = text;
	bool is;

	for (size_t i = 0; i < depth; i++)
		end = stpcpy(end, opening);
	end = stpcpy(end, value);
	for (size_t i = 0; i < depth; i++)
		end = stpcpy(end, closing);
	is = json_valid(text, size);
	free(text);
	return is;
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		ok(is_json(valid[i], strlen(valid[i])), "valid JSON %zu", i);
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
		ok(!is_json(broken[i], strlen(broken[i])), "broken JSON %zu", i);
	for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
	{
		for (size_t length = 0; length < strlen(valid[i]); length++)
		{
			if (strchr("[{\"tfn", valid[i][0]) != NULL && is_json(valid[i], length))
				ok(false, "%zu bytes of %s", length, valid[i]);
		}
	}
	ok(!is_json("{}\0", 3) && !is_json("\"\0\"", 3) && !is_json("\0", 1), "NUL bytes");
	ok(is_nested("[", "", "]", JSON_MAX_DEPTH), "arrays as deep as may be");
	ok(!is_nested("[", "", "]", JSON_MAX_DEPTH + 1), "arrays that are too deep");
	ok(is_nested("{\"a\":", "1", "}", JSON_MAX_DEPTH), "objects as deep as may be");
	ok(!is_nested("{\"a\":", "1", "}", JSON_MAX_DEPTH + 1), "objects that are too deep");
	ok(is_nested("[{\"a\":", "[]", "}]", JSON_MAX_DEPTH / 2 - 1), "both in turn");
	ok(!is_nested("[", "", "", 5000000), "millions of brackets");
	return failures > 0;
}
