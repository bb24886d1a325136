/*
 * stream.h
 *	  Change streams: what their files share.
 *
 *		enable.c			dyn_enable_stream(), dyn_alter_stream() and dyn_disable_stream()
 *		check.c				a step of dyn_check_table(): what a stream needs of its table
 *		identity.c			the replica identity that a view of a stream needs
 *		settings.c			settings of streams
 *		slot.c				the database's replication slot
 *		lock.c				its locks
 *		life.c				dyn_setup_streams() and dyn_teardown_streams()
 *		drop.c				DROP EXTENSION while the slot is there, and tables that were unlogged
 *		standby.c			letting standbys take the slot over although the server is idle
 *		plugin.c			the output plugin: callbacks of logical decoding
 *		options.c			its options
 *		subject.c			what it knows of tables, as they were when a change was written
 *		change.c			from the change of a row to records of what happened to the item
 *		record.h			a record of a change: what it says, its place in the stream
 *		sequence.c			sequence numbers
 *		print.c				a record as JSON, as DynamoDB Streams has it
 *		decoder.c			reading records from the slot, round by round
 *		collect.c			collecting: rounds that move records into tables of the extension
 *		append.c			storing the records of a round, and telling of them
 *		partition.c			the partitions that hold them
 *		attempt.c			what a collector leaves for the next one in case it dies
 *		progress.c			collectors, their progress, and waiting sessions, in shared memory
 *		service.c			collectors as background workers
 *		functions.c			dyn_collect_streams(): collecting on demand
 *		watch.c				the shards of distributed tables on this node, as shards of streams
 *		node.c				what this node tells others about those
 *		nodes.c				the shards of a stream on all nodes, and their records
 *		end.c				where closed shards have ended
 *		gap.c				where changes were not collected
 *		log.c				the collected records, and whether they are complete, by one snapshot
 *		read.c				reading a stream: from where, as far as it is whole
 *		target.c			the stream that is read, and whether the caller may
 *		position.c			positions in streams, as text and as places
 *		read_functions.c	dyn_read_stream(), which may wait for records
 *		status.c			what dyn_streams and dyn_stream_slots show
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_STREAM_H
#define DYNAMO_TABLE_SERVICES_STREAM_STREAM_H

#include "storage/lock.h"
#include "utils/relcache.h"

#include "catalog/table.h"
#include "server/extension.h"
#include "services/stream/record.h"

/* What dyn_stream_slots shows of this node. */
#define STREAM_SLOT_VIEW DYN_INTERNAL ".stream_slot"

/* The output plugin's name is the library's; the one slot of a database has the database's OID. */
#define STREAM_PLUGIN "dynamo_table"
#define STREAM_SLOT "dynamo_table_%u"

#define STREAM_RECORDS_TABLE "stream_records"
#define STREAM_STATE_TABLE "stream_state"
#define STREAM_GAPS_TABLE "stream_gaps"
#define STREAM_TRIMMED_TABLE "stream_trimmed"
#define STREAM_ENDS_TABLE "stream_ends"
#define STREAM_PLACEMENTS_TABLE "stream_placements"

/* These are the columns of stream_records, from 0 on. */
enum
{
	RECORD_RELATION,
	RECORD_STREAM,
	RECORD_SHARD,
	RECORD_EVENT,
	RECORD_EXPIRED,
	RECORD_INCOMPLETE,
	RECORD_LSN,
	RECORD_ORDINAL,
	RECORD_COMMITTED,
	RECORD_COLLECTED,
	RECORD_SIZE,
	RECORD_KEYS,
	RECORD_NEW_IMAGE,
	RECORD_OLD_IMAGE,
	RECORD_COLUMNS
};

/* settings.c */
extern bool dyn_stream_collector;
extern int dyn_stream_poll_interval; /* milliseconds */
extern int dyn_stream_retention; /* seconds */
extern int dyn_stream_shards;
extern void dyn_stream_init(void);

/* drop.c */
extern void stream_drop_init(void);

/* progress.c */
extern void stream_wait_for_records(int milliseconds);

/* lock.c: the fields of advisory locks */
typedef enum StreamLock
{
	STREAM_LOCK_LIFE = 1,
	STREAM_LOCK_SLOT
} StreamLock;

extern bool stream_try_lock(StreamLock lock, LOCKMODE mode, bool session);
extern void stream_unlock(StreamLock lock, LOCKMODE mode);
extern void stream_take_slot_from_worker(void);
extern void stream_take_slot(void);

/* slot.c: what dyn_stream_slots says, connected to SPI */
typedef enum StreamSlotState
{
	STREAM_WAL_LEVEL,
	STREAM_PLUGIN_REFUSED,
	STREAM_NOT_SET_UP,
	STREAM_STANDBY,
	STREAM_SLOT_MISSING,
	STREAM_SLOT_LOST,
	STREAM_SLOT_AHEAD,
	STREAM_READY
} StreamSlotState;

/* It says this instead of ready if no worker collects: none is free, or the last one failed. */
#define STREAM_WAITS "no free worker"
#define STREAM_FAILS "failing"

typedef struct StreamSlot
{
	StreamSlotState state;
	bool exists; /* in whatever state */
	bool failover;
	XLogRecPtr collected; /* of the state row; invalid: there is none */
	XLogRecPtr confirmed;
} StreamSlot;

extern void stream_require_collecting(XLogRecPtr collected);
extern void stream_tell_slot(void);
extern char *stream_slot_name(void);
extern void stream_require_replication(const char *procedure);
extern void stream_look(StreamSlot *slot);
extern bool stream_is_broken(const StreamSlot *slot);
pg_noreturn extern void stream_fail_slot(StreamSlotState state);
extern void stream_require_slot(void);
extern void stream_require_slot_to_enable(void);

/* watch.c */
extern void stream_watch_note(void);

/* end.c, gap.c */
extern void stream_end_write(Oid relid, int64 label, int generation, StreamPlace place,
							 TimestampTz collected);
extern void stream_gap_write(XLogRecPtr after, XLogRecPtr before, TimestampTz noticed, Oid relid);
extern void stream_gap_move(XLogRecPtr lsn, TimestampTz noticed, Oid relid);

/* check.c */
struct TableCheck;
extern void stream_check(struct TableCheck *check);

/* identity.c */
extern bool stream_identity_suffices(Relation rel, DynStreamView view);
extern const char *stream_identity_change(Relation rel, DynStreamView view, DynSettings *settings);
extern const char *stream_identity_restore(Relation rel, DynStreamView view,
										   const DynSettings *settings);

/* enable.c: in the caller's transaction */
extern LOCKMODE stream_lock_mode(ItemSpan name, int view);
extern int64 stream_enable(ItemSpan name, DynStreamView view, int shards, bool if_not_exists);
extern void stream_disable(ItemSpan name);

#endif
