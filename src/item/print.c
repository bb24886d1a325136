/*
 * print.c
 *	  From a value to text: DynamoDB JSON, and plain JSON.
 */
#include "postgres.h"

#include "common/base64.h"
#include "miscadmin.h"

#include "item/item.h"

/*
 * Appends bytes as appendBinaryStringInfo() does, but inline: an item is written in many small
 * pieces, and a call for each of them would take most of the time of a query's output.
 */
static inline void
print_put(StringInfo out, const char *data, int len)
{
	if (unlikely(out->maxlen - out->len <= len))
		enlargeStringInfo(out, len);
	memcpy(out->data + out->len, data, len);
	out->len += len;
	out->data[out->len] = '\0';
}

/* Returns where a number of bytes can be written. */
static inline char *
room(StringInfo out, uint32 len)
{
	if (unlikely(out->maxlen - out->len <= (int) len))
		enlargeStringInfo(out, (int) len);
	return out->data + out->len;
}

/* Ends what was written there. */
static inline void
written(StringInfo out, char *end)
{
	out->len = (int) (end - out->data);
	*end = '\0';
}

#define put_literal(out, literal) print_put(out, literal, sizeof(literal) - 1)

#define EACH_BYTE UINT64CONST(0x0101010101010101)

/* Returns whether a byte of x is below n, which is at most 128. */
static inline bool
has_less(uint64 x, uint8 n)
{
	return ((x - EACH_BYTE * n) & ~x & EACH_BYTE * 0x80) != 0;
}

static inline bool
has_byte(uint64 x, uint8 byte)
{
	return has_less(x ^ EACH_BYTE * byte, 1);
}

static inline bool
needs_escape(unsigned char c)
{
	return c < ' ' || c == '"' || c == '\\';
}

/* Returns whether one of eight bytes needs an escape. */
static inline bool
any_needs_escape(uint64 x)
{
	return has_less(x, ' ') || has_byte(x, '"') || has_byte(x, '\\');
}

/* Returns the first byte that needs an escape, or the end; looks at eight bytes at a time. */
static const char *
find_escape(const char *p, const char *end)
{
	for (; end - p >= 8; p += 8)
	{
		uint64 x;

		memcpy(&x, p, 8);
		if (any_needs_escape(x))
			break;
	}
	while (p < end && !needs_escape((unsigned char) *p))
		p++;
	return p;
}

/* Copies up to seven bytes; false if one needs an escape. */
static inline bool
copy_few(char *to, const char *from, uint32 len)
{
	uint32 low;
	uint32 high;

	if (len >= 4)
	{
		/* the two overlap */
		memcpy(&low, from, 4);
		memcpy(&high, from + len - 4, 4);
		memcpy(to, &low, 4);
		memcpy(to + len - 4, &high, 4);
		return !any_needs_escape((uint64) high << 32 | low);
	}
	for (uint32 i = 0; i < len; i++)
	{
		if (needs_escape((unsigned char) from[i]))
			return false;
		to[i] = from[i];
	}
	return true;
}

/*
 * Copies a string in quotes, for which there is room.  Returns the end, or NULL if it needs escapes.
 */
static inline char *
copy_string(char *to, ItemSpan s)
{
	const char *from = s.data;
	uint32 left = s.len;
	uint64 x;

	*to++ = '"';
	for (; left >= 8; left -= 8, from += 8, to += 8)
	{
		memcpy(&x, from, 8);
		if (any_needs_escape(x))
			return NULL;
		memcpy(to, &x, 8);
	}
	if (!copy_few(to, from, left))
		return NULL;
	to += left;
	*to++ = '"';
	return to;
}

static void
print_escape(StringInfo out, unsigned char c)
{
	switch (c)
	{
		case '"':
			put_literal(out, "\\\"");
			break;
		case '\\':
			put_literal(out, "\\\\");
			break;
		case '\b':
			put_literal(out, "\\b");
			break;
		case '\f':
			put_literal(out, "\\f");
			break;
		case '\n':
			put_literal(out, "\\n");
			break;
		case '\r':
			put_literal(out, "\\r");
			break;
		case '\t':
			put_literal(out, "\\t");
			break;
		default:
			appendStringInfo(out, "\\u%04x", c);
	}
}

static void
print_escaped(StringInfo out, ItemSpan s)
{
	const char *p = s.data;
	const char *end = p + s.len;

	put_literal(out, "\"");
	for (;;)
	{
		const char *escape = find_escape(p, end);

		print_put(out, p, escape - p);
		if (escape == end)
			break;
		print_escape(out, (unsigned char) *escape);
		p = escape + 1;
	}
	put_literal(out, "\"");
}

/* Prints a JSON string.  U+0000 can be in it, so escape_json() does not serve. */
void
item_print_string(StringInfo out, ItemSpan s)
{
	char *end = copy_string(room(out, s.len + 2), s);

	if (end != NULL)
		written(out, end);
	else
		print_escaped(out, s);
}

static void
print_number(StringInfo out, ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];

	print_put(out, text, item_number_print(number, text));
}

