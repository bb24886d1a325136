/*
 * utf8.h
 *	  Text in UTF-8.
 */
#ifndef GATEWAY_UTF8_H
#define GATEWAY_UTF8_H

#include <stddef.h>

/* Returns the length of the character that begins here; 0 if PostgreSQL accepts no such one. */
extern size_t utf8_length(const char *text, size_t left);

/* Put a question mark in place of each byte that belongs to no character. */
extern void utf8_repair(char *text, size_t length);

#endif
