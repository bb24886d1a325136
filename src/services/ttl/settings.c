/*
 * settings.c
 *	  Settings of sweeps.
 *
 * They say how much of the server sweeps may use, so they are in its configuration.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "services/ttl/service.h"
#include "services/ttl/ttl.h"

bool dyn_ttl_worker;
int dyn_ttl_max_workers;
int dyn_ttl_interval;
int dyn_ttl_budget;
int dyn_ttl_batch_size;
int dyn_ttl_pause;
int dyn_ttl_reread_interval;
int dyn_ttl_probe_interval;

static void
number(const char *name, const char *short_desc, const char *long_desc, int *value, int boot,
	   int min, int max, int flags)
{
	DefineCustomIntVariable(name, short_desc, long_desc, value, boot, min, max, PGC_SIGHUP, flags,
							NULL, NULL, NULL);
}

/* Defines the settings of sweeps.  Called once, by _PG_init(). */
void
dyn_ttl_init(void)
{
	DefineCustomBoolVariable("dynamo_table.ttl_worker",
							 "Sets whether background workers remove expired items.",
							 "They run only if the library is in shared_preload_libraries.",
							 &dyn_ttl_worker, true, PGC_SUSET, 0, NULL, NULL, NULL);
	number("dynamo_table.ttl_max_workers",
		   "Sets how many background workers sweep at the same time.", NULL, &dyn_ttl_max_workers,
		   2, 1, MAX_VISITORS, 0);
	number("dynamo_table.ttl_interval", "Sets the time between two sweeps of a table.", NULL,
		   &dyn_ttl_interval, 5, 1, 24 * 60 * 60, GUC_UNIT_S);
	number("dynamo_table.ttl_budget", "Sets how long a background worker sweeps at a time.",
		   "No database can be dropped, or copied as a template, while it does.", &dyn_ttl_budget,
		   3000, 10, 3000, GUC_UNIT_MS);
	number("dynamo_table.ttl_batch_size", "Sets how many expired items a transaction removes.",
		   NULL, &dyn_ttl_batch_size, 1000, 1, 100000, 0);
	number("dynamo_table.ttl_pause", "Sets how long sweeps rest between transactions.",
		   "It is a percentage of the time that the transaction before has taken.", &dyn_ttl_pause,
		   100, 0, 10000, 0);
	number("dynamo_table.ttl_reread_interval",
		   "Sets the time after which a sweep begins with the oldest items again.",
		   "Before, where much was removed, a sweep may miss items that were written with a time "
		   "that had passed already.",
		   &dyn_ttl_reread_interval, 300, 0, 24 * 60 * 60, GUC_UNIT_S);
	number("dynamo_table.ttl_probe_interval",
		   "Sets the time after which background workers look again for tables with time to live.",
		   "They do so in databases that had none; dyn_enable_ttl tells them at once.",
		   &dyn_ttl_probe_interval, 300, 1, 24 * 60 * 60, GUC_UNIT_S);
}
