/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the ring works
 *
 * One anonymous mapping.  Bytes lie in it in stream order; three positions
 * chase each other round it:
 *
 *            tail           next             end       head
 *             |              |                |          |
 *   +---------+==============+================+~~~~~~~~~~+----------------+
 *   |  free   | taken: held  | published, to  | committed|  free          |
 *   |         | by consumers | be taken       |          |                |
 *   +---------+==============+================+~~~~~~~~~~+----------------+
 *   0                                                             window  size
 *
 * tail     the oldest byte that a consumer still holds
 * next     the next byte to peek
 * end      how far the consumer may look
 * head     where the producer writes next (its own, no lock)
 *
 * A span never straddles the end of the ring.  A reservation that does not fit
 * before `window` starts again at 0, if there is room before tail, and `wrap`
 * remembers where the bytes before it end:
 *
 *             end  head              tail      next           wrap
 *              |     |                |         |               |
 *   +==========+~~~~~+----------------+=========+===============+---------+
 *   0                                                             window  size
 *
 * What always holds, under the lock:
 *   - wrap == NONE: tail <= next <= end.   wrap != NONE: end <= tail <= wrap.
 *   - ready = bytes in [next, end), fill = bytes in [tail, end), pads left out.
 *   - The spans form a queue in the order they were taken, so tail moves when the
 *     oldest is released, over all that were released before it.
 *   - A position that reaches wrap goes on at 0; when tail does, wrap is NONE.
 *
 * The producer runs ahead without the lock.  [head, limit) is free for sure:
 * the consumer only ever adds to what is free.  Committed bytes are published in
 * batches (BATCH bytes, or the first commit a millisecond after the last
 * publication), so that a lock is taken, and a sleeper woken, once a batch and not
 * once a file.
 *
 * The window.  Memory that was never touched costs a page fault, memory that was
 * touched long ago a cache miss, so the ring uses no more of its size than it has
 * to.  It begins with WINDOW_MIN and doubles when the producer found it full and
 * had to wait longer than PATIENCE_NS: then more room would have helped.  When
 * all is released both sides start again at 0, where the cache is warm.
 *
 * Marks.  A consumer that found the ring empty (or has not begun) waits until the
 * fill reaches the start mark; or the ring is closed; or the producer itself
 * waits for room in the whole ring, for then padding has made the mark unreachable, or
 * for something else that the consumer has to give back (ring_urge).  A
 * producer that found the whole ring full waits until the fill has fallen to
 * the low mark; without one, until a quarter is free, so that the two do not hand
 * over in small steps.  Neither wait can be in vain: a consumer that holds nothing
 * lets the fill fall to 0, where every reservation fits.
 *
 * Help.  With as many threads as processors each sleep leaves one of them idle, and
 * the kernel is slow to find out which thread to move there.  So a producer that has
 * no room does the consumers' work, if they let it, rather than sleep.  That is no gain
 * where they wait for a device: help that took longer than PATIENCE_NS was the last while
 * there is something to produce.  When all is there, the producer is one more consumer.
 * One that would have to wait for what it produces from does the same (ring_lend).
 *
 * Units.  Whoever reads blocks of one size, and counts in blocks, gives that as the
 * unit.  The ring then holds `capacity` bytes, a whole number of units, and has more
 * memory than that: a unit more makes good for the pad before a wrap, so that
 * a unit fits whenever fill + unit <= capacity, and a producer that waits for
 * the capacity has filled every mark.  A batch needs the whole window from the
 * start: one that has to grow first is handed over in parts.
 *
 * Close and abort travel the same way: they set a word under the lock and wake
 * everybody.  All waits are loops over their predicate, in here.
 */
#include "ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "thread.h"

enum {
	WINDOW_MIN = 8 << 20,		/* four huge pages */
	HUGE_PAGE = 2 << 20,
	BATCH = 64 << 10,
	BATCH_NS = 1000000,
	PATIENCE_NS = 20000000,
};

#define NONE SIZE_MAX

struct span {
	size_t start;
	size_t size;
	bool released;
};

struct ring {
	/* Set once. */
	unsigned char *base;
	size_t size;			/* of the memory in use */
	size_t unit;			/* 0: reservations of any size */
	size_t capacity;		/* the highest fill; size without a unit */
	size_t mark;			/* start mark in bytes */
	size_t low;			/* low mark in bytes; capacity: off */
	size_t batch;
	enum ring_rearm rearm;
	void *map;
	size_t map_size;

