/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames.h"

#include <string.h>
#include <xxhash.h>

enum {
	ZSTD_MAGIC = 0xfd2fb528u,
	LZ4_MAGIC = 0x184d2204u,
	LZ4_LEGACY = 0x184c2102u,
	SKIPPED_MAGIC = 0x184d2a50u,	/* and the next 15 */
	LEGACY_BLOCK = (8 << 20) + (8 << 20) / 255 + 16,	/* at most */
	XZ_HEADER = 12, XZ_FOOTER = 12,
	LZ4_SIZED = 8, LZ4_SUMMED = 4, LZ4_NAMED = 1,	/* flags of a frame */
	LZ4_BLOCKS_SUMMED = 16,
};

static const unsigned char xz_magic[6] = { 0xfd, '7', 'z', 'X', 'Z', 0 };

static uint32_t le(const unsigned char *bytes, int size)
{
	uint32_t value = 0;

	while (size-- > 0)
		value = value << 8 | bytes[size];
	return value;
}

/* ---- the steps ---- */

static void frames_expect(struct frames *frames, unsigned want,
			  void (*step)(struct frames *frames))
{
	frames->want = want;
	frames->got = 0;
	frames->step = step;
}

static void frame_start(struct frames *frames);

static void frame_end(struct frames *frames)
{
	frames->inside = false;
	frames_expect(frames, frames->kind == FILTER_XZ ? XZ_HEADER : 4,
		      frame_start);
}

static void skipped_size(struct frames *frames)
{
	frames->skip = le(frames->have, 4);
	frames_expect(frames, 0, frame_end);
}

static void zstd_block(struct frames *frames)
{
	uint32_t head = le(frames->have, 3);
	bool last = head & 1;
	unsigned type = head >> 1 & 3;

	frames->lost = type == 3;
	frames->skip = type == 1 ? 1 : head >> 3;
	if (last) {
		frames->skip += frames->tail;
		frames_expect(frames, 0, frame_end);
	} else {
		frames_expect(frames, 3, zstd_block);
	}
}

static void zstd_descriptor(struct frames *frames)
{
	static const unsigned char ids[] = { 0, 1, 2, 4 }, sizes[] = { 0, 2, 4, 8 };
	unsigned flags = frames->have[0];
	bool single = flags & 0x20;

	frames->skip = ids[flags & 3];
	frames->skip += flags >> 6 ? sizes[flags >> 6] : single;
	frames->skip += !single;
	frames->tail = flags & 4 ? 4 : 0;
	frames_expect(frames, 3, zstd_block);
}

static void lz4_block(struct frames *frames)
{
	uint32_t size = le(frames->have, 4);

	if (size == 0) {
		frames->skip = frames->tail;
		frames_expect(frames, 0, frame_end);
	} else {
		frames->skip = (size & 0x7fffffff) + (frames->sums ? 4u : 0);
		frames_expect(frames, 4, lz4_block);
	}
}

/* Bytes of the descriptor behind its first two and before its checksum. */
static unsigned lz4_more(unsigned flags)
{
	return (flags & LZ4_SIZED ? 8 : 0) + (flags & LZ4_NAMED ? 4 : 0);
}

static void lz4_descriptor(struct frames *frames)
{
	unsigned flags = frames->have[0];

	frames->lost = flags >> 6 != 1;
	frames->sums = flags & LZ4_BLOCKS_SUMMED;
	frames->tail = flags & LZ4_SUMMED ? 4 : 0;
	frames->skip = lz4_more(flags) + 1;
	frames_expect(frames, 4, lz4_block);
}

static void xz_chunk(struct frames *frames);

static void xz_stored(struct frames *frames)
{
	uint64_t size = (frames->have[0] << 8 | frames->have[1]) + 1u;

	frames->skip = size;
	frames->bytes += 3 + size;
	frames_expect(frames, 1, xz_chunk);
}

static void xz_packed(struct frames *frames)
{
	uint64_t size = (frames->have[2] << 8 | frames->have[3]) + 1u +
			frames->props;

	frames->skip = size;
	frames->bytes += 5 + size;
	frames_expect(frames, 1, xz_chunk);
}

static unsigned to_four(uint64_t bytes)
{
	return -bytes & 3;
}

