/* SPDX-License-Identifier: BSD-2-Clause */
#include "packout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "filter.h"
#include "hash.h"
#include "ring.h"
#include "seal.h"

enum {
	ROOM_MAX = 256 << 10,
	HEADER_ROOM = 4 << 10,		/* what most headers need */
	MARKS_SIZE = 2 * TAR_BLOCK,
};

struct packout {
	struct pack_config config;
	struct ring *ring;
	struct tar_writer *writer;
	struct filter_out *filter;	/* NULL: the ring gets the bytes as they are */
	struct hash *hash;
	uint64_t bytes;			/* of the stream, before the filter */
	size_t room_max;

	/* The header that the writer keeps for us, while its member may be taken back. */
	bool takes_header;
	const void *header;
	size_t header_size;

	unsigned char *reserved;	/* of the ring, or `buffer`; NULL: none */
	size_t ahead;			/* bytes before the data in it, for the header */
	unsigned char *buffer;		/* with a filter: ROOM_MAX bytes */

	bool closing;			/* what comes are the end marks */
	unsigned char marks[MARKS_SIZE + SEAL_SIZE];
	size_t marks_size;
};

/* ---- into the ring ---- */

static int ring_put(struct ring *ring, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	size_t most = ring_span_max(ring);

	while (size > 0) {
		size_t piece = size < most ? size : most;
		void *to = ring_reserve(ring, piece);

		if (!to)
			return -1;
		memcpy(to, at, piece);
		ring_commit(ring, piece);
		at += piece;
		size -= piece;
	}
	return 0;
}

static int from_filter(void *arg, const void *bytes, size_t size)
{
	return ring_put(arg, bytes, size);
}

/* What can't go on though the ring could: told once. */
static int packout_failed(struct packout *out, int err, const char *what)
{
	if (ring_reason(out->ring) == 0) {
		diag_fail(STATUS_STOPPED, NULL, err, "%s", what);
		ring_abort(out->ring, err ? err : EIO);
	}
	return -1;
}

static int stream_put(struct packout *out, const void *bytes, size_t size)
{
	if (!out->filter)
		return ring_put(out->ring, bytes, size);
	if (filter_out_write(out->filter, bytes, size) == 0)
		return 0;
	return packout_failed(out, errno, "compressing the stream");
}

static void count_bytes(struct packout *out, const void *bytes, size_t size)
{
	hash_add(out->hash, bytes, size);
	out->bytes += size;
}

static int put(struct packout *out, const void *bytes, size_t size)
{
	count_bytes(out, bytes, size);
	return stream_put(out, bytes, size);
}

/* ---- from the writer ---- */

static int header_flush(struct packout *out)
{
	const void *header = out->header;

	out->header = NULL;
	return header ? put(out, header, out->header_size) : 0;
}

/* The data lie where they belong; the header, if it waits, goes before them. */
static int reserved_commit(struct packout *out, size_t size)
{
	unsigned char *at = out->reserved;

	out->reserved = NULL;
	if (out->header) {
		count_bytes(out, out->header, out->header_size);
		memcpy(at, out->header, out->header_size);
		out->header = NULL;
	}
	count_bytes(out, at + out->ahead, size);
	ring_commit(out->ring, out->ahead + size);
	return 0;
}

static int marks_add(struct packout *out, const void *bytes, size_t size)
{
	if (size > MARKS_SIZE - out->marks_size) {
		errno = EIO;		/* never: two blocks end an archive */
		return -1;
	}
	memcpy(out->marks + out->marks_size, bytes, size);
	out->marks_size += size;
	count_bytes(out, bytes, size);
	return 0;
}

static int take(void *arg, const void *bytes, size_t size)
{
	struct packout *out = arg;

	if (out->closing)
		return marks_add(out, bytes, size);
	if (out->takes_header) {
		out->takes_header = false;
		out->header = bytes;
		out->header_size = size;
		return 0;
	}
	if (!out->filter && out->reserved &&
	    bytes == out->reserved + out->ahead)
		return reserved_commit(out, size);
	out->reserved = NULL;
	if (header_flush(out) != 0)
		return -1;
	return put(out, bytes, size);
}

/* ---- making ---- */

