/*
 * trace.c
 *	  What was being swept when the server went down.
 *
 * A process that dies takes the server down, shared memory included, and with it what it was doing.
 * If that was the cause, the server goes down again as soon as the same is tried.  So each worker
 * writes which table it sweeps to a file before it begins, and takes it back when it ends, whatever
 * ends it but a crash.  It costs a system call and no WAL: what the kernel has been given survives
 * the process, and a crash of the machine has other causes.
 *
 * The file has a record for each slot of a visit, which its worker writes, and then those that were
 * found at a launcher's start, which the launcher writes until they are noted in their database.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "pgstat.h"
#include "storage/fd.h"

#include "ttl/background.h"

/* Where files of extensions are that belong to no backup, and are not removed by a crash. */
#define TRACE_FILE PG_STAT_TMP_DIR "/dynamo_table.ttl"

/* Kept open by each process that writes it. */
static int file = -1;

static bool
open_file(void)
{
	if (file >= 0)
		return true;
	file = BasicOpenFile(TRACE_FILE, O_RDWR | O_CREAT | PG_BINARY);
	if (file >= 0)
		ReserveExternalFD();
	else
		ereport(LOG,
				(errcode_for_file_access(), errmsg("could not open file \"%s\": %m", TRACE_FILE)));
	return file >= 0;
}

static void
write_records(int place, const TtlTrace *records, int n)
{
	ssize_t size = n * sizeof(TtlTrace);

	if (open_file() && pg_pwrite(file, records, size, place * sizeof(TtlTrace)) != size)
		ereport(LOG,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m", TRACE_FILE)));
}

/* What the worker in a slot does; nothing if the database is InvalidOid. */
void
ttl_trace(int slot, Oid database, Oid relid)
{
	TtlTrace record = {database, relid, 0};

	write_records(slot, &record, 1);
}

/* What the launcher still has to have noted. */
void
ttl_trace_keep(const TtlTrace *crashed, int n)
{
	TtlTrace records[TTL_MAX_CRASHED] = {0};

	memcpy(records, crashed, n * sizeof(TtlTrace));
	write_records(TTL_MAX_WORKERS, records, TTL_MAX_CRASHED);
}

/* Add what a worker did; again, if it crashes again. */
static int
add_crash(TtlTrace *crashed, int n, TtlTrace trace)
{
	for (int i = 0; i < n; i++)
		if (crashed[i].database == trace.database && crashed[i].relid == trace.relid)
		{
			crashed[i].crashes++;
			return n;
		}
	if (n == TTL_MAX_CRASHED)
		return n;
	trace.crashes = Max(trace.crashes, 1);
	crashed[n] = trace;
	return n + 1;
}

/* At the launcher's start: what was going on at a crash.  Returns how many there are, of TTL_MAX_CRASHED. */
int
ttl_trace_recover(TtlTrace *crashed)
{
	TtlTrace records[TTL_MAX_WORKERS + TTL_MAX_CRASHED] = {0};
	TtlTrace none[TTL_MAX_WORKERS] = {0};
	int n = 0;

	/* a file that is too short has zeros behind it */
	if (!open_file() || pg_pread(file, records, sizeof(records), 0) < 0)
		return 0;
	for (int i = TTL_MAX_WORKERS; i < lengthof(records); i++)
		if (OidIsValid(records[i].database))
			crashed[n++] = records[i];
	for (int i = 0; i < TTL_MAX_WORKERS; i++)
		if (OidIsValid(records[i].database))
			n = add_crash(crashed, n, records[i]);
	ttl_trace_keep(crashed, n);
	write_records(0, none, TTL_MAX_WORKERS);
	return n;
}
