/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sha256: by nettle, which uses what the processor has for it (1.6 GB a second where
 * that is so).
 */
#ifndef TARPIPE_SHA256_H
#define TARPIPE_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHA256_SIZE = 32 };

struct sha256 {
	struct sha256_ctx context;
};

void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t size);

/* So many zeros. */
void sha256_add_zeros(struct sha256 *sum, uint64_t size);

void sha256_end(struct sha256 *sum, unsigned char *digest);

/*
 * The next bytes of an open file, at most `size` of them, read into `room`.  Returns their
 * number, 0 at its end, or -1 with errno.
 */
ssize_t sha256_add_from(struct sha256 *sum, int fd, void *room, size_t size,
			uint64_t offset);

#endif
