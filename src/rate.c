/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate.h"

enum {
	LOOK_NS = 50000000,		/* between two looks ... */
	LOOK_MAX_NS = 500000000,	/* ... which see so little that they wait on */
	UNITS_MIN = 4,			/* ... for each helper */
	HOLD_NS = 1000000000,		/* after one that gained nothing */
	WAITED_PART = 10,		/* who waits less than that part doesn't wait */
};

void rate_begin(struct rate *rate, unsigned least, unsigned most, uint64_t now)
{
	*rate = (struct rate){ .least = least < most ? least : most,
			       .most = most,
			       .since = now };
	rate->level = rate->least;
}

static void rate_raise(struct rate *rate, double speed)
{
	rate->trying = rate->level < rate->most;
	rate->before = speed;
	rate->level = rate->level > rate->most / 2 ? rate->most :
						     2 * rate->level;
}

static void rate_lower(struct rate *rate, uint64_t now)
{
	rate->trying = false;
	rate->until = now + HOLD_NS;
	rate->level /= 2;
	if (rate->level < rate->least)
		rate->level = rate->least;
}

static void rate_look(struct rate *rate, uint64_t now, uint64_t units,
		      uint64_t waited)
{
	rate->since = now;
	rate->units = units;
	rate->waited = waited;
}

unsigned rate_ask(struct rate *rate, uint64_t now, uint64_t units,
		  uint64_t waited)
{
	uint64_t passed = now - rate->since, done = units - rate->units;
	double speed = (double)done / (double)(passed ? passed : 1) * 1e9;
	bool starved = waited - rate->waited >= passed / WAITED_PART;

	if (passed < LOOK_NS ||
	    (done < UNITS_MIN * rate->level && passed < LOOK_MAX_NS))
		return rate->level;
	if (rate->trying && speed < 1.1 * rate->before)
		rate_lower(rate, now);
	else if (starved && now >= rate->until)
		rate_raise(rate, speed);
	else
		rate->trying = false;
	rate_look(rate, now, units, waited);
	return rate->level;
}

void rate_skip(struct rate *rate, uint64_t now, uint64_t units, uint64_t waited)
{
	rate->trying = false;
	rate_look(rate, now, units, waited);
}