/* Returns base64 without line breaks, palloc'd and not ended with a NUL. */
char *
item_base64(ItemSpan bytes, int *len)
{
	int size = pg_b64_enc_len(bytes.len);
	char *text = palloc(size + 1);

	*len = pg_b64_encode((const void *) bytes.data, bytes.len, text, size + 1);
	Assert(*len >= 0);
	return text;
}

static void
print_base64(StringInfo out, ItemSpan bytes)
{
	int len;
	char *text = item_base64(bytes, &len);

	put_literal(out, "\"");
	print_put(out, text, len);
	put_literal(out, "\"");
	pfree(text);
}

/* Prints a scalar's payload; N is a string in DynamoDB JSON and a number in plain JSON. */
static void
print_scalar(StringInfo out, ItemType type, ItemSpan payload, bool typed)
{
	if (type == ITEM_S)
		item_print_string(out, payload);
	else if (type == ITEM_B)
		print_base64(out, payload);
	else if (typed)
	{
		put_literal(out, "\"");
		print_number(out, payload);
		put_literal(out, "\"");
	}
	else
		print_number(out, payload);
}

static void
print_bool(StringInfo out, bool value)
{
	if (value)
		put_literal(out, "true");
	else
		put_literal(out, "false");
}

/* Prints what a value with a type code begins with. */
static void
print_type(StringInfo out, ItemType type)
{
	if (type == ITEM_S)
		put_literal(out, "{\"S\":");
	else
	{
		const char *code = item_type_code(type);

		put_literal(out, "{\"");
		print_put(out, code, strlen(code));
		put_literal(out, "\":");
	}
}

static void print_value(StringInfo out, ItemSpan value, bool typed);

/* This is the length of "a":{"S":, with a comma before it and a quote, brace and NUL behind. */
#define AROUND_ATTRIBUTE 16

/*
 * Prints an attribute that is a string or a number without escapes, as most are, where room is made
 * once for all of it.  Returns false if it is something else, and has printed nothing then.
 */
static bool
print_simple(StringInfo out, ItemSpan name, ItemSpan value, bool typed)
{
	bool is_string = item_type(value) == ITEM_S;
	ItemSpan payload = item_payload(value);
	char *p;

	if (!is_string && item_type(value) != ITEM_N)
		return false;
	p = room(out, name.len + (is_string ? payload.len : ITEM_NUMBER_TEXT) + AROUND_ATTRIBUTE);
	p = copy_string(p, name);
	if (p == NULL)
		return false;
	*p++ = ':';
	if (typed)
	{
		memcpy(p, is_string ? "{\"S\":" : "{\"N\":\"", 6);
		p += is_string ? 5 : 6;
	}
	p = is_string ? copy_string(p, payload) : p + item_number_print(payload, p);
	if (p == NULL)
		return false;
	if (typed && !is_string)
		*p++ = '"';
	if (typed)
		*p++ = '}';
	written(out, p);
	return true;
}

static void
print_map(StringInfo out, ItemSpan map, bool typed)
{
	put_literal(out, "{");
	for (ItemMembers m = item_members(map); item_next(&m);)
	{
		if (m.n > 1)
			put_literal(out, ",");
		if (print_simple(out, m.name, m.value, typed))
			continue;
		item_print_string(out, m.name);
		put_literal(out, ":");
		print_value(out, m.value, typed);
	}
	put_literal(out, "}");
}

static void
print_elements(StringInfo out, ItemSpan value, bool typed)
{
	ItemChildren c = item_children(value);
	ItemType type = item_type(value);

	put_literal(out, "[");
	for (uint32 i = 0; i < c.count; i++)
	{
		if (i > 0)
			put_literal(out, ",");
		if (type == ITEM_L)
			print_value(out, item_child(&c, i), typed);
		else
			print_scalar(out, item_element_type(type), item_child(&c, i), typed);
	}
	put_literal(out, "]");
}

static void
print_value(StringInfo out, ItemSpan value, bool typed)
{
	ItemType type = item_type(value);

	check_stack_depth();
	if (typed)
		print_type(out, type);
	if (type == ITEM_M)
		print_map(out, value, typed);
	else if (item_type_has_children(type))
		print_elements(out, value, typed);
	else if (type == ITEM_BOOL)
		print_bool(out, item_bool(value));
	else if (type == ITEM_NULL && typed)
		print_bool(out, true);
	else if (type == ITEM_NULL)
		put_literal(out, "null");
	else
		print_scalar(out, type, item_payload(value), typed);
	if (typed)
		put_literal(out, "}");
}

/* Prints a value with its type code: {"S":"a"}. */
void
item_print_typed(StringInfo out, ItemSpan value)
{
	print_value(out, value, true);
}

/* Prints a map without its own type code, as items are written: {"a":{"S":"b"}}. */
void
item_print_attributes(StringInfo out, ItemSpan map)
{
	print_map(out, map, true);
}

/*
 * Appends a value as plain JSON, without type codes: sets become arrays, B becomes a string in
 * base64.
 */
void
item_print_plain(StringInfo out, ItemSpan value)
{
	print_value(out, value, false);
}
