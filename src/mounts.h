/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mounts: what is mounted where, found out without touching it.
 *
 * Behind a mount point there may be a server that is gone: who stats, opens or lists it
 * waits for ever.  The calls here ask the kernel alone, and mount nothing that is mounted
 * when it is first needed (autofs).
 */
#ifndef TARPIPE_MOUNTS_H
#define TARPIPE_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Where a name is. */
struct mount_place {
	uint64_t mount;		/* id of the mount; 0: the kernel can't tell (before 5.8) */
	dev_t dev;
	bool automount;		/* something is mounted on it when it is entered */
};

/*
 * Looks at a name below `dir`, or at `dir` itself when it is ""; `flags`: of statx, 0 or
 * AT_SYMLINK_NOFOLLOW.  0, or -1 with errno.
 */
int mount_look(int dir, const char *name, int flags, struct mount_place *place);

/* Who stays where he began, at `top`, does not go there. */
bool mount_crosses(const struct mount_place *top,
		   const struct mount_place *place);

/*
 * As fstatat with AT_SYMLINK_NOFOLLOW: the root of what is mounted there, as the kernel
 * remembers it; nobody else is asked.
 */
int mount_stat(int dir, const char *name, struct stat *st);

/*
 * The same of what is below all that is mounted there.  -1 with errno EPERM for who may
 * not mount.
 */
int mount_stat_covered(int dir, const char *name, struct stat *st);

/* ---- the table: all mounts there are, as they were when it was read ---- */

struct mounts;

/* NULL with errno. */
struct mounts *mounts_read(void);
void mounts_free(struct mounts *mounts);

enum mount_kind {
	MOUNT_UNKNOWN,		/* it is not in the table */
	MOUNT_LOCAL,
	MOUNT_SERVED,		/* a server answers: FUSE, network file systems */
	MOUNT_AUTOFS,		/* whose directories are mounted on when they are entered */
};

enum mount_kind mounts_kind(const struct mounts *mounts, uint64_t mount);

/* Is there a mount point with this last component? */
bool mounts_has_name(const struct mounts *mounts, const char *name);

/*
 * The directory that takes what is written to it, when it is an overlay; NULL: none.
 * Borrowed.
 */
const char *mounts_upper(const struct mounts *mounts, uint64_t mount);

#endif
