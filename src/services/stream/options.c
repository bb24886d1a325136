/*
 * options.c
 *	  Options of the output plugin.
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/regproc.h"

#include "server/compat.h"
#include "services/stream/plugin.h"

static const char *const format_names[] = {"typed", "plain", NULL}; /* by StreamFormat */

pg_noreturn static void
fail_value(const DefElem *option, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					option->arg == NULL ? errmsg("option \"%s\" needs a value", option->defname)
										: errmsg("invalid value for option \"%s\": \"%s\"",
												 option->defname, strVal(option->arg)),
					errhint("%s", hint)));
}

static int
read_choice(const DefElem *option, const char *const *choices)
{
	StringInfoData hint;

	for (int i = 0; option->arg != NULL && choices[i] != NULL; i++)
	{
		if (strcmp(strVal(option->arg), choices[i]) == 0)
			return i;
	}
	initStringInfo(&hint);
	for (int i = 0; choices[i] != NULL; i++)
		appendStringInfo(&hint, "%s%s", i == 0 ? "Known values are: " : ", ", choices[i]);
	appendStringInfoChar(&hint, '.');
	fail_value(option, hint.data);
}

/* An option without a value is one that is switched on. */
static bool
read_bool(const DefElem *option)
{
	bool value = true;

	if (option->arg != NULL && !parse_bool(strVal(option->arg), &value))
		fail_value(option, "Give true or false.");
	return value;
}

/* Returns the end of a name, at the next comma outside quotes. */
static char *
name_end(char *at)
{
	bool quoted = false;

	for (; *at != '\0' && (quoted || *at != ','); at++)
	{
		if (*at == '"')
			quoted = !quoted;
	}
	return at;
}

static List *
read_name(char *text)
{
	List *names = qualified_name_list(text);

	if (list_length(names) > 2)
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
						errmsg("\"%s\" has more than a schema's and a table's name", text)));
	return names;
}

/* Names of tables as SQL has them, with or without a schema's. */
static List *
read_tables(const DefElem *option)
{
	List *tables = NIL;
	char *at;

	if (option->arg == NULL || strspn(strVal(option->arg), " ") == strlen(strVal(option->arg)))
		fail_value(option, "Give names of tables, with commas between them.");
	at = pstrdup(strVal(option->arg));
	for (;;)
	{
		char *end = name_end(at);
		bool last = *end == '\0';

		*end = '\0';
		tables = lappend(tables, read_name(at));
		if (last)
			return tables;
		at = end + 1;
	}
}

/* Names the option in an error of the parser of names. */
static void
name_option(void *arg)
{
	errcontext("option \"%s\" of output plugin \"dynamo_table\"", (const char *) arg);
}

static void
read_option(StreamOptions *options, const DefElem *option)
{
	if (strcmp(option->defname, "tables") == 0)
		options->tables = read_tables(option);
	else if (strcmp(option->defname, "view-type") == 0)
	{
		options->view = (DynStreamView) read_choice(option, dyn_stream_view_names);
		options->view_given = true;
	}
	else if (strcmp(option->defname, "format") == 0)
		options->format = (StreamFormat) read_choice(option, format_names);
	else if (strcmp(option->defname, "only-streams") == 0)
		options->only_streams = read_bool(option);
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unknown option \"%s\"", option->defname),
						errhint("Known options are: tables, view-type, format, only-streams.")));
}

/* Reads the options into the current memory context. */
void
stream_options_read(StreamOptions *options, List *given)
{
	ListCell *cell;

	memset(options, 0, sizeof(StreamOptions));
	foreach (cell, given)
	{
		const DefElem *option = lfirst(cell);
		ErrorContextCallback callback = {error_context_stack, name_option, option->defname};

		error_context_stack = &callback;
		read_option(options, option);
		error_context_stack = callback.previous;
	}
}
