/* SPDX-License-Identifier: BSD-2-Clause */
/* verify: what reads back otherwise is told, whatever the calls for it answer. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "thread.h"
#include "tree.h"
#include "verify.h"

enum { BLOCK = SUMS_BLOCK };

/* What the next calls of a kind answer. */
static int send_error;		/* sync_file_range */
static int open_error, direct_error;	/* open, with O_DIRECT or in any way */
static int noatime_error, dup_error;	/* fcntl; open with O_NOATIME */
static uint64_t dones, stops, reads;

WRAPPED(ssize_t, pread, int fd, void *to, size_t size, off_t at)
{
	count_add(&reads, 1);
	return fault_due(PREAD, NULL, &size) ? -1 : __real_pread(fd, to, size, at);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
	return fault_due(FSTAT, NULL, NULL) ? -1 : __real_fstat(fd, st);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

WRAPPED(int, sync_file_range, int fd, off_t from, off_t size, unsigned how)
{
	if (send_error != 0) {
		errno = send_error;
		return -1;
	}
	return __real_sync_file_range(fd, from, size, how);
}

static bool refused(int flags)
{
	errno = open_error ? open_error :
		flags & O_DIRECT ? direct_error :
		flags & O_NOATIME ? noatime_error : 0;
	return errno != 0;
}

int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;

	if (strncmp(path, "/proc/self/", 11) == 0 && refused(flags))
		return -1;
	va_start(args, flags);
	int mode = va_arg(args, int);
	va_end(args);
	return __real_open(path, flags, mode);
}

WRAPPED(int, __open_2, const char *path, int flags)
{
	if (strncmp(path, "/proc/self/", 11) == 0 && refused(flags))
		return -1;
	return __real___open_2(path, flags);
}

int __wrap_fcntl(int fd, int what, ...);
int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...)
{
	va_list args;

	errno = what == F_SETFL ? noatime_error : what == F_DUPFD_CLOEXEC ?
		dup_error : 0;
	if (errno != 0)
		return -1;
	va_start(args, what);
	long arg = va_arg(args, long);
	va_end(args);
	return __real_fcntl(fd, what, arg);
}

/* ---- a destination, and files in it ---- */

static struct gate *gate;
static struct verify *verify;
static int root;

static void on_done(void *arg)
{
	(void)arg;
	count_add(&dones, 1);
}

static void on_stop(void *arg, int reason)
{
	(void)arg;
	assert(reason == ENOSPC);
	count_add(&stops, 1);
	verify_stop(verify);
}

static int setup(void **state)
{
	faults_clear();
	diag_reset();
	send_error = open_error = direct_error = noatime_error = dup_error = 0;
	dones = stops = reads = 0;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	return tree_teardown(state);
}

