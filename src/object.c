/* SPDX-License-Identifier: BSD-2-Clause */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temp.h"
#include "thread.h"

/* ---- telling ---- */

bool is_the_end(const struct worker *worker, int err)
{
	struct gate *gate = worker->restore->config.gate;

	/* A file system below DST may be read-only, DST's own must not become so. */
	return err == ENOSPC ||
	       (err == EROFS && gate_facts(worker->dir)->dev ==
					gate_facts(gate_root(gate))->dev);
}

void object_tell_name(struct worker *worker, const char *name, int err,
		      const char *what)
{
	struct restore *restore = worker->restore;
	bool stop = is_the_end(worker, err);
	char *path;

	/* Of several workers that meet the end one tells it. */
	if (stop && !restore_stop(restore, err))
		return;
	path = gate_path(restore->config.gate, worker->dir, name);
	diag_fail(stop ? STATUS_STOPPED : STATUS_PARTIAL, path ? path : name,
		  err, "%s", what);
	free(path);
}

void object_tell(struct worker *worker, int err, const char *what)
{
	object_tell_name(worker, worker->object.name, err, what);
}

void object_tell_kind(struct worker *worker, enum diag_kind kind, int err,
		      const char *what)
{
	struct restore *restore = worker->restore;
	char *path;

	if (err != EOPNOTSUPP && err != ENOSYS) {
		object_tell(worker, err, what);
		return;
	}
	path = gate_path(restore->config.gate, worker->dir,
			 worker->object.name);
	diag_count(kind, path ? path : worker->object.name, what, err);
	free(path);
}

/* ---- names that are taken ---- */

enum way {
	WAY_FREE,		/* try again: the name is free now */
	WAY_TEMPORARY,		/* make it beside, then rename */
	WAY_KEPT,		/* -k: leave what is there */
	WAY_BLOCKED,		/* can't be; told */
};

static enum way clear_way(struct worker *worker, struct stat *st)
{
	const struct opts *opts = worker->restore->config.opts;
	const char *name = worker->object.name;
	bool is_dir;

	if (fstatat(worker->dirfd, name, st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return WAY_FREE;
		object_tell(worker, errno, "fstatat");
		return WAY_BLOCKED;
	}
	if (opts->keep)
		return WAY_KEPT;
	is_dir = S_ISDIR(st->st_mode);
	if (!is_dir && !opts->unlink_first)
		return WAY_TEMPORARY;
	if (unlinkat(worker->dirfd, name, is_dir ? AT_REMOVEDIR : 0) == 0 ||
	    errno == ENOENT)
		return WAY_FREE;
	object_tell(worker, errno,
		    is_dir ? "a directory is in its place, which is not removed" :
		    "unlinkat");
	return WAY_BLOCKED;
}

void object_sweep(struct worker *worker, struct dir *dir, int fd)
{
	struct gate *gate = worker->restore->config.gate;

	if (!gate_sweep_begin(gate, dir))
		return;
	/* A stream may come back to a directory: what it brought is no leftover. */
	if (count_get(&worker->restore->temp_lookalikes) == 0)
		temp_sweep(fd, worker->buffer, COPY_SIZE);
	gate_sweep_end(gate, dir);
}

/* Makes an object under a name that nobody else has. */
static int make_temporary(struct worker *worker, maker *make,
			  const struct record *record)
{
	temp_name(worker->temp, worker->restore->temp_run, worker->index);
	return make(worker, worker->temp, record);
}

/* ---- the life of an object ---- */

const char *object_name(const struct worker *worker)
{
	return worker->object.temporary ? worker->temp : worker->object.name;
}

void object_reset(struct object *object)
{
	object->type = 0;
	object->skip = object->temporary = object->sparse = false;
	object->there = object->beside = false;
	object->inode = NULL;
	verified_drop(object->verified);
	object->verified = NULL;
	if (object->reader >= 0)
		close(object->reader);
	object->reader = -1;
	object->source = -1;
	object->temp_ino = 0;
	object->refused = 0;
	object->end = object->reserved = 0;
	object->apply.at.fd = -1;
	object->apply.at.handle = false;
}

/* The inode's first name came to nothing (or, under -k, to something else). */
void object_give_up(struct worker *worker)
{
	struct object *object = &worker->object;
	struct inodes *inodes = worker->restore->config.inodes;

	object->skip = true;
	if (!object->inode)
		return;
	inode_failed(inodes, object->inode);
	inode_drop(inodes, object->inode);
	object->inode = NULL;
}

static void inode_made(struct worker *worker, const struct stat *st)
{
	struct object *object = &worker->object;
	struct inodes *inodes = worker->restore->config.inodes;
	struct inode_place place = { worker->dir, object->name, st->st_dev,
				     st->st_ino };

	inode_complete(inodes, object->inode, &place);
	inode_drop(inodes, object->inode);
	object->inode = NULL;
}

/* -k left a file; it stands for the inode when it is the same by size and mtime. */
static void object_kept(struct worker *worker, const struct stat *st)
{
	struct object *object = &worker->object;
	const struct meta *meta = &object->apply.meta;

	if (object->inode && (st->st_mode & S_IFMT) == (meta->mode & S_IFMT) &&
	    (uint64_t)st->st_size == meta->size &&
	    st->st_mtim.tv_sec == meta->mtime.tv_sec &&
	    st->st_mtim.tv_nsec == meta->mtime.tv_nsec)
		inode_made(worker, st);
	object_give_up(worker);
}

void object_begin(struct worker *worker, const struct record *record,
		  struct inode *inode)
{
	struct object *object = &worker->object;
	struct apply *apply = &object->apply;

