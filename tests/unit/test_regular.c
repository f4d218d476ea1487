/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular files: their data, by value and by reference, and what a call that fails
 * leaves behind: a message, a status, the rest of the tree, and nothing that looks
 * complete.
 */
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
#include <unistd.h>
#include <cmocka.h>

#include "object.h"
#include "worker.h"

/* ---- files ---- */

static void a_file_is_what_the_records_say(void **state)
{
	struct stat st;

	(void)state;
	assert_string_equal(restore_file("f", "hello"), "");
	st = stat_of("dst/f");		/* before reading changes it */
	assert_text("dst/f", "hello");
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(st.st_atim.tv_sec, 1000);
	assert_int_equal(st.st_atim.tv_nsec, 5);
	assert_int_equal(st.st_mtim.tv_sec, 1234);
	assert_int_equal(st.st_mtim.tv_nsec, 567);
	assert_names("dst", "f");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_small_file_costs_four_calls(void **state)
{
	static const enum fault_call all[] = { OPENAT, PWRITE, FUTIMENS, CLOSE,
					       FSTAT, FCHOWN, FCHMOD, FTRUNCATE,
					       RENAMEAT, UNLINKAT };

	(void)state;
	assert_string_equal(restore_file("first", "x"), "");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		fault_set(all[i], (struct fault){ .times = EVERY_TIME });
	enter(root);
	give_file("f", "hello");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		/* A time of 1970 is looked at once more: was it taken? */
		assert_int_equal(fault_hits(all[i]), i < 4 || all[i] == FSTAT);
	leave();
}

static void an_empty_file(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_end(0);
	leave();
	assert_text("dst/f", "");
}

static void holes_are_where_no_piece_is(void **state)
{
	char want[1000] = { 0 };

	(void)state;
	enter(root);
	give_head("f");
	give_piece("one", 10);
	give_piece("two", 500);
	give_end(sizeof(want));
	leave();
	memcpy(want + 10, "one", 3);
	memcpy(want + 500, "two", 3);
	assert_bytes("dst/f", want, sizeof(want));
}

/* It shrank while it was read: what is behind the end goes. */
static void an_end_before_the_last_piece_cuts(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_piece("0123456789", 0);
	give_end(4);
	leave();
	assert_text("dst/f", "0123");
}

static void zeros_of_a_sparse_file_take_no_blocks(void **state)
{
	size_t size = 1 << 20;
	unsigned char *bytes = calloc(1, size);
	struct record file = head(RECORD_FILE, "f", S_IFREG | 0644);
	struct record piece = { .type = RECORD_PIECE, .data = bytes,
				.data_len = (uint32_t)size };

	(void)state;
	bytes[500000] = 1;
	file.meta.size = size;
	enter(root);
	file.flags = RECORD_SPARSE;
	give(file);
	give(piece);
	give_end(size);
	file.flags = 0;
	file.name = "g";
	give(file);
	give(piece);
	give_end(size);
	leave();
	assert_bytes("dst/f", bytes, size);
	assert_bytes("dst/g", bytes, size);
	assert_true(stat_of("dst/f").st_blocks <= 256);
	if (stat_of("dst/g").st_blocks < 2048)
		skip();			/* a file system that compresses */
	free(bytes);
}

/* The head, the data and the end may come with other workers' turns in between. */
static void an_object_goes_on_in_a_later_run(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_piece("one ", 0);
	leave();
	enter(root);
	give_piece("two", 4);
	leave();
	enter(root);
	give_end(7);
	leave();
	assert_text("dst/f", "one two");
	assert_int_equal(stat_of("dst/f").st_mtim.tv_sec, 1234);
}

/* ---- calls that fail ---- */

static void a_failing_openat(void **state)
{
	(void)state;
	fault_set(OPENAT, (struct fault){ .name = "f", .err = EIO });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: openat: Input/output error\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_names("dst", "");
	assert_goes_on();
}

static void no_inode_left(void **state)
{
	(void)state;
	fault_set(OPENAT, (struct fault){ .name = "f", .err = ENOSPC });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: openat: No space left on device\n");
	assert_names("dst", "");
	assert_stopped(ENOSPC);
}

static void a_failing_openat_beside_an_old_file(void **state)
{
	char temp[TEMP_NAME_SIZE];

	(void)state;
	put_file("dst/f", "old");
	temp_name(temp, worker->restore->temp_run, 0);
	fault_set(LINKAT, (struct fault){ .name = temp, .err = EOPNOTSUPP });
	fault_set(OPENAT, (struct fault){ .name = temp, .err = EDQUOT });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: openat: Disk quota exceeded\n");
	assert_int_equal(fault_hits(OPENAT), 1);
	assert_text("dst/f", "old");
	assert_names("dst", "f");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void a_short_write_goes_on(void **state)
{
	(void)state;
	fault_set(PWRITE, (struct fault){ .times = EVERY_TIME, .most = 3 });
	assert_string_equal(restore_file("f", "0123456789"), "");
	assert_text("dst/f", "0123456789");
	assert_int_equal(fault_hits(PWRITE), 4);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void an_interrupted_write_goes_on(void **state)
{
	(void)state;
	fault_set(PWRITE, (struct fault){ .times = 3, .err = EINTR });
	assert_string_equal(restore_file("f", "hello"), "");
	assert_text("dst/f", "hello");
	assert_int_equal(fault_hits(PWRITE), 3);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_failing_write(void **state)
{
	static const int errors[] = { EIO, EDQUOT, EFBIG };
	static const char *const reasons[] = { "Input/output error",
					       "Disk quota exceeded",
					       "File too large" };
	char want[128];

	(void)state;
	for (int i = 0; i < 3; i++) {
		fault_set(PWRITE, (struct fault){ .err = errors[i] });
		snprintf(want, sizeof(want),
			 "tarpipe: dst/f: writing at byte 0: %s\n", reasons[i]);
		assert_string_equal(restore_file("f", "hello"), want);
		assert_int_equal(diag_status(), STATUS_PARTIAL);
		assert_names("dst", "");
	}
	assert_goes_on();
}

/* In the middle, after a short one; what follows of the file is ignored. */
static void a_write_that_fails_later(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_piece("0123456789", 0);
	fault_set(PWRITE, (struct fault){ .most = 4 });
	give_piece("0123456789", 10);
	fault_set(PWRITE, (struct fault){ .after = 1, .err = EIO });
	capture_begin(STDERR_FILENO);
	give_piece("0123456789", 20);
	give_piece("0123456789", 30);
	give_piece("0123456789", 40);
	assert_string_equal(capture_end(), "tarpipe: dst/f: writing at byte 30: "
					   "Input/output error\n");
	assert_names("dst", "");
	give_xattr("user.a", "v");
	give_end(50);
	leave();
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void a_full_file_system_stops_the_run(void **state)
{
	(void)state;
	fault_set(PWRITE, (struct fault){ .err = ENOSPC });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: writing at byte 0: No space left on "
			    "device\n");
	assert_names("dst", "");
	assert_stopped(ENOSPC);
}

/* As ext4 does after an error of the disk. */
static void a_file_system_that_becomes_read_only_stops_the_run(void **state)
{
	(void)state;
	fault_set(OPENAT, (struct fault){ .name = "f", .err = EROFS });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: openat: Read-only file system\n");
	assert_names("dst", "");
	assert_stopped(EROFS);
}

static void a_failing_write_leaves_the_old_file(void **state)
{
	(void)state;
	put_file("dst/f", "old");
	fault_set(PWRITE, (struct fault){ .err = EIO });
	assert_string_equal(restore_file("f", "hello"),
			    "tarpipe: dst/f: writing at byte 0: Input/output "
			    "error\n");
	assert_text("dst/f", "old");
	assert_names("dst", "f");
	assert_goes_on();
}

static void a_failing_close(void **state)
{
	static const int errors[] = { EIO, EDQUOT };

	(void)state;
	for (int i = 0; i < 2; i++) {
		enter(root);
		give_head("f");
		give_piece("hello", 0);
		fault_set(CLOSE, (struct fault){ .err = errors[i] });
		capture_begin(STDERR_FILENO);
		give_end(5);
		assert_string_equal(capture_end(),
				    i == 0 ? "tarpipe: dst/f: close: "
					     "Input/output error\n" :
					     "tarpipe: dst/f: close: Disk quota "
					     "exceeded\n");
		leave();
		assert_int_equal(diag_status(), STATUS_PARTIAL);
		assert_names("dst", "");
	}
	assert_goes_on();
}

static void a_close_without_space_stops_the_run(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_piece("hello", 0);
	fault_set(CLOSE, (struct fault){ .err = ENOSPC });
	capture_begin(STDERR_FILENO);
	give_end(5);
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/f: close: No space left "
					   "on device\n");
	assert_names("dst", "");
	assert_stopped(ENOSPC);
}

static void a_failing_ftruncate(void **state)
{
	(void)state;
	enter(root);
	give_head("f");
	give_piece("hello", 0);
	fault_set(FTRUNCATE, (struct fault){ .err = EFBIG });
	capture_begin(STDERR_FILENO);
	give_end(1 << 30);
	leave();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: ftruncate: File too large\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_names("dst", "");
	assert_goes_on();
}

/* Made at its full size first: where that fails, the end does it, or tells. */
static void a_sparse_file_that_can_not_be_made_long_at_once(void **state)
{
	struct record file = head(RECORD_FILE, "f", S_IFREG | 0644);

	(void)state;
	file.flags = RECORD_SPARSE;
	file.meta.size = 100;
	for (unsigned times = 1; times <= 2; times++) {
		fault_set(FTRUNCATE, (struct fault){ .times = times,
						     .err = EIO });
		capture_begin(STDERR_FILENO);
		enter(root);
		give(file);
		give_piece("x", 0);
		give_end(100);
		leave();
		assert_string_equal(capture_end(),
				    times == 1 ? "" : "tarpipe: dst/f: ftruncate: "
						      "Input/output error\n");
		assert_int_equal(fault_hits(FTRUNCATE), times);
		if (times == 1)
			assert_int_equal(stat_of("dst/f").st_size, 100);
		assert_int_equal(unlink("dst/f"), times == 1 ? 0 : -1);
	}
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- by reference ---- */

static void set_references(struct opts *opts)
{
	opts->reflink = REFLINK_AUTO;
}

/* A descriptor on its way, as the packer sends it, of the file "src". */
static struct record reference(struct record *file)
{
	struct stat st = stat_of("src");
	int fd = open("src", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && references_enter(sink.refs));
	*file = head(RECORD_FILE, "f", S_IFREG | 0640);
	meta_from_stat(&file->meta, &st);
	return (struct record){ .type = RECORD_REF, .first = (uint64_t)fd,
				.second = (uint64_t)st.st_size };
}

static void a_reference_is_copied_and_closed(void **state)
{
	unsigned char bytes[100000];
	struct record file, ref;
	unsigned before;

	(void)state;
	with_options(set_references);
	put_noise(bytes, sizeof(bytes), 1);
	put_bytes("src", bytes, sizeof(bytes));
	before = open_descriptors();
	for (int i = 0; i < 10; i++) {		/* more than there are places */
		ref = reference(&file);
		enter(root);
		give(file);
		give(ref);
		give_end(sizeof(bytes));
		leave();
		assert_bytes("dst/f", bytes, sizeof(bytes));
		assert_int_equal(open_descriptors(), before);
	}
	assert_int_equal(diag_status(), STATUS_OK);
	assert_names("dst", "f");
}

/* It is read and written where it can't be: by EINTR and in pieces, too. */
static void a_reference_is_read_where_it_can_not_be(void **state)
{
	unsigned char bytes[100000];
	struct record file, ref;

	(void)state;
	put_noise(bytes, sizeof(bytes), 1);
	put_bytes("src", bytes, sizeof(bytes));
	for (int i = 0; i < 2; i++) {
		ref = reference(&file);
		if (i == 0)
			fault_set(PREAD, (struct fault){ .times = EVERY_TIME,
							 .most = 999 });
		else
			fault_set(PREAD, (struct fault){ .times = 3,
							 .err = EINTR });
		enter(root);
		give(file);
		give(ref);
		give_end(sizeof(bytes));
		leave();
		assert_true(fault_hits(PREAD) > 2);
		assert_bytes("dst/f", bytes, sizeof(bytes));
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_reference_that_can_not_be_read(void **state)
{
	struct record file, ref;
	unsigned before;

	(void)state;
	put_file("src", "some text");
	before = open_descriptors();
	ref = reference(&file);
	fault_set(PREAD, (struct fault){ .err = EIO });
	capture_begin(STDERR_FILENO);
	enter(root);
	give(file);
	give(ref);
	give_end(9);
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/f: reading its source at byte 0: "
					   "Input/output error\n");
	assert_names("dst", "");
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

static void change_src(void)
{
	put_file("src", "short");
}

/* What it was while it was copied is what counts; a change is told. */
static void a_reference_whose_source_changes(void **state)
{
	struct record file, ref;

	(void)state;
	put_file("src", "a longer text");
	ref = reference(&file);
	fault_set(PREAD, (struct fault){ .hook = change_src });
	capture_begin(STDERR_FILENO);
	enter(root);
	give(file);
	give(ref);
	give_end(13);
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/f: its source changed "
					   "while it was copied\n");
	assert_text("dst/f", "short");
	assert_int_equal(diag_status(), STATUS_CHANGED);
	assert_goes_on();
}

/* Left out, or after a stop: the descriptor is closed all the same. */
static void a_reference_for_nothing_is_closed(void **state)
{
	struct record file, ref;
	unsigned before;

	(void)state;
	put_file("src", "text");
	before = open_descriptors();
	for (int i = 0; i < 2; i++) {
		ref = reference(&file);
		if (i == 0)
			fault_set(OPENAT, (struct fault){ .name = "f",
							  .err = EACCES });
		else
			restore_stop(sink.restore, EINTR);
		capture_begin(STDERR_FILENO);
		enter(root);
		give(file);
		give(ref);
		give_end(4);
		leave();
		(void)capture_end();
		assert_int_equal(open_descriptors(), before);
		assert_names("dst", "");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_what_the_records_say),
		TEST(a_small_file_costs_four_calls),
		TEST(an_empty_file),
		TEST(holes_are_where_no_piece_is),
		TEST(an_end_before_the_last_piece_cuts),
		TEST(zeros_of_a_sparse_file_take_no_blocks),
		TEST(an_object_goes_on_in_a_later_run),
		TEST(a_failing_openat),
		TEST(no_inode_left),
		TEST(a_failing_openat_beside_an_old_file),
		TEST(a_short_write_goes_on),
		TEST(an_interrupted_write_goes_on),
		TEST(a_failing_write),
		TEST(a_write_that_fails_later),
		TEST(a_full_file_system_stops_the_run),
		TEST(a_file_system_that_becomes_read_only_stops_the_run),
		TEST(a_failing_write_leaves_the_old_file),
		TEST(a_failing_close),
		TEST(a_close_without_space_stops_the_run),
		TEST(a_failing_ftruncate),
		TEST(a_sparse_file_that_can_not_be_made_long_at_once),
		TEST(a_reference_is_copied_and_closed),
		TEST(a_reference_is_read_where_it_can_not_be),
		TEST(a_reference_that_can_not_be_read),
		TEST(a_reference_whose_source_changes),
		TEST(a_reference_for_nothing_is_closed),
	};

	return cmocka_run_group_tests_name("regular", tests, NULL, NULL);
}
