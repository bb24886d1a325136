/*
 * several.h
 *	  Requests for several items: batches and transactions.
 */
#ifndef DYNAMO_TABLE_ACTIONS_SEVERAL_H
#define DYNAMO_TABLE_ACTIONS_SEVERAL_H

#include "actions/operation.h"
#include "actions/write.h"

/*
 * Accounts for the capacity that the items of a request consume.  A part is the table of a batch,
 * or the action of a transaction.
 */
typedef struct ItemMeter
{
	/* each item that was read or written */
	void (*item)(int part, const ItemMeasure *measure, void *arg);
	/* each collection that was written, where their size is limited; or NULL */
	void (*collection)(int part, const ItemMeasure *measure, void *arg);
	void *arg;
} ItemMeter;

/* Tells which part of a request is under way, for whoever reports an error. */
typedef struct PartUnderWay
{
	int number;
	bool others; /* or others, too */
} PartUnderWay;

/*
 * Batches
 */

/* Lists the keys of one table, and says how their items are wanted. */
typedef struct BatchGetTable
{
	text *table;
	int nkeys;
	DynItem **keys;
	ExprRequest *expressions;
	text *projection;
	const Expr *built_projection; /* of a legacy parameter */
	bool consistent;
} BatchGetTable;

typedef struct BatchGetRequest
{
	int ntables;
	BatchGetTable *tables;
	Size max_bytes; /* of items, after which keys are left; 0: all are read */
	const ItemMeter *meter; /* or NULL */
	PartUnderWay *part; /* set to the one that is under way; or NULL */
	const Node *site; /* as of FrontCall */
} BatchGetRequest;

/* Tells the first key that was left, if any was; all after it were. */
typedef struct BatchGetRest
{
	int table;
	int key;
	bool any;
} BatchGetRest;

/* Called for each item that is there; the datum lives as long as the call. */
typedef void (*BatchGetCallback)(int table, Datum item, void *arg);

typedef struct BatchWriteTable
{
	text *table;
	int nputs;
	DynItem **puts; /* items */
	int ndeletes;
	DynItem **deletes; /* keys */
	const ItemForm **forms; /* of each delete, or NULL; NULL: there are none */
} BatchWriteTable;

typedef struct BatchWriteRequest
{
	int ntables;
	BatchWriteTable *tables;
	const ItemMeter *meter; /* or NULL */
	PartUnderWay *part; /* as of BatchGetRequest */
	const Node *site; /* as of FrontCall */
} BatchWriteRequest;

/* batch_get.c, batch_write.c */
extern void batch_check_keys(int64 n);
extern void batch_check_writes(int64 n);
extern void action_batch_get(const BatchGetRequest *request, BatchGetCallback callback, void *arg,
							 BatchGetRest *rest);
extern void action_batch_write(const BatchWriteRequest *request);

/*
 * Transactions
 */

#define DYN_MAX_TOKEN 36 /* characters, and not bytes (docs/semantics.md, X09) */

typedef enum TransactKind
{
	TRANSACT_PUT,
	TRANSACT_UPDATE,
	TRANSACT_DELETE,
	TRANSACT_CHECK,
	TRANSACT_GET
} TransactKind;

/* Says why a transaction was cancelled, as far as one action is to blame. */
typedef struct CancelReason
{
	const char *code; /* NULL: not at all */
	const char *message; /* the extension's own */
	const char *detail; /* or NULL */
	const char *hint; /* or NULL */
	const char *words; /* NULL: the message, see server/words.h */
	const DynItem *item;
} CancelReason;

/*
 * This is an action: a request for one item of its own.  The size and the identity of the whole are
 * made of its names and values, and of its item or the content, as they were given.
 */
typedef struct TransactAction
{
	TransactKind kind;
	ItemRequest request;
	Jsonb *names;
	DynItem *vals;
	const bytea *content; /* what item and built expressions were made of, or NULL */
	CancelReason invalid; /* found by the front end: then there need be no table, and no item */
	void *front; /* the front end's own */
} TransactAction;

