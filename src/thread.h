/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread: what the rooms above the ring need of threads, and nothing more.
 *
 * Misuse (an error from the lock calls) is a bug and aborts with file and line;
 * only thread_start can fail.
 */
#ifndef TARPIPE_THREAD_H
#define TARPIPE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A mutual exclusion with one condition: what it guards, and "that changed". */
struct lock {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

void lock_init(struct lock *lock);
void lock_destroy(struct lock *lock);
void lock_take(struct lock *lock);
void lock_give(struct lock *lock);
/* Waits for lock_notify; call in a loop over the predicate, with the lock held. */
void lock_wait(struct lock *lock);
/* Wakes all waiters; call with the lock held, after changing what they wait for. */
void lock_notify(struct lock *lock);

/* One more condition of a lock, for who waits for something of his own. */
struct bell {
	pthread_cond_t rung;
};

void bell_init(struct bell *bell);
void bell_destroy(struct bell *bell);
/* As lock_wait, and until a moment of clock_ns at the latest. */
void bell_wait(struct bell *bell, struct lock *lock);
void bell_wait_until(struct bell *bell, struct lock *lock, uint64_t moment);
/* Wakes one waiter, or all; call with the lock held. */
void bell_ring(struct bell *bell);
void bell_ring_all(struct bell *bell);

/* A running thread. */
struct thread {
	pthread_t id;
	bool running;
};

/*
 * Starts `run(arg)` under `name` (at most 15 bytes, shown by ps -L).  Returns 0, or
 * -1 with errno.
 */
int thread_start(struct thread *thread, const char *name, void (*run)(void *),
		 void *arg);

/* Waits for its end; does nothing on one that was never started. */
void thread_join(struct thread *thread);

/* The same for at most `ms` milliseconds; false when it is still at work. */
bool thread_join_within(struct thread *thread, unsigned ms);

/*
 * Gives the calling thread its own umask, 0, and its own working directory
 * (unshare(CLONE_FS)).  Where that is forbidden, the process's umask is set
 * to 0 instead, once.
 */
void thread_own_umask(void);

/* Relaxed counters, read by others while they run. */
uint64_t count_add(uint64_t *counter, uint64_t n);
uint64_t count_get(const uint64_t *counter);

/* How often the calling thread has slept: waited for something, was not just preempted. */
uint64_t thread_sleeps(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_ns(void);

/* Sleeps until that moment of clock_ns. */
void clock_wait(uint64_t moment);

#endif
