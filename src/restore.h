/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * restore: makes at the destination what records tell of.
 *
 * Each worker thread has a struct worker.  It enters a directory for a run of
 * records, gives them in stream order, and leaves it.  Between an object's head and
 * its END (which may come in a later run) the object is open in the worker.
 *
 * A new name is made with O_EXCL.  Where the name is taken, the new object is made
 * complete under a temporary name beside it and then renamed, so that what was
 * there stays whole until then and nothing is ever written through it.  What
 * can't be completed is removed.
 */
#ifndef TARPIPE_RESTORE_H
#define TARPIPE_RESTORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "extent.h"
#include "gate.h"
#include "inodes.h"
#include "opts.h"
#include "owner.h"
#include "record.h"
#include "ring.h"

struct verify;

struct restore_config {
	const struct opts *opts;	/* all borrowed */
	struct ring *ring;
	struct gate *gate;
	struct inodes *inodes;
	struct references *refs;
	struct owners *owners;
	struct verify *verify;		/* --verify, or NULL */
	mode_t umask;			/* the caller's */
	unsigned workers;
	void (*release)(void *hold);	/* gives back what a SPAN holds, once for each;
					   any worker's thread */
};

struct restore;
struct worker;

struct restore *restore_new(const struct restore_config *config);
void restore_free(struct restore *restore);

/*
 * Stops the run: aborts the ring for `reason` (an errno) and lets the workers
 * end quickly, cleaning up.  Any thread.  Returns true for the first to do so.
 */
bool restore_stop(struct restore *restore, int reason);
bool restore_stopped(const struct restore *restore);

/* What has been done so far; any thread. */
struct restore_counts {
	uint64_t entries;	/* names that were made, the top directory aside */
	uint64_t bytes;		/* of regular files */
	uint64_t referenced;	/* ... of them by reference */
	uint64_t left;		/* names that were left alone (--continue) */
};
void restore_count(const struct restore *restore,
		   struct restore_counts *counts);

struct worker *worker_new(struct restore *restore, unsigned index);

/* Frees it; an object that is still open is removed. */
void worker_free(struct worker *worker);

/* Begins a run of records in `dir`, which the taker held for it. */
void worker_enter(struct worker *worker, struct dir *dir);

/*
 * One record.  `child` is what the taker made of a DIR; `inode` of an entry with an
 * id (its hold is the worker's from here on).
 */
void worker_record(struct worker *worker, const struct record *record,
		   struct dir *child, struct inode *inode);

/* Ends the run and drops its hold; finishes directories that are done by that. */
void worker_leave(struct worker *worker);

#endif
