/*
 * partition.h
 *	  The table and the partition key of a request about one item, or one item collection.
 *
 * The server reads the request, not this: where something is written oddly, there is no key, or even a
 * wrong one, and the request goes a longer way.
 */
#ifndef GATEWAY_PARTITION_H
#define GATEWAY_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "member.h"
#include "operation.h"

/* A Subject is what a request says of table and key, as it is written. */
typedef struct Subject
{
	Member table;
	Member key; /* or the item */
	Member expression; /* of Query */
	Member names; /* of its attributes */
	Member values;
	Member conditions; /* of Query, as they were before expressions */
} Subject;

/* A KeyAttribute is the first of a table's key. */
typedef struct KeyAttribute
{
	Member name;
	char type; /* 'S', 'N' or 'B' */
} KeyAttribute;

extern bool partition_subject(const Operation *operation, Member request, Subject *subject);
extern bool partition_hash(const Subject *subject, const KeyAttribute *attribute, uint32_t *hash);

#endif
