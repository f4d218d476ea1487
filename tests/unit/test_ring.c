/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring: marks, counters, aborts, and a stress test in which a producer and
 * several consumers pass numbered records through rings of all shapes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "pool.h"
#include "ring.h"
#include "thread.h"

static struct ring *ring_make(size_t size, unsigned start, unsigned low)
{
	struct ring_config config = { size, start, low, RING_WHEN_EMPTY, 64, 0, 0 };
	struct ring *ring = ring_new(&config);

	assert_non_null(ring);
	return ring;
}

static void put(struct ring *ring, size_t size, int byte)
{
	void *at = ring_reserve(ring, size);

	assert_non_null(at);
	memset(at, byte, size);
	ring_commit(ring, size);
}

/* Takes and releases all that can be had now; returns how much. */
static size_t drain(struct ring *ring)
{
	const void *bytes;
	size_t size;

	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	ring_release(ring, ring_take(ring, size));
	return size;
}

/* ---- shapes ---- */

static void refuses_what_is_out_of_range(void **state)
{
	static const struct ring_config bad[] = {
		{ RING_SIZE_MIN - 1, 0, 100, RING_WHEN_EMPTY, 1, 0, 0 },
		{ RING_SIZE_MIN, 101, 100, RING_WHEN_EMPTY, 1, 0, 0 },
		{ RING_SIZE_MIN, 0, 101, RING_WHEN_EMPTY, 1, 0, 0 },
		{ RING_SIZE_MIN, 0, 100, RING_WHEN_EMPTY, 0, 0, 0 },
		{ SIZE_MAX, 0, 100, RING_WHEN_EMPTY, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		errno = 0;
		assert_null(ring_new(&bad[i]));
		assert_int_equal(errno, EINVAL);
	}
}

static void passes_bytes_in_place(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	const void *bytes;
	size_t size;
	char *in = ring_reserve(ring, 16);

	(void)state;
	memcpy(in, "in place, yes!!", 16);
	ring_commit(ring, 16);
	ring_flush(ring);
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	assert_ptr_equal(bytes, in);
	assert_int_equal(size, 16);
	ring_release(ring, ring_take(ring, size));
	ring_close(ring);
	assert_int_equal(ring_peek(ring, &bytes, &size), 0);
	ring_free(ring);
}

static void closed_and_empty_is_the_end(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 100, 0);
	const void *bytes;
	size_t size;

	(void)state;
	ring_close(ring);
	assert_int_equal(ring_peek(ring, &bytes, &size), 0);
	assert_int_equal(ring_peek(ring, &bytes, &size), 0);
	ring_free(ring);
}

static void spans_are_released_in_any_order(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct ring_counters counters;
	const void *bytes;
	unsigned span[3];
	size_t size;

	(void)state;
	for (int i = 0; i < 3; i++)
		put(ring, 64, i);
	ring_flush(ring);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ring_peek(ring, &bytes, &size), 1);
		assert_int_equal(size, 64 * (3 - i));
		assert_int_equal(*(const char *)bytes, i);
		span[i] = ring_take(ring, 64);
	}
	ring_release(ring, span[1]);
	ring_release(ring, span[2]);
	ring_count(ring, &counters);
	assert_int_equal(counters.fill, 192);	/* the oldest is still held */
	ring_release(ring, span[0]);
	ring_count(ring, &counters);
	assert_int_equal(counters.fill, 0);
	assert_int_equal(counters.highest, 192);
	ring_free(ring);
}

/* ---- marks, with a consumer that reports when it was let in ---- */

struct watcher {
	struct ring *ring;
	struct thread thread;
	struct lock lock;
	size_t got;
	int last;
};

static void watcher_run(void *arg)
{
	struct watcher *watcher = arg;
	const void *bytes;
	size_t size;
	int got = ring_peek(watcher->ring, &bytes, &size);

	lock_take(&watcher->lock);
	watcher->got = got == 1 ? size : 0;
	watcher->last = got;
	lock_notify(&watcher->lock);
	lock_give(&watcher->lock);
	if (got == 1)
		ring_release(watcher->ring, ring_take(watcher->ring, size));
}

