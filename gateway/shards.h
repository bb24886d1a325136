/*
 * shards.h
 *	  Which node has what a request is about: the map of tables that Citus distributes.
 *
 * A thread loads the map, and all loops read it.  It decides nothing but where a request is sent first.
 * A node knows whose shards it has, and what a role may do there; whatever it does not know, the server
 * of "database" is asked instead.  So without a map, or with one that is old, requests go a longer way.
 */
#ifndef GATEWAY_SHARDS_H
#define GATEWAY_SHARDS_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "member.h"
#include "request.h"
#include "target.h"

/* A MapRange are hashes of one shard, and the number of its node in the map. */
typedef struct MapRange
{
	int64_t colocation;
	int32_t from;
	int32_t to;
	int node; /* -1: none that can be asked */
} MapRange;

/* A MapRole is a role on a node, and what it is in the database that access keys are of. */
typedef struct MapRole
{
	uint32_t role;
	uint32_t there;
} MapRole;

typedef struct MapNode
{
	Target *target; /* NULL: it is the server of "database" */
	MapRole *roles; /* in the order of "role" */
	int role_count;
} MapNode;

typedef struct ShardMap
{
	PGresult *tables; /* in the order of their names: name, schema, colocation, ... */
	MapRange *ranges; /* in the order of colocation and hashes */
	int range_count;
	MapNode *nodes;
	int node_count;
	bool own_schema_first; /* the search_path begins with "$user" */
} ShardMap;

/* Columns of the result of tables. */
enum
{
	TABLE_NAME,
	TABLE_SCHEMA,
	TABLE_COLOCATION,
	TABLE_ATTRIBUTE, /* of the partition key, */
	TABLE_ATTRIBUTE_TYPE, /* 'S', 'N' or 'B' */
	TABLE_ALONE, /* no other relation has the name */
	TABLE_IN_CATALOG /* pg_catalog has a relation of that name */
};

/* A Place is where a request is sent. */
typedef struct Place
{
	Target *target; /* NULL: the server of "database" has the shard itself */
	uint32_t role; /* what the caller's is there; 0: it is known by its name */
	char *tables; /* that it names there, as an array of SQL; to be freed */
} Place;

extern bool shards_find(const Request *request, Place *place);
extern bool shards_find_item(const Caller *caller, Member table, Member key, Place *place);
extern void shards_replace(ShardMap *map);
extern void shards_free(ShardMap *map);
extern void shards_rename(Member table);
extern bool shards_are_known(void);
extern int shards_count(void);

/* The thread that loads it */
extern bool shards_start(void);
extern void shards_reload(bool outdated);
extern void shards_stop(void);

#endif
