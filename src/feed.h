/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed: the compressed bytes on their way into a decompressor, in the pieces in which
 * the source has them, with a look ahead across pieces.
 */
#ifndef TARPIPE_FEED_H
#define TARPIPE_FEED_H

#include "filter.h"

enum { FEED_PEEK = 32 };	/* bytes that can be looked at ahead, or given back */

struct feed {
	const unsigned char *at;	/* what is next ... */
	size_t left;			/* ... and how much of it lies together */
	uint64_t used;			/* bytes taken so far */
	bool ended;			/* the source has no more */
	int err;			/* its error */

	filter_source *source;
	void *arg;
	const unsigned char *base;	/* where the piece of `at` began */
	const unsigned char *next;	/* a piece behind what is carried */
	size_t next_left;
	unsigned char carry[2 * FEED_PEEK];
	unsigned char past[FEED_PEEK];	/* the last bytes before base */
	size_t npast;
};

void feed_init(struct feed *feed, filter_source *source, void *arg);

/* Sees to it that something is at `at`: 1, 0 at the end, -1 with errno. */
int feed_more(struct feed *feed);

/*
 * Brings up to `want` (at most FEED_PEEK) bytes together at `at`: how many of them there
 * are, fewer only at the end; -1 with errno.  Pointers taken before are void.
 */
ssize_t feed_peek(struct feed *feed, size_t want);

/* Goes on by `size` bytes, at most `left`. */
void feed_take(struct feed *feed, size_t size);

/*
 * Goes back by `size` bytes: of the piece that was served last and at most FEED_PEEK
 * before it.  False when that is too far.
 */
bool feed_back(struct feed *feed, size_t size);

/* Reads up to the end or to a byte that isn't 0: 0, 1 for such a byte, -1 with errno. */
int feed_zeros(struct feed *feed);

#endif
