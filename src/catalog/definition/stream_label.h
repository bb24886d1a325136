/*
 * stream_label.h
 *	  Labels of streams: in milliseconds since 1970, and as text.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_STREAM_LABEL_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_STREAM_LABEL_H

#include "datatype/timestamp.h"

#include "item/item.h"

#define STREAM_LABEL_LENGTH 23

extern int64 stream_milliseconds(TimestampTz time);
extern TimestampTz stream_time(int64 milliseconds);
extern bool stream_label_is_plausible(int64 label);
extern char *stream_label_print(int64 label, char text[STREAM_LABEL_LENGTH + 1]);
extern bool stream_label_parse(ItemSpan text, int64 *label);

#endif
