/* SPDX-License-Identifier: BSD-2-Clause */
#include "sha256.h"

#include <errno.h>
#include <unistd.h>

static const unsigned char zeros[64 << 10];

void sha256_begin(struct sha256 *sum)
{
	sha256_init(&sum->context);
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t size)
{
	sha256_update(&sum->context, size, bytes);
}

void sha256_add_zeros(struct sha256 *sum, uint64_t size)
{
	while (size > 0) {
		size_t n = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);

		sha256_add(sum, zeros, n);
		size -= n;
	}
}

void sha256_end(struct sha256 *sum, unsigned char *digest)
{
	sha256_digest(&sum->context, SHA256_SIZE, digest);
}

ssize_t sha256_add_from(struct sha256 *sum, int fd, void *room, size_t size,
			uint64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, room, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		sha256_add(sum, room, (size_t)n);
	return n;
}
