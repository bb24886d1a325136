/*
 * shard_loader.c
 *	  The thread that loads the map of shards from Citus' catalogs.
 *
 * It has a connection of its own to the server of "database", or to any node while that cannot be
 * reached.  Once a second it asks whether the catalogs have changed, and after a change it reads them
 * as a whole, for no more than a part of its time.  Without Citus it looks again in a minute.
 *
 * A node is a server at an address that Citus knows, and here the same address may be another one.  So
 * Citus is asked for the system identifier of each node, by the connection that it has to it, and the
 * gateway uses no other server.
 *
 * Access keys stand for roles by their OIDs, which differ between nodes.  A role of a node is taken for
 * the one that has the same name at home, if it is read before that one: a role that is dropped and made
 * anew meanwhile has another OID there, or here.  Names are not sent, whose roles may be others by then.
 */
#include "shards.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "hash.h"
#include "log.h"
#include "pool.h"
#include "statement.h"

#define PERIOD_MS 1000 /* between two looks */
#define LONG_PERIOD_MS 60000 /* where there is nothing to look for */
#define PAUSE_MS 10000 /* after a failure, and before a node that does not answer is asked again */
#define SHARE 10 /* of the time, one part at most is spent loading */
#define MIN_REST_MS 50 /* before the next look, whoever wants one */
#define MAX_FOREIGN \
	10 /* times that another node than that of "database" is asked before that one is again */

/* What is hashed to see whether we hash as the server does. */
#define SAMPLE "dynamo_gateway"

#define HOME_QUERY \
	"SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('search_path')," \
	" pg_catalog.hashtext('" SAMPLE "'), pg_catalog.to_regclass('pg_catalog.pg_dist_node')"

/* A session of a pooler would have the settings for others, too.  The server ends what
 * nobody waits for any more: a session that waits for a node that hangs does not notice by itself. */
#define GROUP_QUERY \
	"SELECT groupid, pg_catalog.set_config('search_path', 'pg_catalog', false)," \
	" pg_catalog.set_config('statement_timeout', '10s', false)" \
	" FROM pg_catalog.pg_dist_local_group"

/* From here on names are those of pg_catalog alone. */
#define CHANGES_QUERY "SELECT dynamo_internal.gateway_changes()"
#define NODES_QUERY \
	"SELECT groupid, nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND isactive" \
	" AND hasmetadata AND metadatasynced AND nodecluster = current_setting('citus.cluster_name')"
#define RANGES_QUERY \
	"SELECT d.colocationid, s.shardminvalue::int, s.shardmaxvalue::int, p.groupid FROM (SELECT" \
	" colocationid, min(logicalrelid::oid) AS relid FROM pg_dist_partition WHERE partmethod = 'h'" \
	" AND repmodel = 's' AND colocationid > 0 GROUP BY 1) d JOIN pg_dist_shard s" \
	" ON s.logicalrelid = d.relid::regclass JOIN pg_dist_placement p ON p.shardid = s.shardid" \
	" AND p.shardstate = 1 ORDER BY 1, 2"
/* The partition key is the first column of the primary key; nothing that is asked here locks a table, which
 * its owner may have locked.  A column that is not named as its attribute is in no request, so that those
 * go a longer way. */
#define TABLES_QUERY \
	"SELECT c.relname, n.nspname, d.colocationid, a.attname, t.type," \
	" NOT EXISTS (SELECT FROM pg_class o WHERE o.relname = c.relname AND o.oid <> c.oid" \
	"  AND o.relpersistence <> 't')," \
	" EXISTS (SELECT FROM pg_class o WHERE o.relname = c.relname" \
	"  AND o.relnamespace = 'pg_catalog'::regnamespace)" \
	" FROM pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid" \
	" JOIN pg_namespace n ON n.oid = c.relnamespace" \
	" JOIN pg_constraint p ON p.conrelid = c.oid AND p.contype = 'p'" \
	" JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.conkey[1]" \
	" JOIN (VALUES ('text'::regtype, 'S'), ('numeric', 'N'), ('bytea', 'B')) t (oid, type)" \
	"  ON t.oid = a.atttypid" \
	" WHERE d.partmethod = 'h' AND d.repmodel = 's' AND d.colocationid > 0 AND EXISTS (SELECT" \
	"  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.conname = 'dynamo_definition')" \
	" ORDER BY c.relname COLLATE \"C\", n.nspname COLLATE \"C\""
