/* SPDX-License-Identifier: BSD-2-Clause */
/* Holes, and copying by reference. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "extent.h"
#include "faults.h"
#include "thread.h"
#include "tree.h"

WRAPPED(off_t, lseek, int fd, off_t at, int whence)
{
	if ((whence == SEEK_DATA || whence == SEEK_HOLE) &&
	    fault_due(LSEEK, whence == SEEK_DATA ? "data" : "hole", NULL))
		return -1;
	return __real_lseek(fd, at, whence);
}

WRAPPED(int, fdatasync, int fd)
{
	return fault_due(FDATASYNC, NULL, NULL) ? -1 : __real_fdatasync(fd);
}

/* A clone is never made here: what the calls below it do is what counts. */
static int clone_error, cloned;

WRAPPED(int, ioctl, int fd, unsigned long request, int from)
{
	(void)fd, (void)from;
	assert_true(request == FICLONE);
	cloned++;
	errno = clone_error;
	return clone_error ? -1 : 0;
}

WRAPPED(ssize_t, copy_file_range, int in, off_t *from, int out, off_t *to,
	size_t len, unsigned flags)
{
	if (fault_due(RANGE, NULL, &len))
		return -1;
	return __real_copy_file_range(in, from, out, to, len, flags);
}

/* What file system it is, and what becomes of the next fallocate calls. */
static long magic;
static int reserve_errors[4];
static unsigned asked, reserved;

WRAPPED(int, fstatfs, int fd, struct statfs *fs)
{
	(void)fd;
	asked++;
	fs->f_type = magic;
	return 0;
}

WRAPPED(int, fallocate, int fd, int mode, off_t from, off_t size)
{
	(void)fd;
	assert_int_equal(mode, FALLOC_FL_KEEP_SIZE);
	assert_int_equal(from, 0);
	assert_int_equal(size, 12345);
	errno = reserve_errors[reserved++];
	return errno ? -1 : 0;
}

enum { BLOCK = 64 << 10 };

static int setup(void **state)
{
	faults_clear();
	clone_error = EOPNOTSUPP;
	cloned = 0;
	magic = EXT4_SUPER_MAGIC;
	asked = reserved = 0;
	memset(reserve_errors, 0, sizeof(reserve_errors));
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	return tree_teardown(state);
}

/* ---- holes ---- */

/*
 * A file as a picture: `#` is a block of data, `.` one of hole.  Skips the test
 * where the file system keeps no holes.
 */
static int put_picture(const char *path, const char *picture)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	unsigned char block[BLOCK];
	struct stat st;

	assert_true(fd >= 0);
	for (size_t i = 0; picture[i]; i++)
		if (picture[i] == '#') {
			put_noise(block, BLOCK, (uint32_t)i + 1);
			assert_int_equal(pwrite(fd, block, BLOCK,
						(off_t)(i * BLOCK)), BLOCK);
		}
	assert_int_equal(ftruncate(fd, (off_t)(strlen(picture) * BLOCK)), 0);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	if (strchr(picture, '.') && !extent_sparse(&st)) {
		close(fd);
		skip();
	}
	return fd;
}

/* The picture that extent_next gives of it. */
static const char *picture_of(int fd, uint64_t size)
{
	static char picture[64];
	uint64_t at = 0, start = 0, end = 0;

	memset(picture, 0, sizeof(picture));
	memset(picture, '.', size / BLOCK);
	while (extent_next(fd, at, size, &start, &end) > 0) {
		assert_true(start >= at && end > start && end <= size);
		for (at = start; at < end; at += BLOCK)
			picture[at / BLOCK] = '#';
		at = end;
	}
	return picture;
}

static void holes_are_found_wherever_they_are(void **state)
{
	static const char *const pictures[] = {
		"#", "##", ".#", "#.", "...", "#.#", ".#.", "..##..#.#...",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++) {
		int fd = put_picture("f", pictures[i]);

		assert_string_equal(picture_of(fd, strlen(pictures[i]) * BLOCK),
				    pictures[i]);
		close(fd);
	}
}

static void an_extent_ends_where_the_file_was_to_end(void **state)
{
	int fd = put_picture("f", "####");
	uint64_t start, end;

	(void)state;
	/* It has grown since its size was taken. */
	assert_int_equal(extent_next(fd, 0, BLOCK + 5, &start, &end), 1);
	assert_int_equal(start, 0);
	assert_int_equal(end, BLOCK + 5);
	assert_int_equal(extent_next(fd, end, BLOCK + 5, &start, &end), 0);
	close(fd);
}

