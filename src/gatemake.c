/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate: making a directory, or taking the one that is there. */
#include "gating.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "diag.h"
#include "sync.h"

void dir_tell(struct gate *gate, const struct dir *dir, int err,
		 const char *what)
{
	char *path;

	/* The run stops there, and of several workers one tells why. */
	if (err == ENOSPC && count_add(&gate->full, 1) > 1) {
		errno = err;
		return;
	}
	path = gate_path(gate, dir, NULL);
	diag_fail(err == ENOSPC ? STATUS_STOPPED : STATUS_PARTIAL,
		  path ? path : dir->name, err, "%s", what);
	free(path);
	errno = err;
}

/* ---- what it is ---- */

static bool has_default_acl(int fd)
{
	return fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
}

void dir_facts_from(struct dir *dir, const struct stat *st, bool existed)
{
	dir->facts = (struct dir_facts){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.atime = st->st_atim,
		.mtime = st->st_mtim,
		.existed = existed,
	};
	/* New files get the caller's group, unless directory or mount say else. */
	if (!existed && !(st->st_mode & S_ISGID) &&
	    st->st_gid == privileges_get()->gid)
		dir->group = st->st_gid;
	else if (st->st_mode & S_ISGID)
		dir->group = st->st_gid;
}

/* One's own directory without rwx: give it for as long as it takes. */
static int open_up(struct dir *dir, int fd)
{
	const struct privileges *who = privileges_get();

	if ((dir->facts.mode & 0700) == 0700 || who->dac ||
	    dir->facts.uid != who->uid)
		return 0;
	dir->facts.opened = true;
	return fchmod(fd, dir->facts.mode | 0700);
}

int dir_take_existing(struct dir *dir, int fd, bool widen)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	dir_facts_from(dir, &st, true);
	dir->sweep = SWEEP_DUE;
	dir->inherits = has_default_acl(fd);
	return widen ? open_up(dir, fd) : 0;
}

int dir_remove_acls(int fd)
{
	const struct xattr_source at = { .fd = fd };

	if (xattr_remove(&at, "system.posix_acl_default") != 0)
		return -1;
	return xattr_remove(&at, "system.posix_acl_access");
}

/* ---- making ---- */

