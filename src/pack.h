/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack: turns what the walk finds into records in the ring, or into a tar stream (-c).
 * The producing side of a run; works in one thread and knows nothing of the destination
 * but its device (whether references are worth a try).
 *
 * A small file costs five calls: openat, fstat, flistxattr, read, close.  They are the
 * packing thread's own, or where they take their time those of helpers (ahead.h).
 */
#ifndef TARPIPE_PACK_H
#define TARPIPE_PACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "extent.h"
#include "names.h"
#include "opts.h"
#include "ring.h"
#include "walk.h"

struct have;
struct manifest;

struct pack_config {
	const struct opts *opts;	/* borrowed */
	struct ring *ring;		/* borrowed */
	struct references *refs;	/* borrowed */
	dev_t dst_dev;			/* of the destination directory */
	struct walk_config walk;
	unsigned ahead;			/* descriptors for what is read ahead */

	struct have *have;		/* what the destination has, or NULL; borrowed */
	struct manifest *manifest;	/* a list of what is packed, or NULL; borrowed */

	/* -c: a stream instead of records; then refs and dst_dev are not used. */
	bool tar;
	enum tar_format format;
	enum filter_kind filter;	/* the ring gets compressed bytes */
	int level;			/* -1: the kind's default */
	unsigned threads;		/* that compress */

	/*
	 * NULL, or told with `arg` just before the end marks go into the ring, in
	 * the packing thread: they end at this byte of the output.  Not with a filter.
	 */
	void (*marks)(void *arg, uint64_t bytes);

	/* NULL, or whether a file is one that this run writes: it is left out. */
	bool (*is_output)(void *arg, const struct stat *st);
	void *arg;			/* of both */
};

struct pack;

/* NULL with errno: ENOMEM, or EINVAL for a filter or a level that there is not. */
struct pack *pack_new(const struct pack_config *config);
void pack_free(struct pack *pack);

/*
 * After the last call of the packing thread: ends the helpers that read ahead.  Returns
 * false when one is in a call that takes longer than `ms`; then nothing may be freed.
 */
bool pack_stop(struct pack *pack, unsigned ms);

/* The most helpers that there were. */
unsigned pack_helpers(const struct pack *pack);

/*
 * One name may come more than once, from a list say.  To be said before the first root.
 */
void pack_again(struct pack *pack);

/*
 * Of the roots that follow, which are directories, only the names of a list are packed
 * (see walk_list), the directories on the way with them.  Borrowed; NULL: all again.
 */
void pack_list(struct pack *pack, struct names *names);

/*
 * Packs one root (see walk_begin).  In a stream `as` may be a path, and without it names
 * begin with `./`.  With `keeps`, a root whose contents go to
 * the destination directory leaves that one's own metadata alone.  What fails is
 * told by diag and left out.  Returns 0, or -1 when the ring was aborted.
 */
int pack_root(struct pack *pack, const char *path, const char *as, bool follow,
	      bool keeps);

/*
 * Ends the stream and closes the ring.  Returns as pack_root; a stream that can't be
 * encoded is told (STATUS_STOPPED) and aborts the ring.
 */
int pack_finish(struct pack *pack);

/* What was packed: names, and bytes of files.  After the last call of the others. */
void pack_count(const struct pack *pack, uint64_t *entries, uint64_t *bytes);

#endif
