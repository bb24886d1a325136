/*
 * http.c
 *	  HTTP, by libmicrohttpd: framing, the paths that there are, and the header of every answer.
 *
 * The library reads requests and sends answers, when a loop says so.  While a request is Postgres',
 * others are served; its connection is suspended if the answer takes its time (front.h).
 */
#include "http.h"

#include <ctype.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "account.h"
#include "auth.h"
#include "clock.h"
#include "connections.h"
#include "console.h"
#include "file.h"
#include "front.h"
#include "helper.h"
#include "host.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "pool.h"
#include "protocol.h"
#include "stale.h"

#define SERVER_NAME "dynamo_gateway"
#define MAX_HEADERS 128
#define MAX_HEADER_SIZE (32 * 1024)

/* One connection has this for the header, what the library makes of it, and what it reads at once.
 * The library writes zeros over all of it behind each request. */
#define CONNECTION_MEMORY (48 * 1024)

/* A record of TLS has at most so many bytes. */
#define TLS_RECORD 16384

/* While so many bytes are being compressed, further answers are sent as they are, so that the answers
 * of one key, of which there may be many, make no others wait. */
#define MAX_COMPRESSING ((size_t) 1 << 20)

/* A body that is too large is read to its end if it is not larger than that, so that the client
 * gets the answer and no broken connection. */
#define MAX_IGNORED ((uint64_t) 2 * BODY_LIMIT)

struct Server
{
	Front *fronts; /* one in each loop */
	int front_count;
	Loop *own; /* of probes, which wait for no others; NULL: there is none */
	ServerRole role;
	bool tls;
	bool local;
	bool open; /* requests need no signature; browsers, which cannot use Unix sockets, send them */
	int connections_per_address; /* 0: any number */
	char *certificate;
	char *key;
	_Atomic bool draining;
	_Atomic int connections;
};

/* An Exchange is a request and its answer, in HTTP. */
typedef struct Exchange
{
	Request request; /* the first member: the pool knows only this */
	Job job; /* that another thread has with it */
	Server *server;
	Front *front;
	Connection *connection;
	struct MHD_Connection *mhd;
	enum
	{
		STAGE_HEADER,
		STAGE_BODY,
		STAGE_AWAKE, /* it is the pool's, and the connection is not suspended */
		STAGE_SUSPENDED, /* it is the pool's */
		STAGE_ANSWERED,
		STAGE_SENT, /* the library has the answer, or the connection is to end */
		STAGE_LEFT /* it is the pool's, and its client has gone */
	} stage;
	char *target; /* as in the first line */
	int64_t asked; /* when the pool was */
	SignedRequest message; /* in the memory of the connection, as long as there is one */
	Header headers[MAX_HEADERS];
	size_t header_size;
	const char *end; /* of the header so far, as received; NULL from 1.0 of the library on */
	bool broken_header;
	uint64_t body_size; /* that came, also what is ignored */
	bool wants_continue;
	bool get; /* the method, which the library has */
	bool old_version; /* of HTTP: its connections end with each answer */
	bool chunked; /* the connection ends with the answer */
	bool compress;
	bool counted; /* among those that run */
} Exchange;

static _Atomic bool ready = true;

/* Compresses answers, which takes its time. */
static Helper *compressor;
static _Atomic size_t compressing; /* bytes that it has to */

/* Sets what /readyz says. */
void
servers_set_ready(bool is)
{
	ready = is;
}

/* Ids tell one request from all others, and nobody can guess them. */
static void
make_id(char id[REQUEST_ID_SIZE])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
	static _Thread_local unsigned char bytes[(REQUEST_ID_SIZE - 1) * 16];
	static _Thread_local size_t used = sizeof(bytes);

	if (used == sizeof(bytes))
	{
		/* without random bytes ids would be told apart by nothing */
		if (RAND_bytes(bytes, sizeof(bytes)) != 1)
			abort();
		used = 0;
	}
	for (size_t i = 0; i < REQUEST_ID_SIZE - 1; i++)
		id[i] = digits[bytes[used++] % 32];
	id[REQUEST_ID_SIZE - 1] = '\0';
}

static void
http_enter(Exchange *exchange, Phase phase)
{
	connection_enter(exchange->connection, phase);
}