/* Counts the numbers of the index, whose last byte has no high bit. */
static void xz_number(struct frames *frames)
{
	frames->bytes++;
	if (!(frames->have[0] & 0x80))
		frames->count--;
	if (frames->count > 0) {
		frames_expect(frames, 1, xz_number);
	} else {
		frames->skip = to_four(frames->bytes) + 4u + XZ_FOOTER;
		frames_expect(frames, 0, frame_end);
	}
}

/* How many records; each is two numbers. */
static void xz_count(struct frames *frames)
{
	unsigned byte = frames->have[0];

	frames->lost = frames->shift > 49;
	if (frames->lost)
		return;
	frames->bytes++;
	frames->count |= (uint64_t)(byte & 0x7f) << frames->shift;
	frames->shift += 7;
	if (byte & 0x80) {
		frames_expect(frames, 1, xz_count);
	} else if (frames->count > 0) {
		frames->count *= 2;
		frames_expect(frames, 1, xz_number);
	} else {
		frames->skip = to_four(frames->bytes) + 4u + XZ_FOOTER;
		frames_expect(frames, 0, frame_end);
	}
}

static void xz_block(struct frames *frames)
{
	if (frames->have[0] == 0) {
		frames->bytes = 1;
		frames->count = 0;
		frames->shift = 0;
		frames_expect(frames, 1, xz_count);
	} else {
		frames->skip = frames->have[0] * 4u + 3;
		frames->bytes = 0;
		frames_expect(frames, 1, xz_chunk);
	}
}

static void xz_chunk(struct frames *frames)
{
	unsigned control = frames->have[0];

	if (control == 0) {
		frames->skip = to_four(frames->bytes + 1) + frames->tail;
		frames_expect(frames, 1, xz_block);
	} else if (control >= 0x80) {
		frames->props = control >= 0xc0;
		frames_expect(frames, 4, xz_packed);
	} else if (control <= 2) {
		frames_expect(frames, 2, xz_stored);
	} else {
		frames->lost = true;
	}
}

static void xz_header(struct frames *frames)
{
	static const unsigned char sums[] = { 0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32,
					      32, 32, 64, 64, 64 };

	frames->lost = memcmp(frames->have, xz_magic, sizeof(xz_magic)) != 0;
	frames->tail = sums[frames->have[7] & 15];
	frames_expect(frames, 1, xz_block);
}

/* The first step of any frame. */
static void frame_start(struct frames *frames)
{
	uint32_t magic = le(frames->have, 4);
	bool legacy = frames->legacy;

	frames->legacy = false;
	if (frames->kind == FILTER_XZ) {
		xz_header(frames);
	} else if ((magic & ~15u) == SKIPPED_MAGIC) {
		frames_expect(frames, 4, skipped_size);
	} else if (frames->kind == FILTER_ZSTD) {
		frames->lost = magic != (uint32_t)ZSTD_MAGIC;
		frames_expect(frames, 1, zstd_descriptor);
	} else if (magic == LZ4_MAGIC) {
		frames_expect(frames, 2, lz4_descriptor);
	} else {
		/* A frame of the old format may end after each block. */
		frames->legacy = true;
		frames->lost = magic != LZ4_LEGACY && !legacy;
		frames->skip = magic == LZ4_LEGACY ? 0 : magic;
		frames_expect(frames, 0, frame_end);
	}
}

/* ---- outside ---- */

void frames_init(struct frames *frames, enum filter_kind kind)
{
	*frames = (struct frames){ .kind = kind };
	frame_end(frames);
}

size_t frames_walk(struct frames *frames, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	size_t left = size;

	frames->inside = true;
	while (frames->inside && !frames->lost) {
		size_t part = frames->skip < left ? (size_t)frames->skip : left;

		frames->skip -= part;
		at += part;
		left -= part;
		while (frames->skip == 0 && left > 0 && frames->got < frames->want) {
			frames->have[frames->got++] = *at++;
			left--;
		}
		if (frames->skip > 0 || frames->got < frames->want)
			break;
		frames->step(frames);
	}
	return frames->lost ? size : size - left;
}

static bool is_legacy_block(const unsigned char *bytes)
{
	uint32_t size = le(bytes, 4);

	return size > 0 && size <= LEGACY_BLOCK;
}