static void watcher_start(struct watcher *watcher, struct ring *ring)
{
	memset(watcher, 0, sizeof(*watcher));
	watcher->ring = ring;
	watcher->last = 99;
	lock_init(&watcher->lock);
	assert_int_equal(thread_start(&watcher->thread, "watcher", watcher_run,
				      watcher), 0);
}

static int watcher_state(struct watcher *watcher)
{
	lock_take(&watcher->lock);
	int last = watcher->last;
	lock_give(&watcher->lock);
	return last;
}

static void watcher_join(struct watcher *watcher)
{
	thread_join(&watcher->thread);
	lock_destroy(&watcher->lock);
}

static void nothing_before_the_start_mark(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 75, 100);
	struct watcher watcher;

	(void)state;
	watcher_start(&watcher, ring);
	for (int i = 0; i < 47; i++)
		put(ring, 1024, i);
	ring_flush(ring);
	usleep(20000);
	assert_int_equal(watcher_state(&watcher), 99);
	put(ring, 1024, 47);		/* 48 of 64 KiB: 75% */
	ring_flush(ring);
	watcher_join(&watcher);
	assert_int_equal(watcher.last, 1);
	assert_int_equal(watcher.got, 48 * 1024);
	ring_free(ring);
}

static void close_lets_in_below_the_mark(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 100, 100);
	struct watcher watcher;

	(void)state;
	watcher_start(&watcher, ring);
	put(ring, 8, 1);
	ring_close(ring);
	watcher_join(&watcher);
	assert_int_equal(watcher.got, 8);
	ring_free(ring);
}

/* 100% can't be reached when the last piece does not fit: that counts, too. */
static void a_producer_without_room_reaches_the_mark(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 100, 100);
	struct watcher watcher;

	(void)state;
	watcher_start(&watcher, ring);
	for (int i = 0; i < 12; i++)
		put(ring, 10000 & ~7, i);
	watcher_join(&watcher);
	assert_int_equal(watcher.last, 1);
	ring_abort(ring, EPIPE);
	ring_free(ring);
}

/* The consumer goes on below the mark when the producer waits for it elsewhere. */
static void urging_lets_in_below_the_mark(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 100, 100);
	struct watcher watcher;

	(void)state;
	watcher_start(&watcher, ring);
	put(ring, 8, 1);
	ring_flush(ring);
	usleep(10000);
	assert_int_equal(watcher_state(&watcher), 99);
	ring_urge(ring);
	watcher_join(&watcher);
	assert_int_equal(watcher.got, 8);
	ring_free(ring);
}

static void the_mark_is_armed_again_when_empty(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 50, 100);
	struct ring_counters counters;
	struct watcher watcher;

	(void)state;
	put(ring, 16384, 1);
	put(ring, 16384, 2);
	ring_flush(ring);
	assert_int_equal(drain(ring), 32768);
	watcher_start(&watcher, ring);
	usleep(10000);
	put(ring, 16384, 3);
	ring_flush(ring);
	usleep(20000);
	assert_int_equal(watcher_state(&watcher), 99);
	put(ring, 16384, 4);
	ring_flush(ring);
	watcher_join(&watcher);
	ring_count(ring, &counters);
	assert_int_equal(watcher.got, 32768);
	assert_int_equal(counters.empty, 1);
	ring_free(ring);
}

/* While it is not empty, what comes is passed on below the mark. */
static void the_mark_is_not_armed_while_there_is_something(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 50, 100);
	const void *bytes;
	size_t size;

	(void)state;
	put(ring, 16384, 1);
	put(ring, 16384, 2);
	ring_flush(ring);
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	ring_release(ring, ring_take(ring, 16384));
	put(ring, 8, 3);
	ring_flush(ring);
	assert_int_equal(drain(ring), 16384 + 8);
	ring_free(ring);
}

