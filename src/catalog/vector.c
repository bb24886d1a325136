/*
 * vector.c
 *	  Vector indexes of a table: their definitions, and the entries that items have in them.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_trigger.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteSupport.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/lookup.h"
#include "catalog/vector.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/object_access.h"
#include "server/pgvector.h"
#include "server/work/owned.h"

/*
 * Definitions
 */

/* Returns the name of an index's trigger. */
const char *
dyn_vector_trigger_name(ItemSpan index)
{
	return dyn_identifier(
		item_span(psprintf(DYN_VECTOR_TRIGGER "%.*s", (int) index.len, index.data)));
}

static bool
has_prefix(const char *name)
{
	return strncmp(name, DYN_VECTOR_TRIGGER, strlen(DYN_VECTOR_TRIGGER)) == 0;
}

static bool
is_keeper(const char *name, Oid function)
{
	FmgrInfo flinfo;

	if (!has_prefix(name))
		return false;
	fmgr_info(function, &flinfo);
	return flinfo.fn_addr == dyn_keep_vectors;
}

static void
set_key(DynKey *key, ItemSpan spec)
{
	memset(key, 0, sizeof(*key));
	dyn_parse_key_spec(spec, &key->attribute, &key->type);
}

/* Lists what an index projects beside the keys of the table, in order. */
static void
set_projection(const DynTable *table, DynVector *vector)
{
	const DynIndexSpec *spec = &vector->spec->index;
	DynIndex *index = &vector->index;

	index->name = spec->name;
	index->ncolumns = table->nkeys;
	for (int i = 0; i < table->nkeys; i++)
		index->columns[i] = i;
	index->carried_column = -1;
	index->projection = spec->projection;
	index->included = palloc((spec->nincluded + vector->nschema + 1) * sizeof(ItemSpan));
	memcpy(index->included, spec->included, spec->nincluded * sizeof(ItemSpan));
	index->nincluded = spec->nincluded;
	for (int i = 0; i < vector->nschema; i++)
		index->included[index->nincluded++] = vector->schema[i].attribute;
}

/* Sets a vector index of a table by its definition. */
void
dyn_vector_set(const DynTable *table, const DynVectorSpec *spec, DynVector *vector)
{
	vector->spec = spec;
	vector->schema = palloc((1 + spec->nfilters) * sizeof(DynKey));
	if (dyn_vector_has_hash(vector))
		set_key(&vector->schema[vector->nschema++], spec->hash);
	for (int i = 0; i < spec->nfilters; i++)
		set_key(&vector->schema[vector->nschema++], spec->filters[i]);
	set_projection(table, vector);
	vector->index.npartition = vector->index.nkeys = dyn_vector_has_hash(vector) ? 1 : 0;
	vector->index.hash = dyn_vector_has_hash(vector) ? &vector->schema[0] : NULL;
}

static void
read_vector(const DynTable *table, const Trigger *trigger, DynVector *vector)
{
	dyn_vector_set(table, dyn_vector_spec_parse(trigger->tgargs[0]), vector);
	vector->trigger = pstrdup(trigger->tgname);
	vector->relid = trigger->tgconstrrelid;
}

/* Reads those of a distributed table, or of a shard of one, whose entries are not looked for here. */
static void
read_arguments(Relation rel, DynTable *table)
{
	List *arguments = dyn_derive_arguments(rel);
	ListCell *cell;

	table->vectors = palloc0(list_length(arguments) * sizeof(DynVector));
	foreach (cell, arguments)
	{
		DynVector *vector = &table->vectors[table->nvectors];

		if (foreach_current_index(cell) < table->nkeys ||
			!dyn_vector_spec_is_argument(lfirst(cell)))
			continue;
		dyn_vector_set(table, dyn_vector_spec_parse_argument(lfirst(cell)), vector);
		vector->relid =
			get_relname_relid(span_string(vector->spec->index.entries), RelationGetNamespace(rel));
		vector->index.relid = vector->relid;
		table->nvectors++;
	}
}