/* mkdirat gave a new directory; nobody else knows it, but names can be swapped. */
static int open_new(struct gate *gate, struct dir *dir, int parent)
{
	int fd = openat(parent, dir->name, OPEN_FLAGS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		dir_tell(gate, dir, errno, "opening the new directory");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	dir_facts_from(dir, &st, false);
	if (dir->parent->inherits && dir_remove_acls(fd) != 0)
		dir_tell(gate, dir, errno, "removing an inherited ACL");
	return fd;
}

/* The earlier entry of the stream that was this directory, if its work goes on. */
static const struct dir *find_earlier(const struct gate *gate,
				      const struct dir *dir,
				      const struct stat *st)
{
	for (const struct dir *other = gate->all; other; other = other->next)
		if (other->ended != 0 && other->ended < dir->added &&
		    !other->done && other->state == DIR_READY &&
		    other->facts.dev == st->st_dev &&
		    other->facts.ino == st->st_ino)
			return other;
	return NULL;
}

/*
 * The stream was in this directory before and has left it: waits until its metadata
 * are set, which are then what is read and put back.
 *
 * It can't be waited for in vain.  What that directory still needs are entries that
 * the stream had before its end, thus before this one; they are in earlier batches
 * or were done earlier in this one, and wait for still earlier ones only.  A directory
 * that had not ended when this one was added is not waited for: it may be one
 * above this one (by a symlink that was followed), whose end comes later.
 */
static void wait_for_earlier(struct gate *gate, const struct dir *dir, int fd)
{
	struct stat st;

	if (!gate->config.ordered || fstat(fd, &st) != 0)
		return;
	lock_take(&gate->lock);
	while (find_earlier(gate, dir, &st))
		lock_wait(&gate->lock);
	lock_give(&gate->lock);
}

/* One's own directory that one may not even read: through a handle on its name. */
static int open_closed(struct gate *gate, struct dir *dir, int parent)
{
	int handle = openat(parent, dir->name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct privileges *who = privileges_get();
	char link[32];
	struct stat st;
	int fd = -1;

	if (handle < 0)
		return -1;
	wait_for_earlier(gate, dir, handle);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	if (fstat(handle, &st) == 0 && st.st_uid == who->uid &&
	    fchmodat(AT_FDCWD, link, (st.st_mode & 07777) | 0700, 0) == 0) {
		fd = openat(handle, ".", OPEN_FLAGS);	/* not another of its name */
		if (fd >= 0) {
			dir_facts_from(dir, &st, true);
			dir->facts.opened = true;
			dir->sweep = SWEEP_DUE;
			dir->inherits = has_default_acl(fd);
		}
	} else {
		errno = EACCES;
	}
	close(handle);
	return fd;
}

static int open_existing(struct gate *gate, struct dir *dir, int parent,
			 int flags)
{
	int fd = openat(parent, dir->name, flags);

	if (fd >= 0)
		wait_for_earlier(gate, dir, fd);
	if (fd < 0 && errno == EACCES)
		fd = open_closed(gate, dir, parent);
	else if (fd >= 0 && dir_take_existing(dir, fd, true) != 0) {
		dir_tell(gate, dir, errno, "taking the directory that is there");
		close(fd);
		return -1;
	}
	if (fd < 0)
		dir_tell(gate, dir, errno, "opening the directory that is there");
	return fd;
}

/* Something else has the name: make room, unless it is to stay. */
static int replace_other(struct gate *gate, struct dir *dir, int parent)
{
	if (gate->config.keep) {
		dir_tell(gate, dir, ENOTDIR, "kept, and what belongs in it left out");
		return -1;
	}
	if (unlinkat(parent, dir->name, 0) != 0) {
		dir_tell(gate, dir, errno, "unlinkat");
		return -1;
	}
	if (mkdirat(parent, dir->name, 0700) != 0) {
		dir_tell(gate, dir, errno, "mkdirat");
		return -1;
	}
	return open_new(gate, dir, parent);
}

/* The name is taken: by a directory, a symlink to one, or something else. */
static int open_taken(struct gate *gate, struct dir *dir, int parent)
{
	struct stat st;

	if (fstatat(parent, dir->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		dir_tell(gate, dir, errno, "fstatat");
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return open_existing(gate, dir, parent, OPEN_FLAGS);
	if (S_ISLNK(st.st_mode) &&
	    fstatat(parent, dir->name, &st, 0) == 0 && S_ISDIR(st.st_mode)) {
		dir->linked = gate->config.keep_dirlink;
		if (dir->linked)
			return open_existing(gate, dir, parent,
					     OPEN_FLAGS & ~O_NOFOLLOW);
		dir_tell(gate, dir, 0, "is a symbolic link to a directory: neither "
				   "followed nor replaced, what belongs in it "
				   "is left out");
		return -1;
	}
	return replace_other(gate, dir, parent);
}

static int make(struct gate *gate, struct dir *dir, int parent)
{
	if (gate_check(dir->name) != 0) {
		dir_tell(gate, dir, 0, "refused: no name of an entry");
		return -1;
	}
	if (mkdirat(parent, dir->name, 0700) == 0)
		return open_new(gate, dir, parent);
	if (errno == EEXIST)
		return open_taken(gate, dir, parent);
	dir_tell(gate, dir, errno, "mkdirat");
	return -1;
}

/* A stream, or a list, that goes to and fro must not read a directory at every turn. */
static void sweep_once(struct gate *gate, struct dir *dir)
{
	struct seen *seen = &gate->seen[dir->facts.ino % GATE_SEEN];

	if (seen->dev == dir->facts.dev && seen->ino == dir->facts.ino)
		dir->sweep = SWEEP_DONE;
	seen->dev = dir->facts.dev;
	seen->ino = dir->facts.ino;
}

/* Another file system is mounted on a directory that was there. */
static void meet_mounted(struct gate *gate, struct dir *dir, int fd)
{
	if (gate->config.syncs && dir->facts.dev != dir->parent->facts.dev &&
	    syncs_meet(gate->config.syncs, fd, dir->facts.dev) != 0)
		dir_tell(gate, dir, errno, "opening its file system, to sync it");
}

int gate_make(struct gate *gate, struct dir *dir, bool cancelled)
{
	int fd = -1, err = 0;

	/* The caller has entered the parent, so its descriptor stays. */
	if (!cancelled && dir->parent->state == DIR_READY) {
		fd = make(gate, dir, dir->parent->fd);
		err = fd < 0 ? errno : 0;
	}
	if (fd >= 0)
		meet_mounted(gate, dir, fd);
	lock_take(&gate->lock);
	dir->state = fd >= 0 ? DIR_READY : DIR_LEFT_OUT;
	if (fd >= 0) {
		sweep_once(gate, dir);
		dir_set_fd(gate, dir, fd);
		dir_queue(gate, dir);
	}
	lock_notify(&gate->lock);
	lock_give(&gate->lock);
	errno = err;
	return fd >= 0 ? 0 : -1;
}
