/*
 * refresh.h
 *	  Rows that were changed, and the items that are made again for them.
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_REFRESH_H
#define DYNAMO_TABLE_MODELS_MIGRATE_REFRESH_H

#include "models/migrate/migrate.h"

/* This is a change of rows, as far as it is in memory: a portion of the rows of one statement. */
typedef struct Change
{
	Relation rel; /* of items */
	DynTable *table;
	Migration *migration;
	Relation source; /* the followed table that was changed; of a partition, its parent may be it */
	Relation part; /* the table of the trigger, the same or its partition */
	int n; /* rows */
	HeapTuple *old; /* of each row; NULL: it is inserted */
	HeapTuple *new; /* NULL: it is deleted */
	List *refreshes; /* of Refresh: the items to make again */
	MemoryContext found; /* of those that related rows have found */
} Change;

/* This is an item to make again, known by a row that makes its key. */
typedef struct Refresh
{
	MigrationStep *step;
	HeapTuple tuple; /* in the form of StepFollow */
	DynItem *item; /* the key attributes */
	DynKeyValues key;
	bool is_old; /* the row has another key now, or is gone */
	const struct Referring *by; /* how it was found, if a related row was changed */
	bool moved; /* the row does not make this item, or not any more */
	int found; /* rows that make the item */
	DynItem *made; /* by them; NULL: there must be none */
	bool is_known; /* what is stored is this: */
	const DynItem *stored; /* NULL: there is none */
} Refresh;

/* Lists related rows, by the values of the columns by which rows of the source refer to them. */
typedef struct Referring
{
	MigrationStep *step;
	const StepRelation *relation;
	Datum *values; /* arrays */
} Referring;

/* Holds what following a step needs to know, made when it is asked for. */
typedef struct StepFollow
{
	bool is_told; /* the item's key tells the step's key */
	bool is_shared; /* changes of other rows than the source's own make the item again */
	TupleDesc desc; /* the step's key, and the attributes that make the item's key */
	AttrNumber *columns; /* where these are in the source; NULL: expressions make them */
} StepFollow;

/* Holds values of several rows, by columns.  The caller sets them, and counts the rows. */
typedef struct Several
{
	int ncolumns;
	Oid *types;
	int n;
	Datum **values;
	bool **nulls;
} Several;

/* several.c */
extern void several_init(Several *several, int ncolumns, int max);
extern Datum *several_arrays(const Several *several, int first, int n);
extern void step_execute(MigrationStep *step, const SelectOptions *options, Datum *values);

/* absent.c */
extern void step_find_guards(MigrationStep *step);
extern bool absent_is_possible(const StepRelation *relation);
extern void absent_lock(const StepRelation *relation, bool refers, const Several *several);

/* changed.c */
extern StepFollow *step_follow(MigrationStep *step);
extern bool change_find(Change *change);
extern List *change_find_referring(const Change *change, const Referring *by, List *refreshes);

/* refresh.c */
extern void change_refresh(Change *change);

/* trigger.c: how often a follower was called in this session */
extern uint64 follower_calls;

#endif
