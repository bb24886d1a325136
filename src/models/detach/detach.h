/*
 * detach.h
 *	  dyn_detach(): a table of items becomes an ordinary table, which needs nothing of the extension.
 *
 * The table stays where it is: it keeps its OID, name, owner, rights, policies, key columns and
 * btrees.  Its access method becomes heap, and its items become plain JSON, DynamoDB JSON, or typed
 * columns as the entities of the table declare them.  A plan is made first, of statements and notes.
 * A dry run returns it, and otherwise its statements are executed in their order.
 *
 * Everything but looking the table up runs with the rights of the table's owner, as a
 * security-restricted operation: the rewrite and the builds of btrees call functions that the owner
 * has chosen, and a superuser may have called us.
 *
 *		detach.c		dyn_detach(): arguments, rights, running the plan
 *		plan.c			the statements and notes of a table, and what is in their way
 *		column.c		typed columns of attributes, by the entities that declare them
 *		view.c			views of entities, over these columns
 */
#ifndef DYNAMO_TABLE_MODELS_DETACH_DETACH_H
#define DYNAMO_TABLE_MODELS_DETACH_DETACH_H

#include "catalog/shape.h"
#include "models/entity/entity.h"

typedef enum DetachFormat
{
	DETACH_JSONB, /* plain JSON */
	DETACH_DYNAMODB, /* DynamoDB JSON, as type json, which holds U+0000 too */
	DETACH_COLUMNS /* typed columns; what has none stays in the item as plain JSON */
} DetachFormat;

/* A DetachColumn is a column for an attribute. */
typedef struct DetachColumn
{
	ItemSpan stored; /* the attribute; of length 0: the names of entities without type attribute */
	ValueType type; /* of the attribute */
	ValueType own; /* the same, or the base type of a domain that refuses NULL */
	const char *name;
	bool is_key; /* it is the key column of the attribute */
} DetachColumn;

/* A DetachView is a view that needs nothing but what columns have. */
typedef struct DetachView
{
	Oid relid;
	const char *create; /* CREATE OR REPLACE VIEW … AS */
	Query *query; /* what it is */
	int64 rows; /* that it had */
} DetachView;

typedef struct Detach
{
	Oid relid;
	const DynTable *table;
	const DynShape *shape;
	DetachFormat format;
	List *entities; /* of Entity */
	List *columns; /* of DetachColumn */
	List *names; /* of String: of the new ones */
	List *views; /* of DetachView */
	List *problems; /* of char *: why it cannot be detached */
	List *gone; /* OIDs of triggers and relations that the statements drop */
	List *steps; /* of char *: statements, and notes for people, which begin with "--" */
} Detach;

/* plan.c: rel is open, and closed by the caller */
extern void detach_plan(Detach *detach, Relation rel);
extern List *detach_dependents(Oid relid, List *attnums, List *changed, List *gone);

/* detach.c: connected to SPI */
extern int64 detach_count(Oid relid, const char *condition);

/* column.c */
extern void detach_choose_columns(Detach *detach, Relation rel);
extern const DetachColumn *detach_column(Detach *detach, ItemSpan stored, ValueType type);
extern const DetachColumn *detach_type_column(Detach *detach, const Entity *entity);
extern char *detach_column_value(const Detach *detach, const DetachColumn *column);
extern char *detach_rest_value(const Detach *detach);

/* view.c */
extern List *detach_views_of_owner(Relation rel); /* of Oid */
extern void detach_choose_views(Detach *detach, Relation rel);
extern char *detach_view_sql(Detach *detach, const DetachView *view);

#endif