/* Returns whether this is a field's name: others may read a blank before the colon otherwise. */
static bool
is_name(const char *name, size_t size)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < size; i++)
	{
		if (!isalnum((unsigned char) name[i]) && strchr(marks, name[i]) == NULL)
			return false;
	}
	return size > 0 && strlen(name) == size;
}

static enum MHD_Result
take_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_size,
			const char *value, size_t value_size)
{
	Exchange *exchange = cls;
	size_t n = exchange->message.header_count;

	(void) kind;
	if (value == NULL)
		value = "";
	/* with what is around them: ": " and the end of the line */
	exchange->header_size += name_size + value_size + 4;
	if (n == MAX_HEADERS)
	{
		exchange->header_size += MAX_HEADER_SIZE;
		return MHD_NO;
	}
	exchange->broken_header |= !is_name(name, name_size) || strlen(value) != value_size ||
							   (exchange->end != NULL && name != exchange->end);
	if (exchange->end != NULL)
		exchange->end = value + value_size + strlen("\r\n");
	exchange->headers[n] = (Header){name, value};
	exchange->message.header_count = n + 1;
	return MHD_YES;
}

/* Splits what is between the method and the version into its two parts. */
static void
split_target(Exchange *exchange)
{
	char *query = strchr(exchange->target, '?');

	exchange->message.path = exchange->target;
	exchange->message.query = "";
	if (query == NULL)
		return;
	*query = '\0';
	exchange->message.query = query + 1;
}

static size_t
count_headers(const SignedRequest *message, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < message->header_count; i++)
		n += header_is(&message->headers[i], name);
	return n;
}

/*
 * Returns whether the header is what we have been told of it, and nothing else.  Before 1.0 the
 * library takes a NUL for the end of a field, lines may end without CR, and what goes on in a
 * further line is taken for a name.  Its strings are where they were received, so they have to
 * follow one another, and a CR that is left is not that of the end of a line.
 */
static bool
is_whole(const Exchange *exchange, const char *path, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return exchange->end == NULL || (path == method + strlen(method) + strlen(" ") &&
									 version == path + strlen(exchange->target) + strlen(" ") &&
									 exchange->end + strlen("\r\n") == method + info->header_size &&
									 memchr(method, '\r', info->header_size) == NULL);
}

/*
 * Returns whether it is certain where the body ends, and for whom it is: others on the way to us
 * may have understood it otherwise.
 */
static bool
is_framed(const Exchange *exchange)
{
	static const char *const single[] = {"content-length", "transfer-encoding", "host",
										 "content-type",   "content-encoding",  "x-amz-target",
										 "authorization"};
	const SignedRequest *message = &exchange->message;
	const char *coding = protocol_header(message, "transfer-encoding");

	if (exchange->broken_header)
		return false;
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
	{
		if (count_headers(message, single[i]) > 1)
			return false;
	}
	if (coding == NULL)
		return true;
	return !exchange->old_version && strcasecmp(coding, "chunked") == 0 &&
		   protocol_header(message, "content-length") == NULL;
}

/* Returns the size that the header tells of the body; 0 if it tells none. */
static uint64_t
told_size(const SignedRequest *message)
{
	const char *length = protocol_header(message, "content-length");

	return length == NULL ? 0 : strtoull(length, NULL, 10);
}

/*
 * Returns the origins that are allowed: programs that show pages of their own, such as NoSQL
 * Workbench, say that they come from a file, as no site's page and no file in a browser does.
 */
static const char *
allowed_origins(const Exchange *exchange)
{
	const char *origins = config_now()->origins;

	if (*origins != '\0')
		return origins;
	if (exchange->server->open)
		return "file://";
	return exchange->server->local && !exchange->server->tls ? "*" : "";
}

/* Returns the origin to let in, as the answer names it; NULL if it is none of them. */
static const char *
let_in(const Exchange *exchange)
{
	const char *origin = protocol_header(&exchange->message, "origin");
	const char *allowed = allowed_origins(exchange);

	if (origin == NULL || *origin == '\0')
		return NULL;
	if (strcmp(allowed, "*") == 0)
		return "*";
	while (*allowed != '\0')
	{
		size_t length = strcspn(allowed, " ");

		if (length == strlen(origin) && strncasecmp(allowed, origin, length) == 0)
			return origin;
		allowed += length;
		allowed += strspn(allowed, " ");
	}
	return NULL;
}

