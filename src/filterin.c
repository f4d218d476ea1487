/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way in.
 *
 * libarchive gives the bytes of zstd, xz, lz4 and bzip2, but is of little help about
 * the end: it takes some cut streams for whole ones, some padding for damage, and drops
 * what it has decompressed when it finds that.  So it is fed frame by frame, as
 * frames.c sees them, and told that the input ends where the last frame does.  Only
 * bzip2, which is a stream of bits, is left to find its own end; what it has not used
 * comes back.
 *
 * libarchive looks at the first bytes when it opens, and makes no difference between
 * a stream of nothing and a damaged one.  It was nothing when it has asked for more
 * input than there are frames; of bzip2, which asks before it knows, streams of nothing
 * never get there.
 */
#include "filter.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "frames.h"
#include "gunzip.h"

enum { BZIP2_EMPTY = 14 };	/* bytes of the shortest bzip2 stream */

struct filter_in {
	enum filter_kind kind;
	struct feed feed;
	struct gunzip *gunzip;	/* or: */
	struct archive *archive;
	struct frames frames;

	const char *piece;	/* decompressed by libarchive, not yet read */
	size_t left;
	bool opened;
	bool any;		/* a frame has begun */
	bool given;		/* libarchive has something */
	bool passed;		/* libarchive was told that the input ends */
	uint64_t start;		/* where what it was given began */
	bool cut;

	bool ended;
	uint64_t used;		/* up to the end of the last frame */
	bool junk;
	int err;		/* the first one, which stays */
	char words[160];
};

/* ---- errors ---- */

static int in_fail(struct filter_in *in, int err)
{
	in->err = err;
	errno = err;
	return -1;
}

