/* SPDX-License-Identifier: BSD-2-Clause */
#include "tarframe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a header block. */
enum {
	AT_EXTENDED = 482,	/* old GNU sparse: a block of the map follows */
	AT_MORE = 504,		/* ... and another one */
};

void frame_init(struct frame *frame, tar_source *source, void *arg)
{
	*frame = (struct frame){ .source = source, .arg = arg };
}

void frame_destroy(struct frame *frame)
{
	bytes_free(&frame->head);
	bytes_free(&frame->records);
	bytes_free(&frame->name);
	bytes_free(&frame->link);
	pax_free(&frame->pax);
}

/* ---- blocks ---- */

static bool is_zero(const char *block)
{
	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (block[i] != 0)
			return false;
	return true;
}

static uint64_t whole_blocks(uint64_t size)
{
	return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

char frame_type(const struct frame *frame)
{
	return (char)frame->head.at[USTAR_TYPE];
}

/* ---- the source ---- */

/* Gets the source's next block when the last one is used up. */
static bool fill(struct frame *frame)
{
	const void *bytes;
	ssize_t n;

	if (frame->cur_len > 0)
		return true;
	if (frame->ended)
		return false;
	n = frame->source(frame->arg, &bytes);
	frame->ended = n <= 0;
	frame->failed = n < 0;
	if (n > 0) {
		frame->cur = bytes;
		frame->cur_len = (size_t)n;
	}
	return n > 0;
}

/* The bytes that come next, as many as lie together. */
static size_t next_bytes(struct frame *frame, const char **bytes)
{
	if (frame->piece_len > 0) {
		*bytes = frame->piece + frame->piece_at;
		return frame->piece_len;
	}
	if (!fill(frame))
		return 0;
	*bytes = frame->cur;
	return frame->cur_len;
}

static void consume(struct frame *frame, size_t n)
{
	frame->at += n;
	if (frame->piece_len > 0) {
		frame->piece_at += n;
		frame->piece_len -= n;
	} else {
		frame->cur += n;
		frame->cur_len -= n;
	}
}

/* The next block, which stays unread; NULL when no whole one comes. */
static const char *look(struct frame *frame)
{
	if (frame->piece_len == 0 && fill(frame) && frame->cur_len >= TAR_BLOCK)
		return frame->cur;
	memmove(frame->piece, frame->piece + frame->piece_at, frame->piece_len);
	frame->piece_at = 0;
	while (frame->piece_len < TAR_BLOCK && fill(frame)) {
		size_t n = TAR_BLOCK - frame->piece_len;

		if (n > frame->cur_len)
			n = frame->cur_len;
		memcpy(frame->piece + frame->piece_len, frame->cur, n);
		frame->piece_len += n;
		frame->cur += n;
		frame->cur_len -= n;
	}
	return frame->piece_len == TAR_BLOCK ? frame->piece : NULL;
}

size_t frame_data(struct frame *frame, const void **bytes)
{
	const char *next;
	size_t n = frame->left > 0 ? next_bytes(frame, &next) : 0;

	if (n > frame->left)
		n = (size_t)frame->left;
	if (n > 0) {
		*bytes = next;
		consume(frame, n);
		frame->left -= n;
	}
	return n;
}

int frame_skip(struct frame *frame)
{
	const void *bytes;

	while (frame->left > 0)
		if (frame_data(frame, &bytes) == 0)
			return -1;
	return 0;
}

/* ---- headers ---- */

static enum tar_verdict broken(struct frame *frame, const char *wrong)
{
	frame->wrong = wrong;
	return TAR_BROKEN;
}

static enum tar_verdict cut(struct frame *frame)
{
	frame->cut = true;
	return broken(frame, "cut off");
}

/* This member can't be read; the first reason is kept. */
static void spoil(struct frame *frame, const char *wrong)
{
	if (!frame->wrong)
		frame->wrong = wrong;
}

/* Reads what follows a header into `to`; too much of it is passed over. */
static int load(struct frame *frame, struct bytes *to, uint64_t size)
{
	uint64_t wanted = size;
	const void *bytes;
	size_t n;

	to->len = 0;
	frame->left = whole_blocks(size);
	if (size > FRAME_HEADER_MAX) {
		spoil(frame, "its extended header is too large");
		return frame_skip(frame);
	}
	while (frame->left > 0) {
		n = frame_data(frame, &bytes);
		if (n == 0)
			return -1;
		if (n > wanted)
			n = (size_t)wanted;
		wanted -= n;
		if (bytes_add(to, bytes, n) != 0)
			spoil(frame, "no memory for its extended header");
	}
	return 0;
}

/* A long name of GNU's; what comes behind its NUL does not count. */
static int load_name(struct frame *frame, struct bytes *to, uint64_t size)
{
	if (load(frame, to, size) != 0)
		return -1;
	if (bytes_add(to, "", 1) != 0)
		spoil(frame, "no memory for its name");
	return 0;
}

/*
 * Reads one extended header, whose block is the next one.  Returns 1; 0 when it is none
 * but the member's own; -1 when the stream is cut.
 */
static int read_extension(struct frame *frame, char type, uint64_t size)
{
	switch (type) {
	case 'x':
	case 'X':
		frame->has_pax = true;
		consume(frame, TAR_BLOCK);
		return load(frame, &frame->records, size) == 0 ? 1 : -1;
	case 'L':
		frame->has_name = true;
		consume(frame, TAR_BLOCK);
		return load_name(frame, &frame->name, size) == 0 ? 1 : -1;
	case 'K':
		frame->has_link = true;
		consume(frame, TAR_BLOCK);
		return load_name(frame, &frame->link, size) == 0 ? 1 : -1;
	case 'g':	/* what holds for all: nothing that we need */
	case 'V':	/* the volume's name */
		consume(frame, TAR_BLOCK);
		frame->left = whole_blocks(size);
		return frame_skip(frame) == 0 ? 1 : -1;
	default:
		return 0;
	}
}

/* Old GNU sparse files have their map in blocks behind the header. */
static int read_map(struct frame *frame)
{
	const char *block = (const char *)frame->head.at;
	bool more = block[USTAR_TYPE] == 'S' && block[AT_EXTENDED] != 0;

	while (more) {
		block = look(frame);
		if (!block)
			return -1;
		more = block[AT_MORE] != 0;
		if (frame->head.len > FRAME_HEADER_MAX)
			spoil(frame, "its sparse map is too large");
		else if (bytes_add(&frame->head, block, TAR_BLOCK) != 0)
			spoil(frame, "no memory for its sparse map");
		consume(frame, TAR_BLOCK);
	}
	return 0;
}

/* The map of sparse format 1.0 begins with the number of its extents, in a line. */
static bool map_is_too_large(struct frame *frame)
{
	const char *map = look(frame);
	uint64_t n = 0;

	for (size_t i = 0; map && i < TAR_BLOCK && map[i] >= '0' && map[i] <= '9' &&
			   n <= FRAME_EXTENTS_MAX; i++)
		n = n * 10 + (uint64_t)(map[i] - '0');
	return n > FRAME_EXTENTS_MAX;
}

/*
 * Links, devices and directories mostly have no data, and yet many a tar writes a size.  POSIX
 * gives hard links data and directories none.  What follows decides: another header or the
 * end, or neither.
 */
static bool has_data(struct frame *frame)
{
	char type = frame_type(frame);
	const char *next;

	if (type < '1' || type > '6' || (type == '1' && frame->has_pax))
		return true;
	next = look(frame);
	return next && !ustar_is_signed(next) && !is_zero(next);
}

/* The member's own header is copied; what follows it is found out. */
static enum tar_verdict measure(struct frame *frame, uint64_t size)
{
	frame->size = size;
	if (frame->has_pax && !frame->wrong) {
		spoil(frame, pax_parse(&frame->pax, (char *)frame->records.at,
				       frame->records.len));
		if (frame->pax.has_size)
			frame->size = frame->pax.size;
	}
	if (read_map(frame) != 0)
		return cut(frame);
	if (frame->size > 0 && !has_data(frame)) {
		frame->size = 0;
		frame->skipped_size = true;
	}
	frame->left = whole_blocks(frame->size);
	if (frame->pax.has_map && frame->left > 0 && map_is_too_large(frame))
		spoil(frame, "its sparse map is too large");
	if (frame_type(frame) == 'M')
		spoil(frame, "it is continued from another volume");
	if (frame_type(frame) == 'A')
		spoil(frame, "an ACL as Solaris writes it");
	if (frame_type(frame) == 'N')
		spoil(frame, "a list of names of a very old GNU tar");
	return frame->wrong ? TAR_BAD_MEMBER : TAR_MEMBER;
}

static void forget(struct frame *frame)
{
	frame->head.len = frame->records.len = 0;
	frame->name.len = frame->link.len = 0;
	frame->has_pax = frame->has_name = frame->has_link = false;
	frame->skipped_size = false;
	frame->wrong = NULL;
	frame->size = 0;
	pax_clear(&frame->pax);
}

static bool amid_headers(const struct frame *frame)
{
	return frame->has_pax || frame->has_name || frame->has_link;
}

/* No header comes: a zero block, or nothing. */
static enum tar_verdict end(struct frame *frame, const char *block)
{
	if (amid_headers(frame))
		return block ? broken(frame, "a header without its member") :
			       cut(frame);
	if (!block)
		return frame->piece_len > 0 || frame->failed ? cut(frame) : TAR_END;
	consume(frame, TAR_BLOCK);
	frame->marks = 1;
	block = look(frame);
	if (block && is_zero(block)) {
		consume(frame, TAR_BLOCK);
		frame->marks = 2;
	}
	return TAR_END;
}

enum tar_verdict frame_next(struct frame *frame)
{
	const char *block;
	int64_t size;
	int extension;

	if (frame_skip(frame) != 0)
		return cut(frame);
	forget(frame);
	do {
		block = look(frame);
		if (!amid_headers(frame))
			frame->member_at = frame->at;
		if (!block || is_zero(block))
			return end(frame, block);
		if (!ustar_is_signed(block))
			return broken(frame, "damaged header");
		size = ustar_get(block, USTAR_SIZE, USTAR_LONG_LEN);
		if (size < 0 || size > INT64_MAX - TAR_BLOCK)
			return broken(frame, "a size that makes no sense");
		extension = read_extension(frame, block[USTAR_TYPE], (uint64_t)size);
	} while (extension > 0);
	if (extension < 0)
		return cut(frame);
	if (bytes_add(&frame->head, block, TAR_BLOCK) != 0)
		return broken(frame, "no memory for its header");
	consume(frame, TAR_BLOCK);
	return measure(frame, (uint64_t)size);
}

/* A global header is the next block, and its records lie in one. */
static int read_flaw(struct frame *frame, const char *block, struct flaw *flaw)
{
	char both[FLAW_SIZE];
	int64_t size = ustar_get(block, USTAR_SIZE, USTAR_LONG_LEN);

	if (size <= 0 || size > FLAW_SIZE - TAR_BLOCK)
		return 0;
	memcpy(both, block, TAR_BLOCK);
	consume(frame, TAR_BLOCK);
	block = look(frame);
	if (!block)
		return -1;
	memcpy(both + TAR_BLOCK, block, TAR_BLOCK);
	consume(frame, TAR_BLOCK);
	return flaw_decode(both, flaw);
}

int frame_flaw(struct frame *frame, struct flaw *flaw)
{
	const char *block = frame_skip(frame) == 0 ? look(frame) : NULL;
	int got = block ? 0 : -1;

	frame->wrong = NULL;
	if (block && block[USTAR_TYPE] == 'g' && ustar_is_signed(block))
		got = read_flaw(frame, block, flaw);
	else if (block && !is_zero(block) && !ustar_is_signed(block))
		frame->wrong = "damaged header";
	if (got < 0)
		(void)cut(frame);
	return frame->wrong ? -1 : got;
}
