/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirlist: names that were read from directories, a stack of them.
 *
 * Starts zeroed; belongs to one thread at a time.
 */
#ifndef TARPIPE_DIRLIST_H
#define TARPIPE_DIRLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIRLIST_BUFFER = 64 << 10 };	/* bytes that the kernel is offered at one time */

/* An entry that was read and not yet given out. */
struct place {
	uint64_t ino;
	size_t name;		/* in `names`: a byte, then the name */
};

enum { DIRLIST_TYPE = 0x1f };	/* of that byte: DT_*; the rest is the user's, 0 at first */

struct dirlist {
	char *names;
	size_t names_len, names_room;
	struct place *places;
	size_t places_len, places_room;
};

/* Pushes a name and its type on `names` alone.  Returns false when memory ran out. */
bool dirlist_push(struct dirlist *list, const char *name, unsigned char type);

/*
 * Pushes what the directory says, by a buffer of DIRLIST_BUFFER bytes; `once`: what it
 * says at one time.  Returns 1 when there may be more, 0 at the end, or -1 with errno;
 * what came before that stays.
 */
int dirlist_read(struct dirlist *list, int fd, void *buffer, bool once);

/* Pushes what another one has. */
bool dirlist_add(struct dirlist *list, const struct dirlist *other);

/* Sorts the places from `first` on: by inode, directories last. */
void dirlist_sort(struct dirlist *list, size_t first);

/* Where the directories begin in places that were sorted. */
size_t dirlist_directories(const struct dirlist *list, size_t first,
			   size_t end);

void dirlist_free(struct dirlist *list);

/* Makes room for `need` elements, doubling; NULL when memory ran out. */
void *dirlist_grown(void *array, size_t *room, size_t need, size_t element);

#endif
