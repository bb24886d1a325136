/*
 * protocol.h
 *	  AWS JSON 1.0: a message becomes an operation, a caller and a JSON text.
 */
#ifndef GATEWAY_PROTOCOL_H
#define GATEWAY_PROTOCOL_H

#include <stdbool.h>

#include "canonical.h"
#include "request.h"

extern const char *protocol_header(const SignedRequest *message, const char *name);
extern bool protocol_is_cbor(const SignedRequest *message);
extern bool protocol_read(const SignedRequest *message, Request *request);

#endif
