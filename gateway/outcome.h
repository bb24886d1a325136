/*
 * outcome.h
 *	  What a request is answered when its statement has come to its end.
 */
#ifndef GATEWAY_OUTCOME_H
#define GATEWAY_OUTCOME_H

#include <libpq-fe.h>

#include "errors.h"
#include "request.h"

extern void outcome_result(Request *request, PGresult *result);
extern void outcome_failure(Request *request, const Remedy *remedy, const PGresult *result);

#endif
