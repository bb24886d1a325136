/*
 * plugin.c
 *	  The output plugin: the callbacks of logical decoding.
 *
 * Transactions come one after the other, each whole and in the order of commits: there are no
 * callbacks for those in progress or only prepared.  Nothing that is kept grows with a transaction,
 * and all of it is in the decoding context, so there is nothing to do when that goes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "replication/origin.h"
#include "replication/output_plugin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"
#include "server/mark.h"
#include "services/stream/subject.h"

/* The server itself tells progress as often. */
#define CHANGES_BETWEEN_PROGRESS 100

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

/* Prints a record.  One that each shard gets is printed once. */
static void
print_record(StreamPlugin *plugin, const StreamRecord *record)
{
	LogicalDecodingContext *decoding = plugin->decoding;

	if (record->repeated)
		return;
	OutputPluginPrepareWrite(decoding, true);
	stream_record_print(decoding->out, record, plugin->options.format);
	OutputPluginWrite(decoding, true);
}

/* Filters out what collectors write, and what Citus copies for enable_change_data_capture. */
static bool
filter_by_origin(LogicalDecodingContext *ctx, OriginId origin)
{
	return origin == DoNotReplicateId;
}

static void
plugin_startup(LogicalDecodingContext *ctx, OutputPluginOptions *options, bool is_init)
{
	StreamPlugin *plugin = palloc0(sizeof(StreamPlugin));

	ctx->output_plugin_private = plugin;
	options->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
	plugin->decoding = ctx;
	plugin->deliver = print_record;
	plugin->change_context =
		AllocSetContextCreate(ctx->context, "dynamo_table stream change", ALLOCSET_DEFAULT_SIZES);
	plugin->transaction_context = AllocSetContextCreate(
		ctx->context, "dynamo_table stream transaction", ALLOCSET_SMALL_SIZES);
	stream_options_read(&plugin->options, ctx->output_plugin_options);
	stream_subjects_create(plugin);
}

/*
 * Transactions
 */

static void
plugin_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	StreamPlugin *plugin = ctx->output_plugin_private;

	MemoryContextReset(plugin->transaction_context);
	plugin->place = (StreamPlace){txn->final_lsn, 0};
	plugin->committed = commit_time_of(txn);
	plugin->marks = NIL;
	plugin->held = NULL;
	plugin->secret_read = false;
	plugin->secret = NULL;
}

static void
plugin_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	StreamPlugin *plugin = ctx->output_plugin_private;

	stream_release(plugin);
	stream_subjects_clear(plugin->subjects);
	OutputPluginUpdateProgress(ctx, plugin->place.ordinal == 0);
}

/* Tells progress, since what gives no output could take longer than wal_sender_timeout. */
static void
tell_progress(StreamPlugin *plugin)
{
	if (!PLUGIN_TELLS_PROGRESS || ++plugin->changes < CHANGES_BETWEEN_PROGRESS)
		return;
	OutputPluginUpdateProgress(plugin->decoding, false);
	plugin->changes = 0;
}

/*
 * Marks
 */

static void
remember_mark(StreamPlugin *plugin, const DynMark *mark)
{
	DynMark *copy = palloc(sizeof(DynMark));

	*copy = *mark;
	plugin->marks = lappend(plugin->marks, copy);
}

static void
forget_mark(StreamPlugin *plugin, const DynMark *mark)
{
	ListCell *cell;

	foreach (cell, plugin->marks)
	{
		DynMark *begun = lfirst(cell);

		if (begun->kind != mark->kind || begun->relid != mark->relid)
			continue;
		plugin->marks = foreach_delete_current(plugin->marks, cell);
		pfree(begun);
		break;
	}
}

/*
 * The shards of a stream are closed by what comes next; the catalogs are as they were before.  The
 * end has a place, as records have: readers of the table's next stream, or of the shards' children,
 * begin behind the one after the last record of these.
 */
static void
close_shards(StreamPlugin *plugin, const StreamSubject *subject)
{
	plugin->place.ordinal++;
	if (plugin->close != NULL)
		plugin->close(plugin, subject->named, subject->stream, subject->generation);
}

