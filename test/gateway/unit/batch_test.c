/*
 * batch_test.c
 *	  Batches that are taken apart, and answered as a whole: also those that are written oddly.
 *
 * A key is on the node whose number is its last digit; that of none is 0.
 */
#include "batch.h"

#include <stdlib.h>
#include <time.h>

#include "json.h"
#include "shards.h"
#include "test.h"

#define NODES 3

static char places[NODES + 1]; /* that targets point to */
static char answered[65536];

bool
shards_are_known(void)
{
	return true;
}

bool
shards_find_item(const Caller *caller, Member table, Member key, Place *place)
{
	size_t at = key.length;
	int node = 0;

	(void) caller;
	(void) table;
	*place = (Place){0};
	for (; at > 0 && node == 0; at--)
		node =
			key.text[at - 1] >= '1' && key.text[at - 1] <= '0' + NODES ? key.text[at - 1] - '0' : 0;
	if (node == 0)
		return false;
	*place = (Place){.target = (Target *) &places[node],
					 .role = (uint32_t) node,
					 .tables = strdup("{\"public\",\"t\"}")};
	return true;
}

static void
done(Request *request)
{
	snprintf(answered, sizeof(answered), "%d %.*s", request->answer.status,
			 (int) request->answer.length, request->answer.data);
	answer_release(&request->answer);
}

typedef struct Trial
{
	const char *operation;
	const char *body;
	const char *parts; /* NULL: it goes as a whole */
	const char *answers[NODES + 1]; /* of the parts; one that begins with "5" fails */
	const char *answer;
} Trial;

