/*
 * derive.c
 *	  Key columns follow the item: the derive trigger, and the constraint that guarantees it.
 *
 * The trigger makes plain SQL obey the rules that the functions obey: whatever a statement
 * gives for a key column, the column gets what the item says.  Later user triggers, the replica
 * role, DISABLE TRIGGER and replication apply get past a trigger; none gets past the
 * constraint, which compares and never derives.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/key.h"
#include "errors.h"

static bool
same_datum(Datum a, Datum b)
{
	return datum_image_eq(a, b, false, -1);
}

/* Put the derived keys into the tuple where it has something else. */
static HeapTuple
set_keys(HeapTuple tuple, TupleDesc desc, const DynTable *table, const DynKeyValues *keys)
{
	int attnums[DYN_MAX_KEYS];
	Datum values[DYN_MAX_KEYS];
	bool nulls[DYN_MAX_KEYS];
	int changed = 0;

	for (int i = 0; i < table->nkeys; i++)
	{
		bool isnull;
		Datum now = heap_getattr(tuple, table->keys[i].attnum, desc, &isnull);

		if (!isnull && same_datum(now, keys->values[i]))
			continue;
		attnums[changed] = table->keys[i].attnum;
		values[changed] = keys->values[i];
		nulls[changed++] = false;
	}
	if (changed == 0)
		return tuple;
	return heap_modify_tuple_by_cols(tuple, desc, changed, attnums, values, nulls);
}

/* Spec row K18, for plain SQL: an item's key is what it is. */
static void
check_key_unchanged(HeapTuple old, TupleDesc desc, const DynTable *table, const DynKeyValues *keys)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		bool isnull;
		Datum was = heap_getattr(old, table->keys[i].attnum, desc, &isnull);

		if (isnull || !same_datum(was, keys->values[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("the key of an item of table \"%s\" cannot be changed", table->name),
					 errhint("Delete the item and put it with its new key.")));
	}
}

PG_FUNCTION_INFO_V1(dyn_derive_keys);
Datum
dyn_derive_keys(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	HeapTuple tuple;
	TupleDesc desc;
	DynTable *table;
	DynKeyValues keys;
	Datum item;
	bool isnull;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"dyn_derive_keys\" must be called by a trigger BEFORE INSERT OR "
						"UPDATE FOR EACH ROW")));
	table = dyn_schema(trigger->tg_relation);
	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("the trigger that calls \"dyn_derive_keys\" must be named \"%s\"",
							   DYN_DERIVE_TRIGGER)));
	desc = RelationGetDescr(trigger->tg_relation);
	tuple =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	item = heap_getattr(tuple, table->item_attnum, desc, &isnull);
	/* NOT NULL of the column has its own words for it. */
	if (isnull)
		return PointerGetDatum(tuple);
	dyn_key_of_item(table, DatumGetDynItem(item), &keys);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		check_key_unchanged(trigger->tg_trigtuple, desc, table, &keys);
	else
		dyn_key_check_entry(table, keys.values);
	return PointerGetDatum(set_keys(tuple, desc, table, &keys));
}

/* What dyn_keys_match() is told of one column, parsed once for a call site. */
typedef struct MatchKey
{
	ItemSpan attribute;
	ItemType type;
} MatchKey;

typedef struct MatchKeys
{
	int nkeys;
	MatchKey keys[FLEXIBLE_ARRAY_MEMBER];
} MatchKeys;

static MatchKeys *
parse_match_keys(FunctionCallInfo fcinfo, MemoryContext context)
{
	ArrayType *specs = PG_GETARG_ARRAYTYPE_P(1);
	MemoryContext old = MemoryContextSwitchTo(context);
	MatchKeys *match;
	Datum *elements;
	bool *nulls;
	int n;

	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("key columns must be given one by one, not as an array")));
	deconstruct_array(specs, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	if (n != PG_NARGS() - 2)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%d keys are declared, but %d columns given", n, PG_NARGS() - 2)));
	match = palloc(offsetof(MatchKeys, keys) + n * sizeof(MatchKey));
	match->nkeys = n;
	for (int i = 0; i < n; i++)
	{
		char *spec;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a key must not be null")));
		spec = TextDatumGetCString(elements[i]);
		dyn_parse_key_spec((ItemSpan){spec, (uint32) strlen(spec)}, &match->keys[i].attribute,
						   &match->keys[i].type);
		if (get_fn_expr_argtype(fcinfo->flinfo, i + 2) != dyn_key_column_type(match->keys[i].type))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("the column of key \"%s\" must have type %s", spec,
								   format_type_be(dyn_key_column_type(match->keys[i].type)))));
	}
	MemoryContextSwitchTo(old);
	return match;
}

/*
 * Whether each column is what its attribute derives to.  An attribute that cannot be the key
 * (absent, or of another type) goes with NULL.
 */
PG_FUNCTION_INFO_V1(dyn_keys_match);
Datum
dyn_keys_match(PG_FUNCTION_ARGS)
{
	MatchKeys *match = fcinfo->flinfo->fn_extra;
	DynItem *item;
	ItemChildren attributes;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (match == NULL && get_fn_expr_arg_stable(fcinfo->flinfo, 1))
		match = fcinfo->flinfo->fn_extra = parse_match_keys(fcinfo, fcinfo->flinfo->fn_mcxt);
	else if (match == NULL)
		match = parse_match_keys(fcinfo, CurrentMemoryContext);
	item = PG_GETARG_DYN_ITEM(0);
	attributes = item_children(item_root(item));
	for (int i = 0; i < match->nkeys; i++)
	{
		const MatchKey *key = &match->keys[i];
		ItemSpan value = {NULL, 0};
		bool present =
			item_find(&attributes, key->attribute, &value) && item_type(value) == key->type;

		if (present == PG_ARGISNULL(i + 2))
			PG_RETURN_BOOL(false);
		if (present &&
			!same_datum(PG_GETARG_DATUM(i + 2), dyn_key_datum(key->type, item_payload(value))))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}
