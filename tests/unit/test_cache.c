/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Past the page cache: what is asked of the kernel, when, and what becomes of its
 * answers.  The calls are logged as words:
 *
 *     r w          with RWF_DONTCACHE
 *     start wait   sync_file_range, FROM+SIZE in windows (w) or bytes
 *     drop         POSIX_FADV_DONTNEED
 *     random       POSIX_FADV_RANDOM
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache.h"
#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "tree.h"

static struct {
	int refuse;		/* errno of calls with the flag; 0: they work */
	int sync_error;		/* ... of sync_file_range that waits */
	int dup_error;
	int64_t cached;		/* pages; below 0: the kernel can't tell */
	char log[4096];
} fake;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t len = strlen(fake.log);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(fake.log + len, sizeof(fake.log) - len, format, args);
	va_end(args);
}

static void note_range(const char *word, off_t from, off_t size)
{
	if (from % CACHE_WINDOW == 0 && size % CACHE_WINDOW == 0 && from + size > 0)
		note("%s %dw+%dw ", word, (int)(from / CACHE_WINDOW),
		     (int)(size / CACHE_WINDOW));
	else
		note("%s %lld+%lld ", word, (long long)from, (long long)size);
}

/* Without the flag, which the file system of the test need not know. */
WRAPPED(ssize_t, preadv2, int fd, const struct iovec *iov, int n, off_t at, int flags)
{
	assert_int_equal(flags, 0x80);
	note("r ");
	errno = fake.refuse;
	return fake.refuse ? -1 : __real_preadv2(fd, iov, n, at, 0);
}

WRAPPED(ssize_t, pwritev2, int fd, const struct iovec *iov, int n, off_t at, int flags)
{
	assert_int_equal(flags, 0x80);
	note("w ");
	errno = fake.refuse;
	return fake.refuse ? -1 : __real_pwritev2(fd, iov, n, at, 0);
}

WRAPPED(int, sync_file_range, int fd, off_t from, off_t size, unsigned flags)
{
	bool waits = flags & SYNC_FILE_RANGE_WAIT_AFTER;

	(void)fd;
	note_range(waits ? "wait" : "start", from, size);
	errno = fake.sync_error;
	return waits && fake.sync_error ? -1 : 0;
}

WRAPPED(int, posix_fadvise, int fd, off_t from, off_t size, int advice)
{
	(void)fd;
	if (advice == POSIX_FADV_DONTNEED)
		note_range("drop", from, size);
	else
		note("%s ", advice == POSIX_FADV_RANDOM ? "random" : "?");
	return 0;
}

WRAPPED(int, fcntl, int fd, int command, ...)
{
	va_list args;

	va_start(args, command);
	int value = va_arg(args, int);
	va_end(args);
	errno = fake.dup_error;
	return fake.dup_error ? -1 : __real_fcntl(fd, command, value);
}

WRAPPED(long, syscall, long number, ...)
{
	va_list args;
	uint64_t *counts;

	assert_int_equal(number, 451);
	va_start(args, number);
	(void)va_arg(args, int);
	(void)va_arg(args, uint64_t *);
	counts = va_arg(args, uint64_t *);
	va_end(args);
	errno = ENOSYS;
	if (fake.cached < 0)
		return -1;
	counts[0] = (uint64_t)fake.cached;
	return 0;
}

/* ---- words ---- */

static struct cache cache;
static struct cache_file file;
static unsigned char window[CACHE_WINDOW];

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	put_noise(window, sizeof(window), 1);
	cache_init(&cache, true);
	return tree_setup(state);
}

static int teardown(void **state)
{
	memset(&fake, 0, sizeof(fake));
	cache_destroy(&cache, true);
	diag_reset();
	return tree_teardown(state);
}

static void assert_log(const char *want)
{
	assert_string_equal(fake.log, want);
	fake.log[0] = '\0';
}

static int open_new(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	return fd;
}

