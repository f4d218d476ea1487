/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker: one worker of the restoring half, its records given by hand, and the calls
 * it makes, which may be told to fail (faults.h).  What was made is in "dst".
 *
 *     enter(root);
 *     give_file("f", "hello");
 *     leave();
 *
 * A program that includes this needs $(worker_wraps) in its LDFLAGS, and <cmocka.h>
 * before it.
 */
#ifndef TARPIPE_WORKER_H
#define TARPIPE_WORKER_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "record.h"
#include "sink.h"
#include "tree.h"

/* ---- the calls that may fail ---- */

WRAPPED(int, openat, int dirfd, const char *name, int flags, ...)
{
	va_list args;

	if (fault_due(OPENAT, name, NULL))
		return -1;
	va_start(args, flags);
	int mode = va_arg(args, int);
	va_end(args);
	return __real_openat(dirfd, name, flags, mode);
}

WRAPPED(int, __openat_2, int dirfd, const char *name, int flags)
{
	return fault_due(OPENAT, name, NULL) ? -1 :
					       __real_openat(dirfd, name, flags, 0);
}

WRAPPED(int, close, int fd)
{
	int got = __real_close(fd);

	return fault_due(CLOSE, NULL, NULL) ? -1 : got;
}

WRAPPED(ssize_t, pwrite, int fd, const void *from, size_t len, off_t at)
{
	return fault_due(PWRITE, NULL, &len) ? -1 :
					       __real_pwrite(fd, from, len, at);
}

WRAPPED(ssize_t, pread, int fd, void *to, size_t len, off_t at)
{
	return fault_due(PREAD, NULL, &len) ? -1 : __real_pread(fd, to, len, at);
}

WRAPPED(int, ftruncate, int fd, off_t size)
{
	return fault_due(FTRUNCATE, NULL, NULL) ? -1 : __real_ftruncate(fd, size);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
	return fault_due(FSTAT, NULL, NULL) ? -1 : __real_fstat(fd, st);
}

WRAPPED(int, fchown, int fd, uid_t uid, gid_t gid)
{
	return fault_due(FCHOWN, NULL, NULL) ? -1 : __real_fchown(fd, uid, gid);
}

WRAPPED(int, fchmod, int fd, mode_t mode)
{
	return fault_due(FCHMOD, NULL, NULL) ? -1 : __real_fchmod(fd, mode);
}

WRAPPED(int, futimens, int fd, const struct timespec times[2])
{
	return fault_due(FUTIMENS, NULL, NULL) ? -1 : __real_futimens(fd, times);
}

WRAPPED(int, fsetxattr, int fd, const char *name, const void *value, size_t size,
	int flags)
{
	return fault_due(SETXATTR, name, NULL) ?
		       -1 :
		       __real_fsetxattr(fd, name, value, size, flags);
}

WRAPPED(int, linkat, int from, const char *old, int to, const char *new, int flags)
{
	return fault_due(LINKAT, new, NULL) ?
		       -1 :
		       __real_linkat(from, old, to, new, flags);
}

WRAPPED(int, renameat, int from, const char *old, int to, const char *new)
{
	return fault_due(RENAMEAT, new, NULL) ?
		       -1 :
		       __real_renameat(from, old, to, new);
}

WRAPPED(int, unlinkat, int dirfd, const char *name, int flags)
{
	return fault_due(UNLINKAT, name, NULL) ?
		       -1 :
		       __real_unlinkat(dirfd, name, flags);
}

WRAPPED(int, mkdirat, int dirfd, const char *name, mode_t mode)
{
	return fault_due(MKDIRAT, name, NULL) ? -1 :
						__real_mkdirat(dirfd, name, mode);
}

WRAPPED(int, symlinkat, const char *target, int dirfd, const char *name)
{
	return fault_due(SYMLINKAT, name, NULL) ?
		       -1 :
		       __real_symlinkat(target, dirfd, name);
}

WRAPPED(int, mknodat, int dirfd, const char *name, mode_t mode, dev_t dev)
{
	return fault_due(MKNODAT, name, NULL) ?
		       -1 :
		       __real_mknodat(dirfd, name, mode, dev);
}

WRAPPED(ssize_t, readlinkat, int dirfd, const char *name, char *to, size_t size)
{
	return fault_due(READLINKAT, name, NULL) ?
		       -1 :
		       __real_readlinkat(dirfd, name, to, size);
}

/* ---- one worker and its records ---- */

static struct sink sink;
static struct worker *worker;
static struct dir *root;

static inline void open_all(void)
{
	sink_open(&sink);
	worker = worker_new(sink.restore, 0);
	assert_non_null(worker);
	root = gate_root(sink.gate);
}

static inline int setup(void **state)
{
	faults_clear();
	if (tree_setup(state) != 0)
		return -1;
	umask(0);			/* a worker's own is 0 */
	put_dir("dst");
	assert_int_equal(chmod("dst", 0755), 0);
	sink_defaults(&sink);
	open_all();
	return 0;
}

static inline void close_all(void)
{
	worker_free(worker);
	worker = NULL;
	sink_close(&sink);
}

static inline int teardown(void **state)
{
	faults_clear();
	if (worker)
		close_all();
	diag_reset();
	return tree_teardown(state);
}

/* Once more from the start, with other options. */
static inline void with_options(void (*set)(struct opts *opts))
{
	close_all();
	set(&sink.opts);
	open_all();
}

static inline void set_keep(struct opts *opts)
{
	opts->keep = true;
}

