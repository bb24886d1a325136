/*
 * limits.h
 *	  Limits of requests for several items.
 */
#ifndef DYNAMO_TABLE_REQUEST_LIMITS_H
#define DYNAMO_TABLE_REQUEST_LIMITS_H

/* Spec rows B07, X07, X08 and X09. */
#define DYN_MAX_BATCH_GETS 100
#define DYN_MAX_BATCH_WRITES 25
#define DYN_MAX_BATCH_BYTES (16 * 1024 * 1024)
#define DYN_MAX_TRANSACT_ACTIONS 100
#define DYN_MAX_TRANSACT_BYTES (4 * 1024 * 1024)
#define DYN_MAX_TOKEN 36 /* characters */

#endif
