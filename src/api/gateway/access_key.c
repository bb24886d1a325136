/*
 * access_key.c
 *	  Access keys: with which a gateway's callers sign requests, and the role that each stands for.
 *
 * The table dynamo_internal.access_key has a key's id, its role, and its secret as the gateway's
 * program has encrypted it: the server sees neither the secret nor the key that it is encrypted
 * with.  A key grants nothing.  It is made, changed and dropped by superusers and by those who could
 * grant its role to others.
 *
 * A key must never come to stand for another role.  A row has the role's name and its OID, and is
 * used only as long as a role has both: after DROP ROLE another role may get the name, and, when
 * OIDs have wrapped around, the OID.  ALTER ROLE ... RENAME therefore ends keys, too.  When a row is
 * inserted, or its role is changed, a trigger looks the OID up by the name.
 *
 * A dump has no keys: pg_dump would fail for all but superusers.  They are exported and imported by
 * calls.  In another cluster OIDs are others, so there the names of roles count.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "api/gateway/gateway.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/notification.h"
#include "server/sql.h"
#include "server/work/owned.h"

#define KEY_TABLE "access_key"
#define KEYS DYN_INTERNAL "." KEY_TABLE

#define MAX_KEY_ID 128
#define KEY_ID_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define MAX_SECRET 1024 /* bytes, encrypted */

/* Statements about one key end with this; $1 is its id. */
#define OF_KEY " WHERE key_id OPERATOR(pg_catalog.=) $1"

/*
 * Rights
 */

/* Checks that the caller may administer the role; if that is gone, only superusers may. */
static void
check_admin(Oid role, const char *name)
{
	if (!is_admin_of_role(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for access keys of role \"%s\"", name),
				 errdetail("Only superusers and members of the role with ADMIN OPTION may create, "
						   "alter and drop its access keys.")));
}

/* Checks that the caller, who is connected to SPI, may change the key, and locks it. */
static void
lock_key(text *key_id)
{
	if (owned_execute(KEY_TABLE, "SELECT role_oid, role FROM " KEYS OF_KEY " FOR UPDATE",
					  SQL_VALUES(SQL_VALUE(TEXTOID, PointerGetDatum(key_id)))) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("access key \"%s\" does not exist", item_quoted(text_span(key_id)))));
	check_admin(DatumGetObjectId(owned_value(1)), NameStr(*DatumGetName(owned_value(2))));
}

/*
 * Functions
 */

/* Checks an id as the constraints of the table do, whose errors would show the secret. */
static void
check_key_id(ItemSpan key_id)
{
	bool valid = key_id.len > 0 && key_id.len <= MAX_KEY_ID;

	for (uint32 i = 0; valid && i < key_id.len; i++)
		valid = strchr(KEY_ID_CHARACTERS, key_id.data[i]) != NULL && key_id.data[i] != '\0';
	if (!valid)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid id of an access key: \"%s\"", item_quoted(key_id)),
						errdetail("An id has 1 to %d characters out of a-z, A-Z, 0-9 and \"_\".",
								  MAX_KEY_ID)));
}

static void
check_secret(bytea *secret)
{
	if (VARSIZE_ANY_EXHDR(secret) == 0 || VARSIZE_ANY_EXHDR(secret) > MAX_SECRET)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("encrypted_secret must have 1 to %d bytes", MAX_SECRET)));
}

/*
 * dyn_create_access_key(key_id, role, encrypted_secret, enabled, valid_until).  Requests of superusers
 * are refused, so there is no use for keys of theirs.
 */
PG_FUNCTION_INFO_V1(dyn_create_access_key);
Datum
dyn_create_access_key(PG_FUNCTION_ARGS)
{
	text *key_id = argument_required_text(fcinfo, 0, "key_id");
	static const char *const names[] = {"key_id", "role", "encrypted_secret", "enabled",
										"valid_until"};
	NameData name = {0};
	Oid role;

	for (int i = 1; i < lengthof(names); i++)
		argument_require(fcinfo, i, names[i]);
	role = PG_GETARG_OID(1);
	namestrcpy(&name, GetUserNameFromId(role, false));
	check_key_id(text_span(key_id));
	check_secret(PG_GETARG_BYTEA_PP(2));
	check_admin(role, NameStr(name));
	if (superuser_arg(role))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("role \"%s\" is a superuser", NameStr(name)),
						errdetail("Requests of gateways have no superuser's rights.")));
	SPI_connect();
	if (owned_execute(KEY_TABLE,
					  "INSERT INTO " KEYS " (key_id, role, encrypted_secret, enabled, valid_until)"
					  " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING role_oid",
					  SQL_VALUES(SQL_VALUE(TEXTOID, PointerGetDatum(key_id)),
								 SQL_VALUE(NAMEOID, NameGetDatum(&name)),
								 SQL_VALUE(BYTEAOID, PG_GETARG_DATUM(2)),
								 SQL_VALUE(BOOLOID, PG_GETARG_DATUM(3)),
								 SQL_VALUE(TIMESTAMPTZOID, PG_GETARG_DATUM(4)))) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("access key \"%s\" already exists", item_quoted(text_span(key_id)))));
	/* another role may have got the name since the caller's rights were checked */
	if (DatumGetObjectId(owned_value(1)) != role)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("role \"%s\" was dropped or renamed", NameStr(name))));
	SPI_finish();
	PG_RETURN_VOID();
}