/* A new file on a device of that number. */
static int begin_out(const char *name, dev_t dev)
{
	int fd = open_new(name);

	cache_begin_out(&file, &cache, fd, dev);
	return fd;
}

static void write_some(size_t size, uint64_t at)
{
	assert_int_equal(cache_write(&file, window, size, at), size);
}

/* A file of so many windows, to be read. */
static int begin_in(unsigned windows, off_t hole)
{
	int fd = open_new("in");
	struct stat st;

	for (unsigned i = 0; i < windows; i++)
		assert_int_equal(pwrite(fd, window, sizeof(window),
					(off_t)i * CACHE_WINDOW),
				 sizeof(window));
	assert_int_equal(fstat(fd, &st), 0);
	st.st_size += hole;
	st.st_blocks = (st.st_size - hole) / 512;
	cache_begin_in(&file, &cache, fd, &st);
	return fd;
}

static void read_some(size_t size, uint64_t at)
{
	static unsigned char to[CACHE_WINDOW];

	assert_int_equal(cache_read(&file, to, size, at), size);
	assert_memory_equal(to, window + at % CACHE_WINDOW, size);
}

/* ---- without --no-cache ---- */

static void off(void **state)
{
	int fd;

	(void)state;
	cache_init(&cache, false);
	fd = begin_out("f", 1);
	write_some(1000, 0);
	cache_end_out(&file);
	close(fd);
	fd = begin_in(1, 0);
	read_some(1000, 0);
	close(fd);
	cache_destroy(&cache, false);
	assert_log("");
	assert_int_equal(stat_of("f").st_size, 1000);
}

/* ---- the kernel knows the flag ---- */

static void flag_is_enough(void **state)
{
	int fd = begin_out("f", 1);

	(void)state;
	for (int i = 0; i < 3; i++)
		write_some(CACHE_WINDOW, (uint64_t)i * CACHE_WINDOW);
	cache_end_out(&file);
	close(fd);
	assert_log("w w w ");
	assert_int_equal(cache.nheld, 0);
	fd = begin_in(2, 0);
	read_some(CACHE_WINDOW, 0);
	read_some(CACHE_WINDOW, CACHE_WINDOW);
	close(fd);
	assert_log("r r ");
}

static void other_errors_are_errors(void **state)
{
	unsigned char byte;
	int fd = begin_out("f", 1);

	(void)state;
	fake.refuse = EIO;
	assert_int_equal(cache_write(&file, "x", 1, 0), -1);
	assert_int_equal(errno, EIO);
	close(fd);
	fd = begin_in(1, 0);
	assert_int_equal(cache_read(&file, &byte, 1, 0), -1);
	assert_int_equal(errno, EIO);
	close(fd);
	assert_log("w r ");
	assert_int_equal(cache.nrefused, 0);
}

/* -1 would be where the file stands. */
static void offsets_are_no_positions(void **state)
{
	static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 2,
					    UINT64_C(1) << 63 };
	int fd = begin_in(1, 0);
	unsigned char byte;

	(void)state;
	for (int on = 0; on < 2; on++) {
		cache_init(&cache, on);
		for (unsigned i = 0; i < 3; i++) {
			struct stat st = { .st_mode = S_IFREG };

			cache_begin_in(&file, &cache, fd, &st);
			assert_int_equal(cache_read(&file, &byte, 1, offsets[i]), -1);
			assert_int_equal(errno, EINVAL);
			cache_begin_out(&file, &cache, fd, 1);
			assert_int_equal(cache_write(&file, "x", 1, offsets[i]), -1);
			assert_int_equal(errno, EINVAL);
		}
	}
	close(fd);
	assert_log("");
}

static void torn_pages_are_dropped(void **state)
{
	int fd = begin_out("f", 1);

	(void)state;
	write_some(CACHE_WINDOW - 10, 0);
	write_some(20, CACHE_WINDOW - 10);
	write_some(CACHE_WINDOW - 10, CACHE_WINDOW + 10);
	assert_log("w w start 0+4194314 w ");
	cache_end_out(&file);
	close(fd);
	assert_log("start 0+0 ");
	cache_destroy(&cache, false);
	assert_log("wait 0+0 drop 0+0 ");
}

