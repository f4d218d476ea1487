/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "thread.h"

struct seat {
	struct pool *pool;
	unsigned index;
	struct thread thread;
};

struct pool {
	pool_run *run;
	void (*done)(void *arg);
	void *arg;
	struct lock lock;
	unsigned running;	/* under the lock; the starter counts as one */
	unsigned count;
	struct seat seats[];
};

static void pool_leave(struct pool *pool)
{
	lock_take(&pool->lock);
	bool last = --pool->running == 0;
	lock_give(&pool->lock);
	if (last && pool->done)
		pool->done(pool->arg);
}

static void pool_main(void *arg)
{
	struct seat *seat = arg;

	seat->pool->run(seat->pool->arg, seat->index);
	pool_leave(seat->pool);
}

struct pool *pool_start(unsigned count, pool_run *run, void *arg,
			void (*done)(void *arg))
{
	struct pool *pool = calloc(1, sizeof(*pool) +
					      count * sizeof(pool->seats[0]));
	char name[24];		/* thread_start cuts it */

	if (!pool)
		return NULL;
	pool->run = run;
	pool->done = done;
	pool->arg = arg;
	pool->running = 1;
	lock_init(&pool->lock);
	for (; pool->count < count; pool->count++) {
		struct seat *seat = &pool->seats[pool->count];

		seat->pool = pool;
		seat->index = pool->count;
		snprintf(name, sizeof(name), "restore-%u", pool->count);
		lock_take(&pool->lock);
		pool->running++;
		lock_give(&pool->lock);
		if (thread_start(&seat->thread, name, pool_main, seat) != 0) {
			lock_take(&pool->lock);
			pool->running--;
			lock_give(&pool->lock);
			break;
		}
	}
	if (pool->count == 0) {
		lock_destroy(&pool->lock);
		free(pool);
		return NULL;
	}
	pool_leave(pool);
	return pool;
}

void pool_join(struct pool *pool)
{
	if (!pool)
		return;
	for (unsigned i = 0; i < pool->count; i++)
		thread_join(&pool->seats[i].thread);
	lock_destroy(&pool->lock);
	free(pool);
}

/* A mutex of its own: it is held across waits of the ring, never for long else. */
struct turn {
	pthread_mutex_t mutex;
};

struct turn *turn_new(void)
{
	struct turn *turn = malloc(sizeof(*turn));

	if (turn)
		pthread_mutex_init(&turn->mutex, NULL);
	return turn;
}

void turn_free(struct turn *turn)
{
	if (!turn)
		return;
	pthread_mutex_destroy(&turn->mutex);
	free(turn);
}

void turn_take(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
}

bool turn_try(struct turn *turn)
{
	return pthread_mutex_trylock(&turn->mutex) == 0;
}

void turn_give(struct turn *turn)
{
	pthread_mutex_unlock(&turn->mutex);
}
