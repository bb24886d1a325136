/*
 * words.c
 *	  What DynamoDB says of an error.
 *
 * ErrorData has no room for a second text, so the words of the error that was raised last are kept
 * here, with what tells that error apart from others: many errors have no words, and an error may be
 * raised again long after it was caught.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "server/words.h"

static struct
{
	MemoryContext context; /* of all texts; NULL before the first error */
	char *words; /* NULL: what follows is of no error */
	const ErrorData *error;
	const char *function; /* has raised the error */
	WordsKind kind;
} last;

/* Formats a text of any length, allocated in the current memory context. */
char *
words_format(const char *format, va_list args)
{
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list copy;
		int needed;

		va_copy(copy, args);
		needed = appendStringInfoVA(&text, format, copy);
		va_end(copy);
		if (needed == 0)
			return text.data;
		enlargeStringInfo(&text, needed);
	}
}

static void
forget_words(void)
{
	last.words = NULL;
	last.kind = WORDS_OTHER;
	if (last.context == NULL)
		last.context = AllocSetContextCreate(TopMemoryContext, "words of the last error",
											 ALLOCSET_SMALL_SIZES);
	MemoryContextReset(last.context);
}

/* Keep the words of the error that is under way in the function. */
int
words_set(const char *function, const char *format, ...)
{
	MemoryContext old;
	va_list args;
	char *words;

	forget_words();
	old = MemoryContextSwitchTo(last.context);
	va_start(args, format);
	words = words_format(format, args);
	va_end(args);
	/* as far as it is told already */
	last.error = CopyErrorData();
	last.function = function;
	last.words = words;
	MemoryContextSwitchTo(old);
	return 0; /* as all auxiliary functions of ereport() */
}

/* Does the same for words as they are.  NULL: the error has none, whatever the last one had. */
int
words_set_if(const char *function, const char *words)
{
	if (words == NULL)
		forget_words();
	else
		words_set(function, "%s", words);
	return 0;
}

/* Notes what the words are about that were set just before. */
int
words_set_kind(WordsKind kind)
{
	last.kind = kind;
	return 0;
}

static bool
is_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/*
 * Returns the words of an error that was caught, valid until another one is raised, or NULL if it
 * has none or they are no longer known.
 */
const char *
words_of(const ErrorData *error)
{
	if (last.words == NULL || last.error->sqlerrcode != error->sqlerrcode ||
		!is_same(last.function, error->funcname) || !is_same(last.error->message, error->message))
		return NULL;
	return last.words;
}

/* Returns what the words of an error that was caught are about. */
WordsKind
words_kind_of(const ErrorData *error)
{
	return words_of(error) == NULL ? WORDS_OTHER : last.kind;
}
