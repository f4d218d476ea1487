/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pack: what goes into the ring, and what a source that fails or changes underfoot
 * makes of a copy.  The latter goes through to "dst", because that is what counts:
 * which names are there, with what in them, and what was said.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "names.h"
#include "pack.h"
#include "pathfaults.h"
#include "record.h"
#include "sink.h"
#include "tree.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* ---- the calls that may fail, by the path below the scratch directory ---- */

static bool at_due(enum fault_call call, int dirfd, const char *name)
{
	char path[512], whole[800];

	snprintf(whole, sizeof(whole), "%s/%s",
		 path_of(dirfd, path, sizeof(path)), name);
	return fault_due(call, whole, NULL);
}

WRAPPED(int, openat, int dirfd, const char *name, int flags, ...)
{
	va_list args;

	if (at_due(OPENAT, dirfd, name))
		return -1;
	va_start(args, flags);
	int mode = va_arg(args, int);
	va_end(args);
	return __real_openat(dirfd, name, flags, mode);
}

WRAPPED(int, __openat_2, int dirfd, const char *name, int flags)
{
	return at_due(OPENAT, dirfd, name) ? -1 :
					     __real_openat(dirfd, name, flags, 0);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
	return fd_due(FSTAT, fd, NULL) ? -1 : __real_fstat(fd, st);
}

WRAPPED(int, fstatat, int dirfd, const char *name, struct stat *st, int flags)
{
	return at_due(FSTATAT, dirfd, name) ?
		       -1 :
		       __real_fstatat(dirfd, name, st, flags);
}

WRAPPED(ssize_t, readlinkat, int dirfd, const char *name, char *to, size_t size)
{
	return at_due(READLINKAT, dirfd, name) ?
		       -1 :
		       __real_readlinkat(dirfd, name, to, size);
}

static size_t made_up_value;	/* bytes of every attribute; 0: what there is */

WRAPPED(ssize_t, fgetxattr, int fd, const char *name, void *to, size_t size)
{
	if (fd_due(GETXATTR, fd, NULL))
		return -1;
	if (made_up_value == 0 || strncmp(name, "user.", 5) != 0)
		return __real_fgetxattr(fd, name, to, size);
	if (size < made_up_value) {
		errno = ERANGE;
		return -1;
	}
	put_noise(to, made_up_value, 1);
	return (ssize_t)made_up_value;
}

static size_t values_set;	/* made up ones that arrived whole */

WRAPPED(int, fsetxattr, int fd, const char *name, const void *value, size_t size,
	int flags)
{
	unsigned char want[65536];

	if (made_up_value == 0)
		return __real_fsetxattr(fd, name, value, size, flags);
	put_noise(want, made_up_value, 1);
	values_set += size == made_up_value && memcmp(value, want, size) == 0;
	return 0;
}

WRAPPED(int, fdatasync, int fd)
{
	return fd_due(FDATASYNC, fd, NULL) ? -1 : __real_fdatasync(fd);
}

static long made_up_magic;	/* the file system that files are on; 0: what it is */
static unsigned advised;	/* files that are read from begin to end */

WRAPPED(int, fstatfs, int fd, struct statfs *fs)
{
	int got = __real_fstatfs(fd, fs);

	if (made_up_magic != 0)
		fs->f_type = made_up_magic;
	return got;
}

WRAPPED(int, posix_fadvise, int fd, off_t from, off_t size, int advice)
{
	advised += advice == POSIX_FADV_SEQUENTIAL && from == 0 && size == 0;
	return __real_posix_fadvise(fd, from, size, advice);
}

/* ---- copying "src" into "dst" ---- */

static struct sink sink;
static struct pack *pack;
static int packed, joined;	/* what pack_root and unpack_join said */
static unsigned lost;		/* descriptors that were not closed */

/* What is chosen. */
static bool (*wanted)(void *arg, const char *path, bool directory);
static struct names *listed;
static unsigned strip;

static int setup(void **state)
{
	faults_clear();
	made_up_value = 0;
	made_up_magic = 0;
	advised = 0;
	if (tree_setup(state) != 0)
		return -1;
	put_dir("src");
	put_dir("dst");
	sink_defaults(&sink);
	wanted = NULL;
	listed = NULL;
	strip = 0;
	return 0;
}

static int teardown(void **state)
{
	faults_clear();
	diag_reset();
	return tree_teardown(state);
}

