/*
 * request_fuzz.c
 *	  libFuzzer harness over what becomes of a message before it goes to Postgres.
 *
 * The input is lines with X-Amz-Target, Content-Type and Content-Encoding; the rest is the body.  A
 * line "-" stands for no header.  Requests need no signature here: that is signature_fuzz.c's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../fuzz/check.h"
#include "auth.h"
#include "json.h"
#include "member.h"
#include "protocol.h"
#include "shards.h"
#include "utf8.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The loader of shards is not there. */
void
shards_reload(bool outdated)
{
	(void) outdated;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const Config config = {.auth = AUTH_NONE, .auth_role = "app", .region = ""};

	(void) argc;
	(void) argv;
	config_set(&config);
	CHECK(auth_start(&config));
	return 0;
}

/* Cut the next line off. */
static char *
next_line(char **text)
{
	char *line = *text;
	char *end = strchr(line, '\n');

	*text = end == NULL ? line + strlen(line) : end + 1;
	if (end != NULL)
		*end = '\0';
	return line;
}

/* A message with these headers. */
static void
read_message(char **text, SignedRequest *message, Header *headers)
{
	static const char *const names[] = {"X-Amz-Target", "Content-Type", "Content-Encoding"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
	{
		const char *value = next_line(text);

		if (strcmp(value, "-") != 0)
			headers[message->header_count++] = (Header){names[i], value};
	}
}

/* A member that is found is a value, and lies within the text.  The text ends where memory ends. */
static void
test_members(const Body *body)
{
	char *copy = malloc(body->size);
	static const char *const names[] = {"TableName", "TransactItems", "TransactStatements", "a"};

	memcpy(copy, body->data, body->size);
	CHECK(json_valid(copy, body->size));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
	{
		Member member = member_find(copy, body->size, names[i]);

		if (member.text == NULL)
			continue;
		CHECK(member.text >= copy && member.text + member.length <= copy + body->size);
		CHECK(json_valid(member.text, member.length));
		CHECK(member_elements(member) <= member.length);
	}
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Header headers[3];
	SignedRequest message = {.method = "POST", .path = "/", .query = "", .headers = headers};
	Request request = {0};
	char *text = malloc(size + 1);
	char *rest = text;

	memcpy(text, data, size);
	text[size] = '\0';
	read_message(&rest, &message, headers);
	CHECK(body_add(&request.body, rest, size - (size_t) (rest - text)) == BODY_OK);
	message.body = request.body.data;
	message.body_size = request.body.size;
	if (protocol_read(&message, &request))
	{
		CHECK(request.operation != NULL && request.answer.status == 0);
		CHECK(strcmp(request.caller.role_name, "app") == 0);
		test_members(&request.body);
	}
	else
		CHECK(request.answer.status >= 400 && request.answer.status < 600);
	answer_release(&request.answer);
	body_free(&request.body);
	free(text);
	return 0;
}
