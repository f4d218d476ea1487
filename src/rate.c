/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate.h"

enum {
	LOOK_NS = 40000000,		/* between two looks, or more until ... */
	UNITS_MIN = 3,			/* ... each helper has done so much ... */
	LOOK_MAX_NS = 500000000,	/* ... or so long */
	HOLD_MIN_NS = 100000000,	/* after one that gained nothing */
	HOLD_MAX_NS = 1600000000,
	WAITED_PART = 10,		/* who waits less than that part doesn't wait */
};

void rate_begin(struct rate *rate, unsigned least, unsigned most, uint64_t now)
{
	*rate = (struct rate){ .least = least < most ? least : most,
			       .most = most,
			       .since = now };
	rate->level = rate->least;
	rate->hold = HOLD_MIN_NS;
}

static void rate_raise(struct rate *rate, double speed)
{
	rate->trying = rate->level < rate->most;
	rate->before = speed;
	rate->tried = 0;
	rate->level = rate->level > rate->most / 2 ? rate->most :
						     2 * rate->level;
}

static void rate_lower(struct rate *rate, double speed, uint64_t now)
{
	rate->trying = false;
	rate->tried = speed;
	rate->until = now + rate->hold;
	rate->hold = rate->hold < HOLD_MAX_NS ? 2 * rate->hold : HOLD_MAX_NS;
	rate->level /= 2;
	if (rate->level < rate->least)
		rate->level = rate->least;
}

/* What was seen since the last look, in units a second. */
static void rate_judge(struct rate *rate, double speed, bool starved, uint64_t now)
{
	if (rate->trying && speed < 1.1 * rate->before) {
		rate_lower(rate, speed, now);
		return;
	}
	if (rate->trying)
		rate->hold = HOLD_MIN_NS;
	rate->trying = false;
	/* What it was compared with was no measure. */
	if (rate->tried >= 1.1 * speed)
		rate->until = now;
	rate->tried = 0;
	if (starved && now >= rate->until)
		rate_raise(rate, speed);
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
	rate_judge(rate, speed, starved, now);
	rate_look(rate, now, units, waited);
	return rate->level;
}

void rate_skip(struct rate *rate, uint64_t now, uint64_t units, uint64_t waited)
{
	rate->trying = false;
	rate_look(rate, now, units, waited);
}
