/* SPDX-License-Identifier: BSD-2-Clause */
/* Records and filemarks, on a drive that stands in for a descriptor. */
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
#include <unistd.h>
#include <cmocka.h>

#include "end_tape.h"

#include "drive.h"

static int setup(void **state)
{
	(void)state;
	drive_clear();
	drive.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	drive.tape = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(drive.fd);
	drive_clear();
	return 0;
}

static void a_tape_is_what_answers_as_one(void **state)
{
	(void)state;
	assert_true(tape_is(drive.fd));
	drive.interrupts = 2;
	assert_true(tape_is(drive.fd));
	drive.tape = false;
	assert_false(tape_is(drive.fd));
	assert_int_equal(tape_block(drive.fd), -1);
	assert_int_equal(errno, ENOTTY);
	assert_false(tape_is(-1));
}

static void the_block_comes_without_the_density(void **state)
{
	(void)state;
	assert_int_equal(tape_block(drive.fd), 0);
	drive.block = 65536;
	assert_int_equal(tape_block(drive.fd), 65536);
}

static void a_read_is_a_record(void **state)
{
	char got[16];
	bool again = true;

	(void)state;
	drive_put("12345", 5);
	drive_put("ab", 2);
	drive_put("", DRIVE_MARK);
	drive.interrupts = 1;
	assert_int_equal(tape_read(drive.fd, got, sizeof(got), &again), 5);
	assert_false(again);
	assert_memory_equal(got, "12345", 5);
	assert_int_equal(tape_read(drive.fd, got, sizeof(got), &again), 2);
	assert_int_equal(tape_read(drive.fd, got, sizeof(got), &again), 0);
	assert_int_equal(tape_read(drive.fd, got, sizeof(got), &again), -1);
	assert_int_equal(errno, EIO);
}

static void a_large_record_can_be_read_again(void **state)
{
	char got[16];
	bool again = false;

	(void)state;
	drive_put("first", 5);
	drive_put("0123456789", 10);
	assert_int_equal(tape_read(drive.fd, got, 5, &again), 5);
	assert_int_equal(tape_read(drive.fd, got, 5, &again), -1);
	assert_int_equal(errno, ENOMEM);
	assert_true(again);
	assert_int_equal(tape_read(drive.fd, got, 10, &again), 10);
	assert_memory_equal(got, "0123456789", 10);
}

static void or_it_is_lost(void **state)
{
	char got[16];
	bool again = true;

	(void)state;
	drive.no_back = true;
	drive_put("0123456789", 10);
	assert_int_equal(tape_read(drive.fd, got, 5, &again), -1);
	assert_int_equal(errno, ENOMEM);
	assert_false(again);
}

static void a_write_is_a_record(void **state)
{
	(void)state;
	drive.interrupts = 1;
	assert_int_equal(tape_write(drive.fd, "12345", 5), 0);
	assert_int_equal(tape_write(drive.fd, "678", 3), 0);
	assert_int_equal(drive.count, 2);
	assert_int_equal(drive.on[1].size, 3);
	assert_memory_equal(drive.on[1].bytes, "678", 3);
}

static void a_record_that_is_not_whole_is_an_error(void **state)
{
	(void)state;
	fault_set(WRITE, (struct fault){ .err = ENOSPC });
	assert_int_equal(tape_write(drive.fd, "12345", 5), -1);
	assert_int_equal(errno, ENOSPC);
	fault_set(WRITE, (struct fault){ .most = 3 });
	assert_int_equal(tape_write(drive.fd, "12345", 5), -1);
	assert_int_equal(errno, EIO);
}

static void the_filemark_is_put_back(void **state)
{
	char got[16];
	bool again;

	(void)state;
	drive_put("one", 3);
	drive_put("", DRIVE_MARK);
	drive_put("two", 3);
	assert_int_equal(tape_read(drive.fd, got, 16, &again), 3);
	assert_int_equal(tape_read(drive.fd, got, 16, &again), 0);
	drive.interrupts = 1;
	assert_int_equal(tape_unmark(drive.fd), 0);
	assert_int_equal(tape_read(drive.fd, got, 16, &again), 0);
	assert_int_equal(tape_read(drive.fd, got, 16, &again), 3);
	drive.tape = false;
	assert_int_equal(tape_unmark(drive.fd), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tape_is_what_answers_as_one),
		TEST(the_block_comes_without_the_density),
		TEST(a_read_is_a_record),
		TEST(a_large_record_can_be_read_again),
		TEST(or_it_is_lost),
		TEST(a_write_is_a_record),
		TEST(a_record_that_is_not_whole_is_an_error),
		TEST(the_filemark_is_put_back),
	};

	return cmocka_run_group_tests_name("end_tape", tests, NULL, NULL);
}
