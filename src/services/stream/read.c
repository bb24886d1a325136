/*
 * read.c
 *	  Reading a stream: from where, as far as it is whole.
 *
 * Changes that were not collected, or were dropped since, are never skipped silently: a reader
 * whose position is before them gets ERRCODE_DYN_TRIMMED_DATA_ACCESS, which says where to go on.
 * Only a reader that begins at TRIM_HORIZON asks for whatever is left: it begins behind everything
 * that is older than the retention.  A younger gap stops it as well.  So does the end of what was
 * collected where the slot is gone, for what comes then is not collected.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "server/errors.h"
#include "services/stream/read.h"

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
 * Returns the place after which the stream has its records: after what was dropped of it, and after
 * what older streams of the table have had, for what was changed between two streams is in neither.
 */
static StreamPlace
find_floor(const StreamLog *log, const StreamTarget *target)
{
	StreamPlace floor = stream_log_floor(log, target->relid, target->stream.label);
	StreamPlace place;

	for (int i = 0; i < target->nolder; i++)
	{
		if (!stream_log_last(log, target->relid, target->older[i], STREAM_PLACE_LAST, &place))
			continue;
		place.ordinal++;
		raise_place(&floor, place);
	}
	return floor;
}

/*
 * A ReadSpan is the part of a stream that a read is of: a shard has records only while its
 * generation was the newest one.
 */
typedef struct ReadSpan
{
	StreamPlace after;
	bool ended; /* all of it was collected */
	StreamPlace end; /* STREAM_PLACE_LAST: it has none, or none that matters */
} ReadSpan;

/*
 * Finds what is known of the ends of a stream's shards.  An end was written together with the last
 * records before it; or all was taken down, and nothing is collected any more.
 */
static void
find_ends(const StreamLog *log, const StreamTarget *target, StreamClosing ends[DYN_MAX_GENERATIONS])
{
	bool taken_down = XLogRecPtrIsInvalid(stream_log_collected(log));

	stream_log_ends(log, target->relid, target->stream.label, ends);
	for (int i = 0; i <= target->stream.nearlier; i++)
	{
		if (!stream_is_closed(&target->stream, i))
			ends[i].known = false;
		else
			ends[i].known |= taken_down;
	}
}

/* Finds the span of a shard; -1: all of the stream, which ends with its newest shards. */
static ReadSpan
find_span(const StreamTarget *target, int shard, const StreamClosing ends[DYN_MAX_GENERATIONS])
{
	int generation =
		shard < 0 ? target->stream.nearlier : stream_generation_of(&target->stream, shard);
	ReadSpan span = {.ended = ends[generation].known, .end = STREAM_PLACE_LAST};

	if (shard >= 0 && generation > 0)
		span.after = ends[generation - 1].place;
	if (shard >= 0 && span.ended)
		span.end = ends[generation].place;
	return span;
}

/*
 * Returns whether a gap concerns the stream: it does if the stream existed when it was noticed, or
 * that is not known.
 */
static bool
gap_concerns(const StreamGap *gap, const StreamTarget *target)
{
	if (OidIsValid(gap->relid) && gap->relid != target->relid && gap->relid != target->distributed)
		return false;
	/* those that were noticed before a shard came here are not of it */
	if (OidIsValid(target->distributed) && gap->noticed < target->began &&
		gap->relid != target->relid)
		return false;
	return gap->noticed > stream_time(target->stream.label) ||
		   !stream_label_is_plausible(target->stream.label);
}

/* Finds where TRIM_HORIZON is: behind gaps that are older than what is kept. */
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

/* Returns the first gap behind a place and not behind the end, or NULL. */
static const StreamGap *
find_gap(const StreamTarget *target, StreamPlace after, StreamPlace end, const StreamGap *gaps,
		 int ngaps)
{
	const StreamGap *first = NULL;

	for (int i = 0; i < ngaps; i++)
	{
		if (gap_concerns(&gaps[i], target) && gaps[i].before > after.lsn &&
			gaps[i].after <= end.lsn && (first == NULL || gaps[i].after < first->after))
			first = &gaps[i];
	}
	return first;
}

/* Raises an error for a place never reached here, of another server or a time that was undone. */
static void
check_future(StreamPlace after)
{
	if (!RecoveryInProgress() && after.lsn > stream_wal_position())
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the position is behind the end of the WAL"),
						errdetail("It is of another server, or from before a restore of this one."),
						errhint("Begin again, with a copy of the table.")));
}

