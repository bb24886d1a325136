/*
 * gap.c
 *	  Where changes were not collected: of all tables, or of one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "work/owned.h"
#include "stream/stream.h"

/*
 * Connected to SPI.  What was committed from one place to before another one is in no stream that has a label
 * before the time; relid: of one table alone, InvalidOid: of any.  Two shards of a table may have the same gap.
 */
void
stream_gap_write(XLogRecPtr after, XLogRecPtr before, TimestampTz noticed, Oid relid)
{
	Oid types[] = {PG_LSNOID, PG_LSNOID, TIMESTAMPTZOID, OIDOID};
	Datum values[] = {LSNGetDatum(after), LSNGetDatum(before), TimestampTzGetDatum(noticed),
					  ObjectIdGetDatum(relid)};

	owned_execute(STREAM_GAPS_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_GAPS_TABLE
				  " (after_lsn, before_lsn, noticed, relation)"
				  " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
				  lengthof(types), types, values, NULL);
}

/*
 * Connected to SPI.  A change of a table is in no stream: if that is not the first one of late, the last gap of
 * the table goes on up to before the place.  What is in between can be read by those who have read
 * the first part already; and a table whose changes are left out for long has not many gaps.
 */
void
stream_gap_extend(XLogRecPtr before, TimestampTz noticed, Oid relid)
{
	Oid types[] = {PG_LSNOID, TIMESTAMPTZOID, OIDOID};
	Datum values[] = {LSNGetDatum(before), TimestampTzGetDatum(noticed), ObjectIdGetDatum(relid)};

	if (owned_execute(STREAM_GAPS_TABLE,
					  "UPDATE " DYN_INTERNAL "." STREAM_GAPS_TABLE
					  " SET before_lsn = $1, noticed = $2 WHERE relation = $3"
					  " AND noticed > $2 - interval '1 hour' AND before_lsn ="
					  " (SELECT pg_catalog.max(g.before_lsn) FROM " DYN_INTERNAL
					  "." STREAM_GAPS_TABLE " g WHERE g.relation = $3)",
					  lengthof(types), types, values, NULL) == 0)
		stream_gap_write(before - 1, before, noticed, relid);
}