static void each_batch_is_collected_anew(void **state)
{
	struct ring_config config = { RING_SIZE_MIN, 50, 100, RING_EACH_BATCH, 8, 0, 0 };
	struct ring *ring = ring_new(&config);
	struct watcher watcher;

	(void)state;
	for (int i = 0; i < 3; i++)
		put(ring, 16384, i);
	ring_flush(ring);
	assert_int_equal(drain(ring), 32768);	/* a batch, though there is more */
	watcher_start(&watcher, ring);
	usleep(20000);
	assert_int_equal(watcher_state(&watcher), 99);
	put(ring, 16384, 3);
	ring_flush(ring);
	watcher_join(&watcher);
	assert_int_equal(watcher.got, 32768);
	ring_free(ring);
}

struct filler {
	struct ring *ring;
	struct thread thread;
	uint64_t done;
	size_t blocks;
};

static void filler_run(void *arg)
{
	struct filler *filler = arg;

	for (size_t i = 0; i < filler->blocks; i++) {
		if (!ring_reserve(filler->ring, 8192))
			return;
		ring_commit(filler->ring, 8192);
		ring_flush(filler->ring);
		count_add(&filler->done, 1);
	}
}

static void a_full_ring_waits_for_the_low_mark(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 25);
	struct filler filler = { .ring = ring, .blocks = 9 };
	const void *bytes;
	size_t size;

	(void)state;
	assert_int_equal(thread_start(&filler.thread, "filler", filler_run,
				      &filler), 0);
	while (count_get(&filler.done) < 8)
		usleep(1000);
	for (int i = 0; i < 5; i++) {		/* 3 of 8 left: 37.5% */
		assert_int_equal(ring_peek(ring, &bytes, &size), 1);
		ring_release(ring, ring_take(ring, 8192));
	}
	usleep(20000);
	assert_int_equal(count_get(&filler.done), 8);
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	ring_release(ring, ring_take(ring, 8192));	/* 25% */
	thread_join(&filler.thread);
	assert_int_equal(count_get(&filler.done), 9);
	ring_free(ring);
}

/* Takes `size` of what can be had now and holds it. */
static unsigned hold(struct ring *ring, size_t size)
{
	const void *bytes;
	size_t got;

	assert_int_equal(ring_peek(ring, &bytes, &got), 1);
	assert_true(got >= size);
	return ring_take(ring, size);
}

/*
 * A window that has wrapped can't grow.  A mark above it has to count as reached
 * when the producer waits, or both wait for ever.
 */
static void a_wrapped_window_below_the_mark_is_no_trap(void **state)
{
	struct ring *ring = ring_make((size_t)64 << 20, 75, 100);
	struct filler filler = { .ring = ring, .blocks = 1000 };
	struct watcher watcher;
	unsigned first, second;

	(void)state;
	for (int i = 0; i < 192; i++)			/* 1.5 of 2 MiB */
		put(ring, 8192, i);
	ring_urge(ring);
	first = hold(ring, 192 * 8192);
	for (int i = 0; i < 48; i++)			/* 1.875 MiB */
		put(ring, 8192, i);
	ring_flush(ring);
	second = hold(ring, 48 * 8192);
	ring_release(ring, first);
	watcher_start(&watcher, ring);			/* empty: armed again */
	usleep(10000);
	assert_int_equal(thread_start(&filler.thread, "filler", filler_run,
				      &filler), 0);
	usleep(10000);
	ring_release(ring, second);
	watcher_join(&watcher);
	assert_int_equal(watcher.last, 1);
	ring_abort(ring, EPIPE);
	thread_join(&filler.thread);
	ring_free(ring);
}

/* ---- aborts ---- */

static void the_first_abort_wins_and_stops_both(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	const void *bytes;
	size_t size;

	(void)state;
	put(ring, 8, 1);
	assert_int_equal(ring_reason(ring), 0);
	ring_abort(ring, ENOSPC);
	ring_abort(ring, EIO);
	assert_int_equal(ring_reason(ring), ENOSPC);
	errno = 0;
	assert_int_equal(ring_peek(ring, &bytes, &size), -1);
	assert_int_equal(errno, ECANCELED);
	ring_free(ring);
}

static void abort_wakes_a_waiting_consumer(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 100, 100);
	struct watcher watcher;

	(void)state;
	watcher_start(&watcher, ring);
	usleep(5000);
	ring_abort(ring, EIO);
	watcher_join(&watcher);
	assert_int_equal(watcher.last, -1);
	ring_free(ring);
}