typedef struct TransactRequest
{
	int nactions;
	TransactAction *actions;
	text *token; /* of a write, or NULL */
	DynItem **returned; /* set for each action that asks for its new item; or NULL */
	const ItemMeter *meter; /* or NULL */
	PartUnderWay *part; /* as of BatchGetRequest */
	const Node *site; /* as of FrontCall */
	bool in_words; /* reasons have DynamoDB's messages */
	bool statements; /* of PartiQL: they have tokens of their own, and all are examined */
} TransactRequest;

/* Called for each action of a read, in order; NULL for an item that is not there. */
typedef void (*TransactGetCallback)(DynItem *item, void *arg);

/* item_request.c: what is wrong with a request for an item, without reading */
extern void action_check(TransactKind kind, const ItemRequest *request);

/* transact.c: false if the token says that it was done before */
extern bool action_transact(const TransactRequest *request);

/* transact_get.c */
extern void action_transact_get(const TransactRequest *request, TransactGetCallback callback,
								void *arg);

/* distinct.c */
typedef struct DistinctItem
{
	const text *table;
	const DynItem *item; /* or key */
	int number; /* in the request */
} DistinctItem;

extern void distinct_check(DistinctItem *items, int n, const char *what, const char *words);

/* transact_request.c */
extern void transact_check_arguments(const TransactRequest *request);
extern void transact_check_request(const TransactRequest *request);
extern void transact_forbid_empty_index_keys(const DynTable *table, const DynItem *item,
											 const Expr *update);
extern void transact_forbid_empty_keys(const TransactAction *action, const DynTable *table,
									   const Expr *update);
#define TRANSACT_SIZE_UNKNOWN PG_UINT32_MAX
extern bytea *transact_pack(const TransactRequest *request, const uint32 *sizes);
extern uint32 *transact_unpack(const TransactRequest *request, bytea *packed);

/* cancel.c */
extern ErrorData *action_try(void (*step)(void *arg), void *arg);
extern ErrorData *action_attempt(void (*step)(void *arg), void *arg);
extern CancelReason action_invalid(const ErrorData *error);
pg_noreturn extern void action_cancel(const TransactRequest *request, const CancelReason *reasons);
typedef void (*ActionCheck)(const TransactRequest *request, int number, void *arg);
extern void action_examine(const TransactRequest *request, ActionCheck check, ActionCheck refuse,
						   void *arg);

/*
 * The items of a request in their tables
 */

typedef struct ItemTarget
{
	int number; /* in the request */
	int part; /* see ItemMeter */
	Relation rel;
	DynTable *table;
	ItemWriter *writer; /* of all targets in one table that name it alike */
	OperationTable *counted; /* of all targets in one table */
	ItemWrite write;
} ItemTarget;

typedef struct TargetTables TargetTables;

/* DynamoDB says this of an item that is there twice. */
#define BATCH_TWICE_WORDS "Provided list of item keys contains duplicates"
#define TRANSACT_TWICE_WORDS "Transaction request cannot include multiple operations on one item"

/* transact_request.c */
extern bytea *transact_request_hash(const TransactRequest *request, const ItemTarget *targets);

/* target.c */
extern void target_measure(const ItemMeter *meter, const ItemTarget *target, const DynItem *old,
						   const DynItem *new);
extern void target_measure_collections(const ItemMeter *meter, ItemTarget *const *sorted, int n);
extern TargetTables *target_tables(LOCKMODE lockmode, PartUnderWay *part, const Node *site,
								   Operation *operation);
extern void target_open(TargetTables *tables, text *name, ItemTarget *target);
extern void target_begin(const TargetTables *tables, const ItemTarget *target);
extern void target_begin_several(const TargetTables *tables, const ItemTarget *first);
extern void target_close(TargetTables *tables);
extern ItemTarget **target_sort(ItemTarget *targets, int n, const char *what, const char *words);
extern void target_place(const TargetTables *tables, ItemTarget *const *sorted, int n, bool claims);
extern bool target_any_distributed(const ItemTarget *targets, int n);

#endif
