/*
 * gap.c
 *	  Where changes were not collected: of all tables, or of one.
 */
#include "postgres.h"

#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "server/sql.h"
#include "server/work/owned.h"
#include "services/stream/stream.h"

/*
 * Writes a gap; needs SPI.  What was committed from one place to before another one is in no stream
 * that has a label before the time; relid: of one table alone, InvalidOid: of any.  Two shards of a
 * table may have the same gap.
 */
void
stream_gap_write(XLogRecPtr after, XLogRecPtr before, TimestampTz noticed, Oid relid)
{
	owned_execute(STREAM_GAPS_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_GAPS_TABLE
				  " (after_lsn, before_lsn, noticed, relation)"
				  " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
				  SQL_VALUES(SQL_LSN(after), SQL_LSN(before), SQL_TIME(noticed), SQL_OID(relid)));
}

/*
 * Writes a gap, or moves one; needs SPI.  Changes of a table, the last of which was committed at a
 * place, are not in the WAL.  The gap comes behind that transaction, of which there may be
 * records.  If the table's last gap was noticed within the last hour, that one is moved there
 * instead: so a table whose changes are left out all the time does not get many gaps, and readers
 * get what is stored up to there before they are told.
 */
void
stream_gap_move(XLogRecPtr lsn, TimestampTz noticed, Oid relid)
{
	if (owned_execute(
			STREAM_GAPS_TABLE,
			"UPDATE " DYN_INTERNAL "." STREAM_GAPS_TABLE
			" SET after_lsn = $1, before_lsn = $2, noticed = $3 WHERE relation = $4"
			" AND noticed > $3 - interval '1 hour' AND before_lsn ="
			" (SELECT pg_catalog.max(g.before_lsn) FROM " DYN_INTERNAL "." STREAM_GAPS_TABLE
			" g WHERE g.relation = $4)",
			SQL_VALUES(SQL_LSN(lsn + 1), SQL_LSN(lsn + 2), SQL_TIME(noticed), SQL_OID(relid))) == 0)
		stream_gap_write(lsn + 1, lsn + 2, noticed, relid);
}
