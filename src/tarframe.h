/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarframe: where the members of a tar stream begin and end.
 *
 * Finds headers, the extended ones before them, the length of what follows, end marks
 * and cuts, by itself, so that what libarchive gets is one whole member after
 * the other, and one that it can't read costs no other.  Knows bytes and offsets and
 * nothing of what a member is.
 */
#ifndef TARPIPE_TARFRAME_H
#define TARPIPE_TARFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "tar.h"
#include "tarpax.h"

/* An extended header is at most so large, a long name and a sparse map, too. */
enum { FRAME_HEADER_MAX = 16 << 20, FRAME_EXTENTS_MAX = 1 << 20 };

struct frame {
	tar_source *source;
	void *arg;
	const char *cur;		/* what is left of the source's block */
	size_t cur_len;
	char piece[TAR_BLOCK];		/* before it: a block that came in pieces */
	size_t piece_at, piece_len;
	uint64_t at;			/* offset of the first byte that is left */
	bool ended;			/* the source has no more */
	bool failed;			/* ... because it failed */

	struct bytes head;	/* the member's own header, and its sparse maps */
	struct bytes records;	/* body of the pax header */
	struct bytes name, link;	/* GNU's long ones, NUL-terminated */
	struct pax pax;			/* records, parsed */
	bool has_pax, has_name, has_link;

	uint64_t member_at;		/* where its first header began */
	uint64_t size;			/* bytes of data that are stored */
	uint64_t left;			/* ... that are not read yet, with padding */
	bool skipped_size;		/* the header has a size and no data follow */
	unsigned marks;			/* zero blocks that ended it */
	const char *wrong;		/* in words, or NULL */
	bool cut;			/* the stream ended too early */
};

void frame_init(struct frame *frame, tar_source *source, void *arg);
void frame_destroy(struct frame *frame);

/*
 * Goes to the next member, behind its headers.  TAR_BAD_MEMBER: `wrong` says
 * why, the next call skips it.  TAR_BROKEN: `wrong` says why.
 */
enum tar_verdict frame_next(struct frame *frame);

/* The next of the member's stored bytes, at most all.  0 when none are left or came. */
size_t frame_data(struct frame *frame, const void **bytes);

/* Passes over what is left of the member.  0; -1 when the stream is cut. */
int frame_skip(struct frame *frame);

/* As tar_read_flaw; -1: `wrong` says why. */
int frame_flaw(struct frame *frame, struct flaw *flaw);

/* The member's own header, 512 bytes; and its fields. */
char frame_type(const struct frame *frame);

#endif
