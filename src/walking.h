/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walking: what the rooms of the walk (walk.c, walkdir.c, walkscout.c) share, and nobody
 * else.
 *
 * The stack of the directories that have been entered: walkdir.c opens, reads and
 * leaves them and finds them again, walk.c says what comes, walkscout.c has those that
 * will come opened and read ahead.
 */
#ifndef TARPIPE_WALKING_H
#define TARPIPE_WALKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "dirlist.h"
#include "mounts.h"
#include "route.h"
#include "scout.h"
#include "walk.h"

/* In a name's first byte: what `wanted` said, if it was asked ahead. */
enum {
	PLACE_WANTED = 0x20,
	PLACE_UNWANTED = 0x40,
	PLACE_ASKED = PLACE_WANTED | PLACE_UNWANTED,
};

/* A directory that has been entered and not left. */
struct frame {
	int fd;			/* -1: closed to save a descriptor, or unreadable */
	bool readable;
	bool way;		/* nothing of it is listed: what comes is in the list */
	bool mount, unasked;	/* as the item says */
	struct stat st;
	size_t name;		/* where its name lies, in the names below it */
	size_t names_start;	/* its entries' names and places begin here */
	size_t first, next, end;	/* ... in `list.places` */
	struct scout *scouts;	/* of its directories, in order */
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

	struct dirlist list;	/* a stack: every frame's entries */

	struct crew *crew;	/* NULL: nothing is done ahead */
	unsigned scouts_most;
	unsigned scouts;	/* that there are */
	struct scout *scouted;	/* of the directory that is about to be entered */

	struct route route;	/* names of a list, if there is one */

	struct timespec began;	/* not before anything that has a time by then */

	struct mount_place top;	/* with `stay`: where the root is; it goes nowhere else */
	bool top_known;
	struct mounts *mounts;	/* what was mounted when the root began, or NULL */

	const char *current;	/* last component of the last item */
	bool inside;		/* the last item was a directory: its path is the stack's */
	bool leaving;		/* ... its LEAVE: it is popped at the next call */
	char *path;
	size_t path_room;
	char *entries;		/* for getdents64 */
};

/* The last component of a frame's path; of the root what the user gave. */
const char *frame_name(const struct walk *walk, size_t i);

/* Closes its descriptor, if it has one; what is under way in it ends before. */
void frame_close(struct walk *walk, struct frame *frame);

/* Reads all its names behind those that are there, in the order they are to come. */
void frame_read(struct walk *walk, struct frame *frame);

/*
 * Pushes a directory; `name` lies in the list (or is the root's).  With `way`, nothing of
 * it is read.  `walk->scouted` is used up.  Returns false when there is nothing to
 * enter: told.
 */
bool stack_enter(struct walk *walk, int parent, const char *name, size_t name_at,
		 int extra, bool way);

/* Pops the top directory.  Its descriptor helps to find the parent again. */
void stack_leave(struct walk *walk);

/* Closes the outermost directory that can be found again, when descriptors run short. */
void stack_save_descriptor(struct walk *walk);

/* The name is `current`, and nothing of it is open. */
bool walk_is_wanted(struct walk *walk, bool directory);

/* ---- walkmount.c: where the root's file system ends ---- */

/* The root is about to be opened: it is where it is.  Then it has been. */
void top_forget(struct walk *walk);
void top_begin(struct walk *walk);

/* As scout_look wants it. */
const struct mount_place *walk_top(const struct walk *walk);

/*
 * A directory that is beyond is about to become a frame: fills it with what there is to
 * be known of it.  Returns false when there is nothing to enter: told.
 */
bool frame_stop(struct walk *walk, struct frame *frame,
		const struct scout_found *found, int parent, const char *name);

/*
 * The name, which is `current` and no directory, is to come.  Told when something else is
 * mounted over it; false when it is left out.
 */
bool entry_stays(struct walk *walk, int parent, const char *name);

/* ---- walkscout.c ---- */

/* What a scout has found at that place, taken off the frame's; NULL: nothing of use. */
struct scout *scouts_take(struct walk *walk, struct frame *frame, size_t place);

/* Frees one that was taken; there is nothing below any more. */
void scouts_drop(struct walk *walk, struct scout *scout);

/*
 * Ends and frees all of a list.  Returns false when the run was stopped and one of them
 * is still at work: then it is left as it is.
 */
bool scouts_end(struct walk *walk, struct scout **list);

#endif