static void open_pack(void)
{
	struct pack_config config = {
		.opts = &sink.opts,
		.ring = sink.ring,
		.refs = sink.refs,
		.dst_dev = stat_of("dst").st_dev,
		.walk = { .fds = 8 },
	};

	config.walk.wanted = wanted;
	config.walk.strip = strip;
	pack = pack_new(&config);
	assert_non_null(pack);
	pack_list(pack, listed);
}

/* The contents of `path`, as for `tarpipe PATH/ dst`; returns what was told. */
static const char *copy_from(const char *path, const char *as)
{
	struct unpack *unpack;
	unsigned before = open_descriptors();

	capture_begin(STDERR_FILENO);
	sink_open(&sink);
	unpack = sink_unpack(&sink);
	open_pack();
	packed = pack_root(pack, path, as, false, true);
	if (packed == 0)
		packed = pack_finish(pack);
	joined = unpack_join(unpack);
	pack_free(pack);
	sink_close(&sink);
	diag_summary();
	const char *told = capture_end();
	lost = open_descriptors() - before;
	return told;
}

static const char *copy(void)
{
	return copy_from("src", NULL);
}

/* It came to its end, and nothing is left open. */
static void assert_done(enum status status)
{
	assert_int_equal(packed, 0);
	assert_int_equal(joined, 0);
	assert_int_equal(diag_status(), status);
	assert_int_equal(lost, 0);
}

/* "src/f" of that size, and "src/z" beside it, which has to arrive anyway. */
static unsigned char noise[3 << 20];

static void put_source(size_t size)
{
	put_noise(noise, sizeof(noise), 9);
	put_bytes("src/f", noise, size);
	put_file("src/z", "the rest");
}

/* Only the rest has arrived. */
static void assert_left_out(void)
{
	assert_names("dst", "z");
	assert_text("dst/z", "the rest");
}

/* The rest has arrived, and the first `size` bytes of f. */
static void assert_prefix(size_t size)
{
	assert_names("dst", "f z");
	assert_bytes("dst/f", noise, size);
	assert_text("dst/z", "the rest");
}

/* One read, and many of them. */
enum { SMALL = 5000, LARGE = 2500000 };

static void a_tree_arrives_whole(void **state)
{
	(void)state;
	put_source(SMALL);
	put_bytes("src/large", noise, LARGE);
	put_file("src/empty", "");
	put_dir("src/d");
	assert_int_equal(symlink("nowhere", "src/d/l"), 0);
	assert_int_equal(mkfifo("src/d/p", 0600), 0);
	assert_int_equal(link("src/f", "src/d/f2"), 0);
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	assert_names("dst", "d empty f large z");
	assert_names("dst/d", "f2 l p");
	assert_bytes("dst/f", noise, SMALL);
	assert_bytes("dst/large", noise, LARGE);
	assert_text("dst/empty", "");
	assert_int_equal(stat_of("dst/f").st_ino, stat_of("dst/d/f2").st_ino);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_nsec,
			 stat_of("src/d").st_mtim.tv_nsec);
}

static void sizes_around_every_limit(void **state)
{
	static const size_t sizes[] = { 1, 511, 512, 4095, 4096, 4097, 15800,
					15900, 16000, 16352, 16384, 16385, 32768 };
	char name[32], path[64];

	(void)state;
	put_source(1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(path, sizeof(path), "src/%zu", sizes[i]);
		put_bytes(path, noise, sizes[i]);
	}
	sink.memory = RING_SIZE_MIN;
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(name, sizeof(name), "dst/%zu", sizes[i]);
		assert_bytes(name, noise, sizes[i]);
	}
}

/* ---- reads that fail ---- */

static void a_read_that_fails_at_once(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(PREAD, (struct fault){ .name = "src/f", .err = EIO });
	assert_string_equal(copy(), "tarpipe: src/f: reading at byte 0: "
				    "Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_left_out();
}

static void a_read_that_fails_later(void **state)
{
	(void)state;
	put_source(LARGE);
	fault_set(PREAD, (struct fault){ .name = "src/f", .after = 2,
					 .err = EIO });
	const char *told = copy();
	unsigned long long at = 0;

	assert_int_equal(sscanf(told, "tarpipe: src/f: reading at byte %llu: ",
				&at), 1);
	assert_true(at > 0 && at < LARGE);
	assert_non_null(strstr(told, ": Input/output error\n"));
	assert_done(STATUS_PARTIAL);
	assert_left_out();
}

/* What is at the destination already is better than half of the new. */
static void a_read_that_fails_leaves_the_old_file(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_source(sizes[i]);
		put_file("dst/f", "old");
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .after = i ? 2 : 0,
						 .err = EIO });
		assert_non_null(strstr(copy(), "tarpipe: src/f: reading at byte"));
		assert_done(STATUS_PARTIAL);
		assert_text("dst/f", "old");
		assert_names("dst", "f z");
	}
}

