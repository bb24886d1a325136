/*
 * build.c
 *	  From a row of a step's select to an item.
 *
 * That an item cannot have a value is found here, by code that only computes: the error of one row
 * is caught, and becomes that row's problem.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "actions/write.h"
#include "models/migrate/migrate.h"
#include "server/attempt.h"
#include "server/errors.h"

const char *const row_problem_names[] = {NULL, "error", "orphan", "collision"};

struct RowBuilder
{
	Relation rel;
	DynTable *table;
	const MigrationStep *step;
	ValueWriter **writers; /* by the entity's attributes */
	MemoryContext context; /* of one row */
	/* of the row */
	HeapTuple tuple;
	TupleDesc desc;
	ItemBuilder builder;
	int column; /* the last one that was read */
	const StepParent *orphan_of;
	int orphan_column; /* the first one of what it refers to */
	DynItem *item;
	bool keys_only;
};

static void
make_writers(RowBuilder *builder, const StepAttributes *attributes)
{
	for (int i = 0; i < attributes->n; i++)
	{
		const EntityAttribute *attribute = attributes->list[i].attribute;

		builder->writers[attribute - builder->step->entity->attributes] =
			value_writer(&attribute->type);
	}
}

/* Returns the builder, made once for a migration; relation and schema are those of the moment. */
RowBuilder *
row_builder(MigrationStep *step, Relation rel, DynTable *table)
{
	RowBuilder *builder = step->builder;
	MemoryContext old;

	if (builder == NULL)
	{
		old = MemoryContextSwitchTo(step->migration->context);
		builder = palloc0(sizeof(RowBuilder));
		builder->step = step;
		builder->writers = palloc0((step->entity->nattributes + 1) * sizeof(ValueWriter *));
		builder->context =
			AllocSetContextCreate(CurrentMemoryContext, "migration row", ALLOCSET_DEFAULT_SIZES);
		make_writers(builder, &step->attributes);
		for (int i = 0; i < step->nparents; i++)
			make_writers(builder, &step->parents[i].attributes);
		for (int i = 0; i < step->nchildren; i++)
			builder->writers[step->children[i].attribute - step->entity->attributes] =
				value_writer(&step->children[i].attribute->type);
		step->builder = builder;
		MemoryContextSwitchTo(old);
	}
	builder->rel = rel;
	builder->table = table;
	return builder;
}

/*
 * Names of rows
 */

/* Returns a column's text, or NULL if it is NULL. */
static char *
column_text(HeapTuple tuple, TupleDesc desc, int column)
{
	Oid output;
	bool varlena;
	bool isnull;
	Datum value = heap_getattr(tuple, column, desc, &isnull);

	if (isnull)
		return NULL;
	getTypeOutputInfo(TupleDescAttr(desc, column - 1)->atttypid, &output, &varlena);
	return OidOutputFunctionCall(output, value);
}

/* Returns "shop.orders (id)=(11579)". */
char *
row_name(const MigrationStep *step, HeapTuple tuple, TupleDesc desc)
{
	StringInfoData name;

	initStringInfo(&name);
	appendStringInfo(&name, "%s (",
					 step->query != NULL ? quote_identifier(step->name) : step->source.name);
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(&name, "%s%s", i > 0 ? ", " : "", step->keys[i].column);
	appendStringInfoString(&name, ")=(");
	for (int i = 0; i < step->nkeys; i++)
	{
		char *text = column_text(tuple, desc, i + 1);

		appendStringInfo(&name, "%s%s", i > 0 ? ", " : "", text == NULL ? "NULL" : text);
	}
	appendStringInfoChar(&name, ')');
	return name.data;
}

