/*
 * libpq.c
 *	  Parameters of each type that a driver may send, through libpq's own protocol calls.
 *
 * Reads cases as lines "type <tab> text <tab> expression <tab> expected" from standard
 * input, and prints "ok" or "not ok" for each; then the binary format, there and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

static PGconn *conn;
static int failures = 0;

static void
report(int ok, const char *what, const char *got)
{
	printf("%s - libpq: %s%s%s\n", ok ? "ok" : "not ok", what, ok ? "" : ": ", ok ? "" : got);
	failures += !ok;
}

static Oid
type_oid(const char *name)
{
	char sql[128];
	PGresult *result;
	Oid oid;

	if (strcmp(name, "unknown") == 0)
		return 0;
	snprintf(sql, sizeof(sql), "SELECT '%s'::regtype::oid", name);
	result = PQexec(conn, sql);
	oid = (Oid) strtoul(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return oid;
}

static void
run_case(const char *type, const char *text, const char *expression, const char *expected)
{
	char sql[256];
	char what[512];
	Oid oid = type_oid(type);
	PGresult *result;

	snprintf(sql, sizeof(sql), "INSERT INTO params VALUES (%s) RETURNING item", expression);
	snprintf(what, sizeof(what), "%s as %s %s", text, type, expression);
	result = PQexecParams(conn, sql, 1, &oid, &text, NULL, NULL, 0);
	if (strcmp(expected, "hint") == 0)
	{
		const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

		report(PQresultStatus(result) == PGRES_FATAL_ERROR && hint != NULL, what,
			   "no error with a hint");
	}
	else if (PQresultStatus(result) == PGRES_TUPLES_OK)
		report(strcmp(PQgetvalue(result, 0, 0), expected) == 0, what, PQgetvalue(result, 0, 0));
	else
		report(0, what, PQerrorMessage(conn));
	PQclear(result);
}

static void
run_binary(void)
{
	Oid oid = type_oid("dyn_item");
	int binary = 1;
	PGresult *sent =
		PQexecParams(conn, "SELECT item FROM params LIMIT 1", 0, NULL, NULL, NULL, NULL, 1);
	const char *bytes = PQgetvalue(sent, 0, 0);
	int len = PQgetlength(sent, 0, 0);
	PGresult *result = PQexecParams(conn, "SELECT $1 = item FROM params LIMIT 1", 1, &oid, &bytes,
									&len, &binary, 0);

	report(PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), "t") == 0,
		   "binary out and in", PQerrorMessage(conn));
	PQclear(result);
	PQclear(sent);
}

int
main(void)
{
	char line[1024];

	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(conn));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) != NULL)
	{
		char *type = strtok(line, "\t");
		char *text = strtok(NULL, "\t");
		char *expression = strtok(NULL, "\t");
		char *expected = strtok(NULL, "\t\n");

		run_case(type, text, expression, expected);
	}
	run_binary();
	PQfinish(conn);
	return failures != 0;
}
