/*
 * member.c
 *	  Members of a JSON object, found without reading what they hold.
 */
#include "member.h"

#include <ctype.h>
#include <stdint.h>
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

/* Goes to the first or the next of what stands between two signs; returns whether there is one. */
static bool
scan_go(Scan *scan, char opening, char closing)
{
	bool found = scan->begun ? scan_next(scan) : scan_enter(scan, opening);

	if (!found && !scan->begun)
		return false;
	scan->begun = true;
	if (found && !at_end(scan, closing))
		return true;
	scan->whole = scan->at < scan->end && *scan->at == closing;
	return false;
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
	if (!scan_go(scan, '{', '}'))
		return false;
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

/* Returns the value of a member of an object; does not find a name with escapes. */
Member
member_of(Member object, Member name)
{
	MemberScan scan = member_scan(object);
	Member found;
	Member value;

	while (member_next(&scan, &found, &value))
	{
		if (found.length == name.length && memcmp(found.text, name.text, name.length) == 0)
			return value;
	}
	return (Member){NULL, 0};
}

/* Does so for the object in a text. */
Member
member_find(const char *json, size_t length, const char *name)
{
	return member_of((Member){json, length}, (Member){name, strlen(name)});
}

/* Reads four hexadecimal digits. */
static bool
read_unit(const char *text, const char *end, uint32_t *unit)
{
	*unit = 0;
	if (end - text < 4)
		return false;
	for (int i = 0; i < 4; i++)
	{
		const char *digits = "0123456789abcdef";
		const char *digit = strchr(digits, tolower((unsigned char) text[i]));

		if (text[i] == '\0' || digit == NULL)
			return false;
		*unit = *unit << 4 | (uint32_t) (digit - digits);
	}
	return true;
}

/* Writes a character as UTF-8, and returns how many bytes it has. */
static size_t
write_character(uint32_t c, char *out)
{
	size_t n = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	for (size_t i = n; i > 0; i--, c >>= 6)
		out[i] = (char) (0x80 | (c & 0x3f));
	out[0] = (char) (n == 0 ? c : (0xff00 >> (n + 1) | c) & 0xff);
	return n + 1;
}

/* Reads what is behind a backslash, and returns what follows; NULL: it is no character. */
static const char *
read_escape(const char *at, const char *end, uint32_t *c)
{
	static const char escapes[] = "\"\\/bfnrt";
	static const char characters[] = "\"\\/\b\f\n\r\t";
	const char *escape;
	uint32_t low;

	if (at == end || *at == '\0')
		return NULL;
	escape = strchr(escapes, *at);
	if (escape != NULL)
	{
		*c = (unsigned char) characters[escape - escapes];
		return at + 1;
	}
	if (*at != 'u' || !read_unit(at + 1, end, c))
		return NULL;
	at += 5;
	if (*c < 0xd800 || *c > 0xdfff)
		return at;
	if (*c > 0xdbff || end - at < 6 || at[0] != '\\' || at[1] != 'u' ||
		!read_unit(at + 2, end, &low) || low < 0xdc00 || low > 0xdfff)
		return NULL;
	*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
	return at + 6;
}

/* Reads a value that is a string, into so many bytes, with a NUL behind.  False if it is none, or has
 * more bytes. */
bool
member_string(Member value, char *out, size_t size, size_t *length)
{
	const char *at;
	const char *end;

	*length = 0;
	if (value.length < 2 || *value.text != '"' || value.text[value.length - 1] != '"')
		return false;
	end = value.text + value.length - 1;
	at = value.text + 1;
	while (at < end)
	{
		uint32_t c;

		/* a character, and the NUL */
		if (*length + 5 > size)
			return false;
		if (*at != '\\')
		{
			out[(*length)++] = *at++;
			continue;
		}
		at = read_escape(at + 1, end, &c);
		if (at == NULL)
			return false;
		*length += write_character(c, out + *length);
	}
	out[*length] = '\0';
	return true;
}

/* Reads the next element of an array, which is scanned as an object is.  False if there is none. */
bool
member_next_element(MemberScan *scan, Member *value)
{
	if (!scan_go(scan, '[', ']'))
		return false;
	value->text = scan->at;
	skip_value(scan);
	value->length = (size_t) (scan->at - value->text);
	return true;
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