static const Trial trials[] = {
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1, 2,11],\"ConsistentRead\":true}}}",
	 "1 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"ConsistentRead\":true,\"Keys\":[1,11]}}}\n"
	 "2 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"ConsistentRead\":true,\"Keys\":[2]}}}\n",
	 {"{\"Responses\":{\"t\":[{\"a\":1},{\"a\":11}]},\"UnprocessedKeys\":{}}",
	  "{\"Responses\":{\"t\":[{\"a\":2}]},\"UnprocessedKeys\":{}}"},
	 "200 {\"Responses\":{\"t\":[{\"a\":1},{\"a\":11},{\"a\":2}]},\"UnprocessedKeys\":{}}"},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]},\"u\":{\"Keys\":[2,0]}}}",
	 "1 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[1]}}}\n"
	 "2 {\"public\",\"t\",\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":{\"Keys\":[2]},\"u\":{\"Keys\":[2]}}}\n"
	 "0  {\"RequestItems\":{\"u\":{\"Keys\":[0]}}}\n",
	 {"{\"Responses\":{\"t\":[]},\"UnprocessedKeys\":{}}",
	  "{\"Responses\":{\"t\":[{\"a\":2}],\"u\":[]},\"UnprocessedKeys\":{\"u\":{\"Keys\":[2]}}}",
	  "503"},
	 "200 "
	 "{\"Responses\":{\"t\":[{\"a\":2}],\"u\":[]},\"UnprocessedKeys\":{\"u\":{\"Keys\":[2,0]}}}"},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]}}}",
	 "1 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[1]}}}\n"
	 "2 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[2]}}}\n",
	 {"503", "500"},
	 "503 failed"},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1,2,3]}}}",
	 "1 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[1]}}}\n"
	 "2 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[2]}}}\n"
	 "3 {\"public\",\"t\"} {\"RequestItems\":{\"t\":{\"Keys\":[3]}}}\n",
	 {"{\"Responses\":{\"t\":[]},\"UnprocessedKeys\":{}}", "503", "400"},
	 "400 failed"},
	{"BatchWriteItem",
	 "{\"RequestItems\":{\"t\":[{\"PutRequest\":{\"Item\":{"
	 "\"S\":\"]}1\"}}},"
	 "{\"DeleteRequest\":{\"Key\":2}}]}}",
	 "1 {\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":[{\"PutRequest\":{\"Item\":{\"S\":\"]}1\"}}}]}}\n"
	 "2 {\"public\",\"t\"} {\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":2}}]}}\n",
	 {"503", "{\"UnprocessedItems\":{}}"},
	 "200 {\"UnprocessedItems\":{\"t\":[{\"PutRequest\":{\"Item\":{\"S\":\"]}1\"}}}]}}"},
	{"BatchWriteItem",
	 "{\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":2}}]}}",
	 "2 {\"public\",\"t\"} {\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":2}}]}}\n",
	 {"{\"UnprocessedItems\":{}}"},
	 "200 {\"UnprocessedItems\":{}}"},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1,2,3]},\"u\":{\"Keys\":[2]},\"v\":{\"Keys\":[3]}},"
	 "\"ReturnConsumedCapacity\":\"TOTAL\"}",
	 "1 {\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1]}},\"ReturnConsumedCapacity\":\"TOTAL\"}\n"
	 "2 {\"public\",\"t\",\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":{\"Keys\":[2]},\"u\":{\"Keys\":[2]}},"
	 "\"ReturnConsumedCapacity\":\"TOTAL\"}\n"
	 "3 {\"public\",\"t\",\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":{\"Keys\":[3]},\"v\":{\"Keys\":[3]}},"
	 "\"ReturnConsumedCapacity\":\"TOTAL\"}\n",
	 {"{\"Responses\":{\"t\":[]},\"UnprocessedKeys\":{},\"ConsumedCapacity\":[{\"TableName\":\"t\","
	  "\"CapacityUnits\":1.5}]}",
	  "{\"Responses\":{\"t\":[],\"u\":[]},\"UnprocessedKeys\":{},\"ConsumedCapacity\":[{"
	  "\"TableName\":\"u\","
	  "\"CapacityUnits\":0.5},{\"TableName\":\"t\",\"CapacityUnits\":12.0}]}",
	  "503"},
	 "200 "
	 "{\"Responses\":{\"t\":[],\"u\":[]},\"UnprocessedKeys\":{\"t\":{\"Keys\":[3]},\"v\":{\"Keys\":"
	 "[3]}},"
	 "\"ConsumedCapacity\":[{\"TableName\":\"t\",\"CapacityUnits\":13.5},"
	 "{\"TableName\":\"u\",\"CapacityUnits\":0.5}]}"},
	{"BatchWriteItem",
	 "{\"ReturnConsumedCapacity\":\"INDEXES\",\"ReturnItemCollectionMetrics\":\"SIZE\","
	 "\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":1}},{\"DeleteRequest\":{\"Key\":2}}]}}",
	 "1 {\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":1}}]},\"ReturnConsumedCapacity\":"
	 "\"INDEXES\","
	 "\"ReturnItemCollectionMetrics\":\"SIZE\"}\n"
	 "2 {\"public\",\"t\"} "
	 "{\"RequestItems\":{\"t\":[{\"DeleteRequest\":{\"Key\":2}}]},\"ReturnConsumedCapacity\":"
	 "\"INDEXES\","
	 "\"ReturnItemCollectionMetrics\":\"SIZE\"}\n",
	 {"{\"UnprocessedItems\":{},\"ConsumedCapacity\":[{\"TableName\":\"t\",\"CapacityUnits\":2.0,"
	  "\"Table\":{\"CapacityUnits\":1.0},\"GlobalSecondaryIndexes\":{\"g\":{\"CapacityUnits\":1.0}}"
	  "}],"
	  "\"ItemCollectionMetrics\":{\"t\":[{\"a\":1}]}}",
	  "{\"UnprocessedItems\":{},\"ConsumedCapacity\":[{\"TableName\":\"t\",\"CapacityUnits\":6.0,"
	  "\"Table\":{\"CapacityUnits\":3.0},\"LocalSecondaryIndexes\":{\"l\":{\"CapacityUnits\":1.0}},"
	  "\"GlobalSecondaryIndexes\":{\"h\":{\"CapacityUnits\":1.0},\"g\":{\"CapacityUnits\":1.0}},"
	  "\"VectorIndexes\":{\"v\":{\"VectorWriteRequestBytes\":1024}}}],"
	  "\"ItemCollectionMetrics\":{\"t\":[{\"a\":2}]}}"},
	 "200 "
	 "{\"UnprocessedItems\":{},\"ConsumedCapacity\":[{\"TableName\":\"t\",\"CapacityUnits\":8.0,"
	 "\"Table\":{\"CapacityUnits\":4.0},\"GlobalSecondaryIndexes\":{\"g\":{\"CapacityUnits\":2.0},"
	 "\"h\":{\"CapacityUnits\":1.0}},\"LocalSecondaryIndexes\":{\"l\":{\"CapacityUnits\":1.0}},"
	 "\"VectorIndexes\":{\"v\":{\"VectorWriteRequestBytes\":1024}}}],"
	 "\"ItemCollectionMetrics\":{\"t\":[{\"a\":1},{\"a\":2}]}}"},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[0]}}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[]}}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":[]}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":[1,2]}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":{\"a\":1}}}}", NULL, {NULL}, NULL},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1]},\"t\":{\"Keys\":[2]}}}",
	 NULL,
	 {NULL},
	 NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"t\\u0020\":{\"Keys\":[1,2]}}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"arn:aws:t\":{\"Keys\":[1,2]}}}", NULL, {NULL}, NULL},
	{"BatchGetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]}},\"Other\":1}", NULL, {NULL}, NULL},
	{"BatchGetItem",
	 "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]}},\"RequestItems\":{\"t\":{\"Keys\":[3]}}}",
	 NULL,
	 {NULL},
	 NULL},
	{"BatchWriteItem", "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]}}}", NULL, {NULL}, NULL},
	{"BatchWriteItem", "{\"RequestItems\":{\"t\":[1,2]}}", NULL, {NULL}, NULL},
	{"GetItem", "{\"RequestItems\":{\"t\":{\"Keys\":[1,2]}}}", NULL, {NULL}, NULL},
};

