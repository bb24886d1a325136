/*
 * template.c
 *	  Key templates: parsed, rendered, and compared by the form of what they render.
 *
 * A form is a list of steps, each of which is a set of bytes.  Whether a string has a form is found
 * by a walk over its steps, and whether some string has two forms by a walk over the steps of both.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "utils/datetime.h"
#include "utils/formatting.h"

#include "models/template/template.h"
#include "server/errors.h"

#define MAX_WIDTH ITEM_NUMBER_DIGITS

/* This is twice what a key holds, as names may be long: work and memory grow with the square. */
#define MAX_TEMPLATE 4096

/* A part of a timestamp looks like this, where 0 is a digit. */
static const char timestamp_form[] = "0000-00-00T00:00:00";
static const int unit_lengths[] = {0, 4, 7, 10, 13, 16, 19};
static const char *const unit_names[] = {"", "year", "month", "day", "hour", "minute", "second"};

/*
 * Parsing
 */

pg_noreturn static void
fail_template(ItemSpan text, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid key template \"%s\": %s", item_quoted(text), message)));
}

static bool
is_punctuation(char c)
{
	return (unsigned char) c < 0x80 && !isalnum((unsigned char) c);
}

static bool
is_placeholder(const TemplatePart *part)
{
	return part->npath > 0;
}

static TemplatePart *
add_part(Template *t)
{
	t->parts = t->parts == NULL ? palloc(sizeof(TemplatePart))
								: repalloc(t->parts, (t->nparts + 1) * sizeof(TemplatePart));
	memset(&t->parts[t->nparts], 0, sizeof(TemplatePart));
	return &t->parts[t->nparts++];
}

/* Parses a literal up to the next placeholder, with "<<" as "<"; returns where it ends. */
static const char *
parse_literal(Template *t, const char *p, const char *end)
{
	TemplatePart *part;
	char *literal = palloc(end - p);
	uint32 len = 0;

	for (; p < end; p++)
	{
		if (*p == '<' && (p + 1 == end || p[1] != '<'))
			break;
		p += *p == '<';
		literal[len++] = *p;
	}
	if (len > 0)
	{
		part = add_part(t);
		part->literal = (ItemSpan){literal, len};
	}
	return p;
}

static void
parse_width(Template *t, TemplatePart *part, ItemSpan format)
{
	const char *digits = format.data;
	uint32 len = format.len;

	part->reversed = *digits == '-';
	digits += part->reversed;
	len -= part->reversed;
	if (len < 2 || len > 3 || digits[0] != '0' || strspn(digits, "0123456789") < len)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid key template \"%s\": unknown format \"%s\"", item_quoted(t->text),
						item_quoted(format)),
				 errhint("Formats are text, upper, lower, year, month, day, hour, minute, second, "
						 "and a number of digits that begins with 0, such as 05 or -05.")));
	part->width = atoi(digits);
	if (part->width < 1 || part->width > MAX_WIDTH)
		fail_template(t->text, psprintf("numbers are padded to 1 to %d digits", MAX_WIDTH));
}

static void
parse_format(Template *t, TemplatePart *part, ItemSpan format)
{
	if (item_span_is(format, "text"))
		return;
	part->upper = item_span_is(format, "upper");
	part->lower = item_span_is(format, "lower");
	for (int unit = TEMPLATE_YEAR; unit <= TEMPLATE_SECOND; unit++)
	{
		if (item_span_is(format, unit_names[unit]))
			part->unit = (TemplateUnit) unit;
	}
	if (!part->upper && !part->lower && part->unit == TEMPLATE_WHOLE)
	{
		if (format.len == 0)
			fail_template(t->text, "empty format");
		parse_width(t, part, format);
	}
}

/* Parses a name, or several with dots between. */
static void
parse_path(Template *t, TemplatePart *part, ItemSpan names)
{
	const char *p = names.data;
	const char *end = names.data + names.len;

	part->path = palloc((names.len + 1) * sizeof(ItemSpan));
	for (;;)
	{
		const char *dot = memchr(p, '.', end - p);
		const char *stop = dot == NULL ? end : dot;

		if (stop == p)
			fail_template(t->text, "a placeholder without a name");
		part->path[part->npath++] = (ItemSpan){p, (uint32) (stop - p)};
		if (dot == NULL)
			return;
		p = dot + 1;
	}
}

