/*
 * migrate.h
 *	  Migrations: how rows of relations become items of a table, once or for as long as both are in use.
 *
 * A declaration in the table's label (see model.h):
 *
 *		{"migration": "shop", "steps": [
 *		  {"name": "Order", "entity": "Order", "from": "shop.orders", "key": ["id"],
 *		   "where": "NOT archived",
 *		   "attributes": {"OrderId": "id", "Total": "price * amount"},
 *		   "parents": {"c": {"from": "shop.customers", "on": {"id": "customer_id"},
 *							 "attributes": {"CustomerName": "name"}, "orphans": "skip"}},
 *		   "children": {"Tags": {"from": "shop.order_tags", "on": {"order_id": "id"},
 *								 "join": {"shop.tags": {"id": "tag_id"}},
 *								 "as": "set", "value": "tags.name"}}}]}
 *
 * A declaration that is kept has "from" with its schema, so that no search_path matters later.  All
 * SQL of a migration is analysed and run with the settings of migration_enter(), in every session.
 *
 * A step's rows have a key, which is unique and has no NULL.  They are read in its order, a range
 * at a time; and one row is read by it where the item of a row is made again.
 *
 *		parse.c		steps of a migration: read from JSON, checked, printed
 *		parts.c		their parts: expressions, relations, attributes, parents
 *		children.c	and their children, rows that become one attribute
 *		columns.c	columns that a source has got since its step was declared
 *		resolve.c	the relations and columns that they name, and the defaults
 *		declare.c	dyn_create_migration() and dyn_drop_migration()
 *		cache.c		migrations as a backend knows them, with their plans
 *		fit.c		what is said of declarations that do not fit their tables any more
 *		status.c	steps of what is declared, for dyn_jobs
 *		settings.c	the settings under which SQL of migrations runs
 *		select.c	the statements that read rows of a step
 *		plan.c		their kept plans
 *		read.c		rows of a step, range by range in the order of its key
 *		build.c		from a row to an item
 *		collide.c	whether two rows can make one item, and which do
 *		run.c		dyn_migrate()
 *		write.c		items of a batch, written in the order of their keys
 *		items.c		migration_items() and migration_key(): the items that rows make, and keys of items
 *		verify.c	dyn_verify_migration(), dyn_preview_migration()
 *		follow.c	dyn_follow_migration()
 *		trigger.c	the triggers of followed tables
 *		truncate.c	TRUNCATE of followed tables, which is refused
 *		changed.c	which items are to be made again when rows have changed
 *		refresh.c	these items made again
 *		refresh.h	what these share
 *		several.c	values of several rows as arrays
 *		absent.c	rows that refer to one that is not there, and the transaction that adds it
 *		lock.c		the lock by which followers and batches exclude each other
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_MIGRATE_H
#define DYNAMO_TABLE_MODELS_MIGRATE_MIGRATE_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "storage/lock.h"
#include "utils/array.h"

#include "catalog/rights.h"
#include "models/entity/entity.h"

/* Advisory locks of one migration each have this class; SQL's and those of indexes have others. */
#define MIGRATION_LOCK_CLASS 0x445B

/* So many rows of a query are read at a time: it has no index by which the next ones are found. */
#define MIGRATION_QUERY_ROWS 50000

typedef enum ChildForm
{
	CHILD_LIST,
	CHILD_SET,
	CHILD_MAP,
	CHILD_COUNT
} ChildForm;

/* This is a column of a relation, and what it equals: one of the row that it belongs to. */
typedef struct StepPair
{
	AttrNumber column;
	AttrNumber other;
} StepPair;

/* This is a relation that a step reads. */
typedef struct StepRelation
{
	const char *name; /* quoted, with its schema */
	const char *alias; /* quoted */
	Oid relid; /* InvalidOid: of a query */
	TupleDesc desc;
	int npairs;
	StepPair *pairs;
	const struct StepRelation *other; /* that the pairs refer to */
	bool is_guarded; /* by a foreign key of these pairs; set where the step is followed */
} StepRelation;

/* This is an attribute, and its SQL.  column: that is the name of one, and nothing else. */
typedef struct StepAttribute
{
	const EntityAttribute *attribute;
	const char *sql;
	AttrNumber column;
} StepAttribute;

typedef struct StepAttributes
{
	const StepRelation *relation;
	int n;
	StepAttribute *list;
} StepAttributes;

/* Says what becomes of a row whose parent is missing: an item without its attributes, or none. */
typedef enum StepOrphans
{
	ORPHANS_KEEP,
	ORPHANS_SKIP
} StepOrphans;

/* This is a parent of the source, or of another parent, to which its relation's pairs refer. */
typedef struct StepParent
{
	ItemSpan name;
	const struct MigrationStep *step;
	int of; /* which parent it is a parent of; -1: of the source */
	StepRelation relation;
	StepAttributes attributes;
	StepOrphans orphans;
} StepParent;

/* This is a member of the map that a child becomes. */
typedef struct StepMember
{
	ItemSpan name;
	const char *sql;
} StepMember;

