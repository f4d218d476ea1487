/* SPDX-License-Identifier: BSD-2-Clause */
/* Two files and their bytes, with holes and with reads that fail or come short. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "faults.h"
#include "samefile.h"
#include "tree.h"

WRAPPED(ssize_t, pread, int fd, void *to, size_t size, off_t at)
{
	return fault_due(PREAD, NULL, &size) ? -1 : __real_pread(fd, to, size, at);
}

WRAPPED(off_t, lseek, int fd, off_t at, int whence)
{
	return fault_due(LSEEK, NULL, NULL) ? -1 : __real_lseek(fd, at, whence);
}

WRAPPED(void *, malloc, size_t size)
{
	return fault_due(MALLOC, NULL, NULL) ? NULL : __real_malloc(size);
}

static struct samefile_room room;
static struct samefile_side one, other;
static uint64_t at;

static int setup(void **state)
{
	faults_clear();
	if (samefile_room_init(&room) != 0)
		return -1;
	one.fd = other.fd = -1;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	if (one.fd >= 0)
		close(one.fd);
	if (other.fd >= 0)
		close(other.fd);
	samefile_room_destroy(&room);
	return tree_teardown(state);
}

static void open_side(struct samefile_side *side, const char *path)
{
	if (side->fd >= 0)
		close(side->fd);
	side->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(side->fd >= 0);
	assert_int_equal(fstat(side->fd, &side->st), 0);
}

/* A file of noise, with a byte changed at `change` (-1: none) and a hole up to `hole`. */
static void put_side(struct samefile_side *side, const char *path, size_t size,
		     off_t hole, off_t change)
{
	unsigned char *bytes = malloc(size);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_non_null(bytes);
	put_noise(bytes, size, 1);
	if (change >= 0)
		bytes[change] = 0;
	assert_int_equal(ftruncate(fd, hole + (off_t)size), 0);
	assert_int_equal(pwrite(fd, bytes, size, hole), (ssize_t)size);
	close(fd);
	free(bytes);
	open_side(side, path);
}

static enum samefile_verdict compare(void)
{
	return samefile_compare(&room, &one, &other, &at);
}

static void equal_files_are_equal(void **state)
{
	static const size_t sizes[] = { 1, 4096, SAMEFILE_PIECE - 1,
					SAMEFILE_PIECE, SAMEFILE_PIECE + 1,
					3 * SAMEFILE_PIECE };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		put_side(&one, "a", sizes[i], 0, -1);
		put_side(&other, "b", sizes[i], 0, -1);
		assert_int_equal(compare(), SAMEFILE_EQUAL);
	}
	put_file("a", "");
	put_file("b", "");
	open_side(&one, "a");
	open_side(&other, "b");
	assert_int_equal(compare(), SAMEFILE_EQUAL);
}

static void the_first_different_byte_is_told(void **state)
{
	static const off_t changes[] = { 0, 1, SAMEFILE_PIECE - 1, SAMEFILE_PIECE,
					 3 * SAMEFILE_PIECE - 1 };

	(void)state;
	put_side(&one, "a", 3 * SAMEFILE_PIECE, 0, -1);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		put_side(&other, "b", 3 * SAMEFILE_PIECE, 0, changes[i]);
		assert_int_equal(compare(), SAMEFILE_DIFFERENT);
		assert_int_equal(at, changes[i]);
	}
}

/* With holes on both sides, on one, and where holes can't be told. */
static void holes_are_zeros(void **state)
{
	(void)state;
	put_side(&one, "a", 5000, 2 << 20, -1);
	put_side(&other, "b", 5000, 2 << 20, -1);
	assert_int_equal(compare(), SAMEFILE_EQUAL);
	put_side(&other, "b", 5000, 2 << 20, 4000);
	assert_int_equal(compare(), SAMEFILE_DIFFERENT);
	assert_int_equal(at, (2 << 20) + 4000);
	fault_set(LSEEK, (struct fault){ .err = EINVAL, .times = EVERY_TIME });
	assert_int_equal(compare(), SAMEFILE_DIFFERENT);
	assert_int_equal(at, (2 << 20) + 4000);
}

