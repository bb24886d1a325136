/*
 * actions.h
 *	  The actions: what requests of all front ends do.
 *
 * Actions validate everything before they read anything.  The front ends hand over arguments
 * and take results; no rule is in them.
 *
 *		operation.h			calls that are counted when they end
 *		counters.c			the counters, in shared memory
 *		authorize.h			whether grants by leading keys cover a request
 *		table.c				the table of a request, which the front end may have open
 *		item.c				GetItem, PutItem, UpdateItem, DeleteItem
 *		write.h				the one way by which items are written
 *		item_request.c		what their requests may say: return values, conditions, attributes that
 *							are no keys
 *		read.c				what Query and Scan share: index, attributes, filter, limits, start and
 *							last keys
 *		query.c				Query: from a key condition to a range
 *		scan.c				Scan, and its segments
 *		ranges.c			reads of several stretches
 *		search.h			SearchVectors
 *		search_shard.c		what it asks the nodes of shards
 *		several.h			requests for several items: batches and transactions
 *		target.c			the items of such a request in their tables, and the order in which they
 *							are locked
 *		distinct.c			items that are there twice, before their tables are known
 *		batch_get.c			BatchGetItem
 *		batch_write.c		BatchWriteItem
 *		transact.c			TransactWriteItems
 *		transact_get.c		TransactGetItems
 *		transact_request.c	the limits of a transaction, and what makes two requests the same
 *		cancel.c			cancelled transactions, and their reasons
 *		collection.c		the size of item collections, and its limit
 */
#ifndef DYNAMO_TABLE_ACTIONS_ACTIONS_H
#define DYNAMO_TABLE_ACTIONS_ACTIONS_H

#include "catalog/key.h"
#include "expr/expr.h"
#include "store/store.h"

typedef enum ReturnValues
{
	RETURN_NONE,
	RETURN_ALL_OLD,
	RETURN_UPDATED_OLD,
	RETURN_ALL_NEW,
	RETURN_UPDATED_NEW
} ReturnValues;

/* Holds what a front end has built of legacy parameters, instead of the text of its kind. */
typedef struct BuiltExpressions
{
	const Expr *condition; /* or filter */
	const Expr *projection;
	const Expr *update;
	const ExprKeyCondition *key_condition;
} BuiltExpressions;

/*
 * Tells what an action found and left, for front ends that count; also where a condition has
 * failed.  Without it an action may not have to know.
 */
typedef struct ItemMeasure
{
	bool collection; /* asked for: the size of the item's collection */
	const DynTable *table;
	const DynItem *old; /* NULL: there was none */
	const DynItem *new; /* NULL: there is none; where nothing was written, the old one */
	bool replayed; /* a write that was done before: only its size is known */
	Size replayed_size; /* of the larger one of the items that it found and left */
	const DynItem *collection_key; /* NULL: not asked for, or collections have no limit */
	int64 collection_size;
} ItemMeasure;

/* This is told what a read takes, for front ends that count. */
typedef struct ReadMeter
{
	void (*read)(int64 bytes, void *arg); /* a stretch, of which so much was read at once */
	void (*fetched)(Size size, void *arg); /* an item that the entry of a local index led to */
	void *arg;
} ReadMeter;

/*
 * Describes how an application sees items, where that is not as they are stored: conditions and
 * updates speak of what is shown, and so does what is returned.
 */
typedef struct ItemForm
{
	DynItem *(*shown)(const DynItem *stored, void *arg);
	DynItem *(*returned)(const DynItem *stored, void *arg);
	void (*check_update)(const Expr *update, void *arg);
	DynItem *(*stored)(const DynItem *shown, void *arg);
	DynItem *blank; /* what an update begins with where there is no item, shown */
	void *arg;
} ItemForm;

/* This is a call of a front end, without what it asks for.  What is not given is NULL. */
typedef struct FrontCall
{
	Relation rel; /* the table, which the front end has opened and locked, and will close */
	DynTable *table; /* the same */
	bool statement; /* it is one of PartiQL */
	const Node *site; /* where the SQL function is called: the store asks whether that is all */
	FunctionCallInfo typed; /* a call of a typed function that writes the item: it may be sent */
	ItemMeasure *measure; /* of a call for one item */
	const ReadMeter *meter; /* of a Query or Scan */
} FrontCall;

/* Says how a condition judges that there is no item. */
typedef enum ItemAbsence
{
	ABSENT_JUDGED, /* as an item without attributes */
	ABSENT_FAILS, /* also if there is no condition */
	ABSENT_PASSES
} ItemAbsence;

/* This is a request for one item.  What is not given is NULL. */
typedef struct ItemRequest
{
	const FrontCall *call; /* or NULL */
	text *table; /* unless the call has it open for what is done */
	DynItem *item; /* the item to put, or the key */
	ExprRequest *expressions; /* names and values, where there is an expression */
	text *projection;
	bool consistent;
	text *condition;
	text *update;
	ReturnValues return_values;
	bool old_on_failure; /* a failed condition tells the item */
	ItemAbsence absent; /* of an update or a deletion */
	bool insert; /* a put replaces nothing */
	BuiltExpressions built;
	const ItemForm *form; /* NULL: as they are stored */
} ItemRequest;

/* Called for each item of a result; the datum lives as long as the call. */
typedef void (*ResultCallback)(Datum item, void *arg);

typedef enum ReadSelect
{
	SELECT_DEFAULT,
	SELECT_ALL_ATTRIBUTES,
	SELECT_ALL_PROJECTED_ATTRIBUTES,
	SELECT_SPECIFIC_ATTRIBUTES,
	SELECT_COUNT
} ReadSelect;

