/*
 * derive.c
 *	  Key columns follow the item: the derive trigger, and the constraint that guarantees it.
 *
 * The trigger makes plain SQL obey the rules that the functions obey: it gives each key column the
 * item's value, and refuses a statement that gives another one.  Later user triggers, the replica
 * role, DISABLE TRIGGER and replication apply can bypass the trigger.  None of them bypasses the
 * constraint, which compares and never derives.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "catalog/carried.h"
#include "catalog/derive.h"
#include "catalog/expiry.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/shape.h"
#include "catalog/unchanged.h"
#include "catalog/vector.h"
#include "server/call_site.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/object_access.h"

static bool
same_datum(Datum a, Datum b)
{
	return datum_image_eq(a, b, false, -1);
}

/* Returns whether two values are the same; what is carried is so however it is compressed. */
static bool
same_column(const DynKey *key, Datum a, Datum b)
{
	if (key->carried == NULL)
		return same_datum(a, b);
	return item_compare_bytes(text_span(DatumGetDynItem(a)), text_span(DatumGetDynItem(b))) == 0;
}

/*
 * Derivation
 */

static void
add_problem(DynRow *row, const DynProblem *problem)
{
	DynProblem *added = palloc(sizeof(DynProblem));

	*added = *problem;
	row->problems = lappend(row->problems, added);
}

/*
 * Checks the keys of one index.  An item that lacks one of the attributes is not in the index.  An
 * attribute that it has must be a valid key there, or the write is refused (docs/semantics.md, I06,
 * I07, I08, I09).
 */
static void
check_index(Relation rel, const DynTable *table, const DynIndex *index, const ItemSpan *values,
			DynRow *row)
{
	Datum entry[DYN_MAX_INDEX_COLUMNS];
	bool complete = true;

	for (int i = 0; i < index->ncolumns; i++)
	{
		int column = index->columns[i];
		const char *reason;

		entry[i] = row->values[column];
		if (column < table->nkeys && i >= index->nkeys)
			continue;
		if (values[column].data == NULL)
		{
			complete = false;
			continue;
		}
		reason = dyn_key_problem(&table->keys[column], i < index->npartition, values[column]);
		if (reason == NULL)
			continue;
		complete = false;
		row->troubled[column] = column >= table->nkeys;
		add_problem(row, &(DynProblem){index, &table->keys[column], reason, values[column],
									   i < index->npartition});
	}
	if (!complete || dyn_key_entry_too_large(rel, table, index, entry) == 0)
		return;
	for (int i = 0; i < index->nkeys; i++)
		row->troubled[index->columns[i]] |= index->columns[i] >= table->nkeys;
	add_problem(row, &(DynProblem){index, NULL, "keys are too large"});
}

/* Checks the vector of an index; a wrong one refuses the write (docs/semantics.md, VS20 to VS26). */
static void
check_vector(const DynVector *vector, DynRow *row)
{
	DynVectorProblem problem;

	if (dyn_vector_problem(vector, row->item, &problem))
		add_problem(row, &(DynProblem){.index = &vector->index,
									   .reason = problem.message,
									   .vector = vector,
									   .words = problem.words});
}

#ifdef USE_ASSERT_CHECKING
static uint64 derivations = 0;

static const char *
show_counters(void)
{
	return psprintf("derivations " UINT64_FORMAT ", attributes looked for " UINT64_FORMAT,
					derivations, item_finds);
}
#endif

/*
 * Returns whether a column depends on its table alone, so that it is dropped without the table only
 * by a command that names it.  The drop of a type, a collation, a function or a session's temporary
 * objects must not fail because of a column that goes with them: its table may be somebody else's.
 */
static bool
depends_on_table_alone(Relation rel, Form_pg_attribute column)
{
	return column->atttypid < FirstUnpinnedObjectId &&
		   column->attcollation < FirstUnpinnedObjectId && column->attgenerated == '\0' &&
		   !OidIsValid(rel->rd_rel->reloftype);
}