/* DynamoDB names the endpoint that was asked, which a client knows by a name of its own here. */
static void
answer_health(Request *request, const char *host)
{
	char text[512];
	const char *region = config_now()->region;
	int n = host != NULL ? snprintf(text, sizeof(text), "healthy: %s ", host)
						 : snprintf(text, sizeof(text), "healthy: dynamodb.%s.amazonaws.com ",
									*region == '\0' ? "us-east-1" : region);
	char *copy = n < 0 || (size_t) n >= sizeof(text) ? NULL : strdup(text);

	if (copy == NULL)
		answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	else
		answer_owned(&request->answer, 200, copy, (size_t) n, copy, free);
	request->answer.content_type = "text/plain";
}

static void
answer_metrics(Request *request)
{
	Text text = {0};

	metrics_write(&text);
	if (text.failed)
	{
		text_free(&text);
		answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
		return;
	}
	answer_owned(&request->answer, 200, text.data, text.length, text.data, free);
	request->answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
}

/* Answers GET: what needs no operation.  /readyz has its answer only from the pool. */
static void
answer_get(Exchange *exchange)
{
	Request *request = &exchange->request;
	const char *path = exchange->message.path;
	bool health = exchange->server->role != SERVER_REQUESTS;

	if (strcmp(path, "/") == 0)
		answer_health(request, protocol_header(&exchange->message, "host"));
	else if (health && strcmp(path, "/healthz") == 0)
		answer_constant(&request->answer, 200, "text/plain", "alive\n");
	else if ((exchange->server->role == SERVER_HEALTH || config_now()->metrics) &&
			 strcmp(path, "/metrics") == 0)
		answer_metrics(request);
	else if (health && strcmp(path, "/readyz") == 0)
	{
		if (!ready || !auth_is_ready())
			answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	}
	else
		answer_not_found(&request->answer);
}

/* Answers a protocol that SDKs may speak one day.  It is logged once. */
static void
answer_cbor(Request *request)
{
	static atomic_flag logged = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&logged))
		log_message(LEVEL_WARNING,
					"a client speaks Smithy RPC v2 CBOR, which this gateway does not");
	answer_error(&request->answer, ERROR_UNSUPPORTED_TYPE,
				 "This endpoint speaks application/x-amz-json-1.0 only.", NULL);
}

static void
answer_foreign(Request *request)
{
	request->reason = "host";
	answer_error(&request->answer, ERROR_ACCESS_DENIED,
				 "Without access keys this gateway is called by an address, as localhost, or by a "
				 "name of its setting \"hosts\".",
				 NULL);
}

/* Returns whether it may be a page of a site whose name leads to this machine that asks. */
static bool
is_foreign(const Exchange *exchange)
{
	return exchange->server->open &&
		   !host_is_ours(protocol_header(&exchange->message, "host"), config_now()->hosts);
}

/* Returns whether it answers what a browser asks for to show the console. */
static bool
answer_console(Exchange *exchange)
{
	Request *request = &exchange->request;

	if (exchange->server->role == SERVER_HEALTH ||
		!console_answer(exchange->message.method, exchange->message.path, &request->answer))
		return false;
	if (!is_foreign(exchange))
		return true;
	answer_foreign(request);
	request->answer.content_type = "text/plain"; /* browsers show it */
	return true;
}

/* Answers unless the method is one that has the operations' path. */
static void
answer_by_method(Exchange *exchange)
{
	Request *request = &exchange->request;
	const SignedRequest *message = &exchange->message;

	if (answer_console(exchange))
		return;
	if (exchange->get)
		answer_get(exchange);
	else if (strcmp(message->method, "OPTIONS") == 0 && let_in(exchange) != NULL)
		answer_constant(&request->answer, 200, NULL, "");
	else if (strcmp(message->method, "POST") != 0 || exchange->server->role == SERVER_HEALTH)
		answer_not_found(&request->answer);
	else if (protocol_is_cbor(message))
		answer_cbor(request);
	else if (strcmp(message->path, "/") != 0)
		answer_not_found(&request->answer);
	else if (is_foreign(exchange))
		answer_foreign(request);
}