static void begin(unsigned fds)
{
	struct gate_config config = { .shown = "dst", .fds = 4 };
	struct verify_config verifying = { .fds = fds, .stop = on_stop,
					   .done = on_done };

	if (!is_there("dst"))
		put_dir("dst");
	root = open("dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	config.root = root;
	gate = gate_new(&config);
	assert_non_null(gate);
	verifying.gate = gate;
	verify = verify_new(&verifying);
	assert_non_null(verify);
	assert_int_equal(verify_start(verify), 0);
}

/* Ends it, and returns what was said. */
static struct verify_counts end(void)
{
	struct verify_counts counts;

	verify_close(verify);
	assert_true(verify_join(verify));
	assert_int_equal(dones, 1);
	verify_count(verify, &counts);
	verify_free(verify);
	gate_free(gate);
	close(root);
	return counts;
}

static struct sums_run run;
static int take(void *arg, const struct sums_run *sums)
{
	(void)arg;
	run = *sums;
	return 0;
}

/* "dst/f" of noise, and its sums in `run`; with a hole of a block behind, if wanted. */
static int put_noisy(size_t size, bool hole)
{
	unsigned char *bytes = malloc(size + 1);
	int fd = open("dst/f", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct sums *sums = sums_new(take, NULL);

	put_noise(bytes, size, 1);
	assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
	if (hole)
		assert_int_equal(ftruncate(fd, (off_t)size + BLOCK), 0);
	run.count = 0;
	sums_begin(sums);
	assert_int_equal(sums_add(sums, bytes, size, 0), 0);
	assert_int_equal(sums_end(sums, size + (hole ? BLOCK : 0)), 0);
	sums_free(sums);
	free(bytes);
	return fd;
}

/* One file in one part, of which the worker is through at once. */
static void give(int fd, uint64_t size)
{
	struct verified *file = verified_new(verify, gate_root(gate), "f");
	struct part *part = part_new(file, fd, 0, size, run.count ? &run : NULL);

	assert_non_null(part);
	part_is_last(part, size, NULL);
	part_give(part);
	verified_drop(file);
	close(fd);
}

static void give_noisy(size_t size)
{
	give(put_noisy(size, false), size);
}

/* A byte on the disk becomes another one. */
static void spoil(int fd, off_t at)
{
	unsigned char byte;

	assert_int_equal(__real_pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* ---- tests ---- */

static void what_is_whole_is_silent(void **state)
{
	static const size_t sizes[] = { 0, 1, 5000, BLOCK - 1, BLOCK, BLOCK + 1,
					5 * BLOCK + 17 };
	struct verify_counts counts;
	uint64_t bytes = 0;

	(void)state;
	begin(16);
	capture_begin(STDERR_FILENO);
	for (size_t i = 0; i < 7; i++) {
		give_noisy(sizes[i]);
		bytes += sizes[i];
		/* Another file of that name, but the old one's inode. */
		unlink("dst/f");
	}
	counts = end();
	assert_string_equal(capture_end(), "");
	assert_int_equal(counts.files, 7);
	assert_true(counts.bytes == bytes);
	assert_int_equal(counts.differ, 0);
}

static void a_byte_is_another_one(void **state)
{
	static const struct { size_t size; off_t at; const char *said; } cases[] = {
		{ 1, 0, "from byte 0\n" },
		{ BLOCK - 1, 5000, "from byte 0\n" },
		{ 3 * BLOCK + 5, 3 * BLOCK + 4, "from byte 3145728\n" },
		{ 3 * BLOCK + 5, 2 * BLOCK - 1, "from byte 1048576\n" },
	};
	const char *said;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		int fd;

		diag_reset();
		dones = 0;
		begin(16);
		fd = put_noisy(cases[i].size, false);
		spoil(fd, cases[i].at);
		capture_begin(STDERR_FILENO);
		give(fd, cases[i].size);
		assert_int_equal(end().differ, 1);
		said = capture_end();
		assert_non_null(strstr(said, "tarpipe: dst/f: reads back "));
		assert_non_null(strstr(said, cases[i].said));
		assert_int_equal(diag_status(), STATUS_PARTIAL);
	}
}

static void it_has_another_size(void **state)
{
	const char *said;
	int fd;

	(void)state;
	begin(4);
	fd = put_noisy(5000, false);
	assert_int_equal(ftruncate(fd, 5001), 0);
	capture_begin(STDERR_FILENO);
	give(fd, 5000);
	assert_int_equal(end().differ, 1);
	said = capture_end();
	assert_non_null(strstr(said, "its size is another"));
}

static void holes_are_zeros(void **state)
{
	struct verify_counts counts;
	const char *said;
	int fd;

	(void)state;
	begin(4);
	give(put_noisy(3 * BLOCK, true), 4 * BLOCK);
	unlink("dst/f");
	/* Only hole. */
	fd = put_noisy(0, true);
	give(fd, BLOCK);
	counts = end();
	assert_int_equal(counts.files, 2);
	assert_true(counts.bytes == 5 * BLOCK);

	/* Data where there should be none; and none where there should be. */
	dones = 0;
	begin(4);
	capture_begin(STDERR_FILENO);
	fd = put_noisy(2 * BLOCK, true);
	assert_int_equal(pwrite(fd, "x", 1, 2 * BLOCK + 70000), 1);
	give(fd, 3 * BLOCK);
	unlink("dst/f");
	fd = put_noisy(2 * BLOCK, false);
	assert_int_equal(ftruncate(fd, BLOCK), 0);
	assert_int_equal(ftruncate(fd, 2 * BLOCK), 0);
	give(fd, 2 * BLOCK);
	assert_int_equal(end().differ, 2);
	said = capture_end();
	assert_non_null(strstr(said, "from byte 2097152\n"));
	assert_non_null(strstr(said, "from byte 1048576\n"));
}

static void reading_that_comes_short_or_is_interrupted(void **state)
{
	(void)state;
	begin(4);
	fault_set(PREAD, (struct fault){ .most = 8192, .times = 3 });
	give_noisy(2 * BLOCK);
	assert_int_equal(end().files, 1);
	assert_int_equal(fault_hits(PREAD), 3);
	dones = 0;
	begin(4);
	fault_set(PREAD, (struct fault){ .err = EINTR, .times = 2 });
	give_noisy(2 * BLOCK);
	assert_int_equal(end().files, 1);
	assert_int_equal(fault_hits(PREAD), 2);
}

static void reading_that_fails(void **state)
{
	const char *said;

	(void)state;
	begin(4);
	capture_begin(STDERR_FILENO);
	fault_set(PREAD, (struct fault){ .err = EIO, .after = 1 });
	give_noisy(2 * BLOCK);
	assert_int_equal(end().differ, 1);
	said = capture_end();
	assert_non_null(strstr(said, "dst/f: reading it back at byte 1048576: "
				     "Input/output error\n"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	dones = 0;
	begin(4);
	capture_begin(STDERR_FILENO);
	fault_set(FSTAT, (struct fault){ .err = EIO, .times = EVERY_TIME });
	give_noisy(2000);
	assert_int_equal(end().differ, 1);
	assert_non_null(strstr(capture_end(), "dst/f: fstat"));
}

static void past_the_cache_or_through_it(void **state)
{
	(void)state;
	/* The file system refuses when it is asked; when it is read; /proc is not there. */
	for (unsigned i = 0; i < 4; i++) {
		dones = 0;
		direct_error = i == 0 ? EINVAL : 0;
		open_error = i == 2 ? ENOENT : 0;
		noatime_error = i == 3 ? EPERM : 0;
		begin(4);
		if (i == 1)
			fault_set(PREAD, (struct fault){ .err = EINVAL });
		give_noisy(2 * BLOCK + 5);
		assert_int_equal(end().files, 1);
		if (i == 1)
			assert_int_equal(fault_hits(PREAD), 1);
	}
}

static void the_atime_is_put_back(void **state)
{
	const struct timespec times[2] = { { 1000, 5 }, { 2000, 6 } };

	(void)state;
	for (size_t size = 4; size <= 2 * BLOCK; size += 2 * BLOCK - 4) {
		struct verified *file;
		struct part *part;
		struct stat st;
		int fd;

		noatime_error = EPERM;
		dones = 0;
		begin(4);
		fd = put_noisy(size, false);
		assert_int_equal(futimens(fd, times), 0);
		file = verified_new(verify, gate_root(gate), "f");
		part = part_new(file, fd, 0, size, &run);
		noatime_error = 0;
		part_is_last(part, size, &times[0]);
		part_give(part);
		verified_drop(file);
		close(fd);
		assert_int_equal(end().files, 1);
		st = stat_of("dst/f");
		assert_int_equal(st.st_atim.tv_sec, 1000);
		assert_int_equal(st.st_atim.tv_nsec, 5);
		assert_int_equal(st.st_mtim.tv_nsec, 6);
	}
}

static void writing_back_fails(void **state)
{
	const char *said;

	(void)state;
	begin(4);
	send_error = EIO;
	capture_begin(STDERR_FILENO);
	give_noisy(5000);
	assert_int_equal(end().differ, 1);
	assert_int_equal(reads, 0);
	said = capture_end();
	assert_non_null(strstr(said, "dst/f: writing it to the disk, from byte 0: "
				     "Input/output error\n"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	dones = 0;
	begin(4);
	send_error = ENOSPC;
	capture_begin(STDERR_FILENO);
	give_noisy(5000);
	(void)end();
	capture_end();
	assert_int_equal(diag_status(), STATUS_STOPPED);
	assert_int_equal(stops, 1);
	/* What can't be asked for is done without. */
	dones = 0;
	begin(4);
	send_error = ESPIPE;
	give_noisy(5000);
	assert_int_equal(end().files, 1);
}

/* What was given is more than there will be. */
static void a_file_is_cut(void **state)
{
	struct verify_counts counts;
	struct verified *file;
	struct part *part;
	int fd;

	(void)state;
	begin(4);
	capture_begin(STDERR_FILENO);
	fd = put_noisy(3 * BLOCK, false);
	file = verified_new(verify, gate_root(gate), "f");
	part = part_new(file, fd, 0, 3 * BLOCK, &run);
	verified_cut(file, BLOCK + 100);
	assert_int_equal(ftruncate(fd, BLOCK + 100), 0);
	part_give(part);
	part = part_new(file, fd, 3 * BLOCK, 3 * BLOCK, NULL);
	part_is_last(part, BLOCK + 100, NULL);
	part_give(part);
	verified_drop(file);
	close(fd);
	counts = end();
	assert_string_equal(capture_end(), "");
	assert_int_equal(counts.files, 1);
	assert_true(counts.bytes == BLOCK);
}

static void what_waits_is_bounded(void **state)
{
	(void)state;
	begin(2);
	for (unsigned i = 0; i < 200; i++) {
		give_noisy(3000 + i);
		unlink("dst/f");
	}
	assert_int_equal(end().files, 200);
}

static void stopped_nobody_waits(void **state)
{
	struct verified *file;
	struct part *part;
	int fd;

	(void)state;
	begin(1);
	verify_stop(verify);
	for (unsigned i = 0; i < 5; i++)
		give_noisy(1000);
	fd = put_noisy(1000, false);
	file = verified_new(verify, gate_root(gate), "f");
	part = part_new(file, fd, 0, 1000, &run);
	part_free(part);
	part_free(NULL);
	verified_drop(file);
	verified_drop(NULL);
	close(fd);
	assert_int_equal(end().files, 0);
	verify_free(NULL);
}

static void no_memory_and_no_descriptors(void **state)
{
	struct verify_config config = { .fds = 1, .done = on_done };
	struct verified *file;
	int fd;

	(void)state;
	begin(4);
	fd = put_noisy(1000, false);
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_null(verified_new(verify, gate_root(gate), "f"));
	file = verified_new(verify, gate_root(gate), "f");
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_null(part_new(file, fd, 0, 1000, &run));
	assert_int_equal(errno, ENOMEM);
	dup_error = EMFILE;
	assert_null(part_new(file, fd, 0, 1000, &run));
	assert_int_equal(errno, EMFILE);
	verified_drop(file);
	close(fd);
	(void)end();
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_null(verify_new(&config));
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_whole_is_silent),
		T(a_byte_is_another_one),
		T(it_has_another_size),
		T(holes_are_zeros),
		T(reading_that_comes_short_or_is_interrupted),
		T(reading_that_fails),
		T(past_the_cache_or_through_it),
		T(the_atime_is_put_back),
		T(writing_back_fails),
		T(a_file_is_cut),
		T(what_waits_is_bounded),
		T(stopped_nobody_waits),
		T(no_memory_and_no_descriptors),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