	object_reset(object);
	object->type = record->type;
	object->dir = worker->dir;
	object->inode = inode;
	object->sparse = record->flags & RECORD_SPARSE;
	memcpy(object->name, record->name, (size_t)record->name_len + 1);
	if (temp_is_name(object->name))
		count_add(&worker->restore->temp_lookalikes, 1);
	apply_begin(apply, &worker->restore->apply, &record->meta,
		    worker->group);
	apply->has_acl = record->flags & RECORD_ACL;
	apply->has_attributes = record->flags & RECORD_MORE;
	apply->inherits = worker->inherits;
	apply->dir = worker->dir;
	apply->shown = object->name;
	if (gate_check(object->name) != 0) {
		object_tell(worker, 0, "refused: no name of an entry");
		object_give_up(worker);
	} else if (worker->dirfd < 0 || restore_stopped(worker->restore)) {
		object_give_up(worker);
	}
}

void object_discard(struct worker *worker)
{
	struct object *object = &worker->object;

	if (object->apply.at.fd >= 0)
		close(object->apply.at.fd);
	object->apply.at.fd = -1;
	if (!object->skip && !object->there &&
	    unlinkat(worker->dirfd, object_name(worker), 0) != 0 &&
	    errno != ENOENT)
		object_tell(worker, errno, "removing what is not complete");
	object_give_up(worker);
}

static int make_failed(struct worker *worker, enum diag_kind kind, int err,
		       const char *call)
{
	/* A link that is refused may yet become a file of its own. */
	if (worker->object.refused == 0) {
		object_tell_kind(worker, kind, err, call);
		object_give_up(worker);
	}
	return -1;
}

/* Under a temporary name, because its own is taken. */
static int make_beside(struct worker *worker, maker *make,
		       const struct record *record, const char *call,
		       enum diag_kind kind)
{
	if (make_temporary(worker, make, record) == 0) {
		worker->object.temporary = true;
		return 0;
	}
	return make_failed(worker, kind, errno, call);
}

int object_make(struct worker *worker, maker *make,
		const struct record *record, const char *call,
		enum diag_kind kind)
{
	struct object *object = &worker->object;
	struct stat st;

	/* A name that was freed may be taken again, but not for ever. */
	for (int tries = 0; tries < 16; tries++) {
		if (!object->beside) {
			if (make(worker, object->name, record) == 0)
				return 0;
			if (errno != EEXIST)
				break;
		}
		switch (clear_way(worker, &st)) {
		case WAY_FREE:
			if (!object->beside)
				continue;
			return make_beside(worker, make, record, call, kind);
		case WAY_TEMPORARY:
			return make_beside(worker, make, record, call, kind);
		case WAY_KEPT:
			object_kept(worker, &st);
			return -1;
		case WAY_BLOCKED:
			object_give_up(worker);
			return -1;
		}
	}
	return make_failed(worker, kind, errno, call);
}

static void object_done(struct worker *worker)
{
	struct object *object = &worker->object;
	struct restore_counts *counts = &worker->restore->counts;
	struct stat st;

	count_add(object->there ? &counts->left : &counts->entries, 1);
	if (object->inode) {
		if (fstatat(worker->dirfd, object->name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			inode_made(worker, &st);
		else
			object_tell(worker, errno, "fstatat");
		object_give_up(worker);
	}
	object_reset(object);
}

/* A file of the source, or of somebody else, can be called like a temporary one. */
static bool temp_is_mine(const struct worker *worker)
{
	const struct object *object = &worker->object;
	struct stat st;

	return object->temp_ino == 0 ||
	       (fstatat(worker->dirfd, worker->temp, &st,
			AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_dev == object->temp_dev && st.st_ino == object->temp_ino);
}

void object_finish(struct worker *worker)
{
	struct object *object = &worker->object;

	if (object->temporary && !temp_is_mine(worker)) {
		object_tell(worker, 0, "its temporary name was taken by another file");
		object_give_up(worker);
		return;
	}
	if (object->temporary &&
	    renameat(worker->dirfd, worker->temp, worker->dirfd,
		     object->name) != 0) {
		object_tell(worker, errno, "renameat");
		object_discard(worker);
		return;
	}
	object->temporary = false;
	object_done(worker);
}

/* The stream broke off inside the object: nothing of it may stay, nor be held. */
void object_abandon(struct worker *worker)
{
	struct object *object = &worker->object;
	struct gate *gate = worker->restore->config.gate;

	if (object->type != 0 && object->type != RECORD_LEAVE && !object->skip) {
		worker->dir = object->dir;
		worker->dirfd = gate_enter(gate, worker->dir);
		object_discard(worker);
		if (worker->dirfd >= 0)
			gate_exit(gate, worker->dir);
	}
	object_reset(object);
}
