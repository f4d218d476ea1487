/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter: every kind, both ways: whole, cut, flipped, one after the other, padded, and
 * with the tools that people have.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bytes.h"
#include "faults.h"
#include "filter.h"

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

static const enum filter_kind kinds[] = { FILTER_GZIP, FILTER_ZSTD, FILTER_XZ,
					  FILTER_LZ4, FILTER_BZIP2 };
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

#define EACH_KIND(k) (size_t k = 0; k < KINDS; k++)

/* ---- both ways ---- */

static struct bytes squeeze(enum filter_kind kind, const struct bytes *from,
			    size_t piece, unsigned threads)
{
	struct keeper keeper = { 0 };
	struct filter_out *out = filter_out_new(kind, -1, threads, keeper_sink,
						&keeper);

	assert_non_null(out);
	for (size_t at = 0; at < from->size; at += piece) {
		size_t left = from->size - at;

		assert_int_equal(filter_out_write(out, from->at + at,
						  left < piece ? left : piece), 0);
	}
	assert_int_equal(filter_out_close(out), 0);
	filter_out_free(out);
	return keeper.bytes;
}

/* What came of reading a stream. */
struct outcome {
	struct bytes bytes;
	int err;
	char words[160];
	bool junk;
	uint64_t used;
	unsigned late;
};

static struct outcome expand_by(enum filter_kind kind, const struct bytes *from,
				size_t piece, size_t room, int fails)
{
	struct giver giver = { .bytes = from, .piece = piece, .fails = fails };
	struct filter_in *in = filter_in_new(kind, giver_source, &giver);
	struct outcome outcome = { 0 };
	unsigned char *buffer = malloc(room);
	ssize_t n;

	assert_non_null(in);
	assert_non_null(buffer);
	while ((n = filter_in_read(in, buffer, room)) > 0) {
		assert_true((size_t)n <= room);
		bytes_add(&outcome.bytes, buffer, (size_t)n);
	}
	outcome.err = n < 0 ? errno : 0;
	/* It stays so. */
	assert_int_equal(filter_in_read(in, buffer, room), n);
	if (n < 0)
		assert_int_equal(errno, outcome.err);
	snprintf(outcome.words, sizeof(outcome.words), "%s", filter_in_error(in));
	outcome.junk = filter_in_junk(in);
	outcome.used = filter_in_used(in);
	outcome.late = giver.late;
	filter_in_free(in);
	free(buffer);
	return outcome;
}

static struct outcome expand(enum filter_kind kind, const struct bytes *from)
{
	return expand_by(kind, from, 4096, 65536, 0);
}

static void expect(enum filter_kind kind, const struct bytes *packed,
		   const struct bytes *plain, uint64_t used, bool junk)
{
	static const size_t pieces[] = { 1, 13, 4096, 1 << 20 };

	/* Much data, byte by byte, would take long and show no more. */
	for (int i = packed->size > 300000; i < 4; i++) {
		struct outcome outcome = expand_by(kind, packed, pieces[i], 65536, 0);

		if (outcome.err != 0)
			print_message("%s, pieces of %zu: %s\n", filter_name(kind),
				      pieces[i], outcome.words);
		assert_int_equal(outcome.err, 0);
		bytes_same(plain, &outcome.bytes);
		assert_int_equal(outcome.junk, junk);
		assert_int_equal(outcome.used, used);
		assert_int_equal(outcome.late, 0);
		bytes_free(&outcome.bytes);
	}
}

/* EBADMSG, with these words. */
static void expect_bad(enum filter_kind kind, const struct bytes *packed,
		       size_t piece, const char *words)
{
	struct outcome outcome = expand_by(kind, packed, piece, 65536, 0);

	if (outcome.err != EBADMSG || !strstr(outcome.words, words))
		print_message("%s, %zu bytes: `%s`, not `%s`\n", filter_name(kind),
			      packed->size, outcome.words, words);
	assert_int_equal(outcome.err, EBADMSG);
	assert_non_null(strstr(outcome.words, words));
	assert_non_null(strstr(outcome.words, filter_name(kind)));
	bytes_free(&outcome.bytes);
}