	/* The producer's own. */
	size_t head;
	size_t limit;
	size_t pending;			/* committed, not published */
	uint64_t published_ns;

	/* Shared, under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t room;		/* the producer waits for it */
	pthread_cond_t bytes;		/* the consumer waits for it */
	size_t tail, next, end, wrap;
	size_t ready, fill;
	size_t window;
	size_t goal;			/* window wanted at the next wrap */
	size_t resume;			/* the fill at which a waiting producer goes on */
	size_t batch_left;		/* RING_EACH_BATCH: to be taken of this one */
	bool filling;			/* the start mark counts */
	bool waits_room, waits_bytes;
	bool urged;			/* ring_urge: no mark until it is empty */
	bool closed;
	int reason;
	ring_helper *help;
	void *help_arg;
	bool helping;			/* it is at work */
	bool help_slow;			/* it was slow once */

	struct span *spans;		/* a queue: oldest at first, count of them */
	unsigned nspans, first, count;

	struct ring_counters counters;
};

/* ---- making ---- */

static int ring_map(struct ring *ring)
{
	uintptr_t start;

	/* Huge pages want their own alignment. */
	ring->map_size = ring->size + HUGE_PAGE;
	ring->map = mmap(NULL, ring->map_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring->map == MAP_FAILED)
		return -1;
	start = ((uintptr_t)ring->map + HUGE_PAGE - 1) &
		~(uintptr_t)(HUGE_PAGE - 1);
	ring->base = (unsigned char *)start;
	/* Without huge pages it is slower, not wrong. */
	if (ring->size >= HUGE_PAGE)
		(void)madvise(ring->base, ring->size, MADV_HUGEPAGE);
	return 0;
}

static bool config_valid(const struct ring_config *config)
{
	return config->size >= (config->unit ? config->unit : RING_SIZE_MIN) &&
	       config->size <= SIZE_MAX / 8 - HUGE_PAGE &&
	       config->start <= 100 && config->low <= 100 &&
	       config->spans >= 1 && config->spans <= 1024;
}

static size_t percent(size_t size, unsigned part)
{
	return size / 100 * part + size % 100 * part / 100;
}

/* Marks are percentages of the capacity, in whole units. */
static size_t ring_mark(const struct ring *ring, unsigned part)
{
	size_t mark = percent(ring->capacity, part);

	return ring->unit ? mark - mark % ring->unit : mark;
}

/* How much memory, how much of it may be filled, and the marks. */
static void ring_measure(struct ring *ring, const struct ring_config *config)
{
	ring->unit = config->unit;
	ring->capacity = config->size & ~(size_t)7;
	ring->size = ring->capacity;
	if (config->unit) {
		size_t least = RING_SIZE_MIN;

		if (least / 4 < config->unit)
			least = 4 * config->unit;
		ring->capacity = config->size - config->size % config->unit;
		ring->size = ring->capacity + config->unit;
		if (ring->size < least)
			ring->size = least;
		ring->size = (ring->size + 31) & ~(size_t)31;
	}
	ring->mark = ring_mark(ring, config->start);
	ring->low = ring_mark(ring, config->low);
	ring->batch = config->batch ? config->batch : BATCH;
	if (ring->batch > ring->size / 8)
		ring->batch = ring->size / 8;
	ring->rearm = config->rearm;
	ring->window = ring->size < WINDOW_MIN ? ring->size : WINDOW_MIN;
	if (config->unit && ring->mark > 0)
		ring->window = ring->size;
	ring->goal = ring->window;
}

struct ring *ring_new(const struct ring_config *config)
{
	struct ring *ring;

	if (!config_valid(config)) {
		errno = EINVAL;
		return NULL;
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring_measure(ring, config);
	ring->wrap = NONE;
	ring->filling = ring->mark > 0;
	ring->nspans = config->spans;
	ring->spans = calloc(config->spans, sizeof(*ring->spans));
	if (!ring->spans || ring_map(ring) != 0) {
		free(ring->spans);
		free(ring);
		return NULL;
	}
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->bytes, NULL);
	/* ring_wait_room waits by the monotonic clock. */
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&ring->room, &clock);
	pthread_condattr_destroy(&clock);
	return ring;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	pthread_cond_destroy(&ring->room);
	pthread_cond_destroy(&ring->bytes);
	pthread_mutex_destroy(&ring->lock);
	munmap(ring->map, ring->map_size);
	free(ring->spans);
	free(ring);
}