/* Refuses the drop of a column of the primary key of a table of items. */
static void
check_drop(ObjectAccessType access, Oid class, Oid object, int part)
{
	Form_pg_attribute column;
	Relation rel;
	List *arguments;
	ListCell *cell;

	if (access != OAT_DROP || class != RelationRelationId || part <= 0)
		return;
	rel = RelationIdGetRelation(object);
	if (!RelationIsValid(rel))
		return;
	column = TupleDescAttr(RelationGetDescr(rel), part - 1);
	arguments = depends_on_table_alone(rel, column) ? dyn_derive_arguments(rel) : NIL;
	foreach (cell, arguments)
	{
		const char *argument = lfirst(cell);
		ItemSpan attribute;
		ItemType type;

		/* keys of the table come first */
		if (dyn_argument_is_json(argument))
			break;
		dyn_parse_key_spec(item_span(argument), &attribute, &type);
		if (strcmp(dyn_column_identifier(attribute), NameStr(column->attname)) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("column \"%s\" of table \"%s\" cannot be dropped, since it is a key of "
							"the table's items",
							NameStr(column->attname), RelationGetRelationName(rel)),
					 errhint("Call dyn_detach() to make it a table like others.")));
	}
	RelationClose(rel);
}

/*
 * Defines the setting dynamo_table.derive_counters: servers with assertions count what a write
 * looks for, since finding attributes is most of what a write costs beside the store.  Called once
 * by _PG_init().
 */
void
dyn_derive_init(void)
{
#ifdef USE_ASSERT_CHECKING
	static char *value;

	DefineCustomStringVariable("dynamo_table.derive_counters",
							   "Shows how often rows were derived and attributes looked for.", NULL,
							   &value, "", PGC_INTERNAL, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL,
							   NULL, show_counters);
#endif
	object_access_subscribe(check_drop);
}

static DynRow *
new_row(const DynTable *table, const DynItem *item)
{
	int n = table->ncolumns;
	DynRow *row = palloc(sizeof(DynRow));

	row->item = item;
	row->values = palloc(n * (sizeof(Datum) + 2 * sizeof(bool)));
	row->nulls = (bool *) (row->values + n);
	row->troubled = row->nulls + n;
	row->problems = NIL;
	row->copied = NULL;
	row->expiry = (ItemSpan){NULL, 0};
	return row;
}

/*
 * Returns an item as a row, in the current memory context; the item itself is not copied.  Raises
 * an error if a key of the table is missing or not valid.  Problems with the keys of indexes are
 * left to dyn_row_check().
 */
DynRow *
dyn_derive(Relation rel, const DynTable *table, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan values[DYN_MAX_COLUMNS];
	DynRow *row = new_row(table, item);

#ifdef USE_ASSERT_CHECKING
	derivations++;
#endif
	for (int i = 0; i < table->ncolumns; i++)
	{
		const DynKey *key = &table->keys[i];

		values[i] = (ItemSpan){NULL, 0};
		if (key->carried != NULL)
		{
			row->troubled[i] = false;
			row->nulls[i] = !dyn_carried_make(key->carried, item, &row->values[i]);
			continue;
		}
		if (i < table->nkeys)
			values[i] = dyn_key_attribute(table, &table->primary, item, i);
		else
			item_find(&attributes, key->attribute, &values[i]);
		/* the column must fit the longest key that any index allows */
		row->troubled[i] = false;
		row->nulls[i] = values[i].data == NULL ||
						(i >= table->nkeys && dyn_key_problem(key, true, values[i]) != NULL);
		row->values[i] =
			row->nulls[i] ? (Datum) 0 : dyn_key_datum(key->type, item_payload(values[i]));
	}
	if (table->ttl != NULL)
		row->expiry = values[table->ttl->columns[0]];
	row->key.nkeys = table->nkeys;
	memcpy(row->key.values, row->values, table->nkeys * sizeof(Datum));
	for (int i = 0; i < table->nindexes; i++)
		check_index(rel, table, &table->indexes[i], values, row);
	for (int i = 0; i < table->nvectors; i++)
		check_vector(&table->vectors[i], row);
	return row;
}