static void
refuse_framing(Exchange *exchange, ErrorKind error)
{
	answer_error(&exchange->request.answer, error, NULL, NULL);
	exchange->request.answer.close = true;
}

/*
 * Decides what the header alone decides.  An answer that ends the connection is sent without
 * reading the body.
 */
static void
read_header(Exchange *exchange, const char *path, const char *method, const char *version)
{
	SignedRequest *message = &exchange->message;
	uint64_t size;

	if (*MHD_get_version() == '0')
		exchange->end = version + strlen(version) + strlen("\r\n");
	MHD_get_connection_values_n(exchange->mhd, MHD_HEADER_KIND, take_header, exchange);
	message->method = method;
	exchange->get = strcmp(method, "GET") == 0;
	message->headers = exchange->headers;
	exchange->broken_header |= !is_whole(exchange, path, method, version);
	split_target(exchange);
	exchange->old_version = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
	/* before 1.0 the library takes LF for the end of a chunk's line, also within what others take for an
	 * extension: nothing behind such a body is a request */
	exchange->chunked = protocol_header(message, "transfer-encoding") != NULL;
	exchange->header_size += strlen(method) + strlen(exchange->target);
	exchange->wants_continue = protocol_header(message, "expect") != NULL;
	trace_read(protocol_header(message, "traceparent"), exchange->request.trace);
	if (exchange->header_size > MAX_HEADER_SIZE)
	{
		refuse_framing(exchange, ERROR_HEADER_TOO_LARGE);
		return;
	}
	if (!is_framed(exchange))
	{
		refuse_framing(exchange, ERROR_FRAMING);
		return;
	}
	size = told_size(message);
	if (size > MAX_IGNORED || (size > BODY_LIMIT && exchange->wants_continue))
		answer_too_large(&exchange->request.answer);
	else
		answer_by_method(exchange);
	/* who asks before sending the body is told now */
	if (exchange->request.answer.status != 0 && exchange->wants_continue)
		exchange->request.answer.close = true;
}

static void
add_header(struct MHD_Response *response, const char *name, const char *value)
{
	MHD_add_response_header(response, name, value);
}

/* Allows what a preflight request asks for. */
static void
add_preflight(struct MHD_Response *response, const SignedRequest *message)
{
	const char *headers = protocol_header(message, "access-control-request-headers");
	const char *method = protocol_header(message, "access-control-request-method");

	if (headers != NULL)
		add_header(response, "Access-Control-Allow-Headers", headers);
	if (method != NULL)
		add_header(response, "Access-Control-Allow-Methods", method);
	add_header(response, "Access-Control-Max-Age", "172800");
}

static void
add_origin(struct MHD_Response *response, const Exchange *exchange)
{
	const char *origin = let_in(exchange);

	if (origin == NULL)
		return;
	add_header(response, "Access-Control-Allow-Origin", origin);
	if (strcmp(origin, "*") != 0)
		add_header(response, "Vary", "Origin");
	/* DynamoDB tells preflight requests, too, which have no use for it */
	add_header(response, "Access-Control-Expose-Headers", "x-amzn-RequestId, x-amz-crc32, Date");
	if (strcmp(exchange->message.method, "OPTIONS") == 0)
		add_preflight(response, &exchange->message);
}

static void
add_headers(struct MHD_Response *response, const Exchange *exchange)
{
	const Answer *answer = &exchange->request.answer;
	const char *type = answer->content_type != NULL             ? answer->content_type
					   : exchange->request.content_type != NULL ? exchange->request.content_type
																: "application/x-amz-json-1.0";
	char crc[16];

	snprintf(crc, sizeof(crc), "%lu",
			 crc32_z(0, (const unsigned char *) answer->data, answer->length));
	add_header(response, "Server", SERVER_NAME);
	add_header(response, "x-amzn-RequestId", exchange->request.id);
	add_header(response, "x-amz-crc32", crc);
	add_header(response, "Content-Type", type);
	for (const char *const *field = answer->fields; field != NULL && *field != NULL; field += 2)
		add_header(response, field[0], field[1]);
	if (answer->compressed)
		add_header(response, "Content-Encoding", "gzip");
	if (answer->close || exchange->old_version || exchange->chunked || exchange->server->draining)
		add_header(response, "Connection", "close");
	add_origin(response, exchange);
}