/* Parses a placeholder from behind "<" on; returns what follows ">". */
static const char *
parse_placeholder(Template *t, const char *p, const char *end)
{
	const char *close = memchr(p, '>', end - p);
	const char *colon;
	TemplatePart *part;

	if (close == NULL)
		fail_template(t->text, "a placeholder does not end");
	part = add_part(t);
	part->source = (ItemSpan){p, (uint32) (close - p)};
	colon = memchr(p, ':', close - p);
	if (colon != NULL)
		parse_format(t, part, (ItemSpan){colon + 1, (uint32) (close - colon - 1)});
	parse_path(t, part, (ItemSpan){p, (uint32) ((colon == NULL ? close : colon) - p)});
	return close + 1;
}

/*
 * Tells each placeholder which punctuation stands on either side of it.  A "-" before a placeholder
 * that ends the template is not told: dates and the like, which may be its value, have it in them.
 */
static void
link_parts(Template *t)
{
	for (int i = 0; i < t->nparts; i++)
	{
		TemplatePart *part = &t->parts[i];
		const TemplatePart *before = i > 0 ? part - 1 : NULL;
		const TemplatePart *after = i + 1 < t->nparts ? part + 1 : NULL;

		if (!is_placeholder(part))
			continue;
		if (after != NULL && is_placeholder(after))
			fail_template(t->text, psprintf("nothing stands between <%s> and <%s>",
											item_quoted(part->source), item_quoted(after->source)));
		if (before != NULL && is_punctuation(before->literal.data[before->literal.len - 1]) &&
			(after != NULL || before->literal.data[before->literal.len - 1] != '-'))
			part->before = before->literal.data[before->literal.len - 1];
		if (after != NULL && is_punctuation(after->literal.data[0]))
			part->after = after->literal.data[0];
		if (i + 2 < t->nparts)
			part->literal = after->literal;
	}
}

/*
 * The form of what is rendered
 */

static inline bool
step_has(const TemplateStep *step, unsigned char byte)
{
	return (step->bytes[byte >> 6] >> (byte & 63) & 1) != 0;
}

static inline void
step_add(TemplateStep *step, unsigned char byte)
{
	step->bytes[byte >> 6] |= UINT64CONST(1) << (byte & 63);
}

static TemplateStep *
add_step(Template *t)
{
	return &t->steps[t->nsteps++];
}

static void
add_byte(Template *t, char byte)
{
	step_add(add_step(t), (unsigned char) byte);
}

static void
add_digit(Template *t)
{
	TemplateStep *step = add_step(t);

	for (char c = '0'; c <= '9'; c++)
		step_add(step, (unsigned char) c);
}

/* Adds steps for one byte or more, but those that no value may hold. */
static void
add_free(Template *t, const TemplatePart *part)
{
	for (int i = 0; i < 2; i++)
	{
		TemplateStep *step = add_step(t);

		memset(step->bytes, 0xff, sizeof(step->bytes));
		if (part->before != '\0')
			step->bytes[part->before >> 6] &= ~(UINT64CONST(1) << (part->before & 63));
		if (part->after != '\0')
			step->bytes[part->after >> 6] &= ~(UINT64CONST(1) << (part->after & 63));
		step->repeated = i > 0;
	}
}

static int
count_steps(const TemplatePart *part)
{
	if (!is_placeholder(part))
		return (int) part->literal.len;
	if (part->width > 0)
		return part->width;
	return part->unit != TEMPLATE_WHOLE ? unit_lengths[part->unit] : 2;
}

static void
make_steps(Template *t)
{
	int n = 0;

	for (int i = 0; i < t->nparts; i++)
		n += count_steps(&t->parts[i]);
	t->steps = palloc0(n * sizeof(TemplateStep));
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];

		if (is_placeholder(part) && part->width == 0 && part->unit == TEMPLATE_WHOLE)
		{
			add_free(t, part);
			continue;
		}
		for (int k = 0; k < count_steps(part); k++)
		{
			if (!is_placeholder(part))
				add_byte(t, part->literal.data[k]);
			else if (part->width > 0 || timestamp_form[k] == '0')
				add_digit(t);
			else
				add_byte(t, timestamp_form[k]);
		}
	}
	Assert(t->nsteps == n);
}

/*
 * Returns the template that a text describes, in the current memory context, or raises
 * ERRCODE_DYN_VALIDATION.  The text is copied.
 */