#define ROLES_QUERY \
	"SELECT oid, rolname FROM pg_catalog.pg_roles" \
	" WHERE NOT rolsuper AND pg_catalog.pg_has_role(session_user, oid, 'MEMBER')" \
	" ORDER BY rolname COLLATE pg_catalog.\"C\""
#define IDENTITY_QUERY \
	"SELECT result FROM master_run_on_worker(ARRAY[$1], ARRAY[$2::int]," \
	" ARRAY['SELECT system_identifier FROM pg_catalog.pg_control_system()'], false) WHERE success"

/* A LoadedNode is one of the cluster, and what is known of it from earlier loads. */
typedef struct LoadedNode
{
	int64_t group;
	Target *target;
	PGresult *roles; /* or NULL */
	int64_t due; /* when it may be asked again, if it did not answer */
	bool told; /* the log says that it does not */
} LoadedNode;

typedef struct ShardLoader
{
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	bool again;
	unsigned outdated; /* how often a map that was being loaded then was not to be believed */

	PGconn *server;
	bool foreign; /* it is not that of "database" */
	int64_t home; /* group of the latter; -1: not known yet */
	char *search_path;
	char changes[32]; /* what the last map is of */
	LoadedNode *nodes;
	int node_count;
	PGresult *home_roles;
	bool incomplete; /* a node has not told all yet, */
	int64_t due; /* and may be asked from then on */
	bool failing; /* and has told so */
	const char *told; /* why there is no map, if the log says so */
} ShardLoader;

static ShardLoader loader = {.lock = PTHREAD_MUTEX_INITIALIZER,
							 .wake = PTHREAD_COND_INITIALIZER,
							 .home = -1};
static bool running;

/* Waits for so long, or until it shall end, or else, unless it is to rest, load again. */
static void
loader_wait(int ms, bool rest)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000)
	{
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&loader.lock);
	while (!loader.stop && (rest || !loader.again))
	{
		if (pthread_cond_timedwait(&loader.wake, &loader.lock, &until) == ETIMEDOUT)
			break;
	}
	pthread_mutex_unlock(&loader.lock);
}

static bool
loader_stops(void)
{
	bool stop;

	pthread_mutex_lock(&loader.lock);
	stop = loader.stop;
	pthread_mutex_unlock(&loader.lock);
	return stop;
}

/* Returns whether the map was to be loaded again, and how often one was outdated until now. */
static bool
take_again(unsigned *outdated)
{
	bool again;

	pthread_mutex_lock(&loader.lock);
	again = loader.again;
	loader.again = false;
	*outdated = loader.outdated;
	pthread_mutex_unlock(&loader.lock);
	return again;
}

static void
loader_disconnect(void)
{
	PQfinish(loader.server);
	loader.server = NULL;
	*loader.changes = '\0';
}

/* Says once why no shards are used; NULL: they are. */
static void
tell(const char *why)
{
	if (why != loader.told && why != NULL)
		log_message(LEVEL_INFO, "requests are not sent to nodes of Citus by themselves: %s", why);
	loader.told = why;
}

/* Says once that loading fails. */
static void
tell_failure(const char *problem)
{
	if (!loader.failing)
		log_message(LEVEL_WARNING, "could not load the map of shards: %s",
					problem == NULL ? "out of memory" : problem);
	loader.failing = true;
}

/* Asks the server.  NULL, and nothing else can be asked, if that fails. */
static PGresult *
ask(const char *query, int n, const char *const *values)
{
	PGresult *result;

	if (loader.server == NULL)
		return NULL;
	result = statement_ask(loader.server, query, n, values);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	{
		char *problem = statement_problem(loader.server, result);

		tell_failure(problem);
		free(problem);
	}
	PQclear(result);
	loader_disconnect();
	return NULL;
}

