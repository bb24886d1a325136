/*
 * entries.c
 *	  The relations of entries of indexes that are distributed by their own key.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/distribute.h"
#include "catalog/entries.h"
#include "catalog/key.h"
#include "catalog/local_shards.h"
#include "catalog/rights.h"
#include "server/catalogs.h"
#include "server/errors.h"

/* Returns the relation of the entries of an index; InvalidOid if it has none. */
static Oid
find_entries(Oid namespace, const DynIndexSpec *spec)
{
	return spec->entries.len == 0 ? InvalidOid
								  : get_relname_relid(span_string(spec->entries), namespace);
}

static char *
entries_name(Oid namespace, const DynIndexSpec *spec)
{
	return quote_qualified_identifier(get_namespace_name(namespace), span_string(spec->entries));
}

/* Sets that relation of an index, if it has one. */
void
dyn_entries_read(Oid namespace, const DynIndexSpec *spec, DynIndex *index)
{
	if (spec->distribution != DYN_DISTRIBUTE_KEY)
		return;
	index->entries = entries_name(namespace, spec);
	index->relid = find_entries(namespace, spec);
}

/* Returns whether writes to a table, or to a shard of one, keep entries in other relations. */
bool
dyn_has_entries(const DynTable *table)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		if (dyn_index_is_kept(&table->indexes[i]))
			return true;
	}
	return false;
}

/* Returns whether writes to a distributed table, or to a shard, are the store's alone. */
bool
dyn_is_guarded(const DynTable *table)
{
	return dyn_has_entries(table) || ((table->distributed || table->shard) && table->nvectors > 0);
}

/* Raises an error if an index of a table that is not distributed is to be distributed by its key. */
void
dyn_entries_forbid(const DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->distribution == DYN_DISTRIBUTE_KEY)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("index \"%s\" cannot be distributed by its key",
								   item_quoted(spec->name)),
							errdetail("Its table is not distributed.")));
	}
}

/*
 * Creates the relation of entries of an index, and chooses its name unless the definition has one.
 * A relation that is there is kept if keep is set, as for a build that goes on, and otherwise made
 * anew.  The caller is connected to SPI.
 */
void
dyn_entries_create(const DynShape *shape, DynIndexSpec *spec, bool keep)
{
	Oid namespace = get_rel_namespace(shape->relid);
	Oid owner = rights_owner(shape->relid);
	RightsBefore before;

	if (spec->entries.len == 0)
		spec->entries =
			item_span(dyn_index_relation_name(namespace, get_rel_name(shape->relid), spec->name));
	if (keep && OidIsValid(find_entries(namespace, spec)))
		return;
	rights_take(owner, 0, &before);
	/* over the same connections, which belong to a role */
	dyn_entries_drop(find_entries(namespace, spec), owner);
	dyn_execute(dyn_shape_entries_sql(shape, spec, entries_name(namespace, spec)));
	dyn_distribute_entries(find_entries(namespace, spec), shape->relid, DYN_ENTRIES_KEY, false);
	rights_give_back(&before);
}

/*
 * Drops such a relation, if it is there, with the rights of the caller.  The owner of the table may
 * have named any relation in the definition, so one of another owner is left alone.
 */
void
dyn_entries_drop(Oid relid, Oid owner)
{
	if (OidIsValid(relid) && rights_owner(relid) == owner)
		dyn_execute(psprintf("DROP TABLE %s", catalogs_qualified(relid)));
}

static bool
column_fits(Relation rel, const char *name, Oid type)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(rel), name);
	Form_pg_attribute column = attnum > 0 ? TupleDescAttr(RelationGetDescr(rel), attnum - 1) : NULL;

	return column != NULL && column->atttypid == type &&
		   (type != TEXTOID || column->attcollation == C_COLLATION_OID);
}

