/*
 * catalog.c
 *	  What the catalogs say of the sources: columns, keys, foreign keys.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "models/propose/propose.h"

/* Returns the source of an OID; NULL: it is none. */
ProposeTable *
propose_source(const Proposal *proposal, Oid relid)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		if (proposal->tables[i].relid == relid)
			return &proposal->tables[i];
	}
	return NULL;
}

/* Returns the position of a column among those of the table; -1: there is none. */
int
propose_position(const ProposeTable *table, AttrNumber attnum)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].attnum == attnum)
			return i;
	}
	return -1;
}

static int
position_of_name(const ProposeTable *table, const char *name)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (strcmp(table->columns[i].name, name) == 0)
			return i;
	}
	elog(ERROR, "a partition of %s has a column that the table lacks", table->qualified);
}

/*
 * Columns
 */

static bool
calls_nextval(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_NEXTVAL)
		return true;
	return expression_tree_walker(node, calls_nextval, context);
}

static bool
is_numbered(Relation rel, Form_pg_attribute form)
{
	return form->attidentity != '\0' ||
		   (form->atthasdef && form->attgenerated == '\0' &&
			calls_nextval(build_column_default(rel, form->attnum), NULL));
}

static void
read_columns(ProposeTable *table, Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);

	table->columns = palloc0(Max(desc->natts, 1) * sizeof(ProposeColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute form = TupleDescAttr(desc, i);

		if (form->attisdropped)
			continue;
		table->columns[table->ncolumns++] = (ProposeColumn){.attnum = form->attnum,
															.name = pstrdup(NameStr(form->attname)),
															.type = form->atttypid,
															.typmod = form->atttypmod,
															.collation = form->attcollation,
															.required = form->attnotnull,
															.generated = form->attgenerated != '\0',
															.identity = is_numbered(rel, form)};
	}
}

/*
 * Keys
 */

/* Returns whether an index proves that rows differ in its columns, none of which is NULL. */
static bool
is_key(const ProposeTable *table, Relation index)
{
	const FormData_pg_index *form = index->rd_index;

	if (!form->indisunique || !form->indisvalid || !form->indimmediate ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		int column = propose_position(table, form->indkey.values[i]);

		if (column < 0 || !table->columns[column].required)
			return false;
	}
	return true;
}

static void
take_key(ProposeTable *table, Relation index)
{
	const FormData_pg_index *form = index->rd_index;

	table->nkeys = form->indnkeyatts;
	table->keys = palloc(table->nkeys * sizeof(int));
	for (int i = 0; i < table->nkeys; i++)
		table->keys[i] = propose_position(table, form->indkey.values[i]);
	table->key_is_primary = form->indisprimary;
}

/* Takes the primary key, or else the unique index with the fewest columns. */
static void
read_key(ProposeTable *table, Relation rel)
{
	ListCell *cell;

	foreach (cell, RelationGetIndexList(rel))
	{
		Relation index = relation_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisprimary ||
			(!table->key_is_primary && is_key(table, index) &&
			 (table->nkeys == 0 || index->rd_index->indnkeyatts < table->nkeys)))
			take_key(table, index);
		relation_close(index, AccessShareLock);
	}
}

/*
 * Foreign keys
 */

/*
 * Returns whether a constraint was made with another one of the same table: a foreign key that refers
 * to a partitioned table has such, which refer to its partitions and say nothing more.
 */
static bool
is_copy(const FormData_pg_constraint *form)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(form->conparentid));
	bool result = HeapTupleIsValid(tuple) &&
				  ((const FormData_pg_constraint *) GETSTRUCT(tuple))->conrelid == form->conrelid;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* A partition has the columns of its table by name, and not by number.  Returns NULL for a copy. */
static ProposeForeignKey *
read_foreign_key(const ProposeTable *table, Relation rel, const ForeignKeyCacheInfo *info)
{
	ProposeForeignKey *foreign = palloc0(sizeof(ProposeForeignKey));
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(info->conoid));
	const FormData_pg_constraint *form = (const FormData_pg_constraint *) GETSTRUCT(tuple);
	bool copied = is_copy(form);

	foreign->cascades =
		strchr("cnd", form->confdeltype) != NULL || strchr("cnd", form->confupdtype) != NULL;
	ReleaseSysCache(tuple);
	if (copied)
		return NULL;
	foreign->name = get_constraint_name(info->conoid);
	foreign->parent_relid = info->confrelid;
	foreign->ncolumns = info->nkeys;
	foreign->columns = palloc(info->nkeys * sizeof(int));
	foreign->parent_columns = palloc(info->nkeys * sizeof(int));
	foreign->required = true;
	for (int i = 0; i < info->nkeys; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(rel), info->conkey[i] - 1);

		foreign->columns[i] = position_of_name(table, NameStr(column->attname));
		foreign->required &= table->columns[foreign->columns[i]].required;
		foreign->parent_columns[i] = info->confkey[i]; /* until the parent is known */
	}
	return foreign;
}

