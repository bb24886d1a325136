/*
 * index.c
 *	  Secondary indexes in the schema: which btree serves as one, and which attributes it projects.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opclass.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/carried.h"
#include "catalog/key.h"
#include "catalog/shape.h"
#include "catalog/vector.h"
#include "server/errors.h"

/* Returns the position of a key among those of the table, which have all been read. */
static int
key_place(const DynTable *table, ItemSpan spec)
{
	ItemSpan attribute;
	ItemType type;

	dyn_parse_key_spec(spec, &attribute, &type);
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (item_compare_bytes(table->keys[i].attribute, attribute) == 0)
			return i;
	}
	elog(ERROR, "key of an index is not among those of its table");
}

/* Appends the table's keys that are not among an index's own. */
static void
dyn_index_add_table_keys(const DynTable *table, DynIndex *index)
{
	index->ncolumns = index->nkeys;
	for (int i = 0; i < table->nkeys; i++)
	{
		int k = 0;

		while (k < index->nkeys && index->columns[k] != i)
			k++;
		if (k == index->nkeys)
			index->columns[index->ncolumns++] = i;
	}
}

/*
 * Returns the predicate or the expressions as the catalog has them.  RelationGetIndexPredicate()
 * and RelationGetIndexExpressions() are not used: they simplify and so call functions, which the
 * table's owner has chosen.  A schema may be read by a superuser's session that did not choose the
 * table.
 */
static void *
stored_node(Relation btree, AttrNumber attribute)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(RelationGetRelid(btree)));
	void *node = NULL;
	bool isnull;
	Datum stored;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", RelationGetRelid(btree));
	stored = SysCacheGetAttr(INDEXRELID, tuple, attribute, &isnull);
	if (!isnull)
		node = stringToNode(TextDatumGetCString(stored));
	ReleaseSysCache(tuple);
	return node;
}

/*
 * Returns whether the predicate holds for each entry that the index must have: it may consist only
 * of IS NOT NULL tests of the index's columns.
 */
static bool
predicate_fits(const DynTable *table, const DynIndex *index, List *predicate)
{
	ListCell *cell;

	foreach (cell, predicate)
	{
		const NullTest *test = lfirst(cell);
		bool found = false;

		if (!IsA(test, NullTest) || test->nulltesttype != IS_NOT_NULL || !IsA(test->arg, Var))
			return false;
		for (int i = 0; i < index->ncolumns; i++)
			found |= ((Var *) test->arg)->varattno == dyn_index_key(table, index, i)->attnum;
		if (!found)
			return false;
	}
	return true;
}

/* Returns whether a btree carries what its index says, as the only column that it includes. */
static bool
carries(const DynTable *table, const DynIndex *index, const FormData_pg_index *form)
{
	return index->carried == NULL ||
		   (form->indnatts == index->ncolumns + 1 &&
			form->indkey.values[index->ncolumns] == table->keys[index->carried_column].attnum);
}

/* Returns whether a btree has the entries of an index, in its order. */
static bool
btree_fits(const DynTable *table, const DynIndex *index, Relation btree)
{
	const FormData_pg_index *form = btree->rd_index;

	if (btree->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || !form->indisready ||
		form->indnkeyatts != index->ncolumns || !carries(table, index, form))
		return false;
	for (int i = 0; i < index->ncolumns; i++)
	{
		const DynKey *key = dyn_index_key(table, index, i);
		Oid opclass = GetDefaultOpClass(dyn_key_column_type(key->type), BTREE_AM_OID);

		if (form->indkey.values[i] != key->attnum || btree->rd_indoption[i] != 0 ||
			btree->rd_opfamily[i] != get_opclass_family(opclass) ||
			(key->type == ITEM_S && btree->rd_indcollation[i] != C_COLLATION_OID))
			return false;
	}
	return predicate_fits(table, index,
						  make_ands_implicit(stored_node(btree, Anum_pg_index_indpred)));
}

/*
 * Returns the valid btree that serves as the index, or InvalidOid.  One that has other columns
 * beside it serves if there is no better one.
 */
