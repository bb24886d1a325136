/*
 * token.c
 *	  Idempotency tokens, in a table of the extension.
 *
 * A token is remembered by the transaction that does what it stands for, so it is if and only if
 * that was done.  A duplicate at the same time waits for the unique key, before it has locked
 * anything else.
 *
 * Nobody has rights on the table but its owner, so these statements run as him (work/owned.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "work/owned.h"
#include "ground/errors.h"
#include "store/plan.h"
#include "store/store.h"
#include "store/token.h"

#define TOKEN_TABLE "transact_tokens"

/* Expired tokens that a call clears away: more than it adds. */
#define CLEAR_AT_ONCE "10"

typedef enum Statement
{
	CLAIM,
	LOOK,
	ANSWER,
	CLEAR
} Statement;

/* Kept for the session, as long as the extension stays where it is. */
static SPIPlanPtr plans[CLEAR + 1];
static char plans_table[4 * NAMEDATALEN]; /* quoted, with its schema */

typedef struct TokenArguments
{
	Datum values[6];
} TokenArguments;

/* role, token, request or what is returned, now, end, statements */
static Oid argument_types[] = {OIDOID, TEXTOID, BYTEAOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BOOLOID};

static void
forget_plans(void)
{
	plans_table[0] = '\0';
	for (int i = 0; i < lengthof(plans); i++)
	{
		if (plans[i] != NULL)
			SPI_freeplan(plans[i]);
		plans[i] = NULL;
	}
}

/* An expired token is as good as none.  What the WHERE leaves as it is, is locked all the same. */
static char *
make_statement(const char *table, Statement statement)
{
	switch (statement)
	{
		case CLAIM:
			return psprintf("INSERT INTO %s AS t (role, statements, token, request, expires)"
							" VALUES ($1, $6, $2, $3, $5)"
							" ON CONFLICT (role, statements, token) DO UPDATE"
							" SET request = EXCLUDED.request, expires = EXCLUDED.expires,"
							" returned = NULL"
							" WHERE t.expires <= $4",
							table);
		case LOOK:
			return psprintf("SELECT request, returned FROM %s WHERE role = $1"
							" AND statements = $6 AND token = $2",
							table);
		case ANSWER:
			return psprintf("UPDATE %s SET returned = $3 WHERE role = $1 AND statements = $6"
							" AND token = $2",
							table);
		case CLEAR:
			break;
	}
	return psprintf("DELETE FROM %s WHERE (role, statements, token) IN"
					" (SELECT role, statements, token FROM %s"
					" WHERE expires <= $4 ORDER BY expires LIMIT " CLEAR_AT_ONCE
					" FOR UPDATE SKIP LOCKED)",
					table, table);
}

static SPIPlanPtr
get_plan(const char *table, Statement statement)
{
	if (strcmp(plans_table, table) != 0)
		forget_plans();
	if (plans[statement] == NULL)
	{
		SPIPlanPtr plan =
			SPI_prepare(make_statement(table, statement), lengthof(argument_types), argument_types);

		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		plans[statement] = plan;
		strlcpy(plans_table, table, sizeof(plans_table));
	}
	return plans[statement];
}

static uint64
run(const char *table, Statement statement, TokenArguments *arguments)
{
	int result = SPI_execute_plan(get_plan(table, statement), arguments->values, NULL, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* A column of what LOOK has found; NULL if it is null. */
static bytea *
found(int column)
{
	bool isnull;
	Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? NULL : DatumGetByteaPP(value);
}

/* Copied to where the caller is. */
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

/* Whether the request of a token that is known is this one.  Returns what that has returned. */
static bytea *
require_same(const char *table, TokenArguments *arguments)
{
	bytea *request = DatumGetByteaPP(arguments->values[2]);
	bytea *known;

	if (run(table, LOOK, arguments) == 0)
		elog(ERROR, "a token has vanished while it was locked");
	known = found(1);
	if (known == NULL || VARSIZE_ANY_EXHDR(known) != VARSIZE_ANY_EXHDR(request) ||
		memcmp(VARDATA_ANY(known), VARDATA_ANY(request), VARSIZE_ANY_EXHDR(request)) != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_IDEMPOTENT_PARAMETER_MISMATCH),
			 errmsg("the token was used for another request"),
			 errwords("Request tokens can only be used with the same parameters"),
			 errdetail("A token is remembered for %d minutes, for the tables that it was used on.",
					   DYN_TOKEN_MINUTES)));
	return copied(found(2));
}

/* True if the token is new and now taken. */
static bool
claim(const char *table, TokenArguments *arguments, bytea **returned)
{
	if (run(table, CLAIM, arguments) == 0)
	{
		*returned = require_same(table, arguments);
		return false;
	}
	/* at the higher isolation levels even SKIP LOCKED meets conflicts */
	if (!IsolationUsesXactSnapshot())
		run(table, CLEAR, arguments);
	return true;
}

static bool
keep_answer(const char *table, TokenArguments *arguments, bytea **returned)
{
	if (run(table, ANSWER, arguments) != 1)
		elog(ERROR, "a token has vanished while it was locked");
	return true;
}

typedef bool (*TokenUse)(const char *table, TokenArguments *arguments, bytea **returned);

static bool
use_as_owner(TokenUse use, TokenArguments *arguments, bytea **returned)
{
	ErrorContextCallback callback;
	OwnedRights before;
	bool result;

	owned_begin(owned_table(TOKEN_TABLE), &before);
	store_begin(&callback);
	store_connect();
	result = use(DYN_INTERNAL "." TOKEN_TABLE, arguments, returned);
	SPI_finish();
	store_end(&callback);
	owned_end(&before);
	return result;
}

static TokenArguments
token_arguments(bool statements, text *token, bytea *value)
{
	TimestampTz now = GetCurrentTimestamp();

	return (TokenArguments){
		{ObjectIdGetDatum(GetUserId()), PointerGetDatum(token), PointerGetDatum(value),
		 TimestampTzGetDatum(now),
		 TimestampTzGetDatum(now + DYN_TOKEN_MINUTES * SECS_PER_MINUTE * USECS_PER_SEC),
		 BoolGetDatum(statements)}};
}

/*
 * Take the caller's token for a request; false if the same request was done with it before, and
 * then *returned is set to what token_answer() has kept, or NULL.  Raises
 * IdempotentParameterMismatchException if it was another one.  Those of statements are tokens of
 * their own.
 */
bool
token_claim(bool statements, text *token, bytea *request, bytea **returned)
{
	TokenArguments arguments = token_arguments(statements, token, request);

	return use_as_owner(claim, &arguments, returned);
}

/* Keeps what the request has returned, together with the token that its call has just claimed. */
void
token_answer(bool statements, text *token, bytea *returned)
{
	TokenArguments arguments = token_arguments(statements, token, returned);

	(void) use_as_owner(keep_answer, &arguments, NULL);
}
