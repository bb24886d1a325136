/*
 * shards.c
 *	  Which node has what a request is about: the map of tables that Citus distributes.
 */
#include "shards.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "partition.h"
#include "text.h"

#define MAX_NAME 256 /* of a table, with its schema */
#define IDENTIFIER_SIZE 64 /* as NAMEDATALEN */
#define LONG_NAME_KEPT 54 /* of a name that is no identifier, before its hash */

static struct
{
	pthread_rwlock_t lock;
	_Atomic(ShardMap *) map; /* NULL: there is none */
} shards = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* Take a map in place of the one there is, which is freed. */
void
shards_replace(ShardMap *map)
{
	ShardMap *before;

	pthread_rwlock_wrlock(&shards.lock);
	before = atomic_exchange(&shards.map, map);
	pthread_rwlock_unlock(&shards.lock);
	shards_free(before);
}

/* Free a map, or none. */
void
shards_free(ShardMap *map)
{
	if (map == NULL)
		return;
	for (int i = 0; i < map->node_count; i++)
		free(map->nodes[i].roles);
	free(map->nodes);
	free(map->ranges);
	PQclear(map->tables);
	free(map);
}

/* Returns how many tables the map has; -1: there is none. */
int
shards_count(void)
{
	int n = -1;

	pthread_rwlock_rdlock(&shards.lock);
	if (atomic_load(&shards.map) != NULL)
		n = PQntuples(atomic_load(&shards.map)->tables);
	pthread_rwlock_unlock(&shards.lock);
	return n;
}

static const char *
table_text(const ShardMap *map, int row, int column)
{
	return PQgetvalue(map->tables, row, column);
}

static bool
table_is(const ShardMap *map, int row, int column)
{
	return *table_text(map, row, column) == 't';
}

