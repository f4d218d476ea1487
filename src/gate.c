/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who keeps a directory alive
 *
 *   holds  work that is still to come in it: one for the stream while it is in it,
 *          one for each run of entries that a worker has, one for each directory
 *          below it that is not done.  At 0 its own metadata are due.
 *   refs   memory: one while there are holds, one for each directory below it that
 *          exists, one for each pin.  At 0 it is freed.
 *   users  threads between enter and exit: its descriptor stays.
 *
 * Descriptors of directories that nobody uses are closed, the longest unused first,
 * when there are more than the budget allows.
 */
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "diag.h"
#include "thread.h"

enum state { DIR_NEW, DIR_READY, DIR_LEFT_OUT };
enum sweep { SWEEP_DONE, SWEEP_DUE, SWEEP_RUNNING };

struct dir {
	struct dir *parent;		/* NULL: the destination directory */
	struct dir *next, **link;	/* all that exist */
	struct dir *newer, *older;	/* open and unused, by age */
	struct dir *down;		/* scratch: the way down, while reopening */
	unsigned holds, refs, users;
	int fd;				/* -1: closed */
	enum state state;
	bool queued;			/* it is in the list of the unused */
	bool streaming;			/* the stream is in it (one of the holds) */
	enum sweep sweep;		/* of old temporary names */
	bool inherits;
	bool linked;			/* its name is a symlink that was followed */
	bool has_final;
	int64_t group;			/* of new files; -1: not known */
	struct dir_facts facts;
	struct meta final;
	char name[];
};

struct gate {
	struct gate_config config;
	struct lock lock;
	struct dir *root;
	struct dir *all;
	struct dir *newest, *oldest;	/* unused ones */
	unsigned open;
};

static const int open_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/* ---- memory ---- */

static struct dir *dir_new(struct gate *gate, struct dir *parent,
			   const char *name, size_t len)
{
	struct dir *dir = calloc(1, sizeof(*dir) + len + 1);

	if (!dir)
		return NULL;
	memcpy(dir->name, name, len);
	dir->fd = -1;
	dir->group = -1;
	dir->holds = dir->refs = 1;
	dir->streaming = true;
	dir->parent = parent;
	if (parent) {
		parent->holds++;
		parent->refs++;
	}
	dir->next = gate->all;
	dir->link = &gate->all;
	if (dir->next)
		dir->next->link = &dir->next;
	gate->all = dir;
	return dir;
}

static void unqueue(struct gate *gate, struct dir *dir)
{
	if (!dir->queued)
		return;
	*(dir->newer ? &dir->newer->older : &gate->newest) = dir->older;
	*(dir->older ? &dir->older->newer : &gate->oldest) = dir->newer;
	dir->newer = dir->older = NULL;
	dir->queued = false;
}

static void queue(struct gate *gate, struct dir *dir)
{
	dir->older = gate->newest;
	*(dir->older ? &dir->older->newer : &gate->oldest) = dir;
	gate->newest = dir;
	dir->queued = true;
}

static void dir_close(struct gate *gate, struct dir *dir)
{
	unqueue(gate, dir);
	if (dir->fd < 0)
		return;
	if (dir != gate->root)
		close(dir->fd);		/* read-only: nothing to lose */
	dir->fd = -1;
	gate->open--;
}

static void dir_set_fd(struct gate *gate, struct dir *dir, int fd)
{
	dir->fd = fd;
	gate->open++;
	while (gate->open > gate->config.fds && gate->oldest)
		dir_close(gate, gate->oldest);
}

/* Drops references upwards, without recursion. */
static void dir_unref(struct gate *gate, struct dir *dir)
{
	while (dir && --dir->refs == 0) {
		struct dir *parent = dir->parent;

		dir_close(gate, dir);
		*dir->link = dir->next;
		if (dir->next)
			dir->next->link = dir->link;
		free(dir);
		dir = parent;
	}
}

/* ---- the gate ---- */

static bool has_default_acl(int fd)
{
	return fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
}

