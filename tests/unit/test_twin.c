/* SPDX-License-Identifier: BSD-2-Clause */
/* The directories beside a walk, and which names are one file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "alias.h"
#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "met.h"
#include "tree.h"
#include "twin.h"

static int open_fault(const char *name, int flags)
{
	/* who may not set O_NOATIME is refused, and asks again without */
	return (flags & O_NOATIME) && fault_due(OPENAT, name, NULL) ? -1 : 0;
}

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
	return open_fault(name, flags) ? -1 :
					 __real_openat(dir, name, flags, 0);
}

WRAPPED(int, __openat_2, int dir, const char *name, int flags)
{
	return open_fault(name, flags) ? -1 :
					 __real___openat_2(dir, name, flags);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
	return fault_due(FSTAT, NULL, NULL) ? -1 : __real_fstat(fd, st);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

static struct twin *twin;
static struct stat st;
static unsigned before;
static int top;

static int setup(void **state)
{
	faults_clear();
	if (tree_setup(state) != 0)
		return -1;
	before = open_descriptors();
	top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	twin = twin_new(top, 3);
	return twin ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	twin_free(twin);
	close(top);
	assert_int_equal(open_descriptors(), before);
	diag_reset();
	return tree_teardown(state);
}

static void assert_here(const char *path)
{
	struct stat here, want = stat_of(path);

	assert_int_equal(fstat(twin_fd(twin), &here), 0);
	assert_int_equal(here.st_ino, want.st_ino);
}

static void enter(const char *name)
{
	assert_int_equal(twin_enter(twin, name, &st), 0);
}

static void directories_are_entered_and_left(void **state)
{
	(void)state;
	put_dir("a");
	put_dir("a/b");
	put_dir("a/c");
	assert_here(".");
	enter("a");
	assert_here("a");
	assert_int_equal(st.st_ino, stat_of("a").st_ino);
	enter("b");
	assert_here("a/b");
	assert_int_equal(twin_leave(twin), 0);
	assert_here("a");
	enter("c");
	assert_here("a/c");
	assert_int_equal(twin_leave(twin), 0);
	assert_int_equal(twin_leave(twin), 0);
	assert_here(".");
}

static void make_deep(char *path, unsigned levels)
{
	strcpy(path, "d");
	put_dir(path);
	for (unsigned i = 1; i < levels; i++) {
		strcat(path, "/d");
		put_dir(path);
	}
}

static void few_descriptors_are_enough(void **state)
{
	char path[512];

	(void)state;
	make_deep(path, 200);
	for (unsigned i = 0; i < 200; i++) {
		enter("d");
		assert_true(open_descriptors() <= before + 1 + 4);
	}
	assert_here(path);
	for (unsigned i = 200; i > 0; i--) {
		assert_int_equal(twin_leave(twin), 0);
		path[2 * i - 2 > 0 ? 2 * i - 3 : 0] = '\0';
		assert_here(path[0] ? path : ".");
	}
}

/* `..` is another one then: the way from the top is taken. */
static void one_that_was_moved_away_is_no_way_back(void **state)
{
	char path[512];

	(void)state;
	make_deep(path, 10);
	for (unsigned i = 0; i < 10; i++)
		enter("d");
	assert_int_equal(rename("d/d/d/d/d/d/d/d/d/d", "away"), 0);
	assert_int_equal(twin_leave(twin), 0);
	assert_here("d/d/d/d/d/d/d/d/d");
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(twin_leave(twin), 0);
	assert_here(".");
}

static void one_that_is_lost_is_nothing(void **state)
{
	char path[512];

	(void)state;
	make_deep(path, 10);
	for (unsigned i = 0; i < 10; i++)
		enter("d");
	assert_int_equal(rename("d/d/d/d/d", "away"), 0);
	assert_int_equal(rename("away/d/d", "further"), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(twin_leave(twin), 0);
	while (twin_leave(twin) == 0)
		assert_true(twin_fd(twin) >= 0);
	assert_int_equal(errno, ESTALE);
	assert_int_equal(twin_fd(twin), -1);
}

static void what_can_not_be_entered_is_nothing(void **state)
{
	(void)state;
	put_dir("a");
	put_file("f", "");
	assert_int_equal(symlink("a", "l"), 0);
	assert_int_equal(twin_enter(twin, "none", &st), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(twin_fd(twin), -1);
	assert_int_equal(twin_leave(twin), 0);
	assert_int_equal(twin_enter(twin, "l", &st), -1);
	assert_int_equal(twin_leave(twin), 0);
	assert_int_equal(twin_enter(twin, "f", &st), -1);
	assert_int_equal(errno, ENOTDIR);
	twin_enter_nothing(twin);
	assert_int_equal(twin_fd(twin), -1);
	assert_int_equal(twin_leave(twin), 0);
	assert_int_equal(twin_leave(twin), 0);
	assert_here(".");
	fault_set(FSTAT, (struct fault){ .err = EIO });
	assert_int_equal(twin_enter(twin, "a", &st), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(twin_leave(twin), 0);
	enter("a");
}

static void o_noatime_may_be_refused(void **state)
{
	(void)state;
	put_dir("a");
	fault_set(OPENAT, (struct fault){ .name = "a", .err = EPERM });
	enter("a");
	assert_int_equal(fault_hits(OPENAT), 1);
}

static void without_memory_levels_are_counted(void **state)
{
	char path[512];

	(void)state;
	make_deep(path, 70);
	for (unsigned i = 0; i < 63; i++)
		enter("d");
	fault_set(REALLOC, (struct fault){ .err = ENOMEM, .times = EVERY_TIME });
	assert_int_equal(twin_enter(twin, "d", &st), -1);
	assert_int_equal(errno, ENOMEM);
	twin_enter_nothing(twin);
	assert_int_equal(twin_fd(twin), -1);
	assert_int_equal(twin_leave(twin), 0);
	assert_int_equal(twin_leave(twin), 0);
	path[2 * 63 - 1] = '\0';
	assert_here(path);
}

static void no_memory_for_a_twin(void **state)
{
	(void)state;
	for (unsigned after = 0; after < 2; after++) {
		fault_set(CALLOC, (struct fault){ .after = after, .err = ENOMEM });
		assert_null(twin_new(top, 3));
	}
	twin_free(NULL);
}

/* ---- names that have come ---- */

static void directories_come_with_their_names(void **state)
{
	struct met *met = met_new();

	(void)state;
	assert_non_null(met);
	assert_false(met_has(met, "a"));
	assert_int_equal(met_add(met, "a/b/c"), 0);
	assert_int_equal(met_add(met, "a/b"), 0);
	assert_true(met_has(met, "a") && met_has(met, "a/b") &&
		    met_has(met, "a/b/c"));
	assert_false(met_has(met, "a/c"));
	assert_false(met_has(met, "b"));
	met_free(met);
}

static void as_many_as_there_are(void **state)
{
	struct met *met = met_new();
	char path[64];

	(void)state;
	assert_non_null(met);
	for (int i = 0; i < 100000; i++) {
		snprintf(path, sizeof(path), "dir/%d", i);
		assert_int_equal(met_add(met, path), 0);
	}
	for (int i = 0; i < 200000; i++) {
		snprintf(path, sizeof(path), "dir/%d", i);
		assert_int_equal(met_has(met, path), i < 100000);
	}
	met_free(met);
}

static void no_memory_for_names(void **state)
{
	struct met *met = met_new();
	char path[64];
	int result = 0;

	(void)state;
	assert_non_null(met);
	fault_set(CALLOC, (struct fault){ .err = ENOMEM, .times = EVERY_TIME });
	for (int i = 0; i < 1000 && result == 0; i++) {
		snprintf(path, sizeof(path), "%d", i);
		result = met_add(met, path);
	}
	assert_int_equal(result, -1);
	assert_int_equal(errno, ENOMEM);
	assert_null(met_new());
	met_free(met);
	met_free(NULL);
}

/* ---- names of one inode ---- */

static struct stat inode(ino_t ino, nlink_t nlink)
{
	return (struct stat){ .st_dev = 1, .st_ino = ino, .st_nlink = nlink,
			      .st_mode = S_IFREG };
}

static const struct opts all = { .preserve = PRESERVE_ALL };

static const char *meet(struct alias *alias, const char *name, struct stat a,
			struct stat b)
{
	capture_begin(STDOUT_FILENO);
	alias_meet(alias, &all, name, &a, &b);
	return capture_end();
}

static void groups_are_compared_both_ways(void **state)
{
	struct alias *alias = alias_new();

	(void)state;
	assert_non_null(alias);
	assert_string_equal(meet(alias, "a", inode(1, 2), inode(11, 2)), "");
	assert_string_equal(meet(alias, "b", inode(1, 2), inode(11, 2)), "");
	assert_string_equal(meet(alias, "c", inode(2, 2), inode(12, 1)), "");
	assert_string_equal(meet(alias, "d", inode(2, 2), inode(13, 1)),
			    "d: links: is not one file with c\n");
	assert_string_equal(meet(alias, "e", inode(3, 1), inode(14, 2)), "");
	assert_string_equal(meet(alias, "f", inode(4, 1), inode(14, 2)),
			    "f: links: is one file with e\n");
	assert_string_equal(meet(alias, "g", inode(5, 3), inode(15, 2)), "");
	assert_string_equal(meet(alias, "h", inode(5, 3), inode(15, 2)), "");
	assert_int_equal(diag_status(), STATUS_CHANGED);
	alias_free(alias);
}

static void a_name_that_comes_again_is_itself(void **state)
{
	struct alias *alias = alias_new();

	(void)state;
	assert_non_null(alias);
	alias_again(alias);
	assert_string_equal(meet(alias, "a", inode(1, 2), inode(11, 2)), "");
	assert_string_equal(meet(alias, "a", inode(2, 2), inode(11, 2)), "");
	alias_free(alias);
	fault_set(CALLOC, (struct fault){ .after = 1, .err = ENOMEM });
	assert_null(alias_new());
	alias_free(NULL);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(directories_are_entered_and_left),
		T(few_descriptors_are_enough),
		T(one_that_was_moved_away_is_no_way_back),
		T(one_that_is_lost_is_nothing),
		T(what_can_not_be_entered_is_nothing),
		T(o_noatime_may_be_refused),
		T(without_memory_levels_are_counted),
		T(no_memory_for_a_twin),
		T(directories_come_with_their_names),
		T(as_many_as_there_are),
		T(no_memory_for_names),
		T(groups_are_compared_both_ways),
		T(a_name_that_comes_again_is_itself),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
