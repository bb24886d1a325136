/*
 * direct.h
 *	  The direct store: calls of the table and its indexes, past planner and executor.
 *
 * It serves tables that have nothing which planner or rewriter would have to obey: no policy, no
 * rule, no children.  Triggers, constraints, columns and indexes of users are obeyed as the
 * executor obeys them, see statement.h.  The caller needs privileges on the whole table; whoever
 * lacks them, or has them for columns only, goes through the SPI store, which has the right words
 * for it.  So does everything where a module looks at permissions.
 *
 * What each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_DIRECT_H
#define DYNAMO_TABLE_STORE_DIRECT_H

#include "utils/acl.h"

#include "store/range.h"

extern const char *direct_call_refusal(const DynTable *table, AclMode privileges);
extern const char *direct_read_refusal(const DynTable *table);
extern const char *direct_write_refusal(const DynTable *table, AclMode privileges);

/* direct_write.c */
extern struct Writer *direct_writer(Relation rel, const DynTable *table, bool after_read);
extern void direct_writer_close(struct Writer *w);
extern void direct_put(struct Writer *w, const DynRow *row);
extern bool direct_change(struct Writer *w, const DynKeyValues *key, StoreChange change, void *arg);
extern DynItem *direct_lock(struct Writer *w, const DynKeyValues *key, StoreLock lock);
extern bool direct_insert(struct Writer *w, const DynRow *row);
extern void direct_replace(struct Writer *w, const DynRow *row);
extern DynItem *direct_delete(struct Writer *w, const DynKeyValues *key, bool want_old);
extern void direct_put_many(struct Writer *w, int n, const DynRow *const *rows);
extern void direct_insert_many(struct Writer *w, int n, const DynRow *const *rows, bool *inserted);
extern void direct_delete_many(struct Writer *w, int n, const DynKeyValues *const *keys);

/* direct_read.c: false if it is for the SPI store; ranges are narrowed */
extern bool direct_get(const DynTable *table, const DynKeyValues *key, DynItem **item);
extern StoreReader *direct_reader(void);
extern bool direct_read(StoreReader *reader, const DynTable *table, const DynKeyValues *key,
						DynItem **item);
extern void direct_reader_close(StoreReader *reader);
extern bool direct_range(const DynTable *table, const StoreRange *range, StoreRowCallback callback,
						 void *arg);
extern const char *direct_index_refusal(const DynTable *table, const DynIndex *index);

/* Called once by _PG_init. */
extern void direct_init(void);

#endif
