/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool: worker threads of one kind, and whose turn it is.
 *
 * The workers of a pool take from one stream in turn: who has the turn may look
 * at the stream and take from it; then the next one may, while the first works.
 */
#ifndef TARPIPE_POOL_H
#define TARPIPE_POOL_H

#include <stdbool.h>

struct pool;

/* What a worker runs; `index` counts from 0. */
typedef void pool_run(void *arg, unsigned index);

/*
 * Starts `count` workers with `run(arg, index)`.  `done(arg)`, if not NULL, is called
 * by the last of them that ends.  Fewer may start than asked for, but at least one.
 * NULL with errno when none does.
 */
struct pool *pool_start(unsigned count, pool_run *run, void *arg,
			void (*done)(void *arg));

/* Waits for all and frees the pool; accepts NULL. */
void pool_join(struct pool *pool);

/* Whose turn it is: one worker at a time, any order. */
struct turn;

struct turn *turn_new(void);
void turn_free(struct turn *turn);
void turn_take(struct turn *turn);
bool turn_try(struct turn *turn);	/* false: another one has it */
void turn_give(struct turn *turn);

#endif
