/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * have: what the destination has already (--continue), asked before a file is read.
 *
 * Goes along with the walk: it enters and leaves the directories at the destination that
 * the walk enters and leaves at the source, none through a symlink, a bounded number
 * of them open.  It touches nothing, and what it says is a belief: the restorer looks
 * again, at what it holds, before it leaves a file alone.
 *
 * An inode with further names, which need not be this run's (the copies of a backup that
 * share their files), is left alone when it is right in everything, its attributes too,
 * and for one file of the source only.  What they are is kept as a sum of their hashes.
 *
 * Used by the packing thread, but for have_fits.
 */
#ifndef TARPIPE_HAVE_H
#define TARPIPE_HAVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "meta.h"
#include "opts.h"
#include "walk.h"

struct have;

/* What there is under the name of an item.  Zeroed: nothing. */
struct have_seen {
	bool there;		/* a regular file */
	bool summed;		/* `attributes` holds the sum of what it has */
	uint32_t grain;		/* of times, in ns */
	uint64_t attributes;
	struct stat st;
};

/*
 * From the directory `dst` on, which is borrowed; `fds` directories may be open at one time, at
 * least 3.  NULL: ENOMEM.
 */
struct have *have_new(const struct opts *opts, int dst, unsigned fds);
void have_free(struct have *have);

/*
 * The walk's next item: each one, in the walk's order.  Fills *seen.  Without memory, or
 * where directories can't be opened, there is nothing.
 */
void have_meet(struct have *have, const struct walk_item *item,
	       struct have_seen *seen);

/* By type, size and mtime it is this file of the source, at first sight.  Any thread. */
bool have_fits(const struct have_seen *seen, const struct stat *st);

/*
 * The last word on a file of the source, whose attributes `from` leads to (NULL: it has
 * none): may what was seen stand for it?  When yes, it does so from now on.
 */
bool have_takes(struct have *have, const struct have_seen *seen,
		const struct stat *st, const struct xattr_source *from);

#endif
