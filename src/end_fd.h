/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end_fd: the ends of a byte stream on a descriptor.
 *
 * An end_in reads into a ring whose unit is its block, an end_out writes what lies
 * there.  Both go on after EINTR, wait where EAGAIN says so, and know nothing of
 * what the bytes mean.  Where boundaries mean nothing (files, pipes, sockets) one
 * call moves many blocks; anything else gets calls of one block, as tapes need.
 *
 * They neither open nor print, and each belongs to one thread; `bytes` may be
 * read by others with count_get.
 */
#ifndef TARPIPE_END_FD_H
#define TARPIPE_END_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache.h"
#include "ring.h"

/* Bytes that one call moves at most where it may choose. */
enum { END_PIECE = 256 << 10 };

struct end_in {
	int fd;
	size_t block;
	bool pad;		/* the last block is filled up with zeros */
	struct ring *ring;
	bool stream;		/* boundaries mean nothing */
	size_t part;		/* bytes of a block that is not whole yet */
	uint64_t bytes;		/* read so far */
};

struct end_out {
	int fd;
	size_t block;
	bool stream;
	struct cache_file data;	/* --no-cache; zeroed: off */
	uint64_t bytes;		/* written so far: safely out, as far as known */
};

/* Reads once, as read(2) but for EINTR and EAGAIN, which never come back. */
ssize_t end_read(int fd, void *to, size_t size);

/* Enlarges it, if it is a pipe.  Returns whether boundaries mean nothing on it. */
bool end_prepare(int fd);

/* Sets up an end on a descriptor, which stays the caller's; enlarges a pipe. */
void end_in_init(struct end_in *in, int fd, size_t block, struct ring *ring);
void end_out_init(struct end_out *out, int fd, size_t block);

/*
 * It leaves nothing in the page cache, where it is a file or a block device (`st`); before
 * its first byte.  The cache is the caller's and lives longer than the end.
 */
void end_out_uncached(struct end_out *out, struct cache *cache,
		      const struct stat *st);

/*
 * Reads once, at most `most` bytes (> 0), and hands over the blocks that are whole.
 * Returns the bytes read; 0 at the end of the input; -1 with errno when it fails
 * (ECANCELED: the ring was aborted).  At the end and after a failure the last
 * block is handed over as short as it is.  Never closes the ring.
 */
ssize_t end_in_read(struct end_in *in, size_t most);

/*
 * How many of `size` bytes the next end_out_write should take: whole blocks, and
 * at the end of the stream the rest.
 */
size_t end_out_share(const struct end_out *out, size_t size);

/* Writes all of it.  Returns 0, or -1 with errno and `bytes` true to what is out. */
int end_out_write(struct end_out *out, const void *bytes, size_t size);

/*
 * Closes the descriptor, with `sync` after bringing the bytes to the medium.  Returns
 * 0, or -1 with the errno of the first call that failed: what was written before may be
 * lost.  A descriptor that can't be synced (a pipe) is not.
 */
int end_out_close(struct end_out *out, bool sync);

#endif
