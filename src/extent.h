/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extent: where a file has data and where holes, and copying by reference.
 */
#ifndef TARPIPE_EXTENT_H
#define TARPIPE_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "opts.h"

/* Files smaller than this are read and written: a reference costs more. */
enum { EXTENT_REFERENCE_MIN = 64 << 10 };

/*
 * The file has fewer blocks than bytes, so there is reason to ask for its holes.
 * (Only then: the question is slow, or answered wrongly for fresh files, on some
 * file systems.)
 */
bool extent_sparse(const struct stat *st);

/*
 * Makes the answers of extent_next reliable for a file that changed within the
 * last minute, by fdatasync.  Returns 0, or -1 when it is better to read all.
 */
int extent_settle(int fd, const struct stat *st);

/*
 * Finds the next data at or after `from` in a file of `size` bytes.  Returns 1 and
 * [*start, *end), 0 when there is only hole up to `size`, or -1 with errno when the
 * file system can't tell.
 */
int extent_next(int fd, uint64_t from, uint64_t size, uint64_t *start,
		uint64_t *end);

/* The file occupies storage, so there may be data in it. */
bool extent_has_blocks(int fd);

/* All of `len` bytes are zero. */
bool extent_zero(const void *bytes, size_t len);

/* ---- space set aside ---- */

/* A dense file of this size gets its space at once. */
enum { EXTENT_RESERVE_MIN = 8 << 20 };

/* Where that works, as found out last.  A thread's own; starts zeroed. */
struct extent_space {
	dev_t dev;
	bool asked, able;
};

/*
 * Sets space aside for `size` bytes of a new file on `dev`; its size stays 0, and where it
 * ends shorter, ftruncate gives back what it doesn't need.  What it is for: a file that
 * doesn't fit is told before half of it is written.  It saves no time here (1 GB to ext4:
 * 0.13 s with and without) and no extents (5 and 5).  Only on ext4: on XFS it leaves a flag
 * on the file, on btrfs it costs compression, in memory it would touch every page.
 * Returns 1, 0 where it isn't done, or -1 with errno when there is not so much space
 * (ENOSPC, EDQUOT).
 */
int extent_reserve(struct extent_space *space, int fd, dev_t dev, uint64_t size);

/*
 * References under way, and what was learned about them: how many source
 * descriptors may wait in the ring at one time, and between which devices FICLONE or
 * copy_file_range do not work.  Shared by both halves; any thread.
 */
struct references;

struct references *references_new(enum reflink mode, unsigned descriptors);
/*
 * Only FICLONE from now on: copy_file_range may go through the page cache.  Before
 * there are threads.
 */
void references_clone_only(struct references *refs);
void references_free(struct references *refs);

/* A reference from `from` to `to` is worth a try. */
bool references_possible(struct references *refs, dev_t from, dev_t to);

/*
 * Takes a place for a descriptor: if there is one now, or waiting for one.  Returns
 * false when there is none, or after references_cancel.
 */
bool references_try(struct references *refs);
bool references_enter(struct references *refs);
void references_leave(struct references *refs);

/* Stops what waits and what copies (errno ECANCELED).  Any thread, at any time. */
void references_cancel(struct references *refs);
bool references_cancelled(struct references *refs);

/* One copy by reference. */
struct extent_copy {
	int in, out;
	dev_t from, to;		/* their devices */
	uint64_t size;		/* bytes wanted */
	bool sparse;		/* ask for holes */
	uint64_t done;		/* result: bytes that need no more work, from 0 */
};

/*
 * Copies by FICLONE, else by copy_file_range over data extents in pieces of at
 * most 64 MiB.  Returns 0 with copy->done == copy->size; or 0 with less when the rest
 * has to be read and written (the file systems can't, or the file ended); or -1
 * with errno.  With REFLINK_ALWAYS only FICLONE counts, and not being able to is an
 * error.
 */
int references_copy(struct references *refs, struct extent_copy *copy);

#endif