static void
read_triggers(Relation rel, DynTable *table)
{
	/* a copy, since the look-up of functions may rebuild rel */
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgnargs != 1 || !OidIsValid(trigger->tgconstrrelid) ||
			!is_keeper(trigger->tgname, trigger->tgfoid))
			continue;
		if (table->vectors == NULL)
			table->vectors = palloc0(triggers->numtriggers * sizeof(DynVector));
		read_vector(table, trigger, &table->vectors[table->nvectors++]);
	}
}

/* Reads the vector indexes of a table whose schema is complete otherwise. */
void
dyn_read_vectors(Relation rel, DynTable *table)
{
	if (table->distributed || table->shard)
	{
		read_arguments(rel, table);
		return;
	}
	read_triggers(rel, table);
}

/* Returns the vector index of that name, or NULL if the table has none. */
DynVector *
dyn_find_vector(const DynTable *table, ItemSpan name)
{
	for (int i = 0; i < table->nvectors; i++)
	{
		if (item_compare_bytes(table->vectors[i].index.name, name) == 0)
			return &table->vectors[i];
	}
	return NULL;
}

/* Raises the error for an index whose entries relation is gone. */
void
dyn_vector_fail_dropped(const DynTable *table, const DynVector *vector)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
					errmsg("vector index \"%s\" of table \"%s\" was dropped meanwhile",
						   item_quoted(vector->index.name), table->name)));
}

/* Adds what the catalog says of a relation. */
static void
add_relation(Oid relid, int64 *bytes, int64 *items)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	*bytes += (int64) form->relpages * BLCKSZ;
	if (items != NULL)
		*items = (int64) Max(form->reltuples, 0);
	ReleaseSysCache(tuple);
}

/* Returns whether all items have their entries. */
bool
dyn_vector_is_built(const DynVector *vector)
{
	HeapTuple tuple;
	bool populated = false;

	if (dyn_vector_is_distributed(vector))
		return vector->spec->index.status == DYN_INDEX_ACTIVE;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(vector->relid));
	if (HeapTupleIsValid(tuple))
	{
		populated = ((Form_pg_class) GETSTRUCT(tuple))->relispopulated;
		ReleaseSysCache(tuple);
	}
	return populated;
}

/* Returns whether a snapshot shows that too, and so the entries. */
bool
dyn_vector_is_shown(const DynVector *vector, Snapshot snapshot)
{
	HeapTuple row = catalogs_relation_shown(snapshot, vector->relid);

	return row == NULL ? dyn_vector_is_distributed(vector)
					   : ((Form_pg_class) GETSTRUCT(row))->relispopulated;
}

/* Returns the size of the entries and their indexes, as it was found last. */
DynSize
dyn_vector_size(const DynVector *vector)
{
	List *rows =
		catalogs_rows(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, vector->relid);
	DynSize size = {0};
	ListCell *cell;

	if (dyn_vector_is_distributed(vector))
		return dyn_entries_size(vector->relid);
	add_relation(vector->relid, &size.bytes, &size.items);
	foreach (cell, rows)
		add_relation(((Form_pg_index) GETSTRUCT((HeapTuple) lfirst(cell)))->indexrelid, &size.bytes,
					 NULL);
	return size;
}

/*
 * The entries relation
 */

static bool
column_fits(TupleDesc desc, int attnum, Oid type)
{
	Form_pg_attribute column = TupleDescAttr(desc, attnum - 1);

	return !column->attisdropped && column->atttypid == type &&
		   (type != TEXTOID || column->attcollation == C_COLLATION_OID);
}