static void an_interrupted_read_goes_on(void **state)
{
	(void)state;
	put_source(LARGE);
	fault_set(PREAD, (struct fault){ .name = "src/f", .times = 5,
					 .err = EINTR });
	assert_string_equal(copy(), "");
	assert_int_equal(fault_hits(PREAD), 5);
	assert_done(STATUS_OK);
	assert_prefix(LARGE);
}

/* A network file system may give less than there is: that is no end. */
static void a_short_read_of_a_small_file_goes_on(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(PREAD, (struct fault){ .name = "src/f", .times = EVERY_TIME,
					 .most = 1000 });
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	assert_prefix(SMALL);
}

static void a_short_read_of_a_large_file_goes_on(void **state)
{
	(void)state;
	put_source(LARGE);
	fault_set(PREAD, (struct fault){ .name = "src/f", .times = EVERY_TIME,
					 .most = 99999 });
	assert_string_equal(copy(), "");
	assert_true(fault_hits(PREAD) > 25);
	assert_done(STATUS_OK);
	assert_prefix(LARGE);
}

/* ---- files that change while they are read ---- */

static size_t cut_to;

static void cut(void)
{
	assert_int_equal(truncate("src/f", (off_t)cut_to), 0);
}

static void assert_shrinks(size_t size, size_t to, unsigned after)
{
	char want[128];

	put_source(size);
	cut_to = to;
	fault_set(PREAD, (struct fault){ .name = "src/f", .after = after,
					 .hook = cut });
	snprintf(want, sizeof(want),
		 "tarpipe: src/f: shrank by %zu bytes while it was read\n",
		 size - to);
	assert_string_equal(copy(), want);
	assert_done(STATUS_CHANGED);
	assert_prefix(to);
	diag_reset();
}

static void a_file_that_shrinks(void **state)
{
	(void)state;
	assert_shrinks(SMALL, 10, 0);
	assert_shrinks(SMALL, 0, 0);
	assert_shrinks(LARGE, 1000000, 1);
	assert_shrinks(LARGE, 10, 2);	/* below what was read already */
	assert_shrinks(LARGE, 0, 0);
}

static void append(void)
{
	int fd = open("src/f", O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
}

static void a_file_that_grows(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };
	char want[128];

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_source(sizes[i]);
		fault_set(PREAD, (struct fault){ .name = "src/f", .after = i ? 1 : 0,
						 .hook = append });
		snprintf(want, sizeof(want), "tarpipe: src/f: grew while it was "
					     "read: its first %zu bytes are "
					     "copied\n", sizes[i]);
		assert_string_equal(copy(), want);
		assert_done(STATUS_CHANGED);
		assert_prefix(sizes[i]);
	}
}

static void touch(void)
{
	struct timespec times[2] = { { 5, 5 }, { 6, 6 } };

	assert_int_equal(utimensat(AT_FDCWD, "src/f", times, 0), 0);
}

static void a_file_that_is_written_to(void **state)
{
	(void)state;
	put_source(LARGE);
	fault_set(PREAD, (struct fault){ .name = "src/f", .after = 1,
					 .hook = touch });
	assert_string_equal(copy(),
			    "tarpipe: src/f: changed while it was read\n");
	assert_done(STATUS_CHANGED);
	assert_names("dst", "f z");
}

static void a_second_look_that_fails(void **state)
{
	(void)state;
	put_source(LARGE);
	fault_set(FSTAT, (struct fault){ .name = "src/f", .after = 1,
					 .err = EIO });
	assert_string_equal(copy(), "tarpipe: src/f: fstat: Input/output error\n");
	assert_done(STATUS_PARTIAL);
}

/* ---- names that change before they are opened ---- */

static void vanish(void)
{
	assert_int_equal(unlink("src/f"), 0);
}

static void become_a_fifo(void)
{
	vanish();
	assert_int_equal(mkfifo("src/f", 0666), 0);
}

static void become_a_symlink(void)
{
	put_file("secret", "not for them");
	vanish();
	assert_int_equal(symlink("../secret", "src/f"), 0);
}

