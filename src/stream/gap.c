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
 * before the time; relid: of one table alone, InvalidOid: of any.
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
				  " VALUES ($1, $2, $3, nullif($4, 0))",
				  lengthof(types), types, values, NULL);
}
