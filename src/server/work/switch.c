/*
 * switch.c
 *	  Services that are switched off in a database, by ALTER DATABASE.
 *
 * A worker has its database's settings from the moment at which it connects.  One that stays looks
 * at the catalog, since no signal tells that they have changed.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "server/work/service.h"

/* Returns whether it is "name=value", and the value is off. */
static bool
switches_off(const char *setting, const char *name)
{
	size_t length = strlen(name);
	bool on = true;

	return pg_strncasecmp(setting, name, length) == 0 && setting[length] == '=' &&
		   parse_bool(setting + length + 1, &on) && !on;
}

static bool
any_switches_off(ArrayType *settings, const char *name)
{
	Datum *values;
	bool *nulls;
	int n;

	deconstruct_array(settings, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && switches_off(TextDatumGetCString(values[i]), name))
			return true;
	}
	return false;
}

/* Returns whether ALTER DATABASE has set the service's setting to off.  To be called in a transaction. */
bool
service_is_switched_off(const Service *service)
{
	Relation rel = table_open(DbRoleSettingRelationId, AccessShareLock);
	bool off = false;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], Anum_pg_db_role_setting_setdatabase, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(MyDatabaseId));
	ScanKeyInit(&keys[1], Anum_pg_db_role_setting_setrole, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(InvalidOid));
	scan =
		systable_beginscan(rel, DbRoleSettingDatidRolidIndexId, true, NULL, lengthof(keys), keys);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool isnull;
		Datum settings =
			heap_getattr(tuple, Anum_pg_db_role_setting_setconfig, RelationGetDescr(rel), &isnull);

		off = !isnull && any_switches_off(DatumGetArrayTypeP(settings), service->setting);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return off;
}
