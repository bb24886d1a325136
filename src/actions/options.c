/*
 * options.c
 *	  Options of requests that all front ends read by the same rules.
 */
#include "postgres.h"

#include "actions/options.h"
#include "ground/errors.h"

/*
 * What ReturnValues may be: of puts and deletes, and of updates (docs/semantics.md, R07).  The
 * first ones are also those of ReturnValuesOnConditionCheckFailure (docs/semantics.md, R12).
 */
const char *const option_return_old[] = {"NONE", "ALL_OLD", NULL};
const char *const option_return_any[] = {"NONE",    "ALL_OLD",     "UPDATED_OLD",
										 "ALL_NEW", "UPDATED_NEW", NULL};

/* What Select may be (docs/semantics.md, Q17). */
const char *const option_select[] = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES",
									 "SPECIFIC_ATTRIBUTES", "COUNT", NULL};

/* "A, B or C" */
static char *
list_choices(const char *const *choices)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (i > 0)
			appendStringInfoString(&list, choices[i + 1] == NULL ? " or " : ", ");
		appendStringInfoString(&list, choices[i]);
	}
	return list.data;
}

/* The number of the choice that the value is. */
int
option_choice(const char *parameter, ItemSpan value, const char *const *choices)
{
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (item_span_is(value, choices[i]))
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s \"%s\"", parameter, item_quoted(value)),
					errhint("Use %s.", list_choices(choices))));
}

/* A limit is 1 at least (docs/semantics.md, L13). */
int64
option_positive(const char *parameter, int64 value)
{
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must be at least 1", parameter)));
	return value;
}

/* The two are given together (docs/semantics.md, S06).  What is not given is NULL. */
void
option_segment(ScanRequest *request, const int64 *segment, const int64 *total)
{
	if ((segment == NULL) != (total == NULL))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a segment and the number of segments must be given together")));
	request->segmented = segment != NULL;
	if (!request->segmented)
		return;
	request->segment = *segment;
	request->total_segments = *total;
}