static void facts_from(struct dir *dir, const struct stat *st, bool existed)
{
	dir->facts = (struct dir_facts){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
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

static int take_existing(struct dir *dir, int fd, bool widen)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	facts_from(dir, &st, true);
	dir->sweep = SWEEP_DUE;
	dir->inherits = has_default_acl(fd);
	return widen ? open_up(dir, fd) : 0;
}

static int remove_acls(int fd)
{
	const struct xattr_source at = { .fd = fd };

	if (xattr_remove(&at, "system.posix_acl_default") != 0)
		return -1;
	return xattr_remove(&at, "system.posix_acl_access");
}

static int take_root(struct dir *root, const struct gate_config *config)
{
	struct stat st;

	if (!config->fresh)
		return take_existing(root, config->root, config->widen);
	if (fstat(config->root, &st) != 0 || remove_acls(config->root) != 0)
		return -1;
	facts_from(root, &st, false);
	return 0;
}

struct gate *gate_new(const struct gate_config *config)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	if (!gate)
		return NULL;
	gate->config = *config;
	lock_init(&gate->lock);
	gate->root = dir_new(gate, NULL, "", 0);
	if (!gate->root || take_root(gate->root, config) != 0) {
		gate_free(gate);
		return NULL;
	}
	gate->root->state = DIR_READY;
	gate->root->users = 1;		/* never closed */
	dir_set_fd(gate, gate->root, config->root);
	return gate;
}

