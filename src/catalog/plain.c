/*
 * plain.c
 *	  Whether rows of a table can be read and written without the executor, and why not.
 *
 * This is decided once for each schema.  Adding a policy, rule, trigger, constraint, column, index
 * or child table invalidates the relcache entry, and with it the schema.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/rel.h"

#include "am/am.h"
#include "catalog/extras.h"
#include "catalog/key_grant.h"
#include "catalog/table.h"

/* Returns what speaks against reads, or NULL. */
static const char *
refuse_reads(Relation rel, const DynTable *table)
{
	if (table->unsupported)
		return "it is not supported";
	if (table->distributed)
		return "it is distributed";
	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return "it is partitioned";
	if (!dyn_am_is_ours(rel))
		return "it has another access method";
	if (RELATION_IS_OTHER_TEMP(rel))
		return "it is a temporary table of another session";
	/* what dyn_grant_keys() grants is asked for by each call, see direct.c */
	if (rel->rd_rel->relrowsecurity && (!table->grants->any || table->grants->restricted))
		return "row-level security is enabled";
	return NULL;
}

/* Refuses a column; keys of indexes may be absent, and type N may have all digits of a number. */
static const char *
refuse_key_column(Form_pg_attribute column, int place, int nkeys)
{
	if (column->attgenerated != '\0' || column->attidentity != '\0')
		return psprintf("column \"%s\" is generated", NameStr(column->attname));
	if (place >= nkeys && column->attnotnull)
		return psprintf("column \"%s\" is NOT NULL", NameStr(column->attname));
	if (column->atttypmod != -1)
		return psprintf("column \"%s\" has a type modifier", NameStr(column->attname));
	return NULL;
}

static const char *
refuse_columns(Relation rel, const DynTable *table)
{
	TupleDesc desc = RelationGetDescr(rel);
	Form_pg_attribute item = TupleDescAttr(desc, table->item_attnum - 1);
	const char *reason = NULL;

	/* a domain has constraints of its own */
	if (item->atttypid != table->item_type)
		return psprintf("the type of column \"%s\" is a domain", NameStr(item->attname));
	if (item->attgenerated != '\0')
		return psprintf("column \"%s\" is generated", NameStr(item->attname));
	for (int i = 0; i < table->ncolumns && reason == NULL; i++)
		reason = refuse_key_column(TupleDescAttr(desc, table->keys[i].attnum - 1), i, table->nkeys);
	return reason;
}

/* Returns whether the deriving trigger is called for each row that is written. */
static bool
derives_always(const Trigger *trigger)
{
	return trigger->tgenabled == TRIGGER_FIRES_ALWAYS &&
		   trigger->tgtype == (TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT |
							   TRIGGER_TYPE_UPDATE) &&
		   trigger->tgqual == NULL && trigger->tgnattr == 0;
}

/*
 * Returns what speaks against triggers, or NULL.  The derive trigger has to be the last one that
 * may rewrite a row.  Triggers fire in the order of their names, in which they are listed.
 */
static const char *
refuse_triggers(Relation rel, const DynTable *table)
{
	bool derived = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0)
		{
			if (!derives_always(trigger))
				return psprintf("trigger \"%s\" is disabled or changed", trigger->tgname);
			derived = true;
		}
		else if (derived && dyn_may_rewrite(table, trigger))
			return psprintf("trigger \"%s\" fires after \"%s\"", trigger->tgname,
							DYN_DERIVE_TRIGGER);
	}
	return NULL;
}

/* Refuses a key without an entry for every row, or that two rows may have for a moment. */
static const char *
refuse_primary_key(Relation rel, const DynTable *table)
{
	const char *reason = NULL;
	Relation btree;

	if (!list_member_oid(RelationGetIndexList(rel), table->primary.relid))
		return "its primary key is not valid";
	btree = index_open(table->primary.relid, AccessShareLock);
	if (!btree->rd_index->indimmediate)
		reason = "its primary key is deferrable";
	else if (btree->rd_index->indnatts != table->nkeys)
		reason = "its primary key includes other columns";
	index_close(btree, AccessShareLock);
	return reason;
}

/* Returns what speaks against writes of a table that can be read, or NULL. */
static const char *
refuse_writes(Relation rel, const DynTable *table)
{
	const char *reason;

	if (rel->rd_rel->relispartition)
		return "it is a partition";
	if (rel->rd_rules != NULL)
		return "it has rules";
	reason = refuse_columns(rel, table);
	if (reason == NULL)
		reason = refuse_triggers(rel, table);
	if (reason == NULL)
		reason = refuse_primary_key(rel, table);
	return reason;
}

/* Completes a schema that is read otherwise. */
void
dyn_read_plainness(Relation rel, DynTable *table)
{
	table->read_refusal = refuse_reads(rel, table);
	table->write_refusal = table->read_refusal;
	if (table->read_refusal != NULL)
		return;
	dyn_read_extras(rel, table);
	table->write_refusal = refuse_writes(rel, table);
}