/* Holds what Query and Scan have in common.  What is not given is NULL or 0. */
typedef struct ReadRequest
{
	const FrontCall *call; /* or NULL */
	text *table; /* as of ItemRequest */
	text *index; /* NULL: the table itself */
	ExprRequest *expressions;
	text *filter;
	text *projection;
	ReadSelect select;
	bool consistent;
	DynItem *start_key;
	int64 max_items; /* returned; 0: all */
	bool paged; /* ends at page_size, if that is given, or dyn_max_page_size */
	int64 page_size; /* items evaluated */
	StoreExplanation *explanation; /* or NULL */
	BuiltExpressions built;
	bool parts; /* the filter sees only what the index projects, also if that is a local one */
} ReadRequest;

typedef struct QueryRequest
{
	ReadRequest read;
	text *key_condition;
	bool forward;
} QueryRequest;

typedef struct ScanRequest
{
	ReadRequest read;
	bool segmented;
	int64 segment;
	int64 total_segments;
} ScanRequest;

typedef struct ReadResult
{
	const DynTable *table;
	const DynIndex *index;
	int64 count; /* items returned */
	int64 scanned; /* items evaluated */
	int64 bytes; /* of these, as the index projects them; only where pages or explanations are */
	DynItem *last_key; /* where a page ended, NULL if that was the end of all */
} ReadResult;

/* This is told the explanation of a stretch, and the result of all stretches up to its end. */
typedef void (*ExplainCallback)(const ReadResult *result, void *arg);

/* This is a request for stretches that are read one after the other. */
typedef struct RangesRequest
{
	ReadRequest read; /* the start key is one of the first stretch that is read */
	int nranges;
	StoreRange *ranges; /* whose index is set by the action */
	int first; /* the stretches before it were read */
	ExplainCallback explained; /* behind each stretch, also those that are not reached; or NULL */
	void *explained_arg;
} RangesRequest;

#define DYN_MAX_SEGMENTS 1000000

/* table.c */
extern void action_open(const FrontCall *front, text *name, LOCKMODE lockmode, FrontCall *call);

/* item.c: what is returned is an item or NULL */
#define DUPLICATE "an item with this key exists"
#define DUPLICATE_WORDS "Duplicate primary key exists in table"
extern DynItem *action_get(const ItemRequest *request);
extern DynItem *action_put(const ItemRequest *request);
extern DynItem *action_update(const ItemRequest *request);
extern DynItem *action_delete(const ItemRequest *request);

/* query.c */
extern void action_query(const QueryRequest *request, ResultCallback callback, void *arg,
						 ReadResult *result);
extern void action_check_query(const QueryRequest *request);

/* scan.c */
extern void action_scan(const ScanRequest *request, ResultCallback callback, void *arg,
						ReadResult *result);
extern void action_check_scan(const ScanRequest *request);
extern void action_set_segment(ScanRequest *request, const int64 *segment, const int64 *total);

/* ranges.c: the number of the stretch in which a page ended */
extern int action_ranges(const RangesRequest *request, ResultCallback callback, void *arg,
						 ReadResult *result);

/* read.c */
extern const char *const option_select[]; /* from SELECT_ALL_ATTRIBUTES on; NULL at the end */
extern void action_check_consistent(const DynIndex *index);
extern void action_check_select(ReadSelect select, bool index, const char *projection);

/* item_request.c: choices by their names, with NULL at the end */
extern const char *const option_return_old[]; /* ReturnValues of PutItem and DeleteItem */
extern const char *const option_return_any[]; /* and of UpdateItem */

extern void action_write_arguments(FunctionCallInfo fcinfo, int i, const char *const *choices,
								   ItemRequest *request);
extern const Expr *action_condition(const ItemRequest *request);
extern const Expr *action_update_expression(const ItemRequest *request);
extern const Expr *action_projection(const ItemRequest *request);
extern void action_parse(ItemRequest *request);
extern bool action_passes(const ItemRequest *request, const Expr *condition, const DynItem *item);
extern void action_check_condition(const ItemRequest *request, const Expr *condition,
								   const DynItem *item);

/* Both take items that may be NULL. */
extern DynItem *action_shown(const ItemRequest *request, const DynItem *stored);
extern DynItem *action_returned(const ItemRequest *request, const DynItem *stored);
extern DynItem *action_blank(const ItemRequest *request);
extern DynItem *action_updated(const ItemRequest *request, const Expr *update,
							   const DynItem *shown);
extern void action_check_update(const ItemRequest *request, const DynTable *table,
								const Expr *update);
extern void action_check_paths(const DynTable *table, const Expr *expr);
extern void action_forbid_keys(const DynTable *table, const DynIndex *index, const Expr *expr,
							   const char *hint);

/* collection.c */
#define COLLECTION_IS_FULL "the item collection would be too large"
#define COLLECTION_IS_FULL_WORDS "Collection size exceeded"
typedef enum CollectionWatch
{
	COLLECTION_UNWATCHED, /* nobody has asked */
	COLLECTION_UNLIMITED,
	COLLECTION_ROOM, /* what is written counts */
	COLLECTION_LOOK /* the size after the write matters, and so does the old item */
} CollectionWatch;

extern CollectionWatch collection_watch(Relation rel, const DynTable *table,
										const DynKeyValues *key, const DynItem *new);
extern void collection_written(CollectionWatch watch, DynTable *table, const DynKeyValues *key,
							   const DynItem *old, const DynItem *new);
extern void collection_spend(const DynTable *table, const DynKeyValues *key, const DynItem *new);
extern bool collection_grows(const DynTable *table, const DynItem *old, const DynItem *new);
extern bool collection_is_full(DynTable *table, const DynKeyValues *key, Size *size);
extern DynItem *collection_key(const DynTable *table, const DynKeyValues *key);
extern int64 collection_size(DynTable *table, const DynKeyValues *key);

#endif
