/*
 * request.h
 *	  DynamoDB's low-level API word for word: a front end over the actions, and the tables.
 *
 *		request.c		dyn_request(): operations by their names
 *		members.c		members of JSON objects, read by tables
 *		failure.c		errors, as programs look at them
 *		layers.c		what their words depend on beside the error: the operation
 *		denied.c		missing privileges, and ARNs of others
 *		item.c			GetItem, PutItem, UpdateItem, DeleteItem
 *		read.c			Query, Scan
 *		search.c		SearchVectors
 *		batch.c			BatchGetItem, BatchWriteItem
 *		transact.c		TransactWriteItems, TransactGetItems; their actions, for dyn_transact() too
 *		statement.c		ExecuteStatement
 *		statements.c	BatchExecuteStatement, ExecuteTransaction
 *		parameters.c	what parameters go together in all operations
 *		legacy.c		legacy parameters: what they may be, and what goes together
 *		capacity.c		ConsumedCapacity: the arithmetic of units
 *		meter.c			ConsumedCapacity and ItemCollectionMetrics of several items
 *		tables.c		CreateTable, DescribeTable, DeleteTable
 *		backups.c		DescribeContinuousBackups, UpdateContinuousBackups, and why nothing is restored
 *		table_update.c	UpdateTable
 *		table_list.c	ListTables
 *		definitions.c	what they define: KeySchema, AttributeDefinitions, Projection and so on
 *		tags.c			TagResource, UntagResource, ListTagsOfResource
 *		ttl.c			UpdateTimeToLive, DescribeTimeToLive
 *		streams.c		ListStreams, DescribeStream, GetShardIterator, GetRecords
 *		iterator.c		ids of shards, and iterators
 *		coordinator.c	what a worker of Citus has the coordinator carry out
 *		node_shards.c	shards of distributed tables, which any node reads
 *		limits.c		DescribeLimits, DescribeEndpoints
 */
#ifndef DYNAMO_TABLE_API_REQUEST_REQUEST_H
#define DYNAMO_TABLE_API_REQUEST_REQUEST_H

#include "api/request/denied.h"
#include "api/request/members.h"
#include "item/json_writer.h"

/*
 * Reads a request, does what it says, and writes the members of the response.  Without a response
 * those that access patterns can have only say what is wrong with the request.
 */
typedef void (*RequestOperation)(JsonReader *reader, JsonWriter *response);

/* request.c: an operation by its name; errors are the extension's own */
extern void request_run(const char *operation, const char *request, int len, const Node *site,
						JsonWriter *response, Denial *denial);
extern text *request_carry_out(FunctionCallInfo fcinfo, text *operation, text *request, bool alone);

/* failure.c: in PG_CATCH(), in the memory context that the request is carried out in */
typedef void (*FailurePrinter)(JsonWriter *detail, void *arg); /* members */
pg_noreturn extern void request_rethrow(MemoryContext context, const Denial *denial);
pg_noreturn extern void request_rethrow_condition(MemoryContext context, FailurePrinter print,
												  void *arg);

/* search.c */
extern void request_search_vectors(JsonReader *reader, JsonWriter *response);

/* item.c */
extern void request_get_item(JsonReader *reader, JsonWriter *response);
extern void request_put_item(JsonReader *reader, JsonWriter *response);
extern void request_update_item(JsonReader *reader, JsonWriter *response);
extern void request_delete_item(JsonReader *reader, JsonWriter *response);

/* batch.c */
extern void request_batch_get_item(JsonReader *reader, JsonWriter *response);
extern void request_batch_write_item(JsonReader *reader, JsonWriter *response);

/* transact.c */
extern void request_transact_get_items(JsonReader *reader, JsonWriter *response);
extern void request_print_gotten(DynItem *item, void *arg); /* to the JsonWriter arg */
extern void request_transact_write_items(JsonReader *reader, JsonWriter *response);

/* read.c */
extern void request_query(JsonReader *reader, JsonWriter *response);
extern void request_scan(JsonReader *reader, JsonWriter *response);

/* statement.c */
extern void request_execute_statement(JsonReader *reader, JsonWriter *response);

/* statements.c */
extern void request_batch_execute_statement(JsonReader *reader, JsonWriter *response);
extern void request_execute_transaction(JsonReader *reader, JsonWriter *response);

/* tables.c */
extern void request_create_table(JsonReader *reader, JsonWriter *response);
extern void request_describe_table(JsonReader *reader, JsonWriter *response);
extern void request_delete_table(JsonReader *reader, JsonWriter *response);

/* backups.c */
extern void request_describe_continuous_backups(JsonReader *reader, JsonWriter *response);
extern void request_update_continuous_backups(JsonReader *reader, JsonWriter *response);
extern void request_restore_table_to_point_in_time(JsonReader *reader, JsonWriter *response);

/* table_list.c, table_update.c */
extern void request_list_tables(JsonReader *reader, JsonWriter *response);
extern void request_update_table(JsonReader *reader, JsonWriter *response);

/* tags.c */
extern const RequestType request_tag; /* DynTag */
extern void request_check_tags(const List *tags);
extern void request_tag_resource(JsonReader *reader, JsonWriter *response);
extern void request_untag_resource(JsonReader *reader, JsonWriter *response);
extern void request_list_tags_of_resource(JsonReader *reader, JsonWriter *response);

/* ttl.c */
extern void request_update_time_to_live(JsonReader *reader, JsonWriter *response);
extern void request_describe_time_to_live(JsonReader *reader, JsonWriter *response);

/* streams.c */
extern void request_list_streams(JsonReader *reader, JsonWriter *response);
extern void request_describe_stream(JsonReader *reader, JsonWriter *response);
extern void request_get_shard_iterator(JsonReader *reader, JsonWriter *response);
extern void request_get_records(JsonReader *reader, JsonWriter *response);

/* limits.c */
extern void request_describe_limits(JsonReader *reader, JsonWriter *response);
extern void request_describe_endpoints(JsonReader *reader, JsonWriter *response);

#endif
