/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unpack: the consuming side of a copy.  Workers take batches of records from the
 * ring in turn and restore them side by side.
 *
 * unpack.c begins with the rules by which they keep out of each other's way.
 */
#ifndef TARPIPE_UNPACK_H
#define TARPIPE_UNPACK_H

#include "gate.h"
#include "inodes.h"
#include "owner.h"
#include "restore.h"
#include "ring.h"

struct unpack_config {
	struct ring *ring;		/* all borrowed */
	struct gate *gate;
	struct inodes *inodes;
	struct owners *owners;
	struct restore *restore;
	unsigned workers;
	bool help;			/* the producer lends a hand: it has its own
					   umask, and uses ring_reserve alone to
					   wait for these workers */
	void (*done)(void *arg);	/* called once, when all workers are through */
	void *done_arg;
};

/* How many spans of the ring `workers` workers want (ring_config). */
unsigned unpack_spans(unsigned workers);

struct unpack;

/* Starts the workers.  NULL with errno. */
struct unpack *unpack_start(const struct unpack_config *config);

/*
 * Waits for their end and frees it.  Returns 0 when the stream came to its proper
 * end, else -1 (told, or the ring was aborted).
 */
int unpack_join(struct unpack *unpack);

#endif
