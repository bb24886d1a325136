/*
 * operation.c
 *	  What a request asks for: an operation and a JSON text, out of the protocol it is written in.
 */
#include "operation.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define TARGET_ITEMS "DynamoDB_20120810."
#define TARGET_STREAMS "DynamoDBStreams_20120810."

/*
 * The service has all these, in the order of the alphabet.  Which of them there are is the
 * extension's to say: it answers the others as unknown.
 */
static const Operation item_operations[] = {
	{"BatchExecuteStatement", OPERATION_WRITE, NULL},
	{"BatchGetItem", OPERATION_READ, NULL},
	{"BatchWriteItem", OPERATION_WRITE, NULL},
	{"CreateBackup", OPERATION_DEFINITION, NULL},
	{"CreateGlobalTable", OPERATION_DEFINITION, NULL},
	{"CreateTable", OPERATION_DEFINITION, NULL},
	{"DeleteBackup", OPERATION_DEFINITION, NULL},
	{"DeleteItem", OPERATION_WRITE, NULL},
	{"DeleteResourcePolicy", OPERATION_DEFINITION, NULL},
	{"DeleteTable", OPERATION_DEFINITION, NULL},
	{"DescribeBackup", OPERATION_READ, NULL},
	{"DescribeContinuousBackups", OPERATION_READ, NULL},
	{"DescribeContributorInsights", OPERATION_READ, NULL},
	{"DescribeEndpoints", OPERATION_READ, NULL},
	{"DescribeExport", OPERATION_READ, NULL},
	{"DescribeGlobalTable", OPERATION_READ, NULL},
	{"DescribeGlobalTableSettings", OPERATION_READ, NULL},
	{"DescribeImport", OPERATION_READ, NULL},
	{"DescribeKinesisStreamingDestination", OPERATION_READ, NULL},
	{"DescribeLimits", OPERATION_READ, NULL},
	{"DescribeTable", OPERATION_READ, NULL},
	{"DescribeTableReplicaAutoScaling", OPERATION_READ, NULL},
	{"DescribeTimeToLive", OPERATION_READ, NULL},
	{"DisableKinesisStreamingDestination", OPERATION_DEFINITION, NULL},
	{"EnableKinesisStreamingDestination", OPERATION_DEFINITION, NULL},
	{"ExecuteStatement", OPERATION_WRITE, NULL},
	{"ExecuteTransaction", OPERATION_TRANSACTION, "TransactStatements"},
	{"ExportTableToPointInTime", OPERATION_DEFINITION, NULL},
	{"GetItem", OPERATION_READ, NULL},
	{"GetResourcePolicy", OPERATION_READ, NULL},
	{"ImportTable", OPERATION_DEFINITION, NULL},
	{"ListBackups", OPERATION_READ, NULL},
	{"ListContributorInsights", OPERATION_READ, NULL},
	{"ListExports", OPERATION_READ, NULL},
	{"ListGlobalTables", OPERATION_READ, NULL},
	{"ListImports", OPERATION_READ, NULL},
	{"ListTables", OPERATION_READ, NULL},
	{"ListTagsOfResource", OPERATION_READ, NULL},
	{"PutItem", OPERATION_WRITE, NULL},
	{"PutResourcePolicy", OPERATION_DEFINITION, NULL},
	{"Query", OPERATION_READ, NULL},
	{"RestoreTableFromBackup", OPERATION_DEFINITION, NULL},
	{"RestoreTableToPointInTime", OPERATION_DEFINITION, NULL},
	{"Scan", OPERATION_READ, NULL},
	{"SearchVectors", OPERATION_READ, NULL},
	{"TagResource", OPERATION_DEFINITION, NULL},
	{"TransactGetItems", OPERATION_TRANSACTION, "TransactItems"},
	{"TransactWriteItems", OPERATION_TRANSACTION, "TransactItems"},
	{"UntagResource", OPERATION_DEFINITION, NULL},
	{"UpdateContinuousBackups", OPERATION_DEFINITION, NULL},
	{"UpdateContributorInsights", OPERATION_DEFINITION, NULL},
	{"UpdateGlobalTable", OPERATION_DEFINITION, NULL},
	{"UpdateGlobalTableSettings", OPERATION_DEFINITION, NULL},
	{"UpdateItem", OPERATION_WRITE, NULL},
	{"UpdateKinesisStreamingDestination", OPERATION_DEFINITION, NULL},
	{"UpdateTable", OPERATION_DEFINITION, NULL},
	{"UpdateTableReplicaAutoScaling", OPERATION_DEFINITION, NULL},
	{"UpdateTimeToLive", OPERATION_DEFINITION, NULL},
};

