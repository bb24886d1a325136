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
 *
 * What the words are about is said behind them, where operations tell it in different ways:
 *
 *						errwords("%s", words), errwords_kind(WORDS_VALUE)
 */
#ifndef DYNAMO_TABLE_SERVER_WORDS_H
#define DYNAMO_TABLE_SERVER_WORDS_H

/* Many of DynamoDB's words begin with this. */
#define DYN_INVALID_WORDS "One or more parameter values were invalid: "

/* A WordsKind is what words are about, where operations envelop them: src/api/request/layers.c. */
typedef enum WordsKind
{
	WORDS_OTHER, /* tables, keys, items: the same in all operations */
	WORDS_VALUE, /* a value of the request */
	WORDS_PLACEHOLDER, /* a name or value that is no placeholder, or that nothing uses */
	WORDS_EXPRESSION, /* the text of an expression, and the values that it is given */
	WORDS_NO_EXPRESSION, /* names or values without an expression */
	WORDS_EXPECTED, /* the parameter Expected */
	WORDS_RETURN_VALUES, /* the parameter ReturnValues */
	WORDS_SELECT, /* the parameter Select */
	WORDS_ITEM_KEY, /* the key in an item: missing, or of another type */
	WORDS_KINDS
} WordsKind;

/* This is an auxiliary function of ereport(), behind errcode() and errmsg(). */
#define errwords(...) words_set(__func__, __VA_ARGS__)

/* This does the same where there may be none: words is NULL then. */
#define errwords_if(words) words_set_if(__func__, words)

/* This stands behind one of these, and says what they are about. */
#define errwords_kind(kind) words_set_kind(kind)

extern char *words_format(const char *format, va_list args) pg_attribute_printf(1, 0);
extern int words_set(const char *function, const char *format, ...) pg_attribute_printf(2, 3);
extern int words_set_if(const char *function, const char *words);
extern int words_set_kind(WordsKind kind);
extern const char *words_of(const ErrorData *error);
extern WordsKind words_kind_of(const ErrorData *error);

#endif