static struct bytes join(const struct bytes *a, const void *b, size_t size)
{
	struct bytes both = { 0 };

	bytes_add(&both, a->at, a->size);
	bytes_add(&both, b, size);
	return both;
}

/* ---- whole ---- */

static void gives_back_every_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 511, (128 << 10) - 1, 128 << 10,
					(128 << 10) + 1, 5 << 19 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (const char *type = "rt"; *type; type++)
			for EACH_KIND(k) {
				struct bytes plain = bytes_make(*type, sizes[i]);
				struct bytes packed = squeeze(kinds[k], &plain, 65537,
							      1 + i % 2);
				struct outcome got = expand(kinds[k], &packed);

				assert_int_equal(got.err, 0);
				bytes_same(&plain, &got.bytes);
				assert_int_equal(got.used, packed.size);
				assert_false(got.junk);
				bytes_free(&got.bytes);
				bytes_free(&packed);
				bytes_free(&plain);
			}
}

static void gives_back_every_piece(void **state)
{
	static const size_t pieces[] = { 1, 7, 65537 };
	struct bytes plain = bytes_make('t', 300001);

	(void)state;
	for (int i = 0; i < 3; i++)
		for EACH_KIND(k) {
			struct bytes packed = squeeze(kinds[k], &plain, pieces[i], 2);
			struct outcome small = expand_by(kinds[k], &packed, 4096,
							 i + 1, 0);

			expect(kinds[k], &packed, &plain, packed.size, false);
			bytes_same(&plain, &small.bytes);
			bytes_free(&small.bytes);
			bytes_free(&packed);
		}
	bytes_free(&plain);
}

static void gives_back_every_level(void **state)
{
	struct bytes plain = bytes_make('t', 5000);

	(void)state;
	for EACH_KIND(k) {
		int least, most;

		assert_true(filter_levels(kinds[k], &least, &most));
		for (int level = least; level <= most; level++) {
			struct keeper keeper = { 0 };
			struct filter_out *out = filter_out_new(
				kinds[k], level, 1, keeper_sink, &keeper);

			assert_non_null(out);
			assert_int_equal(filter_out_write(out, plain.at, plain.size), 0);
			assert_int_equal(filter_out_close(out), 0);
			assert_int_equal(filter_out_close(out), 0);
			assert_int_equal(filter_out_write(out, "x", 1), -1);
			assert_int_equal(errno, EINVAL);
			filter_out_free(out);
			expect(kinds[k], &keeper.bytes, &plain, keeper.bytes.size,
			       false);
			bytes_free(&keeper.bytes);
		}
		assert_null(filter_out_new(kinds[k], least - 1 < 0 ? -2 : least - 1, 1,
					   keeper_sink, NULL));
		assert_int_equal(errno, EINVAL);
		assert_null(filter_out_new(kinds[k], most + 1, 1, keeper_sink, NULL));
		assert_int_equal(errno, EINVAL);
	}
	bytes_free(&plain);
}

static void none_is_no_kind(void **state)
{
	int least, most;

	(void)state;
	errno = 0;
	assert_null(filter_out_new(FILTER_NONE, -1, 1, keeper_sink, NULL));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(filter_in_new(FILTER_NONE, giver_source, NULL));
	assert_int_equal(errno, EINVAL);
	assert_false(filter_levels(FILTER_NONE, &least, &most));
	assert_string_equal(filter_name(FILTER_NONE), "none");
	assert_string_equal(filter_name(FILTER_BZIP2), "bzip2");
}

/* A member that is compressed itself stays what it is. */
static void it_is_decompressed_once(void **state)
{
	struct bytes plain = bytes_make('t', 10000);

	(void)state;
	for EACH_KIND(k) {
		struct bytes once = squeeze(kinds[k], &plain, 65537, 1);
		struct bytes twice = squeeze(kinds[k], &once, 65537, 1);

		expect(kinds[k], &twice, &once, twice.size, false);
		bytes_free(&twice);
		bytes_free(&once);
	}
	bytes_free(&plain);
}

/* ---- what it is ---- */

