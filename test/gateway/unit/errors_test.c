/*
 * errors_test.c
 *	  What is done about each SQLSTATE: also those that no test makes a server raise.
 */
#include "errors.h"
#include "test.h"

#define ALL_KINDS 4

static const char *const kinds[ALL_KINDS] = {"read", "write", "transaction", "definition"};

/* What is expected of an SQLSTATE: for each kind of operation the status, and letters of what is done. */
typedef struct Row
{
	const char *sqlstate; /* NULL: the connection broke */
	bool sent;
	const char *expected[ALL_KINDS];
} Row;

/* r: repeated, p: after a pause, c: with another connection, x: a conflict of all, t: told */
static const Row rows[] = {
	{NULL, true, {"500 rc", "500 c", "500 c", "500 c"}},
	{NULL, false, {"503 rc", "503 rc", "503 rc", "503 rc"}},
	{"08006", true, {"500 rc", "500 c", "500 c", "500 c"}},
	{"08P01", true, {"500 rc", "500 c", "500 c", "500 c"}},
	{"57P02", true, {"500 rc", "500 c", "500 c", "500 c"}},
	{"57P01", true, {"503 rc", "503 c", "503 c", "503 c"}},
	{"57P03", true, {"503 rc", "503 c", "503 c", "503 c"}},
	{"57P05", true, {"503 rc", "503 c", "503 c", "503 c"}},
	{"53300", true, {"503 rc", "503 c", "503 c", "503 c"}},
	{"25006", true, {"503 c", "503 c", "503 c", "503 c"}},
	{"26000", true, {"503 rc", "503 rc", "503 rc", "503 rc"}},
	{"40001", true, {"500 rp", "400 rp", "400 x", "500 "}},
	{"40P01", true, {"500 rp", "400 rp", "400 x", "500 "}},
	{"YD004", true, {"500 rp", "400 rp", "400 x", "500 "}},
	{"55P03", true, {"500 ", "400 ", "400 x", "500 "}},
	{"57014", true, {"500 ", "500 ", "500 ", "500 "}},
	{"53100", true, {"500 ", "500 ", "500 ", "500 "}},
	{"42501", true, {"500 ", "500 ", "500 ", "500 "}},
	{"XX000", true, {"500 ", "500 ", "500 ", "500 "}},
	{"00000", true, {"500 ", "500 ", "500 ", "500 "}},
	{"YD001", true, {"400 t", "400 t", "400 t", "400 t"}},
	{"YD016", true, {"400 t", "400 t", "400 t", "400 t"}},
	{"YD999", true, {"500 ", "500 ", "500 ", "500 "}},
};

static void
write_remedy(const Remedy *remedy, char *out, size_t size)
{
	snprintf(out, size, "%d %s%s%s%s%s", error_status(remedy->error), remedy->repeat ? "r" : "",
			 remedy->pause ? "p" : "", remedy->reconnect ? "c" : "", remedy->conflict ? "x" : "",
			 remedy->tells ? "t" : "");
}

static void
test_remedies(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		for (int kind = 0; kind < ALL_KINDS; kind++)
		{
			Failure failure = {rows[i].sqlstate, rows[i].sent, (OperationKind) kind};
			Remedy remedy = error_remedy(&failure);
			char got[32];
			char name[64];

			write_remedy(&remedy, got, sizeof(got));
			snprintf(name, sizeof(name), "%s of a %s%s",
					 rows[i].sqlstate == NULL ? "the end of the connection" : rows[i].sqlstate,
					 kinds[kind], rows[i].sent ? "" : " that was not sent");
			is(got, rows[i].expected[kind], name);
		}
	}
}

static void
test_types(void)
{
	for (ErrorKind error = ERROR_NONE + 1; error < ERROR_COUNT; error++)
	{
		const char *type = error_type(error);

		ok(strchr(type, '#') != NULL && strcmp(strchr(type, '#') + 1, error_name(error)) == 0,
		   "the type of %s ends with its name", error_name(error));
		ok(error_status(error_of_type(type)) >= 400, "%s is found by its type", error_name(error));
	}
	ok(error_of_type("com.amazon.coral.service#Nothing") == ERROR_INTERNAL, "an unknown type");
}

int
main(void)
{
	test_remedies();
	test_types();
	return failures > 0;
}
