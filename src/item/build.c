/*
 * build.c
 *	  ItemBuilder: from values in any order to the canonical encoding.
 *
 * The children of a frame are written one after the other where they will stay if they
 * come in order; only the offsets in front of them have to be put in when it ends.
 */
#include "postgres.h"

#include "item/build.h"
#include "server/words.h"

static void
ensure(ItemBuilder *b, Size more)
{
	Size need = (Size) b->len + more;

	if (need <= b->size)
		return;
	b->size = Max(need, (Size) b->size * 2);
	b->data = repalloc(b->data, b->size);
}

/*
 * Prepares a builder for one value, in the current memory context.  hint is the expected length of
 * the encoding in bytes; the builder grows beyond it as needed.
 */
void
item_build_init(ItemBuilder *b, Size hint)
{
	memset(b, 0, offsetof(ItemBuilder, frames));
	b->size = VARHDRSZ + 1 + Max(hint, 64);
	b->data = palloc(b->size);
	b->len = VARHDRSZ;
	b->data[b->len++] = ITEM_FORMAT;
	b->maxchildren = 32;
	b->children = palloc(b->maxchildren * sizeof(ItemBuildChild));
}

/* Free all that the builder has, with the item. */
void
item_build_free(ItemBuilder *b)
{
	pfree(b->data);
	pfree(b->children);
	if (b->scratch != NULL)
		pfree(b->scratch);
}

static void
begin_child(ItemBuilder *b)
{
	if (b->nchildren == b->maxchildren)
	{
		b->maxchildren *= 2;
		b->children = repalloc(b->children, b->maxchildren * sizeof(ItemBuildChild));
	}
	b->children[b->nchildren].start = b->len;
	b->children[b->nchildren].end = b->len;
	b->children[b->nchildren].source = b->source;
	b->nchildren++;
}

/*
 * Raises an error for input that would make an invalid value or overflow a buffer: parts of a
 * damaged item, or a caller's mistake.  It is checked in all builds, with asserts or not, since the
 * result is stored and read by other users.
 */
pg_noreturn static void
fail_use(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("invalid item: %s", what)));
}

/* Returns the innermost open L, M or set, or NULL if there is none. */
static inline const ItemBuildFrame *
innermost(const ItemBuilder *b)
{
	return b->depth == 0 ? NULL : &b->frames[b->depth - 1];
}

/* Elements of a set have no tag. */
static void
begin_value(ItemBuilder *b, ItemType type)
{
	const ItemBuildFrame *frame = innermost(b);

	if (frame != NULL && b->nchildren == frame->first_child)
		fail_use("a value without a name or an element");
	if (frame != NULL && item_type_is_set(frame->type))
	{
		if (type != item_element_type(frame->type))
			fail_use("an element of another type than its set");
		return;
	}
	ensure(b, 1);
	b->data[b->len++] = (char) type;
}

static void
end_value(ItemBuilder *b)
{
	if (b->depth > 0)
		b->children[b->nchildren - 1].end = b->len;
}

static void
build_append(ItemBuilder *b, ItemSpan bytes)
{
	ensure(b, bytes.len);
	memcpy(b->data + b->len, bytes.data, bytes.len);
	b->len += bytes.len;
}

/*
 * Opens a list, map or set, which item_build_end() closes.  Raises ERRCODE_DATA_CORRUPTED if none
 * may stand here, so the caller checks the depth with item_build_may_begin() first.
 */
void
item_build_begin(ItemBuilder *b, ItemType type)
{
	ItemBuildFrame *frame;

	if (!item_build_may_begin(b, type) || !item_type_has_children(type))
		fail_use("a value that cannot be opened here");
	begin_value(b, type);
	frame = &b->frames[b->depth++];
	frame->type = type;
	frame->start = b->len - 1;
	frame->first_child = b->nchildren;
}

/* Sets the name of the next value of a map. */
void
item_build_name(ItemBuilder *b, ItemSpan name)
{
	uint32 len = name.len;

	if (b->depth == 0 || innermost(b)->type != ITEM_M)
		fail_use("a name outside of a map");
	if (name.len == 0 || name.len > ITEM_MAX_NAME)
		fail_use("a name of invalid length");
	begin_child(b);
	ensure(b, 5);
	while (len >= 0x80)
	{
		b->data[b->len++] = (char) (len | 0x80);
		len >>= 7;
	}
	b->data[b->len++] = (char) len;
	build_append(b, name);
}

