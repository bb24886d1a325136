/*
 * errors_test.c
 *	  What is done about each SQLSTATE: also those that no test makes a server raise.
 */
#include "errors.h"
#include "test.h"

#define ALL_KINDS 4

static const char *const kinds[ALL_KINDS] = {"read", "write", "transaction", "definition"};

/* Where an error comes from. */
typedef enum From
{
	REQUEST, /* any code: the connection is as it was */
	OUTSIDE, /* the statement around it */
	READ_ONLY, /* a session that takes no writes */
	END, /* the request has ended the connection */
	END_OUTSIDE, /* the server or a pooler has ended it */
	UNSENT, /* ... before the statement was sent */
} From;

static const char *const from_words[] = {"",
										 " outside of the request",
										 " in a session that is read-only",
										 " that ends the connection",
										 " outside that ends the connection",
										 " before it was sent"};

/* What is expected of an SQLSTATE: for each kind of operation the status, and letters of what is done. */
typedef struct Row
{
	const char *sqlstate; /* NULL: the connection broke */
	From from;
	const char *expected[ALL_KINDS];
} Row;

/* r: repeated, p: after a pause, c: with another connection, u: without the prepared statement, x: a
 * conflict of all, t: told */
static const Row rows[] = {
	{NULL, END, {"500 rc", "500 c", "500 c", "500 c"}},
	{NULL, UNSENT, {"503 rc", "503 rc", "503 rc", "503 rc"}},
	{"08006", END, {"500 rc", "500 c", "500 c", "500 c"}},
	{"08P01", END, {"500 rc", "500 c", "500 c", "500 c"}},
	{"57P02", END, {"500 rc", "500 c", "500 c", "500 c"}},
	{"57P01", END, {"503 rc", "503 c", "503 c", "503 c"}},
	{"57P03", END, {"503 rc", "503 c", "503 c", "503 c"}},
	{"57P05", END, {"503 rc", "503 c", "503 c", "503 c"}},
	{"53300", END, {"503 rc", "503 c", "503 c", "503 c"}},
	{"55000", END, {"500 c", "500 c", "500 c", "500 c"}},
	{"55000", END_OUTSIDE, {"503 rc", "503 rc", "503 rc", "503 rc"}},
	{"26000", END, {"500 c", "500 c", "500 c", "500 c"}},
	{"26000", END_OUTSIDE, {"503 rcu", "503 rcu", "503 rcu", "503 rcu"}},
	{"25P04", END, {"500 c", "500 c", "500 c", "500 c"}},
	{"40001", END, {"500 c", "500 c", "500 c", "500 c"}},
	{"YD001", END, {"500 c", "500 c", "500 c", "500 c"}},
	/* anybody can raise these */
	{"08006", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"08P01", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"57P01", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"57P02", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"57P03", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"57P05", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"53300", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"55000", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"26000", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"25006", REQUEST, {"503 ", "503 ", "503 ", "503 "}},
	{"25006", READ_ONLY, {"503 c", "503 c", "503 c", "503 c"}},
	{"26000", OUTSIDE, {"503 ru", "503 ru", "503 ru", "503 ru"}},
	{"55000", OUTSIDE, {"500 ", "500 ", "500 ", "500 "}},
	{"57P01", OUTSIDE, {"500 ", "500 ", "500 ", "500 "}},
	{"40001", REQUEST, {"500 rp", "400 rp", "400 x", "500 "}},
	{"40P01", REQUEST, {"500 rp", "400 rp", "400 x", "500 "}},
	{"YD004", REQUEST, {"500 rp", "400 rp", "400 x", "500 "}},
	{"55P03", REQUEST, {"500 ", "400 ", "400 x", "500 "}},
	{"57014", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"53100", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"42501", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"XX000", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"00000", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
	{"YD001", REQUEST, {"400 t", "400 t", "400 t", "400 t"}},
	{"YD016", REQUEST, {"400 t", "400 t", "400 t", "400 t"}},
	{"YD999", REQUEST, {"500 ", "500 ", "500 ", "500 "}},
};

static void
write_remedy(const Remedy *remedy, char *out, size_t size)
{
	snprintf(out, size, "%d %s%s%s%s%s%s%s", error_status(remedy->error),
			 remedy->elsewhere ? "e" : "", remedy->repeat ? "r" : "", remedy->pause ? "p" : "",
			 remedy->reconnect ? "c" : "", remedy->unprepared ? "u" : "",
			 remedy->conflict ? "x" : "", remedy->tells ? "t" : "");
}

static void
test_remedies(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		for (int kind = 0; kind < ALL_KINDS; kind++)
		{
			Failure failure = {.sqlstate = rows[i].sqlstate,
							   .sent = rows[i].from != UNSENT,
							   .ended = rows[i].from >= END,
							   .outside = rows[i].from == OUTSIDE || rows[i].from == END_OUTSIDE,
							   .read_only = rows[i].from == READ_ONLY,
							   .kind = (OperationKind) kind};
			Remedy remedy = error_remedy(&failure);
			char got[32];
			char name[96];

			write_remedy(&remedy, got, sizeof(got));
			snprintf(name, sizeof(name), "%s of a %s%s",
					 rows[i].sqlstate == NULL ? "the end of the connection" : rows[i].sqlstate,
					 kinds[kind], from_words[rows[i].from]);
			is(got, rows[i].expected[kind], name);
		}
	}
}

