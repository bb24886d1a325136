/*
 * plugin.h
 *	  The output plugin: from decoded changes of rows to records of changes of items.
 *
 * A plugin belongs to a decoding context, whose output_plugin_private it is.  It hands each record
 * to "deliver", which prints it unless the caller has set another function.  The record, and what
 * it points to, is valid until deliver returns.
 *
 * A process that also reads catalogs otherwise calls InvalidateSystemCaches() before and after
 * decoding, as the SQL functions for slots do: decoding reads the catalogs as they were when the
 * change was written.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_PLUGIN_H
#define DYNAMO_TABLE_SERVICES_STREAM_PLUGIN_H

#include "replication/logical.h"

#include "services/stream/record.h"

typedef struct StreamOptions
{
	List *tables; /* of lists of one or two names; NIL: all tables of items */
	bool view_given;
	DynStreamView view;
	StreamFormat format;
	bool only_streams;
} StreamOptions;

struct StreamSubjects;

typedef struct StreamPlugin
{
	void (*deliver)(struct StreamPlugin *plugin, const StreamRecord *record);

	/*
	 * called at the end of a generation of a stream's shards, which has no later records, and
	 * perhaps again; may be NULL
	 */
	void (*close)(struct StreamPlugin *plugin, Oid relid, int64 stream, int generation);

	/* called where changes of a table are not in the WAL, so they have no records; may be NULL */
	void (*lose)(struct StreamPlugin *plugin, Oid relid);
	void *deliver_arg; /* argument of the functions above */
	LogicalDecodingContext *decoding;
	StreamOptions options;
	struct StreamSubjects *subjects;
	MemoryContext change_context; /* reset after each change */
	MemoryContext transaction_context; /* and after each transaction */
	int changes; /* since the server was told of progress */

	/* the transaction that is being decoded */
	StreamPlace place; /* of its last record */
	TimestampTz committed;
	bool secret_read;
	bytea *secret; /* that its marks are signed with; NULL: there is none */
	List *marks; /* that have begun and not ended */
	StreamRecord
		*held; /* that the next change of the relation may take back, or NULL; see change.c */
	Oid held_relid;
} StreamPlugin;

/* options.c */
extern void stream_options_read(StreamOptions *options, List *given);

#endif
