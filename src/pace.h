/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pace: a side that may move so many bytes a second (--read-rate, --write-rate).
 */
#ifndef TARPIPE_PACE_H
#define TARPIPE_PACE_H

#include <stddef.h>
#include <stdint.h>

struct pace {
	uint64_t rate;		/* bytes a second, 0: any number */
	uint64_t due;		/* when the next bytes may go, in clock_ns */
};

void pace_init(struct pace *pace, uint64_t rate);

/* The most that may go at once, so that it flows. */
size_t pace_step(const struct pace *pace);

/* Waits as long as these bytes take.  A pause of the other side is not caught up. */
void pace_wait(struct pace *pace, uint64_t bytes);

#endif