Template *
template_parse(ItemSpan text)
{
	Template *t = palloc0(sizeof(Template));
	const char *p;
	const char *end;

	t->text = span_copy(text);
	p = t->text.data;
	end = p + text.len;
	if (text.len > MAX_TEMPLATE)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a key template has at most %d bytes", MAX_TEMPLATE)));
	while (p < end)
	{
		p = parse_literal(t, p, end);
		if (p < end)
			p = parse_placeholder(t, p + 1, end);
	}
	if (t->nparts == 0)
		fail_template(t->text, "it is empty");
	link_parts(t);
	t->whole = t->nparts == 1 && is_placeholder(&t->parts[0]) &&
			   memchr(t->parts[0].source.data, ':', t->parts[0].source.len) == NULL;
	make_steps(t);
	return t;
}

/*
 * Rendering
 */

/*
 * Finds the value that a placeholder stands for in the root value of an item, and points *value at
 * it.  False: the attribute or a part of its path is not there, and *value means nothing.
 */
bool
template_find(const TemplatePart *part, ItemSpan attributes, ItemSpan *value)
{
	*value = attributes;
	for (int i = 0; i < part->npath; i++)
	{
		if (!item_lookup(*value, part->path[i], value))
			return false;
	}
	return true;
}

static const char *
wrong_type(ItemSpan value, const char *wanted)
{
	return psprintf("is of type %s, where a key needs %s", item_type_code(item_type(value)),
					wanted);
}

/* Renders the digits of a number that is padded, or subtracted from as many nines. */
static const char *
render_padded(const TemplatePart *part, ItemSpan value, char *buffer, ItemSpan *out)
{
	char text[ITEM_NUMBER_TEXT];
	int len;

	if (item_type(value) != ITEM_N)
		return wrong_type(value, "N");
	len = item_number_print(item_payload(value), text);
	if (text[0] == '-')
		return psprintf("is %s, and a padded number must not be negative", text);
	if (memchr(text, '.', len) != NULL)
		return psprintf("is %s, and a padded number must be an integer", text);
	if (len > part->width)
		return psprintf("is %s, which does not fit %d %s",
						item_quoted((ItemSpan){text, (uint32) len}), part->width,
						part->width == 1 ? "digit" : "digits");
	*out = (ItemSpan){buffer, (uint32) part->width};
	for (int i = len - part->width; i < len; i++)
	{
		char digit = i < 0 ? '0' : text[i];

		*buffer++ = part->reversed ? (char) ('0' + ('9' - digit)) : digit;
	}
	return NULL;
}

static int
two_digits(const char *p)
{
	return (p[0] - '0') * 10 + p[1] - '0';
}

/* Returns how many characters a string has of a timestamp from its beginning on; 0: none. */
static int
timestamp_length(ItemSpan s)
{
	int n = 0;

	while (n < (int) s.len && timestamp_form[n] != '\0' &&
		   (timestamp_form[n] == '0' ? s.data[n] >= '0' && s.data[n] <= '9'
									 : s.data[n] == timestamp_form[n]))
		n++;
	if ((n >= 7 && (two_digits(s.data + 5) < 1 || two_digits(s.data + 5) > 12)) ||
		(n >= 10 && (two_digits(s.data + 8) < 1 || two_digits(s.data + 8) > 31)) ||
		(n >= 13 && two_digits(s.data + 11) > 23) || (n >= 16 && two_digits(s.data + 14) > 59) ||
		(n >= 19 && two_digits(s.data + 17) > 60))
		return 0;
	return n;
}

/* Returns whether what follows the seconds says UTC, or nothing: digits after a point, and a Z. */
static bool
is_utc_end(const char *p, const char *end)
{
	if (p < end && *p == '.')
	{
		p++;
		if (p == end || *p < '0' || *p > '9')
			return false;
		while (p < end && *p >= '0' && *p <= '9')
			p++;
	}
	return p == end || (*p == 'Z' && p + 1 == end);
}

static const char *
render_unit_of_string(const TemplatePart *part, ItemSpan s, ItemSpan *out)
{
	int length = timestamp_length(s);
	const char *rest = s.data + length;
	const char *end = s.data + s.len;
	bool ends = rest == end || (length >= 16 && *rest == 'Z' && rest + 1 == end) ||
				(length == 19 && is_utc_end(rest, end));

	/* it may end behind any whole unit */
	if (!ends || length < unit_lengths[part->unit] ||
		(length != 4 && length != 7 && length != 10 && length != 13 && length != 16 &&
		 length != 19))
		return psprintf("is \"%s\", which is no timestamp in ISO 8601 and UTC with the %s",
						item_quoted(s), unit_names[part->unit]);
	*out = (ItemSpan){s.data, (uint32) unit_lengths[part->unit]};
	return NULL;
}