static Oid
find_btree(Relation rel, const DynTable *table, const DynIndex *index)
{
	List *btrees = RelationGetIndexList(rel);
	Oid found = InvalidOid;
	ListCell *cell;

	foreach (cell, btrees)
	{
		Relation btree = index_open(lfirst_oid(cell), AccessShareLock);
		bool exact =
			btree->rd_index->indnatts == index->ncolumns + (index->carried != NULL ? 1 : 0);

		if ((exact || !OidIsValid(found)) && btree_fits(table, index, btree))
			found = RelationGetRelid(btree);
		exact = exact && found == RelationGetRelid(btree);
		index_close(btree, AccessShareLock);
		if (exact)
			break;
	}
	return found;
}

/*
 * Sets relid and status of an index.  relid becomes the table's valid btree that has the entries of
 * the index, or InvalidOid; without a btree, DYN_INDEX_ACTIVE becomes DYN_INDEX_DELETING.  An index
 * with a relation of its own for them keeps its status: whoever misses that relation raises an
 * error.
 */
void
dyn_index_find_btree(Relation rel, const DynTable *table, DynIndexStatus status, DynIndex *index)
{
	index->status = status;
	if (index->entries != NULL)
		return;
	index->relid = find_btree(rel, table, index);
	/* another session has dropped it */
	if (status == DYN_INDEX_ACTIVE && !OidIsValid(index->relid))
		index->status = DYN_INDEX_DELETING;
}

/* Reads what the entries of the index carry: its column is among the table's. */
static void
read_carried(const DynTable *table, const DynIndexSpec *spec, DynIndex *index)
{
	ItemSpan specs[DYN_MAX_INDEX_COLUMNS];

	index->covering = spec->covering;
	index->carried_column = -1;
	if (!spec->covering)
		return;
	for (int i = 0; i < index->ncolumns; i++)
	{
		const DynKey *key = dyn_index_key(table, index, i);

		specs[i] = dyn_key_spec(key->attribute, item_type_code(key->type));
	}
	index->carried = dyn_carried_of(spec, specs, index->ncolumns);
}

/*
 * Builds an index from its definition, in a table whose keys are complete.  Its btree is found by
 * dyn_index_find_btree().
 */
void
dyn_index_read(const DynTable *table, const DynIndexSpec *spec, DynIndex *index)
{
	index->name = spec->name;
	index->local = spec->local;
	index->projection = spec->projection;
	index->nincluded = spec->nincluded;
	index->included = spec->included;
	index->npartition = spec->npartition;
	index->nkeys = spec->nkeys;
	for (int i = 0; i < spec->nkeys; i++)
		index->columns[i] = key_place(table, spec->keys[i]);
	dyn_index_add_table_keys(table, index);
	read_carried(table, spec, index);
}

/*
 * Use
 */

/* Returns the index of that name, or NULL if the table has none. */
const DynIndex *
dyn_find_index(const DynTable *table, ItemSpan name)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		if (item_compare_bytes(table->indexes[i].name, name) == 0)
			return &table->indexes[i];
	}
	return NULL;
}

/* Returns what DynamoDB says of an index that cannot be read, or NULL if nothing is known. */
static const char *
unreadable_words(const DynIndex *index)
{
	if (index->status != DYN_INDEX_CREATING)
		return NULL;
	return psprintf("Cannot read from backfilling global secondary index: %s",
					item_quoted_words(index->name));
}

/* Raises the error that the table has no index of that name. */
void
dyn_fail_no_index(const DynTable *table, ItemSpan name, int code, const char *words)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < table->nindexes; i++)
		appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "",
						 item_quoted(table->indexes[i].name));
	for (int i = 0; i < table->nvectors; i++)
		appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "",
						 item_quoted(table->vectors[i].index.name));
	ereport(ERROR, (errcode(code),
					errmsg("table \"%s\" has no index \"%s\"", table->name, item_quoted(name)),
					names.len == 0 ? errhint("It has no indexes.")
								   : errhint("Its indexes are %s.", names.data),
					errwords_if(words)));
}

/* Raises an error if the index of that name is one of vectors, which is not read by keys. */
void
dyn_refuse_vector(const DynTable *table, ItemSpan name)
{
	if (dyn_find_vector(table, name) != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("vector index \"%s\" of table \"%s\" can only be searched",
							   item_quoted(name), table->name),
						errhint("Call dyn_search."),
						errwords("Scan operation not supported on this index type")));
}