/* Returns the key as text[], as bounds are. */
ArrayType *
row_position(const MigrationStep *step, HeapTuple tuple, TupleDesc desc)
{
	Datum *values = palloc(step->nkeys * sizeof(Datum));

	for (int i = 0; i < step->nkeys; i++)
	{
		char *text = column_text(tuple, desc, i + 1);

		if (text == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("the key of step \"%s\" is NULL in some row", step->name),
							errdetail("The row is %s.", row_name(step, tuple, desc))));
		values[i] = CStringGetTextDatum(text);
	}
	return construct_array(values, step->nkeys, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * Values
 */

/* Applies the lengths that the cast has left to us: too long is an error, and not cut. */
static Datum
fit_length(const ValueType *type, Datum value)
{
	if (type->typmod < 0)
		return value;
	if (type->sql == VARCHAROID)
		return DirectFunctionCall3(varchar, value, Int32GetDatum(type->typmod),
								   BoolGetDatum(false));
	if (type->sql == BPCHAROID)
		return DirectFunctionCall3(bpchar, value, Int32GetDatum(type->typmod), BoolGetDatum(false));
	return value;
}

/*
 * Checks that a column has the type of its attribute, as the writer takes its Datum for one of that
 * type.  The statement is text, with expressions and names in it, so its result is checked.
 */
static void
check_column(const RowBuilder *builder, const EntityAttribute *attribute, int column)
{
	Oid type = TupleDescAttr(builder->desc, column - 1)->atttypid;

	if (type != attribute->type.sql)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("attribute \"%s\" is read as %s, and declared as %s",
							   item_quoted(attribute->name), format_type_be(type),
							   format_type_be(attribute->type.sql))));
}

static void
build_value(RowBuilder *builder, const EntityAttribute *attribute, int column, Datum value,
			bool isnull)
{
	ValueWriter *writer = builder->writers[attribute - builder->step->entity->attributes];

	if (isnull && attribute->missing != ENTITY_NO_DEFAULT)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("attribute \"%s\" is NULL, and its default would be another one each time",
						item_quoted(attribute->name))));
	if (isnull)
		return;
	check_column(builder, attribute, column);
	value = fit_length(&attribute->type, value);
	if (value_is_absent(writer, value))
		return;
	item_build_name(&builder->builder, attribute->name);
	value_write(writer, &builder->builder, value);
}

static Datum
next_column(RowBuilder *builder, bool *isnull)
{
	return heap_getattr(builder->tuple, ++builder->column, builder->desc, isnull);
}

static void
build_attributes(RowBuilder *builder, const StepAttributes *attributes)
{
	for (int i = 0; i < attributes->n; i++)
	{
		const EntityAttribute *attribute = attributes->list[i].attribute;
		bool isnull;
		Datum value;

		if (builder->keys_only && !step_makes_key(builder->step, attribute))
			continue;
		value = next_column(builder, &isnull);
		build_value(builder, attribute, builder->column, value, isnull);
	}
}

static void
build_parents(RowBuilder *builder)
{
	for (int i = 0; i < builder->step->nparents; i++)
	{
		const StepParent *parent = &builder->step->parents[i];
		bool isnull;
		bool orphan = DatumGetBool(next_column(builder, &isnull));

		if (orphan && (builder->orphan_of == NULL || parent->orphans == ORPHANS_SKIP))
		{
			builder->orphan_of = parent;
			builder->orphan_column = builder->column + 1;
		}
		builder->column += parent->relation.npairs;
		build_attributes(builder, &parent->attributes);
	}
}

static void
build_children(RowBuilder *builder)
{
	for (int i = 0; i < builder->step->nchildren; i++)
	{
		const StepChild *child = &builder->step->children[i];
		bool isnull;
		Datum value = next_column(builder, &isnull);
		int column = builder->column;
		bool is_twice;

		if (child->form == CHILD_MAP)
		{
			is_twice = DatumGetBool(next_column(builder, &(bool){false}));
			if (is_twice)
				ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
								errmsg("two rows of %s have the same key in the map \"%s\"",
									   child->relation.name, item_quoted(child->attribute->name))));
		}
		build_value(builder, child->attribute, column, value, isnull);
	}
}

static DynItem *
build_logical(RowBuilder *builder)
{
	item_build_init(&builder->builder, 256);
	item_build_begin(&builder->builder, ITEM_M);
	builder->column = builder->step->nkeys;
	builder->orphan_of = NULL;
	build_attributes(builder, &builder->step->attributes);
	if (!builder->keys_only)
	{
		build_parents(builder);
		build_children(builder);
	}
	if (item_build_end(&builder->builder) != ITEM_BUILD_OK)
		elog(ERROR, "a migrated item has an attribute twice");
	return item_build_finish(&builder->builder);
}