static void a_hole_behind_the_size_is_none_of_ours(void **state)
{
	int fd = put_picture("f", "..#");
	uint64_t start, end;

	(void)state;
	assert_int_equal(extent_next(fd, 0, BLOCK, &start, &end), 0);
	close(fd);
}

static void an_empty_file_has_no_data(void **state)
{
	int fd = put_picture("f", "");
	uint64_t start, end;

	(void)state;
	assert_int_equal(extent_next(fd, 0, 0, &start, &end), 0);
	close(fd);
}

static void who_can_not_tell_says_so(void **state)
{
	int fd = put_picture("f", "#");
	uint64_t start, end;

	(void)state;
	fault_set(LSEEK, (struct fault){ .name = "data", .err = EINVAL });
	assert_int_equal(extent_next(fd, 0, BLOCK, &start, &end), -1);
	assert_int_equal(errno, EINVAL);
	fault_set(LSEEK, (struct fault){ .name = "hole", .err = EIO });
	assert_int_equal(extent_next(fd, 0, BLOCK, &start, &end), -1);
	assert_int_equal(errno, EIO);
	close(fd);
}

static void fewer_blocks_than_bytes_is_sparse(void **state)
{
	struct stat st = { .st_size = 4096, .st_blocks = 8 };

	(void)state;
	assert_false(extent_sparse(&st));
	st.st_blocks = 7;
	assert_true(extent_sparse(&st));
	st.st_blocks = 16;
	assert_false(extent_sparse(&st));
	st.st_size = 0;
	st.st_blocks = 0;
	assert_false(extent_sparse(&st));
	st.st_size = 1;
	assert_true(extent_sparse(&st));
	st.st_size = (off_t)9 << 40;
	st.st_blocks = (blkcnt_t)9 << 31;
	assert_false(extent_sparse(&st));
}

static void what_is_fresh_is_settled_first(void **state)
{
	int fd = put_picture("f", "#");
	time_t now = time(NULL);
	struct stat st = { 0 };

	(void)state;
	st.st_mtim.tv_sec = st.st_ctim.tv_sec = now - 3600;
	fault_set(FDATASYNC, (struct fault){ .times = EVERY_TIME, .err = EIO });
	assert_int_equal(extent_settle(fd, &st), 0);
	assert_int_equal(fault_hits(FDATASYNC), 0);	/* old: not asked for */
	st.st_mtim.tv_sec = now;
	assert_int_equal(extent_settle(fd, &st), -1);
	st.st_mtim.tv_sec = now - 3600;
	st.st_ctim.tv_sec = now;	/* the time was set, the data are new */
	assert_int_equal(extent_settle(fd, &st), -1);
	assert_int_equal(fault_hits(FDATASYNC), 2);
	faults_clear();
	assert_int_equal(extent_settle(fd, &st), 0);
	close(fd);
}

static void zeros_are_known_to_the_byte(void **state)
{
	unsigned char bytes[4097] = { 0 };

	(void)state;
	assert_true(extent_zero(bytes, 0));
	for (size_t len = 1; len <= sizeof(bytes); len = len * 2 - 1 + (len < 3)) {
		assert_true(extent_zero(bytes, len));
		bytes[len - 1] = 1;
		assert_false(extent_zero(bytes, len));
		assert_true(extent_zero(bytes, len - 1));
		bytes[len - 1] = 0;
		bytes[0] = 0x80;
		assert_false(extent_zero(bytes, len));
		bytes[0] = 0;
	}
	assert_true(extent_zero(bytes, sizeof(bytes)));
}

/* ---- references: how many may wait ---- */

static void places_are_given_and_taken_back(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 2);

	(void)state;
	assert_true(references_enter(refs));
	assert_true(references_try(refs));
	assert_false(references_try(refs));
	references_leave(refs);
	assert_true(references_try(refs));
	references_free(refs);
}

struct waiter {
	struct references *refs;
	struct thread thread;
	uint64_t done;
	bool entered;
};

static void waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	waiter->entered = references_enter(waiter->refs);
	count_add(&waiter->done, 1);
}

