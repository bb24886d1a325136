/*
 * token.h
 *	  What DynamoDB says of JSON of another type than it expects.
 */
#ifndef DYNAMO_TABLE_ITEM_TOKEN_H
#define DYNAMO_TABLE_ITEM_TOKEN_H

struct JsonLexContext;

typedef enum TokenExpected
{
	TOKEN_STRING,
	TOKEN_BOOLEAN,
	TOKEN_INTEGER,
	TOKEN_LONG,
	TOKEN_BLOB, /* a string of base64 */
	TOKEN_LIST,
	TOKEN_MAP, /* also a structure that is a member of another one */
	TOKEN_VALUE /* a structure that is in a list or a map */
} TokenExpected;

extern const char *token_words(const struct JsonLexContext *lex, TokenExpected expected);

#endif