/* Returns whether a relation has triggers but that of Citus, which is for TRUNCATE. */
static bool
has_triggers(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!TRIGGER_FOR_TRUNCATE(triggers->triggers[i].tgtype))
			return true;
	}
	return false;
}

/* Returns whether a relation has more columns than an entry, whose domains or defaults may be code. */
static bool
has_more_columns(Relation rel, const DynIndex *index)
{
	int columns = 0;

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		columns += !TupleDescAttr(RelationGetDescr(rel), i)->attisdropped;
	return columns > index->ncolumns + 1;
}

/* Returns whether the owner has hung code on the relation, which runs when it is written or read. */
static bool
has_code(Relation rel, const DynIndex *index)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	return rel->rd_rules != NULL || rel->rd_rel->relhassubclass ||
		   (rel->rd_rel->relrowsecurity && rel->rd_rel->relforcerowsecurity) ||
		   (constraints != NULL && constraints->num_check > 0) || has_triggers(rel) ||
		   has_more_columns(rel, index) || list_length(RelationGetIndexList(rel)) > 1;
}

/*
 * Refuses a session with temporary tables if code of the owner on the relation would find them, or
 * code on one of its shards of this node, which this session may write to itself.  Sessions on
 * other nodes have no temporary tables.
 */
static void
check_temporary(Relation rel, const DynIndex *index)
{
	ListCell *cell;

	if (!rights_have_temporary())
		return;
	if (has_code(rel, index))
		rights_check_temporary(rel);
	foreach (cell, dyn_local_shards(list_make1_oid(RelationGetRelid(rel))))
	{
		const DynLocalShard *local = lfirst(cell);
		Relation shard = try_relation_open(local->relid, AccessShareLock);

		if (shard == NULL)
			continue;
		if (has_code(shard, index))
			rights_check_temporary(shard);
		relation_close(shard, NoLock);
	}
}

/*
 * Returns whether the relation of an index is there, and belongs to the owner of the table.  Its
 * owner may have put any other one in its place, so its columns are looked at, too.
 */
static bool
entries_fit(const DynTable *table, const DynIndex *index, Oid owner)
{
	Relation rel =
		OidIsValid(index->relid) ? try_relation_open(index->relid, AccessShareLock) : NULL;
	bool fits;

	if (rel == NULL)
		return false;
	fits = rel->rd_rel->relkind == RELKIND_RELATION && rel->rd_rel->relowner == owner &&
		   column_fits(rel, DYN_ITEM_COLUMN, table->item_type);
	for (int i = 0; fits && i < index->ncolumns; i++)
	{
		const DynKey *key = dyn_index_key(table, index, i);

		fits = column_fits(rel, key->column, dyn_key_column_type(key->type));
	}
	if (fits)
		check_temporary(rel, index);
	/* what was found stays so */
	relation_close(rel, NoLock);
	return fits;
}

/*
 * Raises an error unless the entries of an index are there, and belong to the owner of the table.
 * The relation that the definition names may be any other one, such as a table of another role.
 */
static void
check_entries(const DynTable *table, const DynIndex *index)
{
	if (!entries_fit(table, index, rights_owner(table->relid)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s does not have the entries of index \"%s\" of table \"%s\"",
						index->entries, item_quoted(index->name), table->name),
				 errdetail("It is not there, has other columns, or does not belong to the owner of "
						   "the table."),
				 errhint("Drop the index, and create it again.")));
}

/* Returns what dyn_schema_entries() does.  Raises an error unless the entries are there. */
DynTable *
dyn_entries_schema(const DynTable *table, const DynIndex *index)
{
	check_entries(table, index);
	return dyn_schema_entries(table, index);
}

/*
 * Gives the session the rights to read and write the entries of an index: those of the table's
 * owner, to whom they belong.  Raises an error unless they are there.
 */
void
dyn_entries_take(const DynTable *table, const DynIndex *index, RightsBefore *before)
{
	check_entries(table, index);
	rights_take(rights_owner(table->relid), 0, before);
}
