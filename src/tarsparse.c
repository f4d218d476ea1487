/* SPDX-License-Identifier: BSD-2-Clause */
#include "tarsparse.h"

#include <stdio.h>
#include <stdlib.h>

void sparse_init(struct sparse *sparse, tar_sink *sink, void *arg)
{
	*sparse = (struct sparse){ .sink = sink, .arg = arg };
}

void sparse_destroy(struct sparse *sparse)
{
	free(sparse->given);
	free(sparse->spans);
}

static int map_add(struct bytes *map, uint64_t number)
{
	char line[32];

	snprintf(line, sizeof(line), "%llu\n", (unsigned long long)number);
	return bytes_put(map, line);
}

static uint64_t end_of(const struct tar_extent *extent)
{
	return extent->offset + extent->length;
}

uint64_t sparse_length(const struct sparse *sparse)
{
	uint64_t length = 0;

	for (size_t i = 0; i < sparse->nspans; i++)
		length += sparse->spans[i].length;
	return length;
}

static int reserve_extents(struct sparse *sparse, size_t count)
{
	struct tar_extent *given, *spans;

	if (count <= sparse->room)
		return 0;
	given = realloc(sparse->given, count * sizeof(*given));
	if (given)
		sparse->given = given;
	spans = realloc(sparse->spans, count * sizeof(*spans));
	if (spans)
		sparse->spans = spans;
	if (!given || !spans)
		return -1;
	sparse->room = count;
	return 0;
}

/* The extents in whole blocks, those that meet made one. */
static void make_spans(struct sparse *sparse)
{
	struct tar_extent *last = NULL;

	sparse->nspans = 0;
	for (size_t i = 0; i < sparse->ngiven; i++) {
		const struct tar_extent *given = &sparse->given[i];
		uint64_t start = given->offset - given->offset % TAR_BLOCK;
		uint64_t end = end_of(given);

		end += (TAR_BLOCK - end % TAR_BLOCK) % TAR_BLOCK;
		if (end > sparse->size)
			end = sparse->size;
		if (last && start <= end_of(last)) {
			last->length = end - last->offset;
			continue;
		}
		last = &sparse->spans[sparse->nspans++];
		*last = (struct tar_extent){ start, end - start };
	}
}

int sparse_begin(struct sparse *sparse, const struct tar_member *member,
		 bool whole)
{
	if (reserve_extents(sparse, member->nextents + 1) != 0)
		return -1;
	sparse->size = member->meta.size;
	sparse->ngiven = member->nextents;
	for (size_t i = 0; i < member->nextents; i++)
		sparse->given[i] = member->extents[i];
	if (whole) {
		sparse->spans[0] = (struct tar_extent){ 0, sparse->size };
		sparse->nspans = 1;
	} else {
		make_spans(sparse);
	}
	sparse->next_given = sparse->next_span = 0;
	sparse->position = 0;
	return 0;
}

int sparse_map(const struct sparse *sparse, struct bytes *map)
{
	size_t n = sparse->nspans;
	bool tail = n == 0 || end_of(&sparse->spans[n - 1]) < sparse->size;

	if (map_add(map, n + tail) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (map_add(map, sparse->spans[i].offset) != 0 ||
		    map_add(map, sparse->spans[i].length) != 0)
			return -1;
	if (tail && (map_add(map, sparse->size) != 0 || map_add(map, 0) != 0))
		return -1;
	return pax_pad(map);
}

/* ---- data ---- */

static int put_zeros(struct sparse *sparse, uint64_t size)
{
	static const unsigned char zeros[64 << 10];

	while (size > 0) {
		size_t piece = size < sizeof(zeros) ? (size_t)size :
						      sizeof(zeros);

		if (sparse->sink(sparse->arg, zeros, piece) != 0)
			return -1;
		size -= piece;
	}
	return 0;
}

/* Moves on in a sparse file: what lies in a span and was not given is zeros. */
static int move_to(struct sparse *sparse, uint64_t to)
{
	while (sparse->position < to && sparse->next_span < sparse->nspans) {
		const struct tar_extent *span =
			&sparse->spans[sparse->next_span];
		uint64_t end = end_of(span) < to ? end_of(span) : to;

		if (sparse->position < span->offset)
			sparse->position = span->offset;
		if (sparse->position < end) {
			if (put_zeros(sparse, end - sparse->position) != 0)
				return -1;
			sparse->position = end;
		}
		if (end_of(span) > to)
			break;
		sparse->next_span++;
	}
	if (sparse->position < to)
		sparse->position = to;
	return 0;
}

/* As much of it as belongs to the next extent that is not complete. */
static ssize_t put_extent(struct sparse *sparse, const void *bytes,
			  size_t size)
{
	const struct tar_extent *given = &sparse->given[sparse->next_given];
	uint64_t left;

	if (sparse->position < given->offset &&
	    move_to(sparse, given->offset) != 0)
		return -1;
	left = end_of(given) - sparse->position;
	if (size > left)
		size = (size_t)left;
	if (sparse->sink(sparse->arg, bytes, size) != 0)
		return -1;
	sparse->position += size;
	if (sparse->position == end_of(given))
		sparse->next_given++;
	return (ssize_t)size;
}

int sparse_data(struct sparse *sparse, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size > 0 && sparse->next_given < sparse->ngiven) {
		ssize_t n = put_extent(sparse, at, size);

		if (n < 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int sparse_end(struct sparse *sparse)
{
	return move_to(sparse, UINT64_MAX);
}
