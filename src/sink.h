/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink: the restoring side of a run, ready made: a ring of records becomes what is in
 * a directory, whoever fills the ring.
 */
#ifndef TARPIPE_SINK_H
#define TARPIPE_SINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "budget.h"
#include "extent.h"
#include "gate.h"
#include "inodes.h"
#include "opts.h"
#include "owner.h"
#include "restore.h"
#include "ring.h"
#include "sync.h"
#include "unpack.h"
#include "verify.h"

struct sink_config {
	const struct opts *opts;	/* borrowed, as all pointers */
	const struct budget *budget;
	struct ring *ring;	/* of records, with unpack_spans of the budget's workers */
	int dst;		/* the destination directory, open */
	const char *shown;	/* how messages name it */
	bool fresh;		/* see struct gate_config */
	bool widen;
	bool help;		/* the ring's producer is one of the workers, when it
				   has no room (see struct unpack_config) */
	bool ordered;		/* the stream is RECORD_ORDERED */
	mode_t umask;		/* the caller's */
	void (*release)(void *hold);	/* see struct restore_config */
	void (*done)(void *arg);	/* called once, when all workers are through, and
					   what they made is verified */
	void *done_arg;
};

/* Its parts, for those who count or share them.  Starts zeroed. */
struct sink {
	struct sink_config config;
	struct references *refs;
	struct owners *owners;
	struct syncs *syncs;	/* --sync, or NULL */
	struct gate *gate;
	struct inodes *inodes;
	struct verify *verify;	/* --verify, or NULL */
	uint64_t hands;		/* the workers together, and the producer if it helps ... */
	uint64_t hands_done;	/* ... and a counter of those that are through */
	bool stuck;		/* it is in a call that takes its time: left behind, so
				   nothing may be freed */
	struct restore *restore;
	struct unpack *unpack;
};

/*
 * Makes the parts.  Before there are threads.  Returns 0, or -1 with errno; sink_destroy
 * frees what there is.
 */
int sink_make(struct sink *sink, const struct sink_config *config);

/* Starts the workers.  0, or -1 with errno. */
int sink_start(struct sink *sink);

/*
 * The producer that may help (config.help) is at its end, and does so no more.  Once, by its
 * thread.
 */
void sink_helped(struct sink *sink);

/* Stops them for `reason` (an errno).  Any thread. */
void sink_stop(struct sink *sink, int reason);

/*
 * Waits for the end of the workers, and of verifying (see struct sink, stuck).  Returns 0 when the stream came to its proper end, else -1
 * (told, or the ring was aborted).
 */
int sink_join(struct sink *sink);

/*
 * After sink_join, of a run that was not stopped: with --sync, waits until all is on the
 * disk.  It may take its time, and leaves nothing to be cleaned up.
 */
void sink_sync(struct sink *sink);

void sink_destroy(struct sink *sink);

#endif
