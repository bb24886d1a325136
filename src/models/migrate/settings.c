/*
 * settings.c
 *	  The settings under which all SQL of migrations is analysed and run.
 *
 * Names are looked up in pg_catalog alone, so no user's search_path changes what an expression
 * means. Values are printed in one way, so that sessions agree on positions in a step, and a row
 * becomes the same item in every session.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "models/migrate/migrate.h"

/*
 * Sets all settings on which the SQL of migrations depends, until migration_leave() gets the nest
 * level that is returned.
 */
int
migration_enter(void)
{
	static const char *const values[][2] = {{"search_path", "pg_catalog, pg_temp"},
											{"standard_conforming_strings", "on"},
											{"DateStyle", "ISO, MDY"},
											{"IntervalStyle", "postgres"},
											{"TimeZone", "UTC"},
											{"extra_float_digits", "1"},
											{"bytea_output", "hex"},
											{"xmloption", "content"},
											{"lc_monetary", "C"},
											{"plan_cache_mode", "auto"}};
	int nest = NewGUCNestLevel();

	for (int i = 0; i < lengthof(values); i++)
		(void) set_config_option(values[i][0], values[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return nest;
}

/* Restores the settings that were in force before the migration_enter() that has returned nest. */
void
migration_leave(int nest)
{
	AtEOXact_GUC(true, nest);
}
