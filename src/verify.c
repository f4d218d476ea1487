/* SPDX-License-Identifier: BSD-2-Clause */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cache.h"
#include "diag.h"
#include "extent.h"
#include "fskind.h"
#include "thread.h"

enum {
	BATCH_PARTS = 256,	/* ... or a quarter of what may wait */
	BATCH_BYTES = 16 << 20,
	WAITING_BYTES = 128 << 20,
	DIRECT_MIN = 1 << 20,	/* a part so large is not read through the cache */
	PATIENCE = 300,		/* ms, for a thread that was told to stop */
	ALIGN = 4096,		/* of direct reads */
};

struct verified {
	struct verify *verify;
	struct dir *dir;		/* pinned */
	uint64_t refs;			/* under the lock */
	uint64_t size;			/* what it is cut to; under the lock */
	bool failed;			/* told; the thread's */
	bool whole;			/* its last part is done; the thread's */
	char name[];
};

struct part {
	struct part *next;
	struct verified *file;
	int fd;
	bool direct;			/* past the cache */
	bool touches;			/* reading it changes its atime */
	bool last;
	bool keeps_atime;
	struct timespec atime;
	uint64_t size;			/* of the file; of the last part */
	uint64_t from, to;
	uint64_t first;			/* block of the first sum */
	unsigned count;
	uint64_t sum[];
};

struct verify {
	struct verify_config config;
	struct thread thread;
	uint64_t stopped;		/* a counter */
	struct verify_counts counts;
	bool noted;			/* the thread's: what is cached was told */
	unsigned char *buffer;		/* the thread's: a block */

	struct lock lock;		/* what follows: */
	struct bell work;		/* for the thread */
	struct part *oldest, **newest;	/* given, not taken */
	unsigned given;
	uint64_t given_bytes;
	unsigned parts;			/* given, not done */
	uint64_t bytes;
	unsigned waiting;		/* workers */
	bool closed;
};

struct verify *verify_new(const struct verify_config *config)
{
	struct verify *verify = calloc(1, sizeof(*verify));

	if (!verify)
		return NULL;
	verify->config = *config;
	verify->newest = &verify->oldest;
	lock_init(&verify->lock);
	bell_init(&verify->work);
	if (posix_memalign((void **)&verify->buffer, ALIGN, SUMS_BLOCK) == 0)
		return verify;
	verify->buffer = NULL;
	verify_free(verify);
	errno = ENOMEM;
	return NULL;
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	bell_destroy(&verify->work);
	lock_destroy(&verify->lock);
	free(verify->buffer);
	free(verify);
}

static bool is_stopped(const struct verify *verify)
{
	return count_get(&verify->stopped) != 0;
}

/* ---- files ---- */

struct verified *verified_new(struct verify *verify, struct dir *dir,
			      const char *name)
{
	size_t len = strlen(name) + 1;
	struct verified *file = calloc(1, sizeof(*file) + len);

	if (!file)
		return NULL;
	file->verify = verify;
	file->dir = dir;
	file->refs = 1;
	file->size = UINT64_MAX;
	memcpy(file->name, name, len);
	gate_pin(verify->config.gate, dir);
	return file;
}

void verified_drop(struct verified *file)
{
	bool last;

	if (!file)
		return;
	lock_take(&file->verify->lock);
	last = --file->refs == 0;
	lock_give(&file->verify->lock);
	if (!last)
		return;
	gate_unpin(file->verify->config.gate, file->dir);
	free(file);
}

void verified_cut(struct verified *file, uint64_t size)
{
	lock_take(&file->verify->lock);
	file->size = size;
	lock_give(&file->verify->lock);
}

static uint64_t verified_size(const struct verified *file)
{
	lock_take(&file->verify->lock);
	uint64_t size = file->size;
	lock_give(&file->verify->lock);
	return size;
}

/* Tells it, once, with the byte that it is about. */
static void fail(struct verified *file, int err, const char *what, uint64_t at)
{
	struct verify *verify = file->verify;
	bool full = err == ENOSPC;
	char *path;

	if (file->failed || is_stopped(verify))
		return;
	file->failed = true;
	count_add(&verify->counts.differ, 1);
	path = gate_path(verify->config.gate, file->dir, file->name);
	diag_fail(full ? STATUS_STOPPED : STATUS_PARTIAL,
		  path ? path : file->name, err, "%s byte %llu", what,
		  (unsigned long long)at);
	free(path);
	if (full)
		verify->config.stop(verify->config.arg, err);
}

