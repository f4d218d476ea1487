/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One name at the destination: what was there before, temporary names, and what comes
 * of an object that is never complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "object.h"
#include "worker.h"

/* ---- names ---- */

static void names_that_are_none_are_refused(void **state)
{
	static const char *const names[] = { "..", ".", "../out", "/out", "a/b" };
	char want[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(want, sizeof(want),
			 "tarpipe: dst/%s: refused: no name of an entry\n",
			 names[i]);
		assert_string_equal(restore_file(names[i], "x"), want);
		assert_int_equal(diag_status(), STATUS_PARTIAL);
	}
	assert_names("dst", "");
	assert_names(".", "dst");
	assert_goes_on();
}

/* ---- what was there before ---- */

static void an_old_file_is_replaced_not_written(void **state)
{
	(void)state;
	put_file("dst/f", "old and longer");
	assert_int_equal(link("dst/f", "other"), 0);
	assert_string_equal(restore_file("f", "new"), "");
	assert_text("dst/f", "new");
	assert_text("other", "old and longer");
	assert_names("dst", "f");
}

static void an_old_link_is_replaced_not_followed(void **state)
{
	(void)state;
	put_file("out", "kept");
	assert_int_equal(symlink("../out", "dst/f"), 0);
	assert_int_equal(symlink("../made", "dst/g"), 0);
	assert_string_equal(restore_file("f", "new"), "");
	assert_string_equal(restore_file("g", "new"), "");
	assert_text("dst/f", "new");
	assert_text("dst/g", "new");
	assert_text("out", "kept");
	assert_false(is_there("made"));
	assert_names("dst", "f g");
}

/* Until the new one is whole, the old one is there. */
static void the_old_file_stays_until_the_new_one_is_whole(void **state)
{
	(void)state;
	put_file("dst/f", "old");
	enter(root);
	give_head("f");
	give_piece("new", 0);
	assert_text("dst/f", "old");
	give_end(3);
	leave();
	assert_text("dst/f", "new");
}

