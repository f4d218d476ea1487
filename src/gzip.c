/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fixed number of slots circulates; block n of the stream is in slot n modulo their
 * number.  Three counters, each chasing the one before it, say where everything is:
 *
 *     put <= taken <= filled
 *
 *     filled   blocks that the caller has handed over; it fills the next slot
 *     taken    blocks that a worker compresses or has compressed
 *     put      blocks that the sink has
 *
 * The caller waits for a slot, workers for a block.  A worker that has compressed one
 * gives the sink all that are next in order, unless another is doing that: then that
 * one finds this block too, since it looks again after each call of the sink.
 *
 * The dictionary of a block is the end of the block before, where it lies: so one
 * slot is never in use, and a block's input stays until the next one is put.  All
 * blocks but the last are full, and longer than a dictionary.
 *
 * With one thread the caller does the worker's steps itself.
 */
#include "gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "thread.h"

enum {
	BLOCK = 256 << 10,
	DICTIONARY = 32 << 10,
	HEAD = 10,		/* bytes before the first block */
	TAIL = 8,		/* ... and after the last */
	FLUSH = 16,		/* what a sync flush adds, at most */
	LEVEL_DEFAULT = 1,
	THREADS_MAX = 64,
};

struct slot {
	unsigned char *in, *out;
	size_t in_size, out_size;
	uLong crc;
	bool first, last;
	bool done;		/* under the lock: compressed, and not put yet */
};

struct worker {
	struct gzip *gzip;
	struct thread thread;
	z_stream deflate;
	bool ready;		/* deflate is set up */
};

struct gzip {
	filter_sink *sink;
	void *arg;
	int level;
	size_t bound;		/* bytes of an out buffer */

	struct lock lock;
	/* Under the lock. */
	uint64_t filled, taken, put;
	bool putting;		/* somebody calls the sink */
	bool closed;		/* no more blocks will be filled */
	bool stop;		/* being freed */
	int err;

	/* Of who calls the sink. */
	uLong crc;
	uint64_t total;

	/* The caller's: bytes in the slot that it fills; it has one only if `filling`. */
	bool filling;
	size_t fill;

	unsigned threads;	/* started; 0: the caller compresses */
	unsigned nslots, nworkers;
	struct slot *slots;
	unsigned char *memory;
	struct worker *workers;
};

/* ---- a block ---- */

static struct slot *slot_of(struct gzip *gzip, uint64_t block)
{
	return &gzip->slots[block % gzip->nslots];
}

static void put_le32(unsigned char *to, uint64_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

/* RFC 1952: no name, no time, and the system is Unix. */
static void head_write(unsigned char *to, int level)
{
	static const unsigned char head[HEAD] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };

	memcpy(to, head, HEAD);
	if (level == 1)
		to[8] = 4;
	else if (level == 9)
		to[8] = 2;
}

/* Returns 0 or an errno. */
static int slot_deflate(struct slot *slot, const struct gzip *gzip,
			const unsigned char *dictionary, z_stream *z)
{
	size_t head = slot->first ? HEAD : 0;
	int done;

	if (slot->first)
		head_write(slot->out, gzip->level);
	if (deflateReset(z) != Z_OK ||
	    (dictionary &&
	     deflateSetDictionary(z, dictionary, DICTIONARY) != Z_OK))
		return EINVAL;
	z->next_in = slot->in;
	z->avail_in = (uInt)slot->in_size;
	z->next_out = slot->out + head;
	z->avail_out = (uInt)(gzip->bound - head - TAIL);
	done = deflate(z, slot->last ? Z_FINISH : Z_SYNC_FLUSH);
	/* With room left everything is out. */
	if (done != (slot->last ? Z_STREAM_END : Z_OK) || z->avail_out == 0)
		return EOVERFLOW;
	slot->out_size = (size_t)(z->next_out - slot->out);
	slot->crc = crc32_z(0, slot->in, slot->in_size);
	return 0;
}

/* ---- in order to the sink ---- */

