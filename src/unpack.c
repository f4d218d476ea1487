/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the workers share the stream
 *
 * A worker that has the turn looks at what the ring offers and takes a batch: a
 * slice of the stream, of some dozens of entries, cut into runs of entries of one
 * directory.  While it looks, it does what has to be done in stream order: it gives
 * every directory and every inode with several names its object, and holds them
 * for the runs.  Then it passes the turn on and works through its batch.
 *
 *   stream   | DIR a  FILE FILE FILE | FILE FILE LEAVE a  DIR b FILE | FILE ...
 *             \_____ worker 0 _____/   \_________ worker 1 ________/
 *
 * What a batch needs from an earlier one (a directory that is not made yet, the
 * first name of an inode, a directory's last entries before its attributes), its
 * worker waits for.  Batches are taken in stream order and wait for earlier ones
 * only, so the earliest never waits and all come to an end.
 *
 * Where names may come again (RECORD_ORDERED), an entry whose name is also in an
 * earlier batch that is still at work waits, with what follows it in its batch,
 * until all earlier batches are done (order.c finds it out).  A batch has its number
 * from when it is taken to when it is done, so that is: until no worker has a lower
 * one.  A PATHLINK also waits for who makes what it leads to, and who makes that anew
 * waits for it.
 *
 * A batch that ends inside an object (a large file) keeps the turn: the pieces that
 * follow belong to the same worker.  Nothing behind them could be taken anyway.
 *
 * The producer's thread may lend a hand (ring_help) instead of waiting for room, and when
 * it has made all: so there are as many threads as processors, and none of them sleeps.  What it takes ends with
 * an object, for it could not wait for the rest, which is its own to make.
 *
 * What a small file costs, both sides together, are nine calls (tests/it/calls.sh counts):
 *
 *   openat      its name becomes a descriptor; nothing else is safe from renaming
 *   fstat       what it is, and whether it is what the directory said
 *   flistxattr  no other call tells that it has no attributes and no ACL
 *   pread       all of it; one byte more is asked for, so that its end shows
 *   close
 *   openat      its own name, its final mode
 *   pwrite      out of the ring
 *   utimensat   last: writing would change them
 *   close       its answer counts: some file systems write only here
 *
 * Owner, mode and attributes cost a call each where they don't come right by themselves.
 * To wait and to wake are calls of a batch, not of a file.
 *
 * After a stop every batch that was taken is still gone through, so that what others
 * wait for happens; but nothing is made any more.
 */
#include "unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "order.h"
#include "pool.h"
#include "thread.h"

enum {
	BATCH_ENTRIES = 256,
	BATCH_RUNS = 64,
	BATCH_BYTES = 1 << 20,		/* or an eighth of a small ring */
	ENOUGH_ENTRIES = 64,		/* where a directory ends */
	ENOUGH_BYTES = 128 << 10,
	BATCH_REFERENCED = 1 << 20,	/* bytes of a file by reference weigh, too */
	DIRS_MAX = 1 << 24,		/* ids of directories: the depth of a tree */
};

struct run {
	struct dir *dir;
	size_t start, end;
};

struct batch {
	const unsigned char *bytes;
	size_t size;
	unsigned span;
	struct run runs[BATCH_RUNS];
	unsigned nruns;
	union {
		struct dir *child;
		struct inode *inode;
	} made[BATCH_ENTRIES];		/* in the order of the records they belong to */
	unsigned nmade;
	unsigned entries;
	bool at_leave;			/* a directory ended with the last record */
	uint64_t referenced;
	uint64_t number;		/* counts from 1 in the order of the stream */
	size_t wait_at;			/* the record that waits for earlier batches */
};

/* A directory that the stream is in. */
struct place {
	struct dir *dir;		/* NULL: the id is free */
	uint32_t parent;
	uint32_t below;			/* directories in it that were not left */
	uint64_t key;			/* see order.h */
	uint64_t batch, before;		/* the newest with entries in or below it, and
					   the newest before that one */
};

/* Who works through batches: a worker's thread, or the producer's. */
struct hand {
	struct worker *worker;
	struct batch *batch;
	unsigned index;
};

struct unpack {
	struct unpack_config config;
	unsigned nhands;		/* the workers, and the producer's */
	struct hand helper;		/* the producer's, if it helps */
	struct pool *pool;
	struct turn *turn;
	size_t batch_bytes;

	/* Where the stream stands; who has the turn may touch it. */
	struct place *places;		/* by id */
	uint32_t nplaces;
	struct dir *current;		/* of the object or run at hand */
	struct dir *ending;		/* its LEAVE has come, its END has not */
	uint32_t ending_id;
	bool started, in_object, finished;
	bool failed;			/* it was malformed */
	struct order *order;		/* NULL: every name comes once */
	uint64_t object_key;		/* of the object at hand ... */
	uint64_t object_batch;		/* ... and the batch that knows of it */
	uint64_t taken;			/* batches so far */

	struct lock lock;
	uint64_t *at_work;		/* each worker's batch, 0: none; under the lock */
};

unsigned unpack_spans(unsigned workers)
{
	return 8 * workers + 8;	/* the oldest may be in work for long */
}

/* ---- the taker: checks and keeps books ---- */

static int malformed(void)
{
	errno = EBADMSG;
	return -1;
}

static struct dir *dir_of(struct unpack *unpack, uint32_t id)
{
	return id < unpack->nplaces ? unpack->places[id].dir : NULL;
}

static int places_reach(struct unpack *unpack, uint32_t id)
{
	uint32_t size = unpack->nplaces ? unpack->nplaces : 64;
	struct place *places;

	if (id < unpack->nplaces)
		return 0;
	if (id >= 2 * size || id >= DIRS_MAX)
		return malformed();
	while (size <= id)
		size *= 2;
	places = realloc(unpack->places, size * sizeof(*places));
	if (!places)
		return -1;
	memset(places + unpack->nplaces, 0,
	       (size - unpack->nplaces) * sizeof(*places));
	unpack->places = places;
	unpack->nplaces = size;
	return 0;
}

static void place_note(struct place *place, uint64_t batch)
{
	if (batch > place->batch) {
		place->before = place->batch;
		place->batch = batch;
	} else if (batch < place->batch && batch > place->before) {
		place->before = batch;
	}
}

static void place_end(struct unpack *unpack, uint32_t id)
{
	struct place *place = &unpack->places[id];
	struct place *above = &unpack->places[place->parent];

	gate_end(unpack->config.gate, place->dir);
	place->dir = NULL;
	if (id != 0) {
		above->below--;
		place_note(above, place->before);
		place_note(above, place->batch);
	}
	unpack->ending = NULL;
}

/* Continues the run of `dir`, or begins one. */
static void run_extend(struct unpack *unpack, struct batch *batch,
		       struct dir *dir, size_t at, size_t size)
{
	struct run *run = batch->nruns > 0 ? &batch->runs[batch->nruns - 1] :
					     NULL;

	if (!run || run->dir != dir || run->end != at) {
		run = &batch->runs[batch->nruns++];
		run->dir = dir;
		run->start = at;
		gate_hold(unpack->config.gate, dir);
	}
	run->end = at + size;
	unpack->current = dir;
}

static int take_dir(struct unpack *unpack, struct batch *batch,
		    const struct record *record, struct dir *parent)
{
	struct dir *child;

	if (places_reach(unpack, record->id) != 0)
		return -1;
	if (record->id == 0 || unpack->places[record->id].dir)
		return malformed();
	child = gate_add(unpack->config.gate, parent, record->name,
			 record->name_len);
	if (!child)
		return -1;
	unpack->places[record->id] = (struct place){
		.dir = child,
		.parent = record->dir,
		.key = order_key(unpack->places[record->dir].key, record->name,
				 record->name_len),
	};
	unpack->places[record->dir].below++;
	batch->made[batch->nmade++].child = child;
	return 0;
}

static int take_inode(struct unpack *unpack, struct batch *batch,
		      const struct record *record)
{
	struct inodes *inodes = unpack->config.inodes;
	struct inode *inode;

	if (record->type == RECORD_LINK)
		inode = inodes_find(inodes, record->id,
				    record->flags & RECORD_LAST);
	else
		inode = inodes_open(inodes, record->id);
	if (!inode)
		return -1;
	batch->made[batch->nmade++].inode = inode;
	return 0;
}

/* Finds out whether the entry has to wait for earlier batches. */
static void take_order(struct unpack *unpack, struct batch *batch,
		       const struct record *record, size_t at)
{
	struct place *place = &unpack->places[record->dir];
	uint64_t key = place->key;
	bool wait;

	place_note(place, batch->number);
	unpack->object_batch = batch->number;
	/*
	 * Its entries are ordered by being in it; another that has its name is not, and
	 * waits for all of them: also for those of an earlier batch than this end of it.
	 */
	if (record->type == RECORD_LEAVE) {
		unpack->object_key = key;
		order_note(unpack->order, key, place->before);
		return;
	}
	unpack->object_key = order_key(key, record->name, record->name_len);
	wait = order_meet(unpack->order, unpack->object_key);
	if (record->type == RECORD_PATHLINK)
		wait |= order_use(unpack->order, order_path(record->data));
	if (wait && batch->wait_at > at)
		batch->wait_at = at;
}

static bool begins_object(const struct record *record)
{
	switch (record->type) {
	case RECORD_FILE:
		return true;
	case RECORD_SYMLINK:
	case RECORD_NODE:
	case RECORD_LEAVE:
		return record->flags & RECORD_MORE;
	default:
		return false;
	}
}

static int take_entry(struct unpack *unpack, struct batch *batch,
		      const struct record *record, size_t at)
{
	struct dir *dir = dir_of(unpack, record->dir);
	int got = 0;

	if (!dir || unpack->in_object)
		return malformed();
	/* Who leaves it before those below would wait for them for ever. */
	if (record->type == RECORD_LEAVE && unpack->places[record->dir].below)
		return malformed();
	batch->entries++;
	if (record->type == RECORD_DIR)
		got = take_dir(unpack, batch, record, dir);
	else if (record->type == RECORD_LINK ||
		 (record->type != RECORD_LEAVE && record->id != 0))
		got = take_inode(unpack, batch, record);
	if (got != 0)
		return -1;
	if (unpack->order)
		take_order(unpack, batch, record, at);
	run_extend(unpack, batch, dir, at, record->size);
	unpack->in_object = begins_object(record);
	if (record->type != RECORD_LEAVE)
		return 0;
	if (unpack->in_object) {
		unpack->ending = dir;
		unpack->ending_id = record->dir;
	} else {
		place_end(unpack, record->dir);
	}
	return 0;
}

/* A part of an object: it follows its head. */
static int take_part(struct unpack *unpack, struct batch *batch,
		     const struct record *record, size_t at)
{
	if (!unpack->in_object)
		return malformed();
	run_extend(unpack, batch, unpack->current, at, record->size);
	/* The batch of its head may be done before it is. */
	if (unpack->order && unpack->object_batch != batch->number) {
		unpack->object_batch = batch->number;
		order_note(unpack->order, unpack->object_key, 0);
	}
	if (record->type == RECORD_REF || record->type == RECORD_SPAN)
		batch->referenced += record->second;
	if (record->type == RECORD_END) {
		unpack->in_object = false;
		if (unpack->ending)
			place_end(unpack, unpack->ending_id);
	}
	return 0;
}

static int take_start(struct unpack *unpack, const struct record *record)
{
	if (record->first != RECORD_MAGIC || record->second != RECORD_VERSION)
		return malformed();
	unpack->started = true;
	if (!(record->flags & RECORD_ORDERED))
		return 0;
	unpack->order = order_new(unpack->nhands, BATCH_ENTRIES);
	if (unpack->order)
		order_begin(unpack->order, unpack->taken, unpack->taken);
	return unpack->order ? 0 : -1;
}

static int take_record(struct unpack *unpack, struct batch *batch,
		       const struct record *record, size_t at)
{
	struct owners *owners = unpack->config.owners;

	if (unpack->started == (record->type == RECORD_START) ||
	    unpack->finished)
		return malformed();
	switch (record->type) {
	case RECORD_START:
		return take_start(unpack, record);
	case RECORD_USER:
	case RECORD_GROUP:
		if (unpack->in_object)
			return malformed();
		owners_learn(owners,
			     record->type == RECORD_USER ? OWNER_USER :
							   OWNER_GROUP,
			     (uint32_t)record->first, record->name);
		return 0;
	case RECORD_FINISH:
		if (unpack->in_object || unpack->places[0].below)
			return malformed();
		unpack->finished = true;
		return 0;
	case RECORD_PIECE:
	case RECORD_SPAN:
	case RECORD_REF:
	case RECORD_SUMS:
	case RECORD_XATTR:
	case RECORD_END:
		return take_part(unpack, batch, record, at);
	default:
		return take_entry(unpack, batch, record, at);
	}
}

/* The batch is large enough, here between two records. */
static bool batch_full(const struct unpack *unpack, const struct batch *batch,
		       size_t at)
{
	/* What is left of a small file is not worth keeping the turn for. */
	if (unpack->in_object)
		return at >= 2 * unpack->batch_bytes;
	if (batch->nruns == BATCH_RUNS || at >= unpack->batch_bytes)
		return true;
	/* Two workers in one directory would wait for its lock. */
	if (batch->at_leave && (batch->entries >= ENOUGH_ENTRIES ||
				at >= ENOUGH_BYTES))
		return true;
	return batch->entries >= BATCH_ENTRIES ||
	       batch->referenced >= BATCH_REFERENCED;
}

/* The worker takes the next batch; how far all are. */
static void batch_number(struct unpack *unpack, struct batch *batch,
			 unsigned index)
{
	uint64_t oldest = batch->number = ++unpack->taken;

	batch->wait_at = SIZE_MAX;
	lock_take(&unpack->lock);
	unpack->at_work[index] = batch->number;
	for (unsigned i = 0; i < unpack->nhands; i++)
		if (unpack->at_work[i] != 0 && unpack->at_work[i] < oldest)
			oldest = unpack->at_work[i];
	lock_give(&unpack->lock);
	if (unpack->order)
		order_begin(unpack->order, batch->number, oldest);
}

static void batch_done(struct unpack *unpack, unsigned index)
{
	lock_take(&unpack->lock);
	unpack->at_work[index] = 0;
	lock_notify(&unpack->lock);
	lock_give(&unpack->lock);
}

static bool earlier_at_work(const struct unpack *unpack, uint64_t number)
{
	for (unsigned i = 0; i < unpack->nhands; i++)
		if (unpack->at_work[i] != 0 && unpack->at_work[i] < number)
			return true;
	return false;
}

static void batch_wait(struct unpack *unpack, const struct batch *batch)
{
	lock_take(&unpack->lock);
	while (earlier_at_work(unpack, batch->number))
		lock_wait(&unpack->lock);
	lock_give(&unpack->lock);
}

/* How much of it, up to about a batch, is whole objects; 0: the first one is not. */
static size_t whole_size(const struct unpack *unpack, const unsigned char *bytes,
			 size_t size)
{
	size_t at = 0, whole = 0;
	bool inside = false;
	struct record record;

	if (size > 2 * unpack->batch_bytes)
		size = 2 * unpack->batch_bytes;
	while (at < size && whole < unpack->batch_bytes &&
	       record_decode(&record, bytes + at, size - at) == 0) {
		at += record.size;
		inside = inside ? record.type != RECORD_END :
				  begins_object(&record);
		if (!inside)
			whole = at;
	}
	return whole;
}

/* Returns 1 and what may be taken, 0 at the end (the helper: when it can't), or -1. */
static int batch_look(struct unpack *unpack, const struct hand *hand,
		      const void **bytes, size_t *size)
{
	int got;

	if (hand != &unpack->helper)
		return ring_peek(unpack->config.ring, bytes, size);
	got = ring_try_peek(unpack->config.ring, bytes, size);
	if (got <= 0)
		return got;
	*size = whole_size(unpack, *bytes, *size);
	return *size > 0;
}

/* The same, and takes it.  With the turn. */
static int batch_take(struct unpack *unpack, const struct hand *hand)
{
	struct batch *batch = hand->batch;
	struct record record;
	const void *bytes;
	size_t size, at = 0;
	int got = batch_look(unpack, hand, &bytes, &size);

	if (got <= 0)
		return got;
	batch_number(unpack, batch, hand->index);
	batch->bytes = bytes;
	batch->nruns = batch->nmade = batch->entries = 0;
	batch->referenced = 0;
	batch->at_leave = false;
	while (at < size && !batch_full(unpack, batch, at)) {
		if (record_decode(&record, batch->bytes + at, size - at) != 0 ||
		    take_record(unpack, batch, &record, at) != 0) {
			unpack->failed = true;
			diag_fail(STATUS_STOPPED, NULL, errno,
				  "reading the stream of records");
			(void)restore_stop(unpack->config.restore, errno);
			break;
		}
		at += record.size;
		batch->at_leave = record.type == RECORD_LEAVE;
	}
	batch->size = at;
	if (at == 0)
		return -1;
	batch->span = ring_take(unpack->config.ring, at);
	return 1;
}

/* ---- the worker ---- */

static void batch_process(struct unpack *unpack, struct worker *worker,
			  const struct batch *batch)
{
	struct record record;
	unsigned made = 0;

	for (unsigned i = 0; i < batch->nruns; i++) {
		const struct run *run = &batch->runs[i];

		worker_enter(worker, run->dir);
		for (size_t at = run->start; at < run->end; at += record.size) {
			struct dir *child = NULL;
			struct inode *inode = NULL;

			/* It was checked when it was taken. */
			if (record_decode(&record, batch->bytes + at,
					  run->end - at) != 0)
				abort();
			if (at == batch->wait_at)
				batch_wait(unpack, batch);
			if (record.type == RECORD_DIR)
				child = batch->made[made++].child;
			else if (record.type != RECORD_LEAVE && record.id != 0)
				inode = batch->made[made++].inode;
			worker_record(worker, &record, child, inode);
		}
		worker_leave(worker);
	}
}

static void hand_use(struct unpack *unpack, const struct hand *hand)
{
	batch_process(unpack, hand->worker, hand->batch);
	batch_done(unpack, hand->index);
	ring_release(unpack->config.ring, hand->batch->span);
}

static int hand_init(struct hand *hand, struct unpack *unpack, unsigned index)
{
	hand->worker = worker_new(unpack->config.restore, index);
	hand->batch = malloc(sizeof(*hand->batch));
	hand->index = index;
	return hand->worker && hand->batch ? 0 : -1;
}

static void hand_destroy(struct hand *hand)
{
	free(hand->batch);
	worker_free(hand->worker);
}

static void unpack_main(void *arg, unsigned index)
{
	struct unpack *unpack = arg;
	struct hand hand;
	bool have_turn = false;
	int got;

	thread_own_umask();
	if (hand_init(&hand, unpack, index) != 0) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "starting a worker");
		(void)restore_stop(unpack->config.restore, ENOMEM);
		goto out;
	}
	for (;;) {
		if (!have_turn)
			turn_take(unpack->turn);
		got = batch_take(unpack, &hand);
		have_turn = got > 0 && unpack->in_object;
		if (!have_turn)
			turn_give(unpack->turn);
		if (got <= 0)
			break;
		hand_use(unpack, &hand);
	}
