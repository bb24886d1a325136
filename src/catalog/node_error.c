/*
 * node_error.c
 *	  Errors that nodes of Citus tell each other as JSON.
 */
#include "postgres.h"

#include "executor/spi.h"

#include "catalog/node_error.h"
#include "item/json_writer.h"
#include "server/sql.h"

/* Returns an error as JSON, palloc'd. */
char *
node_error_json(const ErrorData *error)
{
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	json_write_string(&json, "sqlstate", unpack_sql_state(error->sqlerrcode));
	json_write_string(&json, "message", error->message);
	if (error->detail != NULL)
		json_write_string(&json, "detail", error->detail);
	if (error->hint != NULL)
		json_write_string(&json, "hint", error->hint);
	json_write_end(&json);
	return json.text->data;
}

/* Raises the error that another node has answered, if that is one; connected to SPI. */
void
node_error_raise(const char *answer)
{
	const char *state;
	const char *detail;
	const char *hint;

	sql_execute("SELECT a.j OPERATOR(pg_catalog.->>) 'sqlstate', a.j "
				"OPERATOR(pg_catalog.->>) 'message', a.j OPERATOR(pg_catalog.->>) 'detail',"
				" a.j OPERATOR(pg_catalog.->>) 'hint' FROM (SELECT $1::pg_catalog.json) a(j)",
				false, 0, SQL_VALUES(SQL_TEXT(answer)));
	state = sql_text_or_null(SPI_tuptable, 0, 1);
	if (state == NULL || strlen(state) != 5)
		return;
	detail = sql_text_or_null(SPI_tuptable, 0, 3);
	hint = sql_text_or_null(SPI_tuptable, 0, 4);
	ereport(ERROR, (errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
					errmsg_internal("%s", sql_text(SPI_tuptable, 0, 2)),
					detail == NULL ? 0 : errdetail_internal("%s", detail),
					hint == NULL ? 0 : errhint("%s", hint)));
}
