/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * newfile: a file that is written beside its name and gets it when it is complete.
 *
 * Until then it has no name at all where the file system can do that, else a temporary
 * one (see temp.h).  What the name stood for before is untouched until then.  Tells
 * nothing; used by one thread.
 */
#ifndef TARPIPE_NEWFILE_H
#define TARPIPE_NEWFILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "temp.h"

struct newfile {
	int dir;		/* of its directory; -1: there is no newfile */
	int fd;			/* to write to: the caller's, who closes it */
	int hold;		/* a duplicate, which keeps the lock (see temp.h) */
	char *name;		/* in that directory, at last */
	char temp[TEMP_NAME_SIZE];
	bool named;		/* `temp` is there */
	bool replaces;		/* there was a file of that name: */
	struct stat old;
};

/*
 * Begins one for `path`, whose last component may be a symlink: then for what it points
 * to.  It gets the mode, the owner and the ACL of a file that it replaces, as far as may be,
 * and lets nobody in who was kept out; else mode 0666 less the umask.  Returns 0, or -1 with errno (EISDIR; EEXIST: there is something
 * that is no file).
 */
int newfile_open(struct newfile *file, const char *path);

/*
 * Gives it its name; what that stood for before is gone.  `fd` is closed by then, so that
 * it is known to be whole.  0, or -1 with errno.
 */
int newfile_name(struct newfile *file);

/*
 * Somebody else made the file `st`: was it under this name, where there was none?  Then
 * it is removed.
 */
bool newfile_unmake(const struct newfile *file, const struct stat *st);

/* Removes what has no name yet, and ends it.  Does nothing when there is none. */
void newfile_drop(struct newfile *file);

#endif