static void knows_its_own_streams(void **state)
{
	static const size_t sizes[] = { 0, 1000 };

	(void)state;
	for (int i = 0; i < 2; i++)
		for EACH_KIND(k) {
			struct bytes plain = bytes_make('t', sizes[i]);
			struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);
			size_t size = packed.size < FILTER_MAGIC ? packed.size
								 : FILTER_MAGIC;

			assert_int_equal(filter_detect(packed.at, size), kinds[k]);
			bytes_free(&packed);
			bytes_free(&plain);
		}
}

static void knows_magic_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum filter_kind kind;
	} cases[] = {
		{ "", 0, FILTER_NONE },
		{ "\x1f\x8b\x08", 3, FILTER_GZIP },
		{ "\x1f\x8b", 2, FILTER_NONE },
		{ "\x1f\x8b\x07zzz", 6, FILTER_NONE },
		{ "\x28\xb5\x2f\xfd", 4, FILTER_ZSTD },
		{ "\x28\xb5\x2f", 3, FILTER_NONE },
		{ "\x50\x2a\x4d\x18\4\0\0\0skip\x28\xb5\x2f\xfd", 16, FILTER_ZSTD },
		{ "\x5f\x2a\x4d\x18\4\0\0\0skip\x04\x22\x4d\x18", 16, FILTER_LZ4 },
		{ "\x5a\x2a\x4d\x18\0\0\0\0\x04\x22\x4d\x18", 12, FILTER_LZ4 },
		{ "\x5a\x2a\x4d\x18\xff\xff\xff\xff        ", 16, FILTER_ZSTD },
		{ "\x5a\x2a\x4d\x18", 4, FILTER_ZSTD },
		{ "\xfd" "7zXZ\0", 6, FILTER_XZ },
		{ "\xfd" "7zXZ", 5, FILTER_NONE },
		{ "\x04\x22\x4d\x18", 4, FILTER_LZ4 },
		{ "\x02\x21\x4c\x18", 4, FILTER_LZ4 },
		{ "BZh9\x31\x41\x59\x26\x53\x59", 10, FILTER_BZIP2 },
		{ "BZh1\x17\x72\x45\x38\x50\x90", 10, FILTER_BZIP2 },
		{ "BZh0\x31\x41\x59\x26\x53\x59", 10, FILTER_NONE },
		{ "BZh9 is a name", 14, FILTER_NONE },
		{ "./\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, FILTER_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(filter_detect(cases[i].bytes, cases[i].size),
				 cases[i].kind);
}

/* ---- not whole ---- */

static void cut_anywhere_is_told(void **state)
{
	static const size_t sizes[] = { 0, 900 };

	(void)state;
	for (int i = 0; i < 2; i++)
		for EACH_KIND(k) {
			struct bytes plain = bytes_make('t', sizes[i]);
			struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);
			struct bytes cut = { .at = packed.at };

			expect_bad(kinds[k], &cut, 4096, "empty");
			for (cut.size = 1; cut.size < packed.size; cut.size++) {
				expect_bad(kinds[k], &cut, 4096, "cut");
				expect_bad(kinds[k], &cut, 1, "cut");
			}
			bytes_free(&packed);
			bytes_free(&plain);
		}
}

/* The second of two is read just so. */
static void cut_in_the_second_is_told(void **state)
{
	struct bytes plain = bytes_make('t', 900);

	(void)state;
	for EACH_KIND(k) {
		struct bytes one = squeeze(kinds[k], &plain, 65537, 1);
		struct bytes two = join(&one, one.at, one.size);
		struct bytes cut = { .at = two.at };

		for (cut.size = one.size + 1; cut.size < two.size; cut.size++) {
			expect_bad(kinds[k], &cut, 4096, "cut");
			expect_bad(kinds[k], &cut, 1, "cut");
		}
		bytes_free(&two);
		bytes_free(&one);
	}
	bytes_free(&plain);
}

