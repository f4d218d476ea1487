/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is there already, complete, and is left alone (--continue).
 *
 * In a copy the packer has seen it and sends no data (RECORD_HAVE); what comes from
 * elsewhere is decided on here alone, and its data are dropped.  Either way it is looked at
 * here, through a handle that is held until its metadata are right, so that no name is
 * looked up a second time.  Opening by O_PATH does nothing to what is there, whatever it is.
 */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A handle on what has the object's name, or -1 when there is nothing of its type. */
static int there_open(struct worker *worker, struct stat *st)
{
	const struct object *object = &worker->object;
	int fd = openat(worker->dirfd, object->name,
			O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 &&
	    ((st->st_mode ^ object->apply.meta.mode) & S_IFMT) == 0)
		return fd;
	close(fd);
	return -1;
}

static void there_take(struct worker *worker, int fd, const struct stat *st,
		       uint32_t grain, bool frozen)
{
	struct object *object = &worker->object;

	object->there = true;
	object->apply.at.fd = fd;
	object->apply.at.handle = true;
	apply_there(&object->apply, st, &worker->old, grain, frozen);
}

/* A stream may bring a name again: what this run has made counts for nothing. */
static bool is_older(const struct worker *worker, const struct stat *st,
		     uint32_t grain)
{
	return stamp_is_before(&st->st_ctim, &worker->restore->began, grain);
}

static bool file_fits(struct worker *worker, const struct record *record, int fd,
		      const struct stat *st, uint32_t *grain)
{
	*grain = stamp_grain(&worker->fs, fd, st);
	if (!stamp_fits(&worker->object.apply.meta, st, *grain))
		return false;
	/* Here nobody has looked whether one with further names is right in all. */
	return (record->flags & RECORD_HAVE) ||
	       (st->st_nlink <= 1 && is_older(worker, st, *grain));
}

bool there_file(struct worker *worker, const struct record *record)
{
	const struct opts *opts = worker->restore->config.opts;
	bool have = record->flags & RECORD_HAVE;
	uint32_t grain;
	struct stat st;
	int fd;

	if (!have && !(opts->resume && opts->mode == MODE_EXTRACT))
		return false;
	fd = there_open(worker, &st);
	if (fd >= 0 && file_fits(worker, record, fd, &st, &grain)) {
		there_take(worker, fd, &st, grain, st.st_nlink > 1);
		handover_begin_there(worker);
		return true;
	}
	if (fd >= 0)
		close(fd);
	if (!have)
		return false;
	object_tell(worker, 0, "changed after it was found to be complete: not "
		    "copied");
	object_give_up(worker);
	return true;
}

static bool same_target(int fd, const struct record *record)
{
	char target[PATH_MAX + 1];
	ssize_t len = readlinkat(fd, "", target, PATH_MAX);

	return len == (ssize_t)record->data_len &&
	       memcmp(target, record->data, record->data_len) == 0;
}

static bool special_fits(const struct record *record, int fd,
			 const struct stat *st)
{
	const struct meta *meta = &record->meta;

	if (S_ISLNK(st->st_mode))
		return record->type == RECORD_SYMLINK && same_target(fd, record);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		return major(st->st_rdev) == meta->rdev_major &&
		       minor(st->st_rdev) == meta->rdev_minor;
	return true;
}

/* One with further names is made anew: it has no data. */
bool there_special(struct worker *worker, const struct record *record)
{
	struct stat st;
	int fd;

	if (!worker->restore->config.opts->resume)
		return false;
	fd = there_open(worker, &st);
	if (fd < 0)
		return false;
	if (st.st_nlink <= 1 && special_fits(record, fd, &st)) {
		there_take(worker, fd, &st, stamp_grain(&worker->fs, fd, &st),
			   false);
		return true;
	}
	close(fd);
	return false;
}

static void there_close(struct worker *worker)
{
	struct xattr_source *at = &worker->object.apply.at;

	close(at->fd);			/* a handle: there is nothing to lose */
	at->fd = -1;
}

void there_end(struct worker *worker, const struct record *record)
{
	struct apply *apply = &worker->object.apply;
	struct part *rest;

	/* Not all of its attributes need have come: they stay what they are. */
	if (record->second != 0 || restore_stopped(worker->restore)) {
		object_discard(worker);
		return;
	}
	apply_until(apply, APPLY_TIMES);
	rest = handover_rest(worker, apply->meta.size);
	there_close(worker);
	if (!apply->frozen || !apply->differs) {
		object_finish(worker);
		handover_give(worker, rest);
		return;
	}
	part_free(rest);
	object_tell(worker, 0, "changed after it was found to be complete: not "
		    "made right, for it has other names");
	object_give_up(worker);
}
