/*
 * hash.h
 *	  Hashes of keys as PostgreSQL has them, by which Citus finds shards.
 */
#ifndef GATEWAY_HASH_H
#define GATEWAY_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern uint32_t hash_of_bytes(const void *data, size_t length);
extern bool hash_of_number(const char *text, size_t length, uint32_t *hash);

#endif
