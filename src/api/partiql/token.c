/*
 * token.c
 *	  NextToken: where the next page of a SELECT begins.
 *
 * A token is signed with the database's secret, and has a hash of statement and parameters.  So it
 * continues the read for which it was made and no other, and nobody can make one.
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/cryptohash.h"
#include "common/hmac.h"
#include "common/sha2.h"

#include "api/partiql/compile.h"
#include "server/errors.h"
#include "server/mark.h"

#define VERSION 1

/* A TokenHead stands before the key, whose bytes are those of the item. */
typedef struct TokenHead
{
	uint8 signature[PG_SHA256_DIGEST_LENGTH]; /* of all behind it */
	uint8 request[PG_SHA256_DIGEST_LENGTH];
	uint8 version;
	uint8 read; /* below PARTIQL_MAX_READS */
} TokenHead;

#define PURPOSE "dynamo_table PartiQL token"

static void
token_sign(const char *token, Size size, uint8 signature[PG_SHA256_DIGEST_LENGTH])
{
	bytea *secret = dyn_mark_secret();
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);

	if (secret == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("table \"%s\" of the extension has no secret", DYN_SECRET_TABLE)));
	if (hmac == NULL ||
		pg_hmac_init(hmac, (const uint8 *) VARDATA_ANY(secret), VARSIZE_ANY_EXHDR(secret)) < 0 ||
		pg_hmac_update(hmac, (const uint8 *) PURPOSE, sizeof(PURPOSE)) < 0 ||
		pg_hmac_update(hmac, (const uint8 *) token + PG_SHA256_DIGEST_LENGTH,
					   size - PG_SHA256_DIGEST_LENGTH) < 0 ||
		pg_hmac_final(hmac, signature, PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not sign a token: %s", pg_hmac_error(hmac));
	pg_hmac_free(hmac);
	pfree(secret);
}

static void
add_span(pg_cryptohash_ctx *ctx, ItemSpan span)
{
	if (pg_cryptohash_update(ctx, (const uint8 *) &span.len, sizeof(span.len)) < 0 ||
		pg_cryptohash_update(ctx, (const uint8 *) span.data, span.len) < 0)
		elog(ERROR, "could not compute a hash: %s", pg_cryptohash_error(ctx));
}

/* Equal values have equal bytes. */
static void
hash_request(const PartiqlBound *bound, uint8 hash[PG_SHA256_DIGEST_LENGTH])
{
	const PartiqlStatement *statement = bound->compiled->statement;
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);

	if (ctx == NULL || pg_cryptohash_init(ctx) < 0)
		elog(ERROR, "could not compute a hash");
	add_span(ctx, statement->text);
	for (int i = 0; i < statement->nparameters; i++)
		add_span(ctx, bound->values[i]);
	if (pg_cryptohash_final(ctx, hash, PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute a hash: %s", pg_cryptohash_error(ctx));
	pg_cryptohash_free(ctx);
}

/* Returns the token for what follows a key in a read, in the current memory context. */
char *
partiql_print_token(const PartiqlBound *bound, int read, const DynItem *key)
{
	Size size = sizeof(TokenHead) + VARSIZE_ANY_EXHDR(key);
	char *token = palloc0(size);
	TokenHead *head = (TokenHead *) token;
	char *text;
	int len;

	hash_request(bound, head->request);
	head->version = VERSION;
	head->read = (uint8) read;
	memcpy(token + sizeof(TokenHead), VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key));
	token_sign(token, size, head->signature);
	text = item_base64((ItemSpan){token, (uint32) size}, &len);
	return pnstrdup(text, len);
}

/* Returns whether a text is a token that this database has made. */
static bool
is_token(const char *token, int size)
{
	const TokenHead *head = (const TokenHead *) token;
	uint8 signature[PG_SHA256_DIGEST_LENGTH];
	uint8 differ = 0;

	if (size <= (int) sizeof(TokenHead) || head->version != VERSION)
		return false;
	token_sign(token, size, signature);
	/* in the same time wherever they differ */
	for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
		differ |= signature[i] ^ head->signature[i];
	return differ == 0;
}

pg_noreturn static void
fail_token(const char *message, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", message), errwords("%s", words)));
	pg_unreachable();
}

/*
 * Reads a token: sets the number of the read and returns the key in it, in the current memory context.
 * Raises ERRCODE_DYN_VALIDATION if it is none, or one of another statement or other parameters.
 */
DynItem *
partiql_parse_token(const PartiqlBound *bound, ItemSpan text, int *read)
{
	int room = pg_b64_dec_len((int) Min(text.len, PARTIQL_MAX_TOKEN));
	char *token = palloc(room + sizeof(TokenHead));
	const TokenHead *head = (const TokenHead *) token;
	uint8 request[PG_SHA256_DIGEST_LENGTH];
	DynItem *key;
	int size;

	if (bound->compiled->statement->kind != PARTIQL_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("a write has no pages to continue with")));
	size = text.len > PARTIQL_MAX_TOKEN
			   ? -1
			   : pg_b64_decode(text.data, (int) text.len, (void *) token, room);
	if (!is_token(token, size))
		fail_token("invalid next_token", "Invalid NextToken");
	hash_request(bound, request);
	if (memcmp(request, head->request, PG_SHA256_DIGEST_LENGTH) != 0)
		fail_token("next_token is of another statement or of other parameters",
				   "NextToken does not match request");
	*read = head->read;
	size -= (int) sizeof(TokenHead);
	key = palloc(VARHDRSZ + size);
	SET_VARSIZE(key, VARHDRSZ + size);
	memcpy(VARDATA(key), token + sizeof(TokenHead), size);
	return key;
}
