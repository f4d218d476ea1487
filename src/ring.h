/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring: the buffer between the two halves.  Bytes go in at one end and come out
 * at the other in the same order, in place: the producer read()s straight into
 * a reserved span, the consumer write()s straight out of a held one.
 *
 * One thread produces.  Any number may consume, but one at a time may peek
 * and take (the pool's turn); spans are released by any thread, in any order.
 * ring.c begins with an essay on how it works and what always holds.
 *
 * The ring knows no files, no records and no tar.
 */
#ifndef TARPIPE_RING_H
#define TARPIPE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When the start mark counts again, once writing has begun. */
enum ring_rearm {
	RING_WHEN_EMPTY,	/* when the ring has run empty (mbuffer -P) */
	RING_EACH_BATCH,	/* after each mark's worth of bytes (buffer -p) */
};

struct ring_config {
	size_t size;		/* bytes, at least RING_SIZE_MIN (or one unit) */
	unsigned start;		/* start mark in percent of size, 0..100 */
	unsigned low;		/* low mark in percent, 0..100; 100: off */
	enum ring_rearm rearm;
	unsigned spans;		/* spans between the oldest that is held and the
				   newest, at most; 1..1024.  A peek waits when
				   they are used up. */
	size_t batch;		/* 0, or the bytes that are published at one time, as
				   far as they come within a millisecond */
	size_t unit;		/* 0, or the size of every reservation: then the
				   ring holds `size` / unit of them whatever
				   their size, and marks are whole units */
};

enum { RING_SIZE_MIN = 65536 };

/* What the ring has seen; a snapshot that any thread may ask for. */
struct ring_counters {
	uint64_t bytes;		/* published so far */
	uint64_t empty;		/* times the consumer found nothing to take */
	uint64_t full;		/* times the producer found no room */
	uint64_t starved_ns;	/* time the consumer waited for bytes */
	uint64_t blocked_ns;	/* time the producer waited for room */
	size_t highest;		/* highest fill, in bytes */
	size_t fill;		/* the fill now, in bytes */
};

struct ring;

/*
 * Makes a ring.  Memory is mapped, not touched: pages appear as they are used.
 * Returns NULL with errno (EINVAL: the config is out of range; ENOMEM).
 */
struct ring *ring_new(const struct ring_config *config);

/* Frees it; no span may be reserved or held.  Accepts NULL. */
void ring_free(struct ring *ring);

/* The largest reservation that can be asked for: a quarter of the size, or the unit. */
size_t ring_span_max(const struct ring *ring);

/* ---- the producer's side ---- */

/*
 * Waits for `size` (1..ring_span_max) contiguous bytes and returns them, aligned
 * to 8 when all commits were multiples of 8.  They are the producer's until
 * ring_commit; a second call before that replaces the first.  Returns NULL with
 * errno ECANCELED after an abort.
 */
void *ring_reserve(struct ring *ring, size_t size);

/*
 * What the last reservation could have asked for without waiting: that many
 * contiguous bytes are the producer's, and stay so when it commits a part.
 */
size_t ring_room(const struct ring *ring);

/*
 * Hands over the first `size` bytes of the reservation.  They reach the consumer
 * together with others: when a batch is full, when the first of them is a
 * millisecond old, or at ring_flush.
 */
void ring_commit(struct ring *ring, size_t size);

/* Publishes what is committed.  Call before anything that may block for long. */
void ring_flush(struct ring *ring);

/*
 * The same before waiting for the consumer by other means than the ring: it may go on
 * below its start mark.
 */
void ring_urge(struct ring *ring);

/*
 * Takes, uses and releases some of what is there (ring_try_peek) and returns true; or false
 * when there is nothing that it could do.  With `wait` it may wait until others are done
 * with taking.  Runs on the producer's thread.
 */
typedef bool ring_helper(void *arg, bool wait);

/*
 * From now on the producer, where it would wait for room, calls `help` instead, and
 * waits after all when that returns false.  Not with a low mark, nor before the start
 * mark is reached, and no more once it has been slow: then more threads are no
 * help.  ring_close calls it, waiting, as long as it returns true.
 *
 * NULL: no more of it; returns when a call that is under way has ended.  Any thread but
 * the producer's.
 */
void ring_help(struct ring *ring, ring_helper *help, void *arg);

/*
 * Instead of waiting for something else than room: publishes what is committed, and
 * lends a hand once, by the same rule.  True when it did something.
 */
bool ring_lend(struct ring *ring);

/* Says that no more will come; publishes the rest, and helps with it (ring_help). */
void ring_close(struct ring *ring);

/* ---- the consumer's side ---- */

/*
 * Waits until there are bytes to take (at a mark: until it is reached).  Returns 1
 * and the contiguous bytes that can be taken now in *bytes and *size, 0 when
 * the ring is closed and all is taken, -1 with errno ECANCELED after an abort.
 */
int ring_peek(struct ring *ring, const void **bytes, size_t *size);

/* The same without waiting: returns 0 when there is nothing to take now, too. */
int ring_try_peek(struct ring *ring, const void **bytes, size_t *size);

/*
 * Takes the first `size` bytes (1..*size) of the last peek.  Returns a span to be
 * released; it stays valid, and its bytes untouched, until then.
 */
unsigned ring_take(struct ring *ring, size_t size);

/* Gives a span's bytes back to the producer.  Any thread, any order. */
void ring_release(struct ring *ring, unsigned span);

/* ---- both ---- */

/*
 * Stops both sides: what waits returns, what comes later fails with ECANCELED.  The
 * first reason (an errno, not 0) wins.  Any thread.
 */
void ring_abort(struct ring *ring, int reason);

/* The reason of the abort, 0 while there was none.  Any thread. */
int ring_reason(struct ring *ring);

/* Fills *counters.  Any thread. */
void ring_count(struct ring *ring, struct ring_counters *counters);

#endif
