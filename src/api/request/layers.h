/*
 * layers.h
 *	  What DynamoDB's words depend on beside the error: the operation.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_LAYERS_H
#define DYNAMO_TABLE_API_REQUEST_LAYERS_H

#include "item/item.h"
#include "server/words.h"

extern ItemLayer layer_of_values(const char *operation);
extern const char *layer_words(const char *operation, WordsKind kind, const char *words);

#endif
