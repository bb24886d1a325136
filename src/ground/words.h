/*
 * words.h
 *	  What DynamoDB says of an error.
 *
 *		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
 *						errmsg("invalid key: it lacks attribute \"%s\"", name),
 *						errwords("The provided key element does not match the schema")));
 *
 * An error has two texts, which are written where it is raised.  The message is the extension's own,
 * and says more; calls of typed functions show it.  Programs compare the words, and requests show
 * them.  An error without words is one that DynamoDB does not have.
 */
#ifndef DYNAMO_TABLE_GROUND_WORDS_H
#define DYNAMO_TABLE_GROUND_WORDS_H

/* What many of DynamoDB's words begin with. */
#define DYN_INVALID_WORDS "One or more parameter values were invalid: "

/* An auxiliary function of ereport(), behind errcode() and errmsg(). */
#define errwords(...) words_set(__func__, __VA_ARGS__)

/* The same where there may be none: words is NULL then. */
#define errwords_if(words) words_set_if(__func__, words)

extern char *words_format(const char *format, va_list args) pg_attribute_printf(1, 0);
extern int words_set(const char *function, const char *format, ...) pg_attribute_printf(2, 3);
extern int words_set_if(const char *function, const char *words);
extern const char *words_of(const ErrorData *error);

#endif