/* Returns whether rows have the columns of entries, whoever has made the relation. */
bool
dyn_vector_columns_fit(const DynTable *table, const DynVector *vector, TupleDesc desc)
{
	int n = dyn_vector_ncolumns(table, vector);
	Form_pg_attribute column;

	if (desc->natts != n || !column_fits(desc, DYN_FILTERS_COLUMN, table->item_type))
		return false;
	column = TupleDescAttr(desc, DYN_VECTOR_COLUMN - 1);
	if (column->attisdropped || column->atttypmod != vector->spec->dimensions ||
		!pgvector_is_vector(column->atttypid))
		return false;
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!column_fits(desc, DYN_ENTRY_KEY_COLUMN + i, dyn_key_column_type(table->keys[i].type)))
			return false;
	}
	return !dyn_vector_has_hash(vector) ||
		   column_fits(desc, n, dyn_key_column_type(vector->schema[0].type));
}

/*
 * Returns whether the entries relation is a materialized view of the table's owner, or a table
 * where these are distributed.  A role can name another one in a trigger of its own, and relations
 * may get other owners.
 */
bool
dyn_vector_is_owned(const DynTable *table, const DynVector *vector)
{
	char kind = dyn_vector_is_distributed(vector) ? RELKIND_RELATION : RELKIND_MATVIEW;

	return get_rel_relkind(vector->relid) == kind &&
		   rights_owner(vector->relid) == rights_owner(table->relid);
}

pg_noreturn static void
fail_unfit(const DynTable *table, const DynVector *vector)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("relation \"%s\" does not have the entries of vector index \"%s\" of table \"%s\"",
				get_rel_name(vector->relid), item_quoted(vector->index.name), table->name),
		 errhint("Drop the index and create it again.")));
}

/* Raises an error unless dyn_vector_is_owned(). */
void
dyn_vector_check_owned(const DynTable *table, const DynVector *vector)
{
	if (!dyn_vector_is_owned(table, vector))
		fail_unfit(table, vector);
}

/* Raises an error also unless the relation has the columns of entries. */
void
dyn_vector_check_fits(const DynTable *table, DynVector *vector, Relation entries)
{
	dyn_vector_check_owned(table, vector);
	if (!vector->fits && !dyn_vector_columns_fit(table, vector, RelationGetDescr(entries)))
		fail_unfit(table, vector);
	vector->fits = true;
}

/*
 * Entries
 */

/* Returns a number of an item as a float, which is infinite if it is too large for one. */
static float
number_to_float(ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];

	(void) item_number_print(number, text);
	return strtof(text, NULL);
}

/* Returns whether an index of type hnsw has the vectors as halfvec, of 16-bit floating point. */
bool
dyn_vector_has_halves(const DynVectorSpec *spec)
{
	return spec->method == DYN_SEARCH_HNSW && spec->dimensions > PGVECTOR_PLAIN;
}

/* Returns whether a number has a nearest one in floating point, mostly without looking for that. */
static bool
fits_float(ItemSpan number, bool half)
{
	int before;
	int behind;
	float value;

	item_number_places(number, &before, &behind);
	if (before < (half ? PGVECTOR_HALF_DIGITS : FLT_MAX_10_EXP))
		return true;
	value = fabsf(number_to_float(number));
	return half ? value < PGVECTOR_HALF_END : !isinf(value);
}

#define WORDS_INVALID "One or more parameter values were invalid. "
#define WORDS_FLOAT "Expected: 32-bit floating point number"

static bool
element_problem(const DynVector *vector, uint32 i, ItemSpan value, DynVectorProblem *problem)
{
	bool half = dyn_vector_has_halves(vector->spec);
	const char *attribute;

	if (item_type(value) == ITEM_N && fits_float(item_payload(value), half))
		return false;
	attribute = item_quoted(vector->spec->attribute);
	problem->message = psprintf("element %u of vector \"%s\" of index \"%s\" must be a number that "
								"fits into %d-bit floating point",
								i, attribute, item_quoted(vector->index.name), half ? 16 : 32);
	problem->words = psprintf(WORDS_INVALID "Invalid type for parameter %s[%u], " WORDS_FLOAT
											", Actual: %s. IndexName: %s",
							  attribute, i, item_type_code(item_type(value)),
							  item_quoted_words(vector->index.name));
	return true;
}

