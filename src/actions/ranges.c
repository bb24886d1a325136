/*
 * ranges.c
 *	  Reads of several stretches of a table or an index, one after the other.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "actions/read.h"

/* Whether the read is over, though there are more stretches. */
static bool
is_over(const Read *read)
{
	const ReadRequest *request = read->request;

	return read->result->last_key != NULL ||
		   (request->max_items > 0 && read->result->count == request->max_items);
}

/*
 * Reads stretches: calls callback for each item that it returns and fills in *result, whose last key
 * is allocated in the current memory context.  Returns the number of the stretch in which it ended.
 * The request is checked before anything is read.
 */
int
action_ranges(const RangesRequest *request, ResultCallback callback, void *arg, ReadResult *result)
{
	Read read;
	int i = request->first;

	read_check(&request->read);
	read_open(&read, &request->read, callback, arg, result);
	for (; i < request->nranges; i++)
	{
		StoreRange range = request->ranges[i];

		CHECK_FOR_INTERRUPTS();
		range.index = read.index;
		range.want = read.keys_only ? STORE_WANT_KEYS : STORE_WANT_ITEM;
		range.likely = read_likely(&read);
		if (i == request->first)
			read_start(&read, &range);
		read_range(&read, &range);
		read_tell_meter(&read);
		if (is_over(&read))
			break;
	}
	read_close(&read);
	return i;
}
