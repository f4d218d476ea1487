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
#include "gating.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

void dir_queue(struct gate *gate, struct dir *dir)
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

void dir_set_fd(struct gate *gate, struct dir *dir, int fd)
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

static int take_root(struct dir *root, const struct gate_config *config)
{
	struct stat st;

	if (!config->fresh)
		return dir_take_existing(root, config->root, config->widen);
	if (fstat(config->root, &st) != 0 || dir_remove_acls(config->root) != 0)
		return -1;
	dir_facts_from(root, &st, false);
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
	int fd = openat(from, name, dir->linked ? OPEN_FLAGS & ~O_NOFOLLOW :
						  OPEN_FLAGS);
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
	lock_take(&gate->lock);		/* somebody may still unpin one */
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
	lock_give(&gate->lock);
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
	if (dir)
		dir->added = ++gate->moment;
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
	dir->ended = ++gate->moment;
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
		dir_tell(gate, dir, err, "finding the directory again");
	return fd;
}

void gate_exit(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	if (--dir->users == 0 && dir->fd >= 0) {
		dir_queue(gate, dir);
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

void gate_putback(struct gate *gate, struct dir *dir)
{
	lock_take(&gate->lock);
	dir->putback = true;
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

bool gate_puts_back(const struct dir *dir)
{
	return dir->putback;
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
			dir_queue(gate, parent);
		}
	}
	if (dir->users == 0)
		dir_close(gate, dir);
	dir->done = true;
	dir_unref(gate, dir);
	if (gate->config.ordered)
		lock_notify(&gate->lock);	/* who waits for it to be done */
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
