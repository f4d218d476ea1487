/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restore: metadata, attributes, symlinks, special files and directories out of
 * records, and what a call that fails leaves behind.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker.h"

/* ---- calls that fail, on metadata: the data are there all the same ---- */

static void a_failing_fchown(void **state)
{
	struct record file = head(RECORD_FILE, "f", S_IFREG | 04755);

	(void)state;
	if (geteuid() != 0)
		skip();			/* a user does not ask for it */
	file.meta.uid = file.meta.gid = 1000;
	fault_set(FCHOWN, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	enter(root);
	give(file);
	give_piece("hello", 0);
	give_end(5);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: chown: Operation not permitted\n");
	assert_text("dst/f", "hello");
	assert_int_equal(mode_of("dst/f"), 0755);	/* setuid of nobody else */
	assert_int_equal(stat_of("dst/f").st_mtim.tv_sec, 1234);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void a_failing_fchmod(void **state)
{
	struct record file = head(RECORD_FILE, "f", S_IFREG | 04755);

	(void)state;
	fault_set(FCHMOD, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	enter(root);
	give(file);
	give_piece("hello", 0);
	give_end(5);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: chmod: Operation not permitted\n");
	assert_text("dst/f", "hello");
	assert_int_equal(mode_of("dst/f"), 0600);
	assert_int_equal(stat_of("dst/f").st_mtim.tv_sec, 1234);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void a_failing_futimens(void **state)
{
	(void)state;
	fault_set(FUTIMENS, (struct fault){ .err = EPERM });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: setting its times: Operation not "
			    "permitted\n");
	assert_text("dst/f", "hello");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void give_attributed(const char *name)
{
	struct record file = head(RECORD_FILE, name, S_IFREG | 0640);

	file.flags = RECORD_MORE;
	give(file);
	give_piece("data", 0);
	give_xattr("user.k", "v");
	give_end(4);
}

static void attributes_that_the_destination_does_not_hold(void **state)
{
	(void)state;
	fault_set(SETXATTR, (struct fault){ .times = EVERY_TIME,
					    .err = EOPNOTSUPP });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_attributed("a");
	give_attributed("b");
	give_attributed("c");
	leave();
	assert_string_equal(capture_end(), "");
	assert_int_equal(fault_hits(SETXATTR), 3);
	capture_begin(STDERR_FILENO);
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/a: setting attribute user.k: Operation "
			    "not supported: the destination holds no such "
			    "attributes (and 2 more)\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	for (const char *const *name = (const char *const[]){ "dst/a", "dst/b",
							      "dst/c", NULL };
	     *name; name++) {
		assert_text(*name, "data");
		assert_int_equal(mode_of(*name), 0640);
		assert_int_equal(stat_of(*name).st_mtim.tv_sec, 1234);
	}
}

static void attributes_that_are_refused(void **state)
{
	(void)state;
	fault_set(SETXATTR, (struct fault){ .times = 2, .err = EPERM });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_attributed("a");
	give_attributed("b");
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/a: setting attribute user.k: Operation "
			    "not permitted\n"
			    "tarpipe: dst/b: setting attribute user.k: Operation "
			    "not permitted\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_text("dst/a", "data");
	assert_int_equal(mode_of("dst/b"), 0640);
	assert_int_equal(stat_of("dst/b").st_mtim.tv_sec, 1234);
}

/* ---- attributes ---- */

static void attributes_come_with_the_file(void **state)
{
	(void)state;
	need_attributes();
	enter(root);
	give_attributed("f");
	leave();
	assert_value("dst/f", "user.k", "v");
	assert_int_equal(mode_of("dst/f"), 0640);
	assert_int_equal(stat_of("dst/f").st_mtim.tv_sec, 1234);
}

static void give_part(const char *value, uint64_t first, uint64_t second)
{
	give((struct record){ .type = RECORD_XATTR, .name = "user.k",
			      .name_len = 6, .data = value,
			      .data_len = (uint32_t)strlen(value),
			      .first = first, .second = second });
}

static void give_attributed_head(const char *name)
{
	struct record file = head(RECORD_FILE, name, S_IFREG | 0640);

	file.flags = RECORD_MORE;
	give(file);
}

static void a_value_may_come_in_parts(void **state)
{
	(void)state;
	need_attributes();
	enter(root);
	give_attributed_head("f");
	give_part("one ", 0, 11);
	give_part("two ", 4, 11);
	leave();
	enter(root);
	give_part("ten", 8, 11);
	give_end(0);
	leave();
	assert_value("dst/f", "user.k", "one two ten");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void parts_that_reach_beyond_the_value_are_refused(void **state)
{
	static const struct { uint64_t first, second; } bad[] = {
		{ 0, 2 }, { 5, 7 }, { 8, 7 }, { UINT64_MAX, 2 },
		{ 0, 1 << 30 }, { UINT64_MAX - 1, UINT64_MAX },
	};

	(void)state;
	need_attributes();
	enter(root);
	give_attributed_head("f");
	capture_begin(STDERR_FILENO);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		give_part("abc", bad[i].first, bad[i].second);
	give_end(0);
	leave();
	assert_non_null(strstr(capture_end(), "dst/f: an attribute's record"));
	assert_int_equal(getxattr("dst/f", "user.k", NULL, 0), -1);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* Bytes that no part brought are not made up from what lay about. */
static void a_value_with_a_part_missing_is_refused(void **state)
{
	(void)state;
	need_attributes();
	enter(root);
	give_attributed_head("f");
	capture_begin(STDERR_FILENO);
	give_part("abc", 0, 9);
	give_part("ghi", 6, 9);
	give_end(0);
	leave();
	assert_non_null(strstr(capture_end(), "dst/f"));
	assert_int_equal(getxattr("dst/f", "user.k", NULL, 0), -1);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- symlinks and special files ---- */

static void a_symlink_keeps_target_and_times(void **state)
{
	(void)state;
	put_file("dst/old", "");
	enter(root);
	give_symlink("l", "/no/such/../file");
	give_symlink("old", "l");
	leave();
	assert_target("dst/l", "/no/such/../file");
	assert_target("dst/old", "l");
	assert_int_equal(stat_of("dst/l").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/l").st_mtim.tv_nsec, 567);
	assert_names("dst", "l old");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void fifos_and_sockets_are_made(void **state)
{
	(void)state;
	enter(root);
	give(head(RECORD_NODE, "p", S_IFIFO | 0620));
	give(head(RECORD_NODE, "s", S_IFSOCK | 0755));
	leave();
	assert_int_equal(stat_of("dst/p").st_mode, S_IFIFO | 0620);
	assert_int_equal(stat_of("dst/s").st_mode, S_IFSOCK | 0755);
	assert_int_equal(stat_of("dst/p").st_mtim.tv_sec, 1234);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_device_keeps_its_numbers(void **state)
{
	struct record node = head(RECORD_NODE, "null", S_IFCHR | 0666);

	(void)state;
	node.meta.rdev_major = 1;
	node.meta.rdev_minor = 3;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(node);
	leave();
	if (strstr(capture_end(), "mknodat: Operation not permitted"))
		skip();
	assert_int_equal(major(stat_of("dst/null").st_rdev), 1);
	assert_int_equal(minor(stat_of("dst/null").st_rdev), 3);
	assert_int_equal(mode_of("dst/null"), 0666);
}

static void a_node_that_is_none_is_not_made(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(head(RECORD_NODE, "r", S_IFREG | 0644));
	give(head(RECORD_NODE, "d", S_IFDIR | 0755));
	give(head(RECORD_NODE, "z", 0));
	leave();
	diag_summary();
	assert_non_null(strstr(capture_end(), "dst/r"));
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* A hostile head: the mode is that of another type. */
static void a_symlink_with_the_mode_of_a_file_changes_no_target(void **state)
{
	struct record link = head(RECORD_SYMLINK, "l", S_IFREG | 0777);

	(void)state;
	put_file("victim", "");
	assert_int_equal(chmod("victim", 0600), 0);
	link.data = "../victim";
	link.data_len = 9;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(link);
	leave();
	(void)capture_end();
	assert_int_equal(mode_of("victim"), 0600);
	assert_int_not_equal(stat_of("victim").st_mtim.tv_sec, 1234);
}

static void failing_symlinks_and_nodes(void **state)
{
	(void)state;
	fault_set(SYMLINKAT, (struct fault){ .err = EACCES });
	fault_set(MKNODAT, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_symlink("l", "t");
	give(head(RECORD_NODE, "p", S_IFIFO | 0644));
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/l: symlinkat: Permission denied\n"
			    "tarpipe: dst/p: mknodat: Operation not permitted\n");
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void what_the_destination_can_not_hold_is_told_once(void **state)
{
	(void)state;
	fault_set(SYMLINKAT, (struct fault){ .times = 2, .err = EOPNOTSUPP });
	fault_set(MKNODAT, (struct fault){ .times = 2, .err = EOPNOTSUPP });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_symlink("l", "t");
	give_symlink("m", "t");
	give(head(RECORD_NODE, "p", S_IFIFO | 0644));
	give(head(RECORD_NODE, "q", S_IFIFO | 0644));
	leave();
	assert_string_equal(capture_end(), "");
	capture_begin(STDERR_FILENO);
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/p: mknodat: Operation not supported: "
			    "the destination holds no such special files (and 1 "
			    "more)\n"
			    "tarpipe: dst/l: symlinkat: Operation not supported: "
			    "the destination holds no symbolic links (and 1 "
			    "more)\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void a_symlink_without_space_stops_the_run(void **state)
{
	(void)state;
	fault_set(SYMLINKAT, (struct fault){ .err = ENOSPC });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_symlink("l", "t");
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/l: symlinkat: No space "
					   "left on device\n");
	assert_stopped(ENOSPC);
}

/* ---- directories ---- */

static void a_directory_gets_its_metadata_last(void **state)
{
	struct dir *dir;

	(void)state;
	enter(root);
	dir = give_dir(root, "d");
	leave();
	enter(dir);
	give_file("f", "x");
	leave();
	assert_int_equal(mode_of("dst/d"), 0700);
	give_leave(dir, S_IFDIR | 02555);
	assert_int_equal(mode_of("dst/d"), 02555);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_nsec, 567);
	assert_text("dst/d/f", "x");
	assert_int_equal(diag_status(), STATUS_OK);
}

/* Another worker is still at a file in it when the LEAVE comes. */
static void the_last_worker_sets_them(void **state)
{
	struct dir *dir;
	struct worker *other = worker_new(sink.restore, 1), *first = worker;

	(void)state;
	enter(root);
	dir = give_dir(root, "d");
	leave();
	gate_hold(sink.gate, dir);
	worker_enter(other, dir);
	give_leave(dir, S_IFDIR | 0555);
	assert_int_equal(mode_of("dst/d"), 0700);
	worker = other;
	give_file("f", "late");
	leave();
	worker = first;
	worker_free(other);
	assert_int_equal(mode_of("dst/d"), 0555);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_sec, 1234);
	assert_text("dst/d/f", "late");
}

static void parents_are_done_after_their_children(void **state)
{
	struct dir *a, *b;

	(void)state;
	enter(root);
	a = give_dir(root, "a");
	leave();
	enter(a);
	b = give_dir(a, "b");
	leave();
	give_leave(b, S_IFDIR | 0500);
	give_leave(a, S_IFDIR | 0500);
	assert_int_equal(mode_of("dst/a/b"), 0500);
	assert_int_equal(mode_of("dst/a"), 0500);
	assert_int_equal(stat_of("dst/a").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/a/b").st_mtim.tv_sec, 1234);
}

static void an_existing_directory_gets_the_new_metadata(void **state)
{
	struct dir *dir;

	(void)state;
	put_dir("dst/d");
	put_file("dst/d/old", "kept");
	enter(root);
	dir = give_dir(root, "d");
	leave();
	give_leave(dir, S_IFDIR | 0510);
	assert_int_equal(mode_of("dst/d"), 0510);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_sec, 1234);
	assert_text("dst/d/old", "kept");
}

static void the_top_may_keep_its_own(void **state)
{
	struct record keep = { .type = RECORD_LEAVE, .flags = RECORD_KEEP };

	(void)state;
	assert_int_equal(chmod("dst", 01777), 0);
	enter(root);
	give_file("f", "x");
	give(keep);
	gate_end(sink.gate, root);
	leave();
	assert_int_equal(mode_of("dst"), 01777);
	assert_int_not_equal(stat_of("dst").st_mtim.tv_sec, 1234);
}

static void a_directory_has_attributes(void **state)
{
	struct record last = leave_of(S_IFDIR | 0750);
	struct dir *dir;

	(void)state;
	need_attributes();
	enter(root);
	dir = give_dir(root, "d");
	leave();
	last.flags = RECORD_MORE;
	enter(dir);
	give(last);
	give_xattr("user.k", "v");
	give_end(0);
	gate_end(sink.gate, dir);
	leave();
	assert_value("dst/d", "user.k", "v");
	assert_int_equal(mode_of("dst/d"), 0750);
	assert_int_equal(stat_of("dst/d").st_mtim.tv_sec, 1234);
}

static void a_failing_mkdirat(void **state)
{
	struct dir *dir;

	(void)state;
	fault_set(MKDIRAT, (struct fault){ .err = EACCES });
	capture_begin(STDERR_FILENO);
	enter(root);
	dir = give_dir(root, "d");
	leave();
	enter(dir);
	give_file("f", "left out");
	leave();
	give_leave(dir, S_IFDIR | 0755);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/d: mkdirat: Permission denied\n");
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void assert_no_directory(int err, const char *message)
{
	fault_set(MKDIRAT, (struct fault){ .err = err });
	capture_begin(STDERR_FILENO);
	enter(root);
	(void)give_dir(root, "d");
	leave();
	assert_string_equal(capture_end(), message);
	assert_names("dst", "");
	assert_stopped(err);
}

static void no_space_for_a_directory(void **state)
{
	(void)state;
	assert_no_directory(ENOSPC, "tarpipe: dst/d: mkdirat: No space left on "
				    "device\n");
}

static void a_read_only_place_for_a_directory(void **state)
{
	(void)state;
	assert_no_directory(EROFS, "tarpipe: dst/d: mkdirat: Read-only file "
				   "system\n");
}

static void failing_metadata_of_a_directory(void **state)
{
	struct dir *dir;

	(void)state;
	enter(root);
	dir = give_dir(root, "d");
	leave();
	fault_set(FCHMOD, (struct fault){ .err = EPERM });
	fault_set(FUTIMENS, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	give_leave(dir, S_IFDIR | 0755);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/d: chmod: Operation not permitted\n"
			    "tarpipe: dst/d: setting its times: Operation not "
			    "permitted\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

/* ---- directories that are only passed ---- */

static void give_passed(struct dir *dir)
{
	struct record record = leave_of(0);

	record.flags = RECORD_PUTBACK;
	enter(dir);
	give(record);
	gate_end(sink.gate, dir);
	leave();
}

static struct dir *pass(const char *name)
{
	struct dir *dir;

	enter(root);
	dir = give_dir(root, name);
	leave();
	enter(dir);
	give_file("f", "text");
	leave();
	give_passed(dir);
	return dir;
}

static void a_passed_directory_is_as_it_was(void **state)
{
	const struct timespec times[2] = { { 7, 8 }, { 9, 10 } };
	struct stat st;

	(void)state;
	put_dir("dst/d");
	assert_int_equal(chmod("dst/d", 02711), 0);
	assert_int_equal(utimensat(AT_FDCWD, "dst/d", times, 0), 0);
	(void)pass("d");
	st = stat_of("dst/d");
	assert_int_equal(st.st_mode & 07777, 02711);
	assert_int_equal(st.st_mtim.tv_sec, 9);
	assert_int_equal(st.st_mtim.tv_nsec, 10);
	assert_int_equal(st.st_atim.tv_sec, 7);
	assert_text("dst/d/f", "text");
	assert_int_equal(diag_status(), STATUS_OK);
}

/* 0777 less the caller's umask, which is 022 in sink.h. */
static void a_passed_directory_that_was_made(void **state)
{
	(void)state;
	(void)pass("d");
	assert_int_equal(mode_of("dst/d"), 0755);
	assert_int_not_equal(stat_of("dst/d").st_mtim.tv_sec, 0);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void set_no_times(struct opts *opts)
{
	opts->preserve &= ~(unsigned)PRESERVE_TIMES;
}

static void a_passed_directory_without_times(void **state)
{
	const struct timespec times[2] = { { 7, 8 }, { 9, 10 } };

	(void)state;
	with_options(set_no_times);
	put_dir("dst/d");
	assert_int_equal(utimensat(AT_FDCWD, "dst/d", times, 0), 0);
	(void)pass("d");
	assert_int_not_equal(stat_of("dst/d").st_mtim.tv_sec, 9);
}

static void a_passed_directory_that_can_not_be_put_back(void **state)
{
	(void)state;
	put_dir("dst/d");
	fault_set(FUTIMENS, (struct fault){ .after = 1, .err = EIO });
	capture_begin(STDERR_FILENO);
	(void)pass("d");
	assert_non_null(strstr(capture_end(), "futimens: Input/output error"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- numbers ---- */

static void entries_and_bytes_are_counted(void **state)
{
	struct restore_counts counts;
	struct dir *dir;

	(void)state;
	enter(root);
	dir = give_dir(root, "d");
	give_linked("a", 1, "12345");
	give_link("b", 1, true);
	give_symlink("l", "t");
	leave();
	give_leave(dir, S_IFDIR | 0755);
	restore_count(sink.restore, &counts);
	assert_int_equal(counts.entries, 4);
	assert_int_equal(counts.bytes, 5);
	assert_int_equal(counts.referenced, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_failing_fchown),
		TEST(a_failing_fchmod),
		TEST(a_failing_futimens),
		TEST(attributes_that_the_destination_does_not_hold),
		TEST(attributes_that_are_refused),
		TEST(attributes_come_with_the_file),
		TEST(a_value_may_come_in_parts),
		TEST(parts_that_reach_beyond_the_value_are_refused),
		TEST(a_value_with_a_part_missing_is_refused),
		TEST(a_symlink_keeps_target_and_times),
		TEST(fifos_and_sockets_are_made),
		TEST(a_device_keeps_its_numbers),
		TEST(a_node_that_is_none_is_not_made),
		TEST(a_symlink_with_the_mode_of_a_file_changes_no_target),
		TEST(failing_symlinks_and_nodes),
		TEST(what_the_destination_can_not_hold_is_told_once),
		TEST(a_symlink_without_space_stops_the_run),
		TEST(a_directory_gets_its_metadata_last),
		TEST(the_last_worker_sets_them),
		TEST(parents_are_done_after_their_children),
		TEST(an_existing_directory_gets_the_new_metadata),
		TEST(the_top_may_keep_its_own),
		TEST(a_directory_has_attributes),
		TEST(a_failing_mkdirat),
		TEST(no_space_for_a_directory),
		TEST(a_read_only_place_for_a_directory),
		TEST(failing_metadata_of_a_directory),
		TEST(a_passed_directory_is_as_it_was),
		TEST(a_passed_directory_that_was_made),
		TEST(a_passed_directory_without_times),
		TEST(a_passed_directory_that_can_not_be_put_back),
		TEST(entries_and_bytes_are_counted),
	};

	return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