static int filter_begin(struct packout *out)
{
	const struct pack_config *config = &out->config;

	if (config->filter == FILTER_NONE)
		return 0;
	out->filter = filter_out_new(config->filter, config->level,
				     config->threads, from_filter, out->ring);
	if (!out->filter)
		return -1;
	out->buffer = malloc(ROOM_MAX);
	return out->buffer ? 0 : -1;
}

struct packout *packout_new(const struct pack_config *config)
{
	struct packout *out = calloc(1, sizeof(*out));
	int err;

	if (!out)
		return NULL;
	out->config = *config;
	out->ring = config->ring;
	out->room_max = ring_span_max(out->ring) - HEADER_ROOM;
	if (config->filter != FILTER_NONE || out->room_max > ROOM_MAX)
		out->room_max = ROOM_MAX;
	out->hash = hash_new(HASH_XXH3);
	out->writer = out->hash ? tar_writer_new(config->format, take, out) :
				  NULL;
	if (out->writer && filter_begin(out) == 0)
		return out;
	err = errno;
	packout_free(out);
	errno = err;
	return NULL;
}

void packout_free(struct packout *out)
{
	if (!out)
		return;
	tar_writer_free(out->writer);
	filter_out_free(out->filter);
	hash_free(out->hash);
	free(out->buffer);
	free(out);
}

/* ---- members ---- */

int packout_begin(struct packout *out)
{
	unsigned char head[SEAL_SIZE];

	seal_encode(head, NULL);
	return put(out, head, sizeof(head));
}

static int encoder_failed(struct packout *out)
{
	return packout_failed(out, errno, "encoding the stream");
}

int packout_member(struct packout *out, const struct tar_member *member,
		   unsigned *losses)
{
	int got;

	out->takes_header = true;
	got = tar_write_member(out->writer, member, losses);
	out->takes_header = false;
	return got < 0 ? encoder_failed(out) : got;
}

size_t packout_room_max(const struct packout *out)
{
	return out->room_max;
}

void *packout_room(struct packout *out, size_t size)
{
	size_t most = ring_span_max(out->ring);

	out->ahead = 0;
	if (out->filter) {
		out->reserved = out->buffer;
		return out->buffer;
	}
	if (out->header && (out->header_size > most ||
			    size > most - out->header_size) &&
	    header_flush(out) != 0)
		return NULL;
	if (out->header)
		out->ahead = out->header_size;
	out->reserved = ring_reserve(out->ring, out->ahead + size);
	return out->reserved ? out->reserved + out->ahead : NULL;
}

int packout_data(struct packout *out, const void *at, size_t size)
{
	if (tar_write_data(out->writer, at, size) != 0)
		return encoder_failed(out);
	return 0;
}

bool packout_cancel(struct packout *out)
{
	if (!out->header)
		return false;
	out->header = NULL;
	out->reserved = NULL;
	tar_write_cancel(out->writer);
	return true;
}

int packout_end(struct packout *out)
{
	out->reserved = NULL;
	if (header_flush(out) != 0)
		return -1;
	if (tar_write_end(out->writer) != 0)
		return encoder_failed(out);
	return 0;
}

int packout_flaw(struct packout *out, const struct flaw *flaw)
{
	unsigned char mark[FLAW_SIZE];

	flaw_encode(mark, flaw);
	return put(out, mark, sizeof(mark));
}

/* ---- the end ---- */

/* One commit, so that who reads the marks has the trailer, too. */
static int put_marks(struct packout *out)
{
	size_t size = out->marks_size + SEAL_SIZE;

	if (!out->filter && out->config.marks)
		out->config.marks(out->config.arg, out->bytes);
	if (stream_put(out, out->marks, size) != 0)
		return -1;
	if (out->filter && filter_out_close(out->filter) != 0)
		return packout_failed(out, errno, "compressing the stream");
	return 0;
}

int packout_finish(struct packout *out, uint64_t entries)
{
	struct seal seal = { .entries = entries };

	out->closing = true;
	if (tar_writer_close(out->writer) != 0)
		return encoder_failed(out);
	seal.bytes = out->bytes;
	seal.sum = hash_sum(out->hash);
	seal_encode(out->marks + out->marks_size, &seal);
	if (put_marks(out) != 0)
		return -1;
	ring_close(out->ring);
	return 0;
}
