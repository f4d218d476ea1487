/* SPDX-License-Identifier: BSD-2-Clause */
#include "met.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { SLOTS_MIN = 1024 };

struct met {
	uint64_t *table;	/* open addressing; 0 is free */
	size_t slots, used;	/* slots: a power of two */
	uint64_t seed;
};

struct met *met_new(void)
{
	struct met *met = calloc(1, sizeof(*met));

	if (!met)
		return NULL;
	met->slots = SLOTS_MIN;
	met->table = calloc(met->slots, sizeof(*met->table));
	if (!met->table) {
		free(met);
		return NULL;
	}
	/* Without a seed nobody is worse off than with a known one. */
	if (getrandom(&met->seed, sizeof(met->seed), GRND_NONBLOCK) < 0)
		met->seed = (uintptr_t)met;
	return met;
}

void met_free(struct met *met)
{
	if (!met)
		return;
	free(met->table);
	free(met);
}

static uint64_t key_of(const struct met *met, const char *path, size_t len)
{
	uint64_t key = XXH3_64bits_withSeed(path, len, met->seed);

	return key ? key : 1;
}

/* Where a key is, or would go. */
static size_t find(const uint64_t *table, size_t slots, uint64_t key)
{
	size_t i = (size_t)key & (slots - 1);

	while (table[i] != 0 && table[i] != key)
		i = (i + 1) & (slots - 1);
	return i;
}

static int grow(struct met *met)
{
	size_t slots = 2 * met->slots;
	uint64_t *table = calloc(slots, sizeof(*table));

	if (!table) {
		errno = ENOMEM;
		return -1;
	}
	for (size_t i = 0; i < met->slots; i++)
		if (met->table[i] != 0)
			table[find(table, slots, met->table[i])] = met->table[i];
	free(met->table);
	met->table = table;
	met->slots = slots;
	return 0;
}

int met_add(struct met *met, const char *path)
{
	size_t len = strlen(path), at;
	uint64_t key;

	while (len > 0) {
		key = key_of(met, path, len);
		at = find(met->table, met->slots, key);
		if (met->table[at] == key)
			break;		/* its directories have come with it */
		met->table[at] = key;
		if (++met->used > met->slots / 4 * 3 && grow(met) != 0)
			return -1;
		while (len > 0 && path[len - 1] != '/')
			len--;
		if (len > 0)
			len--;
	}
	return 0;
}

bool met_has(const struct met *met, const char *path)
{
	uint64_t key = key_of(met, path, strlen(path));

	return met->table[find(met->table, met->slots, key)] == key;
}
