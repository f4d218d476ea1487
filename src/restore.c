/* SPDX-License-Identifier: BSD-2-Clause */
#include "restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "apply.h"
#include "object.h"
#include "thread.h"

/* ---- the run as a whole ---- */

struct restore *restore_new(const struct restore_config *config)
{
	struct restore *restore = calloc(1, sizeof(*restore));

	if (!restore)
		return NULL;
	restore->config = *config;
	lock_init(&restore->twins);
	restore->temp_run = temp_draw();
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &restore->began);
	restore->apply = (struct apply_config){
		.opts = config->opts,
		.gate = config->gate,
		.owners = config->owners,
		.umask = config->umask,
	};
	return restore;
}

void restore_free(struct restore *restore)
{
	if (restore)
		lock_destroy(&restore->twins);
	free(restore);
}

bool restore_stop(struct restore *restore, int reason)
{
	bool first = count_add(&restore->stopped, 1) == 1;

	ring_abort(restore->config.ring, reason);
	if (restore->config.verify)
		verify_stop(restore->config.verify);
	references_cancel(restore->config.refs);
	return first;
}

bool restore_stopped(const struct restore *restore)
{
	return count_get(&restore->stopped) != 0;
}

void restore_count(const struct restore *restore, struct restore_counts *counts)
{
	counts->entries = count_get(&restore->counts.entries);
	counts->bytes = count_get(&restore->counts.bytes);
	counts->referenced = count_get(&restore->counts.referenced);
	counts->left = count_get(&restore->counts.left);
}

/* ---- symlinks and special files ---- */

static int make_symlink(struct worker *worker, const char *name,
			const struct record *record)
{
	return symlinkat(record->data, worker->dirfd, name);
}

static int make_node(struct worker *worker, const char *name,
		     const struct record *record)
{
	struct apply *apply = &worker->object.apply;
	const struct meta *meta = &apply->meta;
	mode_t type = meta->mode & S_IFMT;

	if (type != S_IFIFO && type != S_IFSOCK && type != S_IFCHR &&
	    type != S_IFBLK) {
		errno = EOPNOTSUPP;
		return -1;
	}
	(void)record;
	return mknodat(worker->dirfd, name, type | apply_creation_mode(apply),
		       makedev(meta->rdev_major, meta->rdev_minor));
}

void special_end(struct worker *worker)
{
	struct xattr_source *at = &worker->object.apply.at;

	if (worker->object.skip)
		return;
	apply_until(&worker->object.apply, APPLY_TIMES);
	close(at->fd);			/* a handle: there is nothing to lose */
	at->fd = -1;
	object_finish(worker);
}

/*
 * Takes a handle on what was just made.  Its name may be somebody else's by now (a
 * link to a file elsewhere, above all), whom our metadata are not for.
 */
static int special_handle(struct worker *worker)
{
	struct apply *apply = &worker->object.apply;
	int fd = openat(worker->dirfd, object_name(worker),
			O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 &&
	    (st.st_mode & S_IFMT) == (apply->meta.mode & S_IFMT)) {
		apply->at.fd = fd;
		apply->at.handle = true;
		return 0;
	}
	object_tell(worker, fd < 0 ? errno : 0, "its name was taken by another file");
	if (fd >= 0)
		close(fd);
	object_give_up(worker);
	return -1;
}

void special_begin(struct worker *worker, const struct record *record,
		   struct inode *inode)
{
	struct object *object = &worker->object;
	bool symlink = record->type == RECORD_SYMLINK;

	object_begin(worker, record, inode);
	if (object->skip)
		return;
	if (there_special(worker, record)) {
		if (!(record->flags & RECORD_MORE))
			special_end(worker);
		return;
	}
	if (object_make(worker, symlink ? make_symlink : make_node, record,
			symlink ? "symlinkat" : "mknodat",
			symlink ? DIAG_NO_SYMLINK : DIAG_NO_SPECIAL) != 0)
		return;
	if (special_handle(worker) != 0)
		return;
	if (!(record->flags & RECORD_MORE))
		special_end(worker);
}

/* ---- directories ---- */

/* Prepares `apply` for the metadata of a directory that was made or found. */
static void dir_apply(struct worker *worker, struct apply *apply,
		      struct dir *dir, int fd, const struct meta *meta)
{
	const struct dir_facts *facts = gate_facts(dir);

