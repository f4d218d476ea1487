/* SPDX-License-Identifier: BSD-2-Clause */
#include "gunzip.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

struct gunzip {
	struct feed *feed;
	z_stream inflate;
	bool inside;		/* a member */
	bool ended;
	bool any;		/* a member has begun */
	char words[96];
};

struct gunzip *gunzip_new(struct feed *feed)
{
	struct gunzip *gunzip = calloc(1, sizeof(*gunzip));

	if (!gunzip)
		return NULL;
	gunzip->feed = feed;
	/* 16 more: the gzip format, and no other. */
	if (inflateInit2(&gunzip->inflate, 15 + 16) == Z_OK)
		return gunzip;
	free(gunzip);
	errno = ENOMEM;
	return NULL;
}

void gunzip_free(struct gunzip *gunzip)
{
	if (!gunzip)
		return;
	(void)inflateEnd(&gunzip->inflate);
	free(gunzip);
}

const char *gunzip_error(const struct gunzip *gunzip)
{
	return gunzip->words;
}

static int gunzip_bad(struct gunzip *gunzip, const char *words)
{
	snprintf(gunzip->words, sizeof(gunzip->words), "%s", words);
	errno = EBADMSG;
	return -1;
}

/* zlib's words are for those who know the format. */
static int gunzip_damaged(struct gunzip *gunzip)
{
	const char *why = gunzip->inflate.msg ? gunzip->inflate.msg : "no data";

	if (strcmp(why, "incorrect data check") == 0)
		return gunzip_bad(gunzip, "gzip data is damaged: "
				  "the checksum does not match");
	if (strcmp(why, "incorrect length check") == 0)
		return gunzip_bad(gunzip, "gzip data is damaged: "
				  "the length does not match");
	snprintf(gunzip->words, sizeof(gunzip->words),
		 "gzip data is damaged: %s", why);
	errno = EBADMSG;
	return -1;
}

/* Between members: 1 when one begins, 0 at the end, -1 with errno. */
static int gunzip_next(struct gunzip *gunzip)
{
	struct feed *feed = gunzip->feed;
	ssize_t n = feed_peek(feed, 2);

	if (n < 0)
		return -1;
	if (n == 2 && feed->at[0] == 0x1f && feed->at[1] == 0x8b) {
		gunzip->any = gunzip->inside = true;
		(void)inflateReset(&gunzip->inflate);
		return 1;
	}
	if (n == 1 && feed->at[0] == 0x1f)
		return gunzip_bad(gunzip, "gzip data is cut");
	if (!gunzip->any)
		return gunzip_bad(gunzip, n == 0 ? "no gzip data: it is empty"
						 : "not a gzip header");
	gunzip->ended = true;
	return 0;
}

/* One step inside a member: bytes made, which may be 0, or -1 with errno. */
static ssize_t gunzip_step(struct gunzip *gunzip, void *to, size_t size)
{
	struct feed *feed = gunzip->feed;
	z_stream *z = &gunzip->inflate;
	int more = feed_more(feed);

	if (more < 0)
		return -1;
	size_t given = feed->left < UINT_MAX ? feed->left : UINT_MAX;

	z->next_in = feed->at;
	z->avail_in = (uInt)given;
	z->next_out = to;
	z->avail_out = size < UINT_MAX ? (uInt)size : UINT_MAX;
	int done = inflate(z, Z_NO_FLUSH);
	size_t made = (size_t)(z->next_out - (unsigned char *)to);

	feed_take(feed, given - z->avail_in);
	gunzip->inside = done != Z_STREAM_END;
	/* What came before damage is given first; zlib says the same again. */
	if (made > 0 || done == Z_STREAM_END)
		return (ssize_t)made;
	if (done == Z_MEM_ERROR) {
		errno = ENOMEM;
		return -1;
	}
	if (done != Z_OK && done != Z_BUF_ERROR)
		return gunzip_damaged(gunzip);
	return more == 0 ? gunzip_bad(gunzip, "gzip data is cut") : 0;
}

ssize_t gunzip_read(struct gunzip *gunzip, void *to, size_t size)
{
	ssize_t made = 0;

	while (made == 0 && !gunzip->ended) {
		if (!gunzip->inside) {
			int next = gunzip_next(gunzip);

			if (next <= 0)
				return next;
		}
		made = gunzip_step(gunzip, to, size);
	}
	return made;
}