typedef struct StepOrder
{
	const char *sql;
	bool descending;
} StepOrder;

typedef struct StepChild
{
	const EntityAttribute *attribute;
	StepRelation relation;
	int njoins;
	StepRelation *joins;
	ChildForm form;
	const char *where; /* or NULL */
	const char *value; /* or NULL: members, or none where they are counted */
	int nmembers;
	StepMember *members;
	const char *key; /* of a map */
	List *order; /* of StepOrder */
} StepChild;

typedef struct StepKey
{
	const char *column; /* quoted */
	AttrNumber attnum;
	Oid type;
	const char *type_name; /* with its schema */
} StepKey;

typedef struct MigrationStep
{
	struct Migration *migration;
	int number; /* from 1 */
	const char *name;
	const Entity *entity;
	StepRelation source;
	const char *query; /* NULL: it is a relation */
	List *columns; /* of char *: that the source had when the step was declared */
	bool key_is_given; /* nothing in the catalogs says that it is unique */
	int nkeys;
	StepKey *keys;
	const char *where;
	StepAttributes attributes;
	int nparents;
	StepParent *parents; /* each before its own parents */
	int nchildren;
	StepChild *children;
	struct RowBuilder *builder; /* made when it is asked for */
	struct StepPlan *plans;
	struct StepFollow *follow; /* made when it is asked for */
} MigrationStep;

typedef struct Migration
{
	const char *name;
	Oid relid; /* the table of items */
	const char *table; /* its name, for messages */
	int nsteps;
	MigrationStep *steps;
	MemoryContext context; /* of all of it */
	const char *json; /* as it is kept; of all steps */
	List *relids; /* of the table and all relations of steps */
	bool valid;
	Oid of; /* for triggers of this table: it has their steps alone; or InvalidOid */
	uint64 serial; /* another one each time that it is read */
} Migration;

/* parse.c: connected to SPI */
extern Migration *migration_parse(Relation rel, const DynTable *table, const char *json);
extern Migration *migration_parse_of(Relation rel, const DynTable *table,
									 const ModelDeclaration *declaration, Oid relid);
extern char *migration_print(const Migration *migration);

/* resolve.c */
extern void step_open_relation(const MigrationStep *step, StepRelation *relation, ItemSpan name,
							   const char *where);
extern void step_open_query(StepRelation *relation, ItemSpan query, const char *step);
extern AttrNumber step_find_column(const StepRelation *relation, ItemSpan name);
extern const char *step_column(const StepRelation *relation, AttrNumber attnum); /* quoted */
extern Oid step_type(const StepRelation *relation, AttrNumber attnum);
extern char *step_column_type(const StepRelation *relation, AttrNumber attnum);
extern List *step_default_key(const StepRelation *relation); /* of attribute numbers */
extern bool step_key_is_unique(const MigrationStep *step);
extern bool step_pairs_are_unique(const StepRelation *relation);
extern bool step_columns_are_unique(const StepRelation *relation, const Bitmapset *columns);
extern void step_default_attributes(MigrationStep *step, bool *named);
extern List *step_default_order(const StepRelation *relation);
extern List *step_relations(const MigrationStep *step); /* of StepRelation */
extern char *step_expression(ItemSpan text, const char *step);

/* columns.c: lists of char * */
extern List *step_new_columns(const MigrationStep *step);

/*
 * cache.c: migrations as they are used.  What is returned lives until the transaction ends, even if
 * it goes out of date; what is not there is 42704.
 */
extern Relation migration_open(ItemSpan name, LOCKMODE lockmode, DynTable **table,
							   Migration **migration);
extern Relation migration_open_to_run(ItemSpan name, LOCKMODE lockmode, DynTable **table,
									  Migration **migration, RightsBefore *before);
extern Relation migration_open_again(ItemSpan name, Oid relid, LOCKMODE lockmode, DynTable **table,
									 Migration **migration, RightsBefore *before);
extern void migration_close(Relation rel, const RightsBefore *before);
extern Relation migration_open_table(ItemSpan name, LOCKMODE lockmode, DynTable **table);
extern Relation migration_open_followed(ItemSpan name, Oid followed, DynTable **table,
										Migration **migration);
extern List *migration_declarations(Oid relid); /* of ModelDeclaration */
extern bool migration_is_declared(Oid relid, ItemSpan name);
extern Oid migration_table(ItemSpan name); /* InvalidOid: none has it */
extern Oid migration_taken_by(ItemSpan name, Oid owner, Oid relid); /* another table */
extern bool migration_may_follow(Oid relid, Oid followed);
extern bool migration_may_be_followed(ItemSpan name, Oid relid, Oid followed);
extern bool migration_try_read(void (*read)(void *arg), void *arg);
extern MigrationStep *migration_step(Migration *migration, ItemSpan name);

/* fit.c */
pg_noreturn extern void migration_fail_misfit(const char *name, bool followed, const char *why);
extern void migration_fit(const char *name, bool followed, const char *step, void (*run)(void *arg),
						  void *arg);