/* ---- parts ---- */

/* A descriptor that shares nothing with `fd`; -1 when there can't be one. */
static int open_again(int fd, int how, bool *touches)
{
	const int flags = O_RDONLY | O_CLOEXEC | how;
	char link[32];
	int own;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	own = open(link, flags | O_NOATIME);
	*touches = own < 0 && errno == EPERM;
	if (*touches)
		own = open(link, flags);
	return own;
}

int verify_open(int handle)
{
	bool touches;

	return open_again(handle, O_NONBLOCK, &touches);
}

static int reopen(int fd, struct part *part, int how)
{
	return open_again(fd, how, &part->touches);
}

/* A further descriptor for the same opening of it, whose mode may forbid another. */
static int duplicate(int fd, struct part *part)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	part->touches = own < 0 || fcntl(own, F_SETFL, O_NOATIME) != 0;
	return own;
}

/*
 * On FUSE a direct read is cut into several, and who waits for those can't be killed while
 * its server hangs.
 */
static bool may_direct(int fd, uint64_t size)
{
	return size >= DIRECT_MIN && fskind_of(fd) != FSKIND_REMOTE;
}

struct part *part_new(struct verified *file, int fd, uint64_t from, uint64_t to,
		      const struct sums_run *run)
{
	size_t size = (run ? run->count : 0) * sizeof(run->sum[0]);
	struct part *part = calloc(1, sizeof(*part) + size);

	if (!part)
		return NULL;
	part->from = from;
	part->to = to;
	if (run) {
		part->first = run->first;
		part->count = run->count;
		memcpy(part->sum, run->sum, size);
	}
	part->fd = may_direct(fd, to - from) ? reopen(fd, part, O_DIRECT) : -1;
	part->direct = part->fd >= 0;
	if (part->fd < 0)
		part->fd = duplicate(fd, part);
	if (part->fd < 0) {
		int err = errno;

		free(part);
		errno = err;
		return NULL;
	}
	part->file = file;
	lock_take(&file->verify->lock);
	file->refs++;
	lock_give(&file->verify->lock);
	return part;
}

void part_is_last(struct part *part, uint64_t size, const struct timespec *atime)
{
	part->last = true;
	part->size = size;
	part->keeps_atime = atime;
	if (atime)
		part->atime = *atime;
}

void part_free(struct part *part)
{
	if (!part)
		return;
	close(part->fd);	/* what was written through it has been told */
	verified_drop(part->file);
	free(part);
}

/* ---- giving ---- */

/* Under the lock. */
static bool has_room(const struct verify *verify)
{
	return verify->parts == 0 || (verify->parts < verify->config.fds &&
				      verify->bytes < WAITING_BYTES);
}

void part_give(struct part *part)
{
	struct verify *verify = part->file->verify;
	bool given;

	lock_take(&verify->lock);
	while (!has_room(verify) && !is_stopped(verify)) {
		verify->waiting++;
		bell_ring(&verify->work);
		lock_wait(&verify->lock);
		verify->waiting--;
	}
	given = !is_stopped(verify);
	if (given && verify->closed)
		abort();	/* nobody would verify it, nor tell */
	if (given) {
		*verify->newest = part;
		verify->newest = &part->next;
		verify->given++;
		verify->given_bytes += part->to - part->from;
		verify->parts++;
		verify->bytes += part->to - part->from;
		bell_ring(&verify->work);
	}
	lock_give(&verify->lock);
	if (!given)
		part_free(part);
}

void verify_close(struct verify *verify)
{
	lock_take(&verify->lock);
	verify->closed = true;
	bell_ring(&verify->work);
	lock_give(&verify->lock);
}

void verify_stop(struct verify *verify)
{
	count_add(&verify->stopped, 1);
	lock_take(&verify->lock);
	lock_notify(&verify->lock);
	bell_ring(&verify->work);
	lock_give(&verify->lock);
}

void verify_count(const struct verify *verify, struct verify_counts *counts)
{
	counts->files = count_get(&verify->counts.files);
	counts->bytes = count_get(&verify->counts.bytes);
	counts->differ = count_get(&verify->counts.differ);
}

/* ---- the thread: out of memory ---- */

