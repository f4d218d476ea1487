/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sums: XXH3-64 of each MiB of a file (--verify).
 *
 * Block n is [n MiB, (n + 1) MiB) of the file, or what the file has of that.  A block that
 * no byte came for has no sum: it is zeros.  Sums come in runs, of blocks that follow one
 * another, as soon as a run is full or broken off by a hole; so a file's sums never
 * need more memory than a run, however large it is.
 *
 * A sum is little-endian, as it stands in a RECORD_SUMS.
 */
#ifndef TARPIPE_SUMS_H
#define TARPIPE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
	SUMS_BLOCK = 1 << 20,	/* bytes */
	SUMS_RUN = RECORD_SUMS_MAX,
};

struct sums_run {
	uint64_t first;		/* block of the first sum */
	uint64_t end;		/* bytes: where the last sum's block ends */
	unsigned count;
	uint64_t sum[SUMS_RUN];
};

/* The run as a record (whose data are the run's), and back. */
struct record sums_to_record(const struct sums_run *run);
void sums_from_record(struct sums_run *run, const struct record *record);

/* The sum of a block. */
uint64_t sums_of(const void *bytes, size_t size);

/*
 * A file of one block at most: puts the record of its sum at `at`, where there is room for
 * sums_small_size(), and returns the record's size; without data there is none.
 */
size_t sums_small_size(void);
size_t sums_put_small(void *at, const void *bytes, size_t size);

/* Takes a run, which is its to the end of the call; not 0 ends the matter. */
typedef int sums_taker(void *arg, const struct sums_run *run);

struct sums;

/* NULL with errno ENOMEM; sums_free accepts NULL.  Belongs to one thread. */
struct sums *sums_new(sums_taker *take, void *arg);
void sums_free(struct sums *sums);

/* A file begins. */
void sums_begin(struct sums *sums);

/*
 * Bytes of it at an offset, in ascending order; what lies between is zero.  Returns 0, or
 * what the taker returned that was not.
 */
int sums_add(struct sums *sums, const void *bytes, size_t size, uint64_t offset);

/* It ends, and has so many bytes.  Returns the same. */
int sums_end(struct sums *sums, uint64_t size);

#endif
