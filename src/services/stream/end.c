/*
 * end.c
 *	  Where closed shards have ended.
 *
 * All shards of a generation are closed at once: by disabling their stream, or by splitting them.  The
 * session that does so writes a mark to the WAL, and the collector stores the place of the mark
 * together with the records up to it.  So a reader whose snapshot shows the end has all records of
 * these shards, whether or not anything else is written to the WAL.  If the mark is never decoded,
 * since a new slot begins behind it, the shards end where that slot begins; if it is left out, at the
 * first record of the next generation.
 */
#include "postgres.h"

#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "server/sql.h"
#include "server/work/owned.h"
#include "services/stream/stream.h"

/* Writes that a generation and those before it have ended, unless that is written; uses SPI. */
void
stream_end_write(Oid relid, int64 label, int generation, StreamPlace place, TimestampTz collected)
{
	owned_execute(STREAM_ENDS_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_ENDS_TABLE
				  " (relation, stream, generation, lsn, ordinal, collected)"
				  " SELECT $1, $2, g, $4, $5, $6 FROM pg_catalog.generate_series(0, $3) g"
				  " ON CONFLICT DO NOTHING",
				  SQL_VALUES(SQL_OID(relid), SQL_INT8(label), SQL_INT4(generation),
							 SQL_LSN(place.lsn), SQL_INT8((int64) place.ordinal),
							 SQL_TIME(collected)));
}
