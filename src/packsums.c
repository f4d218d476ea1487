/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of what is read at the source, for --verify; does nothing without. */
#include "packing.h"

#include <errno.h>
#include <stdlib.h>

#include "extent.h"
#include "sums.h"

enum { PIECE = 256 << 10 };	/* bytes that are read at once */

/*
 * sums_taker.  Nothing is put into the ring here: what is summed up may lie in it, and room
 * for a record may be where the consumer is through with that already.
 */
static int pack_sums(void *arg, const struct sums_run *run)
{
	struct pack *pack = arg;

	if (pack->ndue == PACK_SUMS_DUE)
		abort();
	pack->due[pack->ndue++] = *run;
	return 0;
}

int pack_sum_send(struct pack *pack)
{
	int got = 0;

	for (unsigned i = 0; i < pack->ndue && got == 0; i++) {
		const struct record record = sums_to_record(&pack->due[i]);

		got = pack_emit(pack, &record);
	}
	pack->ndue = 0;
	return got;
}

int pack_sum_init(struct pack *pack)
{
	if (!pack->config.opts->verify || pack->tar)
		return 0;
	pack->sums = sums_new(pack_sums, pack);
	return pack->sums ? 0 : -1;
}

void pack_sum_destroy(struct pack *pack)
{
	sums_free(pack->sums);
	free(pack->unsent);
}

void pack_sum_begin(struct pack *pack)
{
	if (pack->sums)
		sums_begin(pack->sums);
}

void pack_sum_data(struct pack *pack, const void *bytes, size_t size,
		   uint64_t offset)
{
	if (pack->sums)
		(void)sums_add(pack->sums, bytes, size, offset);
}

int pack_sum_end(struct pack *pack, uint64_t size)
{
	if (!pack->sums)
		return 0;
	(void)sums_end(pack->sums, size);
	return pack_sum_send(pack);
}

size_t pack_sum_room(const struct pack *pack)
{
	return pack->sums ? sums_small_size() : 0;
}

size_t pack_sum_small(const struct pack *pack, void *at, const void *bytes,
		      size_t size)
{
	return pack->sums ? sums_put_small(at, bytes, size) : 0;
}

/* Reads [from, to); as pack_sum_unsent. */
static int sum_range(struct pack *pack, struct source *source, uint64_t from,
		     uint64_t to, int *failure)
{
	while (from < to) {
		uint64_t left = to - from;
		ssize_t n = source_read_at(source, pack->unsent,
					   left < PIECE ? (size_t)left : PIECE,
					   from);

		if (n < 0) {
			*failure = errno;
			source_tell_error(pack, errno, from, "");
		}
		if (n <= 0)
			return 1;
		pack_sum_data(pack, pack->unsent, (size_t)n, from);
		if (pack_sum_send(pack) != 0)
			return -1;
		from += (uint64_t)n;
	}
	return 0;
}

/* The data of a file whose holes can be asked for. */
static int sum_extents(struct pack *pack, struct source *source, uint64_t size,
		       int *failure)
{
	uint64_t at = 0, start, end;
	int more, got;

	while ((more = extent_next(source->fd, at, size, &start, &end)) > 0) {
		got = sum_range(pack, source, start, end, failure);
		if (got != 0)
			return got;
		at = end;
	}
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more < 0 || (at == 0 && extent_has_blocks(source->fd)))
		return sum_range(pack, source, at, size, failure);
	return 0;
}

/* What a helper has read; its descriptor is closed. */
static int sum_fetched(struct pack *pack, const struct source *source,
		       int *failure)
{
	const struct fetch *fetch = source->fetch;
	uint64_t size = (uint64_t)source->st.st_size;
	size_t have = fetch->got < 0 ? 0 : (size_t)fetch->got;

	if (fetch->got < 0) {
		*failure = fetch->err;
		source_tell_error(pack, fetch->err, 0, "");
		return 0;
	}
	if (have != size)
		source_tell_size(pack, source, have, "");
	pack_sum_begin(pack);
	pack_sum_data(pack, fetch->data, have < size ? have : (size_t)size, 0);
	return pack_sum_end(pack, size);
}

int pack_sum_unsent(struct pack *pack, struct source *source, bool holes,
		    int *failure)
{
	uint64_t size = (uint64_t)source->st.st_size;
	int got;

	if (!pack->sums)
		return 0;
	if (source->fd < 0)
		return sum_fetched(pack, source, failure);
	if (!pack->unsent)
		pack->unsent = malloc(PIECE);
	if (!pack->unsent) {
		*failure = ENOMEM;
		source_tell_error(pack, ENOMEM, 0, "");
		return 0;
	}
	/* What has been packed is not to wait for this. */
	ring_urge(pack->ring);
	pack_sum_begin(pack);
	got = holes ? sum_extents(pack, source, size, failure) :
		      sum_range(pack, source, 0, size, failure);
	if (got >= 0 && *failure == 0)
		got = pack_sum_end(pack, size);
	return got < 0 ? -1 : 0;
}
