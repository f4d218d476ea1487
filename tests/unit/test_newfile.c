/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that gets its name when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include <sys/file.h>

#include "newfile.h"

#include "faults.h"
#include "tree.h"

static bool no_tmpfile;		/* O_TMPFILE is not known here */
static mode_t made;		/* with which mode a file was made */

WRAPPED(int, openat, int dirfd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (fault_due(OPENAT, name, NULL))
		return -1;
	if (flags & (O_CREAT | O_TMPFILE))
		made = mode;
	return __real_openat(dirfd, name, flags, mode);
}

WRAPPED(int, __openat_2, int dirfd, const char *name, int flags)
{
	return fault_due(OPENAT, name, NULL) ? -1 :
					      __real___openat_2(dirfd, name, flags);
}

WRAPPED(int, faccessat, int dirfd, const char *name, int mode, int flags)
{
	return fault_due(FSTATAT, NULL, NULL) ? -1 :
		__real_faccessat(dirfd, name, mode, flags);
}

WRAPPED(int, fchown, int fd, uid_t uid, gid_t gid)
{
	return fault_due(FCHOWN, NULL, NULL) ? -1 : __real_fchown(fd, uid, gid);
}

WRAPPED(int, linkat, int from, const char *old, int to, const char *name,
	int flags)
{
	return fault_due(LINKAT, NULL, NULL) ? -1 :
		__real_linkat(from, old, to, name, flags);
}

WRAPPED(int, renameat, int from, const char *old, int to, const char *name)
{
	return fault_due(RENAMEAT, NULL, NULL) ? -1 :
		__real_renameat(from, old, to, name);
}

static int setup(void **state)
{
	no_tmpfile = false;
	faults_clear();
	return tree_setup(state);
}

