/*
 * member.h
 *	  Members of a JSON object, found without reading what they hold.
 *
 * The text is well-formed: json_valid() has seen it.
 */
#ifndef GATEWAY_MEMBER_H
#define GATEWAY_MEMBER_H

#include <stddef.h>

/* A value as it is written. */
typedef struct Member
{
	const char *text; /* NULL: there is none */
	size_t length;
} Member;

extern Member member_find(const char *json, size_t length, const char *name);
extern size_t member_elements(Member array);

#endif
