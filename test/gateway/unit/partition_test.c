/*
 * partition_test.c
 *	  Which partition key a request has, and its hash: also where JSON is written oddly, or is cut.
 *
 * Hashes are those of the server: SELECT hashtext('a' COLLATE "C"), hash_numeric(-12.3456), and worker_hash('\x00'::bytea) of Citus.
 */
#include "partition.h"

#include <stdlib.h>
#include <time.h>

#include "hash.h"
#include "test.h"

#define NONE INT64_MIN

typedef struct Trial
{
	const char *operation;
	char type;
	const char *json;
	int64_t expected;
} Trial;

#define A 1075015857

static const Trial trials[] = {
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"a\"}}}", A},
	{"DeleteItem", 'S',
	 " {\n\"Key\" : { \"sk\":{\"S\":\"b\"} , \"pk\" :\t{ \"S\" : \"a\" } } , \"TableName\":\"t\" "
	 "} ",
	 A},
	{"UpdateItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\u0061\"}}}", A},
	{"PutItem", 'S',
	 "{\"TableName\":\"t\",\"Item\":{\"d\":{\"M\":{\"pk\":{\"S\":\"x\"}}},\"pk\":{\"S\":\"a\"}}}",
	 A},
	{"PutItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"a\"}}}", NONE},
	{"GetItem", 'S', "{\"Key\":{\"pk\":{\"S\":\"a\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"a\"}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"1\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\u0000\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\u0001\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\ud83d\"}}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\ud83d\\ude00\"}}}",
	 1734229978},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\360\237\230\200\"}}}",
	 1734229978},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"\\u00e4\\n\\/\\\\\"}}}",
	 1506390194},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":[]}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":\"a\"}}", NONE},
	{"GetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":1}}}", NONE},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"-12345.60e-3\"}}}", 842233613},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"0.00\"}}}", -1},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"1e\"}}}", NONE},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\".\"}}}", NONE},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"x\"}}}", NONE},
	{"GetItem", 'N', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"N\":\"1e99999999999999999999\"}}}",
	 NONE},
	{"GetItem", 'B', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"B\":\"AAEC\"}}}", -1335539530},
	{"GetItem", 'B', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"B\":\"Af8=\"}}}", 499790491},
	{"GetItem", 'B', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"B\":\"/w==\"}}}", 719615242},
	{"GetItem", 'B', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"B\":\"/\"}}}", NONE},
	{"GetItem", 'B', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"B\":\"!!==\"}}}", NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"pk = "
	 ":p\",\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}",
	 A},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"begins_with(sk,:s) AND(#p=:p)\","
	 "\"ExpressionAttributeNames\":{\"#s\":\"sk\",\"#p\":\"pk\"},\"ExpressionAttributeValues\":{\":"
	 "s\":{\"S\":\"x\"},\":p\":{\"S\":\"a\"}}}",
	 A},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"\\n sk > :s\\n and pk\\n=\\n:p\","
	 "\"ExpressionAttributeValues\":{\":s\":{\"S\":\"x\"},\":p\":{\"S\":\"a\"}}}",
	 A},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"IndexName\":\"i\",\"KeyConditionExpression\":\"pk = :p\","
	 "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}",
	 NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"pk = "
	 ":q\",\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}",
	 NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"pk "
	 "=\",\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}",
	 NONE},
	{"Query", 'S', "{\"TableName\":\"t\",\"KeyConditionExpression\":\"pk = :p\"}", NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":1,\"ExpressionAttributeValues\":1}", NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditionExpression\":\"#p = "
	 ":p\",\"ExpressionAttributeNames\":{\"#p\":1},"
	 "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}",
	 NONE},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditions\":{\"pk\":{\"ComparisonOperator\":\"EQ\","
	 "\"AttributeValueList\":[ {\"S\":\"a\"} ]}}}",
	 A},
	{"Query", 'S',
	 "{\"TableName\":\"t\",\"KeyConditions\":{\"pk\":{\"ComparisonOperator\":\"EQ\","
	 "\"AttributeValueList\":[]}}}",
	 NONE},
	{"Query", 'S', "{\"TableName\":\"t\",\"KeyConditions\":[]}", NONE},
	{"Scan", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"a\"}}}", NONE},
	{"BatchGetItem", 'S', "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"a\"}}}", NONE},
};

static int64_t
hash_of(const Trial *trial, const char *json, size_t length)
{
	char target[64];
	Subject subject;
	KeyAttribute attribute = {.name = {"pk", 2}, .type = trial->type};
	uint32_t hash;

	snprintf(target, sizeof(target), "DynamoDB_20120810.%s", trial->operation);
	if (!partition_subject(operation_find(target), (Member){json, length}, &subject) ||
		!partition_hash(&subject, &attribute, &hash))
		return NONE;
	return (int32_t) hash;
}

/* A request is read in its own loop's time: an expression and names may each be as large as it. */
static void
try_large(void)
{
	size_t size = 4 << 20;
	char *json = malloc(size);
	size_t n = (size_t) sprintf(json, "{\"TableName\":\"t\",\"KeyConditionExpression\":\"");
	clock_t began;

	while (n < size / 3)
		n += (size_t) sprintf(json + n, "#z ");
	n += (size_t) sprintf(json + n, "#p = :p\",\"ExpressionAttributeNames\":{");
	for (int i = 0; n < size - 100; i++)
		n += (size_t) sprintf(json + n, "\"#n%d\":\"x\",", i);
	n += (size_t) sprintf(json + n, "\"#p\":\"pk\"},"
									"\"ExpressionAttributeValues\":{\":p\":{\"S\":\"a\"}}}");
	began = clock();
	ok(hash_of(&(Trial){"Query", 'S', NULL, A}, json, n) == A, "a large expression and many names");
	ok(clock() - began < 5 * CLOCKS_PER_SEC, "they take no time of other requests");
	free(json);
}

int
main(void)
{
	static char key[3000];
	char text[4096];

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
	{
		const Trial *trial = &trials[i];
		int64_t hash = hash_of(trial, trial->json, strlen(trial->json));

		if (!ok(hash == trial->expected, "%s %s", trial->operation, trial->json))
			printf("    got:      %lld\n", (long long) hash);
		/* each beginning of it, with nothing behind */
		for (size_t n = 0; n < strlen(trial->json); n++)
		{
			char *copy = malloc(n + 1);

			memcpy(copy, trial->json, n);
			hash_of(trial, copy, n);
			free(copy);
		}
	}
	memset(key, 'k', sizeof(key) - 1);
	snprintf(text, sizeof(text), "{\"TableName\":\"t\",\"Key\":{\"pk\":{\"S\":\"%s\"}}}", key);
	ok(hash_of(&trials[0], text, strlen(text)) == NONE, "a key that is too long");
	try_large();
	return failures > 0;
}
