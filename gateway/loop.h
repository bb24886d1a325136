/*
 * loop.h
 *	  A thread that waits for many files at once, and does what each of them has ready.
 *
 * What belongs to a loop is touched by its thread alone, so that it needs no locks: other threads
 * give it jobs.
 */
#ifndef GATEWAY_LOOP_H
#define GATEWAY_LOOP_H

#include <stdbool.h>

typedef struct Loop Loop;

/* A Watch is told that its file is ready, or was a moment ago. */
typedef struct Watch
{
	void (*ready)(struct Watch *watch);
} Watch;

/* A Turn comes once a round, behind all that was ready. */
typedef struct Turn
{
	struct Turn *next;
	void (*run)(struct Turn *turn);
	int (*patience)(struct Turn *turn); /* milliseconds until it has to come at the latest */
} Turn;

/* A Job is what a helper does, if it has work for one, and a loop goes on with then. */
typedef struct Job
{
	struct Job *next;
	Loop *loop;
	void (*work)(struct Job *job);
	void (*done)(struct Job *job);
} Job;

extern Loop *loop_new(void *owner);
extern bool loop_start(Loop *loop);
extern void *loop_owner(const Loop *loop);
extern bool loop_watch(Loop *loop, int file, Watch *watch);
extern void loop_watch_writes(Loop *loop, int file, Watch *watch, bool writes);
extern void loop_unwatch(Loop *loop, int file);
extern void loop_add_turn(Loop *loop, Turn *turn);
extern void loop_remove_turn(Loop *loop, Turn *turn);
extern void loop_post(Job *job);
extern void loop_call(Loop *loop, void (*run)(void *arg), void *arg);
extern void loop_free(Loop *loop);

#endif
