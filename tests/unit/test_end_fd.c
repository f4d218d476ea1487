/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte ends: short reads and writes, EINTR, EAGAIN, errors with the bytes that
 * are out.  read, write, fsync and close follow a script where one is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "end_fd.h"
#include "pass.h"
#include "ring.h"
#include "thread.h"

/* The next calls on `fd`: how many bytes at most, or an errno below 0. */
static struct {
	int fd;
	const int *steps;	/* ends with 0 */
	int fsync_error, close_error;
} script = { .fd = -1 };

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
ssize_t __real_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_close(int fd);
int __wrap_close(int fd);

/* Applies a step; -1 for an error of the script. */
static int script_step(int fd, size_t *size)
{
	if (fd != script.fd || !script.steps || *script.steps == 0)
		return 0;
	int step = *script.steps++;
	if (step < 0) {
		errno = -step;
		return -1;
	}
	if (*size > (size_t)step)
		*size = (size_t)step;
	return 0;
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	return script_step(fd, &size) != 0 ? -1 : __real_read(fd, buf, size);
}

ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
	return script_step(fd, &size) != 0 ? -1 : __real_write(fd, buf, size);
}

int __wrap_fsync(int fd)
{
	if (fd != script.fd || script.fsync_error == 0)
		return __real_fsync(fd);
	errno = script.fsync_error;
	return -1;
}

int __wrap_close(int fd)
{
	int rc = __real_close(fd);

	if (fd != script.fd || script.close_error == 0)
		return rc;
	errno = script.close_error;
	return -1;
}

static void script_set(int fd, const int *steps)
{
	script.fd = fd;
	script.steps = steps;
	script.fsync_error = script.close_error = 0;
}

static struct ring *blocks_make(size_t block, size_t count)
{
	struct ring_config config = { .size = block * count, .low = 100,
				      .spans = 1, .unit = block };
	struct ring *ring = ring_new(&config);

	assert_non_null(ring);
	return ring;
}

static size_t published(struct ring *ring)
{
	struct ring_counters counters;

	ring_count(ring, &counters);
	return (size_t)counters.bytes;
}

static void pipe_make(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
}

/* ---- in ---- */

static void many_short_reads_make_one_block(void **state)
{
	static const int steps[] = { 1, -EINTR, 3, 2, 0 };
	struct ring *ring = blocks_make(10, 4);
	struct end_in in;
	int fds[2];

	(void)state;
	pipe_make(fds);
	assert_int_equal(write(fds[1], "0123456789abc", 13), 13);
	end_in_init(&in, fds[0], 10, ring);
	script_set(fds[0], steps);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 1);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 3);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 2);
	assert_int_equal(published(ring), 0);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 7);
	assert_int_equal(published(ring), 10);
	close(fds[1]);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 0);
	assert_int_equal(published(ring), 13);
	assert_int_equal(in.bytes, 13);

	const void *bytes;
	size_t size;
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	assert_int_equal(size, 13);
	assert_memory_equal(bytes, "0123456789abc", 13);
	close(fds[0]);
	ring_free(ring);
}

static void the_last_block_may_be_padded(void **state)
{
	struct ring *ring = blocks_make(8, 4);
	struct end_in in;
	const void *bytes;
	size_t size;
	int fds[2];

	(void)state;
	pipe_make(fds);
	script_set(-1, NULL);
	assert_int_equal(write(fds[1], "0123456789", 10), 10);
	close(fds[1]);
	end_in_init(&in, fds[0], 8, ring);
	in.pad = true;
	assert_int_equal(end_in_read(&in, SIZE_MAX), 10);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 0);
	assert_int_equal(ring_peek(ring, &bytes, &size), 1);
	assert_int_equal(size, 16);
	assert_memory_equal(bytes, "0123456789\0\0\0\0\0", 16);
	assert_int_equal(in.bytes, 10);
	close(fds[0]);
	ring_free(ring);
}