static void abort_wakes_a_waiting_producer(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct filler filler = { .ring = ring, .blocks = 100 };

	(void)state;
	assert_int_equal(thread_start(&filler.thread, "filler", filler_run,
				      &filler), 0);
	while (count_get(&filler.done) < 8)
		usleep(1000);
	usleep(5000);
	ring_abort(ring, EIO);
	thread_join(&filler.thread);
	assert_int_equal(count_get(&filler.done), 8);
	ring_free(ring);
}

/* ---- memory ---- */

static size_t resident(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void a_large_ring_is_not_touched_before_it_is_needed(void **state)
{
	struct ring *ring = ring_make((size_t)1 << 30, 0, 100);
	size_t before = resident();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		put(ring, 8192, i);
		ring_flush(ring);
		drain(ring);
	}
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	(void)before;		/* their shadow memory counts, too */
#else
	assert_true(resident() - before < 12 << 20);
#endif
	ring_free(ring);
}

static void it_grows_for_a_consumer_that_is_far_away(void **state)
{
	struct ring *ring = ring_make((size_t)16 << 20, 100, 100);
	struct ring_counters counters;

	(void)state;
	for (int i = 0; i < 16 * 128; i++)
		put(ring, 8192, i);
	ring_close(ring);
	ring_count(ring, &counters);
	assert_int_equal(counters.highest, 16 << 20);
	ring_free(ring);
}

/* ---- stress ---- */

enum { CONSUMERS = 3 };

struct stress {
	struct ring *ring;
	struct lock turn;
	uint64_t expected;	/* under the turn */
	uint64_t taken;
	unsigned seed;
	uint64_t records;
	int sleepy;		/* who sleeps: 0 nobody, 1 producer, 2 consumers */
	int enders;		/* who ends it: 0 close, 1 producer aborts, 2 consumer */
	uint64_t stop_at;
	int failed;
};

/* A record: its size, its number, then bytes that follow from the number. */
struct piece {
	uint64_t size;
	uint64_t number;
	unsigned char fill[];
};

static void nap(unsigned *seed)
{
	if (rand_r(seed) % 64 == 0) {
		struct timespec ns = { 0, rand_r(seed) % 300000 };

		nanosleep(&ns, NULL);
	}
}

static void stress_produce(void *arg)
{
	struct stress *stress = arg;
	size_t max = ring_span_max(stress->ring);
	unsigned seed = stress->seed;

	for (uint64_t i = 0; i < stress->records; i++) {
		size_t size = sizeof(struct piece) +
			      (size_t)rand_r(&seed) % (i % 16 ? 256 : max - 16);

		size = (size + 7) & ~(size_t)7;
		struct piece *piece = ring_reserve(stress->ring, size);
		if (!piece)
			return;
		piece->size = size;
		piece->number = i;
		memset(piece->fill, (int)(i & 0xff), size - sizeof(*piece));
		ring_commit(stress->ring, size);
		if (stress->sleepy == 1)
			nap(&seed);
		if (stress->enders == 1 && i == stress->stop_at) {
			ring_abort(stress->ring, EIO);
			return;
		}
		switch (rand_r(&seed) % 64) {
		case 0:
			ring_flush(stress->ring);
			break;
		case 1:
			ring_urge(stress->ring);
			break;
		}
	}
	ring_close(stress->ring);
}

static bool piece_right(const struct piece *piece, uint64_t number)
{
	if (piece->number != number)
		return false;
	for (size_t i = 0; i < piece->size - sizeof(*piece); i++)
		if (piece->fill[i] != (number & 0xff))
			return false;
	return true;
}