#define FIRST_SECOND (INT64CONST(-62135596800)) /* 0001-01-01 */
#define LAST_SECOND INT64CONST(253402300799) /* 9999-12-31 */

static const char *
render_unit_of_number(const TemplatePart *part, ItemSpan number, char *buffer, ItemSpan *out)
{
	char text[ITEM_NUMBER_TEXT];
	int len = item_number_print(number, text);
	char *point = memchr(text, '.', len);
	int digits = (int) (point == NULL ? len : point - text);
	int64 seconds = digits > 13 ? PG_INT64_MAX : strtoll(text, NULL, 10);
	int64 days;
	int year;
	int month;
	int day;

	/* a fraction before 1970 belongs to the second below */
	if (point != NULL && text[0] == '-')
		seconds--;
	if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
		return psprintf("is %s, which is no number of seconds since 1970", text);
	days = (seconds - FIRST_SECOND) / SECS_PER_DAY + FIRST_SECOND / SECS_PER_DAY;
	seconds -= days * SECS_PER_DAY;
	j2date((int) days + UNIX_EPOCH_JDATE, &year, &month, &day);
	snprintf(buffer, ITEM_NUMBER_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
			 (int) (seconds / 3600), (int) (seconds / 60 % 60), (int) (seconds % 60));
	*out = (ItemSpan){buffer, (uint32) unit_lengths[part->unit]};
	return NULL;
}

static const char *
render_unit(const TemplatePart *part, ItemSpan value, char *buffer, ItemSpan *out)
{
	if (item_type(value) == ITEM_S)
		return render_unit_of_string(part, item_payload(value), out);
	if (item_type(value) == ITEM_N)
		return render_unit_of_number(part, item_payload(value), buffer, out);
	return wrong_type(value, "S or N");
}

/* Returns whether a literal is first found behind a text, and not within it. */
static bool
literal_ends(ItemSpan text, ItemSpan literal)
{
	StringInfoData both;
	bool found = false;

	initStringInfo(&both);
	appendBinaryStringInfo(&both, text.data, text.len);
	appendBinaryStringInfo(&both, literal.data, literal.len);
	for (uint32 i = 0; i < text.len && !found; i++)
		found = memcmp(both.data + i, literal.data, literal.len) == 0;
	pfree(both.data);
	return !found;
}

static bool
is_in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/*
 * Returns what is wrong with the text of a placeholder that has neither a width nor a unit, or
 * NULL: it is empty, or it has in it what stands beside the placeholder, so that nobody could tell
 * where it ends.  given is the text before its letters were changed, which messages show.
 */
static const char *
check_free(const TemplatePart *part, ItemSpan text, ItemSpan given)
{
	char found = '\0';

	if (text.len == 0)
		return "is empty";
	if (part->before != '\0' && memchr(text.data, part->before, text.len) != NULL)
		found = part->before;
	else if (part->after != '\0' && memchr(text.data, part->after, text.len) != NULL)
		found = part->after;
	if (found != '\0')
		return psprintf("is \"%s\", and must not hold \"%c\", which is beside it in the key",
						item_quoted(given), found);
	if (part->after == '\0' && part->literal.len > 0 && !literal_ends(text, part->literal))
		return psprintf("is \"%s\", and must not hold \"%s\"%s, which follows it in the key",
						item_quoted(given), item_quoted(part->literal),
						part->upper   ? " in upper case"
						: part->lower ? " in lower case"
									  : "");
	return NULL;
}

/* Returns whether the value is a number, which has nothing in it that is beside the placeholder. */
static bool
is_number_beside(const TemplatePart *part, ItemSpan value)
{
	return item_type(value) == ITEM_N && part->literal.len == 0 && !is_in_number(part->before) &&
		   !is_in_number(part->after);
}

static const char *
render_free(const TemplatePart *part, ItemSpan value, char *buffer, ItemSpan *out)
{
	ItemSpan text = item_payload(value);
	ItemSpan given;

	if (item_type(value) == ITEM_N)
		text = (ItemSpan){buffer, (uint32) item_number_print(text, buffer)};
	else if (item_type(value) == ITEM_BOOL)
		text = item_bool(value) ? (ItemSpan){"true", 4} : (ItemSpan){"false", 5};
	else if (item_type(value) != ITEM_S)
		return wrong_type(value, "S, N or BOOL");
	given = text;
	if (part->upper || part->lower)
	{
		char *changed;

		if (item_type(value) != ITEM_S)
			return wrong_type(value, "S");
		if (memchr(text.data, '\0', text.len) != NULL)
			return "holds U+0000, which has no upper or lower case";
		changed = part->upper ? str_toupper(text.data, text.len, DEFAULT_COLLATION_OID)
							  : str_tolower(text.data, text.len, DEFAULT_COLLATION_OID);
		text = item_span(changed);
	}
	*out = text;
	return is_number_beside(part, value) ? NULL : check_free(part, text, given);
}

