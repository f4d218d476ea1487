/* SPDX-License-Identifier: BSD-2-Clause */
#include "crew.h"

#include <errno.h>
#include <stdlib.h>

#include "rate.h"
#include "thread.h"

enum {
	POLL_NS = 50000000,	/* how often a wait looks whether the run was stopped */
	BYTES_UNIT = 32 << 10,	/* so many bytes count as a task */
	WATCH_EACH = 8,		/* one of so many tasks is watched */
	WATCHED_MIN = 32,
	WATCHED_MAX = 64,
	SLEPT_MIN_NS = 20000,	/* what a watched task sleeps, for helpers to pay */
};

struct helper {
	struct crew *crew;
	unsigned index;
	unsigned done;		/* tasks */
	struct thread thread;
	void *buffer;
	size_t buffer_size;
	dev_t dev;
	int known;		/* of that device; -1: nothing yet */
};

struct queue {
	struct task *first, *last;
};

struct crew {
	struct crew_config config;
	struct lock lock;
	struct bell work;	/* for helpers */
	struct bell rest;	/* ... who are too many for now */
	struct bell done;	/* for the owner */

	struct queue urgent, others;
	unsigned urgent_running;
	unsigned descriptors;	/* held, or about to be */
	unsigned idle;		/* helpers who wait for work */
	bool stop;
	const struct task *awaited[2];

	struct rate rate;
	unsigned level;		/* helpers with a lower index work */
	unsigned most;
	uint64_t units, waited_ns;
	unsigned watched;
	uint64_t slept_ns;

	unsigned started;
	struct helper helpers[CREW_MAX];
};

struct crew *crew_new(const struct crew_config *config)
{
	struct crew *crew = calloc(1, sizeof(*crew));
	unsigned n = config->helpers;

	if (!crew)
		return NULL;
	crew->config = *config;
	lock_init(&crew->lock);
	bell_init(&crew->work);
	bell_init(&crew->rest);
	bell_init(&crew->done);
	rate_begin(&crew->rate, n ? n : 2, n ? n : CREW_MAX, clock_ns());
	return crew;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	for (unsigned i = 0; i < crew->started; i++)
		free(crew->helpers[i].buffer);
	bell_destroy(&crew->done);
	bell_destroy(&crew->rest);
	bell_destroy(&crew->work);
	lock_destroy(&crew->lock);
	free(crew);
}

/* ---- queues, under the lock ---- */

static void queue_put(struct queue *queue, struct task *task)
{
	task->before = queue->last;
	task->after = NULL;
	if (queue->last)
		queue->last->after = task;
	else
		queue->first = task;
	queue->last = task;
}

static void queue_remove(struct queue *queue, struct task *task)
{
	if (task->before)
		task->before->after = task->after;
	else
		queue->first = task->after;
	if (task->after)
		task->after->before = task->before;
	else
		queue->last = task->before;
}

static struct queue *queue_of(struct crew *crew, const struct task *task)
{
	return task->urgent ? &crew->urgent : &crew->others;
}

/* What a helper may begin now, or NULL. */
static struct task *crew_next(struct crew *crew)
{
	struct task *urgent = crew->urgent.first;

	if (crew->descriptors >= crew->config.descriptors)
		return NULL;
	if (urgent && (!crew->others.first ||
		       2 * crew->urgent_running < crew->level))
		return urgent;
	return crew->others.first;
}

/* ---- a helper ---- */

static void task_run(struct task *task, struct helper *helper)
{
	struct crew *crew = helper->crew;
	bool watch = helper->done++ % WATCH_EACH == 0;
	uint64_t sleeps, start = 0, slept = 0;

	if (watch) {
		sleeps = thread_sleeps();
		start = clock_ns();
	}
	task->holds = false;
	task->bytes = 0;
	task->run(task, helper);
	if (watch && thread_sleeps() != sleeps)
		slept = clock_ns() - start;

	lock_take(&crew->lock);
	crew->watched += watch;
	crew->slept_ns += slept;
}

/* With the lock held; gives it up for the work itself. */
static void helper_do(struct helper *helper, struct task *task)
{
	struct crew *crew = helper->crew;

	queue_remove(queue_of(crew, task), task);
	task->state = TASK_RUNNING;
	crew->descriptors++;
	crew->urgent_running += task->urgent;
	lock_give(&crew->lock);
	task_run(task, helper);
	crew->urgent_running -= task->urgent;
	crew->descriptors -= !task->holds;
	crew->units += 1 + task->bytes / BYTES_UNIT;
	task->state = TASK_DONE;
	if (task == crew->awaited[0] || task == crew->awaited[1])
		bell_ring(&crew->done);
}

/* With the lock held; until the level rises. */
static void helper_rest(struct crew *crew)
{
	/* The bell may have called for somebody. */
	if (crew->idle > 0)
		bell_ring(&crew->work);
	bell_wait(&crew->rest, &crew->lock);
}

static void helper_main(void *arg)
{
	struct helper *helper = arg;
	struct crew *crew = helper->crew;

	lock_take(&crew->lock);
	while (!crew->stop) {
		struct task *task;

		if (helper->index >= crew->level) {
			helper_rest(crew);
			continue;
		}
		task = crew_next(crew);
		if (task) {
			helper_do(helper, task);
			continue;
		}
		crew->idle++;
		bell_wait(&crew->work, &crew->lock);
		crew->idle--;
	}
	lock_give(&crew->lock);
}

void *helper_buffer(struct helper *helper, size_t size)
{
	void *bigger;

	if (helper->buffer_size >= size)
		return helper->buffer;
	bigger = realloc(helper->buffer, size);
	if (!bigger)
		return NULL;
	helper->buffer = bigger;
	helper->buffer_size = size;
	return bigger;
}

