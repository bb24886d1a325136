/*
 * body_test.c
 *	  Bodies: limits, and gzip and deflate in all their forms.
 */
#include "body.h"
#include "test.h"

#include <stdlib.h>
#include <zlib.h>

enum
{
	GZIP = 31,
	ZLIB = 15,
	RAW = -15
};

/* Add the deflated form of a text. */
static void
add_deflated(Body *body, const char *text, size_t size, int format)
{
	z_stream stream = {0};
	char *piece;

	deflateInit2(&stream, 9, Z_DEFLATED, format, 9, Z_DEFAULT_STRATEGY);
	piece = malloc(deflateBound(&stream, size));
	stream.next_in = (Bytef *) text;
	stream.avail_in = (uInt) size;
	stream.next_out = (Bytef *) piece;
	stream.avail_out = (uInt) deflateBound(&stream, size);
	deflate(&stream, Z_FINISH);
	body_add(body, piece, stream.total_out);
	deflateEnd(&stream);
	free(piece);
}

/* A test is that a body becomes this text, or is refused so. */
static void
test_inflate(const Body *received, BodyEncoding encoding, BodyResult result, const char *text,
			 const char *name)
{
	Body body = {0};
	BodyResult got = body_inflate(received, encoding, &body);

	ok(got == result &&
		   (result != BODY_OK || (body.size == strlen(text) && strcmp(body.data, text) == 0)),
	   "%s", name);
	body_free(&body);
}

static void
test_encodings(void)
{
	static const struct
	{
		const char *value;
		BodyEncoding encoding;
	} encodings[] = {{"", BODY_IDENTITY},
					 {"identity", BODY_IDENTITY},
					 {"gzip", BODY_GZIP},
					 {"GZip", BODY_GZIP},
					 {" gzip\t", BODY_GZIP},
					 {"x-gzip", BODY_GZIP},
					 {"deflate", BODY_DEFLATE},
					 {"br", BODY_UNKNOWN_ENCODING},
					 {"gzip, gzip", BODY_UNKNOWN_ENCODING},
					 {"gzi", BODY_UNKNOWN_ENCODING},
					 {"gzipp", BODY_UNKNOWN_ENCODING}};

	ok(body_encoding(NULL) == BODY_IDENTITY, "no Content-Encoding");
	for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++)
		ok(body_encoding(encodings[i].value) == encodings[i].encoding, "Content-Encoding \"%s\"",
		   encodings[i].value);
}

static void
test_forms(void)
{
	static const char text[] = "{\"TableName\": \"t\"}";
	Body received = {0};

	test_inflate(&received, BODY_GZIP, BODY_BROKEN, NULL, "nothing is no gzip");
	test_inflate(&received, BODY_DEFLATE, BODY_BROKEN, NULL, "nothing is no deflate");
	add_deflated(&received, text, strlen(text), GZIP);
	test_inflate(&received, BODY_GZIP, BODY_OK, text, "gzip");
	test_inflate(&received, BODY_DEFLATE, BODY_BROKEN, NULL, "gzip is not deflate");
	for (size_t size = received.size; received.size > 0;)
	{
		Body body = {0};

		received.size--;
		if (body_inflate(&received, BODY_GZIP, &body) != BODY_BROKEN)
			ok(false, "gzip, cut to %zu of %zu bytes", received.size, size);
		body_free(&body);
	}
	body_free(&received);
	add_deflated(&received, text, strlen(text), ZLIB);
	test_inflate(&received, BODY_DEFLATE, BODY_OK, text, "deflate in zlib's format");
	test_inflate(&received, BODY_GZIP, BODY_BROKEN, NULL, "deflate is not gzip");
	received.data[received.size - 1] ^= 1;
	test_inflate(&received, BODY_DEFLATE, BODY_BROKEN, NULL, "a wrong checksum");
	body_free(&received);
	add_deflated(&received, text, strlen(text), RAW);
	test_inflate(&received, BODY_DEFLATE, BODY_OK, text, "deflate without a format");
	body_add(&received, "x", 1);
	test_inflate(&received, BODY_DEFLATE, BODY_BROKEN, NULL, "bytes after the end of deflate");
	body_free(&received);
	add_deflated(&received, text, 5, GZIP);
	add_deflated(&received, text + 5, strlen(text) - 5, GZIP);
	add_deflated(&received, "", 0, GZIP);
	test_inflate(&received, BODY_GZIP, BODY_OK, text, "gzip three times in succession");
	body_add(&received, "junk", 4);
	test_inflate(&received, BODY_GZIP, BODY_BROKEN, NULL, "bytes after the end of gzip");
	body_free(&received);
	body_add(&received, text, strlen(text));
	test_inflate(&received, BODY_GZIP, BODY_BROKEN, NULL, "plain text is no gzip");
	body_free(&received);
	add_deflated(&received, "a\0b", 3, GZIP);
	{
		Body body = {0};

		ok(body_inflate(&received, BODY_GZIP, &body) == BODY_OK && body.size == 3 &&
			   memcmp(body.data, "a\0b", 4) == 0,
		   "a NUL within");
		body_free(&body);
	}
	body_free(&received);
}

static void
test_limits(void)
{
	char *text = calloc(1, BODY_LIMIT + 1);
	Body received = {0};
	Body body = {0};

	ok(body_add(&body, text, BODY_LIMIT) == BODY_OK && body.size == BODY_LIMIT &&
		   body.data[BODY_LIMIT] == '\0',
	   "16 MB");
	ok(body_add(&body, text, 0) == BODY_OK && body_add(&body, text, 1) == BODY_TOO_LARGE &&
		   body_add(&body, text, (size_t) -1) == BODY_TOO_LARGE && body.size == BODY_LIMIT,
	   "and not a byte more");
	body_free(&body);
	ok(body_add(&body, text, 5) == BODY_OK && body.capacity <= 4096, "a small body takes little");
	body_free(&body);

	add_deflated(&received, text, BODY_LIMIT, GZIP);
	ok(body_inflate(&received, BODY_GZIP, &body) == BODY_OK && body.size == BODY_LIMIT,
	   "inflated to 16 MB, from %zu bytes", received.size);
	body_free(&body);
	add_deflated(&received, text, 1, GZIP);
	ok(body_inflate(&received, BODY_GZIP, &body) == BODY_TOO_LARGE && body.size <= BODY_LIMIT,
	   "and not a byte more, in pieces either");
	body_free(&body);
	body_free(&received);
	add_deflated(&received, text, BODY_LIMIT + 1, ZLIB);
	ok(body_inflate(&received, BODY_DEFLATE, &body) == BODY_TOO_LARGE && body.size <= BODY_LIMIT,
	   "deflate as well");
	body_free(&body);
	body_free(&received);
	free(text);
}

int
main(void)
{
	test_encodings();
	test_forms();
	test_limits();
	return failures > 0;
}
