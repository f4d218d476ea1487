/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate.h"

enum {
	LOOK_NS = 40000000,		/* between two looks, or more until ... */
	UNITS_MIN = 3,			/* ... each helper has done so much ... */
	LOOK_MAX_NS = 500000000,	/* ... or so long */
	TRIAL_NS = 200000000,		/* until a small gain is believed, or none */
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

static void rate_set(struct rate *rate, unsigned level)
{
	rate->level = level;
	rate->done = rate->passed = 0;
}

static void rate_raise(struct rate *rate, double speed)
{
	if (rate->level == rate->most)
		return;
	rate->trying = true;
	rate->before = speed;
	rate_set(rate, rate->level > rate->most / 2 ? rate->most :
						      2 * rate->level);
}

static void rate_lower(struct rate *rate, uint64_t now)
{
	unsigned level = rate->level / 2;

	rate->trying = false;
	rate->until = now + rate->hold;
	rate->hold = rate->hold < HOLD_MAX_NS ? 2 * rate->hold : HOLD_MAX_NS;
	rate_set(rate, level < rate->least ? rate->least : level);
}

/* What was seen since the last look. */
static void rate_judge(struct rate *rate, double done, double passed, bool starved)
{
	uint64_t now = rate->since + (uint64_t)passed;
	double speed;

	if (rate->passed > 2.0 * TRIAL_NS) {
		rate->done /= 2;
		rate->passed /= 2;
	}
	rate->done += done;
	rate->passed += passed;
	speed = rate->done / rate->passed * 1e9;
	if (rate->trying && speed < 1.5 * rate->before) {
		if (rate->passed < TRIAL_NS)
			return;
		if (speed < 1.1 * rate->before) {
			rate_lower(rate, now);
			return;
		}
	}
	if (rate->trying)
		rate->hold = HOLD_MIN_NS;
	rate->trying = false;
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
	bool starved = waited - rate->waited >= passed / WAITED_PART;

	if (passed < LOOK_NS ||
	    (done < UNITS_MIN * rate->level && passed < LOOK_MAX_NS))
		return rate->level;
	if (rate->begun)
		rate_judge(rate, (double)done, (double)passed, starved);
	rate->begun = true;
	rate_look(rate, now, units, waited);
	return rate->level;
}

void rate_skip(struct rate *rate, uint64_t now, uint64_t units, uint64_t waited)
{
	rate->trying = rate->begun = false;
	rate->done = rate->passed = 0;
	rate_look(rate, now, units, waited);
}
