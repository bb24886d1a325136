/*
 * validate.c
 *	  Whether bytes from outside are a value in canonical form.
 *
 * Every length is checked before it is used, so no input causes a read outside the span.  All other
 * code relies on the properties that are checked here.  Code that reads values which have not
 * passed here gets item_fail_invalid() from item.h where it would leave their bytes.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "item/item.h"
#include "server/errors.h"

static bool validate_value(ItemSpan value, int depth);

/* Raises that stored bytes are damaged, or were made without the type's input function. */
void
item_fail_invalid(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED), errmsg("invalid item"),
			 errdetail("Its bytes are not in the form that items are stored in."),
			 errhint("Use dyn_check_table() to find the items of a table that are invalid.")));
}

/* Returns whether bytes are UTF-8, in which U+0000 is a character like others. */
static bool
valid_utf8(ItemSpan s)
{
	while (s.len > 0)
	{
		const char *nul = memchr(s.data, '\0', s.len);
		uint32 len = nul == NULL ? s.len : (uint32) (nul - s.data);

		if (pg_encoding_verifymbstr(PG_UTF8, s.data, len) != len)
			return false;
		len += nul != NULL;
		s.data += len;
		s.len -= len;
	}
	return true;
}

static bool
valid_scalar(ItemType type, ItemSpan payload)
{
	if (type == ITEM_S)
		return valid_utf8(payload);
	if (type == ITEM_N)
		return item_number_valid(payload);
	return true;
}

/* Split a child of a map, checking the name and its length's form. */
static bool
valid_entry(ItemSpan child, ItemSpan *name, ItemSpan *value)
{
	const unsigned char *p = (const unsigned char *) child.data;
	uint32 bytes = 0;
	uint32 len = 0;

	do
	{
		if (bytes == child.len || bytes == 3)
			return false;
		len |= (uint32) (p[bytes] & 0x7f) << (7 * bytes);
	} while (p[bytes++] & 0x80);
	if (bytes > 1 && p[bytes - 1] == 0)
		return false;
	if (len == 0 || len > ITEM_MAX_NAME || len > child.len - bytes)
		return false;
	*name = (ItemSpan){child.data + bytes, len};
	*value = (ItemSpan){name->data + len, child.len - bytes - len};
	return valid_utf8(*name);
}

/* Check one child; *key is what it is sorted by. */
static bool
valid_child(ItemType parent, ItemSpan child, int depth, ItemSpan *key)
{
	ItemSpan value;

	if (parent == ITEM_L)
		return validate_value(child, depth + 1);
	if (parent == ITEM_M)
		return valid_entry(child, key, &value) && validate_value(value, depth + 1);
	*key = child;
	return valid_scalar(item_element_type(parent), child);
}

/* Checks that the offsets are in order, within the value, and no wider than they have to be. */
static bool
valid_offsets(ItemSpan value, int width)
{
	uint32 room = value.len - 1;
	uint32 count;
	uint32 end = 0;
	uint32 most;

	if (room < width)
		return false;
	count = item_read_uint(value.data + 1, width);
	if (count > (room - width) / width)
		return false;
	room -= width * (count + 1);
	for (uint32 i = 0; i < count; i++)
	{
		uint32 next = item_read_uint(value.data + 1 + (Size) width * (i + 1), width);

		if (next < end || next > room)
			return false;
		end = next;
	}
	most = Max(count, room);
	return end == room && width == (most <= 0xff ? 1 : most <= 0xffff ? 2 : 4);
}

static bool
validate_children(ItemSpan value, int depth)
{
	ItemType type = item_type(value);
	int log_width = ((unsigned char) value.data[0]) >> 4;
	ItemChildren c;
	ItemSpan last = {NULL, 0};

	if ((depth > ITEM_MAX_NESTING && !item_type_is_set(type)) || log_width > 2 ||
		!valid_offsets(value, 1 << log_width))
		return false;
	c = item_children(value);
	if (item_type_is_set(type) && c.count == 0)
		return false;
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan key = {NULL, 0};

		if (!valid_child(type, item_child(&c, i), depth, &key))
			return false;
		if (type != ITEM_L && i > 0 && item_element_compare(type, last, key) >= 0)
			return false;
		last = key;
	}
	return true;
}

static bool
validate_value(ItemSpan value, int depth)
{
	int code;
	int detail;
	ItemType type;

	if (value.len == 0)
		return false;
	code = (unsigned char) value.data[0] & 0x0f;
	detail = ((unsigned char) value.data[0]) >> 4;
	if (code < ITEM_S || code > ITEM_TYPE_LAST)
		return false;
	type = (ItemType) code;
	if (item_type_has_children(type))
		return validate_children(value, depth);
	if (type == ITEM_BOOL)
		return detail <= 1 && value.len == 1;
	if (type == ITEM_NULL)
		return detail == 0 && value.len == 1;
	return detail == 0 && valid_scalar(type, item_payload(value));
}

/*
 * Returns whether bytes are a value, with its tag, in the canonical encoding, nested no deeper than
 * ITEM_MAX_NESTING allows.
 */
bool
item_validate(ItemSpan value)
{
	return validate_value(value, 0);
}

/*
 * Returns whether the bytes of a supposed item are one.  It is for bytes that the table's
 * constraint has not checked, and that may have been stored as another type.
 */
bool
item_is_sound(const DynItem *item)
{
	Size len = VARSIZE_ANY_EXHDR(item);

	return len >= 2 && len <= ITEM_MAX_ENCODED && *VARDATA_ANY(item) == ITEM_FORMAT &&
		   item_validate(item_root(item)) && item_type(item_root(item)) == ITEM_M;
}