static void an_empty_directory_gives_way_a_full_one_does_not(void **state)
{
	(void)state;
	put_dir("dst/empty");
	put_dir("dst/full");
	put_file("dst/full/f", "kept");
	assert_string_equal(restore_file("empty", "x"), "");
	assert_text("dst/empty", "x");
	assert_string_equal(restore_file("full", "x"),
			    "tarpipe: dst/full: a directory is in its place, which "
			    "is not removed: Directory not empty\n");
	assert_text("dst/full/f", "kept");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void with_k_what_is_there_stays(void **state)
{
	(void)state;
	with_options(set_keep);
	put_file("dst/f", "old");
	assert_int_equal(symlink("nowhere", "dst/l"), 0);
	assert_string_equal(restore_file("f", "new"), "");
	assert_string_equal(restore_file("l", "new"), "");
	assert_text("dst/f", "old");
	assert_true(S_ISLNK(stat_of("dst/l").st_mode));
	assert_names("dst", "f l");
	assert_int_equal(diag_status(), STATUS_OK);
	assert_goes_on();
}

static void with_unlink_first_the_old_one_goes_first(void **state)
{
	(void)state;
	with_options(set_unlink_first);
	put_file("dst/f", "old");
	assert_int_equal(link("dst/f", "other"), 0);
	enter(root);
	give_head("f");
	assert_names("dst", "f");
	assert_text("dst/f", "");
	give_piece("new", 0);
	give_end(3);
	leave();
	assert_text("dst/f", "new");
	assert_text("other", "old");
}

/* ---- temporary names ---- */

static void what_a_killed_run_left_goes(void **state)
{
	(void)state;
	put_file("dst/.tarpipe-tmp-0123456789abcdef-0", "half");
	put_file("dst/.tarpipe-tmp-00000000deadbeef-63", "half");
	put_file("dst/.tarpipe-tmp-0", "somebody's own");
	put_file("dst/.tarpipe-tmp-0123456789abcdeX-0", "somebody's own");
	put_file("dst/f", "old");
	assert_string_equal(restore_file("f", "new"), "");
	assert_text("dst/f", "new");
	assert_names("dst", ".tarpipe-tmp-0 "
			    ".tarpipe-tmp-0123456789abcdeX-0 f");
}

static void what_a_living_run_uses_stays(void **state)
{
	int fd;

	(void)state;
	put_file("dst/.tarpipe-tmp-0123456789abcdef-0", "another run's");
	fd = open("dst/.tarpipe-tmp-0123456789abcdef-0", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	put_file("dst/f", "old");
	assert_string_equal(restore_file("f", "new"), "");
	assert_text("dst/f", "new");
	assert_text("dst/.tarpipe-tmp-0123456789abcdef-0", "another run's");
	assert_names("dst", ".tarpipe-tmp-0123456789abcdef-0 f");
	close(fd);
}

/* So that others see that it is alive. */
static void ones_own_is_locked_meanwhile(void **state)
{
	char temp[TEMP_NAME_SIZE], names[TEMP_NAME_SIZE + 8], path[64];
	int fd;

	(void)state;
	put_file("dst/f", "old");
	enter(root);
	give_head("f");
	temp_name(temp, worker->restore->temp_run, 0);
	snprintf(names, sizeof(names), "%s f", temp);
	snprintf(path, sizeof(path), "dst/%s", temp);
	assert_names("dst", names);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(fd);
	give_end(0);
	leave();
	assert_text("dst/f", "");
	assert_names("dst", "f");
}

/* The source has such a name, perhaps from a run that was killed in it. */
static void a_file_that_is_called_so_is_not_lost(void **state)
{
	bool told;

	(void)state;
	put_file("dst/f", "old");
	told = *restore_file(".tarpipe-tmp-0", "a file of the source") != '\0';
	assert_string_equal(restore_file("f", "new"), "");
	assert_text("dst/f", "new");
	/* It is there, or somebody was told that it is not. */
	if (told)
		assert_int_equal(diag_status(), STATUS_PARTIAL);
	else
		assert_text("dst/.tarpipe-tmp-0", "a file of the source");
}

/* ---- calls that fail ---- */

static void a_failing_renameat(void **state)
{
	(void)state;
	put_file("dst/f", "old");
	fault_set(RENAMEAT, (struct fault){ .name = "f", .err = EACCES });
	assert_string_equal(restore_file("f", "new"),
			    "tarpipe: dst/f: renameat: Permission denied\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_text("dst/f", "old");
	assert_names("dst", "f");
	assert_goes_on();
}

/* A half file can't be taken away: that is told as well. */
static void what_can_not_be_removed_is_told(void **state)
{
	(void)state;
	fault_set(PWRITE, (struct fault){ .err = EIO });
	fault_set(UNLINKAT, (struct fault){ .name = "f", .err = EACCES });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: writing at byte 0: Input/output "
			    "error\n"
			    "tarpipe: dst/f: removing what is not complete: "
			    "Permission denied\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	/* It doesn't look complete at least. */
	assert_int_not_equal(stat_of("dst/f").st_mtim.tv_sec, 1234);
	assert_goes_on();
}

static void an_old_name_that_can_not_be_removed(void **state)
{
	(void)state;
	with_options(set_unlink_first);
	put_file("dst/f", "old");
	fault_set(UNLINKAT, (struct fault){ .name = "f", .err = EPERM });
	assert_string_equal(restore_file("f", "new"),
			    "tarpipe: dst/f: unlinkat: Operation not permitted\n");
	assert_text("dst/f", "old");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

/* ---- the source fails, the run stops ---- */

/* The packer could not read on: half a file is no file. */
static void an_end_with_an_error_leaves_nothing(void **state)
{
	struct record bad = { .type = RECORD_END, .first = 5, .second = EIO };

	(void)state;
	put_file("dst/old", "old");
	enter(root);
	give_head("new");
	give_piece("hello", 0);
	give(bad);
	give_head("old");
	give_piece("hello", 0);
	give(bad);
	leave();
	assert_names("dst", "old");
	assert_text("dst/old", "old");
	assert_goes_on();
}

static void a_stop_leaves_no_half_file(void **state)
{
	(void)state;
	put_file("dst/old", "old");
	for (int at_end = 0; at_end < 2; at_end++) {
		close_all();
		open_all();
		enter(root);
		give_head(at_end ? "old" : "new");
		give_piece("hello", 0);
		restore_stop(sink.restore, EINTR);
		if (!at_end)
			give_piece("more", 5);
		give_end(at_end ? 5 : 9);
		leave();
		assert_names("dst", "old");
		assert_text("dst/old", "old");
	}
	assert_int_equal(ring_reason(sink.ring), EINTR);
}

static void after_a_stop_nothing_is_made(void **state)
{
	struct dir *dir;

	(void)state;
	restore_stop(sink.restore, EINTR);
	restore_stop(sink.restore, EIO);
	assert_int_equal(ring_reason(sink.ring), EINTR);	/* the first one */
	capture_begin(STDERR_FILENO);
	enter(root);
	give_file("f", "x");
	give_symlink("l", "t");
	give(head(RECORD_NODE, "p", S_IFIFO | 0644));
	dir = give_dir(root, "d");
	give_linked("a", 1, "x");
	give_link("b", 1, true);
	leave();
	enter(dir);
	give_file("f", "x");
	leave();
	assert_string_equal(capture_end(), "");
	assert_names("dst", "");
}

/* The stream ends inside an object. */
static void a_worker_that_goes_leaves_no_half_file(void **state)
{
	(void)state;
	put_file("dst/old", "old");
	enter(root);
	give_head("new");
	give_piece("hello", 0);
	leave();
	close_all();
	assert_names("dst", "old");
	open_all();
	enter(root);
	give_head("old");
	give_piece("hello", 0);
	leave();
	close_all();
	assert_names("dst", "old");
	assert_text("dst/old", "old");
	open_all();
	enter(root);
	give_symlink("l", "t");
	give(head(RECORD_NODE, "p", S_IFIFO | 0644));
	leave();
	close_all();
	assert_names("dst", "l old p");
	open_all();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_that_are_none_are_refused),
		TEST(an_old_file_is_replaced_not_written),
		TEST(an_old_link_is_replaced_not_followed),
		TEST(the_old_file_stays_until_the_new_one_is_whole),
		TEST(an_empty_directory_gives_way_a_full_one_does_not),
		TEST(with_k_what_is_there_stays),
		TEST(with_unlink_first_the_old_one_goes_first),
		TEST(what_a_killed_run_left_goes),
		TEST(what_a_living_run_uses_stays),
		TEST(ones_own_is_locked_meanwhile),
		TEST(a_file_that_is_called_so_is_not_lost),
		TEST(a_failing_renameat),
		TEST(what_can_not_be_removed_is_told),
		TEST(an_old_name_that_can_not_be_removed),
		TEST(an_end_with_an_error_leaves_nothing),
		TEST(a_stop_leaves_no_half_file),
		TEST(after_a_stop_nothing_is_made),
		TEST(a_worker_that_goes_leaves_no_half_file),
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
