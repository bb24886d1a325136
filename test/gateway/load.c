/*
 * load.c
 *	  Sends DynamoDB requests over many connections at a time, and looks at the answers.
 *
 *		load [-c CONNECTIONS] [-n REQUESTS | -t SECONDS] [-i IDLE] HOST PORT <requests
 *
 * Each line of the input is a request: key id, secret, operation and body, and optionally a text
 * that the answer has to have, one that it must not have, and its status, with tabs in between.  Requests are
 * chosen at random; they are signed before the clock starts, and again only when the signature gets
 * old, so that next to nothing of the time is the generator's own.  Each connection sends one request
 * after the other, as an SDK does; IDLE more connections are opened and send nothing.
 *
 * The last line of the output has figures.  The exit status is 1 if an answer was wrong: another
 * status than the line's or 200, another checksum than its header says, or another text than the line wants.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define REGION "us-east-1"
#define SIGNATURE_AGE 300 /* seconds; servers take 900 */
#define LARGEST_ANSWER (2 << 20)
#define BUCKETS 1024 /* of times: 64 for each power of two of microseconds */
#define BUCKETS_PER_POWER 64

typedef struct Request
{
	char *key_id;
	char *secret;
	char *operation;
	char *body;
	char *wanted; /* NULL: anything */
	char *forbidden; /* NULL: nothing */
	char *status;
	char *message;
	size_t length;
	time_t signed_at;
} Request;

typedef struct Connection
{
	int fd; /* -1: to be opened again */
	const Request *request;
	char *out;
	size_t out_size, out_length, sent;
	char *in;
	size_t received;
	uint32_t events; /* that epoll tells */
	uint64_t started;
} Connection;

static Request *requests;
static size_t request_count;

static struct addrinfo *address;
static const char *host, *port;
static int epoll_fd;

static uint64_t answers, wrong, broken;
static uint64_t times[BUCKETS];
static uint64_t longest;

static void
die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void *
allocate(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (new == NULL)
		die("memory");
	return new;
}

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* xorshift64* */
static uint64_t
random_number(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ull;
}

static void
hex(const unsigned char *bytes, size_t length, char *out)
{
	for (size_t i = 0; i < length; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

static void
hmac(const void *key, size_t key_length, const char *text, unsigned char out[32])
{
	unsigned int length = 32;

	HMAC(EVP_sha256(), key, (int) key_length, (const unsigned char *) text, strlen(text), out,
		 &length);
}

static void
sha256_hex(const char *text, size_t length, char out[65])
{
	unsigned char digest[32];

	EVP_Digest(text, length, digest, NULL, EVP_sha256(), NULL);
	hex(digest, sizeof(digest), out);
}

/* AWS Signature Version 4, of what the SDKs sign. */
static void
sign(Request *request)
{
	char date[17], day[9], body_hash[65], hash[65], signature[65], target[128], scope[64];
	char canonical[1024], to_sign[256], first_key[256];
	unsigned char key[32], digest[32];
	time_t now = time(NULL);
	struct tm tm;
	int length;

	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
	strftime(day, sizeof(day), "%Y%m%d", &tm);
	snprintf(target, sizeof(target), "%s_20120810.%s",
			 strstr(request->operation, "Stream") != NULL ||
					 strstr(request->operation, "Shard") != NULL ||
					 strcmp(request->operation, "GetRecords") == 0
				 ? "DynamoDBStreams"
				 : "DynamoDB",
			 request->operation);
	snprintf(scope, sizeof(scope), "%s/" REGION "/dynamodb/aws4_request", day);
	sha256_hex(request->body, strlen(request->body), body_hash);
	length = snprintf(canonical, sizeof(canonical),
					  "POST\n/\n\ncontent-type:application/"
					  "x-amz-json-1.0\nhost:%s:%s\nx-amz-date:%s\nx-amz-target:%s\n\n"
					  "content-type;host;x-amz-date;x-amz-target\n%s",
					  host, port, date, target, body_hash);
	sha256_hex(canonical, length, hash);
	snprintf(to_sign, sizeof(to_sign), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hash);
	snprintf(first_key, sizeof(first_key), "AWS4%s", request->secret);
	hmac(first_key, strlen(first_key), day, key);
	hmac(key, sizeof(key), REGION, key);
	hmac(key, sizeof(key), "dynamodb", key);
	hmac(key, sizeof(key), "aws4_request", key);
	hmac(key, sizeof(key), to_sign, digest);
	hex(digest, sizeof(digest), signature);

	request->message = allocate(request->message, strlen(request->body) + 1024);
	request->length =
		sprintf(request->message,
				"POST / HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/x-amz-json-1.0\r\n"
				"X-Amz-Target: %s\r\nX-Amz-Date: %s\r\n"
				"Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, "
				"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=%s\r\n"
				"Content-Length: %zu\r\n\r\n%s",
				host, port, target, date, request->key_id, scope, signature, strlen(request->body),
				request->body);
	request->signed_at = now;
}

static void
read_requests(void)
{
	char *line = NULL;
	size_t size = 0, allocated = 0;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) >= 0)
	{
		char *fields[7] = {NULL}, *rest = line;
		int n = 0;

		if (length > 0 && line[length - 1] == '\n')
			line[length - 1] = '\0';
		while (n < 7 && (fields[n] = strsep(&rest, "\t")) != NULL)
			n++;
		if (n < 4)
		{
			errno = EINVAL;
			die("a line has key id, secret, operation and body");
		}
		if (request_count == allocated)
			requests = allocate(requests, (allocated = 2 * allocated + 64) * sizeof(Request));
		requests[request_count++] = (Request){
			.key_id = strdup(fields[0]),
			.secret = strdup(fields[1]),
			.operation = strdup(fields[2]),
			.body = strdup(fields[3]),
			.wanted = fields[4] != NULL && *fields[4] != '\0' ? strdup(fields[4]) : NULL,
			.forbidden = fields[5] != NULL && *fields[5] != '\0' ? strdup(fields[5]) : NULL,
			.status = strdup(fields[6] != NULL ? fields[6] : "200"),
		};
	}
	free(line);
	if (request_count == 0)
	{
		errno = EINVAL;
		die("no requests");
	}
	for (size_t i = 0; i < request_count; i++)
		sign(&requests[i]);
}

