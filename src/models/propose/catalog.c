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

/*
 * Returns the columns of an index that proves that rows differ in them, none of which is NULL; NIL
 * for other indexes.
 */
static List *
key_columns(const ProposeTable *table, Relation index)
{
	const FormData_pg_index *form = index->rd_index;
	List *columns = NIL;

	if (!form->indisprimary && (!form->indisunique || !form->indisvalid || !form->indimmediate ||
								!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL)))
		return NIL;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		int column = propose_position(table, form->indkey.values[i]);

		if (column < 0 || !table->columns[column].required)
			return NIL;
		columns = lappend_int(columns, column);
	}
	return columns;
}

/* Takes the primary key, or else the unique index with the fewest columns. */
static void
read_key(ProposeTable *table, Relation rel)
{
	ListCell *cell;

	foreach (cell, RelationGetIndexList(rel))
	{
		Relation index = relation_open(lfirst_oid(cell), AccessShareLock);
		List *columns = key_columns(table, index);
		bool shorter = table->key == NIL || list_length(columns) < list_length(table->key);

		if (columns != NIL && !table->key_is_primary && (shorter || index->rd_index->indisprimary))
		{
			table->key = columns;
			table->key_is_primary = index->rd_index->indisprimary;
		}
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
	foreign->required = true;
	for (int i = 0; i < info->nkeys; i++)
	{
		const char *name = get_attname(RelationGetRelid(rel), info->conkey[i], false);
		int column = propose_position(table, get_attnum(table->relid, name));

		if (column < 0)
			elog(ERROR, "a partition of %s has a column that the table lacks", table->qualified);
		foreign->columns = lappend_int(foreign->columns, column);
		foreign->parent_columns = lappend_int(foreign->parent_columns, info->confkey[i]);
		foreign->required &= table->columns[column].required;
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

		if (other->parent_relid == foreign->parent_relid &&
			equal(other->columns, foreign->columns) &&
			equal(other->parent_columns, foreign->parent_columns))
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
		ListCell *other;
		bool has_rows = rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;

		CHECK_FOR_INTERRUPTS();
		relation_close(rel, NoLock);
		if (!has_rows)
			continue;
		foreach (other, first ? NIL : list)
		{
			if (!has_same(result, lfirst(other)))
				list = foreach_delete_current(list, other);
		}
		result = list;
		first = false;
	}
	return result;
}

static void
read_foreign_keys(ProposeTable *table, Relation rel)
{
	List *list = foreign_keys_of(table, rel);
	ListCell *cell;

	foreach (cell,
			 table->relkind == RELKIND_PARTITIONED_TABLE ? foreign_keys_of_partitions(table) : NIL)
	{
		if (!has_same(list, lfirst(cell)))
			list = lappend(list, lfirst(cell));
	}
	table->foreign = palloc0(Max(list_length(list), 1) * sizeof(ProposeForeignKey));
	foreach (cell, list)
		table->foreign[table->nforeign++] = *(const ProposeForeignKey *) lfirst(cell);
}

/* Notes that columns are in a key. */
static void
mark_key(ProposeTable *table, const List *columns)
{
	ListCell *cell;

	foreach (cell, columns)
		table->columns[lfirst_int(cell)].in_key = true;
}

static void
link_parent(const Proposal *proposal, ProposeTable *table, ProposeForeignKey *foreign)
{
	ProposeTable *parent = propose_source(proposal, foreign->parent_relid);
	ListCell *cell;

	if (parent == NULL || parent->key == NIL)
		return;
	foreign->parent = parent;
	parent->is_parent = true;
	foreach (cell, foreign->parent_columns)
		lfirst_int(cell) = propose_position(parent, (AttrNumber) lfirst_int(cell));
	foreign->to_key = list_length(parent->key) == list_length(foreign->columns) &&
					  propose_are_in(parent->key, foreign->parent_columns);
	mark_key(parent, foreign->parent_columns);
	mark_key(table, foreign->columns);
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

				for (int c = 0; c < list_length(foreign->columns) && foreign->parent != NULL; c++)
					changed |=
						share(&table->columns[list_nth_int(foreign->columns, c)],
							  &foreign->parent->columns[list_nth_int(foreign->parent_columns, c)]);
			}
		}
	}
}

/* Finds the tables that foreign keys refer to, among those that have a key. */
void
propose_link(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		mark_key(table, table->key);
		for (int k = 0; k < table->nforeign; k++)
			link_parent(proposal, table, &table->foreign[k]);
	}
}
