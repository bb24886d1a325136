/*
 * words.c
 *	  What DynamoDB says of an error.
 *
 * ErrorData has no room for a second text, so the words of the error that was raised last are kept
 * here.  They are found again by what ErrorData says of the place that has raised it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "ground/words.h"

static struct
{
	MemoryContext context; /* of the text alone; NULL before the first error */
	StringInfoData text;
	const char *function; /* has raised the error */
	int sqlerrcode;
} last;

/* An error of the function is under way, of which words_set() tells the words. */
void
words_begin(const char *function)
{
	last.function = function;
	last.sqlerrcode = geterrcode();
}

/* Keep the words of the error that is under way. */
int
words_set(const char *format, ...)
{
	MemoryContext old;

	if (last.context == NULL)
		last.context = AllocSetContextCreate(TopMemoryContext, "words of the last error",
											 ALLOCSET_SMALL_SIZES);
	MemoryContextReset(last.context);
	old = MemoryContextSwitchTo(last.context);
	initStringInfo(&last.text);
	for (;;)
	{
		va_list args;
		int needed;

		va_start(args, format);
		needed = appendStringInfoVA(&last.text, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&last.text, needed);
	}
	MemoryContextSwitchTo(old);
	return 0; /* as all auxiliary functions of ereport() */
}

/* The same for words as they are.  NULL: the error has none, whatever the last one had. */
int
words_set_if(const char *words)
{
	if (words == NULL)
		words_forget();
	else
		words_set("%s", words);
	return 0;
}

/*
 * Forget the words of errors so far.  Other errors may have been raised by the same function, which
 * has no words for them.
 */
void
words_forget(void)
{
	last.function = NULL;
}

/*
 * The words of an error that has just been caught, valid until another one is raised, or NULL if it
 * has none.  They are told once.
 */
const char *
words_of(const ErrorData *error)
{
	bool found = last.function != NULL && error->funcname != NULL &&
				 strcmp(last.function, error->funcname) == 0 &&
				 last.sqlerrcode == error->sqlerrcode;

	words_forget();
	return found ? last.text.data : NULL;
}