static void what_was_read_before_a_failure_is_handed_over(void **state)
{
	static const int steps[] = { 5, -EIO, 0 };
	struct ring *ring = blocks_make(10, 4);
	struct end_in in;
	int fds[2];

	(void)state;
	pipe_make(fds);
	assert_int_equal(write(fds[1], "0123456789", 10), 10);
	end_in_init(&in, fds[0], 10, ring);
	script_set(fds[0], steps);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 5);
	assert_int_equal(end_in_read(&in, SIZE_MAX), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(published(ring), 5);
	close(fds[0]);
	close(fds[1]);
	ring_free(ring);
}

static void a_device_is_read_block_by_block(void **state)
{
	struct ring *ring = blocks_make(100, 50);
	struct end_in in;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)state;
	script_set(-1, NULL);
	end_in_init(&in, fd, 100, ring);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 100);
	assert_int_equal(end_in_read(&in, 7), 7);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 93);
	close(fd);
	ring_free(ring);
}

struct late {
	int fd;
	const char *bytes;
};

static void write_late(void *arg)
{
	struct late *late = arg;

	usleep(50000);
	assert_int_equal(write(late->fd, late->bytes, strlen(late->bytes)),
			 strlen(late->bytes));
}

static void eagain_waits_for_input(void **state)
{
	struct ring *ring = blocks_make(4, 8);
	struct thread thread;
	struct late late = { .bytes = "late" };
	struct end_in in;
	int fds[2];

	(void)state;
	script_set(-1, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				    fds), 0);
	late.fd = fds[1];
	end_in_init(&in, fds[0], 4, ring);
	assert_int_equal(thread_start(&thread, "late", write_late, &late), 0);
	assert_int_equal(end_in_read(&in, SIZE_MAX), 4);
	thread_join(&thread);
	close(fds[0]);
	close(fds[1]);
	ring_free(ring);
}

static void an_aborted_ring_ends_the_reading(void **state)
{
	struct ring *ring = blocks_make(4, 8);
	struct end_in in;

	(void)state;
	script_set(-1, NULL);
	end_in_init(&in, STDIN_FILENO, 4, ring);
	ring_abort(ring, EPIPE);
	assert_int_equal(end_in_read(&in, SIZE_MAX), -1);
	assert_int_equal(errno, ECANCELED);
	ring_free(ring);
}

/* ---- out ---- */

static void short_writes_go_on(void **state)
{
	static const int steps[] = { 2, -EINTR, 1, -EAGAIN, 3, 0 };
	struct end_out out;
	char got[16];
	int fds[2];

	(void)state;
	pipe_make(fds);
	end_out_init(&out, fds[1], 10);
	script_set(fds[1], steps);
	assert_int_equal(end_out_write(&out, "0123456789", 10), 0);
	assert_int_equal(out.bytes, 10);
	script_set(-1, NULL);
	assert_int_equal(read(fds[0], got, sizeof(got)), 10);
	assert_memory_equal(got, "0123456789", 10);
	assert_int_equal(end_out_close(&out, true), 0);
	assert_int_equal(out.fd, -1);
	close(fds[0]);
}

