/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table with open addressing: a place is found by the path's hash, or after it.
 */
#include "nameset.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };		/* a power of 2, as all sizes */

struct member {
	char *path;			/* NULL: the place is free */
	size_t len;
	uint64_t hash;
	bool met;
};

struct nameset {
	struct member *table;
	size_t size, used;
};

struct nameset *nameset_new(void)
{
	struct nameset *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->table = calloc(FIRST_SIZE, sizeof(*set->table));
	if (!set->table) {
		free(set);
		return NULL;
	}
	set->size = FIRST_SIZE;
	return set;
}

void nameset_free(struct nameset *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->size; i++)
		free(set->table[i].path);
	free(set->table);
	free(set);
}

/* FNV-1a, byte by byte. */
static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

static uint64_t hash_add(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

static uint64_t hash_of(const char *path)
{
	uint64_t hash = hash_start;

	while (*path)
		hash = hash_add(hash, *path++);
	return hash;
}

/* The path's place in a table, or the free one where it belongs. */
static struct member *place(struct member *table, size_t size, uint64_t hash,
			    const char *path, size_t len)
{
	size_t i = (hash ^ hash >> 32) & (size - 1);

	while (table[i].path &&
	       (table[i].hash != hash || table[i].len != len ||
		memcmp(table[i].path, path, len) != 0))
		i = (i + 1) & (size - 1);
	return &table[i];
}

static int nameset_grow(struct nameset *set)
{
	size_t size = 2 * set->size;
	struct member *table = calloc(size, sizeof(*table));

	if (!table)
		return -1;
	for (size_t i = 0; i < set->size; i++) {
		const struct member *old = &set->table[i];

		if (old->path)
			*place(table, size, old->hash, old->path, old->len) = *old;
	}
	free(set->table);
	set->table = table;
	set->size = size;
	return 0;
}

int nameset_add(struct nameset *set, const char *path)
{
	struct member new = { .len = strlen(path), .hash = hash_of(path) };
	struct member *at;

	if (set->used >= set->size / 2 && nameset_grow(set) != 0)
		return -1;
	at = place(set->table, set->size, new.hash, path, new.len);
	if (at->path)
		return 0;
	new.path = strdup(path);
	if (!new.path)
		return -1;
	*at = new;
	set->used++;
	return 0;
}

bool nameset_covers(struct nameset *set, const char *path)
{
	uint64_t hash = hash_start;
	bool covers = false;

	for (size_t i = 0;; i++) {
		if (path[i] == '/' || path[i] == '\0') {
			struct member *at = place(set->table, set->size, hash,
						  path, i);

			if (at->path)
				at->met = covers = true;
		}
		if (path[i] == '\0')
			return covers;
		hash = hash_add(hash, path[i]);
	}
}

bool nameset_met(const struct nameset *set, const char *path)
{
	const struct member *at = place(set->table, set->size, hash_of(path), path,
					strlen(path));

	return at->path && at->met;
}
