/*
 * declare.c
 *	  The DDL that changes what a table of ours is: its columns, constraint and trigger.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index/index.h"

/*
 * Commands of an ALTER TABLE that replace the constraint.  It holds for all rows to come at once;
 * whether the others obey it is found out later, without a lock in the way of writers, unless
 * there are none.
 */
void
gsi_append_constraint(StringInfo sql, const DynShape *shape, bool validate)
{
	appendStringInfo(sql, "DROP CONSTRAINT IF EXISTS %s" GSI_NEXT "ADD %s%s",
					 quote_identifier(DYN_KEYS_CONSTRAINT), dyn_shape_constraint_sql(shape),
					 validate ? "" : " NOT VALID");
}

/* Commands of ALTER TABLE, with GSI_NEXT between them: together, or one by one as Citus wants it. */
void
gsi_alter(const DynShape *shape, bool distributed, char *commands)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (char *next, *command = commands; command != NULL; command = next)
	{
		next = strstr(command, GSI_NEXT);
		if (next != NULL)
		{
			*next = '\0';
			next += strlen(GSI_NEXT);
		}
		appendStringInfo(&sql, "%s%s",
						 sql.len > 0 ? ", " : psprintf("ALTER TABLE %s ", shape->qualified),
						 command);
		if (next != NULL && !distributed)
			continue;
		dyn_execute(sql.data);
		resetStringInfo(&sql);
	}
}

/* Whether a column is there already; one that is no key's must not become one. */
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

/* The statement that gives a table the columns and the constraint of a shape. */
char *
gsi_declaration(Relation rel, const DynTable *table, const DynShape *shape, bool validate)
{
	const char *parameters = dyn_covering_parameters(shape, rel);
	List *columns = dyn_shape_columns(shape);
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < list_length(columns); i++)
	{
		const DynShapeColumn *column = list_nth(columns, i);
		char *statistics = dyn_shape_statistics_sql(shape, i);

		if (has_column(table, column->column))
			continue;
		appendStringInfo(&sql, "ADD COLUMN %s" GSI_NEXT, dyn_shape_column_sql(shape, i));
		if (statistics != NULL)
			appendStringInfo(&sql, "%s" GSI_NEXT, statistics);
	}
	if (*parameters != '\0')
		appendStringInfo(&sql, "SET (%s)" GSI_NEXT, parameters);
	gsi_append_constraint(&sql, shape, validate);
	return sql.data;
}

/*
 * Give a table that shape; the transaction has locked it so that no other session uses it, and is
 * connected to SPI.  Closes the relation.
 */
void
gsi_declare(Relation rel, const DynTable *table, const DynShape *shape, bool validate)
{
	char *sql = gsi_declaration(rel, table, shape, validate);
	bool distributed = table->distributed;

	relation_close(rel, NoLock);
	gsi_alter(shape, distributed, sql);
	dyn_shape_write_trigger(shape);
}

/* The proof that all rows have their columns. */
void
gsi_validate(GsiWork *work)
{
	DynTable *table;
	Relation rel = gsi_open_briefly(work, ShareUpdateExclusiveLock, &table);

	gsi_progress(work, GSI_VALIDATE);
	relation_close(rel, NoLock);
	dyn_execute(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", table->qualified,
						 quote_identifier(DYN_KEYS_CONSTRAINT)));
}