/* Points *out at what a placeholder renders of a value.  Returns NULL, or why the value cannot be in the key. */
const char *
template_render_value(const TemplatePart *part, ItemSpan value, char buffer[ITEM_NUMBER_TEXT],
					  ItemSpan *out)
{
	if (part->width > 0)
		return render_padded(part, value, buffer, out);
	if (part->unit != TEMPLATE_WHOLE)
		return render_unit(part, value, buffer, out);
	return render_free(part, value, buffer, out);
}

static const char *
attribute_problem(const TemplatePart *part, const char *problem)
{
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfoString(&message, "attribute \"");
	for (int i = 0; i < part->npath; i++)
	{
		if (i > 0)
			appendStringInfoChar(&message, '.');
		item_quote(&message, part->path[i]);
	}
	appendStringInfo(&message, "\" %s", problem);
	return message.data;
}

/*
 * Appends what a template renders.  Returns NULL, or a message about an attribute that cannot be in
 * the key.  *missing is the first placeholder whose attribute is not there, or NULL.  In both cases
 * out may end with a part of the key, which the caller cuts off.
 */
const char *
template_try_render(const Template *t, ItemSpan attributes, StringInfo out,
					const TemplatePart **missing)
{
	*missing = NULL;
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];
		char buffer[ITEM_NUMBER_TEXT];
		const char *problem;
		ItemSpan value;

		if (!is_placeholder(part))
		{
			appendBinaryStringInfo(out, part->literal.data, part->literal.len);
			continue;
		}
		if (!template_find(part, attributes, &value))
		{
			if (*missing == NULL)
				*missing = part;
			continue;
		}
		problem = template_render_value(part, value, buffer, &value);
		if (problem != NULL)
			return attribute_problem(part, problem);
		appendBinaryStringInfo(out, value.data, value.len);
	}
	return NULL;
}

/*
 * Does the same as template_try_render(), but raises the message as ERRCODE_DYN_VALIDATION.  False:
 * an attribute is missing.
 */
bool
template_render(const Template *t, ItemSpan attributes, StringInfo out,
				const TemplatePart **missing)
{
	const char *problem = template_try_render(t, attributes, out, missing);

	if (problem != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", problem)));
	return *missing == NULL;
}

/*
 * Taking apart
 */

/* Returns how many bytes a part has at the beginning of a string that has the form of the rest. */
static uint32
part_length(const Template *t, int i, ItemSpan string)
{
	const TemplatePart *part = &t->parts[i];
	uint32 len = 0;

	if (!is_placeholder(part))
		return part->literal.len;
	if (part->width > 0 || part->unit != TEMPLATE_WHOLE)
		return (uint32) count_steps(part);
	if (i + 1 == t->nparts)
		return string.len;
	/* a value has not what could be taken for the next literal */
	while (len + part[1].literal.len <= string.len &&
		   memcmp(string.data + len, part[1].literal.data, part[1].literal.len) != 0)
		len++;
	return len;
}

/* Returns the number that a text is, without the zeros and the nines of padding. */
static ItemSpan
taken_number(const TemplatePart *part, ItemSpan text)
{
	char *number = palloc(1 + ITEM_NUMBER_SIZE);
	char *digits = pnstrdup(text.data, text.len);
	int len;

	for (uint32 i = 0; part->reversed && i < text.len; i++)
		digits[i] = (char) ('0' + ('9' - digits[i]));
	len = item_number_parse(digits, text.len, number + 1);
	if (len < 0)
		return (ItemSpan){NULL, 0};
	number[0] = (char) ITEM_N;
	return (ItemSpan){number, (uint32) len + 1};
}

/* Returns the value of an attribute of a type that a placeholder renders as a text, or no data. */
static ItemSpan
taken_value(const TemplatePart *part, ItemType type, ItemSpan text)
{
	static const char bools[] = {ITEM_BOOL | ITEM_TRUE, ITEM_BOOL};
	ItemSpan value = {NULL, 0};
	char buffer[ITEM_NUMBER_TEXT];
	ItemSpan again;
	char *tagged;

	if (type == ITEM_N)
		value = taken_number(part, text);
	else if (type == ITEM_BOOL)
		value = item_span_is(text, "true") ? (ItemSpan){bools, 1} : (ItemSpan){bools + 1, 1};
	else if (type == ITEM_S)
	{
		tagged = palloc(1 + text.len);
		tagged[0] = (char) ITEM_S;
		memcpy(tagged + 1, text.data, text.len);
		value = (ItemSpan){tagged, 1 + text.len};
	}
	if (value.data == NULL)
		return value;
	if (template_render_value(part, value, buffer, &again) != NULL ||
		item_compare_bytes(again, text) != 0)
		value.data = NULL;
	return value;
}

/* Takes a string apart into the values of its placeholders, in the current memory context. */
void
template_take(const Template *t, ItemSpan string, const ItemType *types, ItemSpan *values)
{
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];
		ItemSpan text = {string.data, Min(part_length(t, i, string), string.len)};

		values[i] = (ItemSpan){NULL, 0};
		if (is_placeholder(part) && !part->upper && !part->lower && part->unit == TEMPLATE_WHOLE)
			values[i] = taken_value(part, types[i], text);
		string.data += text.len;
		string.len -= text.len;
	}
}

