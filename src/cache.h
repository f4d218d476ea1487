/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache: reading and writing that leaves nothing in the page cache (--no-cache).
 *
 * Where the file system knows RWF_DONTCACHE (Linux 6.14; ext4, xfs and others) every
 * call has it: the kernel drops what it brought in itself, as soon as it was read, or
 * is on the medium; pages that were there before stay.  Elsewhere what was read or
 * written is dropped behind the position, a window at a time: a written one is sent to
 * the medium when it is complete, and waited for when the next one is.  There a file
 * of which half or more was cached when its first byte was read is left alone.
 *
 * A page that is written in two parts may be on its way when the second part comes, and
 * then the kernel forgets to drop it.  Files with such pages are dropped as if it didn't
 * know the flag.
 *
 * A small file is complete before its bytes are on the medium.  So that nobody has to
 * wait for each, the last few are held (by duplicates of their descriptors)
 * until then.
 *
 * A struct cache and its files belong to one thread.  What fails in the dropping is
 * ignored, but for bytes that could not be written: that is an error.
 */
#ifndef TARPIPE_CACHE_H
#define TARPIPE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
	CACHE_WINDOW = 4 << 20,		/* bytes */
	CACHE_HELD = 8,			/* files at most, of each thread that writes */
	CACHE_REFUSED = 8,		/* file systems that are remembered */
};

/* What a thread learnt, and what it holds.  Zeroed: off. */
struct cache {
	bool on;
	dev_t refused[CACHE_REFUSED];	/* do without RWF_DONTCACHE */
	unsigned nrefused;
	int held[CACHE_HELD];
	unsigned nheld;
};

/* A file that is read, or one that is written.  Zeroed: as if there were no --no-cache. */
struct cache_file {
	struct cache *cache;		/* NULL: off */
	int fd;
	dev_t dev;
	bool stream;			/* read or written where it stands ... */
	uint64_t here;			/* ... which is here */
	uint64_t window;		/* where the present window begins */

	/* Reading: */
	uint64_t size;			/* what fstat said; UINT64_MAX: not known */
	bool sparse;
	bool looked;			/* it is known whether ... */
	bool stays;			/* ... it was cached before */

	/* Writing: */
	uint64_t dropped;		/* up to here it is on the medium */
	bool torn;			/* a write began inside a page */
};

void cache_init(struct cache *cache, bool on);

/* Lets go of the files that are held; without `hurry` when they are on the medium. */
void cache_destroy(struct cache *cache, bool hurry);

/*
 * Begins a file, which stays the caller's; `st` is its fstat, or NULL when it is a new
 * one on `dev`.  Does nothing but note it when the cache is off.
 */
void cache_begin_in(struct cache_file *file, struct cache *cache, int fd,
		    const struct stat *st);
void cache_begin_out(struct cache_file *file, struct cache *cache, int fd,
		     dev_t dev);

/*
 * Some of [from, to) of an open file is in the page cache.  False where the kernel can't tell
 * (before Linux 6.5).
 */
bool cache_has(int fd, uint64_t from, uint64_t to);

/*
 * It is read or written as by read(2) and write(2), from where it stands now.  Only when the
 * cache is on.
 */
void cache_stream(struct cache_file *file);

/* As pread and pwrite; a stream's `at` is of no meaning. */
ssize_t cache_read(struct cache_file *file, void *to, size_t size, uint64_t at);
ssize_t cache_write(struct cache_file *file, const void *bytes, size_t size,
		    uint64_t at);

/*
 * All of a file is written; before the descriptor is closed.  A file that is lost between
 * here and cache_destroy is told by diag, STATUS_PARTIAL.
 */
void cache_end_out(struct cache_file *file);

#endif
