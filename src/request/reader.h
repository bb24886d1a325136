/*
 * reader.h
 *	  JSON of requests: objects with members that are known, each of one kind.
 */
#ifndef DYNAMO_TABLE_REQUEST_READER_H
#define DYNAMO_TABLE_REQUEST_READER_H

#include "utils/jsonb.h"

#include "item/parse.h"

/* Reads the value at which the reader is, up to its last token. */
typedef void (*RequestRead)(ItemParser *p, void *into);

typedef struct RequestMember
{
	const char *name;
	bool required;
	RequestRead read;
} RequestMember;

#define REQUEST_MAX_MEMBERS 32

extern void request_object(ItemParser *p, const char *what, const RequestMember *members, int n,
						   void *into);
extern void request_array(ItemParser *p, const char *what, RequestRead read, void *into);
extern void request_expect(ItemParser *p, JsonTokenType type, const char *message);
extern text *request_text(ItemParser *p, const char *what);
extern DynItem *request_item(ItemParser *p, const char *what, ItemSyntax syntax);
extern Jsonb *request_names(ItemParser *p);

#endif
