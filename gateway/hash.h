/*
 * hash.h
 *	  Hashes of keys as PostgreSQL has them, by which Citus finds shards.
 */
#ifndef GATEWAY_HASH_H
#define GATEWAY_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns what hashtext() of a collation such as "C", and hashvarlena() of bytea, return on a machine
 * that is little-endian. */
extern uint32_t hash_of_bytes(const void *data, size_t length);

/* Computes what hash_numeric() returns of a number as JSON has it.  False if the text is none, or a
 * very long one. */
extern bool hash_of_number(const char *text, size_t length, uint32_t *hash);

#endif