/* Begins the next value, an element of a list or set. */
void
item_build_element(ItemBuilder *b)
{
	if (b->depth == 0 || innermost(b)->type == ITEM_M)
		fail_use("an element outside of a list or set");
	begin_child(b);
}

/*
 * Adds an S, N or B, or an element of a set of that type.  The payload has no tag; that of an N is
 * a packed number.
 */
void
item_build_scalar(ItemBuilder *b, ItemType type, ItemSpan payload)
{
	if (type < ITEM_S || type > ITEM_B)
		fail_use("a scalar of another type");
	if (type == ITEM_N && !item_number_valid(payload))
		fail_use("a number that is none");
	begin_value(b, type);
	build_append(b, payload);
	end_value(b);
}

/* Adds a value of type BOOL. */
void
item_build_bool(ItemBuilder *b, bool value)
{
	begin_value(b, ITEM_BOOL);
	if (value)
		b->data[b->len - 1] |= ITEM_TRUE;
	end_value(b);
}

/* Adds a value of type NULL. */
void
item_build_null(ItemBuilder *b)
{
	begin_value(b, ITEM_NULL);
	end_value(b);
}

/* Adds a value of another item as it is. */
void
item_build_value(ItemBuilder *b, ItemSpan value)
{
	if (b->depth > 0 && item_type_is_set(innermost(b)->type))
		fail_use("an element of a set with a tag");
	begin_value(b, item_type(value));
	b->len--;
	build_append(b, value);
	end_value(b);
}

/*
 * Makes room for a scalar of up to max bytes that the caller writes in place; it then says with
 * item_build_reserved() how many it used.
 */
char *
item_build_reserve(ItemBuilder *b, ItemType type, uint32 max)
{
	begin_value(b, type);
	ensure(b, max);
	return b->data + b->len;
}

/* Completes the scalar of item_build_reserve(), of which the caller has written that many bytes. */
void
item_build_reserved(ItemBuilder *b, uint32 used)
{
	if (used > b->size - b->len)
		fail_use("a scalar longer than its room");
	b->len += used;
	end_value(b);
}

static ItemSpan
child_span(const ItemBuilder *b, const ItemBuildChild *child)
{
	return (ItemSpan){b->data + child->start, child->end - child->start};
}

/* Compares two children by what the frame sorts them by: name, string, bytes or number. */
static int
compare_children(const ItemBuilder *b, ItemType type, const ItemBuildChild *x,
				 const ItemBuildChild *y)
{
	ItemSpan a = child_span(b, x);
	ItemSpan c = child_span(b, y);

	if (type == ITEM_M)
	{
		item_entry(a, &a);
		item_entry(c, &c);
	}
	return item_element_compare(type, a, c);
}

static int
compare_places(const void *a, const void *b)
{
	uint32 x = ((const ItemBuildChild *) a)->start;
	uint32 y = ((const ItemBuildChild *) b)->start;

	return x < y ? -1 : x > y;
}

typedef struct SortArg
{
	const ItemBuilder *b;
	ItemType type;
} SortArg;

static int
sort_cmp(const void *x, const void *y, void *arg)
{
	const SortArg *sort = arg;
	int cmp = compare_children(sort->b, sort->type, x, y);

	return cmp != 0 ? cmp : compare_places(x, y);
}

/*
 * Sort the children; false if two are equal, which stay in the order in which they came.  *moved: they
 * have to change places.
 */
static bool
sort_children(ItemBuilder *b, ItemType type, ItemBuildChild *children, int n, bool *moved)
{
	SortArg arg = {b, type};
	bool sorted = true;

	*moved = false;
	for (int i = 1; i < n && sorted; i++)
		sorted = compare_children(b, type, &children[i - 1], &children[i]) < 0;
	if (sorted)
		return true;

	*moved = true;
	qsort_arg(children, n, sizeof(ItemBuildChild), sort_cmp, &arg);
	for (int i = 1; i < n; i++)
	{
		if (compare_children(b, type, &children[i - 1], &children[i]) == 0)
		{
			b->duplicate = children[children[i - 1].source > children[i].source ? i - 1 : i];
			return false;
		}
	}
	return true;
}

