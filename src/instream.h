/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instream: a tar stream as it comes out of the ring: members, their data in place,
 * and the truth about its end.
 *
 * Consumes the ring (uncompressed tar bytes) in blocks that are held as long as anybody
 * uses their bytes.  Knows where the stream began, whether it is one of ours
 * (see seal.h), whether its end marks came, what follows them, and whether its sum is
 * right; tells all of it by diag, with byte offsets.  Used by one thread, except
 * instream_release.
 */
#ifndef TARPIPE_INSTREAM_H
#define TARPIPE_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"
#include "tar.h"

struct instream_config {
	struct ring *ring;	/* of tar bytes; borrowed */
	const char *shown;	/* the stream's name for messages; borrowed */
	bool ignore_zeros;	/* go on after end marks: streams one after the other */
	bool drain;		/* take what comes after the end to the last byte */
	bool names_only;	/* nobody wants attributes: none is told that can't be used */
	void (*waiting)(void *arg);	/* called before it may wait for the ring; or NULL */
	void *arg;
};

struct instream;

/* A block of the ring in use. */
struct instream_span;

/* NULL with errno ENOMEM. */
struct instream *instream_new(const struct instream_config *config);
void instream_free(struct instream *in);

/* How many spans its ring needs (struct ring_config). */
enum { INSTREAM_SPANS = 1024 };

/*
 * The next member.  Returns 1; 0 at the end of the stream, when everything about its
 * end has been told; -1 when it can't go on (told, STATUS_STOPPED; or the ring was
 * aborted).  Members that can't be understood are told (STATUS_PARTIAL) and left
 * out.  What is left of the last one's data is skipped.
 */
int instream_next(struct instream *in, struct tar_member *member);

/* Data of the member. */
struct instream_data {
	const void *bytes;
	size_t size;
	uint64_t offset;
	struct instream_span *span;	/* NULL: copy them before the next call */
};

/*
 * The next data of the member.  1; 0 at its end; -1 as instream_next (told);
 * TAR_DATA_BAD (told, STATUS_PARTIAL) when no more of it can be read: what came of it
 * is not to be kept, and the next member can be asked for.
 */
int instream_read(struct instream *in, struct instream_data *data);

/*
 * Behind the member's data: whether they are true.  Waits for what follows, where the stream is
 * one of ours: its writer may say so only then (see flaw.h).  Returns 0 with the size
 * that the file had in the end, at most the member's: a lesser one is told (STATUS_CHANGED);
 * TAR_DATA_BAD when they are not to be kept (told, STATUS_PARTIAL); -1 as instream_next.
 * The message says what becomes of the file, if the caller `keeps` it.  Bytes of the member
 * that nobody holds are gone.
 */
int instream_check(struct instream *in, uint64_t *size, bool keeps);

/* The bytes are needed after the next call, until instream_release by any thread. */
void instream_hold(struct instream_span *span);
void instream_release(struct instream_span *span);

/* Members met so far, and where the current one began in the stream. */
uint64_t instream_members(const struct instream *in);
uint64_t instream_member_at(const struct instream *in);

#endif
