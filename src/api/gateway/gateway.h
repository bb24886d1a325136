/*
 * gateway.h
 *	  What the server does for gateways, which speak DynamoDB's protocol over HTTP.
 *
 * The program is in the folder gateway/ beside src/.  It logs in as a role of its own, to which an
 * administrator grants what is here, and executes one statement a request.
 *
 *		request_as.c	dynamo_internal.request_as(): operations with the rights of a role
 *		shorten.c		what code of tables' owners tells a gateway
 *		memory.c		what it leaves in a session
 *		changes.c		dynamo_internal.gateway_changes(): whether a map of shards is old
 *		access_key.c	access keys, each of which stands for a role
 */
#ifndef DYNAMO_TABLE_API_GATEWAY_GATEWAY_H
#define DYNAMO_TABLE_API_GATEWAY_GATEWAY_H

extern void shorten_messages(void);
extern void tell_large_session(void);

#endif
