/*
 * check.h
 *	  What is wrong with a table of items: rows of dyn_check_table().
 *
 * A table that is checked may have been altered by any role that is allowed to.  So nothing about
 * it is trusted: each step that can fail runs in a subtransaction, and its error is a row of the
 * result; and the bytes of items are validated before anything else reads them.
 *
 *		table.c			dyn_check_table(): the steps, and their rows
 *		trigger.c		the triggers of the table
 *		constraint.c	its columns, and the constraint that guards them
 *		index.c			its btrees: of the primary key, of indexes, of time to live
 *		items.c			its rows: whether items are valid, and columns agree with them
 */
#ifndef DYNAMO_TABLE_CATALOG_CHECK_CHECK_H
#define DYNAMO_TABLE_CATALOG_CHECK_CHECK_H

#include "nodes/execnodes.h"
#include "storage/itemptr.h"

#include "catalog/shape.h"

typedef struct TableCheck
{
	ReturnSetInfo *result;
	const char *extension; /* quoted schema of its functions */
	/* the table, or a partition of it */
	Relation rel;
	const char *qualified;
	DynTable *table; /* NULL: its schema cannot be read */
	DynShape *shape; /* by the derive trigger's arguments; NULL: these cannot be read */
	Oid primary; /* the btree, valid or not */
	int nkeys; /* of the table */
	bool distributed; /* its definition is in a constraint, see catalog/definition/definition.h */
	bool reads; /* rows and entries are read too, and no policy hides any */
} TableCheck;

/* A CheckRow is a problem of one row. */
typedef struct CheckRow
{
	Oid relid;
	ItemPointer place; /* NULL: it is in a shard */
	Datum key; /* dyn_item; 0: unknown */
	const char *problem;
	const char *advice;
} CheckRow;

/* table.c */
extern void check_report(TableCheck *check, const char *object, const char *problem,
						 const char *advice);
extern void check_report_row(TableCheck *check, const CheckRow *row);
extern void check_report_label(TableCheck *check, const char *what, const char *problem,
							   const char *advice);
extern const char *check_try(void (*step)(void *arg), void *arg);

/* what is checked, each of the relation as it is in the catalogs */
extern void check_triggers(TableCheck *check);
extern void check_columns(TableCheck *check);
extern void check_constraint(TableCheck *check);
extern Oid check_find_primary(Relation rel);
extern void check_primary_key(TableCheck *check);
extern void check_indexes(TableCheck *check);

/* These are checks of layers above, which dynamo_table.c names; NULL ends them. */
typedef void (*CheckStep)(TableCheck *check);
extern const CheckStep check_steps[];

/* items.c: rows of the table and its partitions; connected to SPI.  max problems, -1: all */
extern void check_items(TableCheck *check, int64 max);

#endif
