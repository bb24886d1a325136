/*
 * member.h
 *	  Members of a JSON object, found without reading what they hold.
 *
 * In a text that is not JSON a member may be found or none, but nothing outside of the text is read.
 */
#ifndef GATEWAY_MEMBER_H
#define GATEWAY_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

/* A Member is a value as it is written. */
typedef struct Member
{
	const char *text; /* NULL: there is none */
	size_t length;
} Member;

/* A MemberScan is on the way through the members of an object. */
typedef struct MemberScan
{
	const char *at;
	const char *end;
	bool begun;
	bool whole; /* the last one was seen */
} MemberScan;

extern MemberScan member_scan(Member object);
extern bool member_next(MemberScan *scan, Member *name, Member *value);
extern bool member_is(Member member, const char *text);
extern Member member_of(Member object, Member name);
extern bool member_string(Member value, char *out, size_t size, size_t *length);
extern Member member_find(const char *json, size_t length, const char *name);
extern bool member_next_element(MemberScan *scan, Member *value);
extern size_t member_elements(Member array);

#endif
