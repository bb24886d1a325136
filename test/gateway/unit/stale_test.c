/*
 * stale_test.c
 *	  Which requests a standby may answer: also those that are cut, or whose names are written oddly.
 */
#include "stale.h"
#include "test.h"

#include <stdlib.h>

typedef struct Trial
{
	const char *operation;
	const char *json;
	bool expected;
} Trial;

#define TARGET "DynamoDB_20120810."

static const Trial trials[] = {
	{"GetItem", "{}", true},
	{"GetItem", "{\"Key\":{\"pk\":{\"S\":\"a\"}}}", true},
	{"GetItem", "{\"ConsistentRead\":false}", true},
	{"GetItem", " {\n\"ConsistentRead\" : false , \"Key\":{} } ", true},
	{"GetItem", "{\"ConsistentRead\":true}", false},
	{"GetItem", "{\"ConsistentRead\" :\ttrue}", false},
	{"GetItem", "{\"ConsistentRead\":false,\"ConsistentRead\":true}", false},
	{"GetItem", "{\"ConsistentRead\":true,\"ConsistentRead\":false}", false},
	{"GetItem", "{\"ConsistentRead\":\"false\"}", false},
	{"GetItem", "{\"ConsistentRead\":null}", false},
	{"GetItem", "{\"ConsistentRead\":falsey}", false},
	{"GetItem", "{\"Consistent\\u0052ead\":true}", false},
	{"GetItem", "{\"\\u0043onsistentRead\":true}", false},
	{"GetItem", "{\"Key\":{\"ConsistentRead\":true,\"\\u0041\":1}}", true},
	{"GetItem", "{\"TableName\":\"\\\"ConsistentRead\\\":true\"}", true},
	{"GetItem", "[]", false},
	{"GetItem", "{\"ConsistentRead\":false", false},
	{"Query", "{}", true},
	{"Query", "{\"ConsistentRead\":true}", false},
	{"Scan", "{}", true},
	{"Scan", "{\"ConsistentRead\":true}", false},
	{"BatchGetItem", "{\"RequestItems\":{}}", true},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[]}}}", true},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[],\"ConsistentRead\":false}}}", true},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[{\"ConsistentRead\":{\"BOOL\":true}}]}}}",
	 true},
	{"BatchGetItem", "{\"RequestItems\":{\"ConsistentRead\":{\"Keys\":[]}}}", true},
	{"BatchGetItem", "{\"RequestItems\":{\"\\u0074\":{\"Keys\":[]}}}", true},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"ConsistentRead\":true}}}", false},
	{"BatchGetItem", "{\"RequestItems\":{\"s\":{\"Keys\":[]},\"t\":{\"ConsistentRead\":true}}}",
	 false},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"\\u0043onsistentRead\":true}}}", false},
	{"BatchGetItem", "{\"RequestItems\":{},\"RequestItems\":{\"t\":{\"ConsistentRead\":true}}}",
	 false},
	{"BatchGetItem", "{\"Request\\u0049tems\":{\"t\":{\"ConsistentRead\":true}}}", false},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":[]}}", false},
	{"BatchGetItem", "{\"RequestItems\":[]}", false},
	{"PutItem", "{}", false},
	{"TransactGetItems", "{}", false},
	{"ExecuteStatement", "{\"ConsistentRead\":false}", false},
	{"BatchExecuteStatement", "{}", false},
	{"ExecuteTransaction", "{}", false},
	{"DescribeTable", "{}", false},
	{"ListTables", "{}", false},
};

/* The text ends where its memory does, so that AddressSanitizer sees who reads on. */
static bool
try(const char *operation, const char *json, size_t length)
{
	char target[64];
	char *copy = malloc(length == 0 ? 1 : length);
	bool enough;

	memcpy(copy, json, length);
	snprintf(target, sizeof(target), TARGET "%s", operation);
	enough = stale_is_enough(operation_find(target), copy, length);
	free(copy);
	return enough;
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
	{
		const Trial *trial = &trials[i];
		size_t length = strlen(trial->json);
		bool cut = false;

		ok(try(trial->operation, trial->json, length) == trial->expected, "%s %s", trial->operation,
		   trial->json);
		while (length > 0 && trial->json[length - 1] == ' ')
			length--;
		while (length-- > 0)
			cut = cut || try(trial->operation, trial->json, length);
		ok(!cut, "a text that is cut is not for the standby");
	}
	return failures > 0;
}
