/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table of fixed size, in buckets of eight.  A slot whose batch is done is
 * free, so nothing is ever removed.  A bucket may overflow: then the batch becomes a
 * fence, which all later ones wait for.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8 };

/*
 * The newest two batches of a kind; 0: none.  One that asks has often just become the
 * newest itself, without having waited for the one before.
 */
struct newest {
	uint64_t last, before;
};

struct slot {
	uint64_t key;
	struct newest has, uses;
};

struct order {
	uint64_t number, oldest;
	struct newest fence;		/* batches that were not remembered whole */
	size_t mask;			/* of the buckets */
	struct slot (*buckets)[SLOTS];
};

struct order *order_new(unsigned batches, unsigned names)
{
	struct order *order = calloc(1, sizeof(*order));
	size_t count = 1;

	if (!order)
		return NULL;
	/* Two live names in a bucket on average. */
	while (2 * count < (size_t)batches * names)
		count *= 2;
	order->mask = count - 1;
	order->buckets = calloc(count, sizeof(*order->buckets));
	if (!order->buckets) {
		free(order);
		return NULL;
	}
	return order;
}

void order_free(struct order *order)
{
	if (order)
		free(order->buckets);
	free(order);
}

uint64_t order_key(uint64_t above, const char *name, size_t len)
{
	uint64_t hash = above ^ UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) *
		       UINT64_C(0x100000001b3);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

uint64_t order_path(const char *path)
{
	uint64_t key = ORDER_ROOT;

	while (*path) {
		size_t len = strcspn(path, "/");

		key = order_key(key, path, len);
		path += len;
		path += strspn(path, "/");
	}
	return key;
}

void order_begin(struct order *order, uint64_t number, uint64_t oldest)
{
	order->number = number;
	order->oldest = oldest;
}

static bool is_live(const struct order *order, uint64_t number)
{
	return number >= order->oldest && number != 0;
}

static void newest_add(struct newest *newest, uint64_t number)
{
	if (number > newest->last) {
		newest->before = newest->last;
		newest->last = number;
	} else if (number < newest->last && number > newest->before) {
		newest->before = number;
	}
}

/* The name's slot, or a free one in its place, or NULL. */
static struct slot *find(struct order *order, uint64_t key)
{
	struct slot *bucket = order->buckets[key & order->mask], *free = NULL;

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &bucket[i];

		if (!is_live(order, slot->has.last) &&
		    !is_live(order, slot->uses.last))
			free = slot;
		else if (slot->key == key)
			return slot;
	}
	if (free)
		*free = (struct slot){ .key = key };
	return free;
}

/* One of them is at work, and another one than this. */
static bool is_other(const struct order *order, const struct newest *newest)
{
	return is_live(order, newest->last == order->number ? newest->before :
							      newest->last);
}

bool order_meet(struct order *order, uint64_t key)
{
	struct slot *slot = find(order, key);
	bool wait = is_other(order, &order->fence);

	if (!slot) {
		newest_add(&order->fence, order->number);
		return true;
	}
	wait |= is_other(order, &slot->has) || is_other(order, &slot->uses);
	newest_add(&slot->has, order->number);
	return wait;
}

bool order_use(struct order *order, uint64_t key)
{
	struct slot *slot = find(order, key);
	bool wait = is_other(order, &order->fence);

	if (!slot) {
		newest_add(&order->fence, order->number);
		return true;
	}
	wait |= is_other(order, &slot->has);
	newest_add(&slot->uses, order->number);
	return wait;
}

void order_note(struct order *order, uint64_t key, uint64_t earlier)
{
	struct slot *slot = find(order, key);
	struct newest *to = slot ? &slot->has : &order->fence;

	newest_add(to, earlier);
	newest_add(to, order->number);
}
