/*
 * item.h
 *	  The item on disk, on the wire and in memory: one encoding, drawn here.
 *
 *		dyn_item, dyn_value := varlena header, format byte, value
 *
 *	The root value of a dyn_item is an M; a dyn_value holds any one value.  The format
 *	byte is 0x10: version 1 in the high nibble, flags in the low one.  The one flag marks a
 *	placeholder, see store/placeholder.c; no input may have it, and no statement ever sees it.
 *	Nothing is aligned, so short varlena headers cost nothing, and integers are little-endian
 *	everywhere, so what recv and send exchange is the same bytes.
 *
 *		value	  := tag, payload			its length is always known from outside
 *		tag		  := type code (low nibble) | detail (high nibble)
 *		detail	  := BOOL: 0 or 1; L M SS NS BS: log2 of the width W (0, 1, 2); else 0
 *
 *		payload of S	UTF-8 bytes, U+0000 allowed
 *		payload of B	the bytes
 *		payload of N	packed decimal, see number.c
 *		payload of BOOL and NULL	nothing
 *		payload of L M SS NS BS		count[W], end[W] * count, data
 *
 *	end[i] is where child i ends in data; W is the smallest width that holds both the
 *	count and the size of data.  A child of L is a value; of a set the payload of an S,
 *	N or B; of M it is the name's length (7 bits a byte, low ones first, high bit =
 *	more), the name, and a value.
 *
 *	Invariant: the encoding is canonical.  Names and set elements are sorted, those of NS
 *	by value, and distinct; numbers and widths have one form.  So two values are equal by DynamoDB's
 *	rules exactly if their bytes are equal, and a hash of the bytes is a hash of the
 *	value.  Whoever builds a value goes through ItemBuilder or item_validate().
 *
 *	Bytes that are stored may be damaged nevertheless.  The functions below are the only
 *	way into a value, and each checks the lengths that it is about to trust: a value that is
 *	not what it says is ERRCODE_DATA_CORRUPTED, and never read outside its bytes.
 *
 *		build.c		ItemBuilder: the one way to make a value
 *		parse.c		from JSON text to values
 *		print.c		from values to JSON text
 *		cast.c		from values to PostgreSQL's numbers and boolean
 *		reader.c	JSON around items: requests, and lists of actions
 *		token.c		what DynamoDB says of JSON of a wrong type
 *		skip.c		JSON that nobody looks at
 *		validate.c	whether bytes from outside are a value
 *		io.c		input and output functions of the types
 *		json.c		casts from and to json and jsonb
 *		array.c		casts from JSON arrays to arrays of items
 *		number.c	exact decimal numbers: their encoding, addition
 *		numeric.c	between N and numeric
 *		value.c		finding things in a value, and values of their own
 *		access.c	operators: -> ->> #> #>> ?
 *		compare.c	equality, order and hashing; dyn_size()
 *		size.c		sizes by DynamoDB's rules
 *		type.c		the type codes
 *		json_writer.c	JSON, written as text
 *		fields.c	JSON objects whose members are fields of a struct
 */
#ifndef DYNAMO_TABLE_ITEM_ITEM_H
#define DYNAMO_TABLE_ITEM_ITEM_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/numeric.h"

#include "server/compat.h"
#include "server/span.h"

typedef enum ItemType
{
	ITEM_S = 1,
	ITEM_N,
	ITEM_B,
	ITEM_BOOL,
	ITEM_NULL,
	ITEM_L,
	ITEM_M,
	ITEM_SS,
	ITEM_NS,
	ITEM_BS
} ItemType;

#define ITEM_TYPE_LAST ITEM_BS
#define ITEM_FORMAT 0x10
#define ITEM_FORMAT_PLACEHOLDER 0x11
#define ITEM_MAX_SIZE (400 * 1024) /* by DynamoDB's formula, see size.c */
#define ITEM_MAX_NESTING 32 /* lists and maps inside an attribute that is stored */
#define ITEM_CALL_NESTING 31 /* the same of what a call brings or makes */
#define ITEM_MAX_NAME 65535

/*
 * An item within ITEM_MAX_SIZE never needs more: a set element of one byte takes up to
 * five here, and one element may be empty.  Input stops as soon as it passes this.
 */
#define ITEM_MAX_ENCODED (6 * ITEM_MAX_SIZE)

/* This is both SQL types; only the root's type tells them apart. */
typedef struct varlena DynItem;

