/*
 * trace.c
 *	  What visits were at when the server went down.
 *
 * A process that dies takes the server down, shared memory included, and with it what it was doing.
 * If that was the cause, the server goes down again as soon as the same is tried.  So each worker
 * writes to a file what it is at before it begins, and takes it back when it ends, whatever ends it
 * but a crash.  It costs a system call and no WAL: what the kernel has been given survives the
 * process, and a crash of the machine has other causes.  A resident service looks after this by
 * itself.
 *
 * The file has the records that were found at a launcher's start, which the launcher writes until
 * they are noted in their database, and then one for each slot of a visit, which its worker writes.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"

#include "server/work/visit.h"

/* Files of extensions are there that belong to no backup, and are not removed by a crash. */
#define TRACE_FILE PG_STAT_TMP_DIR "/dynamo_table.visits"

/* Each process that writes the file keeps it open. */
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
write_records(int place, const Trace *records, int n)
{
	ssize_t size = n * sizeof(Trace);

	if (open_file() && pg_pwrite(file, records, size, place * sizeof(Trace)) != size)
		ereport(LOG,
				(errcode_for_file_access(), errmsg("could not write file \"%s\": %m", TRACE_FILE)));
}

/*
 * Writes what a visit is at.  database is InvalidOid at its end; relid is InvalidOid if it is at work
 * on no relation.  Nothing is written of a resident service.
 */
void
trace_write(const Visit *visit, Oid database, Oid relid)
{
	Trace record = {.service = visit->service, .database = database, .relid = relid};

	if (!services[visit->service]->resident)
		write_records(MAX_CRASHED + visit->slot, &record, 1);
}

/* Writes what the launcher still has to have noted. */
void
trace_keep(const Trace *crashed, int n)
{
	Trace records[MAX_CRASHED] = {0};

	memcpy(records, crashed, n * sizeof(Trace));
	write_records(0, records, MAX_CRASHED);
}

/* Add what a worker did; again, if it crashes again. */
static int
add_crash(Trace *crashed, int n, Trace trace)
{
	for (int i = 0; i < n; i++)
		if (crashed[i].service == trace.service && crashed[i].database == trace.database &&
			crashed[i].relid == trace.relid)
		{
			crashed[i].crashes++;
			return n;
		}
	if (n == MAX_CRASHED)
		return n;
	trace.crashes = Max(trace.crashes, 1);
	crashed[n] = trace;
	return n + 1;
}

/* Reads, at the launcher's start, what was going on at a crash.  Returns how many records there are. */
int
trace_recover(Trace crashed[MAX_CRASHED])
{
	int size = MAX_CRASHED + max_worker_processes;
	Trace *records = palloc0(size * sizeof(Trace));
	int n = 0;

	/* a file that is too short has zeros behind it */
	if (!open_file() || pg_pread(file, records, size * sizeof(Trace), 0) < 0)
		return 0;
	for (int i = 0; i < size; i++)
	{
		if (!OidIsValid(records[i].database))
			continue;
		if (i < MAX_CRASHED)
			crashed[n++] = records[i];
		else
			n = add_crash(crashed, n, records[i]);
	}
	trace_keep(crashed, n);
	memset(records, 0, size * sizeof(Trace));
	write_records(MAX_CRASHED, records, max_worker_processes);
	pfree(records);
	return n;
}
