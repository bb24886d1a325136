/*
 * attempt.h
 *	  What a collector leaves for the next one in case it dies: where it was, and how often.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_ATTEMPT_H
#define DYNAMO_TABLE_SERVICES_STREAM_ATTEMPT_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

/* A StreamSpot is where a transaction's commit begins in the WAL, and a table or InvalidOid. */
typedef struct StreamSpot
{
	XLogRecPtr lsn;
	Oid relid;
} StreamSpot;

/* A StreamAttemptState is the file's contents. */
typedef struct StreamAttemptState
{
	uint32 magic;
	int32 at_work; /* one has begun, and did not say that it has ended */
	int32 deaths; /* of one after the other, since one has gone well */
	int32 tries; /* deaths at the spot that is blamed */
	TimestampTz began;
	StreamSpot spot; /* where the last one was, if that was written down */
	StreamSpot blamed;
} StreamAttemptState;

typedef struct StreamAttempt
{
	int file; /* -1: none, and nothing survives */
	bool careful; /* the one before died, so it is written down where this one is */
	bool failed; /* it is dying of an error */
	StreamSpot spot; /* where it is */
	StreamAttemptState state;
} StreamAttempt;

extern void stream_attempt_worker_init(void);
extern long stream_attempt_pause(void);
extern void stream_attempt_begin(StreamAttempt *attempt);
extern void stream_attempt_at(StreamAttempt *attempt, XLogRecPtr lsn, Oid relid);
extern bool stream_attempt_passes_table(const StreamAttempt *attempt, Oid relid);
extern bool stream_attempt_passes_transaction(const StreamAttempt *attempt, XLogRecPtr lsn);
extern void stream_attempt_fail(StreamAttempt *attempt, int sqlstate);
extern void stream_attempt_went_well(StreamAttempt *attempt);
extern void stream_attempt_end(StreamAttempt *attempt);

#endif
