/*
 * answer.h
 *	  What a request is answered.
 */
#ifndef GATEWAY_ANSWER_H
#define GATEWAY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "errors.h"

typedef struct Answer
{
	int status; /* 0: there is no answer yet */
	ErrorKind error;
	const char *content_type; /* NULL: that of the request */
	const char *data;
	size_t length;
	void *owner; /* of the data, and how it is freed; NULL: the data is constant */
	void (*release)(void *owner);
	bool compressed;
	bool close; /* the connection ends with it */
	const char *const *fields; /* more of its header: names and values, up to NULL; or NULL */
} Answer;

extern void answer_constant(Answer *answer, int status, const char *content_type, const char *data);
extern void answer_owned(Answer *answer, int status, const char *data, size_t length, void *owner,
						 void (*release)(void *owner));
extern void answer_error(Answer *answer, ErrorKind error, const char *message, const char *members);
extern void answer_not_found(Answer *answer);
extern void answer_too_large(Answer *answer);
extern void answer_endpoint(Answer *answer, const char *host);
extern void answer_compress(Answer *answer, size_t above);
extern void answer_release(Answer *answer);

#endif
