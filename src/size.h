/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * size: numbers as people write them, and as people read them.
 */
#ifndef TARPIPE_SIZE_H
#define TARPIPE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parses a size: decimal digits with an optional suffix b (512 bytes), k, m, g or
 * t (powers of 1024) in either case, or KiB, MiB, GiB, TiB in any case.  Anything else,
 * a sign, white space, a fraction, or more than 2^63-1 bytes is an error.
 * Returns 0, or -1 with errno EINVAL or ERANGE and *bytes untouched.
 */
int size_parse(const char *text, uint64_t *bytes);

/*
 * The same, and also `N%` (1..100) of the machine's memory or of the
 * cgroup's limit (v2 memory.max of this and every parent group, v1
 * memory.limit_in_bytes), whichever is less.  ENOENT when neither is known.
 */
int size_parse_memory(const char *text, uint64_t *bytes);

/*
 * The memory that the files below `root` ("" for this machine; tests have others)
 * tell of, in bytes: MemTotal or the least cgroup limit.  0 when they tell none.
 */
uint64_t size_memory(const char *root);

/* Parses a whole number min..max without sign, space or suffix, as size_parse. */
int size_parse_number(const char *text, unsigned min, unsigned max,
		      unsigned *value);

/* Writes bytes for people: `117.2 MiB`, below 1 KiB `998 B`.  Returns out. */
const char *size_format(uint64_t bytes, char *out, size_t size);

#endif