static int64_t
number(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

/*
 * Connecting
 */

/* Connects to any node that is known. */
static bool
connect_elsewhere(void)
{
	for (int i = 0; i < loader.node_count && loader.server == NULL; i++)
	{
		char *problem = NULL;

		if (loader.nodes[i].target != NULL && target_is_known(loader.nodes[i].target))
			loader.server = target_connect_node(loader.nodes[i].target, &problem);
		free(problem);
	}
	loader.foreign = loader.server != NULL;
	return loader.foreign;
}

static bool
connect_somewhere(void)
{
	char *problem = NULL;

	loader.server = statement_connect(config_now()->database, NULL, NULL, &problem);
	loader.foreign = false;
	if (loader.server == NULL && !connect_elsewhere())
		tell_failure(problem);
	free(problem);
	return loader.server != NULL;
}

/* Returns why there can be no map, NULL if there can. */
static const char *
look_at_server(void)
{
	PGresult *result = ask(HOME_QUERY, 0, NULL);
	const char *why = NULL;
	PGresult *group = NULL;

	if (result == NULL)
		return NULL;
	if (PQgetisnull(result, 0, 3))
		why = "Citus is not installed";
	else if (number(result, 0, 0) != PQbackendPID(loader.server))
		why = "a pooler is in front of Postgres";
	else if ((uint32_t) number(result, 0, 2) != hash_of_bytes(SAMPLE, strlen(SAMPLE)))
		why = "the server has other hashes";
	else if ((group = ask(GROUP_QUERY, 0, NULL)) != NULL && !loader.foreign)
	{
		loader.home = PQntuples(group) == 1 ? number(group, 0, 0) : -1;
		free(loader.search_path);
		loader.search_path = strdup(PQgetvalue(result, 0, 1));
	}
	PQclear(group);
	PQclear(result);
	return why;
}

/*
 * Nodes
 */

static LoadedNode *
find_node(int64_t group)
{
	for (int i = 0; i < loader.node_count; i++)
	{
		if (loader.nodes[i].group == group)
			return &loader.nodes[i];
	}
	return NULL;
}

/* Finds the address by which a node is reached from here: another one, if the setting has it. */
static void
map_address(char *name, size_t size, char *port, size_t port_size)
{
	char known[512];
	size_t length = (size_t) snprintf(known, sizeof(known), "%s:%s=", name, port);

	for (const char *word = config_now()->nodes; *word != '\0'; word += strspn(word, " "))
	{
		size_t end = strcspn(word, " ");
		const char *colon;

		if (end > length && strncmp(word, known, length) == 0 &&
			(colon = memrchr(word + length, ':', end - length)) != NULL)
		{
			snprintf(name, size, "%.*s", (int) (colon - word - length), word + length);
			snprintf(port, port_size, "%.*s", (int) (word + end - colon - 1), colon + 1);
			return;
		}
		word += end;
	}
}

/* Returns the server that a node is; NULL: it is that of "database", or there is no memory. */
static Target *
find_target(const PGresult *result, int row)
{
	char name[512];
	char port[16];

	if (number(result, row, 0) == loader.home)
		return NULL;
	snprintf(name, sizeof(name), "%s", PQgetvalue(result, row, 1));
	snprintf(port, sizeof(port), "%s", PQgetvalue(result, row, 2));
	map_address(name, sizeof(name), port, sizeof(port));
	return target_node(name, port, pools_size());
}

static bool
is_used(const Target *target, const LoadedNode *nodes, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (nodes[i].target == target)
			return true;
	}
	return false;
}

/* Has the server's system identifier, as Citus reaches it. */
static void
identify(LoadedNode *node, const PGresult *result, int row)
{
	const char *values[] = {PQgetvalue(result, row, 1), PQgetvalue(result, row, 2)};
	PGresult *identity;

	/* that a node is asked may take too long for this connection */
	node->due = clock_now() + clock_of_ms(PAUSE_MS);
	identity = ask(IDENTITY_QUERY, 2, values);
	if (PQntuples(identity) == 1)
		target_identify(node->target, PQgetvalue(identity, 0, 0));
	else if (identity != NULL && !node->told)
	{
		node->told = true;
		log_message(LEVEL_WARNING,
					"requests are not sent to node %s of Citus by themselves: the login role does "
					"not reach it from the server of \"database\"",
					target_name(node->target));
	}
	PQclear(identity);
}

/* Take the nodes of a result in place of those there were. */
static bool
take_nodes(const PGresult *result)
{
	int n = PQntuples(result);
	LoadedNode *nodes = calloc((size_t) n + 1, sizeof(LoadedNode));

	if (nodes == NULL)
		return false;
	for (int row = 0; row < n; row++)
	{
		int64_t group = number(result, row, 0);
		LoadedNode *before = find_node(group);

		nodes[row] = (LoadedNode){.group = group, .target = find_target(result, row)};
		if (before != NULL && before->target == nodes[row].target)
		{
			nodes[row] = *before;
			before->roles = NULL;
		}
		if (nodes[row].target != NULL)
			target_want(nodes[row].target, loader.search_path);
	}
	for (int i = 0; i < loader.node_count; i++)
		PQclear(loader.nodes[i].roles);
	free(loader.nodes);
	loader.nodes = nodes;
	loader.node_count = n;
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
	{
		if (!is_used(node, nodes, n))
			target_leave(node);
	}
	for (int row = 0; row < n && loader.server != NULL; row++)
	{
		if (nodes[row].target != NULL && !target_is_known(nodes[row].target))
		{
			loader.incomplete = true;
			if (nodes[row].due <= clock_now())
				identify(&nodes[row], result, row);
		}
	}
	return loader.server != NULL;
}

