/*
 * body.c
 *	  The body of a request: collected piece by piece and inflated, up to a limit.
 */
#include "body.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define FIRST_CAPACITY 4096 /* more than most requests have */
#define WINDOW_BITS 15

/* These ask inflateInit2() for a format. */
enum
{
	FORMAT_GZIP = WINDOW_BITS + 16,
	FORMAT_ZLIB = WINDOW_BITS,
	FORMAT_RAW = -WINDOW_BITS
};

/* Makes room for so many more bytes and the NUL. */
static BodyResult
body_reserve(Body *body, size_t size)
{
	size_t capacity = body->capacity == 0 ? FIRST_CAPACITY : body->capacity;
	char *data;

	if (size > BODY_LIMIT - body->size)
		return BODY_TOO_LARGE;
	while (capacity <= body->size + size)
		capacity *= 2;
	if (capacity == body->capacity)
		return BODY_OK;
	data = realloc(body->data, capacity);
	if (data == NULL)
		return BODY_NO_MEMORY;
	body->data = data;
	body->capacity = capacity;
	return BODY_OK;
}

/* Add what was received. */
BodyResult
body_add(Body *body, const void *data, size_t size)
{
	BodyResult result = body_reserve(body, size);

	if (result != BODY_OK)
		return result;
	if (size > 0)
		memcpy(body->data + body->size, data, size);
	body->size += size;
	body->data[body->size] = '\0';
	return BODY_OK;
}

/* Returns what the value of Content-Encoding asks for. */
BodyEncoding
body_encoding(const char *content_encoding)
{
	static const struct
	{
		const char *name;
		BodyEncoding encoding;
	} encodings[] = {{"", BODY_IDENTITY},
					 {"identity", BODY_IDENTITY},
					 {"gzip", BODY_GZIP},
					 {"x-gzip", BODY_GZIP},
					 {"deflate", BODY_DEFLATE}};
	const char *start;
	size_t length;

	if (content_encoding == NULL)
		return BODY_IDENTITY;
	start = content_encoding + strspn(content_encoding, " \t");
	length = strlen(start);
	while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t'))
		length--;
	for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++)
	{
		if (strlen(encodings[i].name) == length &&
			strncasecmp(start, encodings[i].name, length) == 0)
			return encodings[i].encoding;
	}
	return BODY_UNKNOWN_ENCODING;
}

/* "deflate" should be zlib's format, and is the bare stream with some clients. */
static int
format_of(const Body *received, BodyEncoding encoding)
{
	const unsigned char *data = (const unsigned char *) received->data;

	if (encoding == BODY_GZIP)
		return FORMAT_GZIP;
	if (received->size >= 2 && (data[0] & 15) == Z_DEFLATED && (data[0] << 8 | data[1]) % 31 == 0)
		return FORMAT_ZLIB;
	return FORMAT_RAW;
}

/* Inflate up to the end of a stream: Z_OK, or what inflate() said is wrong. */
static BodyResult
inflate_stream(z_stream *stream, Body *body)
{
	int status = Z_OK;

	while (status != Z_STREAM_END)
	{
		char piece[16384];
		BodyResult result;

		stream->next_out = (Bytef *) piece;
		stream->avail_out = sizeof(piece);
		status = inflate(stream, Z_NO_FLUSH);
		if (status == Z_MEM_ERROR)
			return BODY_NO_MEMORY;
		if (status != Z_OK && status != Z_STREAM_END)
			return BODY_BROKEN;
		result = body_add(body, piece, sizeof(piece) - stream->avail_out);
		if (result != BODY_OK)
			return result;
	}
	return BODY_OK;
}

/* Inflate what was received.  gzip's format may be there several times in succession. */
BodyResult
body_inflate(const Body *received, BodyEncoding encoding, Body *body)
{
	z_stream stream = {0};
	BodyResult result;

	if (inflateInit2(&stream, format_of(received, encoding)) != Z_OK)
		return BODY_NO_MEMORY;
	stream.next_in = (Bytef *) received->data;
	stream.avail_in = (uInt) received->size;
	do
		result = inflate_stream(&stream, body);
	while (result == BODY_OK && encoding == BODY_GZIP && stream.avail_in > 0 &&
		   inflateReset(&stream) == Z_OK);
	if (result == BODY_OK && stream.avail_in > 0)
		result = BODY_BROKEN;
	inflateEnd(&stream);
	return result;
}

/* Free the body, which is empty then. */
void
body_free(Body *body)
{
	free(body->data);
	*body = (Body){0};
}