/* In the middle of much data, what came before the cut may be had. */
static void cut_in_much_is_told(void **state)
{
	struct bytes plain = bytes_make('r', 2 << 20);

	(void)state;
	for EACH_KIND(k) {
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);

		for (size_t part = 1; part < 16; part++) {
			struct bytes cut = { .at = packed.at,
					     .size = packed.size / 16 * part };

			expect_bad(kinds[k], &cut, 1 << 20, "cut");
		}
		bytes_free(&packed);
	}
	bytes_free(&plain);
}

/*
 * Some bits mean nothing: in gzip's header flags, time, level and system, and up to
 * seven where a stream of bits ends.
 */
static bool flips_nothing(enum filter_kind kind, size_t at, size_t size)
{
	return kind != FILTER_GZIP || (at >= 3 && at < 10) || at == size - 9;
}

static void flipped_anywhere_is_told(void **state)
{
	struct bytes plain = bytes_make('t', 300);

	(void)state;
	for EACH_KIND(k) {
		/* What libarchive 3.6.2 writes there has no checksum. */
		if (kinds[k] == FILTER_ZSTD)
			continue;
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);

		for (size_t bit = 0; bit < 8 * packed.size; bit++) {
			packed.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
			struct outcome got = expand(kinds[k], &packed);

			if (got.err == 0) {
				assert_true(flips_nothing(kinds[k], bit / 8,
							  packed.size));
				bytes_same(&plain, &got.bytes);
			} else {
				assert_int_equal(got.err, EBADMSG);
				assert_true(got.words[0] != '\0');
			}
			bytes_free(&got.bytes);
			packed.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
		}
		bytes_free(&packed);
	}
	bytes_free(&plain);
}

/* Damage in a zstd stream that isn't seen gives other bytes, never a crash. */
static void flipped_zstd_ends(void **state)
{
	struct bytes plain = bytes_make('t', 300);
	struct bytes packed = squeeze(FILTER_ZSTD, &plain, 65537, 1);

	(void)state;
	for (size_t bit = 0; bit < 8 * packed.size; bit++) {
		packed.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
		struct outcome got = expand(FILTER_ZSTD, &packed);

		assert_true(got.err == 0 || got.err == EBADMSG);
		bytes_free(&got.bytes);
		packed.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	bytes_free(&packed);
	bytes_free(&plain);
}

/* Worse damage than a bit: it ends, with an error or with other bytes. */
static void torn_streams_end(void **state)
{
	struct bytes plain = bytes_make('t', 30000);
	uint32_t random = 1;

	(void)state;
	for EACH_KIND(k) {
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);

		for (int round = 0; round < 200; round++) {
			struct bytes torn = join(&packed, packed.at, packed.size);

			for (int i = 0; i <= round % 5; i++) {
				random = random * 1664525u + 1013904223u;
				size_t at = (random >> 8) % torn.size;

				if (round % 2)
					at %= 64;
				torn.at[at] = (unsigned char)(random >> 3);
			}
			struct outcome got = expand(kinds[k], &torn);

			assert_true(got.err == 0 || got.err == EBADMSG);
			assert_true(got.err == 0 || got.words[0] != '\0');
			bytes_free(&got.bytes);
			bytes_free(&torn);
		}
		bytes_free(&packed);
	}
	bytes_free(&plain);
}

static void the_words_say_which(void **state)
{
	struct bytes plain = bytes_make('t', 900);
	struct bytes packed = squeeze(FILTER_GZIP, &plain, 65537, 1);
	struct bytes other = bytes_make('t', 900);

	(void)state;
	packed.at[packed.size - 1] ^= 1;
	expect_bad(FILTER_GZIP, &packed, 4096, "length does not match");
	packed.at[packed.size - 5] ^= 1;
	expect_bad(FILTER_GZIP, &packed, 4096, "checksum does not match");
	packed.at[2] = 7;
	expect_bad(FILTER_GZIP, &packed, 4096, "damaged");
	for EACH_KIND(k) {
		expect_bad(kinds[k], &other, 4096, "not ");
		expect_bad(kinds[k], &other, 1, "not ");
	}
	bytes_free(&other);
	bytes_free(&packed);
	bytes_free(&plain);
}

/* ---- more than one ---- */

