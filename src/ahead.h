/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ahead: between the walk and the packer; what the packer will ask for is fetched before
 * it asks, when that pays.
 *
 * It begins directly: each item comes straight from the walk, and the packer makes its
 * own calls.  It says how long they took, and when they sleep, which calls
 * that a cache answers never do, a window is opened: the walk goes on ahead of the
 * packer, helpers (crew.h) fetch its files (fetch.h) and directories (scout.h), and the
 * packer takes the items in the same order, with what was found.  When helpers find
 * all at once, as in a cache, the window is closed again.  ahead.c has the details.
 *
 * Nothing is told here, and nothing changes but the time at which things are looked at.
 * What is ahead is bounded by the window, by the slab, a quarter of the ring (but 256 KiB
 * to 32 MiB), and by the descriptors.  Used by the packing thread.
 */
#ifndef TARPIPE_AHEAD_H
#define TARPIPE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fetch.h"
#include "names.h"
#include "opts.h"
#include "ring.h"
#include "walk.h"

struct ahead_config {
	struct walk_config walk;	/* but for its `close` */
	struct ring *ring;		/* borrowed */
	bool filtered;			/* others fill the ring: it is not flushed from here */
	int helpers;			/* as opts->read_ahead */
	unsigned descriptors;		/* for all that is ahead; too few: it is off */
	struct fetch_rules rules;
	struct have *have;		/* NULL, or told of each item; borrowed */
	bool reads_all;			/* also what the destination has */
};

struct ahead;

/* NULL with errno. */
struct ahead *ahead_new(const struct ahead_config *config);

/*
 * Ends the helpers.  Returns false when one is in a call that takes longer than `ms`: then
 * it is to be left as it is, until the process ends.
 */
bool ahead_stop(struct ahead *ahead, unsigned ms);

/* Accepts NULL.  Waits for helpers that were not stopped. */
void ahead_free(struct ahead *ahead);

/* As walk_begin; with `names` not NULL as walk_list, too. */
void ahead_begin(struct ahead *ahead, const char *path, const char *as,
		 bool follow, struct names *names);

/* As walk_next.  Returns -1 when the ring was aborted. */
int ahead_next(struct ahead *ahead, struct walk_item *item);

/* As walk_skip, walk_path and walk_member, for the item at hand. */
void ahead_skip(struct ahead *ahead);
const char *ahead_path(struct ahead *ahead);
const char *ahead_member(struct ahead *ahead);

/*
 * What was found of the item at hand, or NULL when the calls are the packer's.  Valid until
 * the next item; takers of `fd` set it to -1.
 */
struct fetch *ahead_fetched(struct ahead *ahead);

/* What the destination has under the item's name.  Valid until the next item. */
const struct have_seen *ahead_seen(const struct ahead *ahead);

/* The packer's own calls on an item took so long; what waits for the ring is left out. */
void ahead_note(struct ahead *ahead, uint64_t ns);

/* The most helpers that there were. */
unsigned ahead_helpers(const struct ahead *ahead);

#endif