/* Answers a part. */
static void
answer(Request *part, const char *text)
{
	if (text[0] == '{')
		answer_constant(&part->answer, 200, NULL, text);
	else
		answer_constant(&part->answer, atoi(text), NULL, "failed");
	part->done(part);
}

static void
try(const Trial *trial)
{
	char target[64];
	char parts[4096] = "";
	Request request = {.done = done};
	Batch *batch;

	snprintf(target, sizeof(target), "DynamoDB_20120810.%s", trial->operation);
	request.operation = operation_find(target);
	request.body = (Body){.data = (char *) trial->body, .size = strlen(trial->body)};
	batch = batch_split(&request);
	for (int i = 0; batch != NULL && i < batch->count; i++)
	{
		const BatchPart *part = &batch->parts[i];

		sprintf(parts + strlen(parts), "%u %s %s\n", part->request.node_role,
				part->request.node_tables == NULL ? "" : part->request.node_tables,
				part->request.body.data);
		ok(json_valid(part->request.body.data, part->request.body.size), "a part is JSON");
	}
	is(batch == NULL ? "" : parts, trial->parts == NULL ? "" : trial->parts, trial->body);
	if (batch == NULL)
		return;
	for (int i = 0, n = batch->count; i < n; i++)
		answer(&batch->parts[i].request, trial->answers[i]);
	is(answered, trial->answer, "the answer");
}

/* Many tables, and items of DynamoDB's largest size, which are on two nodes. */
static void
try_large(void)
{
	size_t size = 400 * 1024;
	char *answers[2];
	size_t n[2] = {0, 0};
	char body[8192] = "{\"RequestItems\":{";
	Request request = {.done = done, .operation = operation_find("DynamoDB_20120810.BatchGetItem")};
	Batch *batch;
	clock_t began;

	for (int i = 0; i < 2; i++)
	{
		answers[i] = malloc(51 * size);
		n[i] = (size_t) sprintf(answers[i], "{\"Responses\":{");
	}
	for (int i = 0; i < 100; i++)
	{
		char *to = answers[i % 2] + n[i % 2];
		int head;

		sprintf(body + strlen(body), "%s\"t%d\":{\"Keys\":[%d]}", i > 0 ? "," : "", i, 1 + i % 2);
		head = sprintf(to, "%s\"t%d\":[\"", i > 1 ? "," : "", i);
		memset(to + head, 'x', size - 100);
		n[i % 2] += (size_t) head + size - 100;
		n[i % 2] += (size_t) sprintf(answers[i % 2] + n[i % 2], "\"]");
	}
	strcat(body, "}}");
	request.body = (Body){.data = body, .size = strlen(body)};
	batch = batch_split(&request);
	ok(batch != NULL && batch->count == 2, "a batch of two nodes");
	began = clock();
	for (int i = 0; i < 2; i++)
	{
		sprintf(answers[i] + n[i], "},\"UnprocessedKeys\":{}}");
		answer(&batch->parts[i].request, answers[i]);
	}
	ok(strncmp(answered, "200 {", 5) == 0, "its answer");
	ok(clock() - began < 5 * CLOCKS_PER_SEC, "it takes no time of other requests");
	free(answers[0]);
	free(answers[1]);
}

/* What is beside the keys of a table is in each part. */
static void
try_large_read(void)
{
	size_t size = 2 << 20;
	char *body = malloc(size);
	int n = sprintf(body, "{\"RequestItems\":{\"t\":{\"Keys\":[1,2],\"ProjectionExpression\":\"");
	Request request = {.done = done, .operation = operation_find("DynamoDB_20120810.BatchGetItem")};

	memset(body + n, 'a', size - (size_t) n);
	strcpy(body + size - 8, "\"}}}");
	request.body = (Body){.data = body, .size = strlen(body)};
	ok(batch_split(&request) == NULL, "a large read goes as a whole");
	free(body);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		try(&trials[i]);
	try_large();
	try_large_read();
	return failures > 0;
}