/* ---- it doesn't ---- */

static void refusal_is_remembered(void **state)
{
	static const int refusals[] = { EOPNOTSUPP, EINVAL, ENOSYS };
	int fd;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		cache_init(&cache, true);
		fake.refuse = refusals[i];
		fd = begin_out("f", 1);
		write_some(10, 0);
		write_some(10, 10);
		close(fd);
		assert_log("w ");
		fd = begin_out("g", 2);
		write_some(10, 0);
		close(fd);
		assert_log("w ");
		fd = begin_out("f", 1);
		write_some(10, 0);
		close(fd);
		assert_log("");
	}
}

static void some_refusals_are_remembered(void **state)
{
	int fd;

	(void)state;
	fake.refuse = EOPNOTSUPP;
	for (dev_t dev = 0; dev < 2 * CACHE_REFUSED + 1; dev++) {
		fd = begin_out("f", dev);
		write_some(10, 0);
		close(fd);
		assert_log("w ");
	}
	fd = begin_out("f", 2 * CACHE_REFUSED);
	write_some(10, 0);
	close(fd);
	assert_log("");
}

static void read_is_dropped_behind(void **state)
{
	int fd = begin_in(4, 0);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	read_some(1000, 0);
	assert_log("r ");
	for (int i = 0; i < 3; i++)
		read_some(CACHE_WINDOW, (uint64_t)i * CACHE_WINDOW);
	assert_log("drop 0w+1w drop 0w+2w drop 1w+2w ");
	read_some(CACHE_WINDOW, UINT64_C(3) * CACHE_WINDOW);
	assert_log("drop 0+0 ");
	close(fd);
}

static void cached_stays(void **state)
{
	int fd = begin_in(1, 0);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	fake.cached = CACHE_WINDOW / 4096 / 2;
	read_some(CACHE_WINDOW, 0);
	close(fd);
	assert_log("r ");
	fake.cached--;
	cache_init(&cache, true);
	fd = begin_in(1, 0);
	read_some(CACHE_WINDOW, 0);
	close(fd);
	assert_log("r drop 0+0 ");
}

static void who_cannot_tell_drops(void **state)
{
	int fd = begin_in(1, 0);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	fake.cached = -1;
	read_some(CACHE_WINDOW, 0);
	close(fd);
	assert_log("r drop 0+0 ");
}

static void nothing_is_read_ahead_in_holes(void **state)
{
	int fd = begin_in(1, CACHE_WINDOW);

	(void)state;
	assert_log("random ");
	fake.refuse = EOPNOTSUPP;
	read_some(1000, 0);
	assert_log("r drop 0+0 ");
	close(fd);
}

static void streams_go_on_where_they_stand(void **state)
{
	int fd = begin_in(2, 0);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	assert_int_equal(lseek(fd, CACHE_WINDOW, SEEK_SET), CACHE_WINDOW);
	cache_stream(&file);
	read_some(1000, 0);
	assert_log("r ");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), CACHE_WINDOW + 1000);
	close(fd);

	fd = begin_out("f", 9);
	assert_int_equal(lseek(fd, 4096, SEEK_SET), 4096);
	cache_stream(&file);
	write_some(CACHE_WINDOW, 0);
	assert_log("w start 4096+4194304 ");
	write_some(CACHE_WINDOW, 0);
	assert_log("start 4198400+4194304 wait 4096+4194304 drop 4096+4194304 ");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 4096 + 2 * CACHE_WINDOW);
	close(fd);
}

static void written_windows_are_waited_for(void **state)
{
	int fd = begin_out("f", 1);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	for (int i = 0; i < 3; i++)
		write_some(CACHE_WINDOW, (uint64_t)i * CACHE_WINDOW);
	assert_log("w start 0w+1w start 1w+1w wait 0w+1w drop 0w+1w "
		   "start 2w+1w wait 1w+1w drop 1w+1w ");
	cache_end_out(&file);
	close(fd);
	assert_log("start 2w+0w ");
	cache_destroy(&cache, false);
	assert_log("wait 0+0 drop 0+0 ");
}

