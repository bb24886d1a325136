/*
 * utf8.h
 *	  Text in UTF-8.
 */
#ifndef GATEWAY_UTF8_H
#define GATEWAY_UTF8_H

#include <stddef.h>

/* How many bytes the character has that begins here; 0 if it is none that PostgreSQL accepts. */
extern size_t utf8_length(const char *text, size_t left);

/* Put a question mark in place of each byte that belongs to no character. */
extern void utf8_repair(char *text, size_t length);

#endif
