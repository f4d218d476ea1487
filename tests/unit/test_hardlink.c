/* SPDX-License-Identifier: BSD-2-Clause */
/* Further names of an inode, and its twins where it can have no more. */
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

#include "worker.h"

/* ---- several names ---- */

static void names_of_one_inode_are_links(void **state)
{
	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	give_link("b", 1, false);
	give_link("c", 1, true);
	leave();
	assert_linked("dst/a", "dst/b", 3);
	assert_linked("dst/a", "dst/c", 3);
	assert_int_equal(stat_of("dst/b").st_mtim.tv_sec, 1234);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* A second run of the same copy. */
static void links_that_are_there_are_made_anew(void **state)
{
	(void)state;
	for (int run = 0; run < 2; run++) {
		enter(root);
		give_linked("a", 1, "text");
		give_link("b", 1, true);
		leave();
		assert_linked("dst/a", "dst/b", 2);
		assert_names("dst", "a b");
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_link_replaces_what_is_there(void **state)
{
	(void)state;
	put_file("dst/b", "old");
	assert_int_equal(link("dst/b", "other"), 0);
	assert_int_equal(symlink("../other", "dst/c"), 0);
	enter(root);
	give_linked("a", 1, "text");
	give_link("b", 1, false);
	give_link("c", 1, true);
	leave();
	assert_linked("dst/a", "dst/b", 3);
	assert_linked("dst/a", "dst/c", 3);
	assert_text("other", "old");
	assert_names("dst", "a b c");
}

static void links_reach_into_other_directories(void **state)
{
	struct dir *a, *b;

	(void)state;
	enter(root);
	a = give_dir(root, "a");
	leave();
	enter(a);
	give_linked("f", 1, "text");
	leave();
	give_leave(a, S_IFDIR | 0555);
	enter(root);
	b = give_dir(root, "b");
	leave();
	enter(b);
	give_link("g", 1, true);
	leave();
	give_leave(b, S_IFDIR | 0755);
	assert_linked("dst/a/f", "dst/b/g", 2);
	assert_int_equal(stat_of("dst/a").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/b").st_mtim.tv_sec, 1234);
}

static void no_link_without_a_first_name(void **state)
{
	(void)state;
	fault_set(PWRITE, (struct fault){ .err = EIO });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_linked("a", 1, "text");
	give_link("b", 1, true);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/a: writing at byte 0: Input/output "
			    "error\n"
			    "tarpipe: dst/b: not linked: its first name could not "
			    "be made\n");
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

/* Somebody put another file under the first name: that one is not linked. */
static void a_first_name_that_was_replaced_is_not_linked(void **state)
{
	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	assert_int_equal(rename("dst/a", "moved"), 0);
	put_file("dst/a", "somebody else's");
	capture_begin(STDERR_FILENO);
	give_link("b", 1, true);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: Stale file handle\n");
	assert_names("dst", "a");
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_failing_linkat(void **state)
{
	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	fault_set(LINKAT, (struct fault){ .times = 2, .err = EIO });
	capture_begin(STDERR_FILENO);
	give_link("b", 1, false);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: Input/output error\n");
	faults_clear();
	give_link("c", 1, true);
	leave();
	assert_names("dst", "a c");
	assert_linked("dst/a", "dst/c", 2);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_link_without_space_stops_the_run(void **state)
{
	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	fault_set(LINKAT, (struct fault){ .times = 2, .err = ENOSPC });
	capture_begin(STDERR_FILENO);
	give_link("b", 1, true);
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/b: linkat: No space left "
					   "on device\n");
	assert_names("dst", "a");
	assert_stopped(ENOSPC);
}

/* ---- twins ---- */

/* Further names go to the second inode, and not each to one of its own. */
static void too_many_links_begin_a_twin(void **state)
{
	struct stat st;

	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	capture_begin(STDERR_FILENO);
	give_link("b", 1, false);
	give_link("c", 1, false);
	give_link("d", 1, true);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: it begins another inode with "
			    "the same contents: Too many links\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_names("dst", "a b c d");
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	assert_linked("dst/b", "dst/c", 3);
	assert_linked("dst/b", "dst/d", 3);
	assert_text("dst/b", "text");
	st = stat_of("dst/b");
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1234);
	assert_int_equal(st.st_mtim.tv_nsec, 567);
}

static struct worker *other;

static void other_begins_a_twin(void)
{
	struct worker *first = worker;

	worker = other;
	fault_set(LINKAT, (struct fault){ .name = "b", .err = EMLINK });
	enter(root);
	give_link("b", 1, false);
	leave();
	worker = first;
}

/* Two workers are refused at the same time: the second links to the first one's. */
static void two_workers_begin_one_twin(void **state)
{
	(void)state;
	other = worker_new(sink.restore, 1);
	capture_begin(STDERR_FILENO);
	enter(root);
	give_linked("a", 1, "text");
	fault_set(LINKAT, (struct fault){ .name = "c", .err = EMLINK,
					  .hook = other_begins_a_twin });
	give_link("c", 1, false);
	leave();
	worker_free(other);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: it begins another inode with "
			    "the same contents: Too many links\n");
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	assert_linked("dst/b", "dst/c", 2);
	assert_text("dst/c", "text");
}

static void a_twin_has_the_attributes_too(void **state)
{
	struct record file = head(RECORD_FILE, "a", S_IFREG | 0640);

	(void)state;
	need_attributes();
	enter(root);
	file.id = 1;
	file.flags = RECORD_MORE;
	worker_record(worker, &file, NULL, inodes_open(sink.inodes, 1));
	give_piece("text", 0);
	give_xattr("user.k", "v");
	give_end(4);
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	capture_begin(STDERR_FILENO);
	give_link("b", 1, true);
	(void)capture_end();
	leave();
	assert_text("dst/b", "text");
	assert_value("dst/b", "user.k", "v");
	assert_int_equal(mode_of("dst/b"), 0640);
}

static void a_twin_of_a_large_file_with_holes(void **state)
{
	size_t size = 3 << 20;
	unsigned char *bytes = calloc(1, size);
	struct record piece = { .type = RECORD_PIECE, .data = bytes,
				.data_len = 1 << 20 };

	(void)state;
	put_noise(bytes, 1 << 20, 1);
	bytes[size - 1] = 7;
	enter(root);
	give_first(RECORD_FILE, "a", 1);
	give(piece);
	give_piece("\7", size - 1);
	give_end(size);
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	capture_begin(STDERR_FILENO);
	give_link("b", 1, true);
	(void)capture_end();
	leave();
	assert_bytes("dst/b", bytes, size);
	assert_true(stat_of("dst/b").st_blocks <=
		    stat_of("dst/a").st_blocks + 64);
	free(bytes);
}

static void a_destination_without_links_gets_copies(void **state)
{
	(void)state;
	fault_set(LINKAT, (struct fault){ .times = EVERY_TIME, .err = EPERM });
	capture_begin(STDERR_FILENO);
	enter(root);
	give_linked("a", 1, "text");
	give_link("b", 1, false);
	give_link("c", 1, true);
	leave();
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: copied instead: Operation "
			    "not supported: the destination holds no hard links "
			    "(and 1 more)\n");
	assert_text("dst/a", "text");
	assert_text("dst/b", "text");
	assert_text("dst/c", "text");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_twin_of_a_symlink_and_a_fifo(void **state)
{
	struct record link = head(RECORD_SYMLINK, "l", S_IFLNK | 0777);
	struct record further = head(RECORD_LINK, "m", S_IFLNK | 0777);

	(void)state;
	link.data = "target";
	link.data_len = 6;
	link.id = further.id = 1;
	enter(root);
	worker_record(worker, &link, NULL, inodes_open(sink.inodes, 1));
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	capture_begin(STDERR_FILENO);
	worker_record(worker, &further, NULL, inodes_find(sink.inodes, 1, true));
	give_first(RECORD_NODE, "p", 2);
	further = head(RECORD_LINK, "q", S_IFIFO | 0640);
	further.id = 2;
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	worker_record(worker, &further, NULL, inodes_find(sink.inodes, 2, true));
	leave();
	(void)capture_end();
	assert_target("dst/m", "target");
	assert_int_equal(stat_of("dst/m").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/q").st_mode, S_IFIFO | 0640);
	assert_int_equal(stat_of("dst/q").st_nlink, 1);
}

/* Its data can't be read again; the name is told, the next one tries anew. */
static void a_twin_that_fails(void **state)
{
	(void)state;
	enter(root);
	give_linked("a", 1, "text");
	capture_begin(STDERR_FILENO);
	fault_set(LINKAT, (struct fault){ .times = 2, .err = EMLINK });
	fault_set(OPENAT, (struct fault){ .name = "a", .err = EMFILE });
	give_link("b", 1, false);
	fault_set(PREAD, (struct fault){ .err = EIO });
	give_link("c", 1, false);
	give_link("d", 1, true);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/b: linkat: it begins another inode with "
			    "the same contents: Too many links\n"
			    "tarpipe: dst/b: opening its first name: Too many open "
			    "files\n"
			    "tarpipe: dst/c: linkat: it begins another inode with "
			    "the same contents: Too many links\n"
			    "tarpipe: dst/c: reading its source at byte 0: Input/output "
			    "error\n");
	assert_names("dst", "a d");
	assert_linked("dst/a", "dst/d", 2);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_twin_of_a_symlink_that_fails(void **state)
{
	struct record link = head(RECORD_SYMLINK, "l", S_IFLNK | 0777);
	struct record further = head(RECORD_LINK, "m", S_IFLNK | 0777);

	(void)state;
	link.data = "target";
	link.data_len = 6;
	link.id = further.id = 1;
	enter(root);
	worker_record(worker, &link, NULL, inodes_open(sink.inodes, 1));
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	fault_set(READLINKAT, (struct fault){ .err = EIO });
	capture_begin(STDERR_FILENO);
	worker_record(worker, &further, NULL, inodes_find(sink.inodes, 1, true));
	leave();
	assert_non_null(strstr(capture_end(), "tarpipe: dst/m: readlinkat of its "
					      "first name: Input/output error\n"));
	assert_names("dst", "l");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- with -k ---- */

/* The old file is the same by size and time: it stands for the inode. */
static void with_k_links_go_to_what_was_kept(void **state)
{
	struct timespec times[2] = { { 1000, 5 }, { 1234, 567 } };
	struct record file = head(RECORD_FILE, "a", S_IFREG | 0640);

	(void)state;
	with_options(set_keep);
	put_file("dst/a", "kept");
	assert_int_equal(utimensat(AT_FDCWD, "dst/a", times, 0), 0);
	file.id = 1;
	file.meta.size = 4;
	enter(root);
	worker_record(worker, &file, NULL, inodes_open(sink.inodes, 1));
	give_piece("text", 0);
	give_end(4);
	give_link("b", 1, true);
	leave();
	assert_text("dst/a", "kept");
	assert_linked("dst/a", "dst/b", 2);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* It is another: its name must not be linked as if it were the source's. */
static void with_k_links_do_not_go_to_another_file(void **state)
{
	struct record file = head(RECORD_FILE, "a", S_IFREG | 0640);

	(void)state;
	with_options(set_keep);
	put_file("dst/a", "another");
	file.id = 1;
	file.meta.size = 4;
	capture_begin(STDERR_FILENO);
	enter(root);
	worker_record(worker, &file, NULL, inodes_open(sink.inodes, 1));
	give_piece("text", 0);
	give_end(4);
	give_link("b", 1, true);
	leave();
	(void)capture_end();
	assert_text("dst/a", "another");
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	/* What is not there was told. */
	if (is_there("dst/b"))
		assert_text("dst/b", "text");
	else
		assert_int_equal(diag_status(), STATUS_PARTIAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_of_one_inode_are_links),
		TEST(links_that_are_there_are_made_anew),
		TEST(a_link_replaces_what_is_there),
		TEST(links_reach_into_other_directories),
		TEST(no_link_without_a_first_name),
		TEST(a_first_name_that_was_replaced_is_not_linked),
		TEST(a_failing_linkat),
		TEST(a_link_without_space_stops_the_run),
		TEST(too_many_links_begin_a_twin),
		TEST(two_workers_begin_one_twin),
		TEST(a_twin_has_the_attributes_too),
		TEST(a_twin_of_a_large_file_with_holes),
		TEST(a_destination_without_links_gets_copies),
		TEST(a_twin_of_a_symlink_and_a_fifo),
		TEST(a_twin_that_fails),
		TEST(a_twin_of_a_symlink_that_fails),
		TEST(with_k_links_go_to_what_was_kept),
		TEST(with_k_links_do_not_go_to_another_file),
	};

	return cmocka_run_group_tests_name("hardlink", tests, NULL, NULL);
}
