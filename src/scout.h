/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scout: a directory that is opened and read before the walk comes there.
 *
 * Scouts of one directory's own form a list in the order in which the walk will come to
 * them; once one is done, those of its own directories may follow, and so on.  They are
 * the walk's; a crew does them.
 */
#ifndef TARPIPE_SCOUT_H
#define TARPIPE_SCOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "crew.h"
#include "dirlist.h"
#include "mounts.h"

/* A directory that was opened, or why not. */
struct scout_found {
	int fd, err;		/* -1: errno of opening it, or of fstat */
	bool opened;		/* ... which of the two */
	bool beyond;		/* not opened: it is on another file system, and `st` is
				   what there is to be seen of it, unless `err` */
	uint64_t mount;		/* ... by which it is there */
	struct stat st;
};

struct scout {
	struct task task;	/* first: tasks are scouts */
	struct scout *next;	/* the one beside it that comes later */
	size_t place;		/* of it, in the list of its parent */

	int parent;		/* descriptor; not closed before the task is over */
	char *name;		/* owned */
	int extra;		/* flags to open it with */
	const struct mount_place *top;	/* borrowed; NULL, or as for scout_look */

	struct scout_found found;
	struct dirlist list;	/* sorted when it is all */
	bool more;		/* there may be: read on */
	int list_err;		/* errno of reading it */

	struct scout *below;	/* of its own directories */
	size_t directories;	/* the first of these, in list.places */
};

/* NULL when memory ran out. */
struct scout *scout_new(int parent, const char *name, int extra, size_t place);

/* Closes what is open in it.  Its task and those below it are over, or not begun. */
void scout_free(struct scout *scout);

/*
 * Opens and looks at a directory; `extra` may say O_NOFOLLOW, and O_NOATIME, done without
 * where that is refused.  With `top`, one that is not where that is isn't touched.
 */
void scout_look(struct scout_found *found, const struct mount_place *top,
		int parent, const char *name, int extra);

/* Flags for opening what is in a directory: O_NOATIME is for owners, and who may act as one. */
int scout_noatime(const struct stat *st);

#endif
