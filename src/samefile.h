/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samefile: are the bytes of two regular files the same?
 *
 * Both are read, in pieces; where both say that they have a hole nothing is.
 */
#ifndef TARPIPE_SAMEFILE_H
#define TARPIPE_SAMEFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { SAMEFILE_PIECE = 256 << 10 };

/* An open file; `st` is from the descriptor. */
struct samefile_side {
	int fd;
	struct stat st;
};

/* Two buffers of SAMEFILE_PIECE bytes, used again and again. */
struct samefile_room {
	unsigned char *one, *other;
};

int samefile_room_init(struct samefile_room *room);	/* -1 with errno ENOMEM */
void samefile_room_destroy(struct samefile_room *room);

enum samefile_verdict {
	SAMEFILE_EQUAL,
	SAMEFILE_DIFFERENT,	/* *at: the first byte, or where one of them ended */
	SAMEFILE_BAD_ONE,	/* errno: reading it at *at failed */
	SAMEFILE_BAD_OTHER,
};

/* Compares two files of one size. */
enum samefile_verdict samefile_compare(const struct samefile_room *room,
				       const struct samefile_side *one,
				       const struct samefile_side *other,
				       uint64_t *at);

/* As pread of all `size` bytes, less only at the end; -1 with errno. */
ssize_t samefile_read(int fd, void *to, size_t size, uint64_t offset);

/* Where two pieces of bytes differ first, `size` when nowhere. */
size_t samefile_first(const void *one, const void *other, size_t size);

/*
 * Is everything from *at up to `to` zero?  As samefile_compare: SAMEFILE_BAD_ONE is the
 * failure.
 */
enum samefile_verdict samefile_zero(const struct samefile_room *room,
				    const struct samefile_side *side,
				    uint64_t *at, uint64_t to);

/*
 * Bytes of its data: its size, unless it has fewer blocks and the file system can tell
 * its holes.
 */
uint64_t samefile_data(const struct samefile_side *side);

#endif