/* Returns the first table of a name, or behind where it would be. */
static int
first_of_name(const ShardMap *map, const char *name)
{
	int low = 0;
	int high = PQntuples(map->tables);

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (strcmp(table_text(map, middle, TABLE_NAME), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the table of a name and of a schema, unless that is NULL; -1: there is none. */
static int
table_of(const ShardMap *map, const char *name, const char *schema)
{
	for (int row = first_of_name(map, name);
		 row < PQntuples(map->tables) && strcmp(table_text(map, row, TABLE_NAME), name) == 0; row++)
	{
		if (schema == NULL || strcmp(table_text(map, row, TABLE_SCHEMA), schema) == 0)
			return row;
	}
	return -1;
}

/* Returns the table that a name without a schema means to a role, if there is no doubt; or -1. */
static int
table_visible(const ShardMap *map, const char *name, const char *role)
{
	int row = table_of(map, name, NULL);

	if (row < 0 || table_is(map, row, TABLE_ALONE))
		return row;
	if (!map->own_schema_first || table_is(map, row, TABLE_IN_CATALOG))
		return -1;
	return table_of(map, name, role);
}

/* Makes the identifier of a name, as the extension does: one that is too long ends with its hash. */
static bool
make_identifier(char *name)
{
	size_t length = strlen(name);
	char hash[9];

	if (length < IDENTIFIER_SIZE)
		return length > 0;
	for (const char *c = name; *c != '\0'; c++)
	{
		/* it would have to be cut between two characters */
		if ((unsigned char) *c >= 0x80)
			return false;
	}
	snprintf(hash, sizeof(hash), "%08x", hash_of_bytes(name, length));
	name[LONG_NAME_KEPT] = '_';
	strcpy(name + LONG_NAME_KEPT + 1, hash);
	return true;
}

/* Returns the table of the map that a request names, or -1: "schema.table", or else as a whole. */
static int
find_table(const ShardMap *map, Member member, const char *role)
{
	char name[MAX_NAME];
	size_t length;
	char *dot;
	int row = -1;

	if (!member_string(member, name, sizeof(name), &length) || strlen(name) != length)
		return -1;
	dot = strchr(name, '.');
	if (dot == NULL)
		return make_identifier(name) ? table_visible(map, name, role) : -1;
	/* a whole name with a dot may mean less than the same with a schema, and is left alone */
	*dot = '\0';
	if (make_identifier(dot + 1) && dot - name < IDENTIFIER_SIZE)
		row = table_of(map, dot + 1, name);
	return row;
}

typedef struct Hashed
{
	int64_t colocation;
	int32_t hash;
} Hashed;

static int
compare_range(const void *key, const void *element)
{
	const Hashed *hashed = key;
	const MapRange *range = element;

	if (hashed->colocation != range->colocation)
		return hashed->colocation < range->colocation ? -1 : 1;
	return hashed->hash < range->from ? -1 : hashed->hash > range->to;
}

static int
compare_role(const void *key, const void *element)
{
	uint32_t role = *(const uint32_t *) key;
	uint32_t other = ((const MapRole *) element)->role;

	return role < other ? -1 : role > other;
}

/* Finds what the caller's role is on a node.  False if that is not known. */
static bool
find_role(const MapNode *node, const Caller *caller, uint32_t *role)
{
	const MapRole *found;

	*role = caller->role;
	if (node->target == NULL || caller->role == 0)
		return true;
	if (node->role_count == 0)
		return false;
	found = bsearch(&caller->role, node->roles, (size_t) node->role_count, sizeof(MapRole),
					compare_role);
	if (found == NULL)
		return false;
	*role = found->there;
	return true;
}

/* Adds an element to an array of SQL, whose brace is open. */
static void
add_element(Text *array, const char *element)
{
	text_add_char(array, '"');
	for (; *element != '\0'; element++)
	{
		if (*element == '"' || *element == '\\')
			text_add_char(array, '\\');
		text_add_char(array, *element);
	}
	text_add_char(array, '"');
}

static char *
write_table(const ShardMap *map, int row)
{
	Text array = {0};

	text_add_char(&array, '{');
	add_element(&array, table_text(map, row, TABLE_SCHEMA));
	text_add_char(&array, ',');
	add_element(&array, table_text(map, row, TABLE_NAME));
	text_add_char(&array, '}');
	return text_take(&array);
}

/* Returns the node of a table's hash; NULL: that is not known. */
static const MapNode *
find_node(const ShardMap *map, int row, uint32_t hash)
{
	Hashed hashed = {strtoll(table_text(map, row, TABLE_COLOCATION), NULL, 10), (int32_t) hash};
	const MapRange *range;

	if (map->range_count == 0)
		return NULL;
	range =
		bsearch(&hashed, map->ranges, (size_t) map->range_count, sizeof(MapRange), compare_range);
	return range == NULL || range->node < 0 ? NULL : &map->nodes[range->node];
}

static bool
find_place(const ShardMap *map, const Caller *caller, const Subject *subject, Place *place)
{
	int row = find_table(map, subject->table, caller->role_name);
	KeyAttribute attribute;
	const MapNode *node;
	uint32_t hash;

	if (row < 0)
		return false;
	attribute.name.text = table_text(map, row, TABLE_ATTRIBUTE);
	attribute.name.length = strlen(attribute.name.text);
	attribute.type = *table_text(map, row, TABLE_ATTRIBUTE_TYPE);
	if (!partition_hash(subject, &attribute, &hash))
		return false;
	node = find_node(map, row, hash);
	if (node == NULL || !find_role(node, caller, &place->role))
		return false;
	place->target = node->target;
	if (node->target != NULL)
		place->tables = write_table(map, row);
	return node->target == NULL || place->tables != NULL;
}

static bool
find_subject(const Caller *caller, const Subject *subject, Place *place)
{
	const ShardMap *map;
	bool found = false;

	pthread_rwlock_rdlock(&shards.lock);
	map = atomic_load(&shards.map);
	if (map != NULL)
		found = find_place(map, caller, subject, place);
	pthread_rwlock_unlock(&shards.lock);
	return found;
}

/* Finds the node of the shard that a request is about.  False if it is about no single shard that is
 * known. */
bool
shards_find(const Request *request, Place *place)
{
	Subject subject;

	*place = (Place){0};
	return shards_are_known() && request->operation != NULL &&
		   partition_subject(request->operation, (Member){request->body.data, request->body.size},
							 &subject) &&
		   find_subject(&request->caller, &subject, place);
}

/* Finds the node that has the item of a key, which may be the item itself.  False as above. */
bool
shards_find_item(const Caller *caller, Member table, Member key, Place *place)
{
	*place = (Place){0};
	return find_subject(caller, &(Subject){.table = table, .key = key}, place);
}

/* Returns whether the map may have a table of the name, be it with a schema or not. */
static bool
may_have_name(const ShardMap *map, Member table)
{
	char name[MAX_NAME];
	size_t length;

	if (!member_string(table, name, sizeof(name), &length) || strlen(name) != length ||
		strchr(name, ':') != NULL)
		return true;
	for (char *rest = name; rest != NULL; rest = strchr(rest, '.'))
	{
		char one[MAX_NAME];
		int row;

		rest += *rest == '.';
		strcpy(one, rest);
		if (!make_identifier(one))
			return true;
		row = first_of_name(map, one);
		if (row < PQntuples(map->tables) && strcmp(table_text(map, row, TABLE_NAME), one) == 0)
			return true;
	}
	return false;
}

/* A name means another table from now on, or none.  The map is forgotten if it has the name, and not
 * for any other: whoever makes tables would keep others from it. */
void
shards_rename(Member table)
{
	bool found;

	shards_reload(true);
	pthread_rwlock_rdlock(&shards.lock);
	found = atomic_load(&shards.map) != NULL && may_have_name(atomic_load(&shards.map), table);
	pthread_rwlock_unlock(&shards.lock);
	if (found)
		shards_replace(NULL);
}

/* Returns whether there is a map. */
bool
shards_are_known(void)
{
	return atomic_load_explicit(&shards.map, memory_order_relaxed) != NULL;
}