size_t ring_span_max(const struct ring *ring)
{
	return ring->unit ? ring->unit : (ring->size / 4) & ~(size_t)7;
}

/* ---- the producer's side ---- */

static void ring_publish(struct ring *ring)
{
	if (ring->pending == 0)
		return;
	/* pending lies before head, in one piece: a wrap publishes first. */
	ring->end = ring->head;
	ring->ready += ring->pending;
	ring->fill += ring->pending;
	ring->counters.bytes += ring->pending;
	ring->pending = 0;
	if (ring->fill > ring->counters.highest)
		ring->counters.highest = ring->fill;
	if (ring->waits_bytes)
		pthread_cond_signal(&ring->bytes);
}

static bool ring_grow(struct ring *ring)
{
	if (ring->window >= ring->size)
		return false;
	ring->window = ring->window > ring->size / 2 ? ring->size :
						       2 * ring->window;
	if (ring->goal < ring->window)
		ring->goal = ring->window;
	return true;
}

/* No further unit may be put in, whatever the memory. */
static bool ring_is_full(const struct ring *ring)
{
	return ring->fill + ring->unit > ring->capacity;
}

/* Finds room for `size` bytes at head, moving it to 0 where that is the way. */
static bool ring_place(struct ring *ring, size_t size)
{
	while (ring->window < 2 * size && ring_grow(ring))
		;
	if (ring->fill == 0) {
		ring->head = ring->end = ring->next = ring->tail = 0;
		ring->wrap = NONE;
	}
	if (ring->wrap != NONE) {
		ring->limit = ring->tail;
		return ring->limit - ring->head >= size;
	}
	while (ring->window - ring->head < size && ring->window < ring->goal)
		ring_grow(ring);
	if (ring->window - ring->head >= size) {
		ring->limit = ring->window;
		return true;
	}
	if (ring->tail < size)
		return false;
	ring->wrap = ring->head;
	ring->head = ring->end = 0;
	ring->limit = ring->tail;
	return true;
}

static bool ring_fit(struct ring *ring, size_t size)
{
	size_t allowed = ring->capacity - ring->fill;

	if (ring_is_full(ring) || !ring_place(ring, size))
		return false;
	if (ring->unit && ring->limit - ring->head > allowed)
		ring->limit = ring->head + allowed;
	return true;
}

/*
 * How far the fill has to fall before a producer that found no room goes on.  At
 * least a bit: what is free now may lie in two pieces.
 */
static size_t ring_resume(const struct ring *ring)
{
	size_t most = ring_is_full(ring) ? ring->capacity : ring->window;
	size_t resume = most - most / 4;

	if (most >= ring->capacity && ring->low < ring->capacity)
		resume = ring->low;
	return resume < ring->fill ? resume : ring->fill - 1;
}

/* More room helps a consumer that is far away, not one that is just behind. */
static void ring_widen(struct ring *ring)
{
	ring->goal = ring->goal > ring->size / 2 ? ring->size : 2 * ring->goal;
}

static void deadline_in(struct timespec *when, uint64_t ns)
{
	clock_gettime(CLOCK_MONOTONIC, when);
	when->tv_nsec += (long)ns;
	if (when->tv_nsec >= 1000000000) {
		when->tv_nsec -= 1000000000;
		when->tv_sec++;
	}
}

/* Waits for room, with the lock held; the caller tries again. */
static void ring_wait_room(struct ring *ring)
{
	uint64_t start = clock_ns();
	struct timespec patience;

	ring->counters.full++;
	ring->waits_room = true;
	ring->resume = ring_resume(ring);
	/* A consumer that waits for the mark will not make room before it. */
	if (ring->filling)
		ring->goal = ring->size;
	deadline_in(&patience, PATIENCE_NS);
	while (!ring->reason && ring->fill > ring->resume) {
		bool full = ring_is_full(ring);

		if (!full && ring->wrap == NONE && ring->window < ring->goal)
			break;		/* it can grow right here */
		if (full || ring->goal >= ring->size) {
			if (ring->waits_bytes)
				pthread_cond_signal(&ring->bytes);
			pthread_cond_wait(&ring->room, &ring->lock);
		} else if (pthread_cond_timedwait(&ring->room, &ring->lock,
						  &patience) == ETIMEDOUT) {
			ring_widen(ring);
			deadline_in(&patience, PATIENCE_NS);
		}
	}
	ring->waits_room = false;
	ring->counters.blocked_ns += clock_ns() - start;
}

