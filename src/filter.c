/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds, and the way out.  The way in is filterin.c.
 */
#include "filter.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "gzip.h"

/* ---- kinds ---- */

static const struct kind {
	const char *name;
	int least, most;	/* levels */
	int (*add)(struct archive *archive);
	bool threads;		/* libarchive's filter has that option */
} kinds[] = {
	[FILTER_NONE] = { "none", 0, 0, NULL, false },
	[FILTER_GZIP] = { "gzip", 1, 9, NULL, false },
	[FILTER_ZSTD] = { "zstd", 1, 22, archive_write_add_filter_zstd, true },
	[FILTER_XZ] = { "xz", 0, 9, archive_write_add_filter_xz, true },
	[FILTER_LZ4] = { "lz4", 1, 9, archive_write_add_filter_lz4, false },
	[FILTER_BZIP2] = { "bzip2", 1, 9, archive_write_add_filter_bzip2, false },
};

static const struct kind *kind_find(enum filter_kind kind)
{
	if (kind <= FILTER_NONE || (size_t)kind >= sizeof(kinds) / sizeof(*kinds))
		return NULL;
	return &kinds[kind];
}

const char *filter_name(enum filter_kind kind)
{
	const struct kind *found = kind_find(kind);

	return found ? found->name : kinds[FILTER_NONE].name;
}

bool filter_levels(enum filter_kind kind, int *least, int *most)
{
	const struct kind *found = kind_find(kind);

	if (!found)
		return false;
	*least = found->least;
	*most = found->most;
	return true;
}

/* The magic of the first block, or of the end of a stream without one. */
static bool is_bzip2(const unsigned char *bytes, size_t size)
{
	size_t more = size > 4 ? size - 4 : 0;

	if (size < 4 || memcmp(bytes, "BZh", 3) != 0 || bytes[3] < '1' ||
	    bytes[3] > '9')
		return false;
	if (more > 6)
		more = 6;
	return memcmp(bytes + 4, "\x31\x41\x59\x26\x53\x59", more) == 0 ||
	       memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", more) == 0;
}

enum filter_kind filter_detect(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	if (size >= 3 && at[0] == 0x1f && at[1] == 0x8b && at[2] == 8)
		return FILTER_GZIP;
	if (is_bzip2(at, size))
		return FILTER_BZIP2;
	return frames_detect(at, size);
}

/* ---- compressing ---- */

struct filter_out {
	enum filter_kind kind;
	struct gzip *gzip;		/* or: */
	struct archive *archive;
	filter_sink *sink;
	void *arg;
	bool begun;			/* the archive is open */
	bool closed;
	bool dropped;			/* the sink gets no more */
	int err;			/* the first one */
};

static la_ssize_t out_sink(struct archive *archive, void *arg, const void *bytes,
			   size_t size)
{
	struct filter_out *out = arg;

	if (!out->dropped) {
		errno = 0;
		if (out->sink(out->arg, bytes, size) == 0)
			return (la_ssize_t)size;
		out->dropped = true;
		out->err = errno ? errno : EIO;
	}
	archive_set_error(archive, out->err ? out->err : ECANCELED, "sink");
	return -1;
}

/* What libarchive says about a failure; the sink's own errno comes first. */
static int out_fail(struct filter_out *out)
{
	if (out->err == 0) {
		int err = archive_errno(out->archive);

		out->err = err > 0 ? err : EIO;
	}
	out->dropped = true;
	errno = out->err;
	return -1;
}

static int out_option(struct filter_out *out, const char *name, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return archive_write_set_filter_option(out->archive, NULL, name, text);
}

