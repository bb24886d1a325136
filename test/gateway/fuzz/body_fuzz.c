/*
 * body_fuzz.c
 *	  libFuzzer harness over gzip and deflate.
 *
 * The first byte chooses: the rest is inflated, or is deflated first and has to come back.
 */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "../../fuzz/check.h"
#include "body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was received is inflated within the limit, or refused. */
static void
test_inflate(const Body *received, BodyEncoding encoding)
{
	Body body = {0};
	BodyResult result = body_inflate(received, encoding, &body);

	CHECK(result == BODY_OK || result == BODY_BROKEN || result == BODY_TOO_LARGE);
	CHECK(body.size <= BODY_LIMIT && (body.data == NULL || body.data[body.size] == '\0'));
	body_free(&body);
}

/* Add the deflated form of some bytes. */
static void
deflate_part(Body *body, const uint8_t *data, size_t size, int format)
{
	static unsigned char piece[65536];
	z_stream stream = {0};

	CHECK(deflateInit2(&stream, 1, Z_DEFLATED, format, 1, Z_DEFAULT_STRATEGY) == Z_OK);
	stream.next_in = (Bytef *) data;
	stream.avail_in = (uInt) size;
	stream.next_out = piece;
	stream.avail_out = sizeof(piece);
	CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
	CHECK(body_add(body, piece, stream.total_out) == BODY_OK);
	deflateEnd(&stream);
}

/* What is deflated comes back; gzip also in two parts. */
static void
test_round_trip(const uint8_t *data, size_t size, int format)
{
	BodyEncoding encoding = format > 16 ? BODY_GZIP : BODY_DEFLATE;
	size_t first = encoding == BODY_GZIP ? size / 2 : size;
	Body received = {0};
	Body body = {0};

	deflate_part(&received, data, first, format);
	if (encoding == BODY_GZIP)
		deflate_part(&received, data + first, size - first, format);
	CHECK(body_inflate(&received, encoding, &body) == BODY_OK);
	CHECK(body.size == size && (size == 0 || memcmp(body.data, data, size) == 0));
	body_free(&received);
	body_free(&body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int formats[] = {25, 9, -9};
	Body received = {0};
	uint8_t choice;

	if (size == 0)
		return 0;
	choice = *data++ % 8;
	size--;
	if (choice >= 6)
		test_round_trip(data, size, formats[size % 3]);
	else
	{
		CHECK(body_add(&received, data, size) == BODY_OK);
		test_inflate(&received, choice % 2 == 0 ? BODY_GZIP : BODY_DEFLATE);
		body_free(&received);
	}
	return 0;
}
