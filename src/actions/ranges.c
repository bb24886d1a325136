/*
 * ranges.c
 *	  Reads of several stretches of a table or an index, one after the other.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "actions/read.h"

/* Returns whether the read is over, though there are more stretches. */
static bool
is_over(const Read *read)
{
	const ReadRequest *request = read->request;

	return read->result->last_key != NULL ||
		   (request->max_items > 0 && read->result->count == request->max_items);
}

/* Returns a stretch of the request, as far as it does not depend on those before it. */
static StoreRange
stretch(const Read *read, const RangesRequest *request, int i)
{
	StoreRange range = request->ranges[i];

	range.index = read->index;
	range.scan = range.nequal == 0;
	read_set_range(read, &range);
	return range;
}

static void
explain_unread(const Read *read, const RangesRequest *request, int from)
{
	for (int i = from; i < request->nranges; i++)
	{
		StoreRange range = stretch(read, request, i);

		store_explain_unread(read->table, &range, request->read.explanation);
		request->explained(read->result, request->explained_arg);
	}
}

static void
run_ranges(Operation *operation, void *arg)
{
	ReadCall *call = arg;
	const RangesRequest *request = call->request;
	Read read;
	int i = request->first;

	read_check(&request->read);
	read_begin(&read, &request->read, call, &operation->table);
	read_open(&read);
	read_authorize(&read, ACTION_PARTIQL_SELECT, request->nranges, request->ranges);
	for (; i < request->nranges; i++)
	{
		StoreRange range = stretch(&read, request, i);

		CHECK_FOR_INTERRUPTS();
		if (i == request->first)
			read_start(&read, &range);
		read_range(&read, &range);
		read_tell_meter(&read);
		if (request->explained != NULL)
			request->explained(call->result, request->explained_arg);
		if (is_over(&read))
			break;
	}
	if (request->explained != NULL)
		explain_unread(&read, request, i + 1);
	read_close(&read);
	call->stretch = i;
}

/* Returns what the read counts as: without a partition key all collections are read. */
static OperationKind
kind_of(const RangesRequest *request)
{
	for (int i = 0; i < request->nranges; i++)
	{
		if (request->ranges[i].nequal == 0)
			return OPERATION_SCAN;
	}
	return OPERATION_QUERY;
}

/*
 * Reads stretches: calls callback for each item that it returns and fills in *result, whose last
 * key is allocated in the current memory context.  Returns the number of the stretch in which it
 * ended.  The request is checked before anything is read.
 */
int
action_ranges(const RangesRequest *request, ResultCallback callback, void *arg, ReadResult *result)
{
	Operation operation = {.kind = kind_of(request)};
	ReadCall call = {request, callback, arg, result, 0};

	operation_run(&operation, run_ranges, &call);
	return call.stretch;
}
