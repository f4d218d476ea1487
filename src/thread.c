/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

/* A lock call that fails is a bug of ours: stop where it shows. */
#define MUST(call) must((call), #call, __FILE__, __LINE__)

static void must(int err, const char *call, const char *file, int line)
{
	if (err == 0)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, strerror(err));
	abort();
}

void lock_init(struct lock *lock)
{
	MUST(pthread_mutex_init(&lock->mutex, NULL));
	MUST(pthread_cond_init(&lock->changed, NULL));
}

void lock_destroy(struct lock *lock)
{
	MUST(pthread_cond_destroy(&lock->changed));
	MUST(pthread_mutex_destroy(&lock->mutex));
}

void lock_take(struct lock *lock)
{
	MUST(pthread_mutex_lock(&lock->mutex));
}

void lock_give(struct lock *lock)
{
	MUST(pthread_mutex_unlock(&lock->mutex));
}

void lock_wait(struct lock *lock)
{
	MUST(pthread_cond_wait(&lock->changed, &lock->mutex));
}

void lock_notify(struct lock *lock)
{
	MUST(pthread_cond_broadcast(&lock->changed));
}

void bell_init(struct bell *bell)
{
	pthread_condattr_t clock;

	MUST(pthread_condattr_init(&clock));
	MUST(pthread_condattr_setclock(&clock, CLOCK_MONOTONIC));
	MUST(pthread_cond_init(&bell->rung, &clock));
	MUST(pthread_condattr_destroy(&clock));
}

void bell_destroy(struct bell *bell)
{
	MUST(pthread_cond_destroy(&bell->rung));
}

void bell_wait(struct bell *bell, struct lock *lock)
{
	MUST(pthread_cond_wait(&bell->rung, &lock->mutex));
}

void bell_wait_until(struct bell *bell, struct lock *lock, uint64_t moment)
{
	struct timespec until = { (time_t)(moment / 1000000000U),
				  (long)(moment % 1000000000U) };
	int err = pthread_cond_timedwait(&bell->rung, &lock->mutex, &until);

	if (err != ETIMEDOUT)
		MUST(err);
}

void bell_ring(struct bell *bell)
{
	MUST(pthread_cond_signal(&bell->rung));
}

void bell_ring_all(struct bell *bell)
{
	MUST(pthread_cond_broadcast(&bell->rung));
}

struct start {
	void (*run)(void *);
	void *arg;
	char name[16];
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	pthread_setname_np(pthread_self(), start.name);
	start.run(start.arg);
	return NULL;
}

int thread_start(struct thread *thread, const char *name, void (*run)(void *),
		 void *arg)
{
	struct start *start = malloc(sizeof(*start));
	int err;

	if (!start)
		return -1;
	start->run = run;
	start->arg = arg;
	snprintf(start->name, sizeof(start->name), "%s", name);

	err = pthread_create(&thread->id, NULL, thread_main, start);
	thread->running = err == 0;
	if (err) {
		free(start);
		errno = err;
		return -1;
	}
	return 0;
}

void thread_join(struct thread *thread)
{
	if (!thread->running)
		return;
	MUST(pthread_join(thread->id, NULL));
	thread->running = false;
}

bool thread_join_within(struct thread *thread, unsigned ms)
{
	struct timespec until;
	int err;

	if (!thread->running)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	err = pthread_timedjoin_np(thread->id, NULL, &until);
	if (err == ETIMEDOUT)
		return false;
	MUST(err);
	thread->running = false;
	return true;
}

void thread_own_umask(void)
{
	/* Where a container forbids the first, the second is for everybody. */
	(void)unshare(CLONE_FS);
	umask(0);
}

uint64_t count_add(uint64_t *counter, uint64_t n)
{
	return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED) + n;
}

uint64_t count_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

uint64_t thread_sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void clock_wait(uint64_t moment)
{
	struct timespec until = { (time_t)(moment / 1000000000U),
				  (long)(moment % 1000000000U) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
	       EINTR)
		;
}