static int reopen(const struct dir *dir, int from, const char *name)
{
	int fd = openat(from, name, dir->linked ? open_flags & ~O_NOFOLLOW :
						  open_flags);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == dir->facts.dev &&
	    st.st_ino == dir->facts.ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* Down from the nearest open directory above.  Under the lock. */
static int reopen_from_above(struct dir *dir)
{
	struct dir *at = dir;
	int fd, next;

	dir->down = NULL;
	for (; at->fd < 0; at = at->parent)
		at->parent->down = at;
	fd = at->fd;
	while (at != dir) {
		next = reopen(at->down, fd, at->down->name);
		if (at->fd != fd)
			close(fd);
		if (next < 0)
			return -1;
		fd = next;
		at = at->down;
	}
	return fd;
}

void gate_put_back(struct gate *gate)
{
	for (struct dir *dir = gate->all; dir; dir = dir->next) {
		int fd;

		if (!dir->facts.opened)
			continue;
		fd = dir->fd >= 0 ? dir->fd : reopen_from_above(dir);
		if (fd >= 0)
			(void)fchmod(fd, dir->facts.mode);
		if (fd >= 0 && fd != dir->fd)
			close(fd);
	}
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	while (gate->all) {
		struct dir *dir = gate->all;

		dir_close(gate, dir);
		gate->all = dir->next;
		free(dir);
	}
	lock_destroy(&gate->lock);
	free(gate);
}

struct dir *gate_root(struct gate *gate)
{
	return gate->root;
}

struct lock *gate_lock(struct gate *gate)
{
	return &gate->lock;
}

/* ---- the taker ---- */

struct dir *gate_add(struct gate *gate, struct dir *parent, const char *name,
		     size_t name_len)
{
	lock_take(&gate->lock);
	struct dir *dir = dir_new(gate, parent, name, name_len);
	lock_give(&gate->lock);
	return dir;
}

void gate_hold(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->holds++;
	lock_give(&gate->lock);
}

void gate_end(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->holds--;		/* the run with its LEAVE holds it still */
	dir->streaming = false;
	lock_give(&gate->lock);
}

/* ---- names ---- */

int gate_check(const char *name)
{
	if (name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	    strcmp(name, "..") != 0)
		return 0;
	errno = EINVAL;
	return -1;
}

char *gate_path(const struct gate *gate, const struct dir *dir,
		const char *name)
{
	size_t shown = strlen(gate->config.shown);
	size_t len = shown + (name ? strlen(name) + 1 : 0);
	const struct dir *top = dir;
	char *path, *at;

	for (; top->parent; top = top->parent)
		len += strlen(top->name) + 1;
	path = malloc(len + 1);
	if (!path)
		return NULL;
	memcpy(path, gate->config.shown, shown);
	at = path + len;
	*at = '\0';
	if (name) {
		at -= strlen(name);
		memcpy(at, name, strlen(name));
		*--at = '/';
	}
	for (; dir->parent; dir = dir->parent) {
		at -= strlen(dir->name);
		memcpy(at, dir->name, strlen(dir->name));
		*--at = '/';
	}
	return path;
}

/* ---- making a directory ---- */

static void tell(struct gate *gate, const struct dir *dir, int err,
		 const char *what)
{
	char *path = gate_path(gate, dir, NULL);

	diag_fail(err == ENOSPC ? STATUS_STOPPED : STATUS_PARTIAL,
		  path ? path : dir->name, err, "%s", what);
	free(path);
	errno = err;
}

/* mkdirat gave a new directory; nobody else knows it, but names can be swapped. */
static int open_new(struct gate *gate, struct dir *dir, int parent)
{
	int fd = openat(parent, dir->name, open_flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		tell(gate, dir, errno, "opening the new directory");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	facts_from(dir, &st, false);
	if (dir->parent->inherits && remove_acls(fd) != 0)
		tell(gate, dir, errno, "removing an inherited ACL");
	return fd;
}

/* One's own directory that one may not even read: through a handle on its name. */
static int open_closed(struct dir *dir, int parent)
{
	int handle = openat(parent, dir->name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct privileges *who = privileges_get();
	char link[32];
	struct stat st;
	int fd = -1;

	if (handle < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	if (fstat(handle, &st) == 0 && st.st_uid == who->uid &&
	    fchmodat(AT_FDCWD, link, (st.st_mode & 07777) | 0700, 0) == 0) {
		fd = openat(parent, dir->name, open_flags);
		if (fd >= 0) {
			facts_from(dir, &st, true);
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

	if (fd < 0 && errno == EACCES)
		fd = open_closed(dir, parent);
	else if (fd >= 0 && take_existing(dir, fd, true) != 0) {
		tell(gate, dir, errno, "taking the directory that is there");
		close(fd);
		return -1;
	}
	if (fd < 0)
		tell(gate, dir, errno, "opening the directory that is there");
	return fd;
}

/* Something else has the name: make room, unless it is to stay. */
static int replace_other(struct gate *gate, struct dir *dir, int parent)
{
	if (gate->config.keep) {
		tell(gate, dir, ENOTDIR, "kept, and what belongs in it left out");
		return -1;
	}
	if (unlinkat(parent, dir->name, 0) != 0) {
		tell(gate, dir, errno, "unlinkat");
		return -1;
	}
	if (mkdirat(parent, dir->name, 0700) != 0) {
		tell(gate, dir, errno, "mkdirat");
		return -1;
	}
	return open_new(gate, dir, parent);
}

/* The name is taken: by a directory, a symlink to one, or something else. */
static int open_taken(struct gate *gate, struct dir *dir, int parent)
{
	struct stat st;

	if (fstatat(parent, dir->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		tell(gate, dir, errno, "fstatat");
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return open_existing(gate, dir, parent, open_flags);
	if (S_ISLNK(st.st_mode) &&
	    fstatat(parent, dir->name, &st, 0) == 0 && S_ISDIR(st.st_mode)) {
		dir->linked = gate->config.keep_dirlink;
		if (dir->linked)
			return open_existing(gate, dir, parent,
					     open_flags & ~O_NOFOLLOW);
		tell(gate, dir, 0, "is a symbolic link to a directory: neither "
				   "followed nor replaced, what belongs in it "
				   "is left out");
		return -1;
	}
	return replace_other(gate, dir, parent);
}

static int make(struct gate *gate, struct dir *dir, int parent)
{
	if (gate_check(dir->name) != 0) {
		tell(gate, dir, 0, "refused: no name of an entry");
		return -1;
	}
	if (mkdirat(parent, dir->name, 0700) == 0)
		return open_new(gate, dir, parent);
	if (errno == EEXIST)
		return open_taken(gate, dir, parent);
	tell(gate, dir, errno, "mkdirat");
	return -1;
}

int gate_make(struct gate *gate, struct dir *dir, bool cancelled)
{
	int fd = -1, err = 0;

	/* The caller has entered the parent, so its descriptor stays. */
	if (!cancelled && dir->parent->state == DIR_READY) {
		fd = make(gate, dir, dir->parent->fd);
		err = fd < 0 ? errno : 0;
	}
	lock_take(&gate->lock);
	dir->state = fd >= 0 ? DIR_READY : DIR_LEFT_OUT;
	if (fd >= 0) {
		dir_set_fd(gate, dir, fd);
		queue(gate, dir);
	}
	lock_notify(&gate->lock);
	lock_give(&gate->lock);
	errno = err;
	return fd >= 0 ? 0 : -1;
}

/* ---- descriptors ---- */

int gate_enter(struct gate *gate, struct dir *dir)
{
	int fd = -1, err = 0;

	lock_take(&gate->lock);
	while (dir->state == DIR_NEW)
		lock_wait(&gate->lock);
	if (dir->state == DIR_READY && dir->fd < 0) {
		fd = reopen_from_above(dir);
		err = errno;
		if (fd >= 0)
			dir_set_fd(gate, dir, fd);
	}
	if (dir->state == DIR_READY && dir->fd >= 0) {
		unqueue(gate, dir);
		dir->users++;
		fd = dir->fd;
	} else if (dir->state == DIR_READY) {
		dir->state = DIR_LEFT_OUT;	/* told once */
	} else {
		err = 0;
	}
	lock_give(&gate->lock);
	if (fd < 0 && err != 0)
		tell(gate, dir, err, "finding the directory again");
	return fd;
}

void gate_exit(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	if (--dir->users == 0 && dir->fd >= 0) {
		queue(gate, dir);
		while (gate->open > gate->config.fds && gate->oldest)
			dir_close(gate, gate->oldest);
	}
	lock_give(&gate->lock);
}

/* ---- holds ---- */

void gate_settle(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	while (dir->holds > (dir->streaming ? 2 : 1))
		lock_wait(&gate->lock);
	lock_give(&gate->lock);
}

void gate_finally(struct gate *gate, struct dir *dir, const struct meta *meta)
{
	lock_take(&gate->lock);
	dir->final = *meta;
	dir->has_final = true;
	lock_give(&gate->lock);
}

void gate_mode_set(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->facts.opened = false;
	lock_give(&gate->lock);
}

const struct meta *gate_final(const struct dir *dir)
{
	return dir->has_final ? &dir->final : NULL;
}

bool gate_drop(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	bool last = --dir->holds == 0;
	lock_notify(&gate->lock);
	lock_give(&gate->lock);
	return last;
}

struct dir *gate_done(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	struct dir *parent = dir->parent;

	/* The way back, before the descriptor that shows it is gone. */
	if (parent && parent->fd < 0 && parent->state == DIR_READY &&
	    dir->fd >= 0) {
		int fd = reopen(parent, dir->fd, "..");

		if (fd >= 0) {
			dir_set_fd(gate, parent, fd);
			queue(gate, parent);
		}
	}
	if (dir->users == 0)
		dir_close(gate, dir);
	dir_unref(gate, dir);
	lock_give(&gate->lock);
	return parent;
}

void gate_pin(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->refs++;
	lock_give(&gate->lock);
}

void gate_unpin(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir_unref(gate, dir);
	lock_give(&gate->lock);
}

/* ---- what restore asks ---- */

const struct dir_facts *gate_facts(const struct dir *dir)
{
	return &dir->facts;
}

bool gate_inherits(const struct dir *dir)
{
	return dir->inherits;
}

int64_t gate_group(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	int64_t group = dir->group;
	lock_give(&gate->lock);
	return group;
}

void gate_learn_group(struct gate *gate, struct dir *dir, gid_t group)
{
	lock_take(&gate->lock);
	dir->group = group;
	lock_give(&gate->lock);
}

bool gate_sweep_begin(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	bool first = dir->sweep == SWEEP_DUE;
	if (first)
		dir->sweep = SWEEP_RUNNING;
	while (!first && dir->sweep == SWEEP_RUNNING)
		lock_wait(&gate->lock);
	lock_give(&gate->lock);
	return first;
}

void gate_sweep_end(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->sweep = SWEEP_DONE;
	lock_notify(&gate->lock);
	lock_give(&gate->lock);
}