static void reads_one_after_the_other(void **state)
{
	struct bytes a = bytes_make('t', 200000), none = { 0 };
	struct bytes b = bytes_make('r', 777), plain = join(&a, b.at, b.size);

	(void)state;
	for EACH_KIND(k) {
		struct bytes first = squeeze(kinds[k], &a, 65537, 2);
		struct bytes middle = squeeze(kinds[k], &none, 65537, 1);
		struct bytes second = squeeze(kinds[k], &b, 65537, 1);
		struct bytes two = join(&first, middle.at, middle.size);

		bytes_add(&two, second.at, second.size);
		expect(kinds[k], &two, &plain, two.size, false);
		bytes_free(&two);
		/* An empty one in front, and one behind. */
		two = join(&middle, second.at, second.size);
		bytes_add(&two, middle.at, middle.size);
		expect(kinds[k], &two, &b, two.size, false);
		bytes_free(&two);
		bytes_free(&first);
		bytes_free(&middle);
		bytes_free(&second);
	}
	bytes_free(&plain);
	bytes_free(&a);
	bytes_free(&b);
}

static void zeros_behind_are_padding(void **state)
{
	static const size_t sizes[] = { 0, 900, 200000 };
	static const size_t zeros[] = { 1, 2, 3, 4, 15, 16, 10240, 10241 };
	struct bytes padding = bytes_make('z', 10241);

	(void)state;
	for (int i = 0; i < 3; i++)
		for EACH_KIND(k) {
			struct bytes plain = bytes_make('t', sizes[i]);
			struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);

			for (int z = 0; z < 8; z++) {
				struct bytes padded = join(&packed, padding.at,
							   zeros[z]);

				expect(kinds[k], &padded, &plain, packed.size, false);
				bytes_add(&padded, "x", 1);
				expect(kinds[k], &padded, &plain, packed.size, true);
				bytes_free(&padded);
			}
			bytes_free(&packed);
			bytes_free(&plain);
		}
	bytes_free(&padding);
}

static void junk_behind_is_told(void **state)
{
	static const char *const junk[] = { "j", "junk", "junk that is longer than a head",
					    "\xff\xff\xff\xff\xff\xff" };

	(void)state;
	for EACH_KIND(k) {
		struct bytes plain = bytes_make('t', 200000);
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);

		for (int i = 0; i < 4; i++) {
			struct bytes both = join(&packed, junk[i], strlen(junk[i]));

			expect(kinds[k], &both, &plain, packed.size, true);
			bytes_free(&both);
		}
		bytes_free(&packed);
		bytes_free(&plain);
	}
}

/* What the format allows between streams. */
static void xz_streams_may_be_padded(void **state)
{
	struct bytes plain = bytes_make('t', 900);
	struct bytes both = join(&plain, plain.at, plain.size);
	struct bytes one = squeeze(FILTER_XZ, &plain, 65537, 1);
	struct bytes two = join(&one, "\0\0\0\0\0\0\0\0", 8);

	(void)state;
	bytes_add(&two, one.at, one.size);
	expect(FILTER_XZ, &two, &both, two.size, false);
	bytes_free(&two);
	bytes_free(&one);
	bytes_free(&both);
	bytes_free(&plain);
}

/* Frames for others: passed over, also at the beginning. */
static void skippable_frames_are_skipped(void **state)
{
	static const char skipped[] = "\x53\x2a\x4d\x18\5\0\0\0hello";
	static const enum filter_kind both[] = { FILTER_ZSTD, FILTER_LZ4 };
	struct bytes plain = bytes_make('t', 900), large = bytes_make('r', 2 << 16);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bytes packed = squeeze(both[i], &plain, 65537, 1);
		struct bytes all = { 0 };

		bytes_add(&all, skipped, sizeof(skipped) - 1);
		bytes_add(&all, packed.at, packed.size);
		bytes_add(&all, skipped, sizeof(skipped) - 1);
		expect(both[i], &all, &plain, all.size, false);
		all.size--;
		expect_bad(both[i], &all, 4096, "cut");
		bytes_free(&all);
		bytes_add(&all, "\x50\x2a\x4d\x18\0\0\2\0", 8);
		bytes_add(&all, large.at, large.size);
		bytes_add(&all, packed.at, packed.size);
		expect(both[i], &all, &plain, all.size, false);
		bytes_free(&all);
		bytes_free(&packed);
	}
	bytes_free(&large);
	bytes_free(&plain);
}

