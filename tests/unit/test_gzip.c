/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip, written: what comes out is one whole stream, whatever the pieces and the number
 * of threads; and every failure ends it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "bytes.h"
#include "faults.h"
#include "gzip.h"

WRAPPED(void *, malloc, size_t size)
{
	return fault_due(MALLOC, NULL, NULL) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

enum { BLOCK = 256 << 10, MANY = 12 * BLOCK + 1000 };

static const unsigned all_threads[] = { 1, 2, 5 };
enum { NTHREADS = sizeof(all_threads) / sizeof(*all_threads) };

static int write_pieces(struct gzip *gzip, const struct bytes *from, size_t piece)
{
	for (size_t at = 0; at < from->size; at += piece) {
		size_t left = from->size - at;

		if (gzip_write(gzip, from->at + at, left < piece ? left : piece) != 0)
			return -1;
	}
	return 0;
}

/* By zlib alone: one member, and nothing behind it. */
static struct bytes inflate_one(const struct bytes *from)
{
	struct bytes to = { 0 };
	static unsigned char buffer[1 << 16];
	z_stream z = { .next_in = from->at, .avail_in = (uInt)from->size };
	int done = Z_OK;

	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	while (done == Z_OK) {
		z.next_out = buffer;
		z.avail_out = sizeof(buffer);
		done = inflate(&z, Z_NO_FLUSH);
		bytes_add(&to, buffer, sizeof(buffer) - z.avail_out);
	}
	assert_int_equal(done, Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	return to;
}

static void round_trip(const struct bytes *from, int level, unsigned threads,
		       size_t piece)
{
	struct keeper keeper = { 0 };
	struct gzip *gzip = gzip_new(level, threads, keeper_sink, &keeper);

	assert_non_null(gzip);
	assert_int_equal(write_pieces(gzip, from, piece), 0);
	assert_int_equal(gzip_close(gzip), 0);
	assert_int_equal(gzip_close(gzip), 0);
	assert_int_equal(gzip_write(gzip, "x", 1), -1);
	assert_int_equal(errno, EINVAL);
	gzip_free(gzip);

	struct bytes to = inflate_one(&keeper.bytes);

	bytes_same(from, &to);
	bytes_free(&to);
	bytes_free(&keeper.bytes);
}

static void gives_back_every_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 511, (128 << 10) - 1, 128 << 10,
					(128 << 10) + 1, BLOCK - 1, BLOCK, BLOCK + 1,
					2 * BLOCK, MANY };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (const char *type = "rtz"; *type; type++) {
			struct bytes from = bytes_make(*type, sizes[i]);

			for (int k = 0; k < NTHREADS; k++)
				round_trip(&from, -1, all_threads[k], 65537);
			bytes_free(&from);
		}
}

static void gives_back_every_piece(void **state)
{
	static const size_t pieces[] = { 1, 7, 65537, MANY };
	struct bytes from = bytes_make('t', 3 * BLOCK + 17);

	(void)state;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < NTHREADS; k++)
			round_trip(&from, 1, all_threads[k], pieces[i]);
	bytes_free(&from);
}

static void gives_back_every_level(void **state)
{
	(void)state;
	for (const char *type = "rt"; *type; type++) {
		struct bytes from = bytes_make(*type, 2 * BLOCK + 5);

		for (int level = 1; level <= 9; level++)
			round_trip(&from, level, 2, 100000);
		bytes_free(&from);
	}
}

/* So many threads, or so few, are no reason to refuse. */
static void takes_any_number_of_threads(void **state)
{
	struct bytes from = bytes_make('t', 3 * BLOCK);

	(void)state;
	round_trip(&from, 1, 0, 65537);
	round_trip(&from, 1, 1000, 65537);
	bytes_free(&from);
}

static void the_same_bytes_whatever_the_threads(void **state)
{
	struct bytes from = bytes_make('t', MANY), first = { 0 };

	(void)state;
	for (int k = 0; k < NTHREADS; k++) {
		struct keeper keeper = { 0 };
		struct gzip *gzip = gzip_new(1, all_threads[k], keeper_sink, &keeper);

		assert_int_equal(write_pieces(gzip, &from, 65537), 0);
		assert_int_equal(gzip_close(gzip), 0);
		gzip_free(gzip);
		if (k == 0)
			first = keeper.bytes;
		else
			bytes_same(&first, &keeper.bytes);
		if (k != 0)
			bytes_free(&keeper.bytes);
	}
	bytes_free(&first);
	bytes_free(&from);
}