static int slot_put(struct gzip *gzip, struct slot *slot)
{
	gzip->crc = crc32_combine(gzip->crc, slot->crc, (z_off_t)slot->in_size);
	gzip->total += slot->in_size;
	if (slot->last) {
		put_le32(slot->out + slot->out_size, gzip->crc);
		put_le32(slot->out + slot->out_size + 4, gzip->total);
		slot->out_size += TAIL;
	}
	errno = 0;
	if (gzip->sink(gzip->arg, slot->out, slot->out_size) == 0)
		return 0;
	return errno ? errno : EIO;
}

static bool gzip_ended(const struct gzip *gzip)
{
	return gzip->err != 0 || gzip->stop;
}

/* The first error stays. */
static void gzip_fail(struct gzip *gzip, int err)
{
	if (err == 0 || gzip->err != 0)
		return;
	gzip->err = err;
	lock_notify(&gzip->lock);
}

/* Gives the sink what is next; called with the lock, which it lets go meanwhile. */
static void gzip_put(struct gzip *gzip)
{
	struct slot *slot;

	if (gzip->putting)
		return;
	gzip->putting = true;
	while (!gzip_ended(gzip) && (slot = slot_of(gzip, gzip->put))->done) {
		lock_give(&gzip->lock);
		int err = slot_put(gzip, slot);
		lock_take(&gzip->lock);
		gzip_fail(gzip, err);
		slot->done = false;
		gzip->put++;
		lock_notify(&gzip->lock);
	}
	gzip->putting = false;
}

/* ---- workers ---- */

/* Compresses the next block, of which there is one; called with the lock. */
static void worker_step(struct worker *worker)
{
	struct gzip *gzip = worker->gzip;
	uint64_t block = gzip->taken++;
	struct slot *slot = slot_of(gzip, block);
	const unsigned char *dictionary = NULL;

	if (block > 0)
		dictionary = slot_of(gzip, block - 1)->in + BLOCK - DICTIONARY;
	lock_give(&gzip->lock);
	int err = slot_deflate(slot, gzip, dictionary, &worker->deflate);
	lock_take(&gzip->lock);
	slot->done = err == 0;
	gzip_fail(gzip, err);
	gzip_put(gzip);
}

static void worker_main(void *arg)
{
	struct worker *worker = arg;
	struct gzip *gzip = worker->gzip;

	lock_take(&gzip->lock);
	for (;;) {
		while (!gzip_ended(gzip) && !gzip->closed &&
		       gzip->taken == gzip->filled)
			lock_wait(&gzip->lock);
		if (gzip_ended(gzip) || gzip->taken == gzip->filled)
			break;
		worker_step(worker);
	}
	lock_give(&gzip->lock);
}

/* ---- the caller ---- */

static int gzip_result(struct gzip *gzip)
{
	lock_take(&gzip->lock);
	int err = gzip->err;
	lock_give(&gzip->lock);
	errno = err;
	return err ? -1 : 0;
}

/* Waits for a slot to fill. */
static int slot_acquire(struct gzip *gzip)
{
	if (gzip->filling)
		return 0;
	lock_take(&gzip->lock);
	while (!gzip_ended(gzip) &&
	       gzip->filled - gzip->put >= gzip->nslots - 1)
		lock_wait(&gzip->lock);
	lock_give(&gzip->lock);
	gzip->filling = true;
	gzip->fill = 0;
	return gzip_result(gzip);
}

/* Hands over the slot that was filled. */
static void slot_enqueue(struct gzip *gzip, bool last)
{
	struct slot *slot = slot_of(gzip, gzip->filled);

	slot->in_size = gzip->fill;
	slot->first = gzip->filled == 0;
	slot->last = last;
	gzip->filling = false;
	lock_take(&gzip->lock);
	gzip->filled++;
	gzip->closed = last;
	lock_notify(&gzip->lock);
	if (gzip->threads == 0)
		worker_step(&gzip->workers[0]);
	lock_give(&gzip->lock);
}

int gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	if (gzip->closed && gzip_result(gzip) == 0)
		errno = EINVAL;
	if (gzip->closed)
		return -1;
	while (size > 0) {
		if (slot_acquire(gzip) != 0)
			return -1;
		size_t part = BLOCK - gzip->fill;

		if (part > size)
			part = size;
		memcpy(slot_of(gzip, gzip->filled)->in + gzip->fill, from, part);
		gzip->fill += part;
		from += part;
		size -= part;
		if (gzip->fill == BLOCK)
			slot_enqueue(gzip, false);
	}
	return gzip_result(gzip);
}

int gzip_close(struct gzip *gzip)
{
	if (!gzip->closed) {
		if (slot_acquire(gzip) != 0)
			return -1;
		slot_enqueue(gzip, true);
	}
	lock_take(&gzip->lock);
	while (!gzip_ended(gzip) && gzip->put < gzip->filled)
		lock_wait(&gzip->lock);
	lock_give(&gzip->lock);
	return gzip_result(gzip);
}

/* ---- making and freeing ---- */

static int workers_init(struct gzip *gzip, unsigned threads)
{
	gzip->workers = calloc(threads, sizeof(*gzip->workers));
	if (!gzip->workers)
		return -1;
	gzip->nworkers = threads;
	for (unsigned i = 0; i < threads; i++) {
		struct worker *worker = &gzip->workers[i];

		worker->gzip = gzip;
		if (deflateInit2(&worker->deflate, gzip->level, Z_DEFLATED, -15, 8,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return -1;
		worker->ready = true;
	}
	return 0;
}

static int slots_init(struct gzip *gzip, unsigned threads)
{
	size_t out = deflateBound(&gzip->workers[0].deflate, BLOCK) + FLUSH +
		     HEAD + TAIL;

	gzip->bound = out;
	gzip->nslots = threads == 1 ? 2 : 2 * threads + 2;
	gzip->slots = calloc(gzip->nslots, sizeof(*gzip->slots));
	gzip->memory = malloc(gzip->nslots * (BLOCK + out));
	if (!gzip->slots || !gzip->memory)
		return -1;
	for (unsigned i = 0; i < gzip->nslots; i++) {
		gzip->slots[i].in = gzip->memory + i * (BLOCK + out);
		gzip->slots[i].out = gzip->slots[i].in + BLOCK;
	}
	return 0;
}

/* As many as can be had; with none the caller compresses. */
static void threads_start(struct gzip *gzip)
{
	if (gzip->nworkers == 1)
		return;
	/* Those that run already look at nothing that this changes. */
	while (gzip->threads < gzip->nworkers) {
		struct worker *worker = &gzip->workers[gzip->threads];

		if (thread_start(&worker->thread, "gzip", worker_main, worker) != 0)
			break;
		gzip->threads++;
	}
}

struct gzip *gzip_new(int level, unsigned threads, filter_sink *sink, void *arg)
{
	struct gzip *gzip;

	if (level == -1)
		level = LEVEL_DEFAULT;
	if (level < 1 || level > 9) {
		errno = EINVAL;
		return NULL;
	}
	if (threads == 0)
		threads = 1;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	gzip = calloc(1, sizeof(*gzip));
	if (!gzip)
		return NULL;
	gzip->sink = sink;
	gzip->arg = arg;
	gzip->level = level;
	lock_init(&gzip->lock);
	if (workers_init(gzip, threads) != 0 || slots_init(gzip, threads) != 0) {
		gzip_free(gzip);
		errno = ENOMEM;
		return NULL;
	}
	threads_start(gzip);
	return gzip;
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	lock_take(&gzip->lock);
	gzip->stop = true;
	lock_notify(&gzip->lock);
	lock_give(&gzip->lock);
	for (unsigned i = 0; i < gzip->nworkers; i++) {
		thread_join(&gzip->workers[i].thread);
		if (gzip->workers[i].ready)
			(void)deflateEnd(&gzip->workers[i].deflate);
	}
	lock_destroy(&gzip->lock);
	free(gzip->workers);
	free(gzip->slots);
	free(gzip->memory);
	free(gzip);
}
