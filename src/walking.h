/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walking: what the rooms of the walk (walk.c, walkdir.c) share, and nobody else.
 *
 * The stack of the directories that have been entered: walkdir.c opens, reads and
 * leaves them and finds them again, walk.c says what comes.
 */
#ifndef TARPIPE_WALKING_H
#define TARPIPE_WALKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "route.h"
#include "walk.h"

enum { ENTRIES_SIZE = 64 << 10 };

/* A directory that has been entered and not left. */
struct frame {
	int fd;			/* -1: closed to save a descriptor, or unreadable */
	bool readable;
	bool way;		/* nothing of it is listed: what comes is in the list */
	struct stat st;
	size_t name;		/* where its name lies, in the names below it */
	size_t names_start;	/* its entries' names and places begin here */
	size_t first, next, end;	/* ... in `places` */
};

/* An entry that was read and not yet given out. */
struct place {
	uint64_t ino;
	size_t name;		/* in `names`: a DT_* byte, then the name */
};

struct walk {
	struct walk_config config;

	const char *root_path;
	const char *root_as;
	int root_parent;	/* what the root's name is relative to */
	bool root_given;	/* the root itself has come */
	bool root_follow;
	size_t strip;		/* ids begin behind so many; below directory 0 */

	struct frame *frames;	/* the stack; [0] is the root, when a directory */
	size_t depth, frames_room;
	size_t lowest;		/* frames below it, but for [0], are closed */

	char *names;		/* a stack of bytes: every frame's names */
	size_t names_len, names_room;
	struct place *places;
	size_t places_len, places_room;

	struct route route;	/* names of a list, if there is one */

	const char *current;	/* last component of the last item */
	bool inside;		/* the last item was a directory: its path is the stack's */
	bool leaving;		/* ... its LEAVE: it is popped at the next call */
	char *path;
	size_t path_room;
	char *entries;		/* for getdents64 */
};

/* The last component of a frame's path; of the root what the user gave. */
const char *frame_name(const struct walk *walk, size_t i);

/* Closes its descriptor, if it has one. */
void frame_close(struct frame *frame);

/* Reads all its names behind those that are there, in the order they are to come. */
void frame_read(struct walk *walk, struct frame *frame);

/* Pushes a name and its type on `names`.  Returns false when memory ran out. */
bool names_push(struct walk *walk, const char *name, unsigned char type);

/*
 * Pushes a directory; `name` lies in `names` (or is the root's).  With `way`, nothing of
 * it is read.  Returns false when there is nothing to enter: told.
 */
bool stack_enter(struct walk *walk, int parent, const char *name, size_t name_at,
		 int extra, bool way);

/* Pops the top directory.  Its descriptor helps to find the parent again. */
void stack_leave(struct walk *walk);

/* Closes the outermost directory that can be found again, when descriptors run short. */
void stack_save_descriptor(struct walk *walk);

/* O_NOATIME is for owners, and who may act as one. */
int noatime(const struct stat *st);

#endif