	apply_begin(apply, &worker->restore->apply, meta, (int64_t)facts->gid);
	apply->at.fd = fd;
	apply->dir = dir;
	apply->now_uid = facts->uid;
	apply->clean = facts->existed;
	/* What it had may have been widened, or refined by an ACL: set it anew. */
	apply->now_mode = facts->existed ? (mode_t)-1 : 0700;
	if (!(worker->restore->config.opts->preserve & PRESERVE_MODE) &&
	    facts->existed)
		apply->want = facts->mode;
	if (!apply->ask_owner) {
		apply->uid = facts->uid;
		apply->gid = facts->gid;
	}
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The times that it had; of one that belongs to others, the kernel keeps them. */
static void dir_times_back(struct worker *worker, const struct dir_facts *facts,
			   int fd)
{
	const struct timespec times[2] = { facts->atime, facts->mtime };
	const struct privileges *who = privileges_get();
	struct stat st;

	if ((!who->fowner && facts->uid != who->uid) ||
	    (fstat(fd, &st) == 0 && same_time(&st.st_atim, &times[0]) &&
	     same_time(&st.st_mtim, &times[1])))
		return;
	if (futimens(fd, times) != 0)
		object_tell_name(worker, NULL, errno, "futimens");
}

/*
 * A directory that was only passed: it is again what it was, but for the entries.  One
 * that was made is as mkdir makes it.
 */
static void dir_put_back(struct worker *worker, struct dir *dir, int fd)
{
	const struct restore_config *config = &worker->restore->config;
	const struct dir_facts *facts = gate_facts(dir);
	mode_t mode = facts->existed ? facts->mode :
				       (facts->mode & S_ISGID) |
					       (0777 & ~config->umask);

	if ((!facts->existed || facts->opened) && fchmod(fd, mode) != 0)
		object_tell_name(worker, NULL, errno, "fchmod");
	if (facts->existed && gate_puts_back(dir) &&
	    (config->opts->preserve & PRESERVE_TIMES))
		dir_times_back(worker, facts, fd);
}

/* Sets what gate_finally kept; puts back a mode that was widened for the work. */
static void dir_finish(struct worker *worker, struct dir *dir)
{
	struct gate *gate = worker->restore->config.gate;
	const struct meta *final = gate_final(dir);
	const struct dir_facts *facts = gate_facts(dir);
	struct apply apply;
	int fd;

	if (!final && !facts->opened && !gate_puts_back(dir))
		return;
	fd = gate_enter(gate, dir);
	if (fd < 0)
		return;
	object_sweep(worker, dir, fd);	/* nothing may have come into it */
	if (final) {
		dir_apply(worker, &apply, dir, fd, final);
		apply_until(&apply, APPLY_TIMES);
	} else {
		dir_put_back(worker, dir, fd);
	}
	gate_mode_set(gate, dir);
	gate_exit(gate, dir);
}

static void leave_end(struct worker *worker)
{
	if (!worker->object.skip) {
		apply_until(&worker->object.apply, APPLY_TIMES);
		gate_mode_set(worker->restore->config.gate, worker->dir);
	}
	/* Its descriptor is the gate's. */
	object_reset(&worker->object);
}

/*
 * The stream has left the directory.  Its metadata wait in the gate for the last of
 * its entries; attributes would be too much to keep, so they wait here.
 */
static void leave_record(struct worker *worker, const struct record *record)
{
	struct gate *gate = worker->restore->config.gate;
	struct object *object = &worker->object;

	object_reset(object);
	if (record->flags & RECORD_PUTBACK)
		gate_putback(gate, worker->dir);
	if (record->flags & (RECORD_KEEP | RECORD_PUTBACK))
		return;
	if (!(record->flags & RECORD_MORE)) {
		gate_finally(gate, worker->dir, &record->meta);
		return;
	}
	if (worker->dirfd < 0)
		return;
	gate_settle(gate, worker->dir);
	object->type = RECORD_LEAVE;
	object->name[0] = '\0';
	dir_apply(worker, &object->apply, worker->dir, worker->dirfd,
		  &record->meta);
}

static void dir_record(struct worker *worker, struct dir *child)
{
	struct gate *gate = worker->restore->config.gate;
	bool cancelled = worker->dirfd < 0 || restore_stopped(worker->restore);

	if (gate_make(gate, child, cancelled) == 0) {
		count_add(&worker->restore->counts.entries, 1);
	} else if (!cancelled && is_the_end(worker, errno)) {
		diag_raise(STATUS_STOPPED);
		(void)restore_stop(worker->restore, errno);
	}
}

/* ---- attributes and ends ---- */

static void xattr_record(struct worker *worker, const struct record *record)
{
	struct object *object = &worker->object;
	const void *value = record->data;

	if (object->type == 0 || object->skip)
		return;
	/* The parts of a value follow one another; 0 begins a new one. */
	if (record->first == 0)
		worker->value_len = 0;
	if (record->second > XATTR_VALUE_MAX ||
	    record->first != worker->value_len ||
	    record->data_len > record->second - record->first) {
		object_tell(worker, EBADMSG, "an attribute's record");
		worker->value_len = 0;
		return;
	}
	if (record->data_len < record->second) {
		memcpy(worker->value + record->first, record->data,
		       record->data_len);
		worker->value_len += record->data_len;
		if (worker->value_len < record->second)
			return;
		value = worker->value;
	}
	worker->value_len = 0;
	apply_attribute(&object->apply, record->name, value, record->second);
}

static void end_record(struct worker *worker, const struct record *record)
{
	switch (worker->object.type) {
	case RECORD_FILE:
		file_end(worker, record);
		break;
	case RECORD_SYMLINK:
	case RECORD_NODE:
		special_end(worker);
		break;
	case RECORD_LEAVE:
		leave_end(worker);
		break;
	default:
		break;
	}
	object_reset(&worker->object);
}

static void dispatch(struct worker *worker, const struct record *record,
		     struct dir *child, struct inode *inode)
{
	switch (record->type) {
	case RECORD_DIR:
		dir_record(worker, child);
		break;
	case RECORD_LEAVE:
		leave_record(worker, record);
		break;
	case RECORD_FILE:
		file_record(worker, record, inode);
		break;
	case RECORD_SYMLINK:
	case RECORD_NODE:
		special_begin(worker, record, inode);
		break;
	case RECORD_LINK:
		link_record(worker, record, inode);
		break;
	case RECORD_PATHLINK:
		pathlink_record(worker, record);
		break;
	case RECORD_PIECE:
		file_piece(worker, record);
		break;
	case RECORD_SPAN:
		file_span(worker, record);
		break;
	case RECORD_REF:
		file_reference(worker, record);
		break;
	case RECORD_SUMS:
		file_sums(worker, record);
		break;
	case RECORD_XATTR:
		xattr_record(worker, record);
		break;
	case RECORD_END:
		end_record(worker, record);
		break;
	default:
		break;		/* the taker's business */
	}
}

/* ---- workers and their runs ---- */

struct worker *worker_new(struct restore *restore, unsigned index)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->restore = restore;
	worker->index = index;
	worker->dirfd = -1;
	worker->object.source = worker->object.reader = -1;
	worker->object.apply.at.fd = -1;
	cache_init(&worker->cache, restore->config.opts->no_cache);
	worker->buffer = malloc(COPY_SIZE);
	worker->value = malloc(XATTR_VALUE_MAX);
	if (!worker->buffer || !worker->value) {
		worker_free(worker);
		return NULL;
	}
	return worker;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	object_abandon(worker);
	cache_destroy(&worker->cache, restore_stopped(worker->restore));
	apply_old_free(&worker->old);
	free(worker->buffer);
	free(worker->value);
	free(worker);
}

