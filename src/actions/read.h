/*
 * read.h
 *	  What Query and Scan share.
 */
#ifndef DYNAMO_TABLE_ACTIONS_READ_H
#define DYNAMO_TABLE_ACTIONS_READ_H

#include "actions/authorize.h"

/* This is a Query or Scan on its way. */
typedef struct Read
{
	const ReadRequest *request;
	FrontCall call; /* with the table */
	OperationTable *counted; /* NULL: it is only checked */
	const Expr *filter;
	const Expr *projection;
	DynTable *table;
	const DynIndex *index;
	StoreClearance clearance;
	bool whole; /* items are returned as the table has them */
	bool sized; /* the bytes that are read matter */
	bool fetches; /* a local index's entries do not suffice, and capacity is counted */
	bool filters_part; /* the filter sees only what the index projects */
	bool hides; /* expired items are not returned */
	int64 told; /* bytes, to the meter */
	bool keys_only; /* the columns of the index say everything that is wanted */
	bool part; /* so does what a covering index carries with them */
	MemoryContext context; /* for the result */
	ResultCallback callback;
	void *arg;
	ReadResult *result;
} Read;

/* This is a Query, a Scan, or several stretches, as a call that is counted. */
typedef struct ReadCall
{
	const void *request; /* of the action's own kind */
	ResultCallback callback;
	void *arg;
	ReadResult *result;
	int stretch; /* in which the read of several has ended */
} ReadCall;

/* read.c */
extern void read_check(const ReadRequest *request);
extern void read_begin(Read *read, const ReadRequest *request, const ReadCall *caller,
					   OperationTable *counted);
extern void read_open(Read *read);
extern void read_forbid_unprojected(const Read *read);
extern void read_check_paths(const Read *read);
extern bool read_item(Read *read, const StoreRow *row);
extern void read_set_range(const Read *read, StoreRange *range);
extern void read_authorize(Read *read, DynAction action, int n, const StoreRange *ranges);
extern void read_range(Read *read, const StoreRange *range);
extern void read_tell_meter(Read *read);
extern void read_close(Read *read);
extern void read_start(const Read *read, StoreRange *range);

#endif