static void waiter_start(struct waiter *waiter, struct references *refs)
{
	*waiter = (struct waiter){ .refs = refs };
	assert_int_equal(thread_start(&waiter->thread, "waiter", waiter_run,
				      waiter), 0);
	usleep(5000);
	assert_int_equal(count_get(&waiter->done), 0);
}

static void who_finds_no_place_waits_for_one(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct waiter waiter;

	(void)state;
	assert_true(references_enter(refs));
	waiter_start(&waiter, refs);
	references_leave(refs);
	thread_join(&waiter.thread);
	assert_true(waiter.entered);
	references_free(refs);
}

static void a_cancel_ends_the_wait_for_good(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct waiter waiter;

	(void)state;
	assert_true(references_enter(refs));
	assert_false(references_cancelled(refs));
	waiter_start(&waiter, refs);
	references_cancel(refs);
	thread_join(&waiter.thread);
	assert_false(waiter.entered);
	assert_true(references_cancelled(refs));
	references_leave(refs);
	assert_false(references_enter(refs));
	assert_false(references_try(refs));
	references_free(refs);
}

/* ---- copying ---- */

/* Copies `in` to a new file "to"; the copy's result is *copy, its errno kept. */
static int copy_to(struct references *refs, int in, struct extent_copy *copy)
{
	struct stat st;
	int got, err;

	assert_int_equal(fstat(in, &st), 0);
	copy->in = in;
	copy->out = open("to", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	copy->from = 1;
	copy->to = 2;
	if (copy->size == 0)
		copy->size = (uint64_t)st.st_size;
	copy->sparse = extent_sparse(&st);
	got = references_copy(refs, copy);
	err = errno;
	assert_int_equal(ftruncate(copy->out, (off_t)copy->size), 0);
	close(copy->out);
	errno = err;
	return got;
}

/* The first `len` bytes of both files are the same. */
static void assert_same_bytes(const char *a, const char *b, uint64_t len)
{
	int fd[2] = { open(a, O_RDONLY | O_CLOEXEC),
		      open(b, O_RDONLY | O_CLOEXEC) };
	unsigned char one[4096], other[4096];

	for (uint64_t at = 0; at < len; at += sizeof(one)) {
		assert_int_equal(pread(fd[0], one, sizeof(one), (off_t)at),
				 sizeof(one));
		assert_int_equal(pread(fd[1], other, sizeof(other), (off_t)at),
				 sizeof(other));
		if (memcmp(one, other, sizeof(one)) != 0)
			fail_msg("%s and %s differ near byte %ju", a, b,
				 (uintmax_t)at);
	}
	close(fd[0]);
	close(fd[1]);
}

/* Skips the test where copy_file_range does not work in the scratch directory. */
static void need_ranges(void)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("probe", "#");
	bool works = copy_to(refs, in, &copy) == 0 && copy.done == copy.size;

	close(in);
	references_free(refs);
	cloned = 0;
	if (!works)
		skip();
}

static void a_clone_is_all_there_is_to_do(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "###");

	(void)state;
	clone_error = 0;
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME, .err = EIO });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 3 * BLOCK);
	assert_int_equal(cloned, 1);
	assert_int_equal(fault_hits(RANGE), 0);
	close(in);
	references_free(refs);
}

static void without_clones_ranges_are_copied(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", "###");
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 3 * BLOCK);
	assert_same_bytes("f", "to", 3 * BLOCK);
	close(in);
	references_free(refs);
}

static void holes_stay_holes(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	struct stat st, to;
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", "..##....#...");
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 12 * BLOCK);
	assert_same_bytes("f", "to", 12 * BLOCK);
	st = stat_of("f");
	to = stat_of("to");
	assert_true(to.st_blocks <= st.st_blocks + 16);
	close(in);
	references_free(refs);
}

/* Short answers, as at a signal, are gone on from. */
static void ranges_may_come_in_pieces(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", "#.##");
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME, .most = 10000 });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 4 * BLOCK);
	assert_true(fault_hits(RANGE) > 15);
	assert_same_bytes("f", "to", 4 * BLOCK);
	fault_set(RANGE, (struct fault){ .times = 3, .err = EINTR });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 4 * BLOCK);
	assert_int_equal(fault_hits(RANGE), 3);
	close(in);
	references_free(refs);
}

