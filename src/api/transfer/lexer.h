/*
 * lexer.h
 *	  Tokens of JSON: what the lexer is at, without reading the value.
 *
 * A lexer that is copied looks ahead: the copy goes on, and the lexer stays where it is.
 */
#ifndef DYNAMO_TABLE_API_TRANSFER_LEXER_H
#define DYNAMO_TABLE_API_TRANSFER_LEXER_H

#include "common/jsonapi.h"

#include "item/item.h"
#include "item/skip.h"

static inline bool
token_at(const JsonLexContext *lex, JsonTokenType type)
{
	return lex->token_type == type;
}

/* Goes on; returns false if what follows is no token, or nothing follows. */
static inline bool
token_next(JsonLexContext *lex)
{
	return json_lex(lex) == JSON_SUCCESS && !token_at(lex, JSON_TOKEN_END);
}

/* Returns the text between the quotes of a string, with its escapes. */
static inline ItemSpan
token_inner(const JsonLexContext *lex)
{
	return (ItemSpan){lex->token_start + 1,
					  (uint32) (lex->token_terminator - lex->token_start - 2)};
}

static inline bool
token_is(const JsonLexContext *lex, const char *name)
{
	return token_at(lex, JSON_TOKEN_STRING) && item_span_is(token_inner(lex), name);
}

/* Goes from the first token of a value to its last one; returns false if it is malformed. */
static inline bool
token_skip_value(JsonLexContext *lex)
{
	return json_skip_value(lex, 0) == JSON_SKIPPED;
}

#endif
