/*
 * metrics.c
 *	  What is counted, as text for Prometheus.
 */
#include "metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "connections.h"
#include "late.h"
#include "shards.h"
#include "target.h"

#define MAX_OPERATIONS 128
#define MAX_REASONS 32

/* These are upper bounds of times, in microseconds, from 0.5 ms to 10 s. */
static const int64_t bounds[] = {500,    1000,   2500,   5000,    10000,   25000,   50000,
								 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000};

#define BOUND_COUNT (sizeof(bounds) / sizeof(bounds[0]))

typedef _Atomic uint64_t Counter;

typedef struct Histogram
{
	Counter buckets[BOUND_COUNT + 1]; /* the last: beyond all bounds */
	Counter sum; /* in microseconds */
} Histogram;

/* Totals are those of one operation. */
typedef struct Totals
{
	Counter errors[ERROR_COUNT]; /* ERROR_NONE: none */
	Histogram duration;
	Counter received;
	Counter sent;
} Totals;

static Totals totals[MAX_OPERATIONS]; /* the first: of requests that named no operation */
static Histogram waited;
static Counter repeated;
static Counter unknown_outcomes;
static Counter throttled;
static _Atomic int in_flight;

/* These are of the program: its version, and when it was started. */
static const char *version;
static time_t started;

/* Reasons are constant texts; one that is set stays. */
static struct
{
	_Atomic(const char *) reason;
	Counter count;
} auth_failures[MAX_REASONS];

static void
metrics_add(Counter *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t
metrics_get(Counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void
metrics_observe(Histogram *histogram, int64_t microseconds)
{
	size_t i = 0;

	while (i < BOUND_COUNT && microseconds > bounds[i])
		i++;
	metrics_add(&histogram->buckets[i], 1);
	metrics_add(&histogram->sum, (uint64_t) microseconds);
}

/* Notes what the program is, when it starts. */
void
metrics_start(const char *of_version)
{
	version = of_version;
	started = time(NULL);
}

/* Counts a request that was answered. */
void
metrics_request(const Measured *measured)
{
	Totals *of =
		&totals[measured->operation == NULL ? 0 : operation_number(measured->operation) + 1];

	metrics_add(&of->errors[measured->error], 1);
	metrics_observe(&of->duration, measured->duration);
	metrics_add(&of->received, measured->received);
	metrics_add(&of->sent, measured->sent);
}

/* Notes that more or fewer requests are running. */
void
metrics_in_flight(int change)
{
	atomic_fetch_add(&in_flight, change);
}

/* Returns how many requests are running. */
int
metrics_running(void)
{
	return atomic_load(&in_flight);
}

/* Notes that a request waited for a connection to Postgres. */
void
metrics_waited(int64_t microseconds)
{
	metrics_observe(&waited, microseconds);
}

/* Counts a statement that was sent again. */
void
metrics_repeated(void)
{
	metrics_add(&repeated, 1);
}

/* Counts a request that was answered as failed, but may have been carried out. */
void
metrics_unknown_outcome(void)
{
	metrics_add(&unknown_outcomes, 1);
}

/* Counts a request that was refused because its key has too many. */
void
metrics_throttled(void)
{
	metrics_add(&throttled, 1);
}

/* Counts a request that was not authenticated; the reason is a constant text, and one of few. */
void
metrics_auth_failure(const char *reason)
{
	for (size_t i = 0; i < MAX_REASONS; i++)
	{
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&auth_failures[i].reason, &none, reason) ||
			strcmp(none, reason) == 0)
		{
			metrics_add(&auth_failures[i].count, 1);
			return;
		}
	}
}

__attribute__((format(printf, 2, 3))) static void
write_line(Text *text, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_add_strings(text, line, "\n", NULL);
}

static void
write_family(Text *text, const char *name, const char *type, const char *help)
{
	write_line(text, "# HELP %s %s", name, help);
	write_line(text, "# TYPE %s %s", name, type);
}

static const char *
operation_label(size_t i)
{
	return i == 0 ? "none" : operation_at(i - 1)->name;
}

