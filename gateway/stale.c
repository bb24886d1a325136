/*
 * stale.c
 *	  Whether an answer may be stale, so that a standby may give it.
 *
 * It may if nothing in the request asks for consistent reads.  Where the request is not plain about
 * it, because a name has escapes, or is there twice, or a value is no boolean, the answer may not be
 * stale: the server reads the request, not this.
 */
#include "stale.h"

#include <string.h>

#include "member.h"

static bool tables_are_eventual(Member tables);

/* Returns whether nothing in the object asks for consistent reads; a batch has that by table. */
static bool
object_is_eventual(Member object, bool batch)
{
	MemberScan scan = member_scan(object);
	Member name;
	Member value;

	while (member_next(&scan, &name, &value))
	{
		if (memchr(name.text, '\\', name.length) != NULL)
			return false;
		if (member_is(name, "ConsistentRead") && !member_is(value, "false"))
			return false;
		if (batch && member_is(name, "RequestItems") && !tables_are_eventual(value))
			return false;
	}
	return scan.whole;
}

/* Returns the same for all tables of BatchGetItem. */
static bool
tables_are_eventual(Member tables)
{
	MemberScan scan = member_scan(tables);
	Member name;
	Member value;

	while (member_next(&scan, &name, &value))
	{
		if (!object_is_eventual(value, false))
			return false;
	}
	return scan.whole;
}

/* Returns whether the operation reads items, and its request does not ask for consistency. */
bool
stale_is_enough(const Operation *operation, const char *json, size_t length)
{
	bool batch = strcmp(operation->name, "BatchGetItem") == 0;

	return (batch || strcmp(operation->name, "GetItem") == 0 ||
			strcmp(operation->name, "Query") == 0 || strcmp(operation->name, "Scan") == 0) &&
		   object_is_eventual((Member){json, length}, batch);
}
