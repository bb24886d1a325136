/*
 * constraint.c
 *	  The table's columns, and the constraint that guards them.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "catalog/derive.h"
#include "catalog/extras.h"
#include "catalog/key.h"
#include "server/citus.h"
#include "server/compat.h"

static char *
object_name(const char *column)
{
	return psprintf("column \"%s\"", column);
}

static char *
constraint_alter(const TableCheck *check, const char *column, const char *change)
{
	return psprintf("ALTER TABLE %s ALTER COLUMN %s %s;", check->qualified,
					quote_identifier(column), change);
}

/* Returns the statement that derives a column of all rows again.  On shards no trigger does that. */
static char *
fill_sql(const TableCheck *check)
{
	if (check->distributed)
		return psprintf("Put all items of %s again;", check->qualified);
	return psprintf("UPDATE %s SET %s = %s;", check->qualified, DYN_ITEM_COLUMN, DYN_ITEM_COLUMN);
}

static void
check_item_column(TableCheck *check)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(check->rel), DYN_ITEM_COLUMN);
	const char *object = object_name(DYN_ITEM_COLUMN);
	Oid type;

	if (attnum == InvalidAttrNumber)
	{
		check_report(check, object, "it is missing",
					 "Rename it back if it has another name; otherwise restore the table.");
		return;
	}
	type = get_atttype(RelationGetRelid(check->rel), attnum);
	if (!dyn_is_item_type(getBaseType(type)))
		check_report(check, object, psprintf("its type is %s, not dyn_item", format_type_be(type)),
					 constraint_alter(check, DYN_ITEM_COLUMN,
									  psprintf("TYPE %s.dyn_item USING …", check->extension)));
	if (!TupleDescAttr(RelationGetDescr(check->rel), attnum - 1)->attnotnull)
		check_report(check, object, "it is not NOT NULL",
					 constraint_alter(check, DYN_ITEM_COLUMN, "SET NOT NULL"));
}

static bool
has_type(Form_pg_attribute column, ItemType made)
{
	if (made == ITEM_M)
		return dyn_is_item_type(column->atttypid);
	return column->atttypid == dyn_key_column_type(made) && column->atttypmod == -1;
}

/* Checks a column that indexes or time to live need. */
static void
check_column(TableCheck *check, int i)
{
	const DynShapeColumn *made = list_nth(dyn_shape_columns(check->shape), i);
	const char *object = object_name(made->column);
	AttrNumber attnum = get_attnum(RelationGetRelid(check->rel), made->column);
	const char *add =
		psprintf("ALTER TABLE %s ADD COLUMN %s; %s -- then call again", check->qualified,
				 dyn_shape_column_sql(check->shape, i), fill_sql(check));
	const char *replace = psprintf("ALTER TABLE %s DROP COLUMN %s CASCADE; %s Then call again.",
								   check->qualified, quote_identifier(made->column), add);
	Form_pg_attribute column;

	if (attnum <= 0)
	{
		check_report(check, object, "it is missing", add);
		return;
	}
	column = TupleDescAttr(RelationGetDescr(check->rel), attnum - 1);
	if (!has_type(column, made->type))
		check_report(check, object,
					 psprintf("its type is %s, not %s",
							  format_type_with_typemod(column->atttypid, column->atttypmod),
							  made->type == ITEM_M
								  ? "dyn_item"
								  : format_type_be(dyn_key_column_type(made->type))),
					 replace);
	else if (made->type == ITEM_S && column->attcollation != C_COLLATION_OID)
		check_report(check, object, "its collation is not \"C\"", replace);
	if (column->attnotnull)
		check_report(check, object, "it is NOT NULL, and so refuses items without the attribute",
					 constraint_alter(check, made->column, "DROP NOT NULL"));
}

/* Checks a column of the primary key, in which another collation would make another order. */
static void
check_key_column(TableCheck *check, int i)
{
	const DynShapeColumn *made = list_nth(dyn_shape_columns(check->shape), i);
	AttrNumber attnum = get_attnum(RelationGetRelid(check->rel), made->column);

	if (attnum > 0 && made->type == ITEM_S &&
		TupleDescAttr(RelationGetDescr(check->rel), attnum - 1)->attcollation != C_COLLATION_OID)
		check_report(
			check, object_name(made->column), "its collation is not \"C\"",
			constraint_alter(check, made->column, "TYPE pg_catalog.text COLLATE pg_catalog.\"C\""));
}

/*
 * Reports what is wrong with the column of items, and with derived columns.  Without check->shape,
 * only the column of items is checked.
 */
void
check_columns(TableCheck *check)
{
	check_item_column(check);
	if (check->shape == NULL)
		return;
	for (int i = 0; i < list_length(dyn_shape_columns(check->shape)); i++)
	{
		if (i < check->nkeys)
			check_key_column(check, i);
		else
			check_column(check, i);
	}
}

/*
 * The constraint
 */

typedef struct Covering
{
	const DynTable *table;
	const char *expression;
	bool covers;
} Covering;

static void
see_covering(void *arg)
{
	Covering *covering = arg;

	covering->covers = dyn_constraint_covers(covering->table, covering->expression);
}

static bool
is_enforced(const ConstrCheck *constraint)
{
#if PG18_GE
	return constraint->ccenforced;
#else
	return true;
#endif
}

static const ConstrCheck *
find_constraint(Relation rel, TupleDesc desc)
{
	for (int i = 0; desc->constr != NULL && i < desc->constr->num_check; i++)
	{
		if (citus_name_is(rel, desc->constr->check[i].ccname, DYN_KEYS_CONSTRAINT))
			return &desc->constr->check[i];
	}
	return NULL;
}

/*
 * The constraint is added NOT VALID, for new rows.  Whether the rows that are there obey it is
 * checked by the next call, when they have been mended.
 */
static char *
advise_constraint(const TableCheck *check, bool exists)
{
	const char *name = quote_identifier(DYN_KEYS_CONSTRAINT);

	if (check->shape == NULL)
		return pstrdup("Mend the trigger first, and call again.");
	/* Citus takes one command at a time */
	return psprintf("ALTER TABLE %s %sADD %s NOT VALID; -- then call again", check->qualified,
					!exists ? ""
					: check->distributed
						? psprintf("DROP CONSTRAINT %s; ALTER TABLE %s ", name, check->qualified)
						: psprintf("DROP CONSTRAINT %s, ", name),
					dyn_shape_constraint_sql(check->shape));
}

/*
 * Reports if the constraint that compares the columns with the item is missing, is not enforced or
 * validated, or does not cover all columns.
 */
void
check_constraint(TableCheck *check)
{
	static const char *const object = "constraint \"" DYN_KEYS_CONSTRAINT "\"";
	TupleDesc desc = CreateTupleDescCopyConstr(RelationGetDescr(check->rel));
	const ConstrCheck *constraint = find_constraint(check->rel, desc);
	Covering covering = {check->table};

	if (constraint == NULL)
	{
		check_report(check, object, "it is missing: nothing guards the columns",
					 advise_constraint(check, false));
		return;
	}
	covering.expression = constraint->ccbin;
	if (check->table != NULL && (check_try(see_covering, &covering) != NULL || !covering.covers))
		check_report(check, object, "it does not compare all columns with the item",
					 advise_constraint(check, true));
	else if (!is_enforced(constraint))
		check_report(check, object, "it is not enforced", advise_constraint(check, true));
	else if (!constraint->ccvalid && check->shape != NULL && dyn_shape_is_filled(check->shape))
		check_report(check, object, "it is not validated",
					 psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s;", check->qualified,
							  quote_identifier(DYN_KEYS_CONSTRAINT)));
}
