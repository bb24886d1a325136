/*
 * tags.h
 *	  Tags in requests.
 */
#ifndef DYNAMO_TABLE_REQUEST_TAGS_H
#define DYNAMO_TABLE_REQUEST_TAGS_H

#include "request/members.h"

/* Of MEMBER_CUSTOM: a List * of DynTag, whose keys are distinct. */
extern void request_read_tags(JsonReader *reader, void *list);

#endif
