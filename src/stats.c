/* SPDX-License-Identifier: BSD-2-Clause */
#include "stats.h"

#include <stdio.h>

#include "size.h"

/* Waiting below a twentieth of the run tells nothing. */
const char *stats_slower(const struct stats *stats)
{
	uint64_t least = stats->elapsed_ns / 20;
	uint64_t source = stats->ring.starved_ns;
	uint64_t destination = stats->ring.blocked_ns;

	if (source < least && destination < least)
		return "neither side was slow";
	return source > destination ? "the source was slower" :
				      "the destination was slower";
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void stats_print(const struct stats *stats)
{
	char bytes[32], rate[32], high[32], size[32], referenced[32];
	uint64_t ns = stats->elapsed_ns ? stats->elapsed_ns : 1;
	double per_second = (double)stats->done.bytes / seconds(ns);

	fprintf(stderr,
		"tarpipe: %llu %s, %s in %.3f seconds, %s/s",
		(unsigned long long)stats->done.entries,
		stats->done.entries == 1 ? "entry" : "entries",
		size_format(stats->done.bytes, bytes, sizeof(bytes)),
		seconds(ns),
		size_format((uint64_t)per_second, rate, sizeof(rate)));
	if (stats->done.referenced > 0)
		fprintf(stderr, " (%s by reference)",
			size_format(stats->done.referenced, referenced,
				    sizeof(referenced)));
	if (stats->done.left > 0)
		fprintf(stderr, "; %llu left alone",
			(unsigned long long)stats->done.left);
	fprintf(stderr,
		"\ntarpipe: ring of %s: %llu time%s empty (the destination "
		"waited %.3f s), %llu time%s full (the source waited %.3f s), "
		"highest fill %s; %s\n",
		size_format(stats->ring_size, size, sizeof(size)),
		(unsigned long long)stats->ring.empty,
		stats->ring.empty == 1 ? "" : "s",
		seconds(stats->ring.starved_ns),
		(unsigned long long)stats->ring.full,
		stats->ring.full == 1 ? "" : "s",
		seconds(stats->ring.blocked_ns),
		size_format(stats->ring.highest, high, sizeof(high)),
		stats_slower(stats));
	if (stats->helpers > 0)
		fprintf(stderr, "tarpipe: read ahead by %s%u helper%s\n",
			stats->helpers > 1 ? "up to " : "", stats->helpers,
			stats->helpers == 1 ? "" : "s");
	if (stats->verifies)
		fprintf(stderr,
			"tarpipe: verified %llu file%s, %s read back; %llu "
			"differ%s\n",
			(unsigned long long)stats->verified.files,
			stats->verified.files == 1 ? "" : "s",
			size_format(stats->verified.bytes, bytes, sizeof(bytes)),
			(unsigned long long)stats->verified.differ,
			stats->verified.differ == 1 ? "s" : "");
}
