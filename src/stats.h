/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats: the numbers of a run, for --stats.
 */
#ifndef TARPIPE_STATS_H
#define TARPIPE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "restore.h"
#include "ring.h"
#include "verify.h"

struct stats {
	struct restore_counts done;
	struct ring_counters ring;
	uint64_t ring_size;	/* bytes */
	uint64_t elapsed_ns;
	unsigned helpers;	/* that read ahead, at most */
	bool verifies;		/* --verify: */
	struct verify_counts verified;
};

/*
 * Prints them to standard error: a line for what was done, one for the ring, and one each
 * for helpers and for what was verified, if there were any.
 */
void stats_print(const struct stats *stats);

/* Which side the other one waited for, in words; never NULL. */
const char *stats_slower(const struct stats *stats);

#endif
