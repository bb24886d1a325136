/*
 * token.c
 *	  Idempotency tokens, in tables of the extension: one of this node, and one that is distributed
 *	  together with the first table of items.
 *
 * A token is remembered by the transaction that does what it stands for, so it is if and only if
 * that was done.  A duplicate at the same time waits for the unique key, before it has locked
 * anything else.
 *
 * Nobody has rights on the tables but their owner, so these statements run as the owner
 * (server/work/owned.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "server/errors.h"
#include "server/sql.h"
#include "server/work/owned.h"
#include "store/plan.h"
#include "store/store.h"
#include "store/token.h"

/*
 * A call clears away so many expired tokens of its role, more than it adds.  Those of other roles
 * are left to them: until the transaction ends, nobody could use such a token again.
 */
#define CLEAR_AT_ONCE "10"

/* The distributed table has so many buckets, more than anybody has shards. */
#define BUCKETS 1024

typedef enum Statement
{
	CLAIM,
	LOOK,
	ANSWER,
	CLEAR
} Statement;

typedef struct TokenTable
{
	const char *name;
	const char *key;
	const char *is_key; /* of the token that the statement is about */
	const char *is_near; /* of tokens that the statement may clear away */
	SPIPlanPtr plans[CLEAR + 1]; /* kept for the session */
} TokenTable;

/* This is the table of this node. */
static TokenTable local_tokens = {.name = "transact_tokens",
								  .key = "role, statements, token",
								  .is_key = "role = $1 AND statements = $6 AND token = $2",
								  .is_near = "role = $1"};

/* This is the table of all nodes: each statement is routed by the bucket. */
static TokenTable shared_tokens = {
	.name = "shared_tokens",
	.key = "role, statements, token, bucket",
	.is_key = "role = $1 AND statements = $6 AND token = $2 AND bucket = $7",
	.is_near = "role = $1 AND bucket = $7"};

typedef struct TokenArguments
{
	Datum values[7];
} TokenArguments;

/* These are role, token, request or what is returned, now, end, statements and bucket. */
static Oid argument_types[] = {OIDOID,         TEXTOID, BYTEAOID, TIMESTAMPTZOID,
							   TIMESTAMPTZOID, BOOLOID, INT2OID};

/* Makes a statement.  An expired token is as good as none.  What the WHERE leaves is locked too. */
static char *
make_statement(const TokenTable *table, Statement statement)
{
	switch (statement)
	{
		case CLAIM:
			return psprintf("INSERT INTO " DYN_INTERNAL ".%s AS t (%s, request, expires)"
							" VALUES ($1, $6, $2, %s$3, $5)"
							" ON CONFLICT (%s) DO UPDATE"
							" SET request = EXCLUDED.request, expires = EXCLUDED.expires,"
							" returned = NULL"
							" WHERE t.expires <= $4",
							table->name, table->key, table == &shared_tokens ? "$7, " : "",
							table->key);
		case LOOK:
			return psprintf("SELECT request, returned FROM " DYN_INTERNAL ".%s WHERE %s",
							table->name, table->is_key);
		case ANSWER:
			return psprintf("UPDATE " DYN_INTERNAL ".%s SET returned = $3 WHERE %s", table->name,
							table->is_key);
		case CLEAR:
			break;
	}
	return psprintf("DELETE FROM " DYN_INTERNAL ".%s WHERE %s AND (%s) IN"
					" (SELECT %s FROM " DYN_INTERNAL ".%s WHERE %s AND expires <= $4"
					" ORDER BY expires LIMIT " CLEAR_AT_ONCE " FOR UPDATE SKIP LOCKED)",
					table->name, table->is_near, table->key, table->key, table->name,
					table->is_near);
}

static SPIPlanPtr
get_plan(TokenTable *table, Statement statement)
{
	if (table->plans[statement] == NULL)
	{
		SPIPlanPtr plan;
		Oid types[lengthof(argument_types)];

		memcpy(types, argument_types, sizeof(types));
		/* roles have other OIDs on other nodes */
		if (table == &shared_tokens)
			types[0] = TEXTOID;
		plan = SPI_prepare(make_statement(table, statement), lengthof(types), types);
		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		table->plans[statement] = plan;
	}
	return table->plans[statement];
}

