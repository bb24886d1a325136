/*
 * denied.h
 *	  AccessDeniedException: who may not do what to which resource.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_DENIED_H
#define DYNAMO_TABLE_API_REQUEST_DENIED_H

#include "api/request/meter.h"
#include "item/reader.h"

/* This is a request, as far as a missing privilege is told of it. */
typedef struct Denial
{
	ErrorContextCallback callback;
	const char *operation;
	const char *user; /* who has sent it */
	ItemSpan resource; /* its table as it is named, or an ARN; no data: it names none */
	const MeterPart *parts; /* of a request for several tables; or NULL */
	int nparts;
	PartUnderWay part;
	bool alone; /* the transaction is this request and nothing else, see failure.c */
	int depth; /* of triggers around the request */
	int denied_at; /* the depth where a privilege was missing */
} Denial;

extern void denial_begin(Denial *denial, const char *operation, bool alone);
extern void denial_end(const Denial *denial);
extern char *denial_words(const Denial *denial);
extern bool denial_is_of_transaction(const Denial *denial);

/* Operations tell by these what the request names. */
extern void request_names(const JsonReader *reader, ItemSpan name);
extern PartUnderWay *request_has_parts(const JsonReader *reader, const MeterPart *parts, int n);
extern PartUnderWay *request_names_parts(const JsonReader *reader, const MeterPart *parts, int n);

#endif