/* An object from an earlier run goes on: its directory may be open anew. */
static void object_resume(struct worker *worker)
{
	struct object *object = &worker->object;

	if (object->type == 0 || object->skip)
		return;
	if (worker->dirfd < 0)
		object->skip = true;
	else if (object->type == RECORD_LEAVE)
		object->apply.at.fd = worker->dirfd;
}

void worker_enter(struct worker *worker, struct dir *dir)
{
	worker->dir = dir;
	worker->dirfd = -1;
	worker->entered = false;
}

/*
 * Opens the directory for the first record that needs it.  A mere LEAVE does not: the
 * directory may be far from any that is open, until those below it are done.
 */
static void worker_open(struct worker *worker)
{
	struct gate *gate = worker->restore->config.gate;

	worker->entered = true;
	worker->dirfd = gate_enter(gate, worker->dir);
	worker->group = gate_group(gate, worker->dir);
	worker->inherits = gate_inherits(worker->dir);
	if (worker->dirfd >= 0)
		object_sweep(worker, worker->dir, worker->dirfd);
	object_resume(worker);
}

void worker_record(struct worker *worker, const struct record *record,
		   struct dir *child, struct inode *inode)
{
	bool leave = record->type == RECORD_LEAVE &&
		     !(record->flags & RECORD_MORE);

	if (!worker->entered && !leave)
		worker_open(worker);
	dispatch(worker, record, child, inode);
}

void worker_leave(struct worker *worker)
{
	struct gate *gate = worker->restore->config.gate;
	struct dir *dir = worker->dir;

	if (worker->dirfd >= 0)
		gate_exit(gate, dir);
	while (dir && gate_drop(gate, dir)) {
		dir_finish(worker, dir);
		dir = gate_done(gate, dir);
	}
	worker->dir = NULL;
	worker->dirfd = -1;
}