/* dyn_alter_access_key(key_id, enabled, valid_until) leaves what there is where one is NULL. */
PG_FUNCTION_INFO_V1(dyn_alter_access_key);
Datum
dyn_alter_access_key(PG_FUNCTION_ARGS)
{
	text *key_id = argument_required_text(fcinfo, 0, "key_id");

	SPI_connect();
	lock_key(key_id);
	owned_execute(KEY_TABLE,
				  "UPDATE " KEYS " SET enabled = coalesce($2, enabled),"
				  " valid_until = coalesce($3, valid_until)" OF_KEY,
				  SQL_VALUES(SQL_VALUE(TEXTOID, PointerGetDatum(key_id)),
							 SQL_NULLABLE(BOOLOID, PG_GETARG_DATUM(1), PG_ARGISNULL(1)),
							 SQL_NULLABLE(TIMESTAMPTZOID, PG_GETARG_DATUM(2), PG_ARGISNULL(2))));
	SPI_finish();
	PG_RETURN_VOID();
}

/* dyn_drop_access_key(key_id) */
PG_FUNCTION_INFO_V1(dyn_drop_access_key);
Datum
dyn_drop_access_key(PG_FUNCTION_ARGS)
{
	text *key_id = argument_required_text(fcinfo, 0, "key_id");

	SPI_connect();
	lock_key(key_id);
	owned_execute(KEY_TABLE, "DELETE FROM " KEYS OF_KEY,
				  SQL_VALUES(SQL_VALUE(TEXTOID, PointerGetDatum(key_id))));
	SPI_finish();
	PG_RETURN_VOID();
}

/* dynamo_internal.gateway_keys() returns what gateways read. */
PG_FUNCTION_INFO_V1(dyn_gateway_keys);
Datum
dyn_gateway_keys(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	owned_execute(KEY_TABLE,
				  "SELECT k.key_id, r.oid, r.rolname, k.encrypted_secret, k.enabled, k.valid_until"
				  " FROM " KEYS
				  " k JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) k.role_oid"
				  " AND r.rolname OPERATOR(pg_catalog.=) k.role WHERE NOT r.rolsuper",
				  0, NULL);
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
	SPI_finish();
	return (Datum) 0;
}

/*
 * Triggers
 */

/* Returns whether this is the trigger: only the install script creates any with these functions. */
static bool
is_trigger_of_keys(FunctionCallInfo fcinfo)
{
	return CALLED_AS_TRIGGER(fcinfo) &&
		   RelationGetRelid(((TriggerData *) fcinfo->context)->tg_relation) ==
			   owned_table(KEY_TABLE);
}

/* BEFORE INSERT OR UPDATE OF role sets the role that has this name now, or none. */
PG_FUNCTION_INFO_V1(dyn_access_key_role);
Datum
dyn_access_key_role(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc desc;
	HeapTuple row;
	Datum name;
	Datum role;
	bool isnull;
	int column;

	if (!is_trigger_of_keys(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("access_key_role() was not called as its trigger")));
	desc = RelationGetDescr(trigger->tg_relation);
	row = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	name = heap_getattr(row, SPI_fnumber(desc, "role"), desc, &isnull);
	role = ObjectIdGetDatum(isnull ? InvalidOid : get_role_oid(NameStr(*DatumGetName(name)), true));
	isnull = !OidIsValid(DatumGetObjectId(role));
	column = SPI_fnumber(desc, "role_oid");
	return PointerGetDatum(heap_modify_tuple_by_cols(row, desc, 1, &column, &role, &isnull));
}

/* AFTER every statement that may have changed keys, tells gateways, whoever has executed it. */
PG_FUNCTION_INFO_V1(dyn_access_key_changed);
Datum
dyn_access_key_changed(PG_FUNCTION_ARGS)
{
	if (!is_trigger_of_keys(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("access_key_changed() was not called as its trigger")));
	dyn_notify("dynamo_access_key", NULL);
	return PointerGetDatum(NULL);
}