/* Finds where to start; outside of what is read there is nothing that a reader could miss. */
static StreamPlace
find_start(const StreamLog *log, const StreamTarget *target, const StreamPosition *position,
		   const ReadSpan *span, const StreamGap *gaps, int ngaps)
{
	StreamPlace floor = find_floor(log, target);
	StreamPlace start = span->after;

	if (position->horizon)
	{
		raise_place(&start, find_horizon(target, floor, gaps, ngaps));
		return start;
	}
	check_future(position->after);
	raise_place(&start, position->after);
	if (stream_place_compare(start, floor) < 0 && stream_place_compare(start, span->end) < 0)
		fail_incomplete("the position is before the oldest record of the stream", floor);
	return start;
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

/* Takes a record; a page that has no room for one ends before it, but has one. */
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

static void
read_log(const StreamLog *log, const StreamTarget *target, ReadProgress *progress,
		 StreamReadResult *result)
{
	const StreamRead *read = progress->read;
	StreamClosing ends[DYN_MAX_GENERATIONS];
	StreamGap *gaps;
	int ngaps = stream_log_gaps(log, &gaps);
	ReadSpan span;
	StreamPlace after;
	const StreamGap *gap;
	StreamScan scan;

	find_ends(log, target, ends);
	span = find_span(target, read->shard, ends);
	after = find_start(log, target, &read->position, &span, gaps, ngaps);
	gap = find_gap(target, after, span.end, gaps, ngaps);
	scan = (StreamScan){target->relid, &target->stream, after,
						gap != NULL ? gap->after : InvalidXLogRecPtr, read->shard};
	progress->last = after;
	if (gap == NULL || gap->after > 0)
		(void) stream_log_scan(log, &scan, take_record, progress);
	if (gap != NULL && progress->count == 0)
		fail_incomplete("changes after the position were not collected",
						(StreamPlace){gap->before, 0});
	if (progress->count == 0 && gap == NULL && !span.ended)
		stream_require_collecting(stream_log_collected(log));
	result->count = progress->count;
	/* a reader of all records is at the place up to which all was collected */
	if (!progress->full && gap == NULL)
		raise_place(&progress->last, (StreamPlace){stream_log_collected(log), 0});
	result->next = stream_position_after(progress->last);
	result->ended = !progress->full && gap == NULL && span.ended;
}

/* Reads at once, whatever there is; the caller's rights were checked. */
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

/*
 * A closed generation is listed as long as it has a record left, and as long as one that was collected with
 * its end would be kept.
 */
static bool
has_expired(const StreamGeneration *generation, const StreamClosing *end, StreamPlace floor,
			bool empty)
{
	TimestampTz oldest = GetCurrentTimestamp() - (int64) dyn_stream_retention * USECS_PER_SEC;

	return generation->ended &&
		   (stream_place_compare(floor, end->place) >= 0 || (empty && end->time < oldest));
}

static void
find_generation(const StreamLog *log, const StreamTarget *target, int i, StreamPlace floor,
				const StreamClosing ends[DYN_MAX_GENERATIONS], StreamGeneration *generation)
{
	StreamPlace end = ends[i].known ? ends[i].place : STREAM_PLACE_LAST;
	StreamPlace start = floor;
	bool empty;

	*generation = (StreamGeneration){.ended = ends[i].known};
	if (i > 0)
		raise_place(&start, ends[i - 1].place);
	empty = !stream_log_last(log, target->relid, target->stream.label, end, &generation->last) ||
			stream_place_compare(generation->last, start) <= 0;
	generation->first = (StreamPlace){start.lsn, start.ordinal + 1};
	/* without records too, it does not end before it begins */
	raise_place(&generation->last, generation->first);
	/* the newest one is described as long as its stream is, unless it is of a shard that may have left */
	generation->listed = (i == target->stream.nearlier && !OidIsValid(target->distributed)) ||
						 !has_expired(generation, &ends[i], floor, empty);
}

/*
 * Returns the generations of a stream's shards.  One is there when the end of the one before was
 * collected: from then on the parents of its shards can be read to their end.
 */
void
stream_generations(const StreamTarget *target, StreamGeneration generations[DYN_MAX_GENERATIONS])
{
	StreamClosing ends[DYN_MAX_GENERATIONS];
	StreamPlace floor;
	StreamLog log;

	memset(generations, 0, DYN_MAX_GENERATIONS * sizeof(StreamGeneration));
	stream_log_open(&log);
	floor = find_floor(&log, target);
	find_ends(&log, target, ends);
	for (int i = 0; i <= target->stream.nearlier && (i == 0 || ends[i - 1].known); i++)
		find_generation(&log, target, i, floor, ends, &generations[i]);
	stream_log_close(&log);
}
