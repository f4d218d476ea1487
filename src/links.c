/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open addressing with linear probing; an entry that goes closes the gap behind it
 * (Knuth, The Art of Computer Programming 3, 6.4, algorithm R), so there are no
 * tombstones and the table can shrink.  32 bytes an entry, between a quarter and
 * two thirds full.
 */
#include "links.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t dev, ino;
	uint32_t id;		/* 0: free */
	uint32_t left;		/* names still to come */
	uint32_t mark;		/* of what it was when it was met */
};

struct links {
	struct entry *table;
	size_t slots;		/* a power of two */
	size_t open;
	uint32_t ids;		/* ids given so far */
	uint32_t *spare;	/* ids that may be given again */
	size_t nspare, spare_room;
	char **paths;		/* by id, where one was given; NULL: never */
	size_t paths_room;
	char *parting;		/* of the entry that went last: still told */
	bool again;		/* names may come more than once */
};

enum { SLOTS_MIN = 64 };

struct links *links_new(void)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	links->slots = SLOTS_MIN;
	links->table = calloc(links->slots, sizeof(*links->table));
	if (!links->table) {
		free(links);
		return NULL;
	}
	return links;
}

void links_free(struct links *links)
{
	if (!links)
		return;
	for (size_t i = 0; i < links->paths_room; i++)
		free(links->paths[i]);
	free(links->paths);
	free(links->parting);
	free(links->table);
	free(links->spare);
	free(links);
}

size_t links_open(const struct links *links)
{
	return links->open;
}

static size_t hash(uint64_t dev, uint64_t ino, size_t slots)
{
	uint64_t x = (ino ^ (dev << 32 | dev >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(x >> 20) & (slots - 1);
}

/* The entry of (dev, ino), or the free one where it would be. */
static struct entry *find(struct entry *table, size_t slots, uint64_t dev,
			  uint64_t ino)
{
	size_t i = hash(dev, ino, slots);

	while (table[i].id != 0 &&
	       (table[i].dev != dev || table[i].ino != ino))
		i = (i + 1) & (slots - 1);
	return &table[i];
}

static int resize(struct links *links, size_t slots)
{
	struct entry *table = calloc(slots, sizeof(*table));

	if (!table)
		return -1;
	for (size_t i = 0; i < links->slots; i++) {
		const struct entry *old = &links->table[i];

		if (old->id != 0)
			*find(table, slots, old->dev, old->ino) = *old;
	}
	free(links->table);
	links->table = table;
	links->slots = slots;
	return 0;
}

static int give_id(struct links *links, uint32_t *id)
{
	if (links->nspare > 0) {
		*id = links->spare[--links->nspare];
		return 0;
	}
	/* Room to take every id back, so that taking one back can't fail. */
	if (links->ids >= links->spare_room) {
		size_t room = links->spare_room ? 2 * links->spare_room : 64;
		uint32_t *spare = realloc(links->spare, room * sizeof(*spare));

		if (!spare)
			return -1;
		links->spare = spare;
		links->spare_room = room;
	}
	*id = ++links->ids;
	return 0;
}

void links_again(struct links *links)
{
	links->again = true;
}

/* ---- paths ---- */

static char *path_of(const struct links *links, uint32_t id)
{
	return id < links->paths_room ? links->paths[id] : NULL;
}

/* The path stays for the caller, who may be about to use it. */
static void path_drop(struct links *links, uint32_t id)
{
	char *path = path_of(links, id);

	if (!path)
		return;
	free(links->parting);
	links->parting = path;
	links->paths[id] = NULL;
}

static int paths_reserve(struct links *links, uint32_t id)
{
	size_t room = links->paths_room ? links->paths_room : 64;
	char **paths;

	if (id < links->paths_room)
		return 0;
	while (room <= id)
		room *= 2;
	paths = realloc(links->paths, room * sizeof(*paths));
	if (!paths)
		return -1;
	memset(paths + links->paths_room, 0,
	       (room - links->paths_room) * sizeof(*paths));
	links->paths = paths;
	links->paths_room = room;
	return 0;
}

int links_name(struct links *links, uint32_t id, const char *path)
{
	if (paths_reserve(links, id) != 0)
		return -1;
	free(links->paths[id]);
	links->paths[id] = strdup(path);
	return links->paths[id] ? 0 : -1;
}

/* ---- entries ---- */

/* Drops an entry and moves up those behind it that belong further ahead. */
static void drop(struct links *links, struct entry *entry)
{
	size_t mask = links->slots - 1, gap = (size_t)(entry - links->table);

	path_drop(links, entry->id);
	links->spare[links->nspare++] = entry->id;
	links->open--;
	for (size_t i = (gap + 1) & mask; links->table[i].id != 0;
	     i = (i + 1) & mask) {
		const struct entry *next = &links->table[i];
		size_t home = hash(next->dev, next->ino, links->slots);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		links->table[gap] = *next;
		gap = i;
	}
	links->table[gap].id = 0;
	/* Shrinking is a kindness: without memory for it the table stays. */
	if (links->slots > SLOTS_MIN && links->open < links->slots / 8)
		(void)resize(links, links->slots / 2);
}

int links_meet(struct links *links, dev_t dev, ino_t ino, nlink_t nlink,
	       uint32_t mark, struct link *link)
{
	struct entry *entry = find(links->table, links->slots, dev, ino);

	link->changed = entry->id != 0 && entry->mark != mark;
	if (link->changed) {
		drop(links, entry);
		entry = find(links->table, links->slots, dev, ino);
	}
	link->first = entry->id == 0;
	link->path = NULL;
	if (!link->first) {
		link->path = path_of(links, entry->id);
		link->id = entry->id;
		link->last = !links->again && --entry->left == 0;
		if (link->last)
			drop(links, entry);
		return 0;
	}
	if (links->open + 1 > links->slots / 3 * 2) {
		if (resize(links, links->slots * 2) != 0)
			return -1;
		entry = find(links->table, links->slots, dev, ino);
	}
	if (give_id(links, &link->id) != 0)
		return -1;
	*entry = (struct entry){ dev, ino, link->id, (uint32_t)nlink - 1,
				 mark };
	links->open++;
	link->last = false;
	return 0;
}

void links_forget(struct links *links, dev_t dev, ino_t ino)
{
	struct entry *entry = find(links->table, links->slots, dev, ino);

	if (entry->id != 0)
		drop(links, entry);
}