static List *
foreign_keys_of(const ProposeTable *table, Relation rel)
{
	/* a copy: what looks into the catalogs may have the relation's own list freed */
	List *keys = copyObject(RelationGetFKeyList(rel));
	List *result = NIL;
	ListCell *cell;

	foreach (cell, keys)
	{
		ProposeForeignKey *foreign = read_foreign_key(table, rel, lfirst(cell));

		result = foreign == NULL ? result : lappend(result, foreign);
	}
	return result;
}

static bool
has_same(const List *list, const ProposeForeignKey *foreign)
{
	ListCell *cell;

	foreach (cell, list)
	{
		const ProposeForeignKey *other = lfirst(cell);

		if (other->parent_relid == foreign->parent_relid && other->ncolumns == foreign->ncolumns &&
			memcmp(other->columns, foreign->columns, foreign->ncolumns * sizeof(int)) == 0 &&
			memcmp(other->parent_columns, foreign->parent_columns,
				   foreign->ncolumns * sizeof(int)) == 0)
			return true;
	}
	return false;
}

/* Returns those that each of the partitions has; they hold for all rows of the table. */
static List *
foreign_keys_of_partitions(const ProposeTable *table)
{
	List *result = NIL;
	bool first = true;
	ListCell *cell;

	foreach (cell, find_all_inheritors(table->relid, AccessShareLock, NULL))
	{
		Relation rel = relation_open(lfirst_oid(cell), NoLock);
		List *list = foreign_keys_of(table, rel);
		List *both = NIL;
		ListCell *other;
		bool has_rows = rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;

		CHECK_FOR_INTERRUPTS();
		relation_close(rel, NoLock);
		if (!has_rows)
			continue;
		foreach (other, list)
		{
			if (first || has_same(result, lfirst(other)))
				both = lappend(both, lfirst(other));
		}
		result = both;
		first = false;
	}
	return result;
}

static void
read_foreign_keys(ProposeTable *table, Relation rel)
{
	List *list = foreign_keys_of(table, rel);
	ListCell *cell;

	if (table->relkind == RELKIND_PARTITIONED_TABLE)
	{
		foreach (cell, foreign_keys_of_partitions(table))
		{
			if (!has_same(list, lfirst(cell)))
				list = lappend(list, lfirst(cell));
		}
	}
	table->foreign = palloc0(Max(list_length(list), 1) * sizeof(ProposeForeignKey));
	foreach (cell, list)
		table->foreign[table->nforeign++] = *(const ProposeForeignKey *) lfirst(cell);
}

static void
link_parent(const Proposal *proposal, ProposeForeignKey *foreign)
{
	ProposeTable *parent = propose_source(proposal, foreign->parent_relid);
	int in_key = 0;

	if (parent == NULL || parent->nkeys == 0)
	{
		foreign->parent_columns = NULL;
		return;
	}
	foreign->parent = parent;
	for (int i = 0; i < foreign->ncolumns; i++)
	{
		int column = propose_position(parent, (AttrNumber) foreign->parent_columns[i]);

		foreign->parent_columns[i] = column;
		parent->columns[column].in_key = true;
		for (int k = 0; k < parent->nkeys; k++)
			in_key += parent->keys[k] == column;
	}
	foreign->to_key = in_key == parent->nkeys && in_key == foreign->ncolumns;
}

static void
link_parents(const Proposal *proposal, ProposeTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		table->columns[table->keys[i]].in_key = true;
		table->key = bms_add_member(table->key, table->keys[i]);
	}
	for (int i = 0; i < table->nforeign; i++)
	{
		ProposeForeignKey *foreign = &table->foreign[i];

		link_parent(proposal, foreign);
		for (int k = 0; k < foreign->ncolumns; k++)
		{
			table->columns[foreign->columns[k]].in_key |= foreign->parent != NULL;
			foreign->set = bms_add_member(foreign->set, foreign->columns[k]);
		}
	}
}

/* Sets what the catalogs say of all tables. */
void
propose_read_catalog(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];
		Relation rel = relation_open(table->relid, AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		read_columns(table, rel);
		read_key(table, rel);
		read_foreign_keys(table, rel);
		relation_close(rel, NoLock);
	}
}

/*
 * Has both sides of all foreign keys written in one way.  share: makes the two columns alike, and
 * returns whether it changed them.
 */
void
propose_share(const Proposal *proposal, bool (*share)(ProposeColumn *a, ProposeColumn *b))
{
	bool changed = true;

	while (changed)
	{
		changed = false;
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < proposal->ntables; i++)
		{
			ProposeTable *table = &proposal->tables[i];

			for (int k = 0; k < table->nforeign; k++)
			{
				ProposeForeignKey *foreign = &table->foreign[k];

				for (int c = 0; c < foreign->ncolumns && foreign->parent != NULL; c++)
					changed |= share(&table->columns[foreign->columns[c]],
									 &foreign->parent->columns[foreign->parent_columns[c]]);
			}
		}
	}
}

/* Finds the tables that foreign keys refer to, among those that have a key. */
void
propose_link(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
		link_parents(proposal, &proposal->tables[i]);
}