/* Put the children, which fill the data from start, into their new order. */
static void
move_children(ItemBuilder *b, uint32 start, const ItemBuildChild *children, int n)
{
	uint32 len = b->len - start;
	char *to = b->data + start;

	if (len > b->scratch_size)
	{
		if (b->scratch != NULL)
			pfree(b->scratch);
		b->scratch_size = Max(len, 1024);
		b->scratch = palloc(b->scratch_size);
	}
	memcpy(b->scratch, to, len);
	for (int i = 0; i < n; i++)
	{
		uint32 size = children[i].end - children[i].start;

		memcpy(to, b->scratch + (children[i].start - start), size);
		to += size;
	}
}

static char *
write_uint(char *to, uint32 value, int width)
{
	for (int i = 0; i < width; i++)
		*to++ = (char) (value >> (8 * i));
	return to;
}

/* Put the count and the offsets in front of the children. */
static void
write_offsets(ItemBuilder *b, uint32 start, const ItemBuildChild *children, int n)
{
	uint32 len = b->len - start;
	uint32 most = Max(len, (uint32) n);
	int log_width = most <= 0xff ? 0 : most <= 0xffff ? 1 : 2;
	int width = 1 << log_width;
	Size header = (Size) width * (n + 1);
	uint32 end = 0;
	char *to;

	ensure(b, header);
	to = b->data + start;
	memmove(to + header, to, len);
	to[-1] |= log_width << 4;
	to = write_uint(to, n, width);
	for (int i = 0; i < n; i++)
	{
		end += children[i].end - children[i].start;
		to = write_uint(to, end, width);
	}
	b->len += header;
}

/* Complete the innermost L, M or set. */
ItemBuildError
item_build_end(ItemBuilder *b)
{
	const ItemBuildFrame *frame = innermost(b);
	ItemBuildChild *children;
	int n;
	bool moved = false;

	if (frame == NULL)
		fail_use("nothing is open");
	children = b->children + frame->first_child;
	n = b->nchildren - frame->first_child;
	if (item_type_is_set(frame->type) && n == 0)
		return ITEM_BUILD_EMPTY_SET;
	if (frame->type != ITEM_L && !sort_children(b, frame->type, children, n, &moved))
		return frame->type == ITEM_M ? ITEM_BUILD_DUPLICATE_NAME : ITEM_BUILD_DUPLICATE_ELEMENT;
	if (moved)
		move_children(b, frame->start + 1, children, n);
	write_offsets(b, frame->start + 1, children, n);
	b->nchildren = frame->first_child;
	b->depth--;
	end_value(b);
	return ITEM_BUILD_OK;
}

/* Returns the finished item or value; the builder's other memory goes with its context. */
DynItem *
item_build_finish(ItemBuilder *b)
{
	if (b->depth != 0)
		fail_use("a value that has not ended");
	SET_VARSIZE(b->data, b->len);
	return (DynItem *) b->data;
}

/* Appends where the builder is, down to some depth, as a document path: a.b[2]. */
void
item_build_path(const ItemBuilder *b, int depth, StringInfo out)
{
	for (int i = 0; i < depth; i++)
	{
		const ItemBuildFrame *frame = &b->frames[i];
		int end = i + 1 < b->depth ? b->frames[i + 1].first_child : b->nchildren;
		int n = end - frame->first_child;

		if (n == 0)
			return;
		if (frame->type == ITEM_M)
		{
			const ItemBuildChild *last = &b->children[end - 1];
			ItemSpan name;

			item_entry((ItemSpan){b->data + last->start, b->len - last->start}, &name);
			if (out->len > 0)
				appendStringInfoChar(out, '.');
			item_quote(out, name);
		}
		else
			appendStringInfo(out, "[%d]", n - 1);
	}
}

