/* SPDX-License-Identifier: BSD-2-Clause */
#include "pace.h"

#include "thread.h"

#define SECOND_NS UINT64_C(1000000000)

enum { PACE_STEPS = 20 };	/* a second */

void pace_init(struct pace *pace, uint64_t rate)
{
	*pace = (struct pace){ rate, clock_ns() };
}

size_t pace_step(const struct pace *pace)
{
	if (pace->rate == 0)
		return SIZE_MAX;
	return pace->rate < PACE_STEPS ? 1 : pace->rate / PACE_STEPS;
}

void pace_wait(struct pace *pace, uint64_t bytes)
{
	uint64_t now = clock_ns();
	double ns;

	if (pace->rate == 0)
		return;
	if (pace->due + SECOND_NS / PACE_STEPS < now)
		pace->due = now - SECOND_NS / PACE_STEPS;
	ns = (double)bytes / (double)pace->rate * 1e9;
	pace->due += ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
	clock_wait(pace->due);
}
