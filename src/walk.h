/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk: goes through a tree and names what it finds, one item at a time.
 *
 * Everything is opened relative to a held directory and never through a symlink,
 * so that nobody who renames things meanwhile can lead it outside.  A directory's
 * names are read whole and come in the order of their inodes, directories last,
 * so that a disk is read forwards and a directory is not left and entered again.
 * A stack of frames on the heap bounds the depth by memory alone; when descriptors
 * run short, outer directories are closed and found again by `..`, compared by
 * device and inode.
 *
 * What can't be read is told by diag and left out.  Used by one thread.
 */
#ifndef TARPIPE_WALK_H
#define TARPIPE_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum walk_event {
	WALK_END,		/* the root is done */
	WALK_ENTRY,		/* a name that is no directory */
	WALK_ENTER,		/* a directory; what follows up to its LEAVE is in it */
	WALK_LEAVE,		/* all of it has come */
};

/* One item.  Valid until the next call. */
struct walk_item {
	enum walk_event event;
	uint32_t dir;		/* id of the directory it is in */
	uint32_t id;		/* ENTER, LEAVE: its own id */
	const char *name;	/* its last component, at the source */
	const char *as;		/* ... and at the destination */
	int parent;		/* descriptor of the directory that holds it */
	int fd;			/* ENTER, LEAVE: of the directory itself; -1:
				   it can't be opened */
	unsigned char type;	/* ENTRY: DT_*, as the directory said */
	bool mine;		/* ENTRY: O_NOATIME is likely to be allowed */
	struct stat st;		/* ENTER, LEAVE: as it was when it was opened */
};

struct walk_config {
	unsigned fds;		/* directories held open at one time; at least 3 */
	bool avoid;		/* leave out the directory with the next two */
	dev_t avoid_dev;
	ino_t avoid_ino;
};

struct walk;

struct walk *walk_new(const struct walk_config *config);
void walk_free(struct walk *walk);

/*
 * Begins with a root: `path` as the user gave it.  With `as`, it becomes an entry
 * of that name in the directory 0, and a symlink stays one unless `follow`;
 * without, it is a directory whose contents go there: its ENTER has id 0.  The strings
 * are borrowed until the next call of this.
 */
void walk_begin(struct walk *walk, const char *path, const char *as,
	       bool follow);

/* The next item; WALK_END for ever after the last. */
void walk_next(struct walk *walk, struct walk_item *item);

/* The item is of no use (its directory could not be packed): leave what is in it. */
void walk_skip(struct walk *walk);

/*
 * The path of the last item, or of a name beside it, for messages.  Valid until
 * the next call.
 */
const char *walk_path(struct walk *walk);

#endif
