/* SPDX-License-Identifier: BSD-2-Clause */
/* A member as a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

#include "listing.h"

static struct listing listing;
static struct text line;

static int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	listing = (struct listing){ .verbose = true };
	text_init(&line);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	text_destroy(&line);
	return 0;
}

static const char *put(const struct tar_member *member)
{
	line.len = 0;
	listing_put(&listing, &line, member, member->path, member->hardlink);
	return line.bytes;
}

static struct tar_member file(uint32_t mode)
{
	return (struct tar_member){ .path = "a/b", .user = "ann", .group = "staff",
		.meta = { .mode = mode, .uid = 7, .gid = 8, .size = 12345,
			  .mtime = { 1700000000, 0 } } };
}

static void lines_are_those_of_tar(void **state)
{
	struct tar_member m = file(S_IFREG | 0644);

	(void)state;
	assert_string_equal(put(&m), "-rw-r--r-- ann/staff     12345 "
				     "2023-11-14 22:13 a/b\n");
	listing.numeric = true;
	assert_string_equal(put(&m), "-rw-r--r-- 7/8           12345 "
				     "2023-11-14 22:13 a/b\n");
	m.meta.mode = S_IFDIR | 01777;
	assert_string_equal(put(&m), "drwxrwxrwt 7/8               0 "
				     "2023-11-14 22:13 a/b\n");
	listing.numeric = false;
	m.user = m.group = NULL;
	m.meta.mode = S_IFCHR | 0600;
	m.meta.rdev_major = 1;
	m.meta.rdev_minor = 300;
	assert_string_equal(put(&m), "crw------- 7/8           1,300 "
				     "2023-11-14 22:13 a/b\n");
	m.meta.mode = S_IFLNK | 0777;
	m.target = "x\ny";
	assert_string_equal(put(&m), "lrwxrwxrwx 7/8               0 "
				     "2023-11-14 22:13 a/b -> x\\ny\n");
	m = file(S_IFREG | 06711);
	m.hardlink = "o\\";
	assert_string_equal(put(&m), "hrws--s--x ann/staff     12345 "
				     "2023-11-14 22:13 a/b link to o\\\\\n");
}

static void bits_without_their_x_are_large(void **state)
{
	struct tar_member m = file(S_IFREG | 07000);

	(void)state;
	assert_memory_equal(put(&m), "---S--S--T ", 11);
	m.meta.mode = S_IFIFO | 07777;
	assert_memory_equal(put(&m), "prwsrwsrwt ", 11);
	m.meta.mode = S_IFBLK;
	assert_memory_equal(put(&m), "b--------- ", 11);
	m.meta.mode = S_IFSOCK;
	assert_memory_equal(put(&m), "?", 1);
}

static void columns_move_once(void **state)
{
	struct tar_member m = file(S_IFREG | 0644);

	(void)state;
	m.meta.size = 1234567890123456;
	assert_string_equal(put(&m), "-rw-r--r-- ann/staff 1234567890123456 "
				     "2023-11-14 22:13 a/b\n");
	m.meta.size = 1;
	assert_string_equal(put(&m), "-rw-r--r-- ann/staff                1 "
				     "2023-11-14 22:13 a/b\n");
}

static void names_alone_are_escaped(void **state)
{
	struct tar_member m = file(S_IFREG | 0644);
	char name[3000];

	(void)state;
	listing.verbose = false;
	m.path = "a\nb\\\377\303\251";
	assert_string_equal(put(&m), "a\\nb\\\\\\377\303\251\n");
	m.hardlink = "x";
	assert_string_equal(put(&m), "a\\nb\\\\\\377\303\251\n");
	memset(name, 1, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	m.path = name;
	put(&m);
	assert_int_equal(line.len, 4 * (sizeof(name) - 1) + 1);
}

static void a_hostile_owner_can_not_forge_a_line(void **state)
{
	struct tar_member m = file(S_IFREG | 0644);
	char name[3000];

	(void)state;
	memset(name, '\n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	m.user = name;
	put(&m);
	assert_ptr_equal(strchr(line.bytes, '\n'), line.bytes + line.len - 1);
}

static void any_time_has_a_line(void **state)
{
	struct tar_member m = file(S_IFREG | 0644);

	(void)state;
	m.meta.mtime.tv_sec = -1;
	assert_non_null(strstr(put(&m), " 1969-12-31 23:59 "));
	m.meta.mtime.tv_sec = INT64_MAX;
	assert_non_null(strstr(put(&m), " 9223372036854775807 "));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_those_of_tar),
		TEST(bits_without_their_x_are_large),
		TEST(columns_move_once),
		TEST(names_alone_are_escaped),
		TEST(a_hostile_owner_can_not_forge_a_line),
		TEST(any_time_has_a_line),
	};

	return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}
