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
 *		plan.c			the statements and notes of a table
 *		column.c		typed columns of attributes, by the entities that declare them
 *		view.c			views of entities, over these columns
 *		dependent.c		what needs the extension, or the column of items, and is not the table's own
 *		count.c			what one pass over the items finds: strings with U+0000, rows of views
 */
#ifndef DYNAMO_TABLE_DETACH_DETACH_H
#define DYNAMO_TABLE_DETACH_DETACH_H

#include "catalog/shape.h"
#include "entity/entity.h"

typedef enum DetachFormat
{
	DETACH_JSONB, /* plain JSON */
	DETACH_DYNAMODB, /* DynamoDB JSON, as type json, which holds U+0000 too */
	DETACH_COLUMNS /* typed columns; what has none stays in the item as plain JSON */
} DetachFormat;

/* A column for an attribute. */
typedef struct DetachColumn
{
	ItemSpan stored; /* the attribute */
	ValueType type;
	const char *name; /* not quoted */
	bool is_key; /* the key column of the attribute serves as it */
	bool for_all; /* its values come from items of all entities */
	List *entities; /* of Entity: otherwise from theirs, where columns of one attribute differ */
	bool shared; /* another column is of the same attribute */
} DetachColumn;

/* A column of a view of an entity. */
typedef struct DetachViewColumn
{
	const char *name; /* quoted */
	const char *type; /* for SQL, with its collation if that is not the type's */
	Oid collation;
	DetachColumn *column; /* NULL: it is of the unnested list */
	const char *element; /* then: that */
} DetachViewColumn;

typedef struct DetachView
{
	Oid relid;
	const char *qualified; /* quoted */
	const char *options; /* in WITH (…), or "" */
	const char *unnest; /* the function that unnests a list, for SQL; NULL: none does */
	DetachColumn *list; /* of that list */
	int ncolumns;
	DetachViewColumn *columns;
	const Entity *entity;
	const char *before; /* the condition by which items are its rows */
	List *present; /* of char *: key columns that must be there, quoted */
	const char *after; /* the condition on the table that is detached */
	int64 rows; /* that it had */
} DetachView;

/* A statement, or a note for people. */
typedef struct DetachStep
{
	bool is_statement;
	const char *text;
} DetachStep;

typedef struct Detach
{
	Oid relid;
	const DynTable *table;
	const DynShape *shape;
	DetachFormat format;
	List *columns; /* of DetachColumn */
	const char
		*entity_column; /* not quoted: the names of entities without type attribute; or NULL */
	List *views; /* of DetachView */
	List *problems; /* of char *: why it cannot be detached */
	List *steps; /* of DetachStep */
} Detach;

/* plan.c: rel is open, and closed by the caller */
extern void detach_plan(Detach *detach, Relation rel);
extern char *detach_note(const char *text);
extern List *detach_lost_columns(const Detach *detach); /* of DynKey */
extern List *detach_lost_btrees(const Detach *detach); /* of Oid */

/* column.c */
extern void detach_choose_columns(Detach *detach, Relation rel);
extern DetachColumn *detach_add_column(Detach *detach, ItemSpan stored, const ValueType *type,
									   const Entity *entity);
extern void detach_name_columns(Detach *detach);
extern char *detach_type_sql(Oid type);
extern char *detach_column_value(const Detach *detach, const DetachColumn *column);
extern char *detach_entity_value(const Detach *detach, Relation rel);
extern char *detach_rest_value(const Detach *detach);
extern const char *detach_key_column(const Detach *detach,
									 ItemSpan attribute); /* quoted, or NULL */
extern char *detach_literal(ItemSpan text);

/* view.c: the columns of views first, which need all columns to have names before their conditions */
extern List *detach_views_of_owner(Relation rel); /* of Oid */
extern void detach_choose_views(Detach *detach, Relation rel);
extern void detach_finish_views(Detach *detach);
extern char *detach_empty_view_sql(const DetachView *view);
extern char *detach_view_sql(const Detach *detach, const DetachView *view);

/* dependent.c: connected to SPI */
extern void detach_find_dependents(Detach *detach, Relation rel);
extern void detach_check_independent(const Detach *detach);

/* count.c: connected to SPI */
extern void detach_count(Detach *detach);
extern void detach_count_again(const Detach *detach);

#endif
