/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab: memory for bytes that wait to be taken in about the order they came.
 *
 * A ring of pieces of any size: they are given back in any order, and become free in the
 * order they were made.  Mapped, and touched only as it is used.  All of it may be
 * called by any thread.
 */
#ifndef TARPIPE_SLAB_H
#define TARPIPE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

struct slab;

/* NULL with errno. */
struct slab *slab_new(size_t size);

/* No piece may be in use.  Accepts NULL. */
void slab_free(struct slab *slab);

/* A piece of `size` bytes; NULL when there is no room now. */
void *slab_take(struct slab *slab, size_t size);

/* Gives a piece back; NULL is none. */
void slab_give(struct slab *slab, void *piece);

/*
 * Bytes that are to be read into memory of somebody else's (the page cache), as many at one
 * time as the slab has.  Returns false when they would be too many.
 */
bool slab_promise(struct slab *slab, size_t size);
void slab_release(struct slab *slab, size_t size);

#endif