static uint64
token_run(TokenTable *table, Statement statement, TokenArguments *arguments)
{
	int result = SPI_execute_plan(get_plan(table, statement), arguments->values, NULL, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* Returns a column of what LOOK has found; NULL if it is null. */
static bytea *
token_found(int column)
{
	bool isnull;
	Datum value = sql_nullable(SPI_tuptable, 0, column, &isnull);

	return isnull ? NULL : DatumGetByteaPP(value);
}

/* Returns a copy where the caller is. */
static bytea *
copied(const bytea *value)
{
	bytea *copy;

	if (value == NULL)
		return NULL;
	copy = SPI_palloc(VARSIZE_ANY(value));
	memcpy(copy, value, VARSIZE_ANY(value));
	return copy;
}

/* Requires that the request of a known token is this one.  Returns what that has returned. */
static bytea *
require_same(TokenTable *table, TokenArguments *arguments)
{
	bytea *request = DatumGetByteaPP(arguments->values[2]);
	bytea *known;

	if (token_run(table, LOOK, arguments) == 0)
		elog(ERROR, "a token has vanished while it was locked");
	known = token_found(1);
	if (known == NULL || VARSIZE_ANY_EXHDR(known) != VARSIZE_ANY_EXHDR(request) ||
		memcmp(VARDATA_ANY(known), VARDATA_ANY(request), VARSIZE_ANY_EXHDR(request)) != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_IDEMPOTENT_PARAMETER_MISMATCH),
			 errmsg("the token was used for another request"),
			 errwords("Request tokens can only be used with the same parameters"),
			 errdetail("A token is remembered for %d minutes, for the tables that it was used on.",
					   DYN_TOKEN_MINUTES)));
	return copied(token_found(2));
}

/* Returns true if the token is new and now taken. */
static bool
token_take(TokenTable *table, TokenArguments *arguments, bytea **returned)
{
	if (token_run(table, CLAIM, arguments) == 0)
	{
		*returned = require_same(table, arguments);
		return false;
	}
	/* at the higher isolation levels even SKIP LOCKED meets conflicts */
	if (!IsolationUsesXactSnapshot())
		token_run(table, CLEAR, arguments);
	return true;
}

static bool
keep_answer(TokenTable *table, TokenArguments *arguments, bytea **returned)
{
	if (token_run(table, ANSWER, arguments) != 1)
		elog(ERROR, "a token has vanished while it was locked");
	return true;
}

typedef bool (*TokenUse)(TokenTable *table, TokenArguments *arguments, bytea **returned);

static bool
use_as_owner(TokenUse use, TokenTable *table, TokenArguments *arguments, bytea **returned)
{
	ErrorContextCallback callback;
	RightsBefore before;
	bool result;

	owned_begin(table->name, &before);
	/* Citus has no generic plan of a statement that has the bucket twice; until rights_give_back() */
	if (table == &shared_tokens)
		(void) set_config_option("plan_cache_mode", "force_custom_plan", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	store_begin(&callback);
	store_connect();
	result = use(table, arguments, returned);
	SPI_finish();
	store_end(&callback);
	rights_give_back(&before);
	return result;
}

static TokenTable *
token_table(const RequestToken *token)
{
	return token->shared ? &shared_tokens : &local_tokens;
}

static Datum
token_role(const RequestToken *token)
{
	return token->shared ? CStringGetTextDatum(GetUserNameFromId(GetUserId(), false))
						 : ObjectIdGetDatum(GetUserId());
}

static TokenArguments
token_arguments(const RequestToken *token, bytea *value)
{
	TimestampTz now = GetCurrentTimestamp();
	ItemSpan bytes = text_span(token->token);
	uint32 bucket = hash_bytes((const unsigned char *) bytes.data, (int) bytes.len) % BUCKETS;

	return (TokenArguments){
		{token_role(token), PointerGetDatum(token->token), PointerGetDatum(value),
		 TimestampTzGetDatum(now),
		 TimestampTzGetDatum(now + DYN_TOKEN_MINUTES * SECS_PER_MINUTE * USECS_PER_SEC),
		 BoolGetDatum(token->statements), Int16GetDatum((int16) bucket)}};
}

/*
 * Takes the token for a request; false if the same request was done with it before, and then
 * *returned is set to what token_answer() has kept, or NULL.  Raises
 * IdempotentParameterMismatchException if it was another one.
 */
bool
token_claim(const RequestToken *token, bytea *request, bytea **returned)
{
	TokenArguments arguments = token_arguments(token, request);

	return use_as_owner(token_take, token_table(token), &arguments, returned);
}

/* Keeps what the request has returned, together with the token that its call has just claimed. */
void
token_answer(const RequestToken *token, bytea *returned)
{
	TokenArguments arguments = token_arguments(token, returned);

	(void) use_as_owner(keep_answer, token_table(token), &arguments, NULL);
}
