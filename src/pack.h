/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack: turns what the walk finds into records in the ring.  The producing side
 * of a copy; runs in one thread and knows nothing of the destination but its device
 * (whether references are worth a try).
 *
 * A small file costs five calls: openat, fstat, flistxattr, read, close.
 */
#ifndef TARPIPE_PACK_H
#define TARPIPE_PACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "extent.h"
#include "opts.h"
#include "ring.h"
#include "walk.h"

struct pack_config {
	const struct opts *opts;	/* borrowed */
	struct ring *ring;		/* borrowed */
	struct references *refs;	/* borrowed */
	dev_t dst_dev;			/* of the destination directory */
	struct walk_config walk;
};

struct pack;

/* NULL with errno ENOMEM. */
struct pack *pack_new(const struct pack_config *config);
void pack_free(struct pack *pack);

/*
 * Packs one root (see walk_begin).  With `keeps`, a root whose contents go to
 * the destination directory leaves that one's own metadata alone.  What fails is
 * told by diag and left out.  Returns 0, or -1 when the ring was aborted.
 */
int pack_root(struct pack *pack, const char *path, const char *as, bool follow,
	      bool keeps);

/* Ends the stream and closes the ring.  Returns as pack_root. */
int pack_finish(struct pack *pack);

#endif