/* Takes a random run of records under the turn; checks them outside. */
static bool stress_batch(struct stress *stress, unsigned *seed)
{
	const unsigned char *bytes;
	const void *found;
	size_t size, run = 0;
	uint64_t first;

	lock_take(&stress->turn);
	if (ring_peek(stress->ring, &found, &size) != 1) {
		lock_give(&stress->turn);
		return false;
	}
	bytes = found;
	first = stress->expected;
	do {
		run += ((const struct piece *)(const void *)(bytes + run))->size;
		stress->expected++;
	} while (run < size && rand_r(seed) % 8);
	if (run > size) {
		stress->failed = 1;
		run = size;
	}
	unsigned span = ring_take(stress->ring, run);
	bool stop = stress->enders == 2 && first >= stress->stop_at;
	lock_give(&stress->turn);

	for (size_t at = 0; at < run && !stress->failed; first++) {
		const struct piece *piece = (const void *)(bytes + at);

		if (!piece_right(piece, first))
			stress->failed = 1;
		at += piece->size;
	}
	if (stress->sleepy == 2)
		nap(seed);
	if (stop)
		ring_abort(stress->ring, ENOSPC);
	ring_release(stress->ring, span);
	return !stop;
}

static void stress_consume(void *arg)
{
	struct stress *stress = arg;
	unsigned seed = stress->seed * 31 + 7;

	while (stress_batch(stress, &seed))
		;
}

static void stress_once(unsigned seed, size_t size, unsigned start, unsigned low)
{
	struct stress stress = {
		.ring = ring_make(size, start, low),
		.seed = seed,
		.records = 600 + seed % 700,
		.sleepy = (int)(seed % 3),
		.enders = (int)(seed / 3 % 4) % 3,
	};
	struct thread producer, consumer[CONSUMERS];

	stress.stop_at = seed % stress.records;
	lock_init(&stress.turn);
	assert_int_equal(thread_start(&producer, "producer", stress_produce,
				      &stress), 0);
	for (int i = 0; i < CONSUMERS; i++)
		assert_int_equal(thread_start(&consumer[i], "consumer",
					      stress_consume, &stress), 0);
	thread_join(&producer);
	for (int i = 0; i < CONSUMERS; i++)
		thread_join(&consumer[i]);
	assert_int_equal(stress.failed, 0);
	if (stress.enders == 0)
		assert_int_equal(stress.expected, stress.records);
	lock_destroy(&stress.turn);
	ring_free(stress.ring);
}

static void stress_all_shapes(void **state)
{
	static const size_t sizes[] = { RING_SIZE_MIN, 100000, 1 << 20, 8 << 20 };
	static const unsigned starts[] = { 0, 75, 100 };
	static const unsigned lows[] = { 100, 50, 0 };
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 3; j++)
				for (int k = 0; k < 3; k++)
					stress_once(seed++, sizes[i], starts[j],
						    lows[k]);
}

/* ---- help ---- */

struct helper {
	struct ring *ring;
	unsigned calls;
	unsigned slow_ms;
	bool idle;		/* it finds nothing to do */
	struct lock lock;
	bool begun, may_end;	/* a call is under way until may_end */
	bool waits;
	bool asked_to_wait;
	struct turn *turn;	/* one looks and takes at one time */
};

static bool helper_call(void *arg, bool wait)
{
	struct helper *helper = arg;
	const void *bytes;
	unsigned span = 0;
	size_t size;
	int got;

	helper->calls++;
	helper->asked_to_wait = wait;
	if (helper->idle)
		return false;
	lock_take(&helper->lock);
	helper->begun = true;
	lock_notify(&helper->lock);
	while (helper->waits && !helper->may_end)
		lock_wait(&helper->lock);
	lock_give(&helper->lock);
	usleep(helper->slow_ms * 1000);
	if (wait)
		turn_take(helper->turn);
	else if (!turn_try(helper->turn))
		return false;
	got = ring_try_peek(helper->ring, &bytes, &size);
	if (got == 1)
		span = ring_take(helper->ring, size);
	turn_give(helper->turn);
	if (got == 1)
		ring_release(helper->ring, span);
	return got == 1;
}

static void helper_init(struct helper *helper, struct ring *ring)
{
	memset(helper, 0, sizeof(*helper));
	helper->ring = ring;
	lock_init(&helper->lock);
	helper->turn = turn_new();
	ring_help(ring, helper_call, helper);
}

