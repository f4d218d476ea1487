/* SPDX-License-Identifier: BSD-2-Clause */
#include "tarframe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a header block. */
enum {
	AT_SIZE = 124, SIZE_LEN = 12,
	AT_SUM = 148, SUM_LEN = 8,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_EXTENDED = 482,	/* old GNU sparse: a block of the map follows */
	AT_MORE = 504,		/* ... and another one */
};

void frame_init(struct frame *frame, tar_source *source, void *arg)
{
	*frame = (struct frame){ .source = source, .arg = arg };
}

void frame_destroy(struct frame *frame)
{
	free(frame->head.bytes);
	free(frame->records.bytes);
	free(frame->name.bytes);
	free(frame->link.bytes);
	pax_free(&frame->pax);
}

char *frame_bytes_add(struct frame_bytes *to, const void *bytes, size_t len)
{
	if (to->room - to->len < len) {
		size_t room = 2 * to->room + len;
		char *larger = realloc(to->bytes, room);

		if (!larger)
			return NULL;
		to->bytes = larger;
		to->room = room;
	}
	if (len > 0)
		memcpy(to->bytes + to->len, bytes, len);
	to->len += len;
	return to->bytes + to->len - len;
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

/* Digits in octal, with blanks around; or binary with the top bit set.  -1: none. */
static int64_t parse_number(const char *field, size_t len)
{
	const unsigned char *s = (const unsigned char *)field;
	uint64_t n = 0;
	size_t i = 0;

	if (s[0] & 0x80) {
		if (s[0] != 0x80)
			return -1;
		for (i = 1; i < len; i++) {
			if (n > (uint64_t)INT64_MAX >> 8)
				return -1;
			n = n << 8 | s[i];
		}
		return (int64_t)n;
	}
	while (i < len && s[i] == ' ')
		i++;
	for (; i < len && s[i] >= '0' && s[i] <= '7'; i++)
		n = n << 3 | (s[i] - '0');
	return i == len || s[i] == ' ' || s[i] == '\0' ? (int64_t)n : -1;
}

/* The sum with its own field as blanks: of unsigned bytes, and as some old tars had it. */
static void sum_header(const char *block, int64_t *sum, int64_t *old)
{
	*sum = *old = SUM_LEN * ' ';
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		if (i >= AT_SUM && i < AT_SUM + SUM_LEN)
			continue;
		*sum += (unsigned char)block[i];
		*old += (signed char)block[i];
	}
}

bool tar_is_header(const void *bytes)
{
	const char *block = bytes;
	int64_t said = parse_number(block + AT_SUM, SUM_LEN), sum, old;

	sum_header(block, &sum, &old);
	return said == sum || said == old;
}

void frame_sign(char *block)
{
	int64_t sum, old;
	char field[24];

	sum_header(block, &sum, &old);
	snprintf(field, sizeof(field), "%06llo", (unsigned long long)sum);
	memcpy(block + AT_SUM, field, 7);
	block[AT_SUM + 7] = ' ';
}

void frame_make_header(char *block, char type, size_t size)
{
	memset(block, 0, TAR_BLOCK);
	memcpy(block, "x", 2);
	memcpy(block + 100, "0000644", 8);
	memcpy(block + 108, "0000000", 8);
	memcpy(block + 116, "0000000", 8);
	snprintf(block + AT_SIZE, SIZE_LEN, "%011zo", size);
	memcpy(block + 136, "00000000000", 12);
	block[AT_TYPE] = type;
	memcpy(block + AT_MAGIC, "ustar\0" "00", 8);
	frame_sign(block);
}

char frame_type(const struct frame *frame)
{
	return frame->head.bytes[AT_TYPE];
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
static int load(struct frame *frame, struct frame_bytes *to, uint64_t size)
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
		if (!frame_bytes_add(to, bytes, n))
			spoil(frame, "no memory for its extended header");
	}
	return 0;
}

/* A long name of GNU's; what comes behind its NUL does not count. */
static int load_name(struct frame *frame, struct frame_bytes *to, uint64_t size)
{
	if (load(frame, to, size) != 0)
		return -1;
	if (!frame_bytes_add(to, "", 1))
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
	const char *block = frame->head.bytes;
	bool more = block[AT_TYPE] == 'S' && block[AT_EXTENDED] != 0;

	while (more) {
		block = look(frame);
		if (!block)
			return -1;
		more = block[AT_MORE] != 0;
		if (frame->head.len > FRAME_HEADER_MAX)
			spoil(frame, "its sparse map is too large");
		else if (!frame_bytes_add(&frame->head, block, TAR_BLOCK))
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
	return next && !tar_is_header(next) && !is_zero(next);
}

/* The member's own header is copied; what follows it is found out. */
static enum tar_verdict measure(struct frame *frame, uint64_t size)
{
	frame->size = size;
	if (frame->has_pax && !frame->wrong) {
		spoil(frame, pax_parse(&frame->pax, frame->records.bytes,
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
		if (!tar_is_header(block))
			return broken(frame, "damaged header");
		size = parse_number(block + AT_SIZE, SIZE_LEN);
		if (size < 0 || size > INT64_MAX - TAR_BLOCK)
			return broken(frame, "a size that makes no sense");
		extension = read_extension(frame, block[AT_TYPE], (uint64_t)size);
	} while (extension > 0);
	if (extension < 0)
		return cut(frame);
	if (!frame_bytes_add(&frame->head, block, TAR_BLOCK))
		return broken(frame, "no memory for its header");
	consume(frame, TAR_BLOCK);
	return measure(frame, (uint64_t)size);
}