#define DatumGetDynItem(d) ((DynItem *) PG_DETOAST_DATUM_PACKED(d))
#define PG_GETARG_DYN_ITEM(n) DatumGetDynItem(PG_GETARG_DATUM(n))

/* Returns argument i, detoasted if need be, or NULL if the argument is null. */
static inline DynItem *
argument_item(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_DYN_ITEM(i);
}

/* ItemChildren are those of an L, M or set, ready for access by number. */
typedef struct ItemChildren
{
	const char *ends;
	const char *data;
	uint32 count;
	uint32 size; /* of data */
	int width;
} ItemChildren;

/* validate.c: the error of a value that is not in the form above */
pg_noreturn extern void item_fail_invalid(void);

static inline ItemType
item_type(ItemSpan value)
{
	unsigned int code = value.len == 0 ? 0 : (unsigned char) value.data[0] & 0x0f;

	if (unlikely(code - ITEM_S > (unsigned int) (ITEM_TYPE_LAST - ITEM_S)))
		item_fail_invalid();
	return (ItemType) code;
}

/* of a BOOL, beside its type */
#define ITEM_TRUE 0x10

static inline bool
item_bool(ItemSpan value)
{
	return (value.data[0] & ITEM_TRUE) != 0;
}

static inline bool
item_type_is_set(ItemType type)
{
	return type >= ITEM_SS;
}

static inline bool
item_type_has_children(ItemType type)
{
	return type >= ITEM_L;
}

/* Returns the scalar type of a set's elements. */
static inline ItemType
item_element_type(ItemType set)
{
	return (ItemType) (ITEM_S + (set - ITEM_SS));
}

static inline ItemSpan
item_payload(ItemSpan value)
{
	if (unlikely(value.len == 0))
		item_fail_invalid();
	return (ItemSpan){value.data + 1, value.len - 1};
}

static inline ItemSpan
item_root(const DynItem *item)
{
	if (unlikely(VARSIZE_ANY_EXHDR(item) < 2))
		item_fail_invalid();
	return (ItemSpan){VARDATA_ANY(item) + 1, VARSIZE_ANY_EXHDR(item) - 1};
}

static inline uint32
item_read_uint(const char *at, int width)
{
	const unsigned char *p = (const unsigned char *) at;

	if (width == 1)
		return p[0];
	if (width == 2)
		return p[0] | (uint32) p[1] << 8;
	return p[0] | (uint32) p[1] << 8 | (uint32) p[2] << 16 | (uint32) p[3] << 24;
}

static inline ItemChildren
item_children(ItemSpan value)
{
	int log_width = value.len == 0 ? 0 : ((unsigned char) value.data[0]) >> 4;
	ItemChildren c;

	c.width = 1 << log_width;
	if (unlikely(log_width > 2 || value.len < 1 + (uint32) c.width))
		item_fail_invalid();
	c.count = item_read_uint(value.data + 1, c.width);
	c.size = value.len - 1 - c.width;
	if (unlikely(c.count > c.size >> log_width))
		item_fail_invalid();
	c.size -= c.count << log_width;
	c.ends = value.data + 1 + c.width;
	c.data = c.ends + (Size) c.count * c.width;
	return c;
}

/* Returns a child; i is less than the count. */
static inline ItemSpan
item_child(const ItemChildren *c, uint32 i)
{
	uint32 start = i == 0 ? 0 : item_read_uint(c->ends + (Size) (i - 1) * c->width, c->width);
	uint32 end = item_read_uint(c->ends + (Size) i * c->width, c->width);

	if (unlikely(start > end || end > c->size))
		item_fail_invalid();
	return (ItemSpan){c->data + start, end - start};
}

/* Split a child of M into its name and its value. */
static inline ItemSpan
item_entry(ItemSpan child, ItemSpan *name)
{
	const unsigned char *p = (const unsigned char *) child.data;
	uint32 bytes = 0;
	uint32 len = 0;

	do
	{
		if (unlikely(bytes == child.len || bytes == 3))
			item_fail_invalid();
		len |= (uint32) (p[bytes] & 0x7f) << (7 * bytes);
	} while (p[bytes++] & 0x80);
	if (unlikely(len > child.len - bytes))
		item_fail_invalid();
	*name = (ItemSpan){child.data + bytes, len};
	return (ItemSpan){name->data + len, child.len - bytes - len};
}

/* ItemMembers goes through those of an M, in the order of their names. */
typedef struct ItemMembers
{
	ItemChildren all;
	uint32 n; /* of those before the next one */
	ItemSpan name;
	ItemSpan value;
} ItemMembers;

