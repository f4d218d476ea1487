/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directories of a stream: entered when something in them comes, left when something
 * else does.
 *
 * A directory whose member came gets its metadata when it is left.  One that was only
 * named on the way to something is put back to what it was (RECORD_PUTBACK): so an
 * early directory keeps what its member said when late entries follow, and one that
 * was there before this run is not changed.
 *
 * No directory but those that lead to the last member stays entered.  So a member
 * that has the name of a directory comes when that one has been left, and what
 * follows below that name enters it anew.
 */
#include "untaring.h"

#include <stdlib.h>
#include <string.h>

static int leave(struct untar *untar)
{
	struct level *level = &untar->levels[untar->depth];
	struct record record = { .type = RECORD_LEAVE,
				 .dir = (uint32_t)untar->depth };

	if (untar->depth == 0 && untar->config.keeps_root) {
		record.flags = RECORD_KEEP;
	} else if (!level->told) {
		record.flags = RECORD_PUTBACK;
	} else {
		record.flags = level->attributes.flags;
		record.meta = level->meta;
	}
	if (untar_emit(untar, &record) != 0)
		return -1;
	return untar_rest(untar,
			  record.flags & RECORD_MORE ? &level->attributes : NULL,
			  0, 0);
}

/* Makes room for one more level; false when memory is out. */
static bool level_add(struct untar *untar, const char *name, size_t len)
{
	struct level *level;

	if (untar->depth + 1 >= untar->room) {
		size_t room = 2 * untar->room;

		level = realloc(untar->levels, room * sizeof(*level));
		if (!level)
			return false;
		memset(level + untar->room, 0,
		       (room - untar->room) * sizeof(*level));
		untar->levels = level;
		untar->room = room;
	}
	level = &untar->levels[untar->depth + 1];
	free(level->name);
	level->name = malloc(len);
	if (!level->name)
		return false;
	memcpy(level->name, name, len);
	level->len = len;
	level->told = false;
	untar->depth++;
	return true;
}

static int enter(struct untar *untar, const char *name, size_t len)
{
	struct record record = {
		.type = RECORD_DIR,
		.dir = (uint32_t)untar->depth,
		.id = (uint32_t)untar->depth + 1,
		.name = name,
		.name_len = (uint16_t)len,
	};

	if (!level_add(untar, name, len)) {
		untar_no_memory(untar);
		return 0;
	}
	return untar_emit(untar, &record);
}

/* How many of the path's first `count` components the stream is in. */
static size_t in_common(const struct untar *untar, size_t count)
{
	size_t n = 0, len;

	while (n < count && n < untar->depth) {
		const struct level *level = &untar->levels[n + 1];
		const char *name = parts_get(&untar->path, n, &len);

		if (len != level->len || memcmp(name, level->name, len) != 0)
			break;
		n++;
	}
	return n;
}

int untar_go(struct untar *untar, size_t count)
{
	size_t common = in_common(untar, count), len;

	for (; untar->depth > common; untar->depth--)
		if (leave(untar) != 0)
			return -1;
	while (untar->depth < count && !untar->broken) {
		const char *name = parts_get(&untar->path, untar->depth, &len);

		if (enter(untar, name, len) != 0)
			return -1;
	}
	return 0;
}

void untar_tell_directory(struct untar *untar)
{
	struct level *level = &untar->levels[untar->depth];
	struct attributes spare = level->attributes;

	level->told = true;
	level->meta = untar->meta;
	level->attributes = untar->attributes;
	untar->attributes = spare;
}

int untar_leave_all(struct untar *untar)
{
	if (untar_go(untar, 0) != 0)
		return -1;
	return leave(untar);
}

void levels_destroy(struct untar *untar)
{
	for (size_t i = 0; i < untar->room; i++) {
		free(untar->levels[i].name);
		free(untar->levels[i].attributes.records);
	}
	free(untar->levels);
}