/*
 * settings.c: what rows become depends on nothing that a session can set.  An error leaves the
 * settings by ending the transaction or subtransaction.
 */
extern int migration_enter(void);
extern void migration_leave(int nest);

/* select.c */
typedef enum SelectWhich
{
	SELECT_RANGE, /* of the key: after $1 … if lower, up to $n … if upper */
	SELECT_KEYS, /* the same, without all that may fail */
	SELECT_KEY, /* the row of a key: $1 … */
	/* of several rows, whose values are arrays */
	SELECT_ROW, /* what makes the keys of $1, rows of the source; in their order */
	SELECT_EACH, /* the rows of keys: $1 …; the last column is the ordinal of the key */
	SELECT_SAME, /* the same, of all rows that make these key attributes */
	SELECT_REFERRING, /* like SELECT_ROW, of all rows that rows of the relation belong to: its columns are $1 … */
	/*
	 * the ordinals of values that there is a row for: $1 …, columns by which the relation belongs
	 * to another one
	 */
	SELECT_LOCK, /* rows of the relation, locked against changes; with what its parents are known by */
	SELECT_PRESENT /* rows of the other one */
} SelectWhich;

typedef struct SelectOptions
{
	SelectWhich which;
	bool lower;
	bool upper;
	int64 limit; /* 0: none */
	const StepRelation *relation;
} SelectOptions;

extern char *step_select(const MigrationStep *step, const SelectOptions *options);

/* plan.c: a statement that is kept with the step */
extern Oid step_array_type(Oid type);
extern SPIPlanPtr step_plan(MigrationStep *step, const SelectOptions *options);
extern void step_free_plans(MigrationStep *step);
extern char *step_select_cut(const MigrationStep *step, bool lower, int64 rows);
extern char *step_select_twice(const MigrationStep *step);
extern bool step_makes_key(const MigrationStep *step, const EntityAttribute *attribute);
extern int step_key_attributes(const MigrationStep *step);

/* build.c: from a row of a select to an item */
typedef enum RowProblem
{
	ROW_OK,
	ROW_ERROR,
	ROW_ORPHAN, /* with an item, or without one where these are skipped */
	ROW_COLLISION
} RowProblem;

extern const char *const row_problem_names[];

typedef struct MigrationRow
{
	const MigrationStep *step;
	HeapTuple tuple; /* with the key in its first columns */
	TupleDesc desc;
	DynItem *item; /* NULL: it makes none */
	DynKeyValues key;
	RowProblem problem;
	bool is_orphan; /* also where the problem is an error */
	const char *message;
} MigrationRow;

typedef struct RowBuilder RowBuilder;
extern RowBuilder *row_builder(MigrationStep *step, Relation rel, DynTable *table);
extern void row_build(RowBuilder *builder, HeapTuple tuple, TupleDesc desc, MigrationRow *row);
extern DynItem *row_build_keys(RowBuilder *builder, HeapTuple tuple, TupleDesc desc);
extern void row_set_collision(MigrationRow *row, bool loses, const char *other);
extern char *row_name(const MigrationStep *step, HeapTuple tuple, TupleDesc desc);
extern ArrayType *row_position(const MigrationStep *step, HeapTuple tuple, TupleDesc desc);
extern ErrorData *row_try(void (*step)(void *arg), void *arg);

/*
 * read.c: rows in the order of their keys, connected to SPI, under the active snapshot.  A
 * statement that fails is run again row by row, and the rows whose fault it is are problems.
 */
extern int step_read(MigrationStep *step, Relation rel, DynTable *table, ArrayType *lower,
					 ArrayType *upper, int64 limit, MigrationRow **rows, bool *more);
extern ArrayType *step_cut(MigrationStep *step, ArrayType *lower, int64 rows);
extern bool step_key_is_broken(MigrationStep *step, MigrationRow *row);

/*
 * Called for each row of a step, in order; what it gets lives as long as the call.  False: that is
 * enough.
 */
typedef bool (*RowCallback)(const MigrationRow *row, void *arg);
extern double step_expected_rows(const MigrationStep *step);
extern void step_read_all(MigrationStep *step, Relation rel, DynTable *table, RowCallback callback,
						  void *arg);

/* lock.c: who follows and who migrates keep apart */
extern void migration_await_batches(const Migration *migration);
extern void migration_lock_follow(const Migration *migration);
extern TimestampTz migration_lock_batch(const Migration *migration);
extern bool migration_has_writers(const MigrationStep *step);
extern void migration_yield(TimestampTz began);

/* trigger.c */
extern void migration_refuse_call(const char *function, const char *kind);

/* truncate.c */
extern void migration_truncate_init(void);
extern bool migration_truncate_is_refused(void); /* of partitions without a trigger */

/* follow.c */
extern List *migration_later_partitions(const Migration *migration); /* of char * */
extern List *migration_followers(const char *name, Oid relid); /* OIDs of triggers */
extern bool migration_has_followers(const Migration *migration, Relation rel);
extern List *migration_disabled(const Migration *migration); /* of char *: tables */

#endif