/*
 * Comparing
 */

/* Marks where steps may begin besides at one: behind all that may be left out. */
static void
mark_from(const Template *t, bool *marked, int i)
{
	for (;;)
	{
		marked[i] = true;
		if (i == t->nsteps || !t->steps[i].repeated)
			return;
		i++;
	}
}

/* Returns whether a string has the form of what the template renders. */
bool
template_fits(const Template *t, ItemSpan string)
{
	bool *now = palloc0((t->nsteps + 1) * sizeof(bool));
	bool *next = palloc((t->nsteps + 1) * sizeof(bool));
	bool fits;

	mark_from(t, now, 0);
	for (uint32 k = 0; k < string.len; k++)
	{
		bool *swap = now;

		memset(next, 0, (t->nsteps + 1) * sizeof(bool));
		for (int i = 0; i < t->nsteps; i++)
		{
			if (now[i] && step_has(&t->steps[i], (unsigned char) string.data[k]))
				mark_from(t, next, t->steps[i].repeated ? i : i + 1);
		}
		now = next;
		next = swap;
	}
	fits = now[t->nsteps];
	pfree(now);
	pfree(next);
	return fits;
}

static bool
steps_meet(const TemplateStep *a, const TemplateStep *b)
{
	for (int i = 0; i < 4; i++)
	{
		if ((a->bytes[i] & b->bytes[i]) != 0)
			return true;
	}
	return false;
}

/*
 * Returns whether some string has the forms of both.  reached has whether the same bytes lead to
 * step i of one and to step k of the other.  Each pair of steps comes behind all those that lead to
 * it.
 */
bool
template_overlaps(const Template *a, const Template *b)
{
	int width = b->nsteps + 1;
	bool *reached = palloc0((Size) (a->nsteps + 1) * width * sizeof(bool));
	bool overlaps;

	reached[0] = true;
	for (int i = 0; i <= a->nsteps; i++)
	{
		const TemplateStep *x = i < a->nsteps ? &a->steps[i] : NULL;

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k <= b->nsteps; k++)
		{
			const TemplateStep *y = k < b->nsteps ? &b->steps[k] : NULL;
			bool *here = &reached[(Size) i * width + k];

			if (!*here)
				continue;
			if (x != NULL && x->repeated)
				here[width] = true;
			if (y != NULL && y->repeated)
				here[1] = true;
			if (x == NULL || y == NULL || !steps_meet(x, y))
				continue;
			/* a byte of both: what repeats may stay, and both staying changes nothing */
			if (!x->repeated && !y->repeated)
				here[width + 1] = true;
			else if (!x->repeated)
				here[width] = true;
			else if (!y->repeated)
				here[1] = true;
		}
	}
	overlaps = reached[(Size) a->nsteps * width + b->nsteps];
	pfree(reached);
	return overlaps;
}

/*
 * Returns whether no placeholder changes the case of letters or cuts a timestamp, so that different
 * attributes make different strings.  False is no proof that they do not.
 */
bool
template_is_injective(const Template *t)
{
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];

		if (part->upper || part->lower || part->unit != TEMPLATE_WHOLE)
			return false;
	}
	return true;
}
