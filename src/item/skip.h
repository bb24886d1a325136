/*
 * skip.h
 *	  JSON that nobody looks at.
 */
#ifndef DYNAMO_TABLE_ITEM_SKIP_H
#define DYNAMO_TABLE_ITEM_SKIP_H

#define JSON_MAX_DEPTH 1000 /* in requests: objects and arrays that are open at a time */

typedef enum JsonSkipped
{
	JSON_SKIPPED,
	JSON_SKIPPED_MALFORMED,
	JSON_SKIPPED_TOO_DEEP
} JsonSkipped;

struct JsonLexContext;
extern JsonSkipped json_skip_value(struct JsonLexContext *lex, int limit);

#endif