/* Where memory is the storage, nothing else was to be expected. */
static bool is_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC ||
					 fs.f_type == RAMFS_MAGIC);
}

/* All of it is on the disk; then nothing of it shall be in memory. */
static void part_forget(struct part *part)
{
	struct verify *verify = part->file->verify;
	char *path;

	if (part->from == part->to)
		return;		/* 0 would mean: to the end */
	(void)posix_fadvise(part->fd, (off_t)part->from,
			    (off_t)(part->to - part->from), POSIX_FADV_DONTNEED);
	if (part->direct)
		return;
	if (!verify->noted && cache_has(part->fd, part->from, part->to) &&
	    !is_memory(part->fd)) {
		verify->noted = true;
		path = gate_path(verify->config.gate, part->file->dir,
				 part->file->name);
		diag_note(path ? path : part->file->name,
			  "not read back from the disk: it stays in the page cache");
		free(path);
	}
	/* So that the disk has more than one to fetch. */
	(void)posix_fadvise(part->fd, (off_t)part->from,
			    (off_t)(part->to - part->from), POSIX_FADV_WILLNEED);
}

/* ---- the thread: comparing ---- */

/* Where a part's data are known to be, from `start` on. */
struct data {
	bool ask;		/* it has holes that can be asked for */
	uint64_t start, end;	/* the next data at or after what was asked last */
};

/* The sum that a block shall have; false: it shall be zeros. */
static bool sum_wanted(const struct part *part, uint64_t at, uint64_t *sum)
{
	uint64_t block = at / SUMS_BLOCK;

	if (block < part->first || block >= part->first + part->count)
		return false;
	*sum = part->sum[block - part->first];
	return true;
}

/*
 * Through the cache after all.  By another opening: a file system that is a program may
 * have been told of the first one's flags.
 */
static void part_indirect(struct part *part)
{
	int own = reopen(part->fd, part, 0);

	part->direct = false;
	if (own >= 0) {
		close(part->fd);
		part->fd = own;
	} else {
		part->touches = fcntl(part->fd, F_SETFL, O_NOATIME) != 0;
	}
	part_forget(part);
}

