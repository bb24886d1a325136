/*
 * account.c
 *	  What becomes of a request for those who operate the gateway: figures, and a line in the log.
 */
#include "account.h"

#include <string.h>

#include "clock.h"
#include "config.h"
#include "errors.h"
#include "log.h"
#include "member.h"
#include "metrics.h"

/* Logs the table that a request names. */
static void
log_table(LogLine *line, const Request *request)
{
	char name[256 + 1];
	Member table;

	if (request->operation == NULL || request->body.size == 0)
		return;
	table = member_find(request->body.data, request->body.size, "TableName");
	if (table.length < 3 || table.length > sizeof(name) || table.text[0] != '"')
		return;
	memcpy(name, table.text + 1, table.length - 2);
	name[table.length - 2] = '\0';
	log_text(line, "table", name);
}

static void
log_request(const Request *request, int64_t duration)
{
	int64_t slow = config_now()->slow_request;
	bool is_slow = slow > 0 && duration > clock_of_ms(slow);
	LogLevel level = request->answer.status >= 500 || is_slow ? LEVEL_WARNING : LEVEL_INFO;
	LogLine line;

	if (!log_wants(level))
		return;
	log_begin(&line, level, is_slow ? "slow_request" : "request");
	log_text(&line, "id", request->id);
	log_text(&line, "traceparent", *request->trace == '\0' ? NULL : request->trace);
	if (*request->caller.key_id != '\0')
		log_text(&line, "key", request->caller.key_id);
	if (*request->caller.role_name != '\0')
		log_text(&line, "role", request->caller.role_name);
	log_text(&line, "operation", request->operation == NULL ? NULL : request->operation->name);
	/* what strangers write is not logged */
	if (*request->caller.role_name != '\0')
		log_table(&line, request);
	if (request->from_standby)
		log_text(&line, "server", "standby");
	log_integer(&line, "status", request->answer.status);
	if (request->answer.error != ERROR_NONE)
		log_text(&line, "error", error_name(request->answer.error));
	log_text(&line, "reason", request->reason);
	log_milliseconds(&line, "ms", duration);
	log_integer(&line, "received", (int64_t) request->received);
	log_integer(&line, "sent", (int64_t) request->answer.length);
	log_end(&line);
}

/* Counts and logs a request that has its answer. */
void
account_request(const Request *request)
{
	Measured measured = {
		.operation = request->operation,
		.error = request->answer.error,
		.duration = clock_now() - request->begun,
		.received = request->received,
		.sent = request->answer.length,
	};

	metrics_request(&measured);
	log_request(request, measured.duration);
}
