/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring that counts in units: it holds exactly as many as were asked for,
 * whatever their size, and its marks are whole units.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "ring.h"
#include "thread.h"

static struct ring *units_make(size_t unit, size_t count, unsigned start,
			       unsigned low)
{
	struct ring_config config = { .size = unit * count, .start = start,
				      .low = low, .rearm = RING_EACH_BATCH,
				      .spans = 1, .unit = unit };
	struct ring *ring = ring_new(&config);

	assert_non_null(ring);
	return ring;
}

static void units_put(struct ring *ring, size_t unit, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_non_null(ring_reserve(ring, unit));
		assert_true(ring_room(ring) >= unit);
		ring_commit(ring, unit);
	}
	ring_flush(ring);
}

static size_t fill_of(struct ring *ring)
{
	struct ring_counters counters;

	ring_count(ring, &counters);
	return counters.fill;
}

static void refuses_less_than_a_unit(void **state)
{
	struct ring_config config = { .size = 99, .low = 100, .spans = 1,
				      .unit = 100 };

	(void)state;
	assert_null(ring_new(&config));
	assert_int_equal(errno, EINVAL);
}

struct feeder {
	struct ring *ring;
	size_t unit, count;
};

static void feed(void *arg)
{
	struct feeder *feeder = arg;

	for (size_t i = 0; i < feeder->count; i++) {
		unsigned char *at = ring_reserve(feeder->ring, feeder->unit);

		if (!at)
			return;
		memset(at, (int)(i % 251), feeder->unit);
		ring_commit(feeder->ring, feeder->unit);
		ring_flush(feeder->ring);
	}
	ring_close(feeder->ring);
}

/* Waits for a fill that does not come at once. */
static void expect_fill(struct ring *ring, size_t fill)
{
	for (int i = 0; i < 200 && fill_of(ring) != fill; i++)
		usleep(10000);
	usleep(20000);
	assert_int_equal(fill_of(ring), fill);
}

static void holds_as_many_as_asked_for(void **state)
{
	static const size_t units[] = { 1, 701, 10240, 512 << 10, 3 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		for (size_t count = 1; count <= 5; count += 2) {
			struct feeder feeder = { units_make(units[i], count, 0,
							    100),
						 units[i], count + 1 };
			struct thread thread;

			assert_int_equal(thread_start(&thread, "feeder", feed,
						      &feeder), 0);
			expect_fill(feeder.ring, units[i] * count);
			ring_abort(feeder.ring, EPIPE);
			thread_join(&thread);
			ring_free(feeder.ring);
		}
}

static void a_batch_is_whole_units(void **state)
{
	/* 75 % of 5 are 3.75: 3 */
	struct ring *ring = units_make(1000, 5, 75, 100);
	const void *bytes;
	size_t size, got = 0;

	(void)state;
	units_put(ring, 1000, 5);
	while (got < 3000) {
		assert_int_equal(ring_peek(ring, &bytes, &size), 1);
		assert_true(size % 1000 == 0 && got + size <= 3000);
		ring_release(ring, ring_take(ring, size));
		got += size;
	}
	/* 2 are left, the third makes the next batch. */
	units_put(ring, 1000, 1);
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	ring_free(ring);
}

static void the_room_stays_when_a_part_is_committed(void **state)
{
	struct ring *ring = units_make(100, 1000, 0, 100);
	unsigned char *at = ring_reserve(ring, 100);

	(void)state;
	assert_true(ring_room(ring) >= 1000);
	memset(at, 'x', 350);
	ring_commit(ring, 300);
	ring_flush(ring);
	assert_ptr_equal(ring_reserve(ring, 100), at + 300);
	assert_int_equal(at[349], 'x');
	ring_free(ring);
}

/* One reader, one writer; pieces of any number of units, every byte looked at. */
static void stress_once(unsigned seed, size_t unit, size_t count,
			unsigned start, unsigned low)
{
	struct feeder feeder = { units_make(unit, count, start, low), unit,
				 2000 };
	struct thread thread;
	const unsigned char *bytes;
	size_t size, seen = 0;

	assert_int_equal(thread_start(&thread, "feeder", feed, &feeder), 0);
	while (ring_peek(feeder.ring, (const void **)&bytes, &size) == 1) {
		size_t take = unit * (1 + (size_t)rand_r(&seed) % 4);

		assert_int_equal(size % unit, 0);
		take = take < size ? take : size;
		unsigned span = ring_take(feeder.ring, take);
		for (size_t i = 0; i < take; i += unit, seen++)
			if (bytes[i] != seen % 251 ||
			    bytes[i + unit - 1] != seen % 251)
				fail_msg("unit %zu is wrong", seen);
		ring_release(feeder.ring, span);
	}
	assert_int_equal(seen, feeder.count);
	thread_join(&thread);
	ring_free(feeder.ring);
}

static void stress_all_shapes(void **state)
{
	static const size_t units[] = { 1, 701, 10240, 65536, 300001 };
	static const size_t counts[] = { 1, 2, 3, 7, 100 };
	static const unsigned marks[][2] = { { 0, 100 }, { 75, 100 },
					     { 100, 100 }, { 50, 25 }, { 0, 0 } };
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++)
			for (int k = 0; k < 5; k++)
				stress_once(seed++, units[i], counts[j],
					    marks[k][0], marks[k][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_less_than_a_unit),
		cmocka_unit_test(holds_as_many_as_asked_for),
		cmocka_unit_test(a_batch_is_whole_units),
		cmocka_unit_test(the_room_stays_when_a_part_is_committed),
		cmocka_unit_test(stress_all_shapes),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