static inline ItemMembers
item_members(ItemSpan map)
{
	return (ItemMembers){item_children(map)};
}

/* Goes to the next member, first of all to the first one.  False: there are no more. */
static inline bool
item_next(ItemMembers *m)
{
	if (m->n == m->all.count)
		return false;
	m->value = item_entry(item_child(&m->all, m->n++), &m->name);
	return true;
}

/* io.c */
extern PGDLLEXPORT Datum dyn_item_in(PG_FUNCTION_ARGS);

/* json.c */
struct ItemBuilder;
extern PGDLLEXPORT Datum dyn_item_from_jsonb(PG_FUNCTION_ARGS);
extern void item_build_jsonb(struct ItemBuilder *b, Datum jsonb);
extern Datum item_to_jsonb(ItemSpan value);

/* value.c */
extern int item_position(const ItemChildren *map, ItemSpan name, ItemSpan *value);
#ifdef USE_ASSERT_CHECKING
extern uint64 item_finds; /* calls of item_find() */
#endif
extern bool item_find_near(const ItemChildren *map, ItemSpan name, uint32 *place, ItemSpan *value);
extern bool item_find(const ItemChildren *map, ItemSpan name, ItemSpan *value);
extern bool item_lookup(ItemSpan map, ItemSpan name, ItemSpan *value);
extern bool item_spans_equal(const ItemSpan *a, int na, const ItemSpan *b, int nb);
extern const char *item_case_hint(const ItemChildren *map, ItemSpan name);
extern int item_element_compare(ItemType type, ItemSpan a, ItemSpan b);
extern bool item_set_contains(ItemSpan set, ItemSpan element);
extern int item_nesting(ItemSpan value);
extern DynItem *item_from_value(ItemSpan value);

/* type.c */
extern const char *item_type_code(ItemType type);
extern ItemType item_type_from_code(ItemSpan code);
#define ITEM_NESTING_WORDS "Nesting Levels have exceeded supported limits"
#define ITEM_NESTING_WORDS_LONG \
	ITEM_NESTING_WORDS ": Attributes in the item have nested levels beyond supported limit"
#define ITEM_LONG_NAME_WORDS "Attribute name is too large, must be less than 65536 bytes"

/* size.c */
typedef enum ItemSizeRule
{
	ITEM_SIZE_NOW, /* DynamoDB's, for all that is counted, and for what a call brings or makes */
	ITEM_SIZE_STORED /* that of before, by which what is stored is limited: dumps have it */
} ItemSizeRule;

extern Size item_size(ItemSpan root);
extern Size item_size_by(ItemSpan root, ItemSizeRule rule);
extern Size item_value_size_by(ItemSpan value, ItemSizeRule rule);

/* Returns what the size of an item does not exceed by any rule, which is twice its encoding. */
static inline Size
item_size_bound(const DynItem *item)
{
	return 2 * (Size) VARSIZE_ANY(item);
}

#define ITEM_SIZE_WORDS "Item size has exceeded the maximum allowed size"
#define ITEM_SIZE_WORDS_UPDATED "Item size to update has exceeded the maximum allowed size"
extern void item_check_size(ItemSpan root);
extern void item_check_change(const DynItem *old, ItemSpan root, const char *words);

/* number.c */
#define ITEM_NUMBER_DIGITS 38
#define ITEM_NUMBER_MAX_EXPONENT 125
#define ITEM_NUMBER_MIN_EXPONENT (-130)
#define ITEM_NUMBER_SIZE 21 /* exponent byte and up to 20 base-100 digits */
#define ITEM_NUMBER_TEXT 176 /* sign, "0.", 130 zeros, digits, NUL: 173 */

typedef enum ItemNumberError
{
	ITEM_NUMBER_SYNTAX = -1,
	ITEM_NUMBER_PRECISION = -2,
	ITEM_NUMBER_OVERFLOW = -3,
	ITEM_NUMBER_UNDERFLOW = -4
} ItemNumberError;