/* The file is written and named. */
static void make(const char *path, const char *text)
{
	struct newfile file;

	assert_int_equal(newfile_open(&file, path), 0);
	assert_int_equal(write(file.fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(file.fd), 0);
	assert_int_equal(newfile_name(&file), 0);
	newfile_drop(&file);
}

static void assert_refused(const char *path, int err)
{
	unsigned before = open_descriptors();
	struct newfile file;

	assert_int_equal(newfile_open(&file, path), -1);
	assert_int_equal(errno, err);
	newfile_drop(&file);
	assert_int_equal(open_descriptors(), before);
}

static void a_new_name_appears_at_the_end(void **state)
{
	struct newfile file;
	unsigned before = open_descriptors();

	(void)state;
	assert_int_equal(newfile_open(&file, "new"), 0);
	assert_false(file.replaces);
	assert_int_equal(write(file.fd, "text", 4), 4);
	assert_false(is_there("new"));
	close(file.fd);
	assert_int_equal(newfile_name(&file), 0);
	newfile_drop(&file);
	newfile_drop(&file);
	assert_text("new", "text");
	assert_int_equal(mode_of("new"), 0644);
	assert_names(".", "new");
	assert_int_equal(open_descriptors(), before);
}

static void what_was_there_stays_until_then(void **state)
{
	struct newfile file;

	(void)state;
	put_file("old", "before");
	assert_int_equal(link("old", "other"), 0);
	assert_int_equal(newfile_open(&file, "old"), 0);
	assert_true(file.replaces);
	assert_int_equal(file.old.st_ino, stat_of("old").st_ino);
	assert_int_equal(write(file.fd, "after", 5), 5);
	assert_text("old", "before");
	close(file.fd);
	newfile_drop(&file);
	assert_text("old", "before");
	assert_names(".", "old other");

	make("old", "after");
	assert_text("old", "after");
	assert_text("other", "before");
}

static void mode_and_owner_stay(void **state)
{
	(void)state;
	put_file("old", "before");
	assert_int_equal(chmod("old", 0640), 0);
	if (geteuid() == 0)
		assert_int_equal(chown("old", 1234, 5678), 0);
	make("old", "after");
	assert_int_equal(mode_of("old"), 0640);
	if (geteuid() == 0) {
		assert_int_equal(stat_of("old").st_uid, 1234);
		assert_int_equal(stat_of("old").st_gid, 5678);
	}
}

static void another_owner_gets_no_setid_bits(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	put_file("old", "before");
	assert_int_equal(chown("old", 1234, 5678), 0);
	assert_int_equal(chmod("old", 06755), 0);
	fault_set(FCHOWN, (struct fault){ .err = EPERM });
	make("old", "after");
	assert_int_not_equal(fault_hits(FCHOWN), 0);
	assert_int_equal(mode_of("old"), 0755);
}

static void another_group_sees_what_others_do(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	put_file("old", "before");
	assert_int_equal(chown("old", 1234, 5678), 0);
	assert_int_equal(chmod("old", 0764), 0);
	fault_set(FCHOWN, (struct fault){ .err = EPERM, .times = 2 });
	make("old", "after");
	assert_int_equal(mode_of("old"), 0744);
}

/* user::rw- user:7:r-- group::--- mask::r-- other::---, whose st_mode is 0640. */
static const unsigned char acl[] = {
	2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,
	2, 0, 4, 0, 7, 0, 0, 0,
	4, 0, 0, 0, 255, 255, 255, 255,
	16, 0, 4, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255,
};

/* Without it the bits that mask an ACL would be the group's. */
static void an_acl_stays(void **state)
{
	unsigned char now[sizeof(acl) + 1];

	(void)state;
	put_file("old", "before");
	if (setxattr("old", "system.posix_acl_access", acl, sizeof(acl), 0) != 0)
		skip();
	make("old", "after");
	assert_int_equal(mode_of("old"), 0640);
	assert_int_equal(getxattr("old", "system.posix_acl_access", now,
				  sizeof(now)), sizeof(acl));
	assert_memory_equal(now, acl, sizeof(acl));
}

static void a_default_acl_lets_nobody_in(void **state)
{
	(void)state;
	put_file("old", "before");
	assert_int_equal(chmod("old", 0640), 0);
	if (setxattr(".", "system.posix_acl_default", acl, sizeof(acl), 0) != 0)
		skip();
	make("old", "after");
	assert_int_equal(mode_of("old"), 0640);
	assert_int_equal(getxattr("old", "system.posix_acl_access", NULL, 0), -1);
	assert_int_equal(errno, ENODATA);
}

static void a_secret_is_never_open(void **state)
{
	struct newfile file;
	struct stat st;

	(void)state;
	put_file("old", "before");
	assert_int_equal(chmod("old", 0600), 0);
	no_tmpfile = true;
	made = 0;
	assert_int_equal(newfile_open(&file, "old"), 0);
	assert_int_equal(made, 0600);
	assert_int_equal(fstat(file.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(file.fd);
	newfile_drop(&file);
}

static void without_o_tmpfile_it_has_a_temporary_name(void **state)
{
	struct newfile file;

	(void)state;
	no_tmpfile = true;
	put_file("old", "before");
	assert_int_equal(newfile_open(&file, "old"), 0);
	assert_true(is_there(file.temp));
	close(file.fd);
	/* Another run sweeps what is left of killed ones, not this. */
	make("old", "between");
	assert_true(is_there(file.temp));
	newfile_drop(&file);
	assert_names(".", "old");
	make("old", "after");
	assert_text("old", "after");
	assert_names(".", "old");
}

static void without_proc_too(void **state)
{
	(void)state;
	fault_set(FSTATAT, (struct fault){ .err = ENOENT });
	make("new", "text");
	assert_int_equal(fault_hits(FSTATAT), 1);
	assert_text("new", "text");
	assert_names(".", "new");
}

static void symlinks_are_followed(void **state)
{
	(void)state;
	put_dir("d");
	put_file("d/old", "before");
	assert_int_equal(symlink("d/old", "link"), 0);
	assert_int_equal(symlink("../link", "d/second"), 0);
	make("d/second", "after");
	assert_text("d/old", "after");
	assert_true(S_ISLNK(stat_of("link").st_mode));
	assert_true(S_ISLNK(stat_of("d/second").st_mode));

	assert_int_equal(symlink("d/new", "dangling"), 0);
	make("dangling", "text");
	assert_text("d/new", "text");
	assert_names("d", "new old second");
}

static void what_can_not_be_one_is_refused(void **state)
{
	(void)state;
	put_dir("d");
	put_file("f", "");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_refused("d", EISDIR);
	assert_refused("d/", EISDIR);
	assert_refused("none/", EISDIR);
	assert_refused("none/f", ENOENT);
	assert_refused("f/g", ENOTDIR);
	assert_refused("fifo", EEXIST);
	assert_refused("loop", ELOOP);
	assert_refused("", EISDIR);
	no_tmpfile = true;
	fault_set(OPENAT, (struct fault){ .err = EDQUOT, .times = EVERY_TIME });
	assert_refused("new", EDQUOT);
}

static void naming_may_fail(void **state)
{
	struct newfile file;

	(void)state;
	put_file("old", "before");
	for (int i = 0; i < 2; i++) {
		fault_set(i ? RENAMEAT : LINKAT,
			  (struct fault){ .err = ENOSPC });
		assert_int_equal(newfile_open(&file, "old"), 0);
		close(file.fd);
		assert_int_equal(newfile_name(&file), -1);
		assert_int_equal(errno, ENOSPC);
		newfile_drop(&file);
		assert_text("old", "before");
		assert_names(".", "old");
	}
}

static void a_temporary_name_that_is_taken_is_drawn_anew(void **state)
{
	(void)state;
	fault_set(LINKAT, (struct fault){ .err = EEXIST, .times = 3 });
	make("new", "text");
	assert_int_equal(fault_hits(LINKAT), 3);
	assert_names(".", "new");
}

static void a_file_made_under_its_name_is_removed(void **state)
{
	struct newfile file;
	struct stat st;

	(void)state;
	put_file("other", "");
	assert_int_equal(newfile_open(&file, "new"), 0);
	st = stat_of("other");
	assert_false(newfile_unmake(&file, &st));
	put_file("new", "");
	st = stat_of("new");
	assert_true(newfile_unmake(&file, &st));
	close(file.fd);
	newfile_drop(&file);
	assert_names(".", "other");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_name_appears_at_the_end),
		TEST(what_was_there_stays_until_then),
		TEST(mode_and_owner_stay),
		TEST(another_owner_gets_no_setid_bits),
		TEST(another_group_sees_what_others_do),
		TEST(an_acl_stays),
		TEST(a_default_acl_lets_nobody_in),
		TEST(a_secret_is_never_open),
		TEST(without_o_tmpfile_it_has_a_temporary_name),
		TEST(without_proc_too),
		TEST(symlinks_are_followed),
		TEST(what_can_not_be_one_is_refused),
		TEST(naming_may_fail),
		TEST(a_temporary_name_that_is_taken_is_drawn_anew),
		TEST(a_file_made_under_its_name_is_removed),
	};

	return cmocka_run_group_tests_name("newfile", tests, NULL, NULL);
}
