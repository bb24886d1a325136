/*
 * account.h
 *	  What becomes of a request for those who operate the gateway: figures, and a line in the log.
 */
#ifndef GATEWAY_ACCOUNT_H
#define GATEWAY_ACCOUNT_H

#include "request.h"

extern void account_request(const Request *request);

#endif