static int in_bad(struct filter_in *in, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int in_bad(struct filter_in *in, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(in->words, sizeof(in->words), format, args);
	va_end(args);
	return in_fail(in, EBADMSG);
}

static int in_cut(struct filter_in *in)
{
	return in_bad(in, "%s data is cut", filter_name(in->kind));
}

/* libarchive has given up: why? */
static int in_broken(struct filter_in *in)
{
	const char *why = archive_error_string(in->archive);

	if (in->err != 0)
		return in_fail(in, in->err);
	if (in->feed.err != 0)
		return in_fail(in, in->feed.err);
	if (in->cut)
		return in_cut(in);
	if (archive_errno(in->archive) == ENOMEM)
		return in_fail(in, ENOMEM);
	/* That is all it says when the first block can't be had. */
	if (!why || !in->opened)
		return in_bad(in, "%s data is damaged", filter_name(in->kind));
	return in_bad(in, "%s data is damaged: %s", filter_name(in->kind), why);
}

/* ---- feeding libarchive ---- */

/* xz allows zeros between streams, four by four. */
static int in_padding(struct filter_in *in)
{
	while (in->kind == FILTER_XZ && in->any) {
		ssize_t n = feed_peek(&in->feed, 4);

		if (n < 0)
			return -1;
		if (n < 4 || memcmp(in->feed.at, "\0\0\0\0", 4) != 0)
			break;
		feed_take(&in->feed, 4);
	}
	return 0;
}

/* Between frames: 1 when another begins, 0 when none does, -1 with errno. */
static int in_next_frame(struct filter_in *in)
{
	for (;;) {
		in->used = in->feed.used;
		if (in_padding(in) != 0)
			return -1;
		ssize_t n = feed_peek(&in->feed, FRAMES_PEEK);

		if (n < 0)
			return -1;
		enum frames_begin begin = frames_begins(&in->frames, in->feed.at,
							(size_t)n);

		in->cut = begin == FRAMES_PART;
		if (begin != FRAMES_YES)
			return 0;
		in->any = true;
		size_t empty = frames_empty(&in->frames, in->feed.at, (size_t)n);

		if (empty == 0 || in->frames.lost)
			return 1;
		feed_take(&in->feed, empty);
	}
}

/* The head of a bzip2 stream, or as much of it as there is. */
static bool is_bzip2(const unsigned char *bytes, ssize_t size)
{
	return size > 0 && memcmp(bytes, "BZh", size < 3 ? (size_t)size : 3) == 0 &&
	       (size < 4 || (bytes[3] >= '1' && bytes[3] <= '9'));
}

/* At the beginning: 1 when there is a stream with data, 0 when not, -1 with errno. */
static int in_first_bzip2(struct filter_in *in)
{
	static const char data[] = "\x31\x41\x59\x26\x53\x59";
	static const char none[] = "\x17\x72\x45\x38\x50\x90\0\0\0";
	ssize_t n;

	while ((n = feed_peek(&in->feed, BZIP2_EMPTY)) == BZIP2_EMPTY &&
	       is_bzip2(in->feed.at, n)) {
		if (memcmp(in->feed.at + 4, data, sizeof(data) - 1) == 0)
			return 1;
		if (memcmp(in->feed.at + 4, none, sizeof(none)) != 0)
			break;
		feed_take(&in->feed, BZIP2_EMPTY);
		in->any = true;
	}
	in->start = in->feed.used;
	return n < 0 ? -1 : 0;
}

/* Sees to it that there is more of a frame: 1, 0 at the end, -1 with errno. */
static int in_more(struct filter_in *in)
{
	bool frames = in->kind != FILTER_BZIP2;
	int next = 1;

	if (in->passed)
		return 0;
	if (frames && !in->frames.inside)
		next = in_next_frame(in);
	else if (!frames && !in->given)
		next = in_first_bzip2(in);
	if (next <= 0)
		return next;
	int more = feed_more(&in->feed);

	if (more == 0 && frames)
		in->cut = !in->frames.lost;
	return more;
}

static la_ssize_t in_source(struct archive *archive, void *arg, const void **bytes)
{
	struct filter_in *in = arg;
	int more = in_more(in);
	size_t size;

	if (more < 0) {
		archive_set_error(archive, errno, "source");
		return -1;
	}
	in->passed = more == 0;
	if (more == 0)
		return 0;
	size = in->feed.left;
	if (in->kind != FILTER_BZIP2)
		size = frames_walk(&in->frames, in->feed.at, size);
	if (!in->given)
		in->start = in->feed.used;
	in->given = true;
	*bytes = in->feed.at;
	feed_take(&in->feed, size);
	return (la_ssize_t)size;
}

/* ---- the end ---- */

/* What follows a bzip2 stream, or stands in its place: 0, or -1 with errno. */
static int in_end_bzip2(struct filter_in *in)
{
	uint64_t used = in->start +
			(uint64_t)archive_filter_bytes(in->archive, -1);
	ssize_t n;

	if (!feed_back(&in->feed, (size_t)(in->feed.used - used)))
		return in_bad(in, "bzip2 data is damaged");
	in->used = used;
	in->any |= in->given;
	n = feed_peek(&in->feed, BZIP2_EMPTY);
	if (n < 0)
		return in_fail(in, in->feed.err);
	if (!is_bzip2(in->feed.at, n))
		return 0;
	return n < BZIP2_EMPTY ? in_cut(in) : in_bad(in, "bzip2 data is damaged");
}

/* libarchive is at its end: 0 when that is right. */
static int in_end(struct filter_in *in)
{
	if (in->cut || in->feed.err != 0)
		return in_broken(in);
	if (in->kind == FILTER_BZIP2) {
		if (in_end_bzip2(in) != 0)
			return -1;
	} else if (!in->passed || in->frames.inside) {
		return in_bad(in, "%s data is damaged", filter_name(in->kind));
	}
	if (!in->any && in->feed.used == 0 && in->feed.ended && in->feed.left == 0)
		return in_bad(in, "no %s data: it is empty", filter_name(in->kind));
	if (!in->any)
		return in_bad(in, "not %s data", filter_name(in->kind));
	return 0;
}

/* After the last frame there may be the zeros of a tape's last record. */
static ssize_t in_rest(struct filter_in *in)
{
	int more = feed_zeros(&in->feed);

	if (more < 0)
		return in_fail(in, in->feed.err);
	in->junk = more > 0;
	in->ended = true;
	return 0;
}

/* ---- reading ---- */

static int (*in_support(enum filter_kind kind, int *code))(struct archive *)
{
	switch (kind) {
	case FILTER_ZSTD:
		*code = ARCHIVE_FILTER_ZSTD;
		return archive_read_support_filter_zstd;
	case FILTER_XZ:
		*code = ARCHIVE_FILTER_XZ;
		return archive_read_support_filter_xz;
	case FILTER_LZ4:
		*code = ARCHIVE_FILTER_LZ4;
		return archive_read_support_filter_lz4;
	case FILTER_BZIP2:
		*code = ARCHIVE_FILTER_BZIP2;
		return archive_read_support_filter_bzip2;
	case FILTER_GZIP:
	case FILTER_NONE:
		break;
	}
	return NULL;
}

/* Returns 0 or an errno. */
static int in_prepare(struct filter_in *in)
{
	int code = 0;
	int (*support)(struct archive *) = in_support(in->kind, &code);

	if (!support)
		return EINVAL;
	frames_init(&in->frames, in->kind);
	in->archive = archive_read_new();
	if (!in->archive)
		return ENOMEM;
	/*
	 * ARCHIVE_WARN: it would run a program.  Appended, a filter is not looked for in
	 * what it gives: compressed twice is decompressed once.
	 */
	if (support(in->archive) != ARCHIVE_OK ||
	    archive_read_append_filter(in->archive, code) != ARCHIVE_OK ||
	    archive_read_support_format_raw(in->archive) != ARCHIVE_OK)
		return EINVAL;
	return 0;
}

struct filter_in *filter_in_new(enum filter_kind kind, filter_source *source, void *arg)
{
	struct filter_in *in = calloc(1, sizeof(*in));
	int err;

	if (!in)
		return NULL;
	in->kind = kind;
	feed_init(&in->feed, source, arg);
	if (kind == FILTER_GZIP) {
		in->gunzip = gunzip_new(&in->feed);
		err = in->gunzip ? 0 : ENOMEM;
	} else {
		err = in_prepare(in);
	}
	if (err == 0)
		return in;
	filter_in_free(in);
	errno = err;
	return NULL;
}

/* The first bytes: 1, 0 when there are none, -1 with errno. */
static int in_open(struct filter_in *in)
{
	struct archive_entry *entry;

	if (archive_read_open(in->archive, in, NULL, in_source, NULL) == ARCHIVE_OK &&
	    archive_read_next_header(in->archive, &entry) == ARCHIVE_OK) {
		in->opened = true;
		return 1;
	}
	if (in->passed && in->given && in->kind == FILTER_BZIP2)
		in->cut = true;
	return in->passed && !in->cut && in->feed.err == 0 ? 0 : in_broken(in);
}

/* The next piece from libarchive: 1, 0 at the end, -1 with errno. */
static int in_fill(struct filter_in *in)
{
	while (in->left == 0) {
		const void *bytes = NULL;
		la_int64_t offset;
		int more = in->opened ? 1 : in_open(in);

		if (more <= 0)
			return more;
		int got = archive_read_data_block(in->archive, &bytes, &in->left,
						  &offset);

		in->piece = bytes;
		if (got == ARCHIVE_EOF) {
			in->left = 0;
			return 0;
		}
		if (got != ARCHIVE_OK) {
			in->left = 0;
			in->cut |= in->passed && in->kind == FILTER_BZIP2;
			return in_broken(in);
		}
	}
	return 1;
}

static ssize_t in_read_archive(struct filter_in *in, void *to, size_t size)
{
	int more = in_fill(in);

	if (more < 0)
		return -1;
	if (more == 0)
		return in_end(in) == 0 ? in_rest(in) : -1;
	if (size > in->left)
		size = in->left;
	memcpy(to, in->piece, size);
	in->piece += size;
	in->left -= size;
	return (ssize_t)size;
}

static ssize_t in_read_gzip(struct filter_in *in, void *to, size_t size)
{
	ssize_t made = gunzip_read(in->gunzip, to, size);

	in->used = in->feed.used;
	if (made < 0 && errno == EBADMSG && in->feed.err == 0)
		return in_bad(in, "%s", gunzip_error(in->gunzip));
	if (made < 0)
		return in_fail(in, errno);
	return made == 0 ? in_rest(in) : made;
}

ssize_t filter_in_read(struct filter_in *in, void *to, size_t size)
{
	if (in->err != 0) {
		errno = in->err;
		return -1;
	}
	if (in->ended || size == 0)
		return 0;
	return in->gunzip ? in_read_gzip(in, to, size)
			  : in_read_archive(in, to, size);
}

const char *filter_in_error(const struct filter_in *in)
{
	return in->words;
}

uint64_t filter_in_used(const struct filter_in *in)
{
	return in->ended ? in->used : in->feed.used;
}

bool filter_in_junk(const struct filter_in *in)
{
	return in->junk;
}

void filter_in_free(struct filter_in *in)
{
	if (!in)
		return;
	gunzip_free(in->gunzip);
	if (in->archive)
		(void)archive_read_free(in->archive);
	free(in);
}