static void
write_requests(Text *text)
{
	write_family(text, "dynamo_requests_total", "counter", "Requests that were answered.");
	for (size_t i = 0; i <= operation_count(); i++)
	{
		for (ErrorKind error = ERROR_NONE; error < ERROR_COUNT; error++)
		{
			uint64_t n = metrics_get(&totals[i].errors[error]);

			if (n > 0)
				write_line(text,
						   "dynamo_requests_total{operation=\"%s\",status=\"%d\",error=\"%s\"} "
						   "%" PRIu64,
						   operation_label(i), error_status(error), error_name(error), n);
		}
	}
}

/* The label is that of an operation, or empty. */
static void
write_histogram(Text *text, const char *name, const char *label, Histogram *histogram)
{
	const char *comma = *label == '\0' ? "" : ",";
	const char *opening = *label == '\0' ? "" : "{";
	const char *closing = *label == '\0' ? "" : "}";
	uint64_t n = 0;

	for (size_t i = 0; i < BOUND_COUNT; i++)
	{
		n += metrics_get(&histogram->buckets[i]);
		write_line(text, "%s_bucket{%s%sle=\"%g\"} %" PRIu64, name, label, comma,
				   (double) bounds[i] / 1e6, n);
	}
	n += metrics_get(&histogram->buckets[BOUND_COUNT]);
	write_line(text, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64, name, label, comma, n);
	write_line(text, "%s_sum%s%s%s %g", name, opening, label, closing,
			   (double) metrics_get(&histogram->sum) / 1e6);
	write_line(text, "%s_count%s%s%s %" PRIu64, name, opening, label, closing, n);
}

static uint64_t
answered(size_t i)
{
	uint64_t n = 0;

	for (ErrorKind error = ERROR_NONE; error < ERROR_COUNT; error++)
		n += metrics_get(&totals[i].errors[error]);
	return n;
}

static void
write_durations(Text *text)
{
	write_family(text, "dynamo_request_seconds", "histogram", "From the header to the answer.");
	for (size_t i = 0; i <= operation_count(); i++)
	{
		char label[96];

		if (answered(i) == 0)
			continue;
		snprintf(label, sizeof(label), "operation=\"%s\"", operation_label(i));
		write_histogram(text, "dynamo_request_seconds", label, &totals[i].duration);
	}
}

static void
write_bytes(Text *text, const char *name, const char *help, size_t offset)
{
	write_family(text, name, "summary", help);
	for (size_t i = 0; i <= operation_count(); i++)
	{
		uint64_t n = answered(i);

		if (n == 0)
			continue;
		write_line(text, "%s_sum{operation=\"%s\"} %" PRIu64, name, operation_label(i),
				   metrics_get((Counter *) ((char *) &totals[i] + offset)));
		write_line(text, "%s_count{operation=\"%s\"} %" PRIu64, name, operation_label(i), n);
	}
}

static void
write_auth_failures(Text *text)
{
	write_family(text, "dynamo_auth_failures_total", "counter",
				 "Requests that were not authenticated.");
	for (size_t i = 0; i < MAX_REASONS; i++)
	{
		const char *reason = atomic_load(&auth_failures[i].reason);

		if (reason != NULL)
			write_line(text, "dynamo_auth_failures_total{reason=\"%s\"} %" PRIu64, reason,
					   metrics_get(&auth_failures[i].count));
	}
}

static const char *const state_labels[TARGET_STATES] =
	{[TARGET_DOWN] = "down", [TARGET_IDLE] = "idle", [TARGET_BUSY] = "busy"};

static bool
has_pool(Target *target)
{
	TargetFigures *figures = target_figures(target);

	return figures->in[TARGET_DOWN] + figures->in[TARGET_IDLE] + figures->in[TARGET_BUSY] > 0;
}