static void a_file_that_ends_early_is_done_so_far(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { .size = 5 * BLOCK };
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", "##");
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 2 * BLOCK);
	close(in);
	references_free(refs);
}

static void a_failing_range_is_an_error(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT, EFBIG };
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fault_set(RANGE, (struct fault){ .err = errors[i] });
		assert_int_equal(copy_to(refs, in, &copy), -1);
		assert_int_equal(errno, errors[i]);
	}
	close(in);
	references_free(refs);
}

static void a_failing_clone_is_an_error(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	clone_error = ENOSPC;
	assert_int_equal(copy_to(refs, in, &copy), -1);
	assert_int_equal(errno, ENOSPC);
	close(in);
	references_free(refs);
}

/* What never works between two devices is asked for once ... */
static void what_never_works_is_remembered_by_device(void **state)
{
	static const int errors[] = { EXDEV, EOPNOTSUPP, ENOTTY, ENOSYS };
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct references *refs = references_new(REFLINK_AUTO, 1);

		cloned = 0;
		clone_error = errors[i];
		fault_set(RANGE, (struct fault){ .times = EVERY_TIME,
						 .err = errors[i] });
		assert_true(references_possible(refs, 1, 2));
		for (int n = 0; n < 3; n++) {
			assert_int_equal(copy_to(refs, in, &copy), 0);
			assert_int_equal(copy.done, 0);	/* to be read instead */
		}
		assert_int_equal(cloned, 1);
		assert_int_equal(fault_hits(RANGE), 1);
		assert_false(references_possible(refs, 1, 2));
		assert_true(references_possible(refs, 2, 1));
		assert_true(references_possible(refs, 1, 1));
		references_free(refs);
	}
	close(in);
}

/* ... what does not work for one file is tried for the next. */
static void what_fails_for_one_file_is_not(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	clone_error = EINVAL;
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME, .err = EINVAL });
	for (int n = 0; n < 3; n++) {
		assert_int_equal(copy_to(refs, in, &copy), 0);
		assert_int_equal(copy.done, 0);
	}
	assert_int_equal(cloned, 3);
	assert_int_equal(fault_hits(RANGE), 3);
	assert_true(references_possible(refs, 1, 2));
	close(in);
	references_free(refs);
}

static void never_means_never(void **state)
{
	struct references *refs = references_new(REFLINK_NEVER, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	assert_false(references_possible(refs, 1, 1));
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME, .err = EIO });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 0);
	assert_int_equal(cloned, 0);
	assert_int_equal(fault_hits(RANGE), 0);
	close(in);
	references_free(refs);
}

static void always_means_a_clone_or_an_error(void **state)
{
	struct references *refs = references_new(REFLINK_ALWAYS, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "##");

	(void)state;
	for (int n = 0; n < 2; n++) {
		assert_true(references_possible(refs, 1, 2));
		fault_set(RANGE, (struct fault){ .err = EIO });
		errno = 0;
		assert_int_equal(copy_to(refs, in, &copy), -1);
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_equal(fault_hits(RANGE), 0);
	}
	close(in);
	references_free(refs);
}

static struct references *to_cancel;

static void cancel(void)
{
	references_cancel(to_cancel);
}

/* The piece at hand is the last. */
static void a_cancel_stops_a_copy(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in = put_picture("f", "####");

	(void)state;
	to_cancel = refs;
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME, .most = BLOCK,
					 .hook = cancel });
	assert_int_equal(copy_to(refs, in, &copy), -1);
	assert_int_equal(errno, ECANCELED);
	assert_int_equal(fault_hits(RANGE), 1);
	close(in);
	references_free(refs);
}

/* ---- a file system that is wrong about its holes ---- */

/* Not being able to tell leaves the rest to be read. */
static void holes_that_can_not_be_found_are_read(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", "#.#.");
	fault_set(LSEEK, (struct fault){ .after = 2, .times = EVERY_TIME,
					 .err = EINVAL });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, BLOCK);
	close(in);
	references_free(refs);
}

/* "No data" of a file that has blocks is not believed: it would become zeros. */
static void nothing_but_hole_is_not_believed_of_a_file_with_blocks(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in;

	(void)state;
	need_ranges();
	in = put_picture("f", ".##.");
	fault_set(LSEEK, (struct fault){ .name = "data", .times = EVERY_TIME,
					 .err = ENXIO });
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_true(fault_hits(LSEEK) > 0);
	if (copy.done == copy.size)
		assert_same_bytes("f", "to", copy.size);
	close(in);
	references_free(refs);
}