/* Counts and logs a request that has its answer. */
static void
account(Exchange *exchange)
{
	/* probes come often, and tell nobody anything */
	if (!exchange->get || exchange->request.answer.status != 200)
		account_request(&exchange->request);
}

static void
free_body(Exchange *exchange)
{
	connection_hold(exchange->connection, 0);
	body_free(&exchange->request.body);
}

static enum MHD_Result
send_answer(Exchange *exchange)
{
	Answer *answer = &exchange->request.answer;
	struct MHD_Response *response;
	enum MHD_Result result;

	if (answer->release == NULL)
		response = MHD_create_response_from_buffer(
			answer->length, (void *) (uintptr_t) answer->data, MHD_RESPMEM_PERSISTENT);
	else
		response = MHD_create_response_from_buffer_with_free_callback_cls(
			answer->length, (void *) (uintptr_t) answer->data, answer->release, answer->owner);
	if (response == NULL)
		return MHD_NO;
	add_headers(response, exchange);
	account(exchange);
	free_body(exchange);
	if (exchange->server->tls)
		exchange->front->records += answer->length / TLS_RECORD;
	if (answer->release != NULL)
		connection_send(exchange->connection, answer->length);
	/* it is the response's now */
	answer->release = NULL;
	http_enter(exchange, PHASE_ANSWER);
	result = MHD_queue_response(exchange->mhd, (unsigned) answer->status, response);
	MHD_destroy_response(response);
	return result;
}

/* Frees what the exchange has; its connection may have gone. */
static void
free_exchange(Exchange *exchange)
{
	if (exchange->counted)
		metrics_in_flight(-1);
	auth_leave(&exchange->request);
	answer_release(&exchange->request.answer);
	body_free(&exchange->request.body);
	free(exchange->target);
	free(exchange);
}

/* Has the answer sent, which has come. */
static void
http_resume(Exchange *exchange)
{
	Front *front = exchange->front;

	front->ready = true;
	switch (exchange->stage)
	{
		case STAGE_LEFT:
			front->left--;
			account(exchange);
			atomic_fetch_sub(&exchange->server->connections, 1);
			free_exchange(exchange);
			break;
		case STAGE_AWAKE:
			front->awake--;
			exchange->stage = STAGE_SENT;
			send_answer(exchange);
			break;
		case STAGE_SUSPENDED:
			exchange->stage = STAGE_ANSWERED;
			MHD_resume_connection(exchange->mhd);
			break;
		case STAGE_HEADER:
		case STAGE_BODY:
		case STAGE_ANSWERED:
		case STAGE_SENT:
			break;
	}
}

static Exchange *
of_job(Job *job)
{
	return (Exchange *) ((char *) job - offsetof(Exchange, job));
}

static void
resume_job(Job *job)
{
	http_resume(of_job(job));
}

static void
compress_job(Job *job)
{
	Answer *answer = &of_job(job)->request.answer;
	size_t length = answer->length;

	answer_compress(answer, (size_t) config_now()->compress_responses_above);
	atomic_fetch_sub(&compressing, length);
}

/* Called by the pool: the request has its answer. */
static void
http_answered(Request *request)
{
	Exchange *exchange = (Exchange *) request;

	exchange->job = (Job){.loop = exchange->front->loop, .work = compress_job, .done = resume_job};
	if (exchange->compress && compressing < MAX_COMPRESSING &&
		request->answer.length > (size_t) config_now()->compress_responses_above)
	{
		atomic_fetch_add(&compressing, request->answer.length);
		helper_do(compressor, &exchange->job);
	}
	else if (exchange->server->own != NULL)
		loop_post(&exchange->job);
	else
		http_resume(exchange);
}

static bool
wants_compression(const SignedRequest *message)
{
	const char *accepted = protocol_header(message, "accept-encoding");

	return config_now()->compress_responses_above > 0 && accepted != NULL &&
		   strcasestr(accepted, "gzip") != NULL && strcasestr(accepted, "gzip;q=0") == NULL;
}

/* Returns whether a standby may answer, if there is one. */
static bool
may_be_stale(const Request *request)
{
	return *config_now()->read_database != '\0' && request->operation != NULL &&
		   stale_is_enough(request->operation, request->body.data, request->body.size);
}