/* Reads `len` bytes, less at the end of the file.  How many, or -1 with *at moved. */
static ssize_t block_read(struct part *part, unsigned char *to, size_t len,
			  uint64_t *at)
{
	size_t got = 0;

	while (got < len) {
		size_t want = len - got;
		ssize_t n;

		if (part->direct)
			want = (want + ALIGN - 1) / ALIGN * ALIGN;
		n = pread(part->fd, to + got, want, (off_t)(*at + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && part->direct) {
			part_indirect(part);
			continue;
		}
		if (n < 0) {
			*at += got;
			return -1;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)(got < len ? got : len);
}

/* There are data in [at, end), for all that is known. */
static bool has_data(struct part *part, struct data *data, uint64_t at,
		     uint64_t end)
{
	int more;

	if (!data->ask)
		return true;
	if (data->end <= at) {
		more = extent_next(part->fd, at, part->to, &data->start,
				   &data->end);
		/* "No data at all" in a file that has blocks is not to be believed. */
		if (more < 0 || (more == 0 && at == 0 &&
				 extent_has_blocks(part->fd))) {
			data->ask = false;
			return true;
		}
		if (more == 0)
			data->start = data->end = part->to;
	}
	return data->start < end;
}

/* One block, or what the part has of it.  False: that is the end of it. */
static bool block_check(struct part *part, struct data *data, uint64_t from,
			size_t len)
{
	unsigned char *buffer = part->file->verify->buffer;
	ssize_t n = (ssize_t)len;
	uint64_t sum = 0, at = from;
	bool wanted = sum_wanted(part, from, &sum);

	if (has_data(part, data, from, from + len)) {
		n = block_read(part, buffer, len, &at);
		if (n < 0) {
			fail(part->file, errno, "reading it back at", at);
			return false;
		}
	} else if (!wanted) {
		return true;
	} else {
		memset(buffer, 0, len);
	}
	/* Behind where it is cut nothing is known of it. */
	if (verified_size(part->file) < from + len)
		return false;
	if ((size_t)n == len && (wanted ? sums_of(buffer, len) == sum :
					  extent_zero(buffer, len)))
		return true;
	fail(part->file, 0, "reads back otherwise than it was read at the source: "
	     "the MiB from", from);
	return false;
}

static void part_check(struct part *part)
{
	struct verify *verify = part->file->verify;
	struct data data = { 0 };
	struct stat st;
	uint64_t at = part->from;

	if (fstat(part->fd, &st) != 0)
		fail(part->file, errno, "fstat, to read it back from", at);
	else if (part->last && (uint64_t)st.st_size != part->size)
		fail(part->file, 0, "its size is another when it is read back: it "
		     "should end at", part->size);
	data.ask = extent_sparse(&st);
	while (at < part->to && !part->file->failed && !is_stopped(verify)) {
		uint64_t end = (at / SUMS_BLOCK + 1) * SUMS_BLOCK;

		if (end > part->to)
			end = part->to;
		if (!block_check(part, &data, at, (size_t)(end - at)))
			break;
		count_add(&verify->counts.bytes, end - at);
		at = end;
	}
	if (part->last && !part->file->failed && !is_stopped(verify))
		count_add(&verify->counts.files, 1);
}

/* ---- the thread: each step for a batch ---- */

static void part_send(const struct part *part, unsigned how)
{
	if (part->from == part->to ||
	    sync_file_range(part->fd, (off_t)part->from,
			    (off_t)(part->to - part->from), how) == 0)
		return;
	if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
		fail(part->file, errno, "writing it to the disk, from",
		     part->from);
}

/* Reading it has changed its atime, where that could not be forbidden. */
static void part_atime(const struct part *part)
{
	const struct timespec times[2] = { part->atime, { 0, UTIME_OMIT } };
	struct stat st;

	if (part->last && part->touches && part->keeps_atime &&
	    fstat(part->fd, &st) == 0 &&
	    (st.st_atim.tv_sec != part->atime.tv_sec ||
	     st.st_atim.tv_nsec != part->atime.tv_nsec))
		(void)futimens(part->fd, times);
}

static void part_done(struct verify *verify, struct part *part)
{
	uint64_t bytes = part->to - part->from;

	part_free(part);
	lock_take(&verify->lock);
	verify->parts--;
	verify->bytes -= bytes;
	if (verify->waiting > 0)
		lock_notify(&verify->lock);
	lock_give(&verify->lock);
}

/* Each step for all of them: the disk has them together. */
static void batch_check(struct verify *verify, struct part *batch)
{
	struct part *next;

	for (struct part *part = batch; part && !is_stopped(verify);
	     part = part->next)
		part_send(part, SYNC_FILE_RANGE_WRITE);
	for (struct part *part = batch; part && !is_stopped(verify);
	     part = part->next) {
		part_send(part, SYNC_FILE_RANGE_WAIT_BEFORE |
					SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
		part_forget(part);
	}
	for (struct part *part = batch; part; part = next) {
		next = part->next;
		part_check(part);
		part_atime(part);
		part_done(verify, part);
	}
}

/* ---- the thread: batches ---- */

/* Under the lock. */
static bool is_enough(const struct verify *verify)
{
	unsigned least = verify->config.fds / 4;

	if (least > BATCH_PARTS)
		least = BATCH_PARTS;
	return verify->waiting > 0 || verify->given >= least ||
	       verify->given_bytes >= BATCH_BYTES;
}

/* What is there, when it is enough; NULL at the end. */
static struct part *batch_take(struct verify *verify)
{
	struct part *batch;

	lock_take(&verify->lock);
	while (!verify->closed && !is_stopped(verify) &&
	       (!verify->oldest || !is_enough(verify)))
		bell_wait(&verify->work, &verify->lock);
	batch = verify->oldest;
	verify->oldest = NULL;
	verify->newest = &verify->oldest;
	verify->given = 0;
	verify->given_bytes = 0;
	lock_give(&verify->lock);
	return batch;
}

static void verify_main(void *arg)
{
	struct verify *verify = arg;
	struct part *batch;

	while ((batch = batch_take(verify)))
		batch_check(verify, batch);
	verify->config.done(verify->config.arg);
}

int verify_start(struct verify *verify)
{
	return thread_start(&verify->thread, "verify", verify_main, verify);
}

bool verify_join(struct verify *verify)
{
	if (is_stopped(verify))
		return thread_join_within(&verify->thread, PATIENCE);
	thread_join(&verify->thread);
	return true;
}