static const Operation stream_operations[] = {
	{"DescribeStream", OPERATION_READ, NULL},
	{"GetRecords", OPERATION_READ, NULL},
	{"GetShardIterator", OPERATION_READ, NULL},
	{"ListStreams", OPERATION_READ, NULL},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const Operation *
operations_find(const Operation *operations, size_t count, const char *name)
{
	size_t low = 0;

	while (low < count)
	{
		size_t middle = low + (count - low) / 2;
		int order = strcmp(name, operations[middle].name);

		if (order == 0)
			return &operations[middle];
		if (order < 0)
			count = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Returns the operation that a value of X-Amz-Target names; NULL if there is none. */
const Operation *
operation_find(const char *target)
{
	if (target == NULL)
		return NULL;
	if (strncmp(target, TARGET_ITEMS, strlen(TARGET_ITEMS)) == 0)
		return operations_find(item_operations, LENGTH(item_operations),
							   target + strlen(TARGET_ITEMS));
	if (strncmp(target, TARGET_STREAMS, strlen(TARGET_STREAMS)) == 0)
		return operations_find(stream_operations, LENGTH(stream_operations),
							   target + strlen(TARGET_STREAMS));
	return NULL;
}

/* Returns how many operations there are. */
size_t
operation_count(void)
{
	return LENGTH(item_operations) + LENGTH(stream_operations);
}

/* Returns the number of an operation, below operation_count(). */
size_t
operation_number(const Operation *operation)
{
	if (operation >= stream_operations && operation < stream_operations + LENGTH(stream_operations))
		return LENGTH(item_operations) + (size_t) (operation - stream_operations);
	return (size_t) (operation - item_operations);
}

/* Returns the operation with a number. */
const Operation *
operation_at(size_t number)
{
	return number < LENGTH(item_operations) ? &item_operations[number]
											: &stream_operations[number - LENGTH(item_operations)];
}

/* Returns whether no Postgres is needed for the answer: the endpoint is where the client is now. */
bool
operation_is_local(const Operation *operation)
{
	return strcmp(operation->name, "DescribeEndpoints") == 0;
}

/* Returns whether it takes a moment, as far as one can tell: it is about one item, or one collection. */
bool
operation_is_short(const Operation *operation)
{
	static const char *const names[] = {"GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"};

	for (size_t i = 0; i < LENGTH(names); i++)
	{
		if (strcmp(operation->name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Returns whether it may write something. */
bool
operation_may_write(const Operation *operation)
{
	return operation->kind != OPERATION_READ && strcmp(operation->name, "TransactGetItems") != 0;
}

/* Returns whether the answer has no body, not even an empty object, where nothing went wrong. */
bool
operation_is_silent(const Operation *operation)
{
	return strcmp(operation->name, "TagResource") == 0 ||
		   strcmp(operation->name, "UntagResource") == 0;
}

/*
 * Returns the content type of the answer to a request of this type; NULL: it is not for requests.
 */
const char *
operation_content_type(const char *content_type)
{
	static const char *const types[] = {"application/x-amz-json-1.0", "application/json"};
	size_t length = strcspn(content_type, ";");

	while (length > 0 && (content_type[length - 1] == ' ' || content_type[length - 1] == '\t'))
		length--;
	for (size_t i = 0; i < LENGTH(types); i++)
	{
		if (length == strlen(types[i]) && strncasecmp(content_type, types[i], length) == 0)
			return types[i];
	}
	return NULL;
}
