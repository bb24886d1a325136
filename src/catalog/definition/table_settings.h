/*
 * table_settings.h
 *	  Settings of a table beside keys and indexes, stored in the derive trigger's arguments.
 *
 * The last argument, if there are any settings: a JSON object with one member, like
 *
 *		{"settings": {"id": "0b5f…", "ttl_attribute": "expires", "ttl_status": "CREATING",
 *		 "hide_expired": true, "placement": false, "streams": [{"label": 1700000000123,
 *		 "view_type": "NEW_IMAGE", "shards": 4, "earlier_shards": [2]}],
 *		 "replica_identity": "DEFAULT"}}
 *
 * So they are transactional, dumped with the table, and kept when it is renamed.  Settings that
 * rows do not depend on are in the table's label (description.h).
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_TABLE_SETTINGS_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_TABLE_SETTINGS_H

#include "item/item.h"

#define DYN_MAX_TTL_ATTRIBUTE 255 /* bytes */
#define DYN_MAX_SHARDS 64 /* of a stream, at a time */
#define DYN_MAX_SPLITS 6 /* of its shards: each time there are at least twice as many */
#define DYN_MAX_LABEL INT64CONST(253402300799999) /* of a stream: the end of the year 9999 */

/*
 * A DynIndexStatus is that of a secondary index, or of time to live, which has a btree too.  Only
 * an ACTIVE index can be queried; writes maintain indexes in all states.
 */
typedef enum DynIndexStatus
{
	DYN_INDEX_ACTIVE,
	DYN_INDEX_CREATING,
	DYN_INDEX_DELETING /* or its btree was dropped */
} DynIndexStatus;

typedef enum DynStreamView
{
	DYN_STREAM_KEYS_ONLY,
	DYN_STREAM_NEW_IMAGE,
	DYN_STREAM_OLD_IMAGE,
	DYN_STREAM_NEW_AND_OLD_IMAGES
} DynStreamView;

/*
 * A DynStream is a stream of the table's changes.  Once disabled it cannot be enabled again; the
 * table can get another stream.
 */
typedef struct DynStream
{
	int64 label; /* when it was enabled: milliseconds since 1970; larger than those of earlier
	              * streams */
	DynStreamView view;
	int shards; /* that changes go to (stream_shards.h) */
	int nearlier;
	int earlier[DYN_MAX_SPLITS]; /* how many shards it had before, the first number first */
	int64 disabled; /* like the label; 0: it is enabled */
} DynStream;

/* A DynSettings that is all zero sets nothing. */
typedef struct DynSettings
{
	ItemSpan name; /* DynamoDB's name of the table, where the relation's differs */
	ItemSpan id; /* a UUID */
	ItemSpan ttl; /* the attribute; of length 0: disabled */
	bool no_placement;
	DynIndexStatus ttl_status; /* as the argument has it: ACTIVE even if there is no btree */
	bool hide_expired;
	int nstreams;
	DynStream *streams; /* only the last one may be enabled; those before can still be read */
	ItemSpan identity; /* the replica identity before the stream that is enabled */
} DynSettings;

extern const char *const dyn_index_status_names[]; /* these end with NULL */
extern const char *const dyn_stream_view_names[];

extern bool dyn_argument_is_json(const char *argument);
extern bool dyn_settings_is_argument(const char *argument);
extern void dyn_settings_parse(const char *json, DynSettings *settings);
extern char *dyn_settings_print(const DynSettings *settings);
extern void dyn_settings_check_ttl(ItemSpan attribute);
extern const DynStream *dyn_settings_stream(const DynSettings *settings);

#endif
