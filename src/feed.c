/* SPDX-License-Identifier: BSD-2-Clause */
#include "feed.h"

#include <errno.h>
#include <string.h>

void feed_init(struct feed *feed, filter_source *source, void *arg)
{
	*feed = (struct feed){ .source = source, .arg = arg };
}

/* Keeps the end of what has been taken of this piece. */
static void feed_remember(struct feed *feed)
{
	size_t size = (size_t)(feed->at - feed->base);

	if (feed->base == NULL || size == 0)
		return;
	if (size > FEED_PEEK)
		size = FEED_PEEK;
	size_t old = feed->npast;

	if (old > FEED_PEEK - size)
		old = FEED_PEEK - size;
	memmove(feed->past, feed->past + feed->npast - old, old);
	memcpy(feed->past + old, feed->at - size, size);
	feed->npast = old + size;
	feed->base = feed->at;
}

static void feed_turn(struct feed *feed, const unsigned char *at, size_t left)
{
	feed->base = feed->at = at;
	feed->left = left;
}

/* The next piece, behind what is there: 1, 0 at the end, -1 with errno. */
static int feed_fetch(struct feed *feed)
{
	const void *bytes = NULL;

	if (feed->next_left > 0)
		return 1;
	if (feed->err != 0) {
		errno = feed->err;
		return -1;
	}
	if (feed->ended)
		return 0;
	errno = 0;
	ssize_t size = feed->source(feed->arg, &bytes);

	if (size < 0) {
		feed->err = errno ? errno : EIO;
		errno = feed->err;
		return -1;
	}
	feed->ended = size == 0;
	feed->next = bytes;
	feed->next_left = (size_t)size;
	return size > 0;
}

int feed_more(struct feed *feed)
{
	if (feed->left > 0)
		return 1;
	/* Before the source makes the piece void. */
	feed_remember(feed);
	int more = feed_fetch(feed);

	if (more > 0) {
		feed_turn(feed, feed->next, feed->next_left);
		feed->next_left = 0;
	} else {
		feed_turn(feed, NULL, 0);
	}
	return more;
}

ssize_t feed_peek(struct feed *feed, size_t want)
{
	if (feed_more(feed) < 0)
		return -1;
	while (feed->left < want && feed->left > 0) {
		feed_remember(feed);
		memmove(feed->carry, feed->at, feed->left);
		feed_turn(feed, feed->carry, feed->left);
		int more = feed_fetch(feed);

		if (more < 0)
			return -1;
		if (more == 0)
			break;
		size_t part = want - feed->left;

		if (part > feed->next_left)
			part = feed->next_left;
		memcpy(feed->carry + feed->left, feed->next, part);
		feed->left += part;
		feed->next += part;
		feed->next_left -= part;
	}
	return (ssize_t)(feed->left < want ? feed->left : want);
}

void feed_take(struct feed *feed, size_t size)
{
	if (size == 0)
		return;
	feed->at += size;
	feed->left -= size;
	feed->used += size;
}

bool feed_back(struct feed *feed, size_t size)
{
	size_t here = (size_t)(feed->at - feed->base);

	if (here > size)
		here = size;
	if (here > 0) {
		feed->at -= here;
		feed->left += here;
	}
	feed->used -= here;
	size -= here;
	if (size == 0)
		return true;
	if (size > feed->npast || feed->next_left > 0)
		return false;
	feed->next = feed->at;
	feed->next_left = feed->left;
	feed->npast -= size;
	memcpy(feed->carry, feed->past + feed->npast, size);
	feed_turn(feed, feed->carry, size);
	feed->used -= size;
	return true;
}

int feed_zeros(struct feed *feed)
{
	int more;

	while ((more = feed_more(feed)) > 0) {
		size_t n = 0;

		while (n < feed->left && feed->at[n] == 0)
			n++;
		feed_take(feed, n);
		if (feed->left > 0)
			return 1;
	}
	return more;
}
