/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * twin: the directories of one tree, entered and left beside the walk of another.
 *
 * Each is opened relative to the one above and never through a symlink.  When
 * descriptors run short, outer ones are closed and found again by `..`, else from
 * the top, compared by device and inode; as in walk.  Used by one thread.
 */
#ifndef TARPIPE_TWIN_H
#define TARPIPE_TWIN_H

#include <stdbool.h>
#include <sys/stat.h>

struct twin;

/*
 * Begins in the directory `top`, which is borrowed; `fds` may be open at one time, at
 * least 2.  NULL with errno ENOMEM.
 */
struct twin *twin_new(int top, unsigned fds);
void twin_free(struct twin *twin);

/* The directory at hand, or -1 when there is none (see the next). */
int twin_fd(const struct twin *twin);

/*
 * Enters the directory `name` of the one at hand; fills *st.  Returns 0, or -1 with
 * errno; also then something was entered that has to be left: nothing, with descriptor
 * -1.
 */
int twin_enter(struct twin *twin, const char *name, struct stat *st);

/* Enters nothing. */
void twin_enter_nothing(struct twin *twin);

/*
 * Leaves it.  0, or -1 with errno when the one above can't be found again: then that is
 * nothing from now on.
 */
int twin_leave(struct twin *twin);

/* For reading names: O_NOATIME where it is allowed; never blocks.  -1 with errno. */
int twin_open(int dir, const char *name, int flags);

#endif
