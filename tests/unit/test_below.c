/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths from elsewhere, with and without openat2. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "below.h"
#include "tree.h"

static int root = -1;
static int refusal;		/* errno of openat2; 0: it works */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	va_list args;
	long a, b, c, d;

	if (refusal && number == SYS_openat2) {
		errno = refusal;
		return -1;
	}
	va_start(args, number);
	a = va_arg(args, long);
	b = va_arg(args, long);
	c = va_arg(args, long);
	d = va_arg(args, long);
	va_end(args);
	return __real_syscall(number, a, b, c, d);
}

static int setup(void **state)
{
	refusal = 0;
	if (tree_setup(state) != 0)
		return -1;
	put_dir("root");
	put_dir("root/a");
	put_dir("root/a/b");
	put_file("root/f", "");
	if (symlink("a", "root/s") != 0 || symlink("..", "root/up") != 0)
		return -1;
	root = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	close(root);
	return tree_teardown(state);
}

static void assert_opens(const char *path, const char *dir, const char *want)
{
	struct stat st;
	const char *last;
	int fd = below_open(root, path, false, &last);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, stat_of(dir).st_ino);
	assert_string_equal(last, want);
	close(fd);
}

static void assert_refused(const char *path, int err, int or_err)
{
	const char *last;
	int fd = below_open(root, path, false, &last);

	if (fd >= 0 || (errno != err && errno != or_err))
		fail_msg("%s: %s", path, strerror(errno));
}

static void check_all(void)
{
	unsigned before = open_descriptors();

	assert_opens("x", "root", "x");
	assert_opens("a/x", "root/a", "x");
	assert_opens("a/b/x", "root/a/b", "x");
	assert_opens("a/..x", "root/a", "..x");
	assert_refused("", EINVAL, 0);
	assert_refused("/", EINVAL, 0);
	assert_refused("/a", EINVAL, 0);
	assert_refused("a/", EINVAL, 0);
	assert_refused("a//x", EINVAL, 0);
	assert_refused("./x", EINVAL, 0);
	assert_refused("a/../x", EINVAL, 0);
	assert_refused("a/..", EINVAL, 0);
	assert_refused("..", EINVAL, 0);
	assert_refused("s/x", ELOOP, ENOTDIR);
	assert_refused("up/x", ELOOP, ENOTDIR);
	assert_refused("f/x", ENOTDIR, 0);
	assert_refused("none/x", ENOENT, 0);
	assert_refused("none/deeper/x", ENOENT, 0);
	assert_int_equal(open_descriptors(), before);
}

static void by_one_call(void **state)
{
	(void)state;
	check_all();
}

static void by_steps(void **state)
{
	static const int errors[] = { ENOSYS, EPERM, EAGAIN, EINVAL };

	(void)state;
	for (int i = 0; i < 4; i++) {
		refusal = errors[i];
		check_all();
	}
}

static void names_that_are_too_long(void **state)
{
	char path[300] = "a/";

	(void)state;
	memset(path + 2, 'x', 256);
	assert_refused(path, ENAMETOOLONG, 0);
}

static void a_path_longer_than_a_call_takes(void **state)
{
	enum { LEVELS = 2500 };
	char path[2 * LEVELS + 2];
	const char *last;
	int fd = dup(root), next;

	(void)state;
	for (int i = 0; i < LEVELS; i++) {
		memcpy(path + 2 * i, "d/", 2);
		assert_int_equal(mkdirat(fd, "d", 0755), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(fd);
	strcpy(path + 2 * LEVELS, "x");
	fd = below_open(root, path, false, &last);
	assert_true(fd >= 0);
	assert_string_equal(last, "x");
	close(fd);
}

static void links_are_followed_where_asked(void **state)
{
	const char *last;
	int fd = below_open(root, "s/b", true, &last);
	struct stat st, want;

	(void)state;
	assert_true(fd >= 0);
	assert_string_equal(last, "b");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat("root/a", &want), 0);
	assert_true(st.st_ino == want.st_ino);
	close(fd);
	assert_int_equal(below_open(root, "s/../f", true, &last), -1);
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(by_one_call),
		TEST(by_steps),
		TEST(names_that_are_too_long),
		TEST(a_path_longer_than_a_call_takes),
		TEST(links_are_followed_where_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