static void become_a_directory(void)
{
	vanish();
	put_dir("src/f");
}

static void assert_changes(void (*hook)(void), const char *message)
{
	put_source(SMALL);
	fault_set(OPENAT, (struct fault){ .name = "src/f", .hook = hook });
	assert_string_equal(copy(), message);
	assert_int_equal(fault_hits(OPENAT), 1);
	assert_done(STATUS_CHANGED);
	assert_left_out();
}

static void a_file_that_vanishes(void **state)
{
	(void)state;
	assert_changes(vanish, "tarpipe: src/f: opening: No such file or "
			       "directory\n");
}

static void a_file_that_becomes_a_fifo(void **state)
{
	(void)state;
	assert_changes(become_a_fifo, "tarpipe: src/f: is no regular file any "
				      "more: left out\n");
}

static void a_file_that_becomes_a_symlink(void **state)
{
	(void)state;
	assert_changes(become_a_symlink, "tarpipe: src/f: opening: Too many levels "
					 "of symbolic links\n");
}

static void a_file_that_becomes_a_directory(void **state)
{
	(void)state;
	assert_changes(become_a_directory, "tarpipe: src/f: is no regular file any "
					   "more: left out\n");
}

/* ---- files that can't be opened ---- */

static void a_file_that_can_not_be_opened(void **state)
{
	static const int errors[] = { EACCES, EIO, EMFILE };
	static const char *const reasons[] = {
		"Permission denied", "Input/output error", "Too many open files",
	};
	char want[128];

	(void)state;
	for (int i = 0; i < 3; i++) {
		put_source(SMALL);
		fault_set(OPENAT, (struct fault){ .name = "src/f",
						  .err = errors[i] });
		snprintf(want, sizeof(want), "tarpipe: src/f: opening: %s\n",
			 reasons[i]);
		assert_string_equal(copy(), want);
		assert_done(STATUS_PARTIAL);
		assert_left_out();
	}
}

static void o_noatime_that_is_not_allowed(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(OPENAT, (struct fault){ .name = "src/f", .err = EPERM });
	assert_string_equal(copy(), "");
	assert_int_equal(fault_hits(OPENAT), 1);
	assert_done(STATUS_OK);
	assert_prefix(SMALL);
}