out:
	hand_destroy(&hand);
	batch_done(unpack, index);
}

/* ring_help: the producer takes a batch, when nobody waits inside an object. */
static bool unpack_help(void *arg, bool wait)
{
	struct unpack *unpack = arg;
	int got;

	if (wait)
		turn_take(unpack->turn);
	else if (!turn_try(unpack->turn))
		return false;
	got = batch_take(unpack, &unpack->helper);
	turn_give(unpack->turn);
	if (got > 0)
		hand_use(unpack, &unpack->helper);
	else if (got < 0)
		batch_done(unpack, unpack->helper.index);
	return got > 0;
}

static void unpack_done(void *arg)
{
	struct unpack *unpack = arg;

	if (unpack->config.done)
		unpack->config.done(unpack->config.done_arg);
}

static void unpack_free(struct unpack *unpack)
{
	hand_destroy(&unpack->helper);
	turn_free(unpack->turn);
	order_free(unpack->order);
	lock_destroy(&unpack->lock);
	free(unpack->at_work);
	free(unpack->places);
	free(unpack);
}

struct unpack *unpack_start(const struct unpack_config *config)
{
	struct unpack *unpack = calloc(1, sizeof(*unpack));

	if (!unpack)
		return NULL;
	unpack->config = *config;
	unpack->nhands = config->workers + config->help;
	unpack->batch_bytes = ring_span_max(config->ring) / 2;
	if (unpack->batch_bytes > BATCH_BYTES)
		unpack->batch_bytes = BATCH_BYTES;
	lock_init(&unpack->lock);
	unpack->turn = turn_new();
	unpack->at_work = calloc(unpack->nhands, sizeof(*unpack->at_work));
	if (!unpack->turn || !unpack->at_work || places_reach(unpack, 0) != 0 ||
	    (config->help &&
	     hand_init(&unpack->helper, unpack, config->workers) != 0))
		goto fail;
	unpack->places[0].dir = gate_root(config->gate);
	unpack->places[0].key = ORDER_ROOT;
	unpack->pool = pool_start(config->workers, unpack_main, unpack,
				  unpack_done);
	if (unpack->pool) {
		if (config->help)
			ring_help(config->ring, unpack_help, unpack);
		return unpack;
	}
fail:
	unpack_free(unpack);
	return NULL;
}

int unpack_join(struct unpack *unpack)
{
	bool whole;

	pool_join(unpack->pool);
	if (unpack->config.help)
		ring_help(unpack->config.ring, NULL, NULL);
	whole = unpack->finished && !unpack->failed;
	unpack_free(unpack);
	return whole ? 0 : -1;
}
