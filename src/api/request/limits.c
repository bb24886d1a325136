/*
 * limits.c
 *	  DescribeLimits and DescribeEndpoints: what is the same for everybody.
 */
#include "postgres.h"

#include "api/request/request.h"

/* Capacity is counted, and not limited: what an account of DynamoDB's begins with. */
#define CAPACITY_UNITS 40000

/* Runs DescribeLimits.  The response is the same for all users, since no capacity is limited. */
void
request_describe_limits(JsonReader *reader, JsonWriter *response)
{
	request_read(reader, NULL, 0, NULL, NULL);
	json_write_integer(response, "AccountMaxReadCapacityUnits", 2 * CAPACITY_UNITS);
	json_write_integer(response, "AccountMaxWriteCapacityUnits", 2 * CAPACITY_UNITS);
	json_write_integer(response, "TableMaxReadCapacityUnits", CAPACITY_UNITS);
	json_write_integer(response, "TableMaxWriteCapacityUnits", CAPACITY_UNITS);
}

/* Runs DescribeEndpoints.  The endpoint that was asked is the only one. */
void
request_describe_endpoints(JsonReader *reader, JsonWriter *response)
{
	request_read(reader, NULL, 0, NULL, NULL);
	json_write_raw(response, "Endpoints",
				   "[{\"Address\":\"localhost\",\"CachePeriodInMinutes\":1440}]");
}
