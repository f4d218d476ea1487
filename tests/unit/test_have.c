/* SPDX-License-Identifier: BSD-2-Clause */
/* What the destination has, and by what it is known to be the same. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "faults.h"
#include "have.h"
#include "stamp.h"
#include "tree.h"

static uint32_t kind;		/* 0: as it is */
static unsigned asked;

WRAPPED(int, fstatfs, int fd, struct statfs *fs)
{
	asked++;
	if (kind == UINT32_MAX) {
		errno = EIO;
		return -1;
	}
	if (kind == 0)
		return __real_fstatfs(fd, fs);
	*fs = (struct statfs){ .f_type = (__typeof__(fs->f_type))kind };
	return 0;
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

WRAPPED(ssize_t, llistxattr, const char *path, char *to, size_t size)
{
	return fault_due(LISTXATTR, NULL, NULL) ?
		       -1 :
		       __real_llistxattr(path, to, size);
}

WRAPPED(ssize_t, lgetxattr, const char *path, const char *name, void *to,
	size_t size)
{
	return fault_due(GETXATTR, name, NULL) ?
		       -1 :
		       __real_lgetxattr(path, name, to, size);
}

/* ---- the grain of times ---- */

enum {
	FAT = 0x4d44, EXFAT = 0x2011bab0, NTFS3 = 0x7366746e, FUSE = 0x65735546,
	HFS = 0x4244, UDF = 0x15013346, EXT = 0xef53, NFS = 0x6969,
};

static uint32_t grain_of(uint32_t type, long mtime_ns, long ctime_ns)
{
	struct stamp_fs fs = { 0 };
	const struct stat st = { .st_mtim.tv_nsec = mtime_ns,
				 .st_ctim.tv_nsec = ctime_ns };

	kind = type;
	return stamp_grain(&fs, -1, &st);
}

static void the_grain_is_that_of_the_kind(void **state)
{
	(void)state;
	assert_int_equal(grain_of(FAT, 0, 0), 2000000000);
	assert_int_equal(grain_of(EXFAT, 0, 0), 10000000);
	assert_int_equal(grain_of(NTFS3, 0, 0), 100);
	assert_int_equal(grain_of(HFS, 1, 1), 1000000000);
	assert_int_equal(grain_of(UDF, 0, 0), 1000);
}

static void else_the_file_tells(void **state)
{
	(void)state;
	assert_int_equal(grain_of(EXT, 0, 1), 1);
	assert_int_equal(grain_of(EXT, 1, 0), 1);
	assert_int_equal(grain_of(EXT, 0, 0), 1000000000);	/* small inodes */
	assert_int_equal(grain_of(NFS, 0, 0), 1000000000);	/* of a server */
	assert_int_equal(grain_of(EXT, 100, 200), 1);
	assert_int_equal(grain_of(FUSE, 100, 200), 100);	/* ntfs-3g */
	assert_int_equal(grain_of(FUSE, 100, 201), 1);
	assert_int_equal(grain_of(UINT32_MAX, 5, 5), 1);
}

static void a_file_system_is_asked_once(void **state)
{
	struct stamp_fs fs = { 0 };
	struct stat st = { .st_dev = 1 };

	(void)state;
	kind = FAT;
	asked = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(stamp_grain(&fs, -1, &st), 2000000000);
	assert_int_equal(asked, 1);
	kind = NTFS3;
	st.st_dev = 2;
	assert_int_equal(stamp_grain(&fs, -1, &st), 100);
	assert_int_equal(asked, 2);
}

static bool fits(int64_t want_s, long want_ns, int64_t have_s, long have_ns,
		 uint32_t grain)
{
	const struct timespec want = { (time_t)want_s, want_ns };
	const struct timespec have = { (time_t)have_s, have_ns };

	return stamp_time_fits(&want, &have, grain);
}

static void a_time_is_cut_down_to_the_grain(void **state)
{
	(void)state;
	assert_true(fits(100, 5, 100, 5, 1));
	assert_false(fits(100, 6, 100, 5, 1));
	assert_false(fits(100, 4, 100, 5, 1));
	assert_false(fits(100, 5, 101, 5, 1));
	assert_true(fits(101, 999999999, 100, 0, 2000000000));
	assert_false(fits(102, 0, 100, 0, 2000000000));
	assert_false(fits(102, 5, 101, 0, 2000000000));	/* 101 is no time there */
	assert_false(fits(99, 999999999, 100, 0, 2000000000));
	assert_true(fits(101, 5, 101, 5, 2000000000));
	assert_true(fits(100, 999999999, 100, 0, 1000000000));
	assert_false(fits(101, 0, 100, 0, 1000000000));
	assert_true(fits(100, 129, 100, 100, 100));
	assert_false(fits(100, 200, 100, 100, 100));
	assert_false(fits(100, 170, 100, 150, 100));
	assert_true(fits(-5, 600000000, -5, 0, 1000000000));
	assert_false(fits(INT64_MAX, 0, INT64_MIN, 0, 2000000000));
	assert_false(fits(INT64_MIN, 0, INT64_MAX, 0, 2000000000));
}

static bool is_before(int64_t when_s, long when_ns, int64_t then_s, long then_ns,
		      uint32_t grain)
{
	const struct timespec when = { (time_t)when_s, when_ns };
	const struct timespec then = { (time_t)then_s, then_ns };

	return stamp_is_before(&when, &then, grain);
}

static void what_was_before_shows_a_grain_later(void **state)
{
	(void)state;
	assert_true(is_before(100, 4, 100, 5, 1));
	assert_false(is_before(100, 5, 100, 5, 1));
	assert_false(is_before(100, 6, 100, 5, 1));
	assert_false(is_before(100, 0, 100, 999999999, 1000000000));
	assert_true(is_before(100, 0, 101, 0, 1000000000));
	assert_true(is_before(INT64_MIN, 0, INT64_MAX, 0, 2000000000));
	assert_false(is_before(INT64_MAX, 0, INT64_MIN, 0, 1));
}

static void type_and_size_count(void **state)
{
	struct meta want = { .mode = S_IFREG | 0600, .size = 5,
			     .mtime = { 7, 8 } };
	struct stat have = { .st_mode = S_IFREG | 0644, .st_size = 5,
			     .st_mtim = { 7, 8 } };

	(void)state;
	assert_true(stamp_fits(&want, &have, 1));
	have.st_size = 4;
	assert_false(stamp_fits(&want, &have, 1));
	have.st_size = 5;
	have.st_mode = S_IFDIR | 0644;
	assert_false(stamp_fits(&want, &have, 1));
}

/* ---- going along ---- */

static struct opts opts;
static struct have *have;
static struct have_seen seen;
static int top;

static int setup(void **state)
{
	faults_clear();
	kind = 0;
	opts = (struct opts){ .preserve = PRESERVE_ALL, .resume = true };
	memset(&seen, 0, sizeof(seen));
	if (tree_setup(state) != 0)
		return -1;
	put_dir("src");
	put_dir("dst");
	top = open("dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	have = have_new(&opts, top, 2);
	return have ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	have_free(have);
	close(top);
	return tree_teardown(state);
}

static void meet(enum walk_event event, const char *name, uint32_t dir,
		 uint32_t id)
{
	const struct walk_item item = { .event = event, .dir = dir, .id = id,
					.name = "at the source", .as = name,
					.type = DT_REG };

	have_meet(have, &item, &seen);
}

/* Two files that are the same but for what tests change. */
static void put_pair(const char *name)
{
	const struct timespec times[2] = { { 1000, 1 }, { 1234, 567 } };
	char path[2][64];

	snprintf(path[0], sizeof(path[0]), "src/%s", name);
	snprintf(path[1], sizeof(path[1]), "dst/%s", name);
	for (int i = 0; i < 2; i++) {
		put_file(path[i], "hello");
		assert_int_equal(utimensat(AT_FDCWD, path[i], times, 0), 0);
	}
}

/* The last word on a file that lies beside. */
static bool takes(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct xattr_source from = { .fd = fd };
	struct stat st = stat_of(path);
	bool is;

	assert_true(fd >= 0);
	is = have_takes(have, &seen, &st, &from);
	close(fd);
	return is;
}

static void what_is_there_is_seen(void **state)
{
	struct stat st;

	(void)state;
	put_pair("f");
	put_dir("dst/d");
	meet(WALK_ENTER, "top", 0, 0);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(seen.there);
	st = stat_of("src/f");
	assert_true(have_fits(&seen, &st));
	assert_true(takes("src/f"));
	st.st_size++;
	assert_false(have_fits(&seen, &st));
	meet(WALK_ENTRY, "none", 0, 0);
	assert_false(seen.there);
	assert_false(have_fits(&seen, &st));
	meet(WALK_ENTRY, "d", 0, 0);
	assert_false(seen.there);
	meet(WALK_END, NULL, 0, 0);
	assert_false(seen.there);
}

static void directories_are_gone_along(void **state)
{
	(void)state;
	put_dir("dst/d");
	put_dir("dst/d/e");
	put_file("dst/d/f", "x");
	put_file("dst/d/e/g", "x");
	meet(WALK_ENTER, "d", 0, 1);
	meet(WALK_ENTRY, "f", 1, 0);
	assert_true(seen.there);
	meet(WALK_ENTER, "e", 1, 2);
	meet(WALK_ENTRY, "g", 2, 0);
	assert_true(seen.there);
	meet(WALK_ENTRY, "g", 1, 0);	/* not of the directory at hand */
	assert_false(seen.there);
	meet(WALK_ENTER, "none", 2, 3);
	meet(WALK_ENTRY, "g", 3, 0);
	assert_false(seen.there);
	meet(WALK_LEAVE, "none", 2, 3);
	meet(WALK_LEAVE, "e", 1, 2);
	meet(WALK_ENTRY, "f", 1, 0);
	assert_true(seen.there);
	meet(WALK_LEAVE, "d", 0, 1);
	meet(WALK_LEAVE, "top", 0, 0);
	meet(WALK_ENTRY, "d", 0, 0);
	assert_false(seen.there);
}

static void no_symlink_is_followed(void **state)
{
	(void)state;
	put_dir("else");
	put_file("else/f", "x");
	assert_int_equal(symlink("../else", "dst/d"), 0);
	assert_int_equal(symlink("../else/f", "dst/l"), 0);
	meet(WALK_ENTRY, "l", 0, 0);
	assert_false(seen.there);
	meet(WALK_ENTER, "d", 0, 1);
	meet(WALK_ENTRY, "f", 1, 0);
	assert_false(seen.there);
	meet(WALK_LEAVE, "d", 0, 1);
}

/* ---- inodes with further names ---- */

static void put_shared(void)
{
	put_pair("f");
	assert_int_equal(link("dst/f", "dst/other"), 0);
}

static void one_that_is_right_in_all_is_taken_once(void **state)
{
	(void)state;
	put_shared();
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(takes("src/f"));
	meet(WALK_ENTRY, "other", 0, 0);
	assert_false(takes("src/f"));
}

static void one_with_another_mode_is_not(void **state)
{
	(void)state;
	put_shared();
	assert_int_equal(chmod("dst/f", 0600), 0);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
	opts.preserve &= ~(unsigned)PRESERVE_MODE;
	assert_true(takes("src/f"));
}

static void owners_by_name_can_not_be_known(void **state)
{
	(void)state;
	put_shared();
	opts.names = true;
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
}

static void one_with_other_attributes_is_not(void **state)
{
	(void)state;
	put_shared();
	if (setxattr("src/f", "user.a", "1", 1, 0) != 0)
		skip();
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
	assert_int_equal(setxattr("dst/f", "user.a", "2", 1, 0), 0);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
	assert_int_equal(setxattr("dst/f", "user.b", "1", 1, 0), 0);
	assert_int_equal(removexattr("dst/f", "user.a"), 0);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
	opts.preserve &= ~(unsigned)(PRESERVE_XATTR | PRESERVE_ACL);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(takes("src/f"));
}

static void the_order_of_attributes_is_no_matter(void **state)
{
	(void)state;
	put_shared();
	if (setxattr("src/f", "user.a", "1", 1, 0) != 0)
		skip();
	assert_int_equal(setxattr("src/f", "user.b", "2", 1, 0), 0);
	assert_int_equal(setxattr("dst/f", "user.b", "2", 1, 0), 0);
	assert_int_equal(setxattr("dst/f", "user.a", "1", 1, 0), 0);
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(takes("src/f"));
}

static void one_whose_attributes_are_not_known_is_not(void **state)
{
	(void)state;
	put_shared();
	if (setxattr("src/f", "user.a", "1", 1, 0) != 0)
		skip();
	assert_int_equal(setxattr("dst/f", "user.a", "1", 1, 0), 0);
	fault_set(LISTXATTR, (struct fault){ .err = EIO });
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(seen.there);
	assert_false(takes("src/f"));
	fault_set(GETXATTR, (struct fault){ .err = EIO });
	meet(WALK_ENTRY, "f", 0, 0);
	assert_false(takes("src/f"));
	meet(WALK_ENTRY, "f", 0, 0);
	assert_true(takes("src/f"));
}

static void no_memory_for_it(void **state)
{
	(void)state;
	for (unsigned after = 0; after < 3; after++) {
		fault_set(CALLOC, (struct fault){ .after = after, .err = ENOMEM });
		assert_null(have_new(&opts, top, 2));
		assert_int_equal(errno, ENOMEM);
	}
	have_free(NULL);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_grain_is_that_of_the_kind),
		cmocka_unit_test(else_the_file_tells),
		cmocka_unit_test(a_file_system_is_asked_once),
		cmocka_unit_test(a_time_is_cut_down_to_the_grain),
		cmocka_unit_test(what_was_before_shows_a_grain_later),
		cmocka_unit_test(type_and_size_count),
		T(what_is_there_is_seen),
		T(directories_are_gone_along),
		T(no_symlink_is_followed),
		T(one_that_is_right_in_all_is_taken_once),
		T(one_with_another_mode_is_not),
		T(owners_by_name_can_not_be_known),
		T(one_with_other_attributes_is_not),
		T(the_order_of_attributes_is_no_matter),
		T(one_whose_attributes_are_not_known_is_not),
		T(no_memory_for_it),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