/* Raises ERRCODE_DYN_VALIDATION: a value, given with its tag, cannot be this key of an index. */
void
dyn_fail_index_key(const DynIndex *index, const DynKey *key, bool partition, ItemSpan value,
				   DynKeySource source)
{
	StringInfoData name;

	initStringInfo(&name);
	item_quote(&name, key->attribute);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("key attribute \"%s\" of index \"%.*s\" %s", name.data, (int) index->name.len,
					index->name.data, dyn_key_problem(key, partition, value)),
			 errwords_if(dyn_index_key_words(index, key, partition, value, source))));
}

static void
fail_problem(const DynTable *table, const DynRow *row, const DynProblem *problem)
{
	if (problem->key == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("keys are too large for index \"%.*s\"",
							   (int) problem->index->name.len, problem->index->name.data),
						errdetail("Those of table \"%s\" are a part of them.", table->name)));
	dyn_fail_index_key(problem->index, problem->key, problem->partition, problem->value,
					   bms_is_member((int) (problem->key - table->keys), row->copied)
						   ? DYN_KEY_COPIED
						   : DYN_KEY_PUT);
}

/* Returns the size of an item and its copies in local indexes together (docs/semantics.md, R18). */
Size
dyn_size_with_copies(const DynTable *table, const DynItem *item, ItemSizeRule rule)
{
	Size size = item_size_by(item_root(item), rule);

	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->local && dyn_index_has(table, index, item))
			size += dyn_index_part_size(table, index, item, rule);
	}
	return size;
}

/* Returns whether an item and its copies are far from the limit. */
static inline bool
is_small(const DynTable *table, const DynItem *item)
{
	return item_size_bound(item) < ITEM_MAX_SIZE / (1 + table->nindexes);
}

/* Checks the limit of an item and its copies in local indexes together (docs/semantics.md, L14). */
static void
check_local_copies(const DynTable *table, const DynItem *old, const DynItem *item,
				   ItemSizeRule rule)
{
	Size size = is_small(table, item) ? 0 : dyn_size_with_copies(table, item, rule);

	if (size > ITEM_MAX_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("item size exceeds %d bytes", ITEM_MAX_SIZE),
				 dyn_local_indexes(table) > 0
					 ? errdetail("The item and its copies in local indexes have %zu bytes.", size)
					 : errdetail("The item has %zu bytes, names and values together.", size),
				 errwords("%s", old == NULL ? ITEM_SIZE_WORDS : ITEM_SIZE_WORDS_UPDATED)));
}

static bool
same_attribute(const DynKey *key, const DynItem *a, const DynItem *b)
{
	ItemSpan x;
	ItemSpan y;
	bool in_a = item_lookup(item_root(a), key->attribute, &x);

	return in_a == item_lookup(item_root(b), key->attribute, &y) &&
		   (!in_a || item_compare_bytes(x, y) == 0);
}

/*
 * Raises an error for the first problem of an item.  A problem that the old item, if given, has as
 * well is tolerated: items that are older than an index can be updated in all other attributes.
 */
static void
check_problems(const DynTable *table, const DynItem *old, const DynRow *row)
{
	ListCell *cell;

	foreach (cell, row->problems)
	{
		const DynProblem *problem = lfirst(cell);
		const DynIndex *index = problem->index;

		if (problem->vector != NULL)
		{
			if (old == NULL || !dyn_vector_same(problem->vector, old, row->item))
				ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", problem->reason),
								errwords_if(problem->words)));
			continue;
		}
		for (int i = 0; i < index->nkeys; i++)
		{
			const DynKey *key = dyn_index_key(table, index, i);

			if (problem->key != NULL && problem->key != key)
				continue;
			if (old == NULL || !same_attribute(key, old, row->item))
				fail_problem(table, row, problem);
		}
	}
}

/*
 * Raises an error if a row must not be stored: keys do not fit their indexes, or the item is too
 * large with its copies.  old is the item that it replaces, or NULL: what is wrong with that one
 * as well is no reason to refuse the new one.
 */
