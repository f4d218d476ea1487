/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order: which entries have to wait for others, where a stream may hold a name
 * several times.
 *
 * Batches of a stream are worked on side by side, so two entries of one name could
 * be made in the wrong order.  The taker asks for each entry whether its name is also
 * in an earlier batch that is still at work.  The answer may be yes without need,
 * never no in spite of it.  Memory follows the number of workers alone.
 *
 * A name is the hash of its path below the destination, so that it is the same however
 * often the stream enters its directory.  Used by who has the turn.
 */
#ifndef TARPIPE_ORDER_H
#define TARPIPE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order;

/* For batches of at most `names` names, `batches` of them at one time.  NULL: ENOMEM. */
struct order *order_new(unsigned batches, unsigned names);
void order_free(struct order *order);

/* The destination itself; and what is called `name` below something. */
#define ORDER_ROOT UINT64_C(0x9e3779b97f4a7c15)
uint64_t order_key(uint64_t above, const char *name, size_t len);

/* The same for a path of several components, from the destination. */
uint64_t order_path(const char *path);

/* Batch `number` begins, which counts upwards; those before `oldest` are done. */
void order_begin(struct order *order, uint64_t number, uint64_t oldest);

/* The batch has an entry of that name.  True: it has to wait for all earlier batches. */
bool order_meet(struct order *order, uint64_t key);

/*
 * The batch uses what has that name, and leaves it as it is: several may at one time.
 * True: it has to wait.
 */
bool order_use(struct order *order, uint64_t key);

/*
 * The batch has to do with that name, without having to wait; and so has batch
 * `earlier` (0: none).
 */
void order_note(struct order *order, uint64_t key, uint64_t earlier);

#endif