/* ---- failures around it ---- */

static void a_failing_source_is_told(void **state)
{
	struct bytes plain = bytes_make('r', 100000);

	(void)state;
	for EACH_KIND(k) {
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);
		struct bytes part = { .at = packed.at };

		for (part.size = 0; part.size < packed.size;
		     part.size = 3 * part.size + 1) {
			struct outcome got = expand_by(kinds[k], &part, 4096, 65536,
						       EIO);

			assert_int_equal(got.err, EIO);
			bytes_free(&got.bytes);
		}
		/* Behind the last frame, too. */
		struct outcome got = expand_by(kinds[k], &packed, 4096, 65536, EIO);

		assert_int_equal(got.err, EIO);
		bytes_free(&got.bytes);
		bytes_free(&packed);
	}
	bytes_free(&plain);
}

static void a_failing_sink_ends_it(void **state)
{
	struct bytes plain = bytes_make('r', 5 << 18);

	(void)state;
	for EACH_KIND(k)
		for (unsigned good = 0; good < 4; good++) {
			struct keeper keeper = { .good = good, .fails = ENOSPC };
			struct filter_out *out = filter_out_new(
				kinds[k], -1, 2, keeper_sink, &keeper);

			assert_non_null(out);
			if (filter_out_write(out, plain.at, plain.size) == 0 &&
			    filter_out_close(out) == 0) {
				/* lz4 gives all of it at once. */
				assert_true(good > 0);
				assert_true(keeper.calls <= good);
				filter_out_free(out);
				bytes_free(&keeper.bytes);
				continue;
			}
			assert_int_equal(errno, ENOSPC);
			assert_int_equal(filter_out_write(out, "more", 4), -1);
			assert_int_equal(errno, ENOSPC);
			assert_int_equal(filter_out_close(out), -1);
			assert_int_equal(errno, ENOSPC);
			filter_out_free(out);
			assert_int_equal(keeper.late, 0);
			bytes_free(&keeper.bytes);
		}
	bytes_free(&plain);
}

static void a_failing_sink_ends_nothing_too(void **state)
{
	(void)state;
	for EACH_KIND(k) {
		struct keeper keeper = { .fails = EPIPE };
		struct filter_out *out = filter_out_new(kinds[k], -1, 1, keeper_sink,
							&keeper);

		assert_non_null(out);
		assert_int_equal(filter_out_close(out), -1);
		assert_int_equal(errno, EPIPE);
		assert_int_equal(filter_out_close(out), -1);
		assert_int_equal(errno, EPIPE);
		filter_out_free(out);
		assert_int_equal(keeper.late, 0);
	}
}

/* Freed unclosed, nothing of the stream's end goes out any more. */
static void dropped_it_says_nothing(void **state)
{
	struct bytes plain = bytes_make('t', 70000);

	(void)state;
	filter_out_free(NULL);
	filter_in_free(NULL);
	for EACH_KIND(k)
		for (size_t size = 0; size <= plain.size; size += plain.size) {
			struct keeper keeper = { 0 };
			struct filter_out *out = filter_out_new(
				kinds[k], -1, 2, keeper_sink, &keeper);

			assert_int_equal(filter_out_write(out, plain.at, size), 0);
			size_t before = keeper.bytes.size;

			filter_out_free(out);
			assert_int_equal(keeper.bytes.size, before);
			bytes_free(&keeper.bytes);
		}
	bytes_free(&plain);
}