/* A read that a standby was asked for.  e: the primary does it */
static void
test_standby(void)
{
	static const struct
	{
		const char *sqlstate;
		From from;
		bool late;
		const char *expected;
	} reads[] = {
		{NULL, END, false, "500 ec"},        {NULL, UNSENT, false, "503 ec"},
		{"57P01", END, false, "503 ec"},     {"40001", END, false, "500 ec"},
		{"40001", REQUEST, false, "500 e"},  {"25006", READ_ONLY, false, "503 e"},
		{"55000", REQUEST, false, "500 e"},  {"26000", OUTSIDE, false, "503 eu"},
		{"YD001", REQUEST, false, "400 et"}, {"YD008", REQUEST, false, "400 et"},
		{"XX000", REQUEST, false, "500 e"},  {"57014", REQUEST, false, "500 "},
		{NULL, REQUEST, true, "500 e"},
	};

	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
	{
		Failure failure = {.sqlstate = reads[i].sqlstate,
						   .sent = reads[i].from != UNSENT,
						   .ended = reads[i].from >= END,
						   .outside = reads[i].from == OUTSIDE,
						   .read_only = reads[i].from == READ_ONLY,
						   .late = reads[i].late,
						   .standby = true,
						   .kind = OPERATION_READ};
		Remedy remedy = error_remedy(&failure);
		char got[32];
		char name[96];

		write_remedy(&remedy, got, sizeof(got));
		snprintf(name, sizeof(name), "%s of a standby%s",
				 reads[i].sqlstate == NULL ? "no answer" : reads[i].sqlstate,
				 from_words[reads[i].from]);
		is(got, reads[i].expected, name);
	}
}

/* A request that a node of Citus was asked for.  e: the primary does it */
static void
test_node(void)
{
	static const struct
	{
		const char *sqlstate;
		From from;
		OperationKind kind;
		const char *expected;
	} requests[] = {
		{NULL, END, OPERATION_READ, "500 ec"},
		{NULL, END, OPERATION_WRITE, "500 c"},
		{NULL, UNSENT, OPERATION_WRITE, "503 ec"},
		{"57P01", END, OPERATION_READ, "503 ec"},
		{"57P01", END, OPERATION_WRITE, "503 c"},
		{"55000", END_OUTSIDE, OPERATION_WRITE, "503 rc"},
		{"26000", OUTSIDE, OPERATION_WRITE, "503 ru"},
		{"42501", OUTSIDE, OPERATION_WRITE, "500 e"},
		{"42704", OUTSIDE, OPERATION_WRITE, "500 e"},
		{"42704", REQUEST, OPERATION_WRITE, "500 "},
		{"08006", OUTSIDE, OPERATION_WRITE, "500 "},
		{"08006", REQUEST, OPERATION_WRITE, "500 "},
		{"40001", REQUEST, OPERATION_WRITE, "400 rp"},
		{"57014", REQUEST, OPERATION_WRITE, "500 "},
		{"YD001", REQUEST, OPERATION_WRITE, "400 et"},
		{"YD002", REQUEST, OPERATION_WRITE, "400 t"},
		{"YD008", REQUEST, OPERATION_WRITE, "400 et"},
		{"YD016", REQUEST, OPERATION_WRITE, "400 et"},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
	{
		Failure failure = {.sqlstate = requests[i].sqlstate,
						   .sent = requests[i].from != UNSENT,
						   .ended = requests[i].from >= END,
						   .outside =
							   requests[i].from == OUTSIDE || requests[i].from == END_OUTSIDE,
						   .node = true,
						   .kind = requests[i].kind};
		Remedy remedy = error_remedy(&failure);
		char got[32];
		char name[96];

		write_remedy(&remedy, got, sizeof(got));
		snprintf(name, sizeof(name), "%s of a %s by a node%s",
				 requests[i].sqlstate == NULL ? "no answer" : requests[i].sqlstate,
				 kinds[requests[i].kind], from_words[requests[i].from]);
		is(got, requests[i].expected, name);
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
	test_standby();
	test_node();
	test_types();
	return failures > 0;
}