/* No time, no name: the same input gives the same file on every day. */
static void the_head_says_nothing_of_here(void **state)
{
	static const unsigned char head[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3 };
	struct keeper keeper = { 0 };
	struct gzip *gzip = gzip_new(-1, 1, keeper_sink, &keeper);

	(void)state;
	assert_int_equal(gzip_close(gzip), 0);
	assert_int_equal(keeper.bytes.size, sizeof(head) + 2 + 8);
	assert_memory_equal(keeper.bytes.at, head, sizeof(head));
	gzip_free(gzip);
	bytes_free(&keeper.bytes);
}

/* The dictionary earns its keep: blocks know what was before them. */
static void blocks_share_their_past(void **state)
{
	struct bytes noise = bytes_make('r', 16 << 10), from = { 0 };
	struct keeper keeper = { 0 };
	struct gzip *gzip = gzip_new(6, 2, keeper_sink, &keeper);

	(void)state;
	while (from.size < 8 * BLOCK)
		bytes_add(&from, noise.at, noise.size);
	assert_int_equal(gzip_write(gzip, from.at, from.size), 0);
	assert_int_equal(gzip_close(gzip), 0);
	gzip_free(gzip);
	/* Without it each block begins with 16 KiB of noise. */
	assert_true(keeper.bytes.size < (16 << 10) + 8 * (8 << 10));
	bytes_free(&keeper.bytes);
	bytes_free(&noise);
	bytes_free(&from);
}

static void refuses_levels_that_are_none(void **state)
{
	static const int bad[] = { -2, 0, 10, 100 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		errno = 0;
		assert_null(gzip_new(bad[i], 1, keeper_sink, NULL));
		assert_int_equal(errno, EINVAL);
	}
}

/* ---- failures ---- */

static void a_failing_sink_ends_it(void **state)
{
	struct bytes from = bytes_make('r', MANY);

	(void)state;
	for (unsigned good = 0; good < 13; good++)
		for (int k = 0; k < NTHREADS; k++) {
			struct keeper keeper = { .good = good, .fails = ENOSPC };
			struct gzip *gzip = gzip_new(1, all_threads[k], keeper_sink,
						     &keeper);

			if (write_pieces(gzip, &from, 65537) == 0)
				assert_int_equal(gzip_close(gzip), -1);
			assert_int_equal(errno, ENOSPC);
			assert_int_equal(gzip_write(gzip, "more", 4), -1);
			assert_int_equal(gzip_close(gzip), -1);
			assert_int_equal(errno, ENOSPC);
			assert_int_equal(keeper.calls, good + 1);
			gzip_free(gzip);
			assert_int_equal(keeper.late, 0);
			bytes_free(&keeper.bytes);
		}
	bytes_free(&from);
}

static int rude_sink(void *arg, const void *bytes, size_t size)
{
	(void)arg, (void)bytes, (void)size;
	return -1;
}

static void a_sink_without_errno_is_an_error_too(void **state)
{
	struct gzip *gzip = gzip_new(1, 2, rude_sink, NULL);

	(void)state;
	assert_int_equal(gzip_close(gzip), -1);
	assert_int_equal(errno, EIO);
	gzip_free(gzip);
}

static void it_is_freed_at_any_point(void **state)
{
	struct bytes from = bytes_make('t', MANY);

	(void)state;
	gzip_free(NULL);
	for (size_t size = 0; size <= MANY; size += BLOCK / 2)
		for (int k = 0; k < NTHREADS; k++) {
			struct keeper keeper = { 0 };
			struct gzip *gzip = gzip_new(1, all_threads[k], keeper_sink,
						     &keeper);

			assert_int_equal(gzip_write(gzip, from.at, size), 0);
			gzip_free(gzip);
			bytes_free(&keeper.bytes);
		}
	bytes_free(&from);
}

/* Blocks in order, one call at a time, from whatever thread. */
struct lone {
	struct lock lock;
	int inside, clashes;
	struct keeper keeper;
};

static int lone_sink(void *arg, const void *bytes, size_t size)
{
	struct lone *lone = arg;

	lock_take(&lone->lock);
	lone->clashes += lone->inside++ > 0;
	lock_give(&lone->lock);
	/* A slow sink: the others finish their blocks meanwhile. */
	clock_wait(clock_ns() + 1000000);
	keeper_sink(&lone->keeper, bytes, size);
	lock_take(&lone->lock);
	lone->inside--;
	lock_give(&lone->lock);
	return 0;
}