/* Returns 0 or an errno. */
static int out_prepare(struct filter_out *out, const struct kind *kind, int level,
		       unsigned threads)
{
	out->archive = archive_write_new();
	if (!out->archive)
		return ENOMEM;
	/* ARCHIVE_WARN: it would run a program. */
	if (archive_write_set_format_raw(out->archive) != ARCHIVE_OK ||
	    kind->add(out->archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(out->archive, 0) != ARCHIVE_OK)
		return EINVAL;
	if (level >= 0 &&
	    out_option(out, "compression-level", (unsigned)level) != ARCHIVE_OK)
		return EINVAL;
	/* Where this libarchive can't, one thread does it. */
	if (kind->threads && threads > 1)
		(void)out_option(out, "threads", threads);
	return 0;
}

/* Before the first byte. */
static int out_begin(struct filter_out *out)
{
	struct archive_entry *entry;
	bool good;

	if (out->begun)
		return 0;
	out->begun = true;
	entry = archive_entry_new2(out->archive);
	if (!entry) {
		out->err = ENOMEM;
		return out_fail(out);
	}
	archive_entry_set_filetype(entry, AE_IFREG);
	good = archive_write_open(out->archive, out, NULL, out_sink, NULL) ==
		       ARCHIVE_OK &&
	       archive_write_header(out->archive, entry) == ARCHIVE_OK;
	archive_entry_free(entry);
	return good ? 0 : out_fail(out);
}

struct filter_out *filter_out_new(enum filter_kind kind, int level, unsigned threads,
				  filter_sink *sink, void *arg)
{
	const struct kind *found = kind_find(kind);
	struct filter_out *out;
	int err;

	if (!found || level < -1 ||
	    (level >= 0 && (level < found->least || level > found->most))) {
		errno = EINVAL;
		return NULL;
	}
	out = calloc(1, sizeof(*out));
	if (!out)
		return NULL;
	out->kind = kind;
	out->sink = sink;
	out->arg = arg;
	if (kind == FILTER_GZIP) {
		out->gzip = gzip_new(level, threads, sink, arg);
		err = out->gzip ? 0 : errno;
	} else {
		err = out_prepare(out, found, level, threads);
	}
	if (err == 0)
		return out;
	filter_out_free(out);
	errno = err;
	return NULL;
}

int filter_out_write(struct filter_out *out, const void *bytes, size_t size)
{
	const char *from = bytes;

	if (out->gzip)
		return gzip_write(out->gzip, bytes, size);
	if (out->err != 0 || out->closed) {
		errno = out->err ? out->err : EINVAL;
		return -1;
	}
	if (size > 0 && out_begin(out) != 0)
		return -1;
	while (size > 0) {
		la_ssize_t part = archive_write_data(out->archive, from, size);

		if (part <= 0)
			return out_fail(out);
		from += part;
		size -= (size_t)part;
	}
	return 0;
}

/* libarchive 3.6.2 crashes on an empty lz4 stream: these are its bytes. */
static int out_empty_lz4(struct filter_out *out)
{
	static const unsigned char empty[] = { 0x04, 0x22, 0x4d, 0x18, 0x64, 0x40,
					       0xa7, 0, 0, 0, 0, 0x05, 0x5d,
					       0xcc, 0x02 };

	if (out_sink(out->archive, out, empty, sizeof(empty)) > 0)
		return 0;
	errno = out->err;
	return -1;
}

int filter_out_close(struct filter_out *out)
{
	if (out->gzip)
		return gzip_close(out->gzip);
	if (out->err != 0) {
		errno = out->err;
		return -1;
	}
	if (out->closed)
		return 0;
	out->closed = true;
	if (out->kind == FILTER_LZ4 && !out->begun)
		return out_empty_lz4(out);
	if (out_begin(out) != 0)
		return -1;
	if (archive_write_close(out->archive) != ARCHIVE_OK)
		return out_fail(out);
	return 0;
}

void filter_out_free(struct filter_out *out)
{
	if (!out)
		return;
	gzip_free(out->gzip);
	if (out->archive) {
		out->dropped = true;
		/* This closes it, and what it writes then fails. */
		(void)archive_write_free(out->archive);
	}
	free(out);
}
