/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames: where the frames of zstd and lz4 and the streams of xz end, found by their
 * outer structure and without decompressing.
 *
 * The decompressors would say it too late or not at all: behind libarchive one can't
 * tell a cut stream from a whole one, nor padding from damage.
 *
 * Formats: RFC 8878 (zstd); lz4_Frame_format.md of lz4; xz-file-format.txt and, for the
 * chunks of LZMA2, its decoder in XZ Embedded.
 */
#ifndef TARPIPE_FRAMES_H
#define TARPIPE_FRAMES_H

#include "opts.h"

enum {
	FRAMES_PEEK = 27,	/* bytes that frames_begins wants to see */
	FRAMES_HAVE = 12,
};

struct frames {
	enum filter_kind kind;
	bool inside;		/* a frame */
	bool lost;		/* this is no such structure: damaged */

	/* So many bytes are of no interest, so many then are what `step` looks at. */
	uint64_t skip;
	unsigned want, got;
	unsigned char have[FRAMES_HAVE];
	void (*step)(struct frames *frames);

	bool legacy;		/* lz4: of the old format, which has no end */
	bool sums;		/* lz4: after each block */
	unsigned tail;		/* zstd, lz4: bytes after the last block; xz: after each */
	bool props;		/* xz: a byte more in this chunk */
	uint64_t bytes;		/* xz: in this block, or in the index */
	uint64_t count;		/* xz: numbers in the index still to come */
	unsigned shift;
};

void frames_init(struct frames *frames, enum filter_kind kind);

/* Between frames: whether these are the first bytes of a further one. */
enum frames_begin { FRAMES_NO, FRAMES_YES, FRAMES_PART } frames_begins(
	const struct frames *frames, const void *bytes, size_t size);

/*
 * Between frames: the size of an lz4 frame without data that these bytes begin with, 0
 * for another frame.  libarchive takes it for the end of everything.  Where its
 * checksums are wrong, this is lost.
 */
size_t frames_empty(struct frames *frames, const void *bytes, size_t size);

/*
 * Goes on: returns how many of these bytes belong to the frame that began or begins
 * with them.  `inside` is false after its last one.  Once lost, it takes all.
 */
size_t frames_walk(struct frames *frames, const void *bytes, size_t size);

/* The magic bytes of a kind, also those of other frames that it passes over. */
enum filter_kind frames_detect(const unsigned char *bytes, size_t size);

#endif
