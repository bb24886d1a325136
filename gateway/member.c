/*
 * member.c
 *	  Members of a JSON object, found without reading what they hold.
 */
#include "member.h"

#include <stdbool.h>
#include <string.h>

typedef struct Scan
{
	const char *at;
	const char *end;
} Scan;

static void
skip_blanks(Scan *scan)
{
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL && *scan->at != '\0')
		scan->at++;
}

static void
step(Scan *scan)
{
	if (scan->at < scan->end)
		scan->at++;
}

/* Behind the string that begins here. */
static void
skip_string(Scan *scan)
{
	for (step(scan); scan->at < scan->end && *scan->at != '"'; step(scan))
	{
		if (*scan->at == '\\')
			step(scan);
	}
	step(scan);
}

/* Behind the value that begins here, whatever is in it. */
static void
skip_value(Scan *scan)
{
	size_t depth = 0;

	while (scan->at < scan->end && (depth > 0 || strchr(",]} \t\r\n", *scan->at) == NULL))
	{
		if (*scan->at == '"')
		{
			skip_string(scan);
			continue;
		}
		if (*scan->at == '{' || *scan->at == '[')
			depth++;
		else if (*scan->at == '}' || *scan->at == ']')
			depth--;
		scan->at++;
	}
}

/* Whether the scan is inside of what opens so. */
static bool
enter(Scan *scan, char opening)
{
	skip_blanks(scan);
	if (scan->at >= scan->end || *scan->at != opening)
		return false;
	scan->at++;
	skip_blanks(scan);
	return true;
}

/* At the next member or element, if there is one. */
static bool
next(Scan *scan)
{
	skip_blanks(scan);
	if (scan->at >= scan->end || *scan->at != ',')
		return false;
	scan->at++;
	skip_blanks(scan);
	return true;
}

static bool
at_end(const Scan *scan, char closing)
{
	return scan->at >= scan->end || *scan->at == closing;
}

/* The value of a member of the object that the text is; a name with escapes is not found. */
Member
member_find(const char *json, size_t length, const char *name)
{
	Scan scan = {json, json + length};
	size_t name_length = strlen(name);

	if (!enter(&scan, '{') || at_end(&scan, '}'))
		return (Member){NULL, 0};
	do
	{
		const char *key = scan.at;
		const char *value;
		bool found;

		skip_string(&scan);
		/* with its quotes */
		found =
			(size_t) (scan.at - key) == name_length + 2 && memcmp(key + 1, name, name_length) == 0;
		skip_blanks(&scan);
		step(&scan);
		skip_blanks(&scan);
		value = scan.at;
		skip_value(&scan);
		if (found)
			return (Member){value, (size_t) (scan.at - value)};
	} while (next(&scan));
	return (Member){NULL, 0};
}

/* How many elements an array has; 0 if the value is none. */
size_t
member_elements(Member array)
{
	Scan scan = {array.text, array.text + array.length};
	size_t n = 0;

	if (array.text == NULL || !enter(&scan, '[') || at_end(&scan, ']'))
		return 0;
	do
	{
		skip_value(&scan);
		n++;
	} while (next(&scan));
	return n;
}
