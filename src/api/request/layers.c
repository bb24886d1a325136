/*
 * layers.c
 *	  What DynamoDB's words depend on beside the error: the operation.
 *
 * The service is being moved to another framework of validation, operation by operation and region by
 * region.  So one error has different words in different operations, and they change.  All that depends
 * on the operation is in the table below, to be compared with what the service answers; docs/semantics.md,
 * "Words by layer", has the same table with examples, and test/conformance/layers tries all of it.
 *
 * An operation that is not here has ITEM_LAYER_OLDER, and no envelope.
 */
#include "postgres.h"

#include "api/request/layers.h"
#include "catalog/key.h"

/* This stands before words that are enveloped. */
#define ENVELOPE "1 validation error detected: "

/*
 * The columns are:
 *
 *		values		whose words bad numbers, NULL and sets have.  CURRENT: no "ExpressionAttributeValues
 *					contains invalid value: ... for key ...", a colon behind "numeric value" also where
 *					nothing follows, elements that are there twice in quotes and sorted.  TRANSACTION is
 *					OLDER with words for names of attributes that are empty or too long
 *		names		"ExpressionAttributeValues can only be specified when using expressions" is followed
 *					by the expressions that could be there
 *		enveloped	'x' for each WordsKind that the envelope stands before, in the order of these:
 *
 *						V	a value of the request
 *						P	a placeholder that is none, or is not used; none at all
 *						E	an expression: empty, malformed, a placeholder that is not defined, paths
 *							that overlap, a section twice, operands
 *						N	names or values without an expression
 *						X	Expected
 *						R	ReturnValues
 *						S	Select
 *						K	the key of an item: missing, or of another type.  'k' says the same as of
 *							a key that is given alone
 */
static const struct
{
	const char *operation;
	ItemLayer values;
	bool names;
	const char *enveloped;
} layers[] = {
	/* clang-format off */
	/*                                                    VPENXRSK */
	{"BatchGetItem", ITEM_LAYER_CURRENT, true,           "--------"},
	{"BatchWriteItem", ITEM_LAYER_OLDER, true,           "-------k"},
	{"DeleteItem", ITEM_LAYER_CURRENT, false,            "xxxxxx--"},
	{"GetItem", ITEM_LAYER_CURRENT, true,                "--------"},
	{"PutItem", ITEM_LAYER_CURRENT, false,               "xxxxxx--"},
	{"Query", ITEM_LAYER_CURRENT, true,                  "------x-"},
	{"Scan", ITEM_LAYER_OLDER, true,                     "--------"},
	{"TransactGetItems", ITEM_LAYER_TRANSACTION, true,   "--------"},
	{"TransactWriteItems", ITEM_LAYER_TRANSACTION, true, "--------"},
	{"UpdateItem", ITEM_LAYER_CURRENT, false,            "xxxxxx--"},
	/* clang-format on */
};

/* Returns the number of an operation in the table, or -1. */
static int
layer_find(const char *operation)
{
	for (int i = 0; i < lengthof(layers); i++)
	{
		if (strcmp(layers[i].operation, operation) == 0)
			return i;
	}
	return -1;
}

/* Returns whose words are told of the values in a request. */
ItemLayer
layer_of_values(const char *operation)
{
	int i = layer_find(operation);

	return i < 0 ? ITEM_LAYER_OLDER : layers[i].values;
}

/* Returns words of an error as the operation has them. */
const char *
layer_words(const char *operation, WordsKind kind, const char *words)
{
	int i = layer_find(operation);

	if (i < 0 || kind == WORDS_OTHER)
		return words;
	Assert(strlen(layers[i].enveloped) == WORDS_KINDS - 1);
	if (kind == WORDS_NO_EXPRESSION && !layers[i].names)
		words = pnstrdup(words, strcspn(words, ":"));
	if (layers[i].enveloped[kind - 1] == 'x')
		words = psprintf(ENVELOPE "%s", words);
	else if (layers[i].enveloped[kind - 1] == 'k')
		words = DYN_KEY_MISMATCH_WORDS;
	return words;
}
