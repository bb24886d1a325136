/*
 * json_fuzz.c
 *	  libFuzzer harness over the check of JSON: PostgreSQL's parser has to agree.
 */
#include "postgres_fe.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

#include "../../fuzz/check.h"
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How deep objects and arrays are nested. */
typedef struct Depth
{
	int now;
	int most;
} Depth;

/* 16 lets actions fail; 17 lets the caller allocate the lexer's struct, and frees it. */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType Outcome;
#define go_on() return JSON_SUCCESS
#else
typedef void Outcome;
#define go_on()
#endif
#if PG_VERSION_NUM >= 170000
#define make_lexer(text, size) makeJsonLexContextCstringLen(NULL, (text), (size), PG_UTF8, false)
#define free_lexer(lexer) freeJsonLexContext(lexer)
#else
#define make_lexer(text, size) \
	makeJsonLexContextCstringLen((char *) (text), (int) (size), PG_UTF8, false)
#define free_lexer(lexer) free(lexer)
#endif

static Outcome
enter(void *state)
{
	Depth *depth = state;

	if (++depth->now > depth->most)
		depth->most = depth->now;
	go_on();
}

static Outcome
leave(void *state)
{
	((Depth *) state)->now--;
	go_on();
}

/* What PostgreSQL says. */
static bool
postgres_accepts(const char *text, size_t size)
{
	Depth depth = {0};
	JsonSemAction actions = {.semstate = &depth,
							 .object_start = enter,
							 .object_end = leave,
							 .array_start = enter,
							 .array_end = leave};
	JsonLexContext *lex;
	bool accepted;

	if (pg_encoding_verifymbstr(PG_UTF8, text, (int) size) != (int) size)
		return false;
	lex = make_lexer(text, size);
	accepted = pg_parse_json(lex, &actions) == JSON_SUCCESS;
	free_lexer(lex);
	return accepted && depth.most <= JSON_MAX_DEPTH;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	CHECK(json_valid(text, size) == postgres_accepts(text, size));
	free(text);
	text = malloc(size > 0 ? size : 1);
	memcpy(text, data, size);
	json_valid(text, size);
	free(text);
	return 0;
}
