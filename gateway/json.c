/*
 * json.c
 *	  Whether a text is JSON.
 */
#include "json.h"

#include <string.h>

#include "utf8.h"

/* A Scan is the rest of the text, and the open objects and arrays: a bit each, set for objects. */
typedef struct Scan
{
	const char *next;
	const char *end;
	unsigned depth;
	unsigned char objects[JSON_MAX_DEPTH / 8];
} Scan;

static bool
at(const Scan *scan, char c)
{
	return scan->next < scan->end && *scan->next == c;
}

/* Take this character if it is next. */
static bool
json_take(Scan *scan, char c)
{
	bool there = at(scan, c);

	scan->next += there;
	return there;
}

static void
skip_blanks(Scan *scan)
{
	while (at(scan, ' ') || at(scan, '\n') || at(scan, '\r') || at(scan, '\t'))
		scan->next++;
}

static bool
take_word(Scan *scan, const char *word)
{
	size_t length = strlen(word);

	if ((size_t) (scan->end - scan->next) < length || memcmp(scan->next, word, length) != 0)
		return false;
	scan->next += length;
	return true;
}

static bool
take_digits(Scan *scan)
{
	const char *start = scan->next;

	while (scan->next < scan->end && *scan->next >= '0' && *scan->next <= '9')
		scan->next++;
	return scan->next > start;
}

static bool
take_number(Scan *scan)
{
	json_take(scan, '-');
	if (!json_take(scan, '0') && !take_digits(scan))
		return false;
	if (json_take(scan, '.') && !take_digits(scan))
		return false;
	if (!json_take(scan, 'e') && !json_take(scan, 'E'))
		return true;
	if (!json_take(scan, '+'))
		json_take(scan, '-');
	return take_digits(scan);
}

static bool
is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Takes what follows a backslash. */
static bool
take_escape(Scan *scan)
{
	if (scan->next == scan->end)
		return false;
	switch (*scan->next++)
	{
		case '"':
		case '\\':
		case '/':
		case 'b':
		case 'f':
		case 'n':
		case 'r':
		case 't':
			return true;
		case 'u':
			for (int i = 0; i < 4; i++, scan->next++)
			{
				if (scan->next == scan->end || !is_hex(*scan->next))
					return false;
			}
			return true;
		default:
			return false;
	}
}

static bool
take_string(Scan *scan)
{
	if (!json_take(scan, '"'))
		return false;
	while (scan->next < scan->end)
	{
		unsigned char c = (unsigned char) *scan->next;
		size_t length = 1;

		if (c < 0x20)
			return false;
		if (c >= 0x80)
			length = utf8_length(scan->next, (size_t) (scan->end - scan->next));
		if (length == 0)
			return false;
		scan->next += length;
		if (c == '"')
			return true;
		if (c == '\\' && !take_escape(scan))
			return false;
	}
	return false;
}

/* Takes a value that holds no other. */
static bool
take_scalar(Scan *scan)
{
	if (at(scan, '"'))
		return take_string(scan);
	return take_word(scan, "true") || take_word(scan, "false") || take_word(scan, "null") ||
		   take_number(scan);
}

/* Note that an object or an array begins. */
static bool
json_enter(Scan *scan, bool object)
{
	unsigned char bit = (unsigned char) (1 << scan->depth % 8);

	if (scan->depth == JSON_MAX_DEPTH)
		return false;
	if (object)
		scan->objects[scan->depth / 8] |= bit;
	else
		scan->objects[scan->depth / 8] &= (unsigned char) ~bit;
	scan->depth++;
	return true;
}

static bool
in_object(const Scan *scan)
{
	unsigned depth = scan->depth - 1;

	return scan->objects[depth / 8] & 1 << depth % 8;
}

/* Takes a member's name and the colon. */
static bool
take_name(Scan *scan)
{
	skip_blanks(scan);
	if (!take_string(scan))
		return false;
	skip_blanks(scan);
	return json_take(scan, ':');
}

/* Takes the next value whole, or so far that the value after it is the first within it. */
static bool
take_value(Scan *scan, bool *whole)
{
	bool object;

	skip_blanks(scan);
	object = at(scan, '{');
	*whole = true;
	if (!object && !at(scan, '['))
		return take_scalar(scan);
	scan->next++;
	if (!json_enter(scan, object))
		return false;
	skip_blanks(scan);
	if (json_take(scan, object ? '}' : ']'))
	{
		scan->depth--;
		return true;
	}
	*whole = false;
	return !object || take_name(scan);
}

/* Takes what follows a value: ends of objects and arrays, and a comma unless this was the last. */
static bool
take_ends(Scan *scan)
{
	while (scan->depth > 0)
	{
		bool object = in_object(scan);

		skip_blanks(scan);
		if (json_take(scan, ','))
			return !object || take_name(scan);
		if (!json_take(scan, object ? '}' : ']'))
			return false;
		scan->depth--;
	}
	return true;
}

/* Returns whether the text is JSON. */
bool
json_valid(const char *text, size_t length)
{
	Scan scan = {.next = text, .end = text + length};

	do
	{
		bool whole;

		if (!take_value(&scan, &whole) || (whole && !take_ends(&scan)))
			return false;
	} while (scan.depth > 0);
	skip_blanks(&scan);
	return scan.next == scan.end;
}
