/*
 * member.c
 *	  Members of a JSON object, found without reading what they hold.
 */
#include "member.h"

#include <string.h>

typedef MemberScan Scan;

static void
skip_blanks(Scan *scan)
{
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL && *scan->at != '\0')
		scan->at++;
}

static void
scan_step(Scan *scan)
{
	if (scan->at < scan->end)
		scan->at++;
}

/* Goes behind the string that begins here. */
static void
skip_string(Scan *scan)
{
	for (scan_step(scan); scan->at < scan->end && *scan->at != '"'; scan_step(scan))
	{
		if (*scan->at == '\\')
			scan_step(scan);
	}
	scan_step(scan);
}

/* Goes behind the value that begins here, whatever is in it. */
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

/* Enters what opens so; returns whether it did. */
static bool
scan_enter(Scan *scan, char opening)
{
	skip_blanks(scan);
	if (scan->at >= scan->end || *scan->at != opening)
		return false;
	scan->at++;
	skip_blanks(scan);
	return true;
}

/* Goes to the next member or element; returns whether there is one. */
static bool
scan_next(Scan *scan)
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

/* Begin to go through the members of a value; one that is no object has none. */
MemberScan
member_scan(Member object)
{
	return (Scan){.at = object.text, .end = object.text + object.length};
}

/*
 * Reads the next member: its name, without quotes and with its escapes, and its value.  False if
 * there is none; then the scan is whole if this is the end of an object.
 */
bool
member_next(MemberScan *scan, Member *name, Member *value)
{
	if (!scan->begun ? !scan_enter(scan, '{') : !scan_next(scan))
	{
		scan->whole = scan->begun && scan->at < scan->end && *scan->at == '}';
		return false;
	}
	scan->begun = true;
	if (at_end(scan, '}'))
	{
		scan->whole = scan->at < scan->end;
		return false;
	}
	name->text = scan->at + 1;
	skip_string(scan);
	name->length = scan->at - name->text > 0 ? (size_t) (scan->at - name->text) - 1 : 0;
	skip_blanks(scan);
	scan_step(scan);
	skip_blanks(scan);
	value->text = scan->at;
	skip_value(scan);
	value->length = (size_t) (scan->at - value->text);
	return true;
}

/* Returns whether a name or a value is written so. */
bool
member_is(Member member, const char *text)
{
	return member.length == strlen(text) && memcmp(member.text, text, member.length) == 0;
}

/* Returns the value of a member of the object in the text; does not find a name with escapes. */
Member
member_find(const char *json, size_t length, const char *name)
{
	MemberScan scan = member_scan((Member){json, length});
	Member found;
	Member value;

	while (member_next(&scan, &found, &value))
	{
		if (member_is(found, name))
			return value;
	}
	return (Member){NULL, 0};
}

/* Returns how many elements an array has; 0 if the value is none. */
size_t
member_elements(Member array)
{
	Scan scan = member_scan(array);
	size_t n = 0;

	if (array.text == NULL || !scan_enter(&scan, '[') || at_end(&scan, ']'))
		return 0;
	do
	{
		skip_value(&scan);
		n++;
	} while (scan_next(&scan));
	return n;
}
