/*
 * end.c
 *	  Where disabled streams have ended.
 *
 * The session that disables a stream writes a mark to the WAL, and the collector stores the place
 * of that commit together with the records up to it.  So a reader whose snapshot shows the end has
 * all records of the stream, whether or not anything else is written to the WAL.  If the mark is
 * never decoded, since a new slot begins behind it, the stream ends where that slot begins.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/pg_lsn.h"

#include "work/owned.h"
#include "stream/stream.h"

/* Connected to SPI.  The first end that is written stays. */
void
stream_end_write(Oid relid, int64 label, XLogRecPtr lsn)
{
	Oid types[] = {OIDOID, INT8OID, PG_LSNOID};
	Datum values[] = {ObjectIdGetDatum(relid), Int64GetDatum(label), LSNGetDatum(lsn)};

	owned_execute(STREAM_ENDS_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_ENDS_TABLE " (relation, stream, lsn)"
				  " VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
				  lengthof(types), types, values, NULL);
}
