/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rate: how many helpers a device rewards.  Arithmetic alone; whoever has helpers asks
 * it again and again.
 *
 * It begins with the least and doubles as long as each doubling makes them faster by a tenth
 * at least; a half more is seen at once, less only after a while, since devices work in
 * bursts.  A doubling that gains nothing is taken back, and tried again later, after a
 * time that doubles, too: files and devices change.  Nothing is tried while nobody
 * waits for them.
 */
#ifndef TARPIPE_RATE_H
#define TARPIPE_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
	unsigned least, most;	/* what it may say */
	unsigned level;		/* what it says */
	bool begun;		/* there was a first look, which counts for nothing */
	bool trying;		/* the level was raised, and has yet to prove itself */
	double before;		/* units a second below that level */
	double done, passed;	/* at this level: units, nanoseconds */
	uint64_t since;		/* the last look ... */
	uint64_t units, waited;	/* ... and what there was then */
	uint64_t hold, until;	/* how long, and until when it is not raised again */
};

/* From now on; equal ones fix it. */
void rate_begin(struct rate *rate, unsigned least, unsigned most, uint64_t now);

/*
 * `units` of work that are done, and nanoseconds that somebody `waited` for it, both
 * from the beginning; returns how many helpers there should be.
 */
unsigned rate_ask(struct rate *rate, uint64_t now, uint64_t units,
		  uint64_t waited);

/* What was meanwhile is not to be judged: nothing was asked of the helpers. */
void rate_skip(struct rate *rate, uint64_t now, uint64_t units, uint64_t waited);

#endif