static void a_file_without_a_stat(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(FSTAT, (struct fault){ .name = "src/f", .err = EIO });
	assert_string_equal(copy(), "tarpipe: src/f: fstat: Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_left_out();
}

/* ---- other types ---- */

static void become_a_file(void)
{
	assert_int_equal(unlink("src/l"), 0);
	put_file("src/l", "");
}

static void symlinks_that_change_or_fail(void **state)
{
	(void)state;
	put_file("src/z", "the rest");
	assert_int_equal(symlink("t", "src/l"), 0);
	fault_set(READLINKAT, (struct fault){ .name = "src/l", .err = EIO });
	assert_string_equal(copy(),
			    "tarpipe: src/l: readlinkat: Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_left_out();
	diag_reset();
	fault_set(FSTATAT, (struct fault){ .name = "src/l", .err = ENOENT });
	assert_string_equal(copy(), "tarpipe: src/l: fstatat: No such file or "
				    "directory\n");
	assert_done(STATUS_CHANGED);
	assert_left_out();
	diag_reset();
	fault_set(FSTATAT, (struct fault){ .name = "src/l",
					   .hook = become_a_file });
	assert_string_equal(copy(), "tarpipe: src/l: has become another type of "
				    "file: left out\n");
	assert_done(STATUS_CHANGED);
	assert_left_out();
}

/* ---- several names ---- */

/* The other names take its place: one of them is read, the rest are links to it. */
static void assert_taken_over(size_t size, unsigned after)
{
	char path[16];
	int there = 0;

	put_source(size);
	for (char name = 'g'; name <= 'i'; name++) {
		snprintf(path, sizeof(path), "src/%c", name);
		(void)unlink(path);
		assert_int_equal(link("src/f", path), 0);
	}
	/* Whichever name comes first. */
	fault_set(PREAD, (struct fault){ .after = after, .err = EIO });
	assert_non_null(strstr(copy(), ": reading at byte "));
	assert_done(STATUS_PARTIAL);
	for (char name = 'f'; name <= 'i'; name++) {
		snprintf(path, sizeof(path), "dst/%c", name);
		if (!is_there(path))
			continue;
		there++;
		assert_bytes(path, noise, size);
		assert_int_equal(stat_of(path).st_nlink, 3);
	}
	assert_int_equal(there, 3);
}

static void a_small_first_name_that_can_not_be_read(void **state)
{
	(void)state;
	assert_taken_over(SMALL, 0);
}

static void a_large_first_name_that_can_not_be_read(void **state)
{
	(void)state;
	assert_taken_over(LARGE, 3);
}

/* ---- attributes ---- */

static void need_attributes(void)
{
	if (setxattr("src/f", "user.k", "v", 1, 0) != 0)
		skip();
}

static void attributes_that_can_not_be_listed(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(LISTXATTR, (struct fault){ .name = "src/f", .err = EIO });
	assert_string_equal(copy(), "tarpipe: src/f: listing its attributes: "
				    "Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_prefix(SMALL);
}

static void an_attribute_that_can_not_be_read(void **state)
{
	(void)state;
	put_source(SMALL);
	need_attributes();
	fault_set(GETXATTR, (struct fault){ .name = "src/f", .err = EIO });
	assert_string_equal(copy(), "tarpipe: src/f: reading attribute user.k: "
				    "Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_prefix(SMALL);
	assert_int_equal(getxattr("dst/f", "user.k", NULL, 0), -1);
}

static void an_attribute_that_vanishes(void **state)
{
	(void)state;
	put_source(SMALL);
	need_attributes();
	fault_set(GETXATTR, (struct fault){ .name = "src/f", .err = ENODATA });
	assert_string_equal(copy(), "tarpipe: src/f: reading attribute user.k: No "
				    "data available\n");
	assert_done(STATUS_CHANGED);
	assert_prefix(SMALL);
}

/* ---- the other side gives up ---- */

static void give_up(void)
{
	ring_abort(sink.ring, EIO);
}

/* In the middle of a file, before any, and at its last byte: the packer goes home. */
static void an_abort_in_the_middle_of_a_file(void **state)
{
	static const unsigned after[] = { 0, 1, 5, 9 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_source(LARGE);
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .after = after[i],
						 .hook = give_up });
		assert_string_equal(copy(), "");
		assert_int_equal(fault_hits(PREAD), 1);
		if (i < 3)		/* what is left then needs no room */
			assert_int_equal(packed, -1);
		assert_int_equal(joined, -1);
		assert_int_equal(lost, 0);
		assert_false(is_there("dst/f"));
	}
}

static void an_abort_before_a_small_file_is_told(void **state)
{
	(void)state;
	put_source(SMALL);
	put_file("dst/f", "old");
	fault_set(PREAD, (struct fault){ .name = "src/f", .hook = give_up });
	assert_string_equal(copy(), "");
	assert_int_equal(joined, -1);
	assert_int_equal(lost, 0);
	assert_text("dst/f", "old");
}

/* (A descriptor whose END is in the ring and never taken is left to the exit.) */
static void an_abort_beside_a_reference(void **state)
{
	static const enum fault_call calls[] = { LISTXATTR, GETXATTR };

	(void)state;
	put_source(LARGE);
	need_attributes();
	sink.opts.reflink = REFLINK_AUTO;
	for (int i = 0; i < 2; i++) {
		fault_set(calls[i], (struct fault){ .name = "src/f",
						    .hook = give_up });
		assert_string_equal(copy(), "");
		assert_int_equal(fault_hits(calls[i]), 1);
		assert_int_equal(joined, -1);
		assert_false(is_there("dst/f"));
	}
}

/* ---- holes ---- */

/* 64 KiB of data in 2 MiB; skips the test where there are no holes. */
static void put_sparse(void)
{
	int fd;
	struct stat st;

	put_source(0);
	fd = open("src/f", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, noise, 65536, 1 << 20), 65536);
	assert_int_equal(ftruncate(fd, 2 << 20), 0);
	close(fd);
	st = stat_of("src/f");
	if (st.st_blocks * 512 >= st.st_size)
		skip();
	memmove(noise + (1 << 20), noise, 65536);
	memset(noise, 0, 1 << 20);
	memset(noise + (1 << 20) + 65536, 0, (1 << 20) - 65536);
}

static void holes_stay_holes(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		sink.opts.reflink = i ? REFLINK_AUTO : REFLINK_NEVER;
		put_sparse();
		assert_string_equal(copy(), "");
		assert_done(STATUS_OK);
		assert_prefix(2 << 20);
		assert_true(stat_of("dst/f").st_blocks <=
			    stat_of("src/f").st_blocks + 16);
	}
}

