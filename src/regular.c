/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular files: data from the ring or from a descriptor, then metadata, then the
 * name.  A small one costs four calls: openat, pwrite, futimens, close.
 */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"

enum {
	ZERO_BLOCK = 4096,	/* zeros of this length become holes */
	RECENT = 60,		/* seconds */
};

/* What is to be verified is read through the same opening. */
static int open_flags(const struct worker *worker)
{
	return (worker->restore->config.verify ? O_RDWR : O_WRONLY) | O_CLOEXEC;
}

static int open_new(const struct worker *worker, const char *name, mode_t mode)
{
	return openat(worker->dirfd, name,
		      open_flags(worker) | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

/*
 * A temporary file has its lock before it has its name, where that can be done: who
 * finds the name asks for the lock before removing it.
 */
static int open_temporary(const struct worker *worker, const char *name,
			  mode_t mode)
{
	int dirfd = worker->dirfd;
	int fd = openat(dirfd, ".", open_flags(worker) | O_TMPFILE, mode);
	char link[32];

	if (fd >= 0) {
		(void)flock(fd, LOCK_EX | LOCK_NB);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (linkat(AT_FDCWD, link, dirfd, name, AT_SYMLINK_FOLLOW) == 0)
			return fd;
		close(fd);
	}
	fd = open_new(worker, name, mode);
	if (fd >= 0)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

static int make_file(struct worker *worker, const char *name,
		     const struct record *record)
{
	struct object *object = &worker->object;
	mode_t mode = apply_creation_mode(&object->apply);
	struct stat st;
	int fd;

	(void)record;
	if (name != worker->temp)
		fd = open_new(worker, name, mode);
	else
		fd = open_temporary(worker, name, mode);
	if (fd < 0)
		return -1;
	if (name == worker->temp && fstat(fd, &st) == 0) {
		object->temp_dev = st.st_dev;
		object->temp_ino = st.st_ino;
	}
	object->apply.at.fd = fd;
	return 0;
}

/* The first file in a directory tells which group they get. */
static void learn_group(struct worker *worker)
{
	struct object *object = &worker->object;
	struct stat st;

	if (worker->group >= 0 || fstat(object->apply.at.fd, &st) != 0)
		return;
	worker->group = st.st_gid;
	object->apply.now_gid = st.st_gid;
	if (!object->apply.ask_owner)
		object->apply.gid = st.st_gid;
	gate_learn_group(worker->restore->config.gate, worker->dir, st.st_gid);
}

/*
 * Might it get its final mtime by being written?  One with holes has its final size from the
 * beginning on, so what is left of it would look complete.  The grain of times, and
 * clocks that are not ours, are allowed for.
 */
static bool is_recent(const struct timespec *mtime)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 ||
	       mtime->tv_sec > now.tv_sec - RECENT;
}

/* The file that was begun. */
static void file_make(struct worker *worker, const struct record *record)
{
	struct object *object = &worker->object;

	object->beside = object->sparse && !worker->restore->config.opts->keep &&
			 is_recent(&record->meta.mtime);
	if (object_make(worker, make_file, record, "openat",
			DIAG_NO_SPECIAL) != 0)
		return;
	learn_group(worker);
	handover_begin(worker);
	cache_begin_out(&object->data, &worker->cache, object->apply.at.fd,
			gate_facts(worker->dir)->dev);
	/* Writes behind the end would have xfs fill the holes in advance. */
	if (object->sparse &&
	    ftruncate(object->apply.at.fd, (off_t)record->meta.size) == 0)
		object->end = record->meta.size;
}

void file_begin(struct worker *worker, const struct record *record,
		struct inode *inode)
{
	object_begin(worker, record, inode);
	if (!worker->object.skip)
		file_make(worker, record);
}

void file_record(struct worker *worker, const struct record *record,
		 struct inode *inode)
{
	object_begin(worker, record, inode);
	if (!worker->object.skip && !there_file(worker, record))
		file_make(worker, record);
}

/* Tells how far the file came, and removes what there is of it. */
static void fail_at(struct worker *worker, int err, const char *what,
		    uint64_t offset)
{
	char text[64];

	snprintf(text, sizeof(text), "%s at byte %llu", what,
		 (unsigned long long)offset);
	object_tell(worker, err, text);
	object_discard(worker);
}

/* Returns 0, or -1 after a message; the object is then gone. */
static int write_all(struct worker *worker, const unsigned char *bytes,
		     size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t n = cache_write(&worker->object.data, bytes, len,
					offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fail_at(worker, n < 0 ? errno : EIO, "writing", offset);
			return -1;
		}
		bytes += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* How long a run of blocks is all zero (or none is) at `at`. */
static size_t zero_run(const unsigned char *at, size_t len, bool *zero)
{
	size_t run = 0;

	while (run < len) {
		size_t block = len - run < ZERO_BLOCK ? len - run : ZERO_BLOCK;
		bool is = extent_zero(at + run, block);

		if (run == 0)
			*zero = is;
		else if (is != *zero)
			break;
		run += block;
	}
	return run;
}

static int write_data(struct worker *worker, const unsigned char *bytes,
		      size_t len, uint64_t offset)
{
	struct object *object = &worker->object;

	while (len > 0) {
		bool zero = false;
		size_t run = object->sparse ? zero_run(bytes, len, &zero) : len;

		if (!zero) {
			if (write_all(worker, bytes, run, offset) != 0)
				return -1;
			if (object->end < offset + run)
				object->end = offset + run;
		}
		bytes += run;
		len -= run;
		offset += run;
	}
	return 0;
}

/*
 * Before the first bytes of a large file: who has no room for it says so now.  Only in a
 * copy: there the size is a file's own, and not what an archive says.  Returns 0, or -1
 * after a message; the object is then gone.
 */
static int reserve(struct worker *worker)
{
	struct object *object = &worker->object;
	uint64_t size = object->apply.meta.size;
	int got;

	if (object->sparse || size < EXTENT_RESERVE_MIN ||
	    worker->restore->config.opts->mode != MODE_COPY)
		return 0;
	got = extent_reserve(&worker->space, object->apply.at.fd,
			     gate_facts(worker->dir)->dev, size);
	if (got < 0) {
		object_tell(worker, errno, "fallocate");
		object_discard(worker);
		return -1;
	}
	object->reserved = got > 0 ? size : 0;
	return 0;
}

static void file_data(struct worker *worker, const void *bytes, size_t len,
		      uint64_t offset)
{
	if (worker->object.type != RECORD_FILE || worker->object.skip ||
	    worker->object.there)
		return;
	if (restore_stopped(worker->restore)) {
		object_discard(worker);
		return;
	}
	if (offset == 0 && reserve(worker) != 0)
		return;
	if (write_data(worker, bytes, len, offset) == 0)
		count_add(&worker->restore->counts.bytes, len);
}

void file_piece(struct worker *worker, const struct record *record)
{
	file_data(worker, record->data, record->data_len, record->first);
}

/* Whatever becomes of the file, others wait for the room that its bytes take. */
void file_span(struct worker *worker, const struct record *record)
{
	struct record_span span;

	memcpy(&span, record->data, sizeof(span));
	file_data(worker, span.bytes, (size_t)record->second, record->first);
	if (worker->restore->config.release)
		worker->restore->config.release(span.hold);
}

/* Copies [from, size) by reading and writing: what can't go by reference. */
static int copy_rest(struct worker *worker, int in, const struct stat *st,
		     uint64_t from, uint64_t size)
{
	struct cache_file data;

	if (from == 0 && reserve(worker) != 0)
		return -1;
	cache_begin_in(&data, &worker->cache, in, st);
	while (from < size && !restore_stopped(worker->restore)) {
		uint64_t left = size - from;
		size_t want = left < COPY_SIZE ? (size_t)left : COPY_SIZE;
		ssize_t n = cache_read(&data, worker->buffer, want, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail_at(worker, errno, "reading its source", from);
			return -1;
		}
		if (n == 0)
			return 0;	/* it shrank: file_check_source tells */
		if (write_data(worker, worker->buffer, (size_t)n, from) != 0)
			return -1;
		from += (uint64_t)n;
	}
	return 0;
}

int file_copy_from(struct worker *worker, int in, const struct stat *st,
		   uint64_t size)
{
	struct restore *restore = worker->restore;
	struct object *object = &worker->object;
	struct extent_copy copy = {
		.in = in,
		.out = object->apply.at.fd,
		.from = st->st_dev,
		.to = gate_facts(worker->dir)->dev,
		.size = size,
		.sparse = object->sparse,
	};

	if (references_copy(restore->config.refs, &copy) != 0) {
		if (errno == ECANCELED)
			object_discard(worker);
		else
			fail_at(worker, errno, "copying by reference", copy.done);
		return -1;
	}
	count_add(&restore->counts.bytes, size);
	count_add(&restore->counts.referenced, copy.done);
	if (object->end < copy.done && !object->sparse)
		object->end = copy.done;
	return copy.done < size ? copy_rest(worker, in, st, copy.done, size) :
				  0;
}

void file_reference(struct worker *worker, const struct record *record)
{
	struct object *object = &worker->object;
	struct stat st;

	if (object->type != RECORD_FILE)
		return;
	object->source = (int)record->first;
	if (object->skip || object->there)
		return;
	if (restore_stopped(worker->restore)) {
		object_discard(worker);
	} else if (fstat(object->source, &st) != 0) {
		object_tell(worker, errno, "fstat of its source");
		object_discard(worker);
	} else {
		(void)file_copy_from(worker, object->source, &st, record->second);
	}
}

/* What was copied by reference was not watched while it was read. */
static uint64_t file_check_source(struct worker *worker, uint64_t size)
{
	struct object *object = &worker->object;
	const struct meta *meta = &object->apply.meta;
	struct restore *restore = worker->restore;
	struct stat st;
	char *path;

	if (object->source < 0 || fstat(object->source, &st) != 0)
		return size;
	if ((uint64_t)st.st_size == meta->size &&
	    st.st_mtim.tv_sec == meta->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == meta->mtime.tv_nsec && st.st_nlink > 0)
		return size;
	path = gate_path(restore->config.gate, worker->dir, object->name);
	diag_fail(STATUS_CHANGED, path ? path : object->name, 0,
		  "its source changed while it was copied");
	free(path);
	object->end = UINT64_MAX;	/* who knows what was cloned: cut it */
	return (uint64_t)st.st_size < size ? (uint64_t)st.st_size : size;
}

static void file_close_source(struct worker *worker)
{
	struct object *object = &worker->object;

	if (object->source < 0)
		return;
	close(object->source);
	object->source = -1;
	references_leave(worker->restore->config.refs);
}

void file_finish(struct worker *worker, uint64_t size)
{
	struct object *object = &worker->object;
	int fd = object->apply.at.fd;
	struct part *rest;

	handover_cut(worker, size);
	if ((object->end != size || object->reserved > size) &&
	    ftruncate(fd, (off_t)size) != 0) {
		object_tell(worker, errno, "ftruncate");
		object_discard(worker);
		return;
	}
	apply_until(&object->apply, APPLY_TIMES);
	cache_end_out(&object->data);
	rest = handover_rest(worker, size);
	object->apply.at.fd = -1;
	if (close(fd) != 0) {
		object_tell(worker, errno, "close");
		object_discard(worker);
		part_free(rest);
		return;
	}
	object_finish(worker);
	handover_give(worker, rest);
}

void file_end(struct worker *worker, const struct record *record)
{
	struct object *object = &worker->object;
	uint64_t size = record->first;

	if (!object->skip && !object->there && object->source >= 0)
		size = file_check_source(worker, size);
	file_close_source(worker);
	if (object->skip)
		return;
	if (object->there) {
		there_end(worker, record);
		return;
	}
	/* The reason was told where it was read. */
	if (record->second != 0 || restore_stopped(worker->restore))
		object_discard(worker);
	else
		file_finish(worker, size);
}

