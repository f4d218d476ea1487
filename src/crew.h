/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew: helpers, threads that do tasks which are expected to wait for a device.
 *
 * One thread, the owner, puts tasks, waits for them, or claims one that nobody has begun
 * and does it itself; so it never waits in vain.  How many helpers are at work is
 * found out by their rate (see rate.h).  Threads are started when they are first wanted.
 *
 * All but crew_stopped is for the owner.  A task belongs to the owner, and
 * while it is running to its helper.
 */
#ifndef TARPIPE_CREW_H
#define TARPIPE_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CREW_MAX = 64 };

struct helper;

enum task_state { TASK_NONE, TASK_QUEUED, TASK_RUNNING, TASK_DONE };

/* Starts zeroed, but for `run` and `urgent`. */
struct task {
	void (*run)(struct task *task, struct helper *helper);
	bool urgent;		/* goes before others, on half of the helpers */
	bool holds;		/* set by run: a descriptor stays open */
	size_t bytes;		/* set by run: how much it was */

	/* the crew's */
	enum task_state state;
	struct task *before, *after;
};

struct crew_config {
	unsigned helpers;	/* so many; 0: as many as pay, up to CREW_MAX */
	unsigned descriptors;	/* that tasks may hold at one time, with those running */

	/* The run is over: nothing is waited for any more. */
	bool (*stopped)(void *arg);
	void *arg;
};

struct crew;

/* NULL with errno. */
struct crew *crew_new(const struct crew_config *config);

/* Puts `count` tasks, to be begun in this order. */
void crew_put(struct crew *crew, struct task **tasks, size_t count);

/* Takes back a task that was not begun (or put); false when it was, or is done. */
bool crew_claim(struct crew *crew, struct task *task);

/* It is done. */
bool crew_is_done(struct crew *crew, const struct task *task);

/* How many of `tasks` are done, from the first on. */
size_t crew_count_done(struct crew *crew, struct task *const *tasks,
		       size_t count);

/*
 * Waits until one of two tasks is done; NULL is none.  Returns false when the run
 * was stopped.
 */
bool crew_wait(struct crew *crew, const struct task *one,
	       const struct task *other);

/* The descriptors of `count` done tasks are closed, or counted elsewhere. */
void crew_give_back(struct crew *crew, unsigned count);

/* Looks whether there should be more helpers, or fewer. */
void crew_tune(struct crew *crew);

/* Tasks find what they want at once, as in a cache, and have for a while. */
bool crew_is_idle(struct crew *crew);

/* A new beginning: nothing was asked of helpers for a while. */
void crew_forget(struct crew *crew);

/* How many helpers there should be now. */
unsigned crew_level(const struct crew *crew);

/* The most helpers that were at work. */
unsigned crew_most(const struct crew *crew);

/*
 * Ends the helpers; what was not begun stays queued.  Returns false when one is in a call
 * that takes longer than `ms`: then it uses its task and the crew for ever.
 */
bool crew_stop(struct crew *crew, unsigned ms);

/* After crew_stop has succeeded.  Accepts NULL. */
void crew_free(struct crew *crew);

/* ---- for tasks ---- */

/* Memory of the helper's own; NULL when there is none. */
void *helper_buffer(struct helper *helper, size_t size);

/* What was last found out about a device: -1 nothing. */
int helper_known(const struct helper *helper, dev_t dev);
void helper_know(struct helper *helper, dev_t dev, int answer);

#endif