/* The name is that of the pool. */
static void
write_pool_state(Text *text, const char *name, const char *server, Target *target)
{
	TargetFigures *figures = target_figures(target);
	char family[64];
	char help[64];

	snprintf(family, sizeof(family), "dynamo_%s_connections", name);
	snprintf(help, sizeof(help), "Connections to %s.", server);
	write_family(text, family, "gauge", help);
	for (TargetState state = 0; state < TARGET_STATES; state++)
		write_line(text, "%s{state=\"%s\"} %d", family, state_labels[state], figures->in[state]);
	snprintf(family, sizeof(family), "dynamo_%s_waiting", name);
	snprintf(help, sizeof(help), "Requests that wait for a connection to %s.", server);
	write_family(text, family, "gauge", help);
	write_line(text, "%s %d", family, figures->waiting);
}

static void
write_standby(Text *text)
{
	TargetFigures *figures = target_figures(target_standby());

	write_pool_state(text, "read_pool", "the standby", target_standby());
	write_family(text, "dynamo_standby_reads_total", "counter", "Reads that went to the standby.");
	write_line(text, "dynamo_standby_reads_total{answered_by=\"standby\"} %" PRIu64,
			   metrics_get(&figures->answered));
	write_line(text, "dynamo_standby_reads_total{answered_by=\"primary\"} %" PRIu64,
			   metrics_get(&figures->elsewhere));
}

/* Writes a label of a node, whose name an administrator of the cluster has chosen. */
static void
write_node(Text *text, const char *family, const Target *node, const char *more, uint64_t value)
{
	char rest[128];

	text_add_strings(text, family, "{node=\"", NULL);
	for (const char *c = target_name(node); *c != '\0'; c++)
	{
		if (*c == '"' || *c == '\\')
			text_add_char(text, '\\');
		text_add_char(text, (unsigned char) *c < ' ' ? ' ' : *c);
	}
	snprintf(rest, sizeof(rest), "\"%s} %" PRIu64 "\n", more, value);
	text_add_strings(text, rest, NULL);
}

/* Writes what is counted of the nodes that have shards. */
static void
write_nodes(Text *text)
{
	write_family(text, "dynamo_shard_map_tables", "gauge",
				 "Distributed tables whose shards are known; -1: no map of shards is loaded.");
	write_line(text, "dynamo_shard_map_tables %d", shards_count());
	write_family(text, "dynamo_node_connections", "gauge", "Connections to a node with shards.");
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
	{
		for (TargetState state = 0; state < TARGET_STATES; state++)
		{
			char more[32];

			snprintf(more, sizeof(more), ",state=\"%s\"", state_labels[state]);
			write_node(text, "dynamo_node_connections", node, more,
					   (uint64_t) target_figures(node)->in[state]);
		}
	}
	write_family(text, "dynamo_node_waiting", "gauge",
				 "Requests that wait for a connection to a node.");
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
		write_node(text, "dynamo_node_waiting", node, "", (uint64_t) target_figures(node)->waiting);
	write_family(
		text, "dynamo_node_requests_total", "counter",
		"Requests whose shard is on a node: sent there, or to the server of \"database\".");
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
	{
		write_node(text, "dynamo_node_requests_total", node, ",sent_to=\"node\"",
				   metrics_get(&target_figures(node)->answered));
		write_node(text, "dynamo_node_requests_total", node, ",sent_to=\"database\"",
				   metrics_get(&target_figures(node)->elsewhere));
	}
}

static void
write_pool(Text *text)
{
	write_pool_state(text, "pool", "Postgres", target_primary());
	if (has_pool(target_standby()))
		write_standby(text);
	if (target_first_node() != NULL)
		write_nodes(text);
	write_family(text, "dynamo_late_sessions", "gauge",
				 "Sessions of Postgres that go on though nobody waits for them.");
	write_line(text, "dynamo_late_sessions %d", late_count(NULL));
	write_family(text, "dynamo_pool_wait_seconds", "histogram",
				 "How long requests waited for a connection.");
	write_histogram(text, "dynamo_pool_wait_seconds", "", &waited);
}