void
dyn_row_check(Relation rel, const DynTable *table, const DynItem *old, const DynRow *row)
{
	Size size;

	check_problems(table, old, row);
	size = dyn_key_entry_too_large(rel, table, &table->primary, row->values);
	if (size > 0)
		dyn_key_fail_too_large(table, size);
	check_local_copies(table, old, row->item, ITEM_SIZE_STORED);
	if (row->expiry.data != NULL)
		expiry_notice(rel, table, row->expiry);
}

/*
 * Raises an error if a row that a call brings or makes is too large with its copies, by DynamoDB's
 * rule of sizes, which allows less than what may be stored.  An item that was too large before may
 * be changed nevertheless.
 */
void
dyn_row_check_call(const DynTable *table, const DynItem *old, const DynRow *row)
{
	if (is_small(table, row->item))
		return;
	if (old == NULL || dyn_size_with_copies(table, old, ITEM_SIZE_NOW) <= ITEM_MAX_SIZE)
		check_local_copies(table, old, row->item, ITEM_SIZE_NOW);
}

/* Returns whether a row has that primary key. */
bool
dyn_row_has_key(const DynTable *table, const DynRow *row, const DynKeyValues *key)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!same_datum(row->values[i], key->values[i]))
			return false;
	}
	return true;
}

/* Raises the error for an update of an item's key (docs/semantics.md, K18). */
void
dyn_fail_key_changed(const DynTable *table)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("the key of an item of table \"%s\" cannot be changed", table->name),
					errhint("Delete the item and put it with its new key.")));
}

/*
 * The trigger
 */

/* Returns whether two values are the same; numbers are so whatever their scale. */
static bool
same_value(const DynKey *key, Datum a, Datum b)
{
	if (key->carried == NULL && key->type == ITEM_N)
		return DatumGetBool(DirectFunctionCall2(numeric_eq, a, b));
	return same_column(key, a, b);
}

/*
 * Raises an error if a statement gives a column another value than its item, unless the column has
 * it from the row as it was, in an update of the item alone.  Our own statements give columns that
 * fit, and users' triggers may have changed the item since.
 */
static void
check_given(Relation rel, HeapTuple old, const DynKey *key, Datum given, bool isnull)
{
	bool was_null = true;
	Datum was =
		old == NULL ? (Datum) 0 : heap_getattr(old, key->attnum, RelationGetDescr(rel), &was_null);

	if (key->carried != NULL || dyn_statement_runs(rel) ||
		(isnull == was_null && (isnull || same_datum(was, given))))
		return;
	ereport(ERROR, (errcode(ERRCODE_GENERATED_ALWAYS),
					errmsg("column \"%s\" of table \"%s\" cannot have another value than its item",
						   key->column, RelationGetRelationName(rel)),
					errdetail("It is derived from attribute \"%s\" of the item.",
							  item_quoted(key->attribute)),
					errhint("Give the item alone, or change it.")));
}

/*
 * Puts the derived columns into the tuple where its values differ; old is the row that it replaces,
 * or NULL.
 */
static HeapTuple
set_columns(Relation rel, HeapTuple old, HeapTuple tuple, const DynTable *table, const DynRow *row)
{
	TupleDesc desc = RelationGetDescr(rel);
	int attnums[DYN_MAX_COLUMNS];
	Datum values[DYN_MAX_COLUMNS];
	bool nulls[DYN_MAX_COLUMNS];
	int changed = 0;

	for (int i = 0; i < table->ncolumns; i++)
	{
		bool isnull;
		Datum now = heap_getattr(tuple, table->keys[i].attnum, desc, &isnull);

		if (isnull == row->nulls[i] &&
			(isnull || same_column(&table->keys[i], now, row->values[i])))
			continue;
		if (isnull || row->nulls[i] || !same_value(&table->keys[i], now, row->values[i]))
			check_given(rel, old, &table->keys[i], now, isnull);
		attnums[changed] = table->keys[i].attnum;
		values[changed] = row->values[i];
		nulls[changed++] = row->nulls[i];
	}
	if (changed == 0)
		return tuple;
	return heap_modify_tuple_by_cols(tuple, desc, changed, attnums, values, nulls);
}

