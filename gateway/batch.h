/*
 * batch.h
 *	  Batches whose items are on several nodes: a part for each node, and one answer of all.
 */
#ifndef GATEWAY_BATCH_H
#define GATEWAY_BATCH_H

#include <stdbool.h>

#include "request.h"
#include "target.h"

/* A BatchPart is what goes to one node. */
typedef struct BatchPart
{
	Request request; /* the first member */
	struct Batch *batch;
	Target *target; /* NULL: the server of "database" */
} BatchPart;

typedef struct Batch
{
	Request *whole;
	int unanswered; /* parts */
	int count;
	BatchPart *parts;
} Batch;

extern Batch *batch_split(Request *request);

#endif