/* What was just written may be reported as a hole until it is synced. */
static void a_fresh_file_is_settled_before_its_holes_are_believed(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		sink.opts.reflink = i ? REFLINK_AUTO : REFLINK_NEVER;
		put_sparse();
		fault_set(FDATASYNC, (struct fault){ .name = "src/f" });
		assert_string_equal(copy(), "");
		assert_int_equal(fault_hits(FDATASYNC), 1);
		assert_done(STATUS_OK);
		assert_prefix(2 << 20);
	}
}

static void what_can_not_be_settled_is_read_whole(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		sink.opts.reflink = i ? REFLINK_AUTO : REFLINK_NEVER;
		put_sparse();
		fault_set(FDATASYNC, (struct fault){ .name = "src/f",
						     .err = EIO });
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .times = EVERY_TIME });
		assert_string_equal(copy(), "");
		assert_true(fault_hits(PREAD) >= 2);
		assert_done(STATUS_OK);
		assert_prefix(2 << 20);
		assert_true(stat_of("dst/f").st_blocks <=
			    stat_of("src/f").st_blocks + 16);
	}
}

/* ---- sizes that mean nothing ---- */

static void files_of_procfs_are_read_to_their_end(void **state)
{
	char want[4096] = { 0 };
	FILE *file = fopen("/proc/version", "re");

	(void)state;
	if (!file)
		skip();
	size_t len = fread(want, 1, sizeof(want), file);
	fclose(file);
	assert_string_equal(copy_from("/proc/version", "version"), "");
	assert_done(STATUS_OK);
	assert_bytes("dst/version", want, len);
}

/* ---- what goes into the ring ---- */

static const char *const type_names[] = {
	"?", "START", "DIR", "LEAVE", "FILE", "SYMLINK", "NODE", "LINK",
	"PATHLINK", "PIECE", "SPAN",
	"REF", "SUMS", "XATTR", "END", "USER", "GROUP", "FINISH",
};

/* The records of "src" as one line: types, `(name)`, flags as + (more), ! (last). */
static const char *records(void)
{
	static char line[4096];
	struct record record;
	const void *bytes;
	size_t size, len = 0;

	line[0] = '\0';
	sink_open(&sink);
	open_pack();
	assert_int_equal(pack_root(pack, "src", NULL, false, false), 0);
	assert_int_equal(pack_finish(pack), 0);
	while (ring_peek(sink.ring, &bytes, &size) > 0) {
		assert_int_equal(record_decode(&record, bytes, size), 0);
		assert_true(record.size <= ring_span_max(sink.ring));
		len += (size_t)snprintf(
			line + len, sizeof(line) - len, "%s%s%s%s%s%s%s",
			len ? " " : "", type_names[record.type],
			record.name ? "(" : "", record.name ? record.name : "",
			record.name ? ")" : "",
			record.flags & RECORD_MORE ? "+" : "",
			record.type == RECORD_LINK && record.flags & RECORD_LAST ?
				"!" :
				"");
		ring_release(sink.ring, ring_take(sink.ring, record.size));
	}
	pack_free(pack);
	sink_close(&sink);
	return line;
}

static void a_small_file_is_three_records(void **state)
{
	(void)state;
	assert_string_equal(records(), "START LEAVE FINISH");
	put_file("src/f", "text");
	assert_string_equal(records(), "START FILE(f) PIECE END LEAVE FINISH");
	put_file("src/f", "");
	assert_string_equal(records(), "START FILE(f) END LEAVE FINISH");
}

static void directories_enclose_what_is_in_them(void **state)
{
	(void)state;
	put_dir("src/d");
	put_dir("src/d/e");
	assert_int_equal(mkfifo("src/d/p", 0600), 0);
	assert_int_equal(symlink("t", "src/d/e/l"), 0);
	assert_string_equal(records(), "START DIR(d) NODE(p) DIR(e) SYMLINK(l) "
				       "LEAVE LEAVE LEAVE FINISH");
}

static void further_names_are_links_if_links_are_kept(void **state)
{
	(void)state;
	put_file("src/a", "");
	assert_int_equal(link("src/a", "src/b"), 0);
	assert_int_equal(link("src/a", "out"), 0);
	const char *line = records();
	assert_non_null(strstr(line, "END LINK("));
	assert_null(strchr(line, '!'));		/* `out` has not come */
	assert_int_equal(unlink("out"), 0);
	assert_non_null(strstr(records(), ")!"));
	sink.opts.preserve &= ~(unsigned)PRESERVE_LINKS;
	assert_null(strstr(records(), "LINK("));
}