/* Say what item_build_end() found wrong with the innermost frame. */
void
item_build_describe(const ItemBuilder *b, ItemBuildError error, StringInfo out)
{
	ItemType type = b->frames[b->depth - 1].type;
	ItemSpan child = child_span(b, &b->duplicate);
	char number[ITEM_NUMBER_TEXT];

	switch (error)
	{
		case ITEM_BUILD_OK:
			break;
		case ITEM_BUILD_EMPTY_SET:
			appendStringInfo(out, "%s must not be empty", item_type_code(type));
			break;
		case ITEM_BUILD_DUPLICATE_NAME:
			item_entry(child, &child);
			appendStringInfoString(out, "attribute name \"");
			item_quote(out, child);
			appendStringInfoString(out, "\" occurs twice");
			break;
		case ITEM_BUILD_DUPLICATE_ELEMENT:
			if (type == ITEM_NS)
				child = (ItemSpan){number, item_number_print(child, number)};
			appendStringInfo(out, "%s contains ", item_type_code(type));
			if (type == ITEM_BS)
				appendStringInfoString(out, "an element");
			else
			{
				appendStringInfoChar(out, '"');
				item_quote(out, child);
				appendStringInfoChar(out, '"');
			}
			appendStringInfoString(out, " twice");
			break;
	}
}

/* Returns where the first child came that is equal to an earlier one.  The children are sorted. */
static uint32
first_repeat(const ItemBuilder *b, ItemType type, const ItemBuildChild *children, int n)
{
	uint32 first = PG_UINT32_MAX;

	for (int i = 1; i < n; i++)
	{
		if (compare_children(b, type, &children[i - 1], &children[i]) == 0)
			first = Min(first, children[i].start);
	}
	return first;
}

/*
 * Returns the innermost frame's elements as text; they are sorted.  The older layer tells these in
 * the order in which they came: [b, a, b].  The current one does so from the first that came twice
 * on, and has those before it sorted, as in the set that it was filling: ["a", "b", "b"].
 */
static char *
list_elements(const ItemBuilder *b, bool current)
{
	const ItemBuildFrame *frame = innermost(b);
	const ItemBuildChild *sorted = b->children + frame->first_child;
	int n = b->nchildren - frame->first_child;
	ItemBuildChild *children = palloc(n * sizeof(ItemBuildChild));
	uint32 first = current ? first_repeat(b, frame->type, sorted, n) : 0;
	int nsorted = 0;
	StringInfoData list;

	for (int i = 0; i < n; i++)
	{
		if (sorted[i].start < first)
			children[nsorted++] = sorted[i];
	}
	for (int i = 0, rest = nsorted; i < n; i++)
	{
		if (sorted[i].start >= first)
			children[rest++] = sorted[i];
	}
	qsort(children + nsorted, n - nsorted, sizeof(ItemBuildChild), compare_places);
	initStringInfo(&list);
	appendStringInfoChar(&list, '[');
	for (int i = 0; i < n; i++)
	{
		ItemSpan element = child_span(b, &children[i]);
		int len;

		if (i > 0)
			appendStringInfoString(&list, current && frame->type == ITEM_BS ? "," : ", ");
		if (list.len > ITEM_WORDS_TEXT)
		{
			appendStringInfoString(&list, "...");
			break;
		}
		if (frame->type == ITEM_BS)
		{
			element.data = item_base64(element, &len);
			element.len = (uint32) len;
		}
		if (current)
			appendStringInfoChar(&list, '"');
		item_quote_words(&list, element);
		if (current)
			appendStringInfoChar(&list, '"');
	}
	appendStringInfoChar(&list, ']');
	return list.data;
}

/* Returns what DynamoDB says of an error of item_build_end(); NULL: nothing that is known. */
const char *
item_build_words(const ItemBuilder *b, ItemBuildError error, ItemLayer layer)
{
	ItemType type = innermost(b)->type;
	bool current = layer == ITEM_LAYER_CURRENT;

	if (error == ITEM_BUILD_EMPTY_SET)
	{
		if (type == ITEM_BS)
			return DYN_INVALID_WORDS "Binary sets should not be empty";
		return psprintf(DYN_INVALID_WORDS "An %s set  may not be empty",
						type == ITEM_SS ? "string" : "number");
	}
	if (error != ITEM_BUILD_DUPLICATE_ELEMENT)
		return NULL;
	if (type == ITEM_NS)
		return current ? DYN_INVALID_WORDS "Input collection contains duplicates."
					   : "Input collection contains duplicates";
	return psprintf(DYN_INVALID_WORDS "Input collection %s%s contains duplicates.",
					list_elements(b, current), type == ITEM_BS ? "of type BS" : "");
}
