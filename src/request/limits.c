/*
 * limits.c
 *	  DescribeLimits and DescribeEndpoints: what is the same for everybody.
 */
#include "postgres.h"

#include "request/request.h"

/* Capacity is counted, and not limited: what an account of DynamoDB's begins with. */
#define CAPACITY_UNITS 40000

/* Run DescribeLimits.  The response is the same for all users, since no capacity is limited. */
void
request_describe_limits(JsonReader *reader, StringInfo response)
{
	request_read_members(reader, NULL, 0, NULL);
	json_reader_done(reader);
	appendStringInfo(response,
					 "{\"AccountMaxReadCapacityUnits\":%d,\"AccountMaxWriteCapacityUnits\":%d,"
					 "\"TableMaxReadCapacityUnits\":%d,\"TableMaxWriteCapacityUnits\":%d}",
					 2 * CAPACITY_UNITS, 2 * CAPACITY_UNITS, CAPACITY_UNITS, CAPACITY_UNITS);
}

/* Whoever asks has found us. */
void
request_describe_endpoints(JsonReader *reader, StringInfo response)
{
	request_read_members(reader, NULL, 0, NULL);
	json_reader_done(reader);
	appendStringInfoString(
		response, "{\"Endpoints\":[{\"Address\":\"localhost\",\"CachePeriodInMinutes\":1440}]}");
}