/* Refuses updates of an item's key, also those by plain SQL (docs/semantics.md, K18). */
static void
check_key_unchanged(Relation rel, HeapTuple old, const DynTable *table, const DynRow *row)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		bool isnull;
		Datum was = heap_getattr(old, table->keys[i].attnum, RelationGetDescr(rel), &isnull);

		if (!isnull && same_datum(was, row->values[i]))
			continue;
		dyn_statement_check_updated(rel, table);
		dyn_fail_key_changed(table);
	}
}

/* Keeps columns that a tolerated problem concerns as they are. */
static void
keep_troubled(HeapTuple old, TupleDesc desc, const DynTable *table, DynRow *row)
{
	for (int i = table->nkeys; i < table->ncolumns; i++)
	{
		if (row->troubled[i])
			row->values[i] = heap_getattr(old, table->keys[i].attnum, desc, &row->nulls[i]);
	}
}

static const DynItem *
old_item(HeapTuple old, TupleDesc desc, const DynTable *table)
{
	bool isnull;
	Datum datum = heap_getattr(old, table->item_attnum, desc, &isnull);

	return isnull ? NULL : DatumGetDynItem(datum);
}

/* Derives the row of an item that a statement writes; old is the row that it replaces, or NULL. */
static DynRow *
derive_written(Relation rel, const DynTable *table, HeapTuple old, const DynItem *item)
{
	TupleDesc desc = RelationGetDescr(rel);
	DynRow *row = dyn_derive(rel, table, item);

	if (old != NULL)
		check_key_unchanged(rel, old, table, row);
	else
		dyn_statement_check_inserted(rel, table, &row->key);
	if (old == NULL || row->problems == NIL)
		dyn_row_check(rel, table, NULL, row);
	else
	{
		dyn_row_check(rel, table, old_item(old, desc, table), row);
		keep_troubled(old, desc, table, row);
	}
	return row;
}

static void
check_call(FunctionCallInfo fcinfo)
{
	const TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function \"" DYN_INTERNAL
							   ".derive_keys\" must be called by a trigger BEFORE INSERT OR "
							   "UPDATE FOR EACH ROW")));
}

PG_FUNCTION_INFO_V1(dyn_derive_keys);
Datum
dyn_derive_keys(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	HeapTuple old = NULL;
	HeapTuple tuple;
	DynTable *table;
	TupleDesc desc;
	Datum datum;
	bool isnull;

	check_call(fcinfo);
	table = dyn_schema_any(trigger->tg_relation);
	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("the trigger that calls \"" DYN_INTERNAL
							   ".derive_keys\" must be named \"%s\"",
							   DYN_DERIVE_TRIGGER)));
	desc = RelationGetDescr(trigger->tg_relation);
	tuple = trigger->tg_trigtuple;
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		old = trigger->tg_trigtuple;
		tuple = trigger->tg_newtuple;
	}
	datum = heap_getattr(tuple, table->item_attnum, desc, &isnull);
	/* the column's NOT NULL constraint reports it */
	if (isnull)
		return PointerGetDatum(tuple);
	tuple = set_columns(trigger->tg_relation, old, tuple, table,
						derive_written(trigger->tg_relation, table, old, DatumGetDynItem(datum)));
	if (old != NULL && dyn_statement_keeps(trigger->tg_relation, old, tuple))
		return PointerGetDatum(NULL);
	return PointerGetDatum(tuple);
}

/*
 * Rows that were there before an index
 */

/*
 * Returns whether the row of an item, in the table of that oid, lacks columns of indexes that it
 * should have; the columns are those beside the table's keys, in the order of the constraint.
 */
PG_FUNCTION_INFO_V1(dyn_keys_missing);
Datum
dyn_keys_missing(PG_FUNCTION_ARGS)
{
	bool missing = false;
	DynTable *table;
	DynRow *row;
	Relation rel;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	rel = dyn_open_given(PG_GETARG_OID(0));
	table = dyn_schema_shard(rel);
	if (table == NULL)
		table = dyn_schema(rel);
	if (table == NULL || PG_NARGS() - 2 != table->ncolumns - table->nkeys)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("these are not the key columns of a table of items")));
	row = dyn_derive(rel, table, PG_GETARG_DYN_ITEM(1));
	for (int i = table->nkeys; i < table->ncolumns; i++)
		missing |= PG_ARGISNULL(i - table->nkeys + 2) && !row->nulls[i] && !row->troubled[i];
	relation_close(rel, AccessShareLock);
	PG_RETURN_BOOL(missing);
}