/* A loop without connections to Postgres asks one that has some. */
static void
ask_job(Job *job)
{
	pools_submit(pools_loop(0), &of_job(job)->request, false);
}

/* Have the library wait until there is an answer. */
static void
wait_for_answer(Exchange *exchange)
{
	Front *front = exchange->front;

	exchange->asked = clock_now();
	if (front->awake + front->left < MAX_AWAKE && exchange->request.body.size <= MAX_AWAKE_BODY)
	{
		front->awake++;
		exchange->stage = STAGE_AWAKE;
	}
	else
	{
		exchange->stage = STAGE_SUSPENDED;
		MHD_suspend_connection(exchange->mhd);
	}
}

/* The library asks for an answer that has not come. */
static void
suspend_at_last(Exchange *exchange)
{
	if (exchange->front->now - exchange->asked < clock_of_ms(AWAKE_MS))
		return;
	exchange->front->awake--;
	exchange->stage = STAGE_SUSPENDED;
	MHD_suspend_connection(exchange->mhd);
}

/* Have the pool answer.  The exchange is not ours until it has. */
static enum MHD_Result
ask_pool(Exchange *exchange)
{
	exchange->compress = wants_compression(&exchange->message);
	exchange->request.done = http_answered;
	http_enter(exchange, PHASE_RUNNING);
	wait_for_answer(exchange);
	if (exchange->server->own != NULL)
	{
		exchange->job = (Job){.loop = pools_loop(0), .done = ask_job};
		loop_post(&exchange->job);
	}
	else
		pools_submit(exchange->front->loop, &exchange->request, may_be_stale(&exchange->request));
	return MHD_YES;
}

/* There is too little memory for the body. */
static void
refuse_body(Exchange *exchange)
{
	free_body(exchange);
	answer_error(&exchange->request.answer, ERROR_UNAVAILABLE, NULL, NULL);
}

/* Runs the request, which is whole. */
static enum MHD_Result
http_run(Exchange *exchange)
{
	Request *request = &exchange->request;
	SignedRequest *message = &exchange->message;

	message->body = request->body.data;
	message->body_size = request->body.size;
	request->received = request->body.size;
	if (MHD_get_connection_values(exchange->mhd, MHD_FOOTER_KIND, NULL, NULL) > 0)
		refuse_framing(exchange, ERROR_FRAMING);
	if (request->answer.status != 0)
		return send_answer(exchange);
	/* what the header left open is an operation, or /readyz */
	if (exchange->get)
		return ask_pool(exchange);
	if (!protocol_read(message, request))
		return send_answer(exchange);
	/* one that was inflated is larger than what was received */
	if (!connection_hold(exchange->connection, request->body.size))
	{
		refuse_body(exchange);
		return send_answer(exchange);
	}
	if (operation_is_local(request->operation))
	{
		const char *host = protocol_header(message, "host");

		answer_endpoint(&request->answer, host == NULL ? "" : host);
		return send_answer(exchange);
	}
	return ask_pool(exchange);
}

/* Keep a piece of the body, unless there is an answer already, or it is too large. */
static enum MHD_Result
take_body(Exchange *exchange, const char *data, size_t size)
{
	Request *request = &exchange->request;

	/* more of it may be there already, of which no file tells */
	exchange->front->ready = true;
	exchange->body_size += size;
	if (exchange->body_size > MAX_IGNORED)
		return MHD_NO;
	if (request->answer.status != 0)
		return MHD_YES;
	if (exchange->body_size > BODY_LIMIT)
	{
		free_body(exchange);
		answer_too_large(&request->answer);
		return MHD_YES;
	}
	if (!connection_hold(exchange->connection, request->body.size + size) ||
		body_add(&request->body, data, size) != BODY_OK)
		refuse_body(exchange);
	return MHD_YES;
}