static bool
value_problem(const DynVector *vector, ItemSpan value, DynVectorProblem *problem)
{
	const char *index = item_quoted(vector->index.name);
	const char *attribute = item_quoted(vector->spec->attribute);
	ItemChildren elements;

	if (item_type(value) != ITEM_L)
	{
		problem->message =
			psprintf("vector \"%s\" of index \"%s\" must be a list of numbers", attribute, index);
		problem->words = psprintf(WORDS_INVALID "Invalid type for parameter %s, " WORDS_FLOAT
												" list IndexName: %s",
								  attribute, item_quoted_words(vector->index.name));
		return true;
	}
	elements = item_children(value);
	if (elements.count != vector->spec->dimensions)
	{
		problem->message =
			psprintf("vector \"%s\" of index \"%s\" must have " INT64_FORMAT " elements, not %u",
					 attribute, index, vector->spec->dimensions, elements.count);
		problem->words =
			psprintf(WORDS_INVALID "Invalid size for parameter %s, Expected: " INT64_FORMAT
								   ", Actual: %u IndexName: %s",
					 attribute, vector->spec->dimensions, elements.count,
					 item_quoted_words(vector->index.name));
		return true;
	}
	for (uint32 i = 0; i < elements.count; i++)
	{
		if (element_problem(vector, i, item_child(&elements, i), problem))
			return true;
	}
	return false;
}

/*
 * Returns whether an item has something that no entry can be made of, and sets *problem then.  An
 * item without the vector or the hash key is not in the index, and right.
 */
bool
dyn_vector_problem(const DynVector *vector, const DynItem *item, DynVectorProblem *problem)
{
	ItemChildren attributes = item_children(item_root(item));
	const char *reason = NULL;
	ItemSpan value;

	if (item_find(&attributes, vector->spec->attribute, &value) &&
		value_problem(vector, value, problem))
		return true;
	if (vector->index.hash == NULL ||
		!item_find(&attributes, vector->index.hash->attribute, &value))
		return false;
	reason = dyn_key_problem(vector->index.hash, true, value);
	if (reason == NULL)
		return false;
	problem->message = psprintf("key attribute \"%s\" of index \"%s\" %s",
								item_quoted(vector->index.hash->attribute),
								item_quoted(vector->index.name), reason);
	problem->words =
		dyn_index_key_words(&vector->index, vector->index.hash, true, value, DYN_KEY_PUT);
	return true;
}

static bool
same_attribute(const ItemChildren *as, const ItemChildren *bs, ItemSpan name)
{
	ItemSpan a;
	ItemSpan b;
	bool in_a = item_find(as, name, &a);

	return in_a == item_find(bs, name, &b) && (!in_a || item_compare_bytes(a, b) == 0);
}

/* Returns whether two items of one key have the same entry, if any. */
bool
dyn_vector_same(const DynVector *vector, const DynItem *a, const DynItem *b)
{
	ItemChildren as = item_children(item_root(a));
	ItemChildren bs = item_children(item_root(b));

	for (int i = 0; i < vector->nschema; i++)
	{
		if (!same_attribute(&as, &bs, vector->schema[i].attribute))
			return false;
	}
	return same_attribute(&as, &bs, vector->spec->attribute);
}

/* Returns whether an item has what an entry is made of, whether that is valid or not. */
bool
dyn_vector_has(const DynVector *vector, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan value;

	return item_find(&attributes, vector->spec->attribute, &value) &&
		   (vector->index.hash == NULL ||
			item_find(&attributes, vector->index.hash->attribute, &value));
}