/* Ends the help, and the ring. */
static void helper_destroy(struct helper *helper)
{
	ring_help(helper->ring, NULL, NULL);
	ring_free(helper->ring);
	turn_free(helper->turn);
	lock_destroy(&helper->lock);
}

static void looking_does_not_wait(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 50, 100);
	const void *bytes;
	size_t size;

	(void)state;
	assert_int_equal(ring_try_peek(ring, &bytes, &size), 0);
	put(ring, 1024, 1);
	ring_flush(ring);
	assert_int_equal(ring_try_peek(ring, &bytes, &size), 0);	/* the mark */
	put(ring, 16384, 2);
	put(ring, 16384, 3);
	ring_flush(ring);
	assert_int_equal(ring_try_peek(ring, &bytes, &size), 1);
	assert_int_equal(size, 1024 + 32768);
	ring_release(ring, ring_take(ring, size));
	ring_close(ring);
	assert_int_equal(ring_try_peek(ring, &bytes, &size), 0);
	ring_abort(ring, EIO);
	assert_int_equal(ring_try_peek(ring, &bytes, &size), -1);
	assert_int_equal(errno, ECANCELED);
	ring_free(ring);
}

/* What is left when all is there is for the producer, too, even if it was slow before. */
static void a_producer_takes_the_rest(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct helper helper;
	const void *bytes;
	size_t size;

	(void)state;
	helper_init(&helper, ring);
	helper.slow_ms = 30;
	for (int i = 0; i < 9; i++)
		put(ring, 8192, i);
	assert_int_equal(helper.calls, 1);
	assert_false(helper.asked_to_wait);
	ring_close(ring);
	assert_true(helper.calls >= 3);
	assert_true(helper.asked_to_wait);
	assert_int_equal(ring_peek(ring, &bytes, &size), 0);
	helper_destroy(&helper);
}

/* Nobody else is there: without help this would wait for ever. */
static void a_producer_helps_itself(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct ring_counters counters;
	struct helper helper;

	(void)state;
	helper_init(&helper, ring);
	for (int i = 0; i < 100; i++)
		put(ring, 8192, i);
	assert_in_range(helper.calls, 1, 100);
	ring_count(ring, &counters);
	assert_int_equal(counters.full, helper.calls);
	helper_destroy(&helper);
}

/* Who has nothing to make does what is there. */
static void a_producer_lends_a_hand(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct ring_counters counters;
	struct helper helper;

	(void)state;
	put(ring, 1024, 1);
	assert_false(ring_lend(ring));	/* nobody lets it */
	helper_init(&helper, ring);
	put(ring, 1024, 2);
	assert_true(ring_lend(ring));
	ring_count(ring, &counters);
	assert_int_equal(counters.fill, 0);
	assert_int_equal(counters.full, 0);
	assert_false(helper.asked_to_wait);
	assert_false(ring_lend(ring));	/* nothing is left */
	put(ring, 1024, 3);
	helper.slow_ms = 30;
	assert_true(ring_lend(ring));
	helper.calls = 0;
	put(ring, 1024, 4);
	assert_false(ring_lend(ring));	/* it was slow */
	assert_int_equal(helper.calls, 0);
	helper_destroy(&helper);
}

static void an_abort_ends_lending(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct helper helper;

	(void)state;
	helper_init(&helper, ring);
	put(ring, 1024, 1);
	ring_abort(ring, EIO);
	assert_false(ring_lend(ring));
	assert_int_equal(helper.calls, 0);
	helper_destroy(&helper);
}

static void consume_all(void *arg)
{
	struct helper *helper = arg;
	const void *bytes;
	unsigned span = 0;
	size_t size;
	int got;

	do {
		turn_take(helper->turn);
		got = ring_peek(helper->ring, &bytes, &size);
		if (got == 1)
			span = ring_take(helper->ring, size);
		turn_give(helper->turn);
		usleep(1000);
		if (got == 1)
			ring_release(helper->ring, span);
	} while (got == 1);
}

