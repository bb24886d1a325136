/*
 * shard_guard.c
 *	  The constraint that keeps rows out of shards to which their partition keys do not belong.
 *
 * A statement can name a shard, which Citus refuses for DDL alone.  A row in a wrong shard is found
 * by no read, and makes Citus refuse to split the shard.  The constraint is the same on each shard,
 * as Citus copies it there, and asks by tableoid which one it is.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "catalog/entries.h"
#include "catalog/shard_guard.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/extension.h"

/* Returns the command of ALTER TABLE that adds it.  No row has to be looked at. */
char *
shard_guard_sql(const char *column)
{
	return psprintf("ADD CONSTRAINT " SHARD_CONSTRAINT " CHECK (" DYN_INTERNAL
					".shard_takes(tableoid, %s)) NOT VALID",
					quote_identifier(column));
}

static bool
is_column(const Node *node, AttrNumber attnum)
{
	return IsA(node, Var) && ((const Var *) node)->varattno == attnum;
}

/* Returns whether a constraint, as it is stored, is this one. */
bool
shard_guard_is(const DynTable *table, const char *expression)
{
	const FuncExpr *call = stringToNode(expression);
	FmgrInfo flinfo;

	if (!IsA(call, FuncExpr) || list_length(call->args) != 2)
		return false;
	fmgr_info(call->funcid, &flinfo);
	return flinfo.fn_addr == dyn_shard_takes &&
		   is_column(linitial(call->args), TableOidAttributeNumber) &&
		   is_column(lsecond(call->args), table->keys[0].attnum);
}

/* Holds what a statement needs to know of the relation that it writes to. */
typedef struct ShardGuard
{
	Oid relid;
	bool shard;
	CitusRange range;
	TypeCacheEntry *type;
} ShardGuard;

static ShardGuard *
make_guard(FmgrInfo *flinfo, Oid relid)
{
	ShardGuard *guard = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(ShardGuard));
	Oid type = get_fn_expr_argtype(flinfo, 1);

	if (!OidIsValid(type))
		elog(ERROR, "could not determine the type of the partition key");
	guard->relid = relid;
	guard->shard = OidIsValid(citus_shard_range(relid, &guard->range));
	if (guard->shard)
		dyn_entries_forbid_write(relid, flinfo);
	guard->type = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);
	if (!OidIsValid(guard->type->hash_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s", format_type_be(type))));
	return guard;
}

/*
 * shard_takes(relation, partition_key) returns whether a row with that key may be in the relation.
 * That is true for a relation that is no shard, or not yet, as while Citus copies rows to it.
 */
PG_FUNCTION_INFO_V1(dyn_shard_takes);
Datum
dyn_shard_takes(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	ShardGuard *guard = fcinfo->flinfo->fn_extra;
	int32 hash;

	if (guard == NULL || guard->relid != relid)
		guard = fcinfo->flinfo->fn_extra = make_guard(fcinfo->flinfo, relid);
	if (!guard->shard)
		PG_RETURN_BOOL(true);
	hash = DatumGetInt32(
		FunctionCall1Coll(&guard->type->hash_proc_finfo,
						  guard->type->type_id == TEXTOID ? C_COLLATION_OID : PG_GET_COLLATION(),
						  PG_GETARG_DATUM(1)));
	PG_RETURN_BOOL(hash >= guard->range.from && hash <= guard->range.to);
}