static inline void set_unlink_first(struct opts *opts)
{
	opts->unlink_first = true;
}

static inline void enter(struct dir *dir)
{
	gate_hold(sink.gate, dir);
	worker_enter(worker, dir);
}

static inline void leave(void)
{
	worker_leave(worker);
}

static inline void give(struct record record)
{
	worker_record(worker, &record, NULL, NULL);
}

/* What a file of one's own has, 1234 s after the epoch. */
static inline struct meta meta_of(mode_t mode)
{
	return (struct meta){ .mode = mode, .uid = geteuid(), .gid = getegid(),
			      .atime = { 1000, 5 }, .mtime = { 1234, 567 } };
}

static inline struct record head(uint8_t type, const char *name, mode_t mode)
{
	return (struct record){ .type = type, .name = name,
				.name_len = (uint16_t)strlen(name),
				.meta = meta_of(mode) };
}

static inline void give_head(const char *name)
{
	give(head(RECORD_FILE, name, S_IFREG | 0644));
}

static inline void give_piece(const char *text, uint64_t at)
{
	give((struct record){ .type = RECORD_PIECE, .first = at, .data = text,
			      .data_len = (uint32_t)strlen(text) });
}

static inline void give_xattr(const char *name, const char *value)
{
	size_t size = strlen(value);

	give((struct record){ .type = RECORD_XATTR, .name = name,
			      .name_len = (uint16_t)strlen(name), .data = value,
			      .data_len = (uint32_t)size, .second = size });
}

static inline void give_end(uint64_t size)
{
	give((struct record){ .type = RECORD_END, .first = size });
}

static inline void give_file(const char *name, const char *text)
{
	give_head(name);
	give_piece(text, 0);
	give_end(strlen(text));
}

/* A whole file in a run of its own; returns what was told. */
static inline const char *restore_file(const char *name, const char *text)
{
	capture_begin(STDERR_FILENO);
	enter(root);
	give_file(name, text);
	leave();
	return capture_end();
}

/* A further one arrives whole: the run goes on. */
static inline void assert_goes_on(void)
{
	faults_clear();
	assert_string_equal(restore_file("zz", "the rest"), "");
	assert_text("dst/zz", "the rest");
	assert_false(restore_stopped(sink.restore));
}

/* Nothing is made any more, and the ring is aborted for `reason`. */
static inline void assert_stopped(int reason)
{
	faults_clear();
	assert_true(restore_stopped(sink.restore));
	assert_int_equal(ring_reason(sink.ring), reason);
	assert_int_equal(diag_status(), STATUS_STOPPED);
	assert_string_equal(restore_file("zz", "the rest"), "");
	assert_false(is_there("dst/zz"));
}

/* ---- other records ---- */

static inline void give_symlink(const char *name, const char *target)
{
	struct record link = head(RECORD_SYMLINK, name, S_IFLNK | 0777);

	link.data = target;
	link.data_len = (uint32_t)strlen(target);
	give(link);
}

/* What the taker does at a DIR; the worker makes it. */
static inline struct dir *give_dir(struct dir *parent, const char *name)
{
	struct record record = head(RECORD_DIR, name, S_IFDIR | 0755);
	struct dir *dir = gate_add(sink.gate, parent, name, strlen(name));

	assert_non_null(dir);
	worker_record(worker, &record, dir, NULL);
	return dir;
}

static inline struct record leave_of(mode_t mode)
{
	return (struct record){ .type = RECORD_LEAVE, .meta = meta_of(mode) };
}

/* All of a directory is there but its LEAVE, which is this. */
static inline void give_leave(struct dir *dir, mode_t mode)
{
	enter(dir);
	give(leave_of(mode));
	gate_end(sink.gate, dir);
	leave();
}

static inline void give_first(uint8_t type, const char *name, uint32_t id)
{
	struct record file = head(type, name,
				  (type == RECORD_FILE ? S_IFREG : S_IFIFO) |
					  0640);

	file.id = id;
	worker_record(worker, &file, NULL, inodes_open(sink.inodes, id));
}

static inline void give_linked(const char *name, uint32_t id, const char *text)
{
	give_first(RECORD_FILE, name, id);
	give_piece(text, 0);
	give_end(strlen(text));
}

static inline void give_link(const char *name, uint32_t id, bool last)
{
	struct record link = head(RECORD_LINK, name, S_IFREG | 0640);

	link.id = id;
	link.flags = last ? RECORD_LAST : 0;
	worker_record(worker, &link, NULL, inodes_find(sink.inodes, id, last));
}

/* ---- looking ---- */

static inline void need_attributes(void)
{
	put_file("probe", "");
	if (setxattr("probe", "user.probe", "", 0, 0) != 0)
		skip();
}

static inline void assert_value(const char *path, const char *name, const char *value)
{
	char got[4096];
	ssize_t len = getxattr(path, name, got, sizeof(got));

	assert_int_equal(len, strlen(value));
	assert_memory_equal(got, value, strlen(value));
}

static inline void assert_target(const char *path, const char *target)
{
	char got[256];
	ssize_t len = readlink(path, got, sizeof(got));

	assert_int_equal(len, strlen(target));
	assert_memory_equal(got, target, strlen(target));
}

static inline void assert_linked(const char *a, const char *b, nlink_t nlink)
{
	assert_int_equal(stat_of(a).st_ino, stat_of(b).st_ino);
	assert_int_equal(stat_of(a).st_nlink, nlink);
}

#endif
