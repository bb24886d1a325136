/*
 * build.h
 *	  ItemBuilder: the one way to make a value.
 *
 * Values go in from outside to inside, each after its item_build_name() in a map or
 * item_build_element() in a list or set.  Names and set elements come in any order:
 * item_build_end() sorts them, finds duplicates and writes the canonical form.  The builder does
 * not know where the values come from: callers report its errors in their own words, and name the
 * attribute that is being built by item_build_path().
 */
#ifndef DYNAMO_TABLE_ITEM_BUILD_H
#define DYNAMO_TABLE_ITEM_BUILD_H

#include "item/item.h"

typedef enum ItemBuildError
{
	ITEM_BUILD_OK,
	ITEM_BUILD_DUPLICATE_NAME,
	ITEM_BUILD_DUPLICATE_ELEMENT,
	ITEM_BUILD_EMPTY_SET
} ItemBuildError;

/* An ItemBuildChild is a child that is complete, or the last one of an open frame. */
typedef struct ItemBuildChild
{
	uint32 start; /* offsets in data */
	uint32 end;
	int source; /* where it came from, as the caller counts */
} ItemBuildChild;

/* An ItemBuildFrame is an L, M or set that is not yet complete. */
typedef struct ItemBuildFrame
{
	ItemType type;
	uint32 start; /* offset of the tag */
	int first_child;
} ItemBuildFrame;

typedef struct ItemBuilder
{
	char *data; /* the varlena to be */
	uint32 len;
	uint32 size;
	ItemBuildChild *children; /* of all open frames, the innermost last */
	int nchildren;
	int maxchildren;
	int depth; /* open frames */
	int source; /* set by the caller before each name or element */
	ItemBuildChild duplicate; /* the later one, after an error about duplicates */
	char *scratch; /* for putting children in order */
	uint32 scratch_size;
	ItemBuildFrame frames[ITEM_MAX_NESTING + 2]; /* root, nested, a set in the innermost */
} ItemBuilder;

extern void item_build_init(ItemBuilder *b, Size hint);
extern void item_build_begin(ItemBuilder *b, ItemType type);
extern ItemBuildError item_build_end(ItemBuilder *b);
extern void item_build_name(ItemBuilder *b, ItemSpan name);
extern void item_build_element(ItemBuilder *b);
extern void item_build_scalar(ItemBuilder *b, ItemType type, ItemSpan payload);
extern void item_build_bool(ItemBuilder *b, bool value);
extern void item_build_null(ItemBuilder *b);
extern void item_build_value(ItemBuilder *b, ItemSpan value);
extern char *item_build_reserve(ItemBuilder *b, ItemType type, uint32 max);
extern void item_build_reserved(ItemBuilder *b, uint32 used);
extern DynItem *item_build_finish(ItemBuilder *b);
extern void item_build_free(ItemBuilder *b);
extern void item_build_path(const ItemBuilder *b, int depth, StringInfo out);
extern void item_build_describe(const ItemBuilder *b, ItemBuildError error, StringInfo out);
extern const char *item_build_words(const ItemBuilder *b, ItemBuildError error, ItemLayer layer);

/* Returns whether an L, M or set may be opened here; sets are leaves and do not count. */
static inline bool
item_build_may_begin(const ItemBuilder *b, ItemType type)
{
	return b->depth <= ITEM_MAX_NESTING || item_type_is_set(type);
}

#endif