/* Returns the attributes that conditions may name, as an item. */
static DynItem *
schema_part(const DynVector *vector, const ItemChildren *attributes)
{
	ItemBuilder b;

	item_build_init(&b, 128);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < vector->nschema; i++)
	{
		ItemSpan value;

		if (!item_find(attributes, vector->schema[i].attribute, &value))
			continue;
		item_build_name(&b, vector->schema[i].attribute);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns the vector of an item, in the current memory context; NULL if the item is not in the index. */
PgVector *
dyn_vector_value(const DynVector *vector, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	DynVectorProblem problem;
	ItemChildren elements;
	PgVector *made;
	ItemSpan value;

	if (!dyn_vector_has(vector, item) || dyn_vector_problem(vector, item, &problem))
		return NULL;
	(void) item_find(&attributes, vector->spec->attribute, &value);
	elements = item_children(value);
	made = pgvector_new((int) elements.count);
	for (uint32 i = 0; i < elements.count; i++)
		made->values[i] = number_to_float(item_payload(item_child(&elements, i)));
	return made;
}

/*
 * Makes the entry of an item, in the current memory context.  Returns false if the item is not in
 * the index.
 */
bool
dyn_vector_entry(const DynTable *table, const DynVector *vector, const DynItem *item,
				 DynVectorEntry *entry)
{
	ItemChildren attributes = item_children(item_root(item));
	PgVector *made = dyn_vector_value(vector, item);
	DynKeyValues key;
	ItemSpan hash;

	if (made == NULL)
		return false;
	memset(entry->nulls, false, sizeof(entry->nulls));
	entry->values[DYN_VECTOR_COLUMN - 1] = PointerGetDatum(made);
	entry->nulls[DYN_FILTERS_COLUMN - 1] = vector->nschema == 0;
	entry->values[DYN_FILTERS_COLUMN - 1] =
		vector->nschema == 0 ? (Datum) 0 : PointerGetDatum(schema_part(vector, &attributes));
	dyn_key_of_item(table, item, &key);
	for (int i = 0; i < table->nkeys; i++)
		entry->values[DYN_ENTRY_KEY_COLUMN - 1 + i] = key.values[i];
	if (vector->index.hash != NULL && item_find(&attributes, vector->index.hash->attribute, &hash))
		entry->values[dyn_vector_ncolumns(table, vector) - 1] =
			dyn_key_datum(vector->index.hash->type, item_payload(hash));
	return true;
}

/*
 * Returns the part of an item that an index projects, which has the vector itself only if that is
 * asked for (docs/semantics.md, VS38).
 */
DynItem *
dyn_vector_part(const DynTable *table, const DynVector *vector, const DynItem *item,
				bool with_vector)
{
	return dyn_index_part_but(table, &vector->index, item, vector->spec->attribute, with_vector);
}

/*
 * Commands
 */

/* Returns the query of a materialized view, and sets *rule; NULL if it is none. */
static Query *
query_of(Oid relid, Oid *rule)
{
	HeapTuple tuple = get_rel_relkind(relid) != RELKIND_MATVIEW
						  ? NULL
						  : SearchSysCache2(RULERELNAME, ObjectIdGetDatum(relid),
											PointerGetDatum(ViewSelectRuleName));
	Query *query;
	Datum action;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	*rule = ((Form_pg_rewrite) GETSTRUCT(tuple))->oid;
	action = SysCacheGetAttr(RULERELNAME, tuple, Anum_pg_rewrite_ev_action, &isnull);
	query = linitial_node(Query, castNode(List, stringToNode(TextDatumGetCString(action))));
	ReleaseSysCache(tuple);
	return query;
}

static bool
is_other_function(Oid function, void *arg)
{
	FmgrInfo flinfo;

	fmgr_info(function, &flinfo);
	return flinfo.fn_addr != dyn_vector_entries;
}

/* Returns whether there is more in a query than columns, constants and our function. */
static bool
has_more(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) || check_functions_in_node(node, is_other_function, arg))
		return true;
	return expression_tree_walker(node, has_more, arg);
}

/*
 * Returns whether a relation has the entries that this extension makes of a table, and of nothing
 * else, and sets *rule to the rule of its query.  Any role can name another relation in a trigger:
 * its query must keep its dependencies, and it must not get another owner.
 */
