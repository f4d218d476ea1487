/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links: the names of one inode, on the side that walks.
 *
 * A table of the inodes with several names whose names have not all been met.  An
 * entry goes when the last name has come, so memory follows what is open, not
 * what there is.  Names outside the tree never come: such entries stay.
 *
 * A stream that names the first name by its path has it kept with the entry.
 *
 * Used by the packing thread alone.
 */
#ifndef TARPIPE_LINKS_H
#define TARPIPE_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct links;

/* Makes an empty table; NULL with errno ENOMEM. */
struct links *links_new(void);
void links_free(struct links *links);

/*
 * Names may come more than once, so that counting them doesn't tell when all have come:
 * no entry goes for that.  To be said before the first.
 */
void links_again(struct links *links);

/* What links_meet found. */
struct link {
	uint32_t id;		/* of the inode, from 1; used again after the last */
	bool first;		/* no name of it was met before */
	bool changed;		/* ... under this number another file was */
	bool last;		/* no further one is expected */
	const char *path;	/* what links_name said of the first, or NULL; valid
				   until the next call */
};

/*
 * Tells that a name of the inode (dev, ino) was met, whose link count is `nlink` (2 or
 * more).  `mark` stands for what the inode is (type, size, mtime): another one than
 * before, and its number was used again for a file that nobody has seen.  Returns
 * 0, or -1 with errno ENOMEM.
 */
int links_meet(struct links *links, dev_t dev, ino_t ino, nlink_t nlink,
	       uint32_t mark, struct link *link);

/*
 * Keeps a path with the inode whose first name has just been met.  Returns 0, or -1
 * with errno ENOMEM.
 */
int links_name(struct links *links, uint32_t id, const char *path);

/* The inode could not be packed: its next name is a first one again. */
void links_forget(struct links *links, dev_t dev, ino_t ino);

/* How many inodes are open, for tests. */
size_t links_open(const struct links *links);

#endif