/* Builds an item; this is all that is to be caught. */
static void
build_row(void *arg)
{
	RowBuilder *builder = arg;
	DynItem *logical = build_logical(builder);
	ItemWriter writer;
	ItemWrite write;

	if (builder->keys_only)
	{
		builder->item = entity_keys(builder->step->entity, logical, true);
		return;
	}
	if (builder->orphan_of != NULL && builder->orphan_of->orphans == ORPHANS_SKIP)
		return;
	builder->item = entity_item(builder->step->entity, logical);
	item_check_size(item_root(builder->item));
	write_open(&writer, &(FrontCall){.rel = builder->rel, .table = builder->table});
	write_prepare(&writer, builder->item, &write);
}

/* Runs what only computes, and returns an error that a value is the reason of. */
ErrorData *
row_try(void (*step)(void *arg), void *arg)
{
	return attempt_to_compute(step, arg, value_is_to_blame);
}

/* Returns "no row of shop.customers has (id)=(910)". */
static char *
orphan_message(const RowBuilder *builder)
{
	const StepRelation *relation = &builder->orphan_of->relation;
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfo(&message, "no row of %s has (", relation->name);
	for (int i = 0; i < relation->npairs; i++)
		appendStringInfo(&message, "%s%s", i > 0 ? ", " : "",
						 step_column(relation, relation->pairs[i].column));
	appendStringInfoString(&message, ")=(");
	for (int i = 0; i < relation->npairs; i++)
		appendStringInfo(&message, "%s%s", i > 0 ? ", " : "",
						 column_text(builder->tuple, builder->desc, builder->orphan_column + i));
	appendStringInfoChar(&message, ')');
	return message.data;
}

static DynItem *
copy_item(const DynItem *item)
{
	DynItem *copy = palloc(VARSIZE_ANY(item));

	memcpy(copy, item, VARSIZE_ANY(item));
	return copy;
}

/* Builds a row in the current memory context; the row is not copied. */
void
row_build(RowBuilder *builder, HeapTuple tuple, TupleDesc desc, MigrationRow *row)
{
	MemoryContext old = MemoryContextSwitchTo(builder->context);
	ErrorData *error;

	*row = (MigrationRow){.step = builder->step, .tuple = tuple, .desc = desc};
	builder->tuple = tuple;
	builder->desc = desc;
	builder->item = NULL;
	builder->orphan_of = NULL;
	builder->keys_only = false;
	error = row_try(build_row, builder);
	MemoryContextSwitchTo(old);
	if (error != NULL)
	{
		row->problem = ROW_ERROR;
		row->is_orphan = builder->orphan_of != NULL;
		row->message = pstrdup(error->message);
	}
	else if (builder->orphan_of != NULL)
	{
		row->problem = ROW_ORPHAN;
		row->is_orphan = true;
		row->message = orphan_message(builder);
	}
	if (error == NULL && builder->item != NULL)
	{
		row->item = copy_item(builder->item);
		dyn_key_of_item(builder->table, row->item, &row->key);
	}
	MemoryContextReset(builder->context);
}

/* Returns the table's keys of a row of SELECT_ROW; raises an error for what is wrong with it. */
DynItem *
row_build_keys(RowBuilder *builder, HeapTuple tuple, TupleDesc desc)
{
	MemoryContext old = MemoryContextSwitchTo(builder->context);
	DynItem *item;

	builder->tuple = tuple;
	builder->desc = desc;
	builder->keys_only = true;
	build_row(builder);
	MemoryContextSwitchTo(old);
	item = copy_item(builder->item);
	MemoryContextReset(builder->context);
	return item;
}

/* Notes that a row makes the item of another row too.  The one that loses is not migrated. */
void
row_set_collision(MigrationRow *row, bool loses, const char *other)
{
	row->problem = ROW_COLLISION;
	row->message = psprintf(loses ? "%s makes the same item, and comes before it"
								  : "%s makes the same item, and is not migrated",
							other);
	if (loses)
		row->item = NULL;
}