static void reading_may_stop_early(void **state)
{
	struct bytes plain = bytes_make('t', 500000);
	char some[100];

	(void)state;
	for EACH_KIND(k) {
		struct bytes packed = squeeze(kinds[k], &plain, 65537, 1);
		struct giver giver = { .bytes = &packed, .piece = 100 };
		struct filter_in *in = filter_in_new(kinds[k], giver_source, &giver);

		assert_true(filter_in_read(in, some, sizeof(some)) > 0);
		assert_memory_equal(some, plain.at, 1);
		assert_int_equal(filter_in_used(in), giver.next);
		filter_in_free(in);
		bytes_free(&packed);
	}
	bytes_free(&plain);
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	for EACH_KIND(k) {
		fault_set(CALLOC, (struct fault){ .err = ENOMEM });
		assert_null(filter_out_new(kinds[k], -1, 1, keeper_sink, NULL));
		assert_int_equal(errno, ENOMEM);
		fault_set(CALLOC, (struct fault){ .err = ENOMEM });
		assert_null(filter_in_new(kinds[k], giver_source, NULL));
		assert_int_equal(errno, ENOMEM);
	}
	fault_set(CALLOC, (struct fault){ .after = 1, .err = ENOMEM });
	assert_null(filter_out_new(FILTER_GZIP, -1, 1, keeper_sink, NULL));
	assert_int_equal(errno, ENOMEM);
	fault_set(CALLOC, (struct fault){ .after = 1, .err = ENOMEM });
	assert_null(filter_in_new(FILTER_GZIP, giver_source, NULL));
	assert_int_equal(errno, ENOMEM);
	faults_clear();
}

/* ---- with the tools themselves ---- */

static char directory[] = "/tmp/filterXXXXXX";

static void file_write(const char *name, const struct bytes *bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	if (bytes->size > 0)
		assert_int_equal(fwrite(bytes->at, 1, bytes->size, file),
				 bytes->size);
	assert_int_equal(fclose(file), 0);
}

static struct bytes file_read(const char *name)
{
	struct bytes bytes = { 0 };
	char path[64], buffer[4096];
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		bytes_add(&bytes, buffer, n);
	fclose(file);
	return bytes;
}

/* Runs `tool <in >out 2>err` on these bytes; no failure and no word is expected. */
static struct bytes tool_run(const char *tool, const struct bytes *in)
{
	char command[256];
	struct bytes out, err;

	file_write("in", in);
	snprintf(command, sizeof(command), "cd %s && %s <in >out 2>err", directory,
		 tool);
	int status = system(command);

	out = file_read("out");
	err = file_read("err");
	if (status != 0 || err.size > 0)
		print_message("%s: %d: %.*s\n", tool, status, (int)err.size,
			      (const char *)err.at);
	assert_int_equal(status, 0);
	assert_int_equal(err.size, 0);
	bytes_free(&err);
	return out;
}

static bool tool_there(const char *tool)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %.*s >/dev/null",
		 (int)strcspn(tool, " "), tool);
	if (system(command) == 0)
		return true;
	print_message("not tried: no %.*s here\n", (int)strcspn(tool, " "), tool);
	return false;
}

static const size_t tool_sizes[] = { 0, 1, 900, 5 << 18 };

