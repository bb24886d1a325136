/*
 * library.c
 *	  Whether the library and the extension's objects in this database fit each other.
 *
 * A call costs nothing for it.  The server asks for a function's record when a session calls that
 * function for the first time, and the check is done there (server.h); a table's schema is read
 * again after the extension has changed, and it is done there, too.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "server/extension.h"
#include "server/invalidate.h"

/* This is true if the check was passed since the extension has last changed in this database. */
static bool checked = false;

/* Counts changes, to notice one that comes while the version is read. */
static uint64 changes = 0;

static void
forget_check(Oid relid)
{
	if (OidIsValid(relid))
		return;
	changes++;
	checked = false;
}

static Subscriber subscriber = {.relation_changed = forget_check};

/* Returns the first two numbers of a version as one; 0 if it has none. */
static uint64
version_number(const char *version)
{
	unsigned int major;
	unsigned int minor;

	if (sscanf(version, "%9u.%9u", &major, &minor) != 2)
		return 0;
	return (uint64) major << 32 | minor;
}

static void
fail_version(int level, const char *objects, const char *hint)
{
	ereport(level, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("extension \"dynamo_table\" has version %s in this database, but the "
						   "library that is loaded has version %s",
						   objects, LIBRARY_VERSION),
					errhint("%s", hint)));
}

/*
 * Raises an error of this level if the objects in this database are not those of a version that the
 * library works with.  Scripts of the extension and pg_upgrade bring these to a version only, and
 * decoding sees those of the past.
 */
void
library_check(int level)
{
	uint64 before = changes;
	char *version;

	if (checked || creating_extension || IsBinaryUpgrade || HistoricSnapshotActive())
		return;
	invalidation_subscribe(&subscriber);
	version = extension_version();
	if (version == NULL)
		return;
	if (version_number(version) > version_number(LIBRARY_VERSION))
		fail_version(
			level, version,
			"Install the library of that version. Then reconnect, or restart the server if "
			"dynamo_table is in shared_preload_libraries.");
	if (version_number(version) < version_number(LIBRARY_OLDEST_OBJECTS))
		fail_version(level, version, "Run ALTER EXTENSION dynamo_table UPDATE in this database.");
	pfree(version);
	checked = before == changes;
}

/*
 * Raises an error if the library is older than the objects that the extension's script, which
 * begins with it, makes.  Sessions that run check again when the script has committed.
 */
PG_FUNCTION_INFO_ANY_VERSION(dyn_require_library);
Datum
dyn_require_library(PG_FUNCTION_ARGS)
{
	char *version = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (version_number(version) > version_number(LIBRARY_VERSION))
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("version %s of extension \"dynamo_table\" needs the library of that version, "
					"but the library that is loaded has version %s",
					version, LIBRARY_VERSION),
			 errhint("Install the library of that version. Then reconnect, or restart the "
					 "server if dynamo_table is in shared_preload_libraries.")));
	if (creating_extension)
		CacheInvalidateRelcacheByRelid(ExtensionRelationId);
	PG_RETURN_VOID();
}