/*
 * Roles
 */

static bool
are_same(const PGresult *one, const PGresult *other)
{
	if (one == NULL || other == NULL || PQntuples(one) != PQntuples(other))
		return false;
	for (int row = 0; row < PQntuples(one); row++)
	{
		if (strcmp(PQgetvalue(one, row, 0), PQgetvalue(other, row, 0)) != 0 ||
			strcmp(PQgetvalue(one, row, 1), PQgetvalue(other, row, 1)) != 0)
			return false;
	}
	return true;
}

static void
read_roles(LoadedNode *node)
{
	char *problem = NULL;
	PGconn *connection = target_connect_node(node->target, &problem);

	node->due = clock_now() + clock_of_ms(PAUSE_MS);
	if (connection != NULL)
		node->roles = statement_ask(connection, ROLES_QUERY, 0, NULL);
	if (PQresultStatus(node->roles) != PGRES_TUPLES_OK || PQnfields(node->roles) != 2)
	{
		PQclear(node->roles);
		node->roles = NULL;
	}
	free(problem);
	PQfinish(connection);
}

/* Reads the roles of nodes, and then those of the server of "database", unless all are as they were. */
static bool
take_roles(void)
{
	PGresult *roles = ask(ROLES_QUERY, 0, NULL);
	bool same = are_same(roles, loader.home_roles);
	bool read = false;

	if (roles == NULL)
		return false;
	for (int i = 0; i < loader.node_count; i++)
	{
		LoadedNode *node = &loader.nodes[i];

		if (node->target == NULL || !target_is_known(node->target))
			continue;
		if (!same)
		{
			PQclear(node->roles);
			node->roles = NULL;
		}
		if (node->roles == NULL && (!same || node->due <= clock_now()))
		{
			read_roles(node);
			read = true;
		}
		loader.incomplete |= node->roles == NULL;
	}
	if (read)
	{
		PQclear(roles);
		roles = ask(ROLES_QUERY, 0, NULL);
	}
	PQclear(loader.home_roles);
	loader.home_roles = roles;
	return roles != NULL;
}

static int
compare_roles(const void *a, const void *b)
{
	uint32_t x = ((const MapRole *) a)->role;
	uint32_t y = ((const MapRole *) b)->role;

	return x < y ? -1 : x > y;
}

/* Sets the roles of a node, as far as they are those at home: both are in the order of names. */
static bool
map_roles(const LoadedNode *from, MapNode *node)
{
	const PGresult *home = loader.home_roles;
	int row = 0;

	if (from->roles == NULL || home == NULL)
		return true;
	node->roles = calloc((size_t) PQntuples(home) + 1, sizeof(MapRole));
	if (node->roles == NULL)
		return false;
	for (int i = 0; i < PQntuples(home); i++)
	{
		int order = 1;

		while (row < PQntuples(from->roles) &&
			   (order = strcmp(PQgetvalue(from->roles, row, 1), PQgetvalue(home, i, 1))) < 0)
			row++;
		if (order == 0)
			node->roles[node->role_count++] =
				(MapRole){(uint32_t) number(home, i, 0), (uint32_t) number(from->roles, row, 0)};
	}
	qsort(node->roles, (size_t) node->role_count, sizeof(MapRole), compare_roles);
	return true;
}

/*
 * The map
 */

static bool
map_ranges(ShardMap *map, const PGresult *result)
{
	int n = PQntuples(result);

	map->ranges = calloc((size_t) n + 1, sizeof(MapRange));
	if (map->ranges == NULL)
		return false;
	for (int row = 0; row < n; row++)
	{
		const LoadedNode *node = find_node(number(result, row, 3));

		map->ranges[row] = (MapRange){.colocation = number(result, row, 0),
									  .from = (int32_t) number(result, row, 1),
									  .to = (int32_t) number(result, row, 2),
									  .node = node == NULL ? -1 : (int) (node - loader.nodes)};
	}
	map->range_count = n;
	return true;
}

static bool
map_nodes(ShardMap *map)
{
	map->nodes = calloc((size_t) loader.node_count + 1, sizeof(MapNode));
	if (map->nodes == NULL)
		return false;
	map->node_count = loader.node_count;
	for (int i = 0; i < loader.node_count; i++)
	{
		map->nodes[i].target = loader.nodes[i].target;
		if (!map_roles(&loader.nodes[i], &map->nodes[i]))
			return false;
	}
	return true;
}