/* Returns the index of that name, which must be ACTIVE to be read (docs/semantics.md, Q20, I05). */
const DynIndex *
dyn_active_index(const DynTable *table, ItemSpan name)
{
	const DynIndex *index = dyn_find_index(table, name);

	dyn_refuse_vector(table, name);
	if (index == NULL)
		dyn_fail_no_index(
			table, name, ERRCODE_DYN_VALIDATION,
			psprintf("The table does not have the specified index: %s", item_quoted_words(name)));
	if (index->status == DYN_INDEX_ACTIVE)
		return index;
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("index \"%s\" of table \"%s\" cannot be read", item_quoted(name), table->name),
			 errdetail("Its status is %s.", dyn_index_status_names[index->status]),
			 errhint(index->status == DYN_INDEX_CREATING
						 ? "Wait until it is built, or call dyn_create_index again if that was "
						   "interrupted."
						 : "Call dyn_drop_index to remove what is left of it, or "
						   "dyn_create_index to build it again."),
			 errwords_if(unreadable_words(index))));
}

/* Returns whether an index projects an attribute (docs/semantics.md, I12, I13, I14). */
bool
dyn_index_projects(const DynTable *table, const DynIndex *index, ItemSpan attribute)
{
	if (index->projection == DYN_PROJECT_ALL)
		return true;
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (item_compare_bytes(dyn_index_key(table, index, i)->attribute, attribute) == 0)
			return true;
	}
	for (int i = 0; i < index->nincluded; i++)
	{
		if (item_compare_bytes(index->included[i], attribute) == 0)
			return true;
	}
	return false;
}

/* Returns the size of the part of an item that an index projects, by a rule for sizes. */
Size
dyn_index_part_size(const DynTable *table, const DynIndex *index, const DynItem *item,
					ItemSizeRule rule)
{
	Size size = 0;

	if (index->projection == DYN_PROJECT_ALL)
		return item_size_by(item_root(item), rule);
	for (ItemMembers m = item_members(item_root(item)); item_next(&m);)
	{
		if (dyn_index_projects(table, index, m.name))
			size += m.name.len + item_value_size_by(m.value, rule);
	}
	return size;
}

/* Returns that size as DynamoDB counts it. */
Size
dyn_index_entry_size(const DynTable *table, const DynIndex *index, const DynItem *item)
{
	return dyn_index_part_size(table, index, item, ITEM_SIZE_NOW);
}

/*
 * Returns the part of an item that an index projects, and one attribute with it, or without it,
 * whatever is projected.
 */
DynItem *
dyn_index_part_but(const DynTable *table, const DynIndex *index, const DynItem *item,
				   ItemSpan attribute, bool with_it)
{
	ItemBuilder b;

	item_build_init(&b, 512);
	item_build_begin(&b, ITEM_M);
	for (ItemMembers m = item_members(item_root(item)); item_next(&m);)
	{
		if (item_compare_bytes(m.name, attribute) == 0 ? !with_it
													   : !dyn_index_projects(table, index, m.name))
			continue;
		item_build_name(&b, m.name);
		item_build_value(&b, m.value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns the part of an item that an index projects (docs/semantics.md, I12, I13, I14). */
DynItem *
dyn_index_part(const DynTable *table, const DynIndex *index, const DynItem *item)
{
	/* no attribute has an empty name */
	return dyn_index_part_but(table, index, item, (ItemSpan){"", 0}, false);
}

/*
 * Returns whether an item is in an index by its attributes alone: it has all of the keys, and their
 * values are valid as keys (docs/semantics.md, I06, I07, I10).
 */
bool
dyn_index_has(const DynTable *table, const DynIndex *index, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));

	for (int i = 0; i < index->nkeys; i++)
	{
		const DynKey *key = dyn_index_key(table, index, i);
		ItemSpan value;

		if (!item_find(&attributes, key->attribute, &value) ||
			dyn_key_problem(key, i < index->npartition, value) != NULL)
			return false;
	}
	return true;
}

/* Returns the number of local indexes of a table. */
int
dyn_local_indexes(const DynTable *table)
{
	int n = 0;

	for (int i = 0; i < table->nindexes; i++)
		n += table->indexes[i].local;
	return n;
}