int helper_known(const struct helper *helper, dev_t dev)
{
	return helper->dev == dev ? helper->known : -1;
}

void helper_know(struct helper *helper, dev_t dev, int answer)
{
	helper->dev = dev;
	helper->known = answer;
}

/* ---- the owner ---- */

/* As many as the rate wants.  One that can't be started is done without. */
static void crew_staff(struct crew *crew)
{
	while (crew->started < crew->level) {
		struct helper *helper = &crew->helpers[crew->started];

		helper->crew = crew;
		helper->index = crew->started;
		helper->known = -1;
		if (thread_start(&helper->thread, "ahead", helper_main, helper) != 0)
			break;
		crew->started++;
	}
	if (crew->started > crew->most)
		crew->most = crew->started;
}

static void crew_set_level(struct crew *crew, unsigned level)
{
	bool more = level > crew->level;

	crew->level = level;
	crew_staff(crew);
	if (more)
		bell_ring_all(&crew->rest);
}

/* Wakes as many as there is work for. */
static void crew_wake(struct crew *crew, size_t tasks)
{
	if (tasks >= crew->idle) {
		bell_ring_all(&crew->work);
		return;
	}
	while (tasks-- > 0)
		bell_ring(&crew->work);
}

void crew_put(struct crew *crew, struct task **tasks, size_t count)
{
	lock_take(&crew->lock);
	if (crew->level == 0)
		crew_set_level(crew, crew->rate.level);
	for (size_t i = 0; i < count; i++) {
		tasks[i]->state = TASK_QUEUED;
		queue_put(queue_of(crew, tasks[i]), tasks[i]);
	}
	crew_wake(crew, count);
	lock_give(&crew->lock);
}

bool crew_claim(struct crew *crew, struct task *task)
{
	bool mine;

	lock_take(&crew->lock);
	if (task->state == TASK_QUEUED) {
		queue_remove(queue_of(crew, task), task);
		task->state = TASK_NONE;
	}
	mine = task->state == TASK_NONE;
	lock_give(&crew->lock);
	return mine;
}

bool crew_is_done(struct crew *crew, const struct task *task)
{
	bool done;

	lock_take(&crew->lock);
	done = task->state == TASK_DONE;
	lock_give(&crew->lock);
	return done;
}

size_t crew_count_done(struct crew *crew, struct task *const *tasks, size_t count)
{
	size_t done = 0;

	lock_take(&crew->lock);
	while (done < count && (!tasks[done] || tasks[done]->state == TASK_DONE))
		done++;
	lock_give(&crew->lock);
	return done;
}

static bool is_done(const struct task *task)
{
	return task && task->state == TASK_DONE;
}

/* With the lock held. */
static void crew_tune_locked(struct crew *crew)
{
	unsigned level = rate_ask(&crew->rate, clock_ns(), crew->units,
				  crew->waited_ns);

	if (crew->level != 0 && level != crew->level)
		crew_set_level(crew, level);
}

void crew_tune(struct crew *crew)
{
	lock_take(&crew->lock);
	crew_tune_locked(crew);
	lock_give(&crew->lock);
}

bool crew_wait(struct crew *crew, const struct task *one,
	       const struct task *other)
{
	bool stopped = false;

	lock_take(&crew->lock);
	while (!is_done(one) && !is_done(other)) {
		uint64_t start = clock_ns();

		crew->awaited[0] = one;
		crew->awaited[1] = other;
		bell_wait_until(&crew->done, &crew->lock, start + POLL_NS);
		crew->awaited[0] = crew->awaited[1] = NULL;
		crew->waited_ns += clock_ns() - start;
		crew_tune_locked(crew);
		if (is_done(one) || is_done(other))
			break;
		lock_give(&crew->lock);
		stopped = crew->config.stopped(crew->config.arg);
		lock_take(&crew->lock);
		if (stopped)
			break;
	}
	lock_give(&crew->lock);
	return !stopped;
}

void crew_give_back(struct crew *crew, unsigned count)
{
	bool full;

	if (count == 0)
		return;
	lock_take(&crew->lock);
	full = crew->descriptors >= crew->config.descriptors;
	crew->descriptors -= count;
	if (full && (crew->urgent.first || crew->others.first))
		crew_wake(crew, count);
	lock_give(&crew->lock);
}

bool crew_is_idle(struct crew *crew)
{
	bool idle;

	lock_take(&crew->lock);
	idle = crew->watched >= WATCHED_MIN &&
	       crew->slept_ns / crew->watched < SLEPT_MIN_NS;
	if (crew->watched >= WATCHED_MAX) {
		crew->watched /= 2;
		crew->slept_ns /= 2;
	}
	lock_give(&crew->lock);
	return idle;
}

void crew_forget(struct crew *crew)
{
	lock_take(&crew->lock);
	crew->watched = 0;
	crew->slept_ns = 0;
	rate_skip(&crew->rate, clock_ns(), crew->units, crew->waited_ns);
	lock_give(&crew->lock);
}

unsigned crew_level(const struct crew *crew)
{
	return crew->level;
}

unsigned crew_most(const struct crew *crew)
{
	return crew->most;
}

bool crew_stop(struct crew *crew, unsigned ms)
{
	uint64_t end = clock_ns() + ms * UINT64_C(1000000);

	lock_take(&crew->lock);
	crew->stop = true;
	bell_ring_all(&crew->work);
	bell_ring_all(&crew->rest);
	lock_give(&crew->lock);
	for (unsigned i = 0; i < crew->started; i++) {
		uint64_t now = clock_ns();
		unsigned left = now < end ? (unsigned)((end - now) / 1000000) : 0;

		if (!thread_join_within(&crew->helpers[i].thread, left))
			return false;
	}
	return true;
}