static void clones_may_be_all_that_is_tried(void **state)
{
	struct references *refs = references_new(REFLINK_AUTO, 1);
	struct extent_copy copy = { 0 };
	int in;

	(void)state;
	references_clone_only(refs);
	fault_set(RANGE, (struct fault){ .times = EVERY_TIME });
	assert_true(references_possible(refs, 1, 1));
	in = put_picture("f", "##");
	assert_int_equal(copy_to(refs, in, &copy), 0);
	assert_int_equal(copy.done, 0);
	assert_int_equal(cloned, 1);
	assert_int_equal(fault_hits(RANGE), 0);
	assert_false(references_possible(refs, copy.from, copy.to));
	close(in);
	references_free(refs);
}

/* ---- space set aside ---- */

static void space_is_set_aside_on_ext4(void **state)
{
	struct extent_space space = { 0 };

	(void)state;
	assert_int_equal(extent_reserve(&space, 0, 1, 12345), 1);
	assert_int_equal(extent_reserve(&space, 0, 1, 12345), 1);
	assert_int_equal(asked, 1);
	assert_int_equal(reserved, 2);
	magic = BTRFS_SUPER_MAGIC;
	assert_int_equal(extent_reserve(&space, 0, 2, 12345), 0);
	assert_int_equal(asked, 2);
	magic = EXT4_SUPER_MAGIC;
	assert_int_equal(extent_reserve(&space, 0, 1, 12345), 1);
	assert_int_equal(reserved, 3);
}

static void no_space_is_an_error(void **state)
{
	struct extent_space space = { 0 };

	(void)state;
	reserve_errors[0] = ENOSPC;
	reserve_errors[1] = EINTR;
	reserve_errors[2] = EDQUOT;
	assert_int_equal(extent_reserve(&space, 0, 1, 12345), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(extent_reserve(&space, 0, 1, 12345), -1);
	assert_int_equal(errno, EDQUOT);
	assert_int_equal(reserved, 3);
}

static void who_can_not_set_aside_is_not_asked_again(void **state)
{
	static const int never[] = { EOPNOTSUPP, ENOSYS };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct extent_space space = { 0 };

		reserved = 0;
		reserve_errors[0] = EFBIG;
		reserve_errors[1] = never[i];
		assert_int_equal(extent_reserve(&space, 0, 1, 12345), 0);
		assert_int_equal(extent_reserve(&space, 0, 1, 12345), 0);
		assert_int_equal(extent_reserve(&space, 0, 1, 12345), 0);
		assert_int_equal(reserved, 2);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(holes_are_found_wherever_they_are),
		TEST(an_extent_ends_where_the_file_was_to_end),
		TEST(a_hole_behind_the_size_is_none_of_ours),
		TEST(an_empty_file_has_no_data),
		TEST(who_can_not_tell_says_so),
		TEST(fewer_blocks_than_bytes_is_sparse),
		TEST(what_is_fresh_is_settled_first),
		TEST(zeros_are_known_to_the_byte),
		TEST(places_are_given_and_taken_back),
		TEST(who_finds_no_place_waits_for_one),
		TEST(a_cancel_ends_the_wait_for_good),
		TEST(a_clone_is_all_there_is_to_do),
		TEST(without_clones_ranges_are_copied),
		TEST(holes_stay_holes),
		TEST(ranges_may_come_in_pieces),
		TEST(a_file_that_ends_early_is_done_so_far),
		TEST(a_failing_range_is_an_error),
		TEST(a_failing_clone_is_an_error),
		TEST(what_never_works_is_remembered_by_device),
		TEST(what_fails_for_one_file_is_not),
		TEST(never_means_never),
		TEST(always_means_a_clone_or_an_error),
		TEST(a_cancel_stops_a_copy),
		TEST(holes_that_can_not_be_found_are_read),
		TEST(nothing_but_hole_is_not_believed_of_a_file_with_blocks),
		TEST(space_is_set_aside_on_ext4),
		TEST(no_space_is_an_error),
		TEST(who_can_not_set_aside_is_not_asked_again),
		TEST(clones_may_be_all_that_is_tried),
	};

	return cmocka_run_group_tests_name("extent", tests, NULL, NULL);
}
