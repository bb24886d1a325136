/*
 * shape.h
 *	  The shape of a table of items, from which its DDL is made.
 */
#ifndef DYNAMO_TABLE_CATALOG_SHAPE_H
#define DYNAMO_TABLE_CATALOG_SHAPE_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "catalog/table.h"

typedef struct DynShape
{
	Oid relid; /* invalid: it is to be created */
	const char *qualified; /* quoted, for SQL */
	const char *extension; /* quoted schema of the extension's objects */
	int nkeys;
	ItemSpan keys[DYN_MAX_KEYS]; /* "name TYPE" */
	List *indexes; /* of DynIndexSpec */
	List *vectors; /* of DynVectorSpec: vector indexes of a distributed table */
	DynSettings settings;
} DynShape;

/* This is a derived column. */
typedef struct DynShapeColumn
{
	ItemSpan spec; /* of a key, or of what a covering index carries */
	ItemType type;
	const char *column; /* not quoted */
} DynShapeColumn;

/* index.c: the definition of an index from the schema */
extern void dyn_index_find_btree(Relation rel, const DynTable *table, DynIndexStatus status,
								 DynIndex *index);
extern void dyn_index_read(const DynTable *table, const DynIndexSpec *spec, DynIndex *index);

/* covering.c */
extern const char *dyn_covering_parameters(const DynShape *shape, Relation rel);

/* shape.c: the DDL of a table of that shape */
extern DynShape *dyn_shape_read(List *arguments, int nkeys);
extern void dyn_shape_check(const DynShape *shape);
extern DynShape *dyn_shape_of(Relation rel, const DynTable *table);
extern bool dyn_shape_is_filled(const DynShape *shape);
extern struct DynVectorSpec *dyn_shape_vector(const DynShape *shape, ItemSpan name);
extern DynIndexSpec *dyn_shape_index(const DynShape *shape, ItemSpan name);
extern List *dyn_shape_keys(const DynShape *shape); /* DynShapeColumn: table keys first */
extern List *dyn_shape_columns(const DynShape *shape); /* these, time to live's, what is carried */
extern char *dyn_carried_column(ItemSpan index);
extern const char *dyn_shape_type_sql(ItemType type);
extern char *dyn_shape_column_sql(const DynShape *shape, int i); /* "name type", of columns */
extern char *dyn_shape_statistics_sql(const DynShape *shape, int i); /* of ALTER TABLE, or NULL */
extern char *dyn_shape_match_sql(const DynShape *shape);
extern char *dyn_shape_constraint_sql(const DynShape *shape); /* CONSTRAINT … CHECK (…) */
extern List *dyn_shape_arguments(const DynShape *shape);
extern void dyn_shape_write_trigger(const DynShape *shape);
extern void dyn_triggers_enable(Oid relid, const char *qualified);
extern void dyn_execute(const char *sql);
extern char *dyn_resume_call(const char *table, ItemSpan index);
/* Returns CREATE INDEX [CONCURRENTLY] name ON …, or NULL if the primary key is the index. */
extern char *dyn_shape_index_sql(const DynShape *shape, const DynIndexSpec *spec,
								 const char *relation, bool concurrently);
extern char *dyn_shape_entries_sql(const DynShape *shape, const DynIndexSpec *spec,
								   const char *qualified);
extern char *dyn_shape_ttl_sql(const DynShape *shape, const char *relation, bool concurrently);
extern char *dyn_index_relation_name(Oid namespace, const char *table, ItemSpan index);

#endif