static void few_are_held(void **state)
{
	(void)state;
	fake.refuse = EOPNOTSUPP;
	for (unsigned i = 0; i < CACHE_HELD + 2; i++) {
		int fd = begin_out("f", 1);

		write_some(10, 0);
		fake.log[0] = '\0';
		cache_end_out(&file);
		close(fd);
		assert_log(i < CACHE_HELD ? "start 0+0 " :
					    "start 0+0 wait 0+0 drop 0+0 ");
	}
	assert_int_equal(cache.nheld, CACHE_HELD);
	cache_destroy(&cache, true);
	assert_log("");
	assert_int_equal(cache.nheld, 0);
}

/* No descriptor is left: it can't be held. */
static void who_is_not_held_is_waited_for(void **state)
{
	int fd = begin_out("f", 1);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	fake.dup_error = EMFILE;
	write_some(10, 0);
	cache_end_out(&file);
	close(fd);
	assert_log("w start 0+0 wait 0+0 drop 0+0 ");
	assert_int_equal(cache.nheld, 0);
}

/* ---- bytes that don't reach the medium ---- */

static void loss_is_an_error(void **state)
{
	static const int losses[] = { EIO, ENOSPC, EDQUOT };

	(void)state;
	fake.refuse = EOPNOTSUPP;
	for (unsigned i = 0; i < 3; i++) {
		int fd = begin_out("f", 1);

		fake.sync_error = losses[i];
		write_some(CACHE_WINDOW, 0);
		assert_int_equal(cache_write(&file, window, CACHE_WINDOW,
					     CACHE_WINDOW),
				 -1);
		assert_int_equal(errno, losses[i]);
		close(fd);
	}
}

/* It need not work at all: a FIFO, an old file system. */
static void no_loss_is_none(void **state)
{
	int fd = begin_out("f", 1);

	(void)state;
	fake.refuse = EOPNOTSUPP;
	fake.sync_error = ENOSYS;
	write_some(CACHE_WINDOW, 0);
	write_some(CACHE_WINDOW, CACHE_WINDOW);
	cache_end_out(&file);
	close(fd);
	cache_destroy(&cache, false);
	assert_int_equal(diag_status(), 0);
}

static void assert_tells_loss(bool held)
{
	int fd = begin_out("lost", 1);
	const char *said;

	fake.refuse = EOPNOTSUPP;
	write_some(10, 0);
	fake.sync_error = EIO;
	fake.dup_error = held ? 0 : EMFILE;
	capture_begin(STDERR_FILENO);
	cache_end_out(&file);
	close(fd);
	cache_destroy(&cache, false);
	said = capture_end();
	assert_non_null(strstr(said, "/lost: sync_file_range: Input/output error\n"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void loss_of_a_held_file_is_told(void **state)
{
	(void)state;
	assert_tells_loss(true);
}

static void loss_of_a_file_not_held_is_told(void **state)
{
	(void)state;
	assert_tells_loss(false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(off),
		TEST(flag_is_enough),
		TEST(other_errors_are_errors),
		TEST(offsets_are_no_positions),
		TEST(torn_pages_are_dropped),
		TEST(refusal_is_remembered),
		TEST(some_refusals_are_remembered),
		TEST(read_is_dropped_behind),
		TEST(cached_stays),
		TEST(who_cannot_tell_drops),
		TEST(nothing_is_read_ahead_in_holes),
		TEST(streams_go_on_where_they_stand),
		TEST(written_windows_are_waited_for),
		TEST(few_are_held),
		TEST(who_is_not_held_is_waited_for),
		TEST(loss_is_an_error),
		TEST(no_loss_is_none),
		TEST(loss_of_a_held_file_is_told),
		TEST(loss_of_a_file_not_held_is_told),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
