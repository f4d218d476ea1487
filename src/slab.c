/* SPDX-License-Identifier: BSD-2-Clause */
#include "slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "thread.h"

enum { ALIGN = 16, HUGE_PAGE = 2 << 20 };

/* In front of each piece; its size with this. */
struct head {
	size_t size;
	bool given;
};

_Static_assert(sizeof(struct head) <= ALIGN, "a head is one unit");

/*
 * Pieces lie in [tail, head); or, once they have gone on at 0, in [tail, wrap) and
 * [0, head).  head == tail: there are none.
 */
struct slab {
	struct lock lock;
	unsigned char *base;
	size_t size;
	size_t head, tail, wrap;
	bool wrapped;
	size_t promised;
};

struct slab *slab_new(size_t size)
{
	struct slab *slab = calloc(1, sizeof(*slab));
	void *map;

	if (!slab)
		return NULL;
	slab->size = size & ~(size_t)(ALIGN - 1);
	map = mmap(NULL, slab->size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		free(slab);
		return NULL;
	}
	if (slab->size >= HUGE_PAGE)
		(void)madvise(map, slab->size, MADV_HUGEPAGE);
	slab->base = map;
	lock_init(&slab->lock);
	return slab;
}

void slab_free(struct slab *slab)
{
	if (!slab)
		return;
	lock_destroy(&slab->lock);
	munmap(slab->base, slab->size);
	free(slab);
}

/* Whether `need` bytes are free at head, which may go on at 0 for that. */
static bool slab_place(struct slab *slab, size_t need)
{
	if (slab->wrapped)
		return slab->tail - slab->head > need;
	if (slab->head == slab->tail)
		slab->head = slab->tail = 0;
	if (slab->size - slab->head >= need)
		return true;
	if (slab->tail <= need)
		return false;
	slab->wrap = slab->head;
	slab->wrapped = true;
	slab->head = 0;
	return true;
}

void *slab_take(struct slab *slab, size_t size)
{
	size_t need = ALIGN + ((size + ALIGN - 1) & ~(size_t)(ALIGN - 1));
	unsigned char *piece = NULL;

	lock_take(&slab->lock);
	if (size <= slab->size && slab_place(slab, need)) {
		struct head *head = (void *)(slab->base + slab->head);

		*head = (struct head){ need, false };
		piece = slab->base + slab->head + ALIGN;
		slab->head += need;
	}
	lock_give(&slab->lock);
	return piece;
}

/* Frees what was given back at the old end. */
static void slab_advance(struct slab *slab)
{
	for (;;) {
		const struct head *oldest;

		if (slab->wrapped && slab->tail == slab->wrap) {
			slab->wrapped = false;
			slab->tail = 0;
		}
		if (!slab->wrapped && slab->tail == slab->head)
			return;
		oldest = (void *)(slab->base + slab->tail);
		if (!oldest->given)
			return;
		slab->tail += oldest->size;
	}
}

void slab_give(struct slab *slab, void *piece)
{
	if (!piece)
		return;
	lock_take(&slab->lock);
	((struct head *)((unsigned char *)piece - ALIGN))->given = true;
	slab_advance(slab);
	lock_give(&slab->lock);
}

bool slab_promise(struct slab *slab, size_t size)
{
	bool fits;

	lock_take(&slab->lock);
	fits = size <= slab->size - slab->promised;
	if (fits)
		slab->promised += size;
	lock_give(&slab->lock);
	return fits;
}

void slab_release(struct slab *slab, size_t size)
{
	if (size == 0)
		return;
	lock_take(&slab->lock);
	slab->promised -= size;
	lock_give(&slab->lock);
}
