/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes: byte strings that grow, as sinks and sources of filters, and what to fill them
 * with.
 */
#ifndef TARPIPE_BYTES_H
#define TARPIPE_BYTES_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct bytes {
	unsigned char *at;
	size_t size, room;
};

static inline void bytes_add(struct bytes *bytes, const void *from, size_t size)
{
	if (bytes->size + size > bytes->room) {
		bytes->room = 2 * (bytes->size + size) + 64;
		bytes->at = realloc(bytes->at, bytes->room);
		assert_non_null(bytes->at);
	}
	if (size > 0)
		memcpy(bytes->at + bytes->size, from, size);
	bytes->size += size;
}

static inline void bytes_free(struct bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct bytes){ 0 };
}

/* Of `size`: 'r' random, 't' like text, 'z' zeros; always the same. */
static inline struct bytes bytes_make(char type, size_t size)
{
	struct bytes bytes = { 0 };
	uint32_t random = 12345;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525u + 1013904223u;
		unsigned char byte = (unsigned char)(random >> 24);

		if (type == 't')
			byte = "etaoin shrdlu, ."[byte & (i / 700 % 2 ? 3 : 15)];
		else if (type == 'z')
			byte = 0;
		bytes_add(&bytes, &byte, 1);
	}
	return bytes;
}

static inline void bytes_same(const struct bytes *a, const struct bytes *b)
{
	assert_int_equal(a->size, b->size);
	if (a->size > 0)
		assert_memory_equal(a->at, b->at, a->size);
}

/* A filter_sink that keeps what it gets; it may fail. */
struct keeper {
	struct bytes bytes;
	unsigned calls;
	unsigned good;		/* so many calls go well, when `fails` */
	int fails;		/* errno */
	unsigned late;		/* calls after it failed */
};

static inline int keeper_sink(void *arg, const void *bytes, size_t size)
{
	struct keeper *keeper = arg;

	if (keeper->fails && keeper->calls >= keeper->good) {
		if (keeper->calls++ > keeper->good)
			keeper->late++;
		errno = keeper->fails;
		return -1;
	}
	keeper->calls++;
	bytes_add(&keeper->bytes, bytes, size);
	return 0;
}

/* A filter_source of bytes, by pieces; it may fail at its end. */
struct giver {
	const struct bytes *bytes;
	size_t piece, next;
	int fails;		/* errno */
	unsigned late;		/* calls after the end */
	int ended;
	unsigned char held[64];	/* small pieces, void when the next is given */
};

static inline ssize_t giver_source(void *arg, const void **bytes)
{
	struct giver *giver = arg;
	size_t left = giver->bytes->size - giver->next;
	size_t size = giver->piece < left ? giver->piece : left;

	giver->late += (unsigned)giver->ended;
	giver->ended = size == 0;
	if (size == 0 && giver->fails) {
		errno = giver->fails;
		return -1;
	}
	*bytes = giver->bytes->at + giver->next;
	if (size > 0 && size <= sizeof(giver->held)) {
		memset(giver->held, 0xee, sizeof(giver->held));
		*bytes = memcpy(giver->held, *bytes, size);
	}
	giver->next += size;
	return (ssize_t)size;
}

#endif
