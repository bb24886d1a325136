/*
 * read.c
 *	  Reading a stream: from where, as far as it is whole.
 *
 * Changes that were not collected, or were dropped since, are never skipped silently: a reader
 * whose position is before them gets ERRCODE_DYN_TRIMMED_DATA_ACCESS, which says where to go on.
 * Only a reader that begins at TRIM_HORIZON asks for whatever is left: it begins behind everything
 * that is older than the retention.  A younger gap stops it as well.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "ground/errors.h"
#include "stream/read.h"

pg_noreturn static void
fail_incomplete(const char *message, StreamPlace next)
{
	char text[STREAM_SEQUENCE_LENGTH + 1];

	ereport(ERROR, (errcode(ERRCODE_DYN_TRIMMED_DATA_ACCESS), errmsg("%s", message),
					errdetail("The stream goes on after sequence number %s.",
							  stream_sequence_print(next, text)),
					errhint("Bring what follows the stream up to date from the table first.")));
}

static void
raise_place(StreamPlace *place, StreamPlace other)
{
	if (stream_place_compare(*place, other) < 0)
		*place = other;
}

/*
 * The place after which the stream has its records: after what was dropped of it, and after whatever
 * older streams of the table have had, for what was changed between two streams is in neither.
 */
static StreamPlace
find_floor(const StreamLog *log, const StreamTarget *target)
{
	StreamPlace floor = stream_log_floor(log, target->relid, target->stream.label);
	StreamPlace place;

	for (int i = 0; i < target->nolder; i++)
	{
		if (!stream_log_last(log, target->relid, target->older[i], &place))
			continue;
		place.ordinal++;
		raise_place(&floor, place);
	}
	return floor;
}

/*
 * A gap concerns the streams that existed when it was noticed, and those of which that is not
 * known.
 */
static bool
gap_concerns(const StreamGap *gap, const StreamTarget *target)
{
	if (OidIsValid(gap->relid) && gap->relid != target->relid)
		return false;
	return gap->noticed > stream_time(target->stream.label) ||
		   !stream_label_is_plausible(target->stream.label);
}

/* Where TRIM_HORIZON is: behind gaps that are older than what is kept. */
static StreamPlace
find_horizon(const StreamTarget *target, StreamPlace floor, const StreamGap *gaps, int ngaps)
{
	TimestampTz oldest = GetCurrentTimestamp() - (int64) dyn_stream_retention * USECS_PER_SEC;

	for (int i = 0; i < ngaps; i++)
	{
		if (gap_concerns(&gaps[i], target) && gaps[i].noticed < oldest)
			raise_place(&floor, (StreamPlace){gaps[i].before, 0});
	}
	return floor;
}

/* The first gap behind a place, or NULL. */
static const StreamGap *
find_gap(const StreamTarget *target, StreamPlace after, const StreamGap *gaps, int ngaps)
{
	const StreamGap *first = NULL;

	for (int i = 0; i < ngaps; i++)
	{
		if (gap_concerns(&gaps[i], target) && gaps[i].before > after.lsn &&
			(first == NULL || gaps[i].after < first->after))
			first = &gaps[i];
	}
	return first;
}

/* A place that was never reached here is one of another server, or of a future that a restore has taken back. */
static void
check_future(StreamPlace after)
{
	if (!RecoveryInProgress() && after.lsn > stream_wal_position())
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the position is behind the end of the WAL"),
						errdetail("It is of another server, or from before a restore of this one."),
						errhint("Begin again, with a copy of the table.")));
}

static StreamPlace
find_start(const StreamLog *log, const StreamTarget *target, const StreamPosition *position,
		   const StreamGap *gaps, int ngaps)
{
	StreamPlace floor = find_floor(log, target);

	if (position->horizon)
		return find_horizon(target, floor, gaps, ngaps);
	check_future(position->after);
	if (stream_place_compare(position->after, floor) < 0)
		fail_incomplete("the position is before the oldest record of the stream", floor);
	return position->after;
}

typedef struct ReadProgress
{
	const StreamRead *read;
	StreamRecordCallback callback;
	void *arg;
	int64 count;
	int64 bytes;
	StreamPlace last;
	bool full;
} ReadProgress;

/* A page that has no room for a record ends before it, but has one. */
static bool
take_record(const StreamRecord *record, void *arg)
{
	ReadProgress *progress = arg;
	const StreamRead *read = progress->read;

	progress->bytes += record->size;
	progress->full =
		read->max_bytes > 0 && progress->count > 0 && progress->bytes > read->max_bytes;
	if (progress->full)
		return false;
	progress->count++;
	progress->last = record->place;
	if (!progress->callback(record, progress->arg))
		progress->full = true;
	if (read->max_records > 0 && progress->count >= read->max_records)
		progress->full = true;
	return !progress->full;
}

/*
 * Whether all of a stream has been collected: its end was written together with its last records, or
 * all was taken down, and nothing is collected for it any more.
 */
static bool
has_ended(const StreamLog *log, const StreamTarget *target, XLogRecPtr collected)
{
	return target->stream.disabled != 0 &&
		   (XLogRecPtrIsInvalid(collected) ||
			stream_log_ended(log, target->relid, target->stream.label));
}

static void
read_log(const StreamLog *log, const StreamTarget *target, ReadProgress *progress,
		 StreamReadResult *result)
{
	StreamGap *gaps;
	int ngaps = stream_log_gaps(log, &gaps);
	XLogRecPtr collected = stream_log_collected(log);
	StreamPlace after = find_start(log, target, &progress->read->position, gaps, ngaps);
	const StreamGap *gap = find_gap(target, after, gaps, ngaps);
	StreamScan scan = {target->relid, &target->stream, after,
					   gap != NULL ? gap->after : InvalidXLogRecPtr, progress->read->shard};

	progress->last = after;
	if (gap == NULL || gap->after > 0)
		(void) stream_log_scan(log, &scan, take_record, progress);
	if (gap != NULL && progress->count == 0)
		fail_incomplete("changes after the position were not collected",
						(StreamPlace){gap->before, 0});
	result->count = progress->count;
	/* a reader of all records is at the place up to which all was collected */
	if (!progress->full && gap == NULL)
		raise_place(&progress->last, (StreamPlace){collected, 0});
	result->next = stream_position_after(progress->last);
	result->ended = !progress->full && gap == NULL && has_ended(log, target, collected);
}

/* At once, whatever there is; the caller's rights were checked. */
void
stream_read(const StreamTarget *target, const StreamRead *read, StreamRecordCallback callback,
			void *arg, StreamReadResult *result)
{
	ReadProgress progress = {read, callback, arg};
	StreamLog log;

	stream_log_open(&log);
	read_log(&log, target, &progress, result);
	stream_log_close(&log);
}

/* Where the records begin that are left, as the place of the first one at the earliest, and where they end. */
void
stream_bounds(const StreamTarget *target, StreamPlace *first, StreamPlace *last, bool *ended)
{
	StreamLog log;

	stream_log_open(&log);
	*first = find_floor(&log, target);
	*last = *first;
	(void) stream_log_last(&log, target->relid, target->stream.label, last);
	*ended = has_ended(&log, target, stream_log_collected(&log));
	stream_log_close(&log);
	first->ordinal++;
	/* without records too, it does not end before it begins */
	raise_place(last, *first);
}
