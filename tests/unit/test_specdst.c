/* SPDX-License-Identifier: BSD-2-Clause */
/* What the operands of -x mean. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "spec.h"
#include "tree.h"

static struct opts opts;
static struct spec spec;
static char *operands[4];

static int setup(void **state)
{
	opts = (struct opts){ .preserve = PRESERVE_ALL, .operands = operands };
	if (tree_setup(state) != 0)
		return -1;
	put_dir("dir");
	put_file("file", "text");
	if (symlink("dir", "link") != 0 || symlink("nowhere", "dangling") != 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	spec_destroy(&spec);
	diag_reset();
	return tree_teardown(state);
}

/* With up to three operands; returns what was told. */
static const char *resolve(int want, const char *a, const char *b, const char *c)
{
	const char *given[] = { a, b, c };

	spec_destroy(&spec);
	opts.noperands = 0;
	for (int i = 0; i < 3 && given[i]; i++)
		operands[opts.noperands++] = (char *)(uintptr_t)given[i];
	capture_begin(STDERR_FILENO);
	assert_int_equal(spec_resolve_extract(&spec, &opts), want);
	return capture_end();
}

static void accept(const char *dst)
{
	assert_string_equal(resolve(0, dst, NULL, NULL), "");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void refuse(const char *words, const char *a, const char *b)
{
	const char *told = resolve(-1, a, b, NULL);

	if (!strstr(told, words))
		fail_msg("%s", told);
	assert_int_equal(diag_status(), STATUS_USAGE);
	assert_names(".", "dangling dir file link");
	assert_null(spec.dst);
	diag_reset();
}

/* What is opened is this one. */
static void assert_opens(const char *path)
{
	int fd = spec_open_dst(&spec);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, stat_of(path).st_ino);
	close(fd);
}

static void a_directory_that_is_there_keeps_its_own(void **state)
{
	(void)state;
	accept("dir/");
	assert_string_equal(spec.dst_shown, "dir");
	assert_false(spec.dst_new);
	assert_true(spec.dst_keeps);
	assert_opens("dir");
	opts.preserve_asked = PRESERVE_ROOT;
	accept("dir");
	assert_false(spec.dst_keeps);
}

static void a_symlink_is_followed_once(void **state)
{
	(void)state;
	accept("link");
	assert_opens("dir");
}

static void a_new_one_is_made(void **state)
{
	(void)state;
	accept("dir/new");
	assert_true(spec.dst_new);
	assert_false(spec.dst_keeps);
	assert_opens("dir/new");
	assert_int_equal(mode_of("dir/new"), 0700);
	opts.preserve_denied = PRESERVE_ROOT;
	accept("plain");
	assert_true(spec.dst_keeps);
	assert_opens("plain");
	assert_int_equal(mode_of("plain"), 0755);
}

static void nothing_is_where_one_is(void **state)
{
	(void)state;
	accept(NULL);
	assert_opens(".");
	assert_true(spec.dst_keeps);
}

static void by_default_never_the_root(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	assert_non_null(strstr(resolve(-1, NULL, NULL, NULL), "tarpipe -x /"));
	assert_int_equal(diag_status(), STATUS_USAGE);
	diag_reset();
	accept("/");
	accept(".");
}

static void what_can_not_be(void **state)
{
	(void)state;
	refuse("DST: Not a directory", "file", NULL);
	refuse("symlink to what is not there", "dangling", NULL);
	refuse("only the last component", "no/where", NULL);
	refuse("empty", "", NULL);
	refuse("ssh host tarpipe -x 'a b'", "host:a b", NULL);
	refuse("tarpipe -x -C dir 'a b'", "dir", "a b");
}

static void with_c_operands_are_patterns(void **state)
{
	(void)state;
	opts.directory = "dir";
	assert_string_equal(resolve(0, "a:b", "/", ""), "");
	assert_opens("dir");
	opts.directory = "nowhere";
	refuse("No such file", "x", NULL);
	opts.directory = "file";
	refuse("Not a directory", "x", NULL);
	opts.directory = "";
	refuse("empty", NULL, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_directory_that_is_there_keeps_its_own),
		TEST(a_symlink_is_followed_once),
		TEST(a_new_one_is_made),
		TEST(nothing_is_where_one_is),
		TEST(by_default_never_the_root),
		TEST(what_can_not_be),
		TEST(with_c_operands_are_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
