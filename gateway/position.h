/*
 * position.h
 *	  How far a standby has to be for each key, so that its reads see its own writes.
 */
#ifndef GATEWAY_POSITION_H
#define GATEWAY_POSITION_H

#include <stdint.h>

/* Where the log is after a write is not known: only the primary has it for certain. */
#define POSITION_UNKNOWN UINT64_MAX

extern void position_note(const char *key_id, uint64_t position);
extern uint64_t position_of(const char *key_id);

#endif
