/*
 * target.h
 *	  The servers that statements are sent to: the primary, a standby for reads that may be stale, and
 *	  nodes of Citus.
 *
 * A connection to one is made by a helper, since names are looked up, passwords are proved, and the
 * server is asked what it is, all of which takes its time.
 */
#ifndef GATEWAY_TARGET_H
#define GATEWAY_TARGET_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

/* A Link is a connection to a server, and what is known of it. */
typedef struct Link
{
	PGconn *connection; /* NULL: there is none */
	unsigned generation; /* of the settings that it is connected by */
	bool node; /* it has the statement of nodes */
	bool prepared; /* it has the statement under its name */
	bool in_recovery; /* the server, when it was connected to */
} Link;

/* A TargetState is what connections to a server do. */
typedef enum TargetState
{
	TARGET_DOWN, /* there is none */
	TARGET_IDLE,
	TARGET_BUSY,
	TARGET_STATES
} TargetState;

/* TargetFigures are what is counted of a server, by all threads. */
typedef struct TargetFigures
{
	_Atomic int in[TARGET_STATES]; /* connections */
	_Atomic int waiting; /* requests, for one of them */
	_Atomic uint64_t answered; /* requests that it was for, and has answered */
	_Atomic uint64_t elsewhere; /* and that another had to */
} TargetFigures;

typedef struct Target Target;

extern Target *target_primary(void);
extern Target *target_standby(void);
extern Target *target_node(const char *host, const char *port, int size);
extern Target *target_first_node(void);
extern Target *target_next_node(const Target *node);
extern const char *target_name(const Target *target);
extern bool target_is_wanted(const Target *node);
extern bool target_is_known(Target *node);
extern void target_want(Target *node, const char *search_path);
extern void target_leave(Target *node);
extern void target_identify(Target *node, const char *identity);
extern PGconn *target_connect_node(Target *node, char **problem);
extern TargetFigures *target_figures(Target *target);
extern bool target_start(Target *target, int size);
extern void target_connect_later(Target *target, Job *job);
extern void target_connect(Target *target, Link *link);
extern bool target_is_current(const Target *target, const Link *link);
extern void target_reconnect(Target *target);
extern void target_forget_prepared(Link *link);
extern void target_stop(Target *target);

#endif