/* Of the old format: its magic, and no block behind it. */
static bool is_legacy_empty(const unsigned char *bytes, size_t size)
{
	return size >= 4 && le(bytes, 4) == LZ4_LEGACY &&
	       (size == 4 || (size >= 8 && !is_legacy_block(bytes + 4)));
}

size_t frames_empty(struct frames *frames, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	size_t head, end;

	if (frames->kind != FILTER_LZ4)
		return 0;
	if (is_legacy_empty(at, size))
		return 4;
	if (size < 7 || le(at, 4) != LZ4_MAGIC)
		return 0;
	head = 2 + lz4_more(at[4]);
	end = 4 + head + 1;
	if (size < end + 4 || le(at + end, 4) != 0)
		return 0;
	end += 4;
	frames->lost = at[4 + head] != (XXH32(at + 4, head, 0) >> 8 & 0xff);
	if (at[4] & LZ4_SUMMED) {
		if (size < end + 4)
			return 0;
		if (le(at + end, 4) != XXH32(NULL, 0, 0))
			frames->lost = true;
		end += 4;
	}
	return end;
}

/* Of one magic number: all of it, the beginning, or none. */
static enum frames_begin begins(const unsigned char *bytes, size_t size,
				const void *magic, size_t length)
{
	size_t part = size < length ? size : length;

	if (part == 0 || memcmp(bytes, magic, part) != 0)
		return FRAMES_NO;
	return part == length ? FRAMES_YES : FRAMES_PART;
}

static enum frames_begin begins_skipped(const unsigned char *bytes, size_t size)
{
	static const unsigned char rest[] = { 0x2a, 0x4d, 0x18 };

	if (size == 0 || (bytes[0] & 0xf0) != 0x50)
		return FRAMES_NO;
	return size == 1 ? FRAMES_PART
			 : begins(bytes + 1, size - 1, rest, sizeof(rest));
}

static enum frames_begin begins_number(const unsigned char *bytes, size_t size,
				       uint32_t magic)
{
	unsigned char number[4];

	for (int i = 0; i < 4; i++)
		number[i] = (unsigned char)(magic >> 8 * i);
	return begins(bytes, size, number, 4);
}

static enum frames_begin best(enum frames_begin a, enum frames_begin b)
{
	return a == FRAMES_NO ? b : a;
}

enum frames_begin frames_begins(const struct frames *frames, const void *bytes,
				size_t size)
{
	enum frames_begin begin;

	if (frames->kind == FILTER_XZ)
		return begins(bytes, size, xz_magic, sizeof(xz_magic));
	begin = begins_skipped(bytes, size);
	if (frames->kind == FILTER_ZSTD)
		return best(begin, begins_number(bytes, size, ZSTD_MAGIC));
	begin = best(begin, begins_number(bytes, size, LZ4_MAGIC));
	begin = best(begin, begins_number(bytes, size, LZ4_LEGACY));
	if (begin == FRAMES_NO && frames->legacy && size >= 4 &&
	    is_legacy_block(bytes))
		return FRAMES_YES;
	return begin;
}

enum filter_kind frames_detect(const unsigned char *bytes, size_t size)
{
	struct frames lz4 = { .kind = FILTER_LZ4 };
	size_t first = 0;

	/* zstd and lz4 share them; where the first is short, the next frame tells. */
	while (size - first >= 8 &&
	       begins_skipped(bytes + first, size - first) == FRAMES_YES) {
		uint32_t length = le(bytes + first + 4, 4);

		if (length > size - first - 8)
			return FILTER_ZSTD;
		first += 8 + length;
	}
	if (begins_skipped(bytes + first, size - first) == FRAMES_YES)
		return FILTER_ZSTD;
	if (begins_number(bytes + first, size - first, ZSTD_MAGIC) == FRAMES_YES)
		return FILTER_ZSTD;
	if (frames_begins(&lz4, bytes + first, size - first) == FRAMES_YES)
		return FILTER_LZ4;
	if (first > 0)
		return FILTER_ZSTD;
	if (begins(bytes, size, xz_magic, sizeof(xz_magic)) == FRAMES_YES)
		return FILTER_XZ;
	return FILTER_NONE;
}
