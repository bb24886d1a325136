/*
 * subject.h
 *	  What records have to know of a table, as it was when a change was written.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_SUBJECT_H
#define DYNAMO_TABLE_SERVICES_STREAM_SUBJECT_H

#include "catalog/table.h"
#include "server/mark.h"
#include "services/stream/plugin.h"

/* A StreamSubject is an entry of the cache.  A pointer to one is good for one change. */
typedef struct StreamSubject
{
	Oid relid; /* hash key */
	bool valid;
	bool wanted; /* a table of ours, by these options; only then is the rest set */
	bool refused; /* the log has been told that it is none */
	bool keyless; /* and that deletes in it have no keys */
	bool unsound; /* and that it has invalid items */
	bool placed; /* a shard of a distributed table, which Citus copies from node to node */
	int64 citus_shard; /* its number */
	ItemSpan relation; /* of the table */
	Oid schema;
	Oid owner;
	MemoryContext context;

	Oid named; /* the table that records are of: this, or the partitioned one it belongs to */
	ItemSpan table; /* DynamoDB's name of that */
	AttrNumber item_attnum;
	int nkeys;
	DynKey keys[DYN_MAX_KEYS];
	int64 stream; /* label; 0: none is enabled */
	int generation; /* of its shards: the newest one, to which changes go */
	int first_shard;
	int shards;
	bool begun; /* the end of the generation before was told */
	bool view_asked; /* by an option or the stream */
	DynStreamView view;
	ItemSpan ttl; /* of length 0: disabled */
} StreamSubject;

/* subject.c */
extern void stream_subjects_create(StreamPlugin *plugin);
extern void stream_subjects_clear(struct StreamSubjects *subjects);
extern StreamSubject *stream_subject(StreamPlugin *plugin, Relation rel);

/* change.c */
extern void stream_change(StreamPlugin *plugin, StreamSubject *subject, TupleDesc desc,
						  ReorderBufferChange *change);
extern void stream_release(StreamPlugin *plugin);
extern void stream_truncate(StreamPlugin *plugin, StreamSubject *subject, bool part);

/* plugin.c */
extern bool stream_is_marked(const StreamPlugin *plugin, const StreamSubject *subject,
							 DynMarkKind kind);

#endif