static void a_failed_write_tells_what_is_out(void **state)
{
	static const int steps[] = { 3, -ENOSPC, 0 };
	struct end_out out;
	int fds[2];

	(void)state;
	pipe_make(fds);
	end_out_init(&out, fds[1], 10);
	script_set(fds[1], steps);
	assert_int_equal(end_out_write(&out, "0123456789", 10), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(out.bytes, 3);
	close(fds[0]);
	close(fds[1]);
}

static void drain_late(void *arg)
{
	char bytes[65536];
	int fd = *(int *)arg;

	usleep(50000);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void eagain_waits_for_room(void **state)
{
	static char bytes[4 << 20];
	struct thread thread;
	struct end_out out;
	int fds[2];

	(void)state;
	script_set(-1, NULL);
	pipe_make(fds);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	end_out_init(&out, fds[1], 512);
	assert_int_equal(thread_start(&thread, "drain", drain_late, &fds[0]), 0);
	assert_int_equal(end_out_write(&out, bytes, sizeof(bytes)), 0);
	assert_int_equal(out.bytes, sizeof(bytes));
	assert_int_equal(end_out_close(&out, false), 0);
	thread_join(&thread);
	close(fds[0]);
}

static void errors_at_the_end_count(void **state)
{
	struct end_out out;
	int fds[2];

	(void)state;
	pipe_make(fds);
	end_out_init(&out, fds[1], 512);
	script_set(fds[1], NULL);
	script.close_error = EDQUOT;
	assert_int_equal(end_out_close(&out, false), -1);
	assert_int_equal(errno, EDQUOT);
	close(fds[0]);

	pipe_make(fds);
	end_out_init(&out, fds[1], 512);
	script_set(fds[1], NULL);
	script.fsync_error = EIO;
	script.close_error = EDQUOT;
	assert_int_equal(end_out_close(&out, true), -1);
	assert_int_equal(errno, EIO);
	close(fds[0]);
}

static void shares_are_whole_blocks(void **state)
{
	struct end_out tape = { .block = 1000 };
	struct end_out file = { .block = 1000, .stream = true };
	struct end_out large = { .block = 1 << 20, .stream = true };

	(void)state;
	assert_int_equal(end_out_share(&tape, 5300), 1000);
	assert_int_equal(end_out_share(&tape, 300), 300);
	assert_int_equal(end_out_share(&file, 5300), 5000);
	assert_int_equal(end_out_share(&file, 300), 300);
	assert_int_equal(end_out_share(&file, 1 << 20) % 1000, 0);
	assert_int_equal(end_out_share(&large, 3 << 20), 1 << 20);
}

/* ---- past the ring ---- */

static void only_whole_blocks_pass(void **state)
{
	struct pass pass;
	char bytes[4096] = "";
	size_t moved;
	int in[2], out[2];

	(void)state;
	script_set(-1, NULL);
	pipe_make(in);
	pipe_make(out);
	pass_init(&pass, in[0], out[1], 1000, 1);
	assert_true(pass_usable(&pass));
	assert_int_equal(write(in[1], bytes, 2500), 2500);
	assert_int_equal(pass_move(&pass, &moved), 2000);
	assert_int_equal(moved, 2000);
	assert_int_equal(pass_move(&pass, &moved), 0);	/* 500 are there */
	assert_int_equal(write(in[1], bytes, 500), 500);
	assert_int_equal(pass_move(&pass, &moved), 1000);
	close(in[1]);
	assert_int_equal(pass_move(&pass, &moved), 0);
	close(out[0]);
	close(in[0]);
	close(out[1]);
	pass_destroy(&pass);
}

static void a_full_pipe_is_left_to_the_ring(void **state)
{
	static char bytes[1 << 20];
	struct pass pass;
	size_t moved;
	int in[2], out[2];

	(void)state;
	pipe_make(in);
	pipe_make(out);
	pass_init(&pass, in[0], out[1], 1000, UINT64_C(1) << 30);
	assert_int_equal(write(out[1], bytes, 65536), 65536);
	assert_int_equal(write(in[1], bytes, 60000), 60000);
	assert_int_equal(pass_move(&pass, &moved), 0);
	assert_int_equal(moved, 0);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	pass_destroy(&pass);
}

static void nothing_passes_to_a_file(void **state)
{
	struct pass pass;
	int in[2], fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	pipe_make(in);
	pass_init(&pass, in[0], fd, 1000, 1);
	assert_false(pass_usable(&pass));
	close(in[0]);
	close(in[1]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_short_reads_make_one_block),
		cmocka_unit_test(the_last_block_may_be_padded),
		cmocka_unit_test(what_was_read_before_a_failure_is_handed_over),
		cmocka_unit_test(a_device_is_read_block_by_block),
		cmocka_unit_test(eagain_waits_for_input),
		cmocka_unit_test(an_aborted_ring_ends_the_reading),
		cmocka_unit_test(short_writes_go_on),
		cmocka_unit_test(a_failed_write_tells_what_is_out),
		cmocka_unit_test(eagain_waits_for_room),
		cmocka_unit_test(errors_at_the_end_count),
		cmocka_unit_test(shares_are_whole_blocks),
		cmocka_unit_test(only_whole_blocks_pass),
		cmocka_unit_test(a_full_pipe_is_left_to_the_ring),
		cmocka_unit_test(nothing_passes_to_a_file),
	};

	return cmocka_run_group_tests_name("end_fd", tests, NULL, NULL);
}
