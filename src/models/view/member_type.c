/*
 * member_type.c
 *	  Whether equal values of a type make one key.
 *
 * A query compares values of SQL, and keys are made of what is stored.  So a key can be looked up by an
 * attribute if all items that have equal values of it have it stored in one form.
 *
 * Some types are read in one form only.  Others are read in several, of which the type prints one, the
 * same for equal values: of these dyn_is_entity() requires that one.  Timestamps are not among them, as
 * the number of digits of the second varies, nor are floats, whose forms depend on who writes them, and
 * types that are not of pg_catalog, since definitions in views name no others.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "models/view/member.h"

/* Returns a type without its domains. */
ValueType
member_base_type(const ValueType *type)
{
	ValueType base = *type;

	base.sql = getBaseTypeAndTypmod(type->sql, &base.typmod);
	return base;
}

/* Returns whether each value of a type without domains is read in one form only. */
static bool
has_one_form(const ValueType *type)
{
	switch (type->sql)
	{
		case TEXTOID:
		case VARCHAROID:
			return type->type == ITEM_S;
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return type->type == ITEM_N;
		case NUMERICOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return type->type == ITEM_N && type->typmod < 0;
		case BOOLOID:
			return true;
		case BYTEAOID:
			return type->type == ITEM_B;
		default:
			return type->type == ITEM_S &&
				   (get_typtype(type->sql) == TYPTYPE_ENUM || value_is_citext(type->sql));
	}
}

/* Returns whether values that are equal are the same bytes, and print alike under all settings. */
static bool
prints_alike(Oid sql)
{
	TypeCacheEntry *entry = lookup_type_cache(sql, TYPECACHE_BTREE_OPFAMILY);
	Oid same = get_opfamily_proc(entry->btree_opf, sql, sql, BTEQUALIMAGE_PROC);
	Oid output;
	bool varlena;

	if (!OidIsValid(same) ||
		!DatumGetBool(OidFunctionCall1Coll(same, get_typcollation(sql), ObjectIdGetDatum(sql))))
		return false;
	getTypeOutputInfo(sql, &output, &varlena);
	return func_volatile(output) == PROVOLATILE_IMMUTABLE;
}

/* Returns whether a type has several forms of one value, of which dyn_is_entity() requires one. */
bool
member_is_canonical(const ValueType *type)
{
	ValueType base = member_base_type(type);

	if (base.sql >= FirstGenbkiObjectId || has_one_form(&base))
		return false;
	switch (base.sql)
	{
		case NUMERICOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return base.type == ITEM_N;
		case DATEOID:
			return true;
		/* what is stored has no blanks at its end, which do not count */
		case BPCHAROID:
		case BYTEAOID:
			return base.type == ITEM_S;
		default:
			return base.type == ITEM_S && prints_alike(base.sql);
	}
}

/* Returns whether values are in one form, because of the type or by what dyn_is_entity() requires. */
bool
member_is_determined(const ValueType *type)
{
	ValueType base = member_base_type(type);

	return has_one_form(&base) || member_is_canonical(type);
}

/*
 * Returns whether values that are equal as a type of SQL make one part of a key.  That may be another
 * type than the attribute's: citext is compared as text too.
 */
bool
member_makes_one(const ValueType *type, const TemplatePart *part, Oid compared)
{
	return member_is_determined(type) && (part->lower || !value_is_citext(getBaseType(compared)));
}