/* Is called by the library when the header has come, for each piece of the body, and at its end. */
static enum MHD_Result
http_handle(void *cls, struct MHD_Connection *mhd, const char *path, const char *method,
			const char *version, const char *data, size_t *size, void **context)
{
	Exchange *exchange = *context;

	(void) cls;
	(void) mhd;
	if (exchange == NULL || exchange->target == NULL)
		return MHD_NO;
	exchange->front->heard = true;
	switch (exchange->stage)
	{
		case STAGE_HEADER:
			exchange->stage = STAGE_BODY;
			exchange->counted = true;
			metrics_in_flight(1);
			http_enter(exchange, PHASE_BODY);
			read_header(exchange, path, method, version);
			return exchange->request.answer.close ? send_answer(exchange) : MHD_YES;
		case STAGE_BODY:
			if (*size > 0)
			{
				enum MHD_Result result = take_body(exchange, data, *size);

				*size = 0;
				return result;
			}
			return http_run(exchange);
		case STAGE_AWAKE:
			suspend_at_last(exchange);
			return MHD_YES;
		case STAGE_ANSWERED:
			return send_answer(exchange);
		case STAGE_SENT:
		case STAGE_SUSPENDED:
		case STAGE_LEFT:
			break;
	}
	return MHD_NO;
}

/* Lets go of an exchange; what the pool has is freed when it has come back. */
static void
leave_exchange(Exchange *exchange)
{
	*connection_work(exchange->connection) = NULL;
	http_enter(exchange, PHASE_IDLE);
	connection_hold(exchange->connection, 0);
	if (exchange->stage == STAGE_AWAKE)
	{
		exchange->front->awake--;
		exchange->front->left++;
		exchange->stage = STAGE_LEFT;
		/* the server stays until then */
		atomic_fetch_add(&exchange->server->connections, 1);
	}
	else
		free_exchange(exchange);
}

/* Ends the exchange, whose answer was sent or whose client went away. */
static void
end_exchange(void *cls, struct MHD_Connection *mhd, void **context,
			 enum MHD_RequestTerminationCode code)
{
	(void) cls;
	(void) mhd;
	(void) code;
	if (*context != NULL)
		leave_exchange(*context);
	*context = NULL;
}

/* The library does not tell of the end of some requests that it refuses itself. */
static void
end_forgotten(Connection *connection)
{
	Exchange *exchange = *connection_work(connection);

	if (exchange != NULL)
		leave_exchange(exchange);
}

/* Begins an exchange, whose first line has come. */
static void *
begin_exchange(void *cls, const char *target, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	Connection *connection = info == NULL ? NULL : info->socket_context;
	Exchange *exchange = connection == NULL ? NULL : calloc(1, sizeof(*exchange));

	if (exchange == NULL)
		return NULL;
	end_forgotten(connection);
	*connection_work(connection) = exchange;
	exchange->front = cls;
	exchange->front->heard = true;
	exchange->server = exchange->front->server;
	exchange->mhd = mhd;
	exchange->connection = connection;
	exchange->target = strdup(target);
	exchange->request.begun = clock_now();
	make_id(exchange->request.id);
	http_enter(exchange, PHASE_HEADER);
	return exchange;
}

static void
note_connection(void *cls, struct MHD_Connection *mhd, void **context,
				enum MHD_ConnectionNotificationCode code)
{
	Front *front = cls;
	Server *server = front->server;

	front->heard = true;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
	{
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

		*context = info == NULL
					   ? NULL
					   : connection_open(server, info->connect_fd, server->connections_per_address);
		atomic_fetch_add(&server->connections, 1);
	}
	else
	{
		if (*context != NULL)
		{
			end_forgotten(*context);
			connection_close(*context);
		}
		*context = NULL;
		atomic_fetch_sub(&server->connections, 1);
		/* the library looks for others that wait when it runs the next time */
		front->ready = true;
	}
}

/* Targets are left as they are written: what is signed are their bytes. */
static size_t
leave_escaped(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void) cls;
	(void) mhd;
	return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void
log_library(void *cls, const char *format, va_list args)
{
	char text[512];
	size_t length;

	(void) cls;
	if (!log_wants(LEVEL_DEBUG))
		return;
	vsnprintf(text, sizeof(text), format, args);
	length = strlen(text);
	while (length > 0 && isspace((unsigned char) text[length - 1]))
		text[--length] = '\0';
	log_message(LEVEL_DEBUG, "libmicrohttpd: %s", text);
}

/* Reads a file of PEM; NULL, and a line in the log, if that fails. */
static char *
read_pem(const char *path)
{
	Text text = {0};

	return file_read(path, &text) ? text_take(&text) : NULL;
}

