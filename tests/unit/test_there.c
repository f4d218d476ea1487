/* SPDX-License-Identifier: BSD-2-Clause */
/* What is there already is left alone, made right, or replaced; and what if it changes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "object.h"
#include "worker.h"

static void set_resume(struct opts *opts)
{
	opts->resume = true;
}

static void set_extract(struct opts *opts)
{
	opts->resume = true;
	opts->mode = MODE_EXTRACT;
}

/* What the records below speak of, as a run before has left it. */
static void put_there(const char *path, const char *text)
{
	const struct timespec times[2] = { { 1000, 5 }, { 1234, 567 } };

	put_file(path, text);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct record have_head(const char *name, uint64_t size)
{
	struct record record = head(RECORD_FILE, name, S_IFREG | 0644);

	record.flags = RECORD_HAVE;
	record.meta.size = size;
	return record;
}

/* The whole of a file that is there; returns what was told. */
static const char *have_file(const char *name, uint64_t size)
{
	capture_begin(STDERR_FILENO);
	enter(root);
	give(have_head(name, size));
	give_end(size);
	leave();
	return capture_end();
}

static uint64_t left_alone(void)
{
	struct restore_counts counts;

	restore_count(sink.restore, &counts);
	return counts.left;
}

static void what_is_right_is_not_touched(void **state)
{
	struct stat before, after;

	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	before = stat_of("dst/f");
	assert_string_equal(have_file("f", 5), "");
	after = stat_of("dst/f");
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	assert_int_equal(left_alone(), 1);
	assert_goes_on();
}

static void what_is_not_right_is_set(void **state)
{
	struct record record;
	struct stat st;
	char value[8];

	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	assert_int_equal(chmod("dst/f", 0600), 0);
	if (setxattr("dst/f", "user.old", "1", 1, 0) != 0 ||
	    setxattr("dst/f", "user.same", "1", 1, 0) != 0 ||
	    setxattr("dst/f", "user.other", "1", 1, 0) != 0)
		skip();
	fault_set(SETXATTR, (struct fault){ .name = "user.same",
					    .times = EVERY_TIME });
	enter(root);
	record = have_head("f", 5);
	record.flags |= RECORD_MORE;
	record.meta.atime.tv_sec = 900;
	give(record);
	give_xattr("user.same", "1");
	give_xattr("user.other", "2");
	give_xattr("user.new", "3");
	give_end(5);
	leave();
	assert_int_equal(fault_hits(SETXATTR), 0);
	st = stat_of("dst/f");
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(st.st_atim.tv_sec, 900);
	assert_int_equal(st.st_mtim.tv_nsec, 567);
	assert_int_equal(getxattr("dst/f", "user.old", value, 8), -1);
	assert_int_equal(getxattr("dst/f", "user.same", value, 8), 1);
	assert_int_equal(getxattr("dst/f", "user.other", value, 8), 1);
	assert_int_equal(value[0], '2');
	assert_int_equal(getxattr("dst/f", "user.new", value, 8), 1);
	assert_text("dst/f", "hello");
	assert_int_equal(diag_status(), STATUS_OK);
}

static const char gone[] =
	"tarpipe: dst/f: changed after it was found to be complete: not copied\n";

static void what_is_not_there_any_more_is_told(void **state)
{
	(void)state;
	with_options(set_resume);
	assert_string_equal(have_file("f", 5), gone);
	assert_false(is_there("dst/f"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	put_file("dst/f", "hello");	/* another time */
	assert_string_equal(have_file("f", 5), gone);
	assert_text("dst/f", "hello");
	put_there("dst/f", "hell");
	assert_string_equal(have_file("f", 5), gone);
	assert_int_equal(unlink("dst/f"), 0);
	assert_int_equal(symlink("g", "dst/f"), 0);
	put_there("dst/g", "hello");
	assert_string_equal(have_file("f", 5), gone);
	assert_int_equal(left_alone(), 0);
	assert_goes_on();
}

static void nor_is_it_believed_without_the_option(void **state)
{
	(void)state;
	assert_string_equal(have_file("f", 5), gone);
	assert_false(is_there("dst/f"));
}

/* A stream that says so and sends data all the same: they are for nothing. */
static void no_data_go_into_it(void **state)
{
	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	enter(root);
	give(have_head("f", 5));
	give_piece("HELLO", 0);
	give_end(5);
	leave();
	assert_text("dst/f", "hello");
}

static void its_end_may_say_that_it_failed(void **state)
{
	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	assert_int_equal(chmod("dst/f", 0600), 0);
	enter(root);
	give(have_head("f", 5));
	give((struct record){ .type = RECORD_END, .first = 5, .second = EIO });
	leave();
	assert_text("dst/f", "hello");
	assert_int_equal(stat_of("dst/f").st_mode, S_IFREG | 0600);
}

static void a_run_that_ends_in_it_removes_nothing(void **state)
{
	unsigned before;

	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	before = open_descriptors();
	enter(root);
	give(have_head("f", 5));
	leave();
	worker_free(worker);
	worker = NULL;
	assert_text("dst/f", "hello");
	assert_true(open_descriptors() <= before);
	sink_close(&sink);
}

static void one_with_other_names_is_not_touched(void **state)
{
	struct record record;
	struct stat before;

	(void)state;
	with_options(set_resume);
	put_there("dst/f", "hello");
	assert_int_equal(link("dst/f", "other"), 0);
	before = stat_of("other");
	assert_string_equal(have_file("f", 5), "");
	record = have_head("f", 5);
	record.meta.mode = S_IFREG | 0600;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(record);
	give_end(5);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: changed after it was found to be complete: "
			    "not made right, for it has other names\n");
	assert_int_equal(stat_of("other").st_mode, before.st_mode);
	assert_int_equal(stat_of("other").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_int_equal(left_alone(), 1);
}

static void from_elsewhere_it_is_decided_here(void **state)
{
	struct record record = head(RECORD_FILE, "f", S_IFREG | 0644);
	struct stat before;

	(void)state;
	put_there("dst/f", "hello");
	put_there("dst/g", "hello");
	put_there("dst/h", "hello");
	assert_int_equal(link("dst/h", "other"), 0);
	usleep(20000);			/* a tick: it is older than the run */
	with_options(set_extract);
	before = stat_of("dst/f");
	record.meta.size = 5;
	enter(root);
	give(record);
	give_piece("HELLO", 0);
	give_end(5);
	record.name = "g";
	record.meta.size = 3;
	give(record);
	give_piece("new", 0);
	give_end(3);
	record.name = "h";
	record.meta.size = 5;
	give(record);
	give_piece("HELLO", 0);
	give_end(5);
	leave();
	assert_text("dst/f", "hello");
	assert_int_equal(stat_of("dst/f").st_ino, before.st_ino);
	assert_text("dst/g", "new");
	assert_text("dst/h", "HELLO");
	assert_text("other", "hello");
	assert_int_equal(left_alone(), 1);
}

static void what_the_run_itself_made_is_replaced(void **state)
{
	struct record record = head(RECORD_FILE, "f", S_IFREG | 0644);

	(void)state;
	with_options(set_extract);
	record.meta.size = 5;
	enter(root);
	give(record);
	give_piece("first", 0);
	give_end(5);
	give(record);
	give_piece("again", 0);
	give_end(5);
	leave();
	assert_text("dst/f", "again");
	assert_int_equal(left_alone(), 0);
}

static void symlinks_and_fifos(void **state)
{
	struct record fifo = head(RECORD_NODE, "fifo", S_IFIFO | 0640);
	ino_t same, other, pipe;

	(void)state;
	with_options(set_resume);
	assert_int_equal(symlink("target", "dst/same"), 0);
	assert_int_equal(symlink("target2", "dst/other"), 0);
	assert_int_equal(mkfifo("dst/fifo", 0600), 0);
	assert_int_equal(mkfifo("dst/twice", 0600), 0);
	assert_int_equal(link("dst/twice", "dst/once"), 0);
	same = stat_of("dst/same").st_ino;
	other = stat_of("dst/other").st_ino;
	pipe = stat_of("dst/fifo").st_ino;
	enter(root);
	give_symlink("same", "target");
	give_symlink("other", "target");
	give(fifo);
	fifo.name = "twice";
	fifo.name_len = 5;
	give(fifo);
	leave();
	assert_int_equal(stat_of("dst/same").st_ino, same);
	assert_int_equal(stat_of("dst/same").st_mtim.tv_sec, 1234);
	assert_int_not_equal(stat_of("dst/other").st_ino, other);
	assert_int_equal(stat_of("dst/fifo").st_ino, pipe);
	assert_int_equal(stat_of("dst/fifo").st_mode, S_IFIFO | 0640);
	assert_int_equal(stat_of("dst/fifo").st_mtim.tv_nsec, 567);
	assert_int_not_equal(stat_of("dst/twice").st_ino,
			     stat_of("dst/once").st_ino);
	assert_int_equal(stat_of("dst/once").st_mode, S_IFIFO | 0600);
	assert_int_equal(left_alone(), 2);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* ---- what looks complete ---- */

static struct record sparse_head(time_t mtime)
{
	struct record record = head(RECORD_FILE, "f", S_IFREG | 0644);

	record.flags = RECORD_SPARSE;
	record.meta.size = 100000;
	record.meta.mtime.tv_sec = mtime;
	return record;
}

/* It has its size at once; its name it may have when its time is no time of today. */
static void a_file_with_holes_of_this_minute_has_no_name_yet(void **state)
{
	(void)state;
	enter(root);
	give(sparse_head(time(NULL)));
	assert_false(is_there("dst/f"));
	give_piece("end", 99997);
	give_end(100000);
	assert_int_equal(stat_of("dst/f").st_size, 100000);
	assert_names("dst", "f");
	give(sparse_head(1234));
	leave();
	worker_free(worker);
	worker = NULL;
	sink_close(&sink);
}

static void it_keeps_what_is_there_with_k(void **state)
{
	(void)state;
	with_options(set_keep);
	put_file("dst/f", "old");
	enter(root);
	give(sparse_head(time(NULL) + 100));
	give_piece("end", 99997);
	give_end(100000);
	leave();
	assert_text("dst/f", "old");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_right_is_not_touched),
		T(what_is_not_right_is_set),
		T(what_is_not_there_any_more_is_told),
		T(nor_is_it_believed_without_the_option),
		T(no_data_go_into_it),
		T(its_end_may_say_that_it_failed),
		T(a_run_that_ends_in_it_removes_nothing),
		T(one_with_other_names_is_not_touched),
		T(from_elsewhere_it_is_decided_here),
		T(what_the_run_itself_made_is_replaced),
		T(symlinks_and_fifos),
		T(a_file_with_holes_of_this_minute_has_no_name_yet),
		T(it_keeps_what_is_there_with_k),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