static void the_tools_read_ours(void **state)
{
	static const struct { enum filter_kind kind; const char *tool; } tools[] = {
		{ FILTER_GZIP, "gzip -dc" }, { FILTER_GZIP, "pigz -dc" },
		{ FILTER_GZIP, "busybox gunzip -c" },
		{ FILTER_ZSTD, "zstd -dc" }, { FILTER_XZ, "xz -dc" },
		{ FILTER_LZ4, "lz4 -dc" }, { FILTER_BZIP2, "bzip2 -dc" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		if (!tool_there(tools[i].tool))
			continue;
		for (int s = 0; s < 4; s++)
			for (unsigned threads = 1; threads <= 3; threads += 2) {
				struct bytes plain = bytes_make('t', tool_sizes[s]);
				struct bytes packed = squeeze(tools[i].kind, &plain,
							      65537, threads);
				struct bytes got = tool_run(tools[i].tool, &packed);

				bytes_same(&plain, &got);
				bytes_free(&got);
				bytes_free(&packed);
				bytes_free(&plain);
			}
	}
}

/* All shapes of frames that the tools make. */
static void we_read_the_tools(void **state)
{
	static const struct { enum filter_kind kind; const char *tool; } tools[] = {
		{ FILTER_GZIP, "gzip -c" }, { FILTER_GZIP, "gzip -9c" },
		{ FILTER_GZIP, "pigz -c -b 128" }, { FILTER_GZIP, "pigz -c -i" },
		{ FILTER_ZSTD, "zstd -qc" }, { FILTER_ZSTD, "zstd -qc -T2 -1" },
		{ FILTER_ZSTD, "zstd -qc --no-check -19" },
		{ FILTER_ZSTD, "zstd -qc --long=27" },
		{ FILTER_ZSTD, "zstd -qc in" },
		{ FILTER_XZ, "xz -c" }, { FILTER_XZ, "xz -c -C sha256" },
		{ FILTER_XZ, "xz -c -C crc32 --block-size=100000" },
		{ FILTER_XZ, "xz -c -C none" },
		{ FILTER_XZ, "xz -c -T2 --block-size=500000" },
		{ FILTER_XZ, "xz -c --x86 --delta --lzma2=preset=1" },
		{ FILTER_LZ4, "lz4 -qc" }, { FILTER_LZ4, "lz4 -qc -9 -B4 -BD" },
		{ FILTER_LZ4, "lz4 -qc -BX --content-size" },
		{ FILTER_LZ4, "lz4 -qc --no-frame-crc" }, { FILTER_LZ4, "lz4 -qc -l" },
		{ FILTER_BZIP2, "bzip2 -c" }, { FILTER_BZIP2, "bzip2 -1c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		if (!tool_there(tools[i].tool))
			continue;
		for (int s = 0; s < 4; s++)
			for (const char *type = "rt"; *type; type++) {
				struct bytes plain = bytes_make(*type, tool_sizes[s]);
				struct bytes packed = tool_run(tools[i].tool, &plain);
				struct bytes two = join(&packed, packed.at,
							packed.size);
				struct bytes both = join(&plain, plain.at, plain.size);
				struct outcome got = expand(tools[i].kind, &packed);

				if (got.err != 0 || got.bytes.size != plain.size)
					print_message("%s, %zu: %s\n", tools[i].tool,
						      plain.size, got.words);
				assert_int_equal(got.err, 0);
				bytes_same(&plain, &got.bytes);
				assert_int_equal(got.used, packed.size);
				bytes_free(&got.bytes);
				expect(tools[i].kind, &two, &both, two.size, false);
				bytes_free(&both);
				bytes_free(&two);
				bytes_free(&packed);
				bytes_free(&plain);
			}
	}
}

static int directory_make(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int directory_remove(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_back_every_size),
		cmocka_unit_test(gives_back_every_piece),
		cmocka_unit_test(gives_back_every_level),
		cmocka_unit_test(none_is_no_kind),
		cmocka_unit_test(it_is_decompressed_once),
		cmocka_unit_test(knows_its_own_streams),
		cmocka_unit_test(knows_magic_bytes),
		cmocka_unit_test(cut_anywhere_is_told),
		cmocka_unit_test(cut_in_the_second_is_told),
		cmocka_unit_test(cut_in_much_is_told),
		cmocka_unit_test(flipped_anywhere_is_told),
		cmocka_unit_test(flipped_zstd_ends),
		cmocka_unit_test(torn_streams_end),
		cmocka_unit_test(the_words_say_which),
		cmocka_unit_test(reads_one_after_the_other),
		cmocka_unit_test(zeros_behind_are_padding),
		cmocka_unit_test(junk_behind_is_told),
		cmocka_unit_test(xz_streams_may_be_padded),
		cmocka_unit_test(skippable_frames_are_skipped),
		cmocka_unit_test(a_failing_source_is_told),
		cmocka_unit_test(a_failing_sink_ends_it),
		cmocka_unit_test(a_failing_sink_ends_nothing_too),
		cmocka_unit_test(dropped_it_says_nothing),
		cmocka_unit_test(reading_may_stop_early),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(the_tools_read_ours),
		cmocka_unit_test(we_read_the_tools),
	};

	return cmocka_run_group_tests_name("filter", tests, directory_make,
					   directory_remove);
}