extern int item_number_parse(const char *text, Size len, char out[ITEM_NUMBER_SIZE]);
extern int item_number_parse_call(const char *text, Size len, char out[ITEM_NUMBER_SIZE]);
extern int item_number_print(ItemSpan number, char out[ITEM_NUMBER_TEXT]);
extern int item_number_from_count(uint32 count, char out[ITEM_NUMBER_SIZE]);
extern int item_number_from_int64(int64 value, int places, char out[ITEM_NUMBER_SIZE]);
extern bool item_number_to_int64(ItemSpan number, int places, int64 *value);
extern int item_number_add(ItemSpan a, ItemSpan b, bool subtract, char out[ITEM_NUMBER_SIZE]);
extern int item_number_compare(ItemSpan a, ItemSpan b);
extern int item_number_digits(ItemSpan number);
extern void item_number_places(ItemSpan number, int *before, int *behind);
extern int item_number_pairs_by_point(ItemSpan number);
extern bool item_number_is_negative(ItemSpan number);
extern bool item_number_valid(ItemSpan number);
extern const char *item_number_error(ItemNumberError error);
extern const char *item_number_words(ItemNumberError error, ItemSpan text);
extern const char *item_number_words_parameter(ItemNumberError error, ItemSpan text);
extern const char *item_number_words_sum(ItemNumberError error);

/* Scalars are ordered by type, and within it as sort keys are; other values by their bytes. */
static inline int
item_value_compare(ItemSpan a, ItemSpan b)
{
	if (item_type(a) == ITEM_N && item_type(b) == ITEM_N)
		return item_number_compare(item_payload(a), item_payload(b));
	return item_compare_bytes(a, b);
}

/* numeric.c */
extern Numeric item_number_to_numeric(ItemSpan number);
extern Numeric item_number_to_scaled(ItemSpan number, int scale);
extern int item_number_from_numeric(Numeric numeric, char out[ITEM_NUMBER_SIZE]);

/* parse.c, json.c */
typedef enum ItemSyntax
{
	ITEM_SYNTAX_ITEM, /* DynamoDB JSON of an item */
	ITEM_SYNTAX_VALUES, /* the same of an expression's values, which may be larger */
	ITEM_SYNTAX_LATE_VALUES, /* and of one whose depth is judged later, see ItemDepth */
	ITEM_SYNTAX_VALUE, /* DynamoDB JSON of one value */
	ITEM_SYNTAX_PARAMETER, /* the same of a statement's parameter */
	ITEM_SYNTAX_PLAIN_ITEM, /* any JSON object */
	ITEM_SYNTAX_PLAIN_VALUE /* any JSON */
} ItemSyntax;

/*
 * DynamoDB checks the values of a request in one of two layers, which tell bad numbers and sets in
 * other words: src/api/request/layers.c says which operation has which.
 */
typedef enum ItemLayer
{
	ITEM_LAYER_OLDER,
	ITEM_LAYER_CURRENT,
	ITEM_LAYER_TRANSACTION /* the older one; what is wrong with names has words, too */
} ItemLayer;

/*
 * An ItemComplaint says what is wrong with the values of a request.  It is told after all that is
 * wrong with the request's JSON and members.
 */
typedef struct ItemComplaint
{
	const char *message; /* NULL: nothing is wrong */
	const char *detail;
	const char *hint; /* or NULL */
	const char *words; /* of DynamoDB, or NULL */
	bool of_size; /* no value is wrong: the item is too large */
	ItemLayer layer; /* whose words these are: known before anything is wrong */
} ItemComplaint;

/* An ItemDepth says how deep values judged later are nested: within ITEM_MAX_NESTING. */
typedef struct ItemDepth
{
	ItemComplaint complaint; /* that they have more than ITEM_CALL_NESTING levels; or no message */
	bool beyond; /* they had more than ITEM_MAX_NESTING, where there is a NULL now */
} ItemDepth;

extern DynItem *item_parse(const char *json, int len, ItemSyntax syntax, struct Node *escontext);
extern DynItem *item_parse_call(const char *json, int len, ItemSyntax syntax);
struct JsonLexContext;
extern DynItem *item_parse_inside(struct JsonLexContext *lex, ItemSyntax syntax, bool of_call,
								  bool castable, ItemComplaint *complaint, ItemDepth *late);
extern void item_complain(const ItemComplaint *complaint);
extern DynItem *item_refuse_typed(DynItem *item);
extern DynItem *item_refuse_typed_value(DynItem *value);
extern ItemSpan item_parse_string(struct JsonLexContext *lex);
extern void item_forbid_nul(ItemSpan s);

/* validate.c */
extern bool item_validate(ItemSpan value);
extern bool item_is_sound(const DynItem *item);

/* print.c */
extern void item_print_string(StringInfo out, ItemSpan s);
extern void item_print_typed(StringInfo out, ItemSpan value);
extern void item_print_attributes(StringInfo out, ItemSpan map);
extern void item_print_plain(StringInfo out, ItemSpan value);
extern char *item_base64(ItemSpan bytes, int *len);

#endif
