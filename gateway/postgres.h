/*
 * postgres.h
 *	  A Postgres that lives as long as the program does.
 */
#ifndef GATEWAY_POSTGRES_H
#define GATEWAY_POSTGRES_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct Postgres
{
	const char *folder; /* data/, the socket, and the log are there */
	const char *programs; /* the folder of initdb and postgres */
	pid_t pid;
} Postgres;

extern bool postgres_find(const char *programs, Postgres *postgres);
extern bool postgres_initialize(const Postgres *postgres);
extern bool postgres_configure(const Postgres *postgres, const char *settings);
extern bool postgres_start(Postgres *postgres);
extern bool postgres_execute(const Postgres *postgres, const char *const *statements);
extern bool postgres_knows(const Postgres *postgres, const char *setting);
extern void postgres_stop(Postgres *postgres);

#endif
