/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packout: a tar stream on its way into the ring: encoded, hashed, sealed at both ends,
 * and compressed where that is asked for.
 *
 * Data are read straight to where they are going:
 *
 *     packout_member(out, &member, &losses);
 *     at = packout_room(out, size);
 *     n = pread(fd, at, size, ...);
 *     packout_data(out, at, n);
 *     packout_end(out);
 *
 * A member's header waits until its first data are there (they share one reservation
 * of the ring), so that a file which can't be read at all can be taken back.
 *
 * Functions that return int return 0, or -1 when the ring was aborted; what fails in here
 * is told and aborts it.  Used by the packing thread alone.
 */
#ifndef TARPIPE_PACKOUT_H
#define TARPIPE_PACKOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flaw.h"
#include "pack.h"
#include "tar.h"

struct packout;

/* NULL with errno (ENOMEM, or EINVAL for the filter or its level).  */
struct packout *packout_new(const struct pack_config *config);
void packout_free(struct packout *out);

/* The head of the stream. */
int packout_begin(struct packout *out);

/* As tar_write_member. */
int packout_member(struct packout *out, const struct tar_member *member,
		   unsigned *losses);

/* The most that packout_room gives, whatever the header. */
size_t packout_room_max(const struct packout *out);

/*
 * Memory for the next data; a second call replaces the first.  NULL when the ring was
 * aborted, which may also come out of writing the header.
 */
void *packout_room(struct packout *out, size_t size);

/* The next of the data: `at` out of packout_room, or any other bytes. */
int packout_data(struct packout *out, const void *at, size_t size);

/*
 * Takes the member back if nothing of it has gone to the ring yet; else returns false, and
 * it has to be ended.
 */
bool packout_cancel(struct packout *out);

/* The member is complete; what is missing of it becomes zeros. */
int packout_end(struct packout *out);

/* After it: these are not the file's. */
int packout_flaw(struct packout *out, const struct flaw *flaw);

/* End marks and trailer; closes the ring. */
int packout_finish(struct packout *out, uint64_t entries);

#endif