static void a_byte_in_a_hole_is_a_difference(void **state)
{
	int fd;

	(void)state;
	put_side(&one, "a", 5000, 2 << 20, -1);
	put_side(&other, "b", 5000, 2 << 20, -1);
	fd = open("b", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 1234567), 1);
	close(fd);
	open_side(&other, "b");
	assert_int_equal(compare(), SAMEFILE_DIFFERENT);
	assert_int_equal(at, 1234567);
	at = 0;
	assert_int_equal(samefile_zero(&room, &other, &at, 2 << 20),
			 SAMEFILE_DIFFERENT);
	assert_int_equal(at, 1234567);
	at = 1234568;
	assert_int_equal(samefile_zero(&room, &other, &at, 2 << 20),
			 SAMEFILE_EQUAL);
}

static void data_are_counted(void **state)
{
	(void)state;
	put_side(&one, "a", 4096, 2 << 20, -1);
	assert_true(samefile_data(&one) <= 64 << 10);
	fault_set(LSEEK, (struct fault){ .err = EINVAL, .times = EVERY_TIME });
	assert_int_equal(samefile_data(&one), (2 << 20) + 4096);
	faults_clear();
	put_side(&one, "a", 4096, 0, -1);
	assert_int_equal(samefile_data(&one), 4096);
}

static void one_that_ends_early_differs_there(void **state)
{
	(void)state;
	put_side(&one, "a", 5000, 0, -1);
	put_side(&other, "b", 4000, 0, -1);
	assert_int_equal(compare(), SAMEFILE_DIFFERENT);
	assert_int_equal(at, 4000);
	at = 0;
	put_side(&one, "z", 100, 0, -1);
	assert_int_equal(truncate("z", 0), 0);
	assert_int_equal(samefile_zero(&room, &one, &at, 100), SAMEFILE_DIFFERENT);
}

static void who_can_not_be_read_is_told(void **state)
{
	(void)state;
	put_side(&one, "a", 5000, 0, -1);
	put_side(&other, "b", 5000, 0, -1);
	fault_set(PREAD, (struct fault){ .err = EIO });
	assert_int_equal(compare(), SAMEFILE_BAD_ONE);
	assert_int_equal(errno, EIO);
	fault_set(PREAD, (struct fault){ .after = 1, .err = EIO });
	assert_int_equal(compare(), SAMEFILE_BAD_OTHER);
	fault_set(PREAD, (struct fault){ .err = EIO });
	at = 0;
	assert_int_equal(samefile_zero(&room, &one, &at, 10), SAMEFILE_BAD_ONE);
}

static void short_reads_and_interrupts_are_nothing(void **state)
{
	(void)state;
	put_side(&one, "a", 50000, 0, -1);
	put_side(&other, "b", 50000, 0, -1);
	fault_set(PREAD, (struct fault){ .most = 777, .times = EVERY_TIME });
	assert_int_equal(compare(), SAMEFILE_EQUAL);
	fault_set(PREAD, (struct fault){ .err = EINTR, .times = 3 });
	assert_int_equal(compare(), SAMEFILE_EQUAL);
}

static void one_file_is_not_read(void **state)
{
	(void)state;
	put_side(&one, "a", 5000, 0, -1);
	open_side(&other, "a");
	fault_set(PREAD, (struct fault){ .err = EIO, .times = EVERY_TIME });
	assert_int_equal(compare(), SAMEFILE_EQUAL);
}

static void no_memory(void **state)
{
	struct samefile_room more;

	(void)state;
	for (unsigned after = 0; after < 2; after++) {
		fault_set(MALLOC, (struct fault){ .after = after, .err = ENOMEM });
		assert_int_equal(samefile_room_init(&more), -1);
		assert_int_equal(errno, ENOMEM);
	}
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(equal_files_are_equal),
		T(the_first_different_byte_is_told),
		T(holes_are_zeros),
		T(a_byte_in_a_hole_is_a_difference),
		T(data_are_counted),
		T(one_that_ends_early_differs_there),
		T(who_can_not_be_read_is_told),
		T(short_reads_and_interrupts_are_nothing),
		T(one_file_is_not_read),
		T(no_memory),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
