/*
 * position.c
 *	  Positions in streams, as text and as places.
 *
 * Every position but TRIM_HORIZON is a place that records come after.  Ordinals count from 1, so
 * "at" a record is after the ordinal before it, and (lsn, 0) is before all that was committed there.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "utils/builtins.h"

#include "server/errors.h"
#include "services/stream/read.h"

#define AFTER_WORD "AFTER_SEQUENCE_NUMBER "
#define AT_WORD "AT_SEQUENCE_NUMBER "

/* Returns a place before which nothing commits any more; on a standby that of the replay. */
XLogRecPtr
stream_wal_position(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetXLogInsertRecPtr();
}

/* Returns the position just behind a place, at which there need not be a record. */
StreamPosition
stream_position_after(StreamPlace place)
{
	return (StreamPosition){false, place};
}

/*
 * Returns the position just before the record at a place, which is the first to be read from there.
 */
StreamPosition
stream_position_at(StreamPlace place)
{
	if (place.ordinal > 0)
		place.ordinal--;
	return stream_position_after(place);
}

/* Returns the position at the present end of the WAL: all that commits later is behind it. */
StreamPosition
stream_position_latest(void)
{
	return stream_position_after((StreamPlace){stream_wal_position(), 0});
}

pg_noreturn static void
fail_position(ItemSpan text)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid position \"%s\"", item_quoted(text)),
			 errdetail("A position is TRIM_HORIZON, LATEST, or a sequence number."),
			 errhint("AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER may stand before the number.")));
}

/* Returns whether a text begins with a word; goes behind it. */
static bool
skip_word(ItemSpan *text, const char *word)
{
	uint32 len = (uint32) strlen(word);

	if (text->len < len || memcmp(text->data, word, len) != 0)
		return false;
	*text = (ItemSpan){text->data + len, text->len - len};
	return true;
}

/*
 * Reads a position: TRIM_HORIZON, LATEST, or a sequence number, after AT_SEQUENCE_NUMBER or
 * AFTER_SEQUENCE_NUMBER (the same as none).  Raises ERRCODE_DYN_VALIDATION for anything else.
 */
StreamPosition
stream_position_parse(ItemSpan text)
{
	ItemSpan rest = text;
	StreamPlace place;
	bool at;

	if (item_span_is(text, "TRIM_HORIZON"))
		return (StreamPosition){true};
	if (item_span_is(text, "LATEST"))
		return stream_position_latest();
	at = skip_word(&rest, AT_WORD);
	if (!at)
		(void) skip_word(&rest, AFTER_WORD);
	if (!stream_sequence_parse(rest, &place))
		fail_position(text);
	return at ? stream_position_at(place) : stream_position_after(place);
}

/* dyn_stream_position() */
PG_FUNCTION_INFO_V1(dyn_stream_position);
Datum
dyn_stream_position(PG_FUNCTION_ARGS)
{
	char text[STREAM_SEQUENCE_LENGTH + 1];

	PG_RETURN_TEXT_P(cstring_to_text(stream_sequence_print(stream_position_latest().after, text)));
}
