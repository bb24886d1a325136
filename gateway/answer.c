/*
 * answer.c
 *	  What a request is answered.
 */
#include "answer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "text.h"
#include "utf8.h"

/* Makes an answer with a text that stays. */
void
answer_constant(Answer *answer, int status, const char *content_type, const char *data)
{
	answer_release(answer);
	answer->status = status;
	answer->content_type = content_type;
	answer->data = data;
	answer->length = strlen(data);
}

/* Makes an answer with a text that is freed with it. */
void
answer_owned(Answer *answer, int status, const char *data, size_t length, void *owner,
			 void (*release)(void *owner))
{
	answer_release(answer);
	answer->status = status;
	answer->data = data;
	answer->length = length;
	answer->owner = owner;
	answer->release = release;
}

/* Adds a JSON string. */
static void
add_json_string(Text *text, const char *value)
{
	size_t left = strlen(value);

	text_add_char(text, '"');
	while (left > 0)
	{
		size_t length = utf8_length(value, left);
		char escape[8];

		if (length == 0)
			text_add_strings(text, "\\ufffd", NULL);
		else if (*value == '"' || *value == '\\')
			text_add_strings(text, *value == '"' ? "\\\"" : "\\\\", NULL);
		else if ((unsigned char) *value < ' ')
		{
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char) *value);
			text_add_strings(text, escape, NULL);
		}
		else
			text_add(text, value, length);
		length = length == 0 ? 1 : length;
		value += length;
		left -= length;
	}
	text_add_char(text, '"');
}

/* Makes an answer with a text that was made for it. */
static void
answer_text(Answer *answer, int status, Text *text)
{
	if (text->failed)
	{
		text_free(text);
		answer_constant(answer, error_status(ERROR_INTERNAL), NULL, "");
		answer->error = ERROR_INTERNAL;
		return;
	}
	answer_owned(answer, status, text->data, text->length, text->data, free);
}

/* Returns the message's member, as the framework, which finds wrong types of JSON, writes it. */
static const char *
message_member(ErrorKind error)
{
	return error == ERROR_SERIALIZATION ? ",\"Message\":" : ",\"message\":";
}

/*
 * Makes an error of the answer, with a message or without.  Members, or NULL, are what an object
 * holds between its braces.
 */
void
answer_error(Answer *answer, ErrorKind error, const char *message, const char *members)
{
	Text text = {0};

	text_add_strings(&text, "{\"__type\":", NULL);
	add_json_string(&text, error_type(error));
	if (message != NULL)
	{
		text_add_strings(&text, message_member(error), NULL);
		add_json_string(&text, message);
	}
	if (members != NULL)
	{
		text_add_strings(&text, ",", NULL);
		text_add_strings(&text, members, NULL);
	}
	text_add_strings(&text, "}", NULL);
	answer_text(answer, error_status(error), &text);
	if (answer->error == ERROR_NONE)
		answer->error = error;
}

/* There is nothing of this name, as the service says it. */
void
answer_not_found(Answer *answer)
{
	answer_constant(answer, error_status(ERROR_NOT_FOUND), "application/xml",
					"<UnknownOperationException/>\n");
	answer->error = ERROR_NOT_FOUND;
}

/* Answers that the body is too large, which was not read to its end. */
void
answer_too_large(Answer *answer)
{
	answer_constant(answer, error_status(ERROR_TOO_LARGE), NULL, "");
	answer->error = ERROR_TOO_LARGE;
	answer->close = true;
}

/* Answers DescribeEndpoints: the endpoint is where the client is already. */
void
answer_endpoint(Answer *answer, const char *host)
{
	Text text = {0};

	text_add_strings(&text, "{\"Endpoints\":[{\"Address\":", NULL);
	add_json_string(&text, host);
	text_add_strings(&text, ",\"CachePeriodInMinutes\":1440}]}", NULL);
	answer_text(answer, 200, &text);
}

/* Compress by gzip what is larger than that, if it becomes smaller. */
void
answer_compress(Answer *answer, size_t above)
{
	z_stream stream = {0};
	char *out;

	if (answer->length <= above || answer->length > INT_MAX)
		return;
	out = malloc(answer->length);
	/* 15 + 16: the format of gzip */
	if (out == NULL ||
		deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
	{
		free(out);
		return;
	}
	stream.next_in = (unsigned char *) answer->data;
	stream.avail_in = (unsigned) answer->length;
	stream.next_out = (unsigned char *) out;
	stream.avail_out = (unsigned) answer->length;
	if (deflate(&stream, Z_FINISH) == Z_STREAM_END)
	{
		Answer plain = *answer;

		answer->data = out;
		answer->length = stream.total_out;
		answer->owner = out;
		answer->release = free;
		answer->compressed = true;
		answer_release(&plain);
	}
	else
		free(out);
	deflateEnd(&stream);
}

/* Free what the answer has; there is none then. */
void
answer_release(Answer *answer)
{
	if (answer->release != NULL)
		answer->release(answer->owner);
	memset(answer, 0, sizeof(*answer));
}
