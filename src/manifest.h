/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manifest: a list of what is packed, with sha256, as mtree(5) has it (see mtree.h), made
 * beside the packing.
 *
 * The packing thread says what it packs and hands over the bytes of files as it has read
 * them; they are copied into a ring of the manifest's own, and a thread behind it does
 * the sums and writes the lines, in the same order.  So the packer is kept up by a
 * copy of the bytes, not by the sums.  Memory is the ring's, and of each inode with
 * several names a path and a sum until all have come.
 *
 * The file is written beside its name, which it gets when it is complete (see newfile.h).
 * A failure is told once, raises STATUS_PARTIAL, and holds up nothing.
 */
#ifndef TARPIPE_MANIFEST_H
#define TARPIPE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta.h"

struct manifest;

/*
 * Begins a list at `path`, of the parts (enum preserve) that are kept.  NULL after a
 * message that raised STATUS_USAGE or STATUS_STOPPED.
 */
struct manifest *manifest_open(const char *path, unsigned keeps);

/* ---- the packing thread ---- */

/* What is packed, as it was when it was looked at. */
struct manifest_entry {
	const char *path;	/* as a member; "" or `.` for the top */
	struct meta meta;
	uint64_t nlink;
	const char *target;	/* of a symlink, else NULL */
	uint32_t id;		/* of an inode with several names, else 0 */
	bool further;		/* ... of which another name has come before */
	bool last;		/* ... and no more will come */
};

/* An entry; data and an end follow when it is a regular file and no further name. */
void manifest_entry(struct manifest *manifest,
		    const struct manifest_entry *entry);

/* Bytes of the file at an offset, in ascending order; what lies between is zero. */
void manifest_data(struct manifest *manifest, const void *bytes, size_t size,
		   uint64_t offset);

/*
 * In the place of data: they are read from `fd` by the manifest's thread, `size` bytes of
 * them.  The descriptor stays the caller's.
 */
void manifest_read(struct manifest *manifest, int fd, uint64_t size);

/* The file is complete, and has so many bytes; with a failure it is not listed. */
void manifest_end(struct manifest *manifest, uint64_t size, int failure);

/* ---- the end ---- */

/*
 * Waits for the thread; gives the file its name when all was packed (`whole`), else
 * leaves nothing.  Accepts NULL.
 */
void manifest_close(struct manifest *manifest, bool whole);

#endif