static bool
has_entries(Oid relid, Oid table, Oid *rule)
{
	Query *query = query_of(relid, rule);
	RangeTblFunction *function;
	RangeTblEntry *from;
	RangeTblRef *ref;
	Const *of;

	if (query == NULL || list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef) ||
		query_tree_walker(query, has_more, NULL, QTW_IGNORE_RANGE_TABLE))
		return false;
	ref = linitial(query->jointree->fromlist);
	from = rt_fetch(ref->rtindex, query->rtable);
	if (from->rtekind != RTE_FUNCTION || list_length(from->functions) != 1)
		return false;
	function = linitial(from->functions);
	if (!IsA(function->funcexpr, FuncExpr) || has_more(function->funcexpr, NULL))
		return false;
	of = linitial(((FuncExpr *) function->funcexpr)->args);
	return IsA(of, Const) && !of->constisnull && DatumGetObjectId(of->constvalue) == table;
}

/*
 * Has the entries relation dropped with its table.  Its query names the table, and would keep that
 * from being dropped.
 */
static void
trigger_made(HeapTuple tuple)
{
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
	ObjectAddress entries;
	ObjectAddress table;
	Oid query;

	if (!OidIsValid(form->tgconstrrelid) || !is_keeper(NameStr(form->tgname), form->tgfoid))
		return;
	if (rights_owner(form->tgrelid) != rights_owner(form->tgconstrrelid))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the entries of a vector index must have the owner of their table")));
	if (!has_entries(form->tgconstrrelid, form->tgrelid, &query))
		return;
	ObjectAddressSet(entries, RelationRelationId, form->tgconstrrelid);
	ObjectAddressSet(table, RelationRelationId, form->tgrelid);
	if (deleteDependencyRecordsForSpecific(RewriteRelationId, query, DEPENDENCY_NORMAL,
										   RelationRelationId, table.objectId) > 0)
		recordDependencyOn(&entries, &table, DEPENDENCY_AUTO);
}

/* Has the entries of a table's indexes follow it to a new owner. */
static void
table_altered(Oid relid)
{
	HeapTuple row = catalogs_relation_shown(SnapshotSelf, relid);
	Form_pg_class table = row == NULL ? NULL : (Form_pg_class) GETSTRUCT(row);
	ListCell *cell;

	if (table == NULL || table->relkind != RELKIND_RELATION || !table->relhastriggers)
		return;
	foreach (cell, catalogs_shown(SnapshotSelf, TriggerRelationId, TriggerRelidNameIndexId,
								  Anum_pg_trigger_tgrelid, relid))
	{
		Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT((HeapTuple) lfirst(cell));
		Oid entries = trigger->tgconstrrelid;
		Oid owner;
		Oid query;

		if (!OidIsValid(entries) || !is_keeper(NameStr(trigger->tgname), trigger->tgfoid))
			continue;
		row = catalogs_relation_shown(SnapshotSelf, entries);
		owner = row == NULL ? InvalidOid : ((Form_pg_class) GETSTRUCT(row))->relowner;
		/* whoever names a relation of another role in a trigger does not get it */
		if (owner != table->relowner && owner == rights_owner(relid) &&
			has_entries(entries, relid, &query))
			ATExecChangeOwner(entries, table->relowner, true, AccessExclusiveLock);
	}
}

static void
told(ObjectAccessType access, Oid class, Oid object, int part)
{
	ListCell *cell;

	if (access == OAT_POST_CREATE && class == TriggerRelationId)
	{
		foreach (cell, catalogs_shown(SnapshotSelf, TriggerRelationId, TriggerOidIndexId,
									  Anum_pg_trigger_oid, object))
			trigger_made(lfirst(cell));
	}
	else if (access == OAT_POST_ALTER && class == RelationRelationId && part == 0)
		table_altered(object);
}

/* Called once by _PG_init(). */
void
dyn_vector_init(void)
{
	object_access_subscribe(told);
}