static bool
load_tls(Server *server, const Config *config)
{
	server->tls = *config->tls_certificate != '\0' && server->role != SERVER_HEALTH;
	if (!server->tls)
		return true;
	if (MHD_is_feature_supported(MHD_FEATURE_SSL) != MHD_YES)
	{
		log_message(LEVEL_ERROR, "libmicrohttpd was built without TLS");
		return false;
	}
	server->certificate = read_pem(config->tls_certificate);
	server->key = read_pem(config->tls_key);
	return server->certificate != NULL && server->key != NULL;
}

static void
free_server(Server *server)
{
	for (int i = 0; i < server->front_count; i++)
		front_close(&server->fronts[i]);
	if (server->own != NULL)
		loop_free(server->own);
	free(server->fronts);
	if (server->key != NULL)
		OPENSSL_cleanse(server->key, strlen(server->key));
	free(server->key);
	free(server->certificate);
	free(server);
}

/* Starts one of the daemons, which share out the connections.  The library closes the socket that
 * it has, also if it does not start. */
static struct MHD_Daemon *
start_daemon(const Server *server, const Config *config, const Listener *listener, int count,
			 Front *front)
{
	unsigned flags = MHD_USE_ERROR_LOG | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
					 (server->tls ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, server->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0,
		 (void *) (uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	int connections = (config->connections + count - 1) / count;
	int socket = dup(listener->socket);

	/* without a socket the library would listen at one of its own */
	if (socket < 0)
		return NULL;
	/* clang-format off */
	return MHD_start_daemon(
		flags, 0, NULL, NULL, http_handle, NULL,
		/* the first, so that it hears of what is wrong with the others */
		MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
		MHD_OPTION_LISTEN_SOCKET, socket,
		MHD_OPTION_ARRAY, server->tls ? tls : tls + 3,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned) connections,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) ((config->idle_time + 999) / 1000),
		MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, front,
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, end_exchange, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, front,
		MHD_OPTION_END);
	/* clang-format on */
}

/* Starts one in each loop: in those of the pools, or in its own one. */
static bool
start_fronts(Server *server, const Config *config, const Listener *listener)
{
	int count = server->role == SERVER_HEALTH ? 1 : pools_count();

	if (server->role == SERVER_HEALTH)
	{
		server->own = loop_new(NULL);
		if (server->own == NULL || !loop_start(server->own))
			return false;
	}
	server->fronts = calloc((size_t) count, sizeof(Front));
	if (server->fronts == NULL)
		return false;
	for (int i = 0; i < count; i++)
	{
		Front *front = &server->fronts[i];

		front->server = server;
		front->loop = server->own != NULL ? server->own : pools_loop(i);
		front->daemon = start_daemon(server, config, listener, count, front);
		if (front->daemon == NULL || !front_open(front))
			return false;
		server->front_count++;
	}
	return true;
}

/*
 * Serve those who connect to the listener, which stays the caller's.  Returns NULL, and says why, if
 * that cannot be.
 */
Server *
server_start(const Config *config, const Listener *listener, ServerRole role)
{
	Server *server = calloc(1, sizeof(*server));

	if (compressor == NULL)
		compressor = helper_start();
	if (server == NULL || compressor == NULL)
	{
		free(server);
		return NULL;
	}
	server->role = role;
	server->local = listener->local;
	server->open = config->auth == AUTH_NONE && !listener->is_unix;
	server->connections_per_address = config->connections_per_address;
	if (load_tls(server, config))
	{
		if (start_fronts(server, config, listener))
			return server;
		log_message(LEVEL_ERROR, "could not start to serve HTTP%s",
					server->tls ? ": is the certificate that of the key?" : "");
	}
	free_server(server);
	return NULL;
}

/* Take no more connections, and end each with the answer to what runs on it. */
void
server_drain(Server *server)
{
	if (server->draining)
		return;
	server->draining = true;
	for (int i = 0; i < server->front_count; i++)
		front_drain(&server->fronts[i]);
}

/* Returns whether nobody is connected any more. */
bool
server_is_quiet(Server *server)
{
	return server->connections == 0;
}

/* End all connections.  It drains already, and no request runs. */
void
server_stop(Server *server)
{
	free_server(server);
}