/* Makes a map.  NULL if something cannot be asked, or without memory. */
static ShardMap *
make_map(void)
{
	PGresult *ranges = ask(RANGES_QUERY, 0, NULL);
	ShardMap *map = ranges == NULL ? NULL : calloc(1, sizeof(*map));
	bool good = map != NULL && (map->tables = ask(TABLES_QUERY, 0, NULL)) != NULL &&
				map_ranges(map, ranges) && map_nodes(map);

	if (good)
		map->own_schema_first = strncmp(loader.search_path, "\"$user\"", strlen("\"$user\"")) == 0;
	PQclear(ranges);
	if (good)
		return map;
	shards_free(map);
	return NULL;
}

/* Loads the map.  False: the connection is of no use. */
static bool
load(unsigned outdated)
{
	PGresult *nodes = ask(NODES_QUERY, 0, NULL);
	ShardMap *map = NULL;
	bool good;

	loader.incomplete = false;
	loader.due = clock_now() + clock_of_ms(PAUSE_MS);
	good = nodes != NULL && take_nodes(nodes) &&
		   (loader.foreign || config_now()->auth == AUTH_NONE || take_roles());
	PQclear(nodes);
	if (good)
		map = make_map();
	if (map == NULL)
		return false;
	loader.failing = false;
	pthread_mutex_lock(&loader.lock);
	if (outdated == loader.outdated)
		shards_replace(map);
	else
		shards_free(map);
	pthread_mutex_unlock(&loader.lock);
	return true;
}

/* Loads the map if the catalogs have changed.  False: the connection is of no use. */
static bool
load_if_changed(void)
{
	unsigned outdated;
	bool again = take_again(&outdated) || (loader.incomplete && loader.due <= clock_now());
	PGresult *result = ask(CHANGES_QUERY, 0, NULL);
	char changes[sizeof(loader.changes)];

	if (result == NULL)
		return false;
	snprintf(changes, sizeof(changes), "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	if (!again && strcmp(changes, loader.changes) == 0)
		return true;
	if (!load(outdated))
		return false;
	strcpy(loader.changes, changes);
	return true;
}

/* Keeps the map as long as the connection holds. */
static void
serve_connection(void)
{
	const char *database = config_now()->database;

	for (int times = 0; loader.server != NULL && !loader_stops(); times++)
	{
		int64_t begun = clock_now();
		int64_t rest;

		/* other settings may name another server */
		if (strcmp(database, config_now()->database) != 0 ||
			strcmp(config_now()->nodes, "off") == 0 || !config_now()->prepared ||
			(loader.foreign && times > MAX_FOREIGN) || !load_if_changed())
			break;
		rest = (clock_now() - begun) / 1000 * SHARE;
		loader_wait(rest < MIN_REST_MS ? MIN_REST_MS : (int) rest, true);
		loader_wait(rest < PERIOD_MS ? PERIOD_MS - (int) rest : 0, false);
	}
	loader_disconnect();
}

static void *
loader_main(void *arg)
{
	(void) arg;
	while (!loader_stops())
	{
		const char *why = strcmp(config_now()->nodes, "off") == 0 ? "the setting \"nodes\""
						  : !config_now()->prepared               ? "the setting \"prepared\""
																  : NULL;
		unsigned ignored;

		if (why == NULL && connect_somewhere())
			why = look_at_server();
		tell(why);
		take_again(&ignored);
		if (why != NULL)
		{
			loader_disconnect();
			shards_replace(NULL);
		}
		else if (loader.server != NULL && loader.home >= 0)
			serve_connection();
		loader_disconnect();
		if (!loader_stops())
			loader_wait(why != NULL ? LONG_PERIOD_MS : PAUSE_MS, false);
	}
	return NULL;
}

/* Start the thread, with all signals blocked: they are for the main thread. */
bool
shards_start(void)
{
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	running = pthread_create(&loader.thread, NULL, loader_main, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return running;
}

/* Have the map loaded soon, and one that is being loaded thrown away, if that is outdated. */
void
shards_reload(bool outdated)
{
	pthread_mutex_lock(&loader.lock);
	loader.again = true;
	loader.outdated += outdated;
	pthread_cond_signal(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
}

/* End the thread, and forget the map. */
void
shards_stop(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&loader.lock);
	loader.stop = true;
	pthread_cond_signal(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
	pthread_join(loader.thread, NULL);
	shards_replace(NULL);
}
