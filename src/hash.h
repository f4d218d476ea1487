/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash: the checksum of a stream, by xxHash or zlib.
 */
#ifndef TARPIPE_HASH_H
#define TARPIPE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum hash_kind {
	HASH_NONE,
	HASH_XXH3,		/* 64 bits, as xxhsum -H3 */
	HASH_CRC32,		/* as gzip and cksum -a crc32b */
};

struct hash;

/* Begins one.  Returns NULL with errno ENOMEM.  `kind` is not HASH_NONE. */
struct hash *hash_new(enum hash_kind kind);

/* Accepts NULL. */
void hash_free(struct hash *hash);

void hash_add(struct hash *hash, const void *bytes, size_t size);

/* The sum so far; 32 bits of it for CRC32. */
uint64_t hash_sum(const struct hash *hash);

/* Says it on standard error: `KIND SUM`.  Accepts NULL. */
void hash_tell(const struct hash *hash);

/* The kind by its name, HASH_NONE when there is none such. */
enum hash_kind hash_find(const char *name);

#endif