static void special_files_come_if_they_are_kept(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("src/p", 0600), 0);
	assert_int_equal(symlink("t", "src/l"), 0);
	sink.opts.preserve &= ~(unsigned)PRESERVE_SPECIAL;
	assert_string_equal(records(), "START SYMLINK(l) LEAVE FINISH");
}

static void attributes_follow_the_data_in_order(void **state)
{
	(void)state;
	put_source(1);
	assert_int_equal(unlink("src/z"), 0);
	need_attributes();
	assert_int_equal(setxattr("src", "user.d", "", 0, 0), 0);
	assert_string_equal(records(), "START FILE(f)+ PIECE XATTR(user.k) END "
				       "LEAVE+ XATTR(user.d) END FINISH");
	sink.opts.preserve &= ~(unsigned)PRESERVE_XATTR;
	assert_string_equal(records(), "START FILE(f) PIECE END LEAVE FINISH");
}

/* No record is above a quarter of the ring, however large a value is. */
static void a_large_value_comes_in_parts(void **state)
{
	(void)state;
	put_source(1);
	assert_int_equal(unlink("src/z"), 0);
	need_attributes();
	sink.memory = 2 * RING_SIZE_MIN;	/* all of it has to fit */
	made_up_value = 50000;
	const char *line = records();
	assert_non_null(strstr(line, "PIECE XATTR(user.k) XATTR(user.k) END"));
	assert_null(strstr(line, "XATTR(user.k) XATTR(user.k) XATTR(user.k)"));
	sink.memory = RING_SIZE_MIN;
	values_set = 0;
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	assert_int_equal(values_set, 1);
}

static void owners_are_named_before_they_are_used(void **state)
{
	(void)state;
	put_file("src/f", "");
	sink.opts.names = true;
	const char *line = records(), *user = strstr(line, "USER(");

	if (!user)
		skip();			/* a number without a name */
	assert_true(user < strstr(line, "FILE(f)"));
	assert_null(strstr(user + 1, "USER("));		/* once */
}

