/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes: bytes that grow, and can say that there is no memory (unlike text).  Starts
 * zeroed; used again and again by setting `len` to 0.
 */
#ifndef TARPIPE_BYTES_H
#define TARPIPE_BYTES_H

#include <stddef.h>

struct bytes {
	unsigned char *at;
	size_t len, room;
};

/* Adds so many bytes and returns them, not filled; NULL without memory. */
void *bytes_extend(struct bytes *bytes, size_t more);

/* Add bytes, or a string without its NUL.  0, or -1 without memory. */
int bytes_add(struct bytes *bytes, const void *from, size_t size);
int bytes_put(struct bytes *bytes, const char *string);

void bytes_free(struct bytes *bytes);

#endif
