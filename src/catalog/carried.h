/*
 * carried.h
 *	  What the entries of a covering index carry beside their keys.
 *
 * Queries and scans of the index answer from it, where the visibility map lets them, and need no
 * row.  What is carried is the part of the item that the index projects and its columns do not
 * have: the whole item if the projection is ALL, otherwise the attributes that INCLUDE names.  It
 * comes from one immutable function of the item and constants, dyn_carried_make(), which the store,
 * the derive trigger and the constraint share, and is in a derived column that the btree includes.
 * An entry that would exceed the limit carries NULL, and its row is read instead.
 *
 * The constants are written as JSON, into the constraint:
 *
 *		{"keys": ["GSI1PK S", "GSI1SK S", "PK S", "SK S"], "attributes": ["Role"], "limit": 1000,
 *		 "compression": "lz4"}
 *
 * without "attributes" if it is the whole item.
 */
#ifndef DYNAMO_TABLE_CATALOG_CARRIED_H
#define DYNAMO_TABLE_CATALOG_CARRIED_H

#include "catalog/table.h"

struct DynCarried
{
	int nkeys; /* columns of an entry, in their order */
	ItemSpan attributes_of[DYN_MAX_INDEX_COLUMNS];
	ItemType types[DYN_MAX_INDEX_COLUMNS];
	bool whole;
	int nincluded;
	ItemSpan *included; /* in byte order */
	int64 limit; /* bytes of an entry */
	DynCompression compression;
};

extern bool dyn_carried_is_spec(ItemSpan spec);
extern DynCarried *dyn_carried_parse(ItemSpan spec);
extern DynCarried *dyn_carried_of(const DynIndexSpec *index, const ItemSpan *keys, int nkeys);
extern char *dyn_carried_print(const DynCarried *carried);
extern bool dyn_carried_equal(const DynCarried *a, const DynCarried *b);
extern const DynItem *dyn_carried_part(const DynCarried *carried, const DynItem *item);
extern bool dyn_carried_make(const DynCarried *carried, const DynItem *item, Datum *value);

#endif