/*
 * The constraint
 */

/* Keys of more bytes may be too large for one entry of a btree. */
#define DYN_LARGE_KEYS 2000

/* Holds what keys_match() is told of the columns, parsed once for a call site. */
typedef struct MatchKeys
{
	int nkeys;
	DynKey keys[FLEXIBLE_ARRAY_MEMBER];
} MatchKeys;

/* Parses the source of a column, which must have the type for it. */
static void
parse_match_key(ItemSpan spec, Oid type, DynKey *key)
{
	memset(key, 0, sizeof(*key));
	if (dyn_carried_is_spec(spec))
	{
		key->carried = dyn_carried_parse(spec);
		if (!dyn_is_item_type(type))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("the column of what an index carries must have type dyn_item")));
		return;
	}
	dyn_parse_key_spec(spec, &key->attribute, &key->type);
	if (type != dyn_key_column_type(key->type))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("the column of key \"%s\" must have type %s", spec.data,
							   format_type_be(dyn_key_column_type(key->type)))));
}

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
	match = palloc(offsetof(MatchKeys, keys) + n * sizeof(DynKey));
	match->nkeys = n;
	for (int i = 0; i < n; i++)
	{
		char *spec;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a key must not be null")));
		spec = TextDatumGetCString(elements[i]);
		parse_match_key(item_span(spec), get_fn_expr_argtype(fcinfo->flinfo, i + 2),
						&match->keys[i]);
	}
	MemoryContextSwitchTo(old);
	return match;
}

/*
 * Returns whether a column may be NULL though its attribute could be the key: the index leaves the
 * item out because of its size, which depends on the definition of the index.
 */
static bool
may_be_left_out(const MatchKeys *match, const ItemChildren *attributes, ItemSpan value)
{
	Size total = 0;

	if (value.len - 1 > DYN_MAX_SORT_KEY)
		return true;
	for (int i = 0; i < match->nkeys; i++)
	{
		if (match->keys[i].carried == NULL &&
			item_find(attributes, match->keys[i].attribute, &value))
			total += value.len;
	}
	return total > DYN_LARGE_KEYS;
}

/* Returns whether a column has what an index carries, or nothing: then its readers get the row. */
static bool
carried_matches(FunctionCallInfo fcinfo, int argument, const DynKey *key, const DynItem *item)
{
	return PG_ARGISNULL(argument) ||
		   same_column(key, PG_GETARG_DATUM(argument),
					   PointerGetDatum(dyn_carried_part(key->carried, item)));
}

/*
 * Returns whether each column is what its attribute derives to.  An attribute that cannot be a key
 * (absent, of another type, empty, too long) goes with NULL.
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
	if (match == NULL && call_argument_is_constant(fcinfo->flinfo, 1))
		match = fcinfo->flinfo->fn_extra = parse_match_keys(fcinfo, fcinfo->flinfo->fn_mcxt);
	else if (match == NULL)
		match = parse_match_keys(fcinfo, CurrentMemoryContext);
	item = PG_GETARG_DYN_ITEM(0);
	attributes = item_children(item_root(item));
	for (int i = 0; i < match->nkeys; i++)
	{
		const DynKey *key = &match->keys[i];
		ItemSpan value = {NULL, 0};
		bool usable;

		if (key->carried != NULL)
		{
			if (!carried_matches(fcinfo, i + 2, key, item))
				PG_RETURN_BOOL(false);
			continue;
		}
		usable = item_find(&attributes, key->attribute, &value) &&
				 dyn_key_problem(key, true, value) == NULL;
		if (PG_ARGISNULL(i + 2))
		{
			if (usable && !may_be_left_out(match, &attributes, value))
				PG_RETURN_BOOL(false);
		}
		else if (!usable ||
				 !same_datum(PG_GETARG_DATUM(i + 2), dyn_key_datum(key->type, item_payload(value))))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}