static void large_files_on_a_network_are_read_in_order(void **state)
{
	static const struct { long magic; unsigned times; } kinds[] = {
		{ FUSE_SUPER_MAGIC, 1 }, { NFS_SUPER_MAGIC, 1 },
		{ (int)0xFF534D42, 1 },		/* CIFS, where it has a sign */
		{ EXT4_SUPER_MAGIC, 0 }, { TMPFS_MAGIC, 0 },
	};
	static unsigned char bytes[1 << 20];

	(void)state;
	put_noise(bytes, sizeof(bytes), 1);
	put_bytes("src/large", bytes, sizeof(bytes));
	put_file("src/small", "small");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		made_up_magic = kinds[i].magic;
		advised = 0;
		assert_string_equal(copy(), "");
		assert_int_equal(advised, kinds[i].times);
		assert_bytes("dst/large", bytes, sizeof(bytes));
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* ---- what is chosen ---- */

static const char *copy_listed(const char *names)
{
	put_file("list", names);
	listed = names_open("list", false);
	assert_non_null(listed);
	const char *told = copy();
	names_close(listed);
	return told;
}

static void set_past(const char *path)
{
	const struct timespec past[2] = { { 1000, 5 }, { 2000, 7 } };

	assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
}

static void put_chosen(void)
{
	put_dir("src/a");
	put_dir("src/a/b");
	put_file("src/a/b/f", "f");
	put_file("src/a/b/y", "y");
	put_file("src/a/z", "z");
	put_file("src/g", "g");
	assert_int_equal(chmod("src/a", 0751), 0);
	set_past("src/a/b");
	set_past("src/a");
}

/* The directories on the way have what they have at the source, entered twice or not. */
static void names_of_a_list_arrive(void **state)
{
	(void)state;
	put_chosen();
	assert_string_equal(copy_listed("a/b/f\ng\na/z\na/b/y\n"), "");
	assert_done(STATUS_OK);
	assert_names("dst", "a g");
	assert_names("dst/a", "b z");
	assert_names("dst/a/b", "f y");
	assert_text("dst/a/b/f", "f");
	assert_text("dst/a/b/y", "y");
	assert_int_equal(mode_of("dst/a"), 0751);
	assert_int_equal(stat_of("dst/a").st_mtim.tv_sec, 2000);
	assert_int_equal(stat_of("dst/a").st_mtim.tv_nsec, 7);
	assert_int_equal(stat_of("dst/a/b").st_mtim.tv_sec, 2000);
}

static void what_a_list_has_not_does_not_arrive(void **state)
{
	(void)state;
	put_chosen();
	assert_string_equal(copy_listed("none\na/z\n"),
			    "tarpipe: src/none: fstatat: No such file or "
			    "directory\n");
	assert_done(STATUS_PARTIAL);
	assert_names("dst", "a");
	assert_names("dst/a", "z");
}

/* Its second name lies in a directory that was left and is entered again. */
static void links_among_names_of_a_list(void **state)
{
	(void)state;
	put_chosen();
	assert_int_equal(link("src/g", "src/a/g2"), 0);
	assert_string_equal(copy_listed("a/z\ng\na/g2\n"), "");
	assert_done(STATUS_OK);
	assert_int_equal(stat_of("dst/g").st_ino, stat_of("dst/a/g2").st_ino);
}

static bool not_b(void *arg, const char *path, bool directory)
{
	(void)arg;
	return !directory || strcmp(path, "a/b") != 0;
}

static void what_is_not_wanted_does_not_arrive(void **state)
{
	(void)state;
	put_chosen();
	fault_set(OPENAT, (struct fault){ .name = "src/a/b", .err = EACCES });
	wanted = not_b;
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	assert_int_equal(fault_hits(OPENAT), 0);
	assert_names("dst", "a g");
	assert_names("dst/a", "z");
}

static void paths_arrive_cut_short(void **state)
{
	(void)state;
	put_chosen();
	put_dir("src/c");
	put_dir("src/c/b");
	put_file("src/c/b/w", "w");
	strip = 1;
	assert_string_equal(copy(), "");
	assert_done(STATUS_OK);
	assert_names("dst", "b z");
	assert_names("dst/b", "f w y");
	assert_text("dst/b/w", "w");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tree_arrives_whole),
		TEST(sizes_around_every_limit),
		TEST(a_read_that_fails_at_once),
		TEST(a_read_that_fails_later),
		TEST(a_read_that_fails_leaves_the_old_file),
		TEST(an_interrupted_read_goes_on),
		TEST(a_short_read_of_a_small_file_goes_on),
		TEST(a_short_read_of_a_large_file_goes_on),
		TEST(a_file_that_shrinks),
		TEST(a_file_that_grows),
		TEST(a_file_that_is_written_to),
		TEST(a_second_look_that_fails),
		TEST(a_file_that_vanishes),
		TEST(a_file_that_becomes_a_fifo),
		TEST(a_file_that_becomes_a_symlink),
		TEST(a_file_that_becomes_a_directory),
		TEST(a_file_that_can_not_be_opened),
		TEST(o_noatime_that_is_not_allowed),
		TEST(a_file_without_a_stat),
		TEST(symlinks_that_change_or_fail),
		TEST(a_small_first_name_that_can_not_be_read),
		TEST(a_large_first_name_that_can_not_be_read),
		TEST(attributes_that_can_not_be_listed),
		TEST(an_attribute_that_can_not_be_read),
		TEST(an_attribute_that_vanishes),
		TEST(an_abort_in_the_middle_of_a_file),
		TEST(an_abort_before_a_small_file_is_told),
		TEST(an_abort_beside_a_reference),
		TEST(holes_stay_holes),
		TEST(a_fresh_file_is_settled_before_its_holes_are_believed),
		TEST(what_can_not_be_settled_is_read_whole),
		TEST(files_of_procfs_are_read_to_their_end),
		TEST(a_small_file_is_three_records),
		TEST(directories_enclose_what_is_in_them),
		TEST(further_names_are_links_if_links_are_kept),
		TEST(special_files_come_if_they_are_kept),
		TEST(attributes_follow_the_data_in_order),
		TEST(a_large_value_comes_in_parts),
		TEST(owners_are_named_before_they_are_used),
		TEST(names_of_a_list_arrive),
		TEST(what_a_list_has_not_does_not_arrive),
		TEST(links_among_names_of_a_list),
		TEST(what_is_not_wanted_does_not_arrive),
		TEST(paths_arrive_cut_short),
		TEST(large_files_on_a_network_are_read_in_order),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
