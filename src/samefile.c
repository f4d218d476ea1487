/* SPDX-License-Identifier: BSD-2-Clause */
#include "samefile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extent.h"

int samefile_room_init(struct samefile_room *room)
{
	room->one = malloc(SAMEFILE_PIECE);
	room->other = malloc(SAMEFILE_PIECE);
	if (room->one && room->other)
		return 0;
	samefile_room_destroy(room);
	errno = ENOMEM;
	return -1;
}

void samefile_room_destroy(struct samefile_room *room)
{
	free(room->one);
	free(room->other);
	room->one = room->other = NULL;
}

ssize_t samefile_read(int fd, void *to, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)to + have, size - have,
				  (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

size_t samefile_first(const void *one, const void *other, size_t size)
{
	const unsigned char *a = one, *b = other;
	size_t at = 0;

	if (memcmp(a, b, size) == 0)
		return size;
	while (a[at] == b[at])
		at++;
	return at;
}

/* ---- holes ---- */

/* What one side says about its data, from where the question was put. */
struct sight {
	const struct samefile_side *side;
	bool asks;		/* it may have holes, and can tell */
	uint64_t start, end;	/* data that is known; before it, hole */
};

static void sight_init(struct sight *sight, const struct samefile_side *side)
{
	sight->side = side;
	sight->start = sight->end = 0;
	sight->asks = extent_sparse(&side->st) &&
		      extent_settle(side->fd, &side->st) == 0;
}

/* The first data at or after `at`; `size` when there is none. */
static uint64_t sight_data(struct sight *sight, uint64_t at, uint64_t size)
{
	uint64_t start, end;
	int more;

	if (!sight->asks)
		return at;
	if (at < sight->end)
		return at > sight->start ? at : sight->start;
	more = extent_next(sight->side->fd, at, size, &start, &end);
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more < 0 ||
	    (more == 0 && at == 0 && extent_has_blocks(sight->side->fd))) {
		sight->asks = false;
		return at;
	}
	sight->start = more ? start : size;
	sight->end = more ? end : size;
	return sight->start;
}

uint64_t samefile_data(const struct samefile_side *side)
{
	uint64_t size = (uint64_t)side->st.st_size, data = 0, at = 0;
	struct sight sight;

	sight_init(&sight, side);
	while (at < size) {
		at = sight_data(&sight, at, size);
		if (!sight.asks)
			return size;
		if (at >= size)
			break;
		data += sight.end - at;
		at = sight.end;
	}
	return data;
}

enum samefile_verdict samefile_zero(const struct samefile_room *room,
				    const struct samefile_side *side,
				    uint64_t *at, uint64_t to)
{
	struct sight sight;

	if (*at >= to)
		return SAMEFILE_EQUAL;
	sight_init(&sight, side);
	while ((*at = sight_data(&sight, *at, to)) < to) {
		size_t want = to - *at < SAMEFILE_PIECE ? (size_t)(to - *at) :
							  SAMEFILE_PIECE;
		ssize_t n = samefile_read(side->fd, room->other, want, *at);

		if (n < 0)
			return SAMEFILE_BAD_ONE;
		for (size_t i = 0; i < (size_t)n; i++)
			if (room->other[i] != 0) {
				*at += i;
				return SAMEFILE_DIFFERENT;
			}
		*at += (size_t)n;
		if ((size_t)n < want)
			return SAMEFILE_DIFFERENT;
	}
	return SAMEFILE_EQUAL;
}

/* ---- comparing ---- */

/* One piece of both, of `want` bytes. */
static enum samefile_verdict compare_piece(const struct samefile_room *room,
					   const struct samefile_side *one,
					   const struct samefile_side *other,
					   uint64_t *at, size_t want)
{
	ssize_t n = samefile_read(one->fd, room->one, want, *at), m;
	size_t both, first;

	if (n < 0)
		return SAMEFILE_BAD_ONE;
	m = samefile_read(other->fd, room->other, want, *at);
	if (m < 0)
		return SAMEFILE_BAD_OTHER;
	both = (size_t)(n < m ? n : m);
	first = samefile_first(room->one, room->other, both);
	*at += first;
	return first == want ? SAMEFILE_EQUAL : SAMEFILE_DIFFERENT;
}

enum samefile_verdict samefile_compare(const struct samefile_room *room,
				       const struct samefile_side *one,
				       const struct samefile_side *other,
				       uint64_t *at)
{
	uint64_t size = (uint64_t)one->st.st_size, a, b;
	enum samefile_verdict verdict;
	struct sight first, second;

	*at = 0;
	if (one->st.st_dev == other->st.st_dev &&
	    one->st.st_ino == other->st.st_ino)
		return SAMEFILE_EQUAL;
	sight_init(&first, one);
	sight_init(&second, other);
	while (*at < size) {
		a = sight_data(&first, *at, size);
		b = sight_data(&second, *at, size);
		*at = a < b ? a : b;
		if (*at >= size)
			break;
		verdict = compare_piece(room, one, other, at,
					size - *at < SAMEFILE_PIECE ?
						(size_t)(size - *at) :
						SAMEFILE_PIECE);
		if (verdict != SAMEFILE_EQUAL)
			return verdict;
	}
	return SAMEFILE_EQUAL;
}