static void
write_connections(Text *text)
{
	ConnectionCounts counts = connections_counts();

	write_family(text, "dynamo_connections", "gauge", "Connections of clients.");
	write_line(text, "dynamo_connections %d", counts.open);
	write_family(text, "dynamo_connections_refused_total", "counter",
				 "Connections of clients that were closed at once.");
	write_line(text,
			   "dynamo_connections_refused_total{reason=\"connections_per_address\"} %" PRIu64,
			   counts.over_limit);
	write_line(text, "dynamo_connections_refused_total{reason=\"memory\"} %" PRIu64,
			   counts.out_of_memory);
	write_family(text, "dynamo_body_memory_bytes", "gauge", "What counts as body_memory.");
	write_line(text, "dynamo_body_memory_bytes %" PRId64, counts.memory);
}

static double
seconds(struct timeval time)
{
	return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

/* Returns how many files are open; 0: that is not known. */
static int
open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	if (folder == NULL)
		return 0;
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	/* "." and "..", and the folder itself */
	return n - 3;
}

/* Writes one figure of the process, under a name that Prometheus' own libraries use. */
static void
write_process_figure(Text *text, const char *name, const char *type, const char *help, double value)
{
	write_family(text, name, type, help);
	write_line(text, "%s %.15g", name, value);
}

static void
write_process(Text *text)
{
	unsigned long size = 0;
	unsigned long resident = 0;
	struct rusage used = {0};
	struct rlimit files = {0};
	FILE *memory = fopen("/proc/self/statm", "re");

	if (memory != NULL && fscanf(memory, "%lu %lu", &size, &resident) != 2)
		size = resident = 0;
	if (memory != NULL)
		fclose(memory);
	getrusage(RUSAGE_SELF, &used);
	getrlimit(RLIMIT_NOFILE, &files);
	write_process_figure(text, "process_cpu_seconds_total", "counter",
						 "CPU time of the program, the kernel's part included.",
						 seconds(used.ru_utime) + seconds(used.ru_stime));
	write_process_figure(text, "process_resident_memory_bytes", "gauge",
						 "Memory of the program that is in use.",
						 (double) resident * (double) sysconf(_SC_PAGESIZE));
	write_process_figure(text, "process_virtual_memory_bytes", "gauge",
						 "Address space of the program.",
						 (double) size * (double) sysconf(_SC_PAGESIZE));
	write_process_figure(text, "process_open_fds", "gauge", "Files and sockets that are open.",
						 open_files());
	write_process_figure(text, "process_max_fds", "gauge",
						 "How many files and sockets may be open.", (double) files.rlim_cur);
	write_process_figure(text, "process_start_time_seconds", "gauge",
						 "When the program was started, in seconds since 1970.", (double) started);
	write_family(text, "dynamo_build_info", "gauge", "Versions, in labels; the value is 1.");
	write_line(text, "dynamo_build_info{version=\"%s\",libpq=\"%d.%d\"} 1", version,
			   PQlibVersion() / 10000, PQlibVersion() % 10000);
}

/* Writes all that was counted, and what the process takes. */
void
metrics_write(Text *text)
{
	write_requests(text);
	write_durations(text);
	write_bytes(text, "dynamo_request_bytes", "Bodies of requests, as received.",
				offsetof(Totals, received));
	write_bytes(text, "dynamo_response_bytes", "Bodies of answers, as sent.",
				offsetof(Totals, sent));
	write_pool(text);
	write_auth_failures(text);
	write_family(text, "dynamo_throttled_total", "counter",
				 "Requests beyond the limits of their key.");
	write_line(text, "dynamo_throttled_total %" PRIu64, metrics_get(&throttled));
	write_family(text, "dynamo_inflight", "gauge", "Requests that are running.");
	write_line(text, "dynamo_inflight %d", atomic_load(&in_flight));
	write_connections(text);
	write_family(text, "dynamo_unknown_outcomes_total", "counter",
				 "Requests that were answered as failed but may have been carried out.");
	write_line(text, "dynamo_unknown_outcomes_total %" PRIu64, metrics_get(&unknown_outcomes));
	write_family(text, "dynamo_sql_retries_total", "counter", "Statements that were sent again.");
	write_line(text, "dynamo_sql_retries_total %" PRIu64, metrics_get(&repeated));
	write_process(text);
}
