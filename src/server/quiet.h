/*
 * quiet.h
 *	  Messages of the server that say nothing new in what the extension does.
 */
#ifndef DYNAMO_TABLE_SERVER_QUIET_H
#define DYNAMO_TABLE_SERVER_QUIET_H

/* A Quiet is what the process is doing; values are flags. */
typedef enum Quiet
{
	QUIET_WORKER = 1, /* it is a background worker of the extension */
	QUIET_DECODING = 2 /* it reads the slot of streams */
} Quiet;

extern void quiet_init(void);
extern void quiet_begin(Quiet what);
extern void quiet_end(Quiet what);

#endif