static void the_sink_is_called_by_one_at_a_time(void **state)
{
	struct bytes from = bytes_make('t', 40 * BLOCK);
	struct lone lone = { .inside = 0 };

	(void)state;
	lock_init(&lone.lock);
	struct gzip *gzip = gzip_new(1, 4, lone_sink, &lone);

	assert_int_equal(write_pieces(gzip, &from, 100000), 0);
	assert_int_equal(gzip_close(gzip), 0);
	gzip_free(gzip);
	assert_int_equal(lone.clashes, 0);

	struct bytes to = inflate_one(&lone.keeper.bytes);

	bytes_same(&from, &to);
	lock_destroy(&lone.lock);
	bytes_free(&to);
	bytes_free(&from);
	bytes_free(&lone.keeper.bytes);
}

/* A sink that stands still: how much is taken in meanwhile? */
struct gate {
	struct lock lock;
	bool open;
	size_t taken;		/* from the writer */
	unsigned calls;
};

static int gate_sink(void *arg, const void *bytes, size_t size)
{
	struct gate *gate = arg;

	(void)bytes, (void)size;
	lock_take(&gate->lock);
	/* The first call stays until the writer can't go on. */
	while (!gate->open)
		lock_wait(&gate->lock);
	gate->calls++;
	lock_give(&gate->lock);
	return 0;
}

static struct gate gate;
static struct gzip *gated;

static void gate_write(void *arg)
{
	static unsigned char block[BLOCK];

	(void)arg;
	for (int i = 0; i < 64; i++) {
		assert_int_equal(gzip_write(gated, block, sizeof(block)), 0);
		lock_take(&gate.lock);
		gate.taken += sizeof(block);
		lock_give(&gate.lock);
	}
}

static void memory_is_bounded_when_the_sink_stands_still(void **state)
{
	struct thread writer = { .running = false };

	(void)state;
	lock_init(&gate.lock);
	gated = gzip_new(1, 2, gate_sink, &gate);
	assert_int_equal(thread_start(&writer, "writer", gate_write, NULL), 0);
	/* It can't end, so that this tells no lie on a slow machine. */
	assert_false(thread_join_within(&writer, 200));
	lock_take(&gate.lock);
	assert_true(gate.taken <= 6 * BLOCK);
	gate.open = true;
	lock_notify(&gate.lock);
	lock_give(&gate.lock);
	thread_join(&writer);
	assert_int_equal(gzip_close(gated), 0);
	gzip_free(gated);
	assert_int_equal(gate.calls, 65);
	lock_destroy(&gate.lock);
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	for (unsigned after = 0; after < 3; after++) {
		fault_set(CALLOC, (struct fault){ .after = after, .err = ENOMEM });
		assert_null(gzip_new(1, 2, keeper_sink, NULL));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(fault_hits(CALLOC), 1);
	}
	faults_clear();
	fault_set(MALLOC, (struct fault){ .err = ENOMEM });
	assert_null(gzip_new(1, 1, keeper_sink, NULL));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fault_hits(MALLOC), 1);
	faults_clear();
}

/* With fewer threads than asked for, or none, it is only slower. */
static void threads_that_cannot_start_are_done_without(void **state)
{
	struct bytes from = bytes_make('t', 5 * BLOCK);

	(void)state;
	for (unsigned after = 1; after <= 2; after++) {
		fault_set(MALLOC, (struct fault){ .after = after, .err = ENOMEM });
		round_trip(&from, 1, 3, 65537);
		assert_int_equal(fault_hits(MALLOC), 1);
	}
	faults_clear();
	bytes_free(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_back_every_size),
		cmocka_unit_test(gives_back_every_piece),
		cmocka_unit_test(gives_back_every_level),
		cmocka_unit_test(takes_any_number_of_threads),
		cmocka_unit_test(the_same_bytes_whatever_the_threads),
		cmocka_unit_test(the_head_says_nothing_of_here),
		cmocka_unit_test(blocks_share_their_past),
		cmocka_unit_test(refuses_levels_that_are_none),
		cmocka_unit_test(a_failing_sink_ends_it),
		cmocka_unit_test(a_sink_without_errno_is_an_error_too),
		cmocka_unit_test(it_is_freed_at_any_point),
		cmocka_unit_test(the_sink_is_called_by_one_at_a_time),
		cmocka_unit_test(memory_is_bounded_when_the_sink_stands_still),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(threads_that_cannot_start_are_done_without),
	};

	return cmocka_run_group_tests_name("gzip", tests, NULL, NULL);
}
