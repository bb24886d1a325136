/*
 * declare.c
 *	  The DDL that changes what a table of ours is: its columns, constraint and trigger.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/rights.h"
#include "server/extension.h"
#include "services/index/index.h"

/*
 * Returns the commands of ALTER TABLE that replace the constraint.  The new one holds at once for
 * rows that are written; whether the rows that are there obey it is found out later, without a lock
 * in the way of writers.
 */
List *
index_build_constraint_commands(const DynShape *shape)
{
	return list_make2(
		psprintf("DROP CONSTRAINT IF EXISTS %s", quote_identifier(DYN_KEYS_CONSTRAINT)),
		psprintf("ADD %s NOT VALID", dyn_shape_constraint_sql(shape)));
}

/*
 * Runs an ALTER TABLE that adds a constraint NOT VALID, which is valid nevertheless: all rows are known
 * to obey it.
 */
static void
execute_proven(const char *sql)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	ListCell *cell;

	statement->commandType = CMD_UTILITY;
	statement->utilityStmt = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT))->stmt;
	foreach (cell, castNode(AlterTableStmt, statement->utilityStmt)->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_AddConstraint)
			castNode(Constraint, command->def)->initially_valid = true;
	}
	/* a procedure has none between its statements */
	PushActiveSnapshot(GetTransactionSnapshot());
	ProcessUtility(statement, sql, false, PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
	PopActiveSnapshot();
	CommandCounterIncrement();
}

/*
 * Runs commands of ALTER TABLE: together, or one by one, as Citus wants them.  proven: all rows are
 * known to obey a constraint that is added NOT VALID, which no command to Citus can say.
 */
void
index_build_alter(const DynShape *shape, bool distributed, List *commands, bool proven)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	foreach (cell, commands)
	{
		appendStringInfo(&sql, "%s%s",
						 sql.len > 0 ? ", " : psprintf("ALTER TABLE %s ", shape->qualified),
						 (const char *) lfirst(cell));
		if (!distributed && lnext(commands, cell) != NULL)
			continue;
		if (proven)
			execute_proven(sql.data);
		else
			dyn_execute(sql.data);
		resetStringInfo(&sql);
	}
}

/* Returns whether a column is there already; one that is no key's must not become one. */
static bool
has_column(const DynTable *table, const char *column)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (strcmp(table->keys[i].column, column) == 0)
			return true;
	}
	if (get_attnum(table->relid, column) != InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("table \"%s\" has a column \"%s\" that is no key's", table->name, column),
				 errhint("Rename it: the index needs a column of this name.")));
	return false;
}

/*
 * Returns the commands of ALTER TABLE that give a table the columns and the constraint of a shape.
 * Citus has no command for statistics of columns.
 */
List *
index_build_declaration(Relation rel, const DynTable *table, const DynShape *shape)
{
	const char *parameters = dyn_covering_parameters(shape, rel);
	List *columns = dyn_shape_columns(shape);
	List *commands = NIL;

	for (int i = 0; i < list_length(columns); i++)
	{
		const DynShapeColumn *column = list_nth(columns, i);
		char *statistics = table->distributed ? NULL : dyn_shape_statistics_sql(shape, i);

		if (has_column(table, column->column))
			continue;
		commands = lappend(commands, psprintf("ADD COLUMN %s", dyn_shape_column_sql(shape, i)));
		if (statistics != NULL)
			commands = lappend(commands, statistics);
	}
	if (*parameters != '\0')
		commands = lappend(commands, psprintf("SET (%s)", parameters));
	return list_concat(commands, index_build_constraint_commands(shape));
}

/*
 * Gives a table that shape; the transaction has locked it so that no other session uses it, and is
 * connected to SPI.  Closes the relation.  empty: it has no rows that could break the constraint.
 */
void
index_build_declare(Relation rel, const DynTable *table, DynShape *shape, bool empty)
{
	bool distributed = table->distributed;
	List *commands;

	/* the types that columns get are named, and a new column of another's type could run code */
	shape->extension = extension_keep_own_schema();
	commands = index_build_declaration(rel, table, shape);
	relation_close(rel, NoLock);
	index_build_alter(shape, distributed, commands, empty);
	dyn_shape_write_trigger(shape);
}

/* Proves that all rows have their columns. */
void
index_build_validate(IndexBuild *work)
{
	DynTable *table;
	Relation rel = index_build_open_briefly(work, ShareUpdateExclusiveLock, &table);
	Oid relid = RelationGetRelid(rel);
	AlterTableCmd *validate = makeNode(AlterTableCmd);
	RightsBefore before;

	validate->subtype = AT_ValidateConstraint;
	validate->name = DYN_KEYS_CONSTRAINT;
	index_build_progress(work, INDEX_BUILD_VALIDATE);
	/* the owner may have put another constraint in its place */
	rights_take(rel->rd_rel->relowner, SECURITY_NOFORCE_RLS, &before);
	relation_close(rel, NoLock);
	/* by its OID, since the name could be another table's by now; Citus takes statements only */
	if (table->distributed)
		dyn_execute(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", table->qualified,
							 quote_identifier(DYN_KEYS_CONSTRAINT)));
	else
		AlterTableInternal(relid, list_make1(validate), true);
	rights_give_back(&before);
}

/* Returns whether nothing has to be filled in or built, without looking at shards or children. */
bool
index_build_is_empty(Relation rel, const DynTable *table)
{
	return !table->distributed && !rel->rd_rel->relhassubclass &&
		   RelationGetNumberOfBlocks(rel) == 0;
}