/* Gives up the lock meanwhile. */
static bool ring_call_help(struct ring *ring, bool wait)
{
	ring_helper *help = ring->help;	/* ring_help may end it meanwhile */
	bool helped;

	if (!help)
		return false;
	ring->helping = true;
	pthread_mutex_unlock(&ring->lock);
	helped = help(ring->help_arg, wait);
	pthread_mutex_lock(&ring->lock);
	ring->helping = false;
	if (!ring->help)
		pthread_cond_broadcast(&ring->room);	/* ring_help waits */
	return helped;
}

/* True: something was done, and there is more room. */
static bool ring_get_help(struct ring *ring)
{
	uint64_t start = clock_ns();
	bool helped;

	if (ring->help_slow || ring->filling || ring->low < ring->capacity)
		return false;
	helped = ring_call_help(ring, false);
	ring->help_slow = clock_ns() - start > PATIENCE_NS;
	return helped;
}

bool ring_lend(struct ring *ring)
{
	bool helped;

	pthread_mutex_lock(&ring->lock);
	ring_publish(ring);
	helped = !ring->reason && ring_get_help(ring);
	pthread_mutex_unlock(&ring->lock);
	return helped;
}

void ring_help(struct ring *ring, ring_helper *help, void *arg)
{
	pthread_mutex_lock(&ring->lock);
	ring->help_arg = help ? arg : ring->help_arg;
	ring->help = help;
	while (!help && ring->helping)
		pthread_cond_wait(&ring->room, &ring->lock);
	pthread_mutex_unlock(&ring->lock);
}

static bool ring_make_room(struct ring *ring, size_t size)
{
	pthread_mutex_lock(&ring->lock);
	ring_publish(ring);
	while (!ring->reason && !ring_fit(ring, size))
		if (ring_get_help(ring))
			ring->counters.full++;
		else
			ring_wait_room(ring);
	bool stopped = ring->reason != 0;
	pthread_mutex_unlock(&ring->lock);
	return !stopped;
}

void *ring_reserve(struct ring *ring, size_t size)
{
	if (size == 0 || size > ring_span_max(ring) ||
	    (ring->unit && size != ring->unit))
		abort();
	if (ring->limit - ring->head < size && !ring_make_room(ring, size)) {
		errno = ECANCELED;
		return NULL;
	}
	return ring->base + ring->head;
}

size_t ring_room(const struct ring *ring)
{
	return ring->limit - ring->head;
}

void ring_commit(struct ring *ring, size_t size)
{
	if (size > ring->limit - ring->head)
		abort();
	ring->head += size;
	ring->pending += size;
	if (ring->pending >= ring->batch ||
	    clock_ns() - ring->published_ns > BATCH_NS)
		ring_flush(ring);
}

void ring_flush(struct ring *ring)
{
	if (ring->pending == 0)
		return;
	pthread_mutex_lock(&ring->lock);
	ring_publish(ring);
	pthread_mutex_unlock(&ring->lock);
	ring->published_ns = clock_ns();
}

void ring_urge(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring_publish(ring);
	ring->urged = true;
	pthread_cond_broadcast(&ring->bytes);
	pthread_mutex_unlock(&ring->lock);
}

void ring_close(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring_publish(ring);
	ring->closed = true;
	pthread_cond_broadcast(&ring->bytes);
	while (!ring->reason && ring_call_help(ring, true))
		;
	pthread_mutex_unlock(&ring->lock);
}

/* ---- the consumer's side ---- */

static bool ring_mark_reached(const struct ring *ring)
{
	size_t have = ring->rearm == RING_EACH_BATCH ? ring->ready : ring->fill;

	return have >= ring->mark || ring->closed || ring->urged ||
	       (ring->waits_room && ring->goal >= ring->size);
}

/* Something can be taken now. */
static bool ring_has_bytes(struct ring *ring)
{
	if (ring->ready == 0 || ring->count == ring->nspans)
		return false;
	if (ring->filling) {
		if (!ring_mark_reached(ring))
			return false;
		ring->filling = false;
		ring->batch_left = ring->mark;
	}
	return true;
}