static int
open_connection(void)
{
	int fd = socket(address->ai_family, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0)
	{
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void
watch(Connection *connection, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = connection};

	if (epoll_ctl(epoll_fd, operation, connection->fd, &event) < 0)
		die("epoll_ctl");
	connection->events = events;
}

static void
lose(Connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
	connection->request = NULL;
}

static void
send_more(Connection *connection)
{
	uint32_t events;
	ssize_t n = send(connection->fd, connection->out + connection->sent,
					 connection->out_length - connection->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
	{
		broken++;
		lose(connection);
		return;
	}
	connection->sent += n > 0 ? n : 0;
	events = connection->sent < connection->out_length ? EPOLLIN | EPOLLOUT : EPOLLIN;
	if (events != connection->events)
		watch(connection, EPOLL_CTL_MOD, events);
}

/* The next request of a connection, which is opened first if it has to be. */
static void
start(Connection *connection)
{
	Request *request = &requests[random_number() % request_count];

	if (connection->fd < 0)
	{
		connection->fd = open_connection();
		if (connection->fd < 0)
		{
			broken++;
			return;
		}
		watch(connection, EPOLL_CTL_ADD, EPOLLIN);
	}
	if (time(NULL) - request->signed_at > SIGNATURE_AGE)
		sign(request);
	if (connection->out_size < request->length)
		connection->out = allocate(connection->out, connection->out_size = request->length);
	memcpy(connection->out, request->message, request->length);
	connection->out_length = request->length;
	connection->sent = 0;
	connection->received = 0;
	connection->request = request;
	connection->started = now_us();
	send_more(connection);
}

/* The value of a header, or NULL.  The header ends with an empty line. */
static const char *
header(const char *text, const char *name)
{
	size_t length = strlen(name);

	while ((text = strstr(text, "\r\n")) != NULL && strncmp(text, "\r\n\r\n", 4) != 0)
	{
		text += 2;
		if (strncasecmp(text, name, length) == 0 && text[length] == ':')
			return text + length + 1 + strspn(text + length + 1, " ");
	}
	return NULL;
}

static void
complain(const char *what, const Request *request, const char *answer)
{
	if (wrong++ < 5)
		fprintf(stderr, "load: %s: %s %.300s\n%.1200s\n\n", what, request->operation, request->body,
				answer);
}

static void
judge(const Request *request, const char *answer, const char *body, size_t length)
{
	const char *sum = header(answer, "x-amz-crc32");

	if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || strncmp(answer + 9, request->status, 3) != 0)
		complain("status", request, answer);
	else if (sum != NULL && strtoul(sum, NULL, 10) != crc32(0, (const Bytef *) body, length))
		complain("checksum", request, answer);
	else if (request->wanted != NULL && strstr(body, request->wanted) == NULL)
		complain("lacks what it should have", request, answer);
	else if (request->forbidden != NULL && strstr(body, request->forbidden) != NULL)
		complain("has what it must not have", request, answer);
}

static void
count_time(uint64_t us)
{
	int power = us < 2 ? 0 : 63 - __builtin_clzll(us);
	uint64_t bucket = (uint64_t) power * BUCKETS_PER_POWER + ((us << 6 >> power) & 63);

	times[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	if (us > longest)
		longest = us;
}

/* The time within which this part of the requests was answered, in ms. */
static double
part(double fraction)
{
	uint64_t sum = 0;

	for (int i = 0; i < BUCKETS; i++)
	{
		sum += times[i];
		if (sum >= fraction * answers)
			return ((64.0 + i % BUCKETS_PER_POWER) / 64 *
					(double) (1ull << (i / BUCKETS_PER_POWER))) /
				   1000;
	}
	return longest / 1000.0;
}

/* Read what is there, and judge the answer when it is complete. */
static void
receive(Connection *connection)
{
	ssize_t n = recv(connection->fd, connection->in + connection->received,
					 LARGEST_ANSWER - connection->received, 0);
	char *end;
	const char *length;
	size_t body;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
	{
		/* a server may close a connection that has nothing to do */
		broken += connection->request != NULL;
		lose(connection);
		return;
	}
	connection->received += n;
	connection->in[connection->received] = '\0';
	end = strstr(connection->in, "\r\n\r\n");
	if (end == NULL)
		return;
	length = header(connection->in, "content-length");
	body = length != NULL ? strtoul(length, NULL, 10) : 0;
	end += 4;
	if ((size_t) (connection->in + connection->received - end) < body)
		return;
	answers++;
	count_time(now_us() - connection->started);
	judge(connection->request, connection->in, end, body);
	connection->request = NULL;
	length = header(connection->in, "connection");
	if (length != NULL && strncasecmp(length, "close", 5) == 0)
		lose(connection);
}

int
main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct epoll_event events[256];
	Connection *connections;
	uint64_t limit = 0, begun = 0, begin, end = UINT64_MAX;
	size_t count = 8, idle = 0;
	double seconds;
	int c;

	while ((c = getopt(argc, argv, "c:n:t:i:")) != -1)
		switch (c)
		{
			case 'c':
				count = strtoul(optarg, NULL, 10);
				break;
			case 'n':
				limit = strtoull(optarg, NULL, 10);
				break;
			case 't':
				end = strtoull(optarg, NULL, 10) * 1000000;
				break;
			case 'i':
				idle = strtoul(optarg, NULL, 10);
				break;
			default:
				return 2;
		}
	if (argc - optind != 2)
	{
		fprintf(stderr, "usage: load [-c CONNECTIONS] [-n REQUESTS | -t SECONDS] [-i IDLE] HOST "
						"PORT <requests\n");
		return 2;
	}
	host = argv[optind];
	port = argv[optind + 1];
	if (getaddrinfo(host, port, &hints, &address) != 0)
		die(host);
	read_requests();
	epoll_fd = epoll_create1(0);
	for (size_t i = 0; i < idle; i++)
		if (open_connection() < 0)
			die("an idle connection");
	connections = calloc(count, sizeof(Connection));
	if (connections == NULL)
		die("memory");

	begin = now_us();
	if (end != UINT64_MAX)
		end += begin;
	for (size_t i = 0; i < count; i++)
	{
		connections[i].fd = -1;
		connections[i].in = allocate(NULL, LARGEST_ANSWER + 1);
	}
	for (;;)
	{
		bool more = (limit == 0 || begun < limit) && now_us() < end;
		size_t running = 0;
		int n;

		for (size_t i = 0; i < count; i++)
		{
			if (connections[i].request == NULL && more && (limit == 0 || begun < limit))
			{
				begun++;
				start(&connections[i]);
			}
			running += connections[i].request != NULL;
		}
		if (!more && running == 0)
			break;
		/* where no server listens the next try comes soon */
		n = epoll_wait(epoll_fd, events, 256, running == 0 ? 10 : 1000);
		for (int i = 0; i < n; i++)
		{
			Connection *connection = events[i].data.ptr;

			if (events[i].events & EPOLLOUT)
				send_more(connection);
			if (connection->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				receive(connection);
		}
	}

	seconds = (now_us() - begin) / 1e6;
	printf(
		"requests=%llu seconds=%.2f rate=%.0f p50=%.3f p99=%.3f max=%.3f wrong=%llu broken=%llu\n",
		(unsigned long long) answers, seconds, answers / seconds, part(0.5), part(0.99),
		longest / 1000.0, (unsigned long long) wrong, (unsigned long long) broken);
	return wrong > 0;
}