/* Takes what marks say of the stream of a table. */
static void
take_mark(StreamPlugin *plugin, const DynMark *mark)
{
	Relation rel = RelationIdGetRelation(mark->relid);
	StreamSubject *subject;

	if (!RelationIsValid(rel))
		return;
	subject = stream_subject(plugin, rel);
	if (subject != NULL && subject->stream != 0)
	{
		if (mark->kind == DYN_MARK_CLOSING)
			close_shards(plugin, subject);
		else if (plugin->lose != NULL)
			plugin->lose(plugin, subject->named);
	}
	RelationClose(rel);
}

static void
begin_mark(StreamPlugin *plugin, const DynMark *mark)
{
	if (mark->kind == DYN_MARK_CLOSING || mark->kind == DYN_MARK_UNLOGGED)
		take_mark(plugin, mark);
	else
		remember_mark(plugin, mark);
}

static void
plugin_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn,
			   bool transactional, const char *prefix, Size size, const char *text)
{
	StreamPlugin *plugin = ctx->output_plugin_private;
	MemoryContext old;
	DynMark mark;

	if (!transactional || strcmp(prefix, DYN_MARK_PREFIX) != 0)
		return;
	old = MemoryContextSwitchTo(plugin->transaction_context);
	if (!plugin->secret_read)
		plugin->secret = dyn_mark_secret();
	plugin->secret_read = true;
	if (dyn_mark_read(text, size, txn->xid, plugin->secret, &mark))
	{
		if (mark.start)
			begin_mark(plugin, &mark);
		else
			forget_mark(plugin, &mark);
	}
	MemoryContextSwitchTo(old);
}

/* Returns whether the change is between such marks of the table or of its partitioned table. */
bool
stream_is_marked(const StreamPlugin *plugin, const StreamSubject *subject, DynMarkKind kind)
{
	ListCell *cell;

	foreach (cell, plugin->marks)
	{
		const DynMark *mark = lfirst(cell);

		if (mark->kind == kind && (mark->relid == subject->relid || mark->relid == subject->named))
			return true;
	}
	return false;
}

/*
 * Changes
 */

/*
 * Returns whether Citus copies items from another node, or from a shard that it splits.  With
 * citus.enable_change_data_capture, the changes of these copies have an origin, which is no other
 * node's; no other change of a shard has one, since a distributed table cannot be subscribed to.
 */
static bool
is_copied(const StreamSubject *subject, const ReorderBufferChange *change)
{
	return subject->placed && change->origin_id != NO_ORIGIN;
}

static void
change_row(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation rel,
		   ReorderBufferChange *change)
{
	StreamPlugin *plugin = ctx->output_plugin_private;
	StreamSubject *subject = stream_subject(plugin, rel);

	if (subject != NULL && !is_copied(subject, change))
	{
		MemoryContext old = MemoryContextSwitchTo(plugin->change_context);

		stream_change(plugin, subject, RelationGetDescr(rel), change);
		MemoryContextSwitchTo(old);
		MemoryContextReset(plugin->change_context);
	}
	tell_progress(plugin);
}

static bool
is_among(Oid relid, int nrelations, Relation relations[])
{
	for (int i = 0; i < nrelations; i++)
	{
		if (RelationGetRelid(relations[i]) == relid)
			return true;
	}
	return false;
}

/* A partitioned table comes with its partitions, or partitions without it; either gives one record. */
static void
truncate_tables(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	StreamPlugin *plugin = ctx->output_plugin_private;
	MemoryContext old = MemoryContextSwitchTo(plugin->change_context);
	List *done = NIL;

	for (int i = 0; i < nrelations; i++)
	{
		StreamSubject *subject = stream_subject(plugin, relations[i]);

		if (subject == NULL || list_member_oid(done, subject->named) || is_copied(subject, change))
			continue;
		done = lappend_oid(done, subject->named);
		stream_truncate(plugin, subject, !is_among(subject->named, nrelations, relations));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(plugin->change_context);
	tell_progress(plugin);
}

/* Everything is in the decoding context, which goes now. */
void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = plugin_startup;
	callbacks->begin_cb = plugin_begin;
	callbacks->change_cb = change_row;
	callbacks->truncate_cb = truncate_tables;
	callbacks->commit_cb = plugin_commit;
	callbacks->message_cb = plugin_message;
	callbacks->filter_by_origin_cb = filter_by_origin;
}