static void ring_wait_bytes(struct ring *ring)
{
	uint64_t start = clock_ns();

	if (ring->ready == 0) {		/* not for want of a span */
		ring->counters.empty++;
		ring->filling = ring->mark > 0;
		ring->urged = false;
	}
	ring->waits_bytes = true;
	while (!ring->reason && !ring_has_bytes(ring) &&
	       !(ring->closed && ring->ready == 0))
		pthread_cond_wait(&ring->bytes, &ring->lock);
	ring->waits_bytes = false;
	if (!ring->closed)
		ring->counters.starved_ns += clock_ns() - start;
}

static int ring_look(struct ring *ring, const void **bytes, size_t *size,
		     bool wait)
{
	int got = 1;

	pthread_mutex_lock(&ring->lock);
	bool has = ring_has_bytes(ring);
	if (!ring->reason && !has && wait &&
	    !(ring->closed && ring->ready == 0))
		ring_wait_bytes(ring);
	if (ring->reason) {
		errno = ECANCELED;
		got = -1;
	} else if (ring->ready == 0 || (!has && !wait)) {
		got = 0;
	} else {
		if (ring->next == ring->wrap)
			ring->next = 0;
		size_t stop = ring->wrap != NONE && ring->next >= ring->tail &&
			      ring->next >= ring->end ? ring->wrap : ring->end;
		*bytes = ring->base + ring->next;
		*size = stop - ring->next;
		if (ring->rearm == RING_EACH_BATCH && ring->mark > 0 &&
		    *size > ring->batch_left)
			*size = ring->batch_left;
	}
	pthread_mutex_unlock(&ring->lock);
	return got;
}

int ring_peek(struct ring *ring, const void **bytes, size_t *size)
{
	return ring_look(ring, bytes, size, true);
}

int ring_try_peek(struct ring *ring, const void **bytes, size_t *size)
{
	return ring_look(ring, bytes, size, false);
}

unsigned ring_take(struct ring *ring, size_t size)
{
	pthread_mutex_lock(&ring->lock);
	if (ring->count == ring->nspans || size == 0 || size > ring->ready)
		abort();
	unsigned index = (ring->first + ring->count++) % ring->nspans;
	ring->spans[index] = (struct span){ ring->next, size, false };
	ring->next += size;
	ring->ready -= size;
	if (ring->rearm == RING_EACH_BATCH && ring->mark > 0) {
		ring->batch_left -= size;
		ring->filling = ring->batch_left == 0;
	}
	pthread_mutex_unlock(&ring->lock);
	return index;
}

/* Drops the released spans at the old end of the queue. */
static void ring_advance(struct ring *ring)
{
	while (ring->count > 0 && ring->spans[ring->first].released) {
		const struct span *span = &ring->spans[ring->first];

		/* A span at 0 behind a wrap: the tail has passed the pad. */
		if (span->start < ring->tail)
			ring->wrap = NONE;
		ring->tail = span->start + span->size;
		ring->fill -= span->size;
		ring->first = (ring->first + 1) % ring->nspans;
		ring->count--;
	}
	if (ring->tail == ring->wrap) {
		if (ring->next == ring->wrap)
			ring->next = 0;
		ring->tail = 0;
		ring->wrap = NONE;
	}
}

void ring_release(struct ring *ring, unsigned index)
{
	pthread_mutex_lock(&ring->lock);
	if (index >= ring->nspans || ring->spans[index].released)
		abort();
	ring->spans[index].released = true;
	ring_advance(ring);
	if (ring->waits_bytes && ring->ready > 0)
		pthread_cond_signal(&ring->bytes);
	if (ring->waits_room && ring->fill <= ring->resume)
		pthread_cond_signal(&ring->room);
	pthread_mutex_unlock(&ring->lock);
}

/* ---- both ---- */

void ring_abort(struct ring *ring, int reason)
{
	pthread_mutex_lock(&ring->lock);
	if (!ring->reason)
		ring->reason = reason;
	pthread_cond_broadcast(&ring->room);
	pthread_cond_broadcast(&ring->bytes);
	pthread_mutex_unlock(&ring->lock);
}

int ring_reason(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	int reason = ring->reason;
	pthread_mutex_unlock(&ring->lock);
	return reason;
}

void ring_count(struct ring *ring, struct ring_counters *counters)
{
	pthread_mutex_lock(&ring->lock);
	*counters = ring->counters;
	counters->fill = ring->fill;
	pthread_mutex_unlock(&ring->lock);
}