/* Passes some rings' worth to a consumer; returns how often help was asked for by then. */
static unsigned calls_of_help(unsigned low, bool idle, unsigned slow_ms)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, low);
	struct helper helper;
	struct thread thread;
	unsigned calls;

	helper_init(&helper, ring);
	helper.idle = idle;
	helper.slow_ms = slow_ms;
	assert_int_equal(thread_start(&thread, "consumer", consume_all, &helper), 0);
	for (int i = 0; i < 400; i++)
		put(ring, 8192, i);
	calls = helper.calls;
	ring_close(ring);
	thread_join(&thread);
	helper_destroy(&helper);
	return calls;
}

static void help_that_finds_nothing_is_no_help(void **state)
{
	(void)state;
	assert_true(calls_of_help(100, true, 0) > 1);
}

static void slow_help_was_the_last(void **state)
{
	(void)state;
	assert_int_equal(calls_of_help(100, false, 30), 1);
}

/* Its meaning is that nothing is read above it. */
static void no_help_with_a_low_mark(void **state)
{
	(void)state;
	assert_int_equal(calls_of_help(50, false, 0), 0);
}

static void fill_it(void *arg)
{
	for (int i = 0; i < 9; i++)
		if (!ring_reserve(arg, 8192))
			return;
		else
			ring_commit(arg, 8192);
}

static void let_it_end(void *arg)
{
	struct helper *helper = arg;

	usleep(10000);
	lock_take(&helper->lock);
	helper->may_end = true;
	lock_notify(&helper->lock);
	lock_give(&helper->lock);
}

/* What it uses may be freed then. */
static void the_end_of_help_waits_for_it(void **state)
{
	struct ring *ring = ring_make(RING_SIZE_MIN, 0, 100);
	struct thread producer, other;
	struct helper helper;

	(void)state;
	helper_init(&helper, ring);
	helper.waits = true;
	assert_int_equal(thread_start(&producer, "producer", fill_it, ring), 0);
	lock_take(&helper.lock);
	while (!helper.begun)
		lock_wait(&helper.lock);
	lock_give(&helper.lock);
	assert_int_equal(thread_start(&other, "other", let_it_end, &helper), 0);
	ring_help(ring, NULL, NULL);
	assert_true(helper.may_end);
	thread_join(&producer);
	thread_join(&other);
	assert_int_equal(helper.calls, 1);
	helper_destroy(&helper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_out_of_range),
		cmocka_unit_test(passes_bytes_in_place),
		cmocka_unit_test(closed_and_empty_is_the_end),
		cmocka_unit_test(spans_are_released_in_any_order),
		cmocka_unit_test(nothing_before_the_start_mark),
		cmocka_unit_test(close_lets_in_below_the_mark),
		cmocka_unit_test(a_producer_without_room_reaches_the_mark),
		cmocka_unit_test(urging_lets_in_below_the_mark),
		cmocka_unit_test(the_mark_is_armed_again_when_empty),
		cmocka_unit_test(the_mark_is_not_armed_while_there_is_something),
		cmocka_unit_test(each_batch_is_collected_anew),
		cmocka_unit_test(a_full_ring_waits_for_the_low_mark),
		cmocka_unit_test(a_wrapped_window_below_the_mark_is_no_trap),
		cmocka_unit_test(the_first_abort_wins_and_stops_both),
		cmocka_unit_test(abort_wakes_a_waiting_consumer),
		cmocka_unit_test(abort_wakes_a_waiting_producer),
		cmocka_unit_test(a_large_ring_is_not_touched_before_it_is_needed),
		cmocka_unit_test(it_grows_for_a_consumer_that_is_far_away),
		cmocka_unit_test(stress_all_shapes),
		cmocka_unit_test(looking_does_not_wait),
		cmocka_unit_test(a_producer_helps_itself),
		cmocka_unit_test(a_producer_takes_the_rest),
		cmocka_unit_test(a_producer_lends_a_hand),
		cmocka_unit_test(an_abort_ends_lending),
		cmocka_unit_test(help_that_finds_nothing_is_no_help),
		cmocka_unit_test(slow_help_was_the_last),
		cmocka_unit_test(no_help_with_a_low_mark),
		cmocka_unit_test(the_end_of_help_waits_for_it),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
