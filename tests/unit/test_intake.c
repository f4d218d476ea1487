/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a stream comes from: files, pipes, tapes, compressed or not.  The filter is a
 * stand-in: a stream that begins with MAGIC, each byte of which comes twice as it is
 * decompressed; `!` in it is damage, `.` its end.
 */
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

#include "diag.h"
#include "filter.h"
#include "intake.h"
#include "thread.h"

#include "capture.h"
#include "drive.h"
#include "tree.h"

#define MAGIC "MAGIC: 16 bytes:"

struct filter_in {
	filter_source *source;
	void *arg;
	const unsigned char *at;
	size_t left;
	uint64_t used;
	bool junk;
};

static bool no_filter;		/* filter_in_new has no memory */

enum filter_kind filter_detect(const void *bytes, size_t size)
{
	return size >= FILTER_MAGIC && memcmp(bytes, MAGIC, FILTER_MAGIC) == 0 ?
		       FILTER_XZ :
		       FILTER_NONE;
}

const char *filter_name(enum filter_kind kind)
{
	return kind == FILTER_XZ ? "xz" : "none";
}

struct filter_in *filter_in_new(enum filter_kind kind, filter_source *source,
				void *arg)
{
	struct filter_in *filter = no_filter ? NULL : calloc(1, sizeof(*filter));

	(void)kind;
	if (!filter) {
		errno = ENOMEM;
		return NULL;
	}
	filter->source = source;
	filter->arg = arg;
	return filter;
}

/* 1, 0 at the end of the input, -1 with errno. */
static int filter_byte(struct filter_in *filter, unsigned char *byte)
{
	const void *bytes;
	ssize_t n;

	if (filter->left == 0) {
		n = filter->source(filter->arg, &bytes);
		if (n <= 0)
			return (int)n;
		filter->at = bytes;
		filter->left = (size_t)n;
	}
	*byte = *filter->at++;
	filter->left--;
	filter->used++;
	return 1;
}

ssize_t filter_in_read(struct filter_in *filter, void *to, size_t size)
{
	unsigned char byte = 0;
	int rc = filter_byte(filter, &byte);

	assert_true(size >= 2);
	if (rc < 0)
		return -1;
	if (rc == 0 || byte == '!') {
		errno = EBADMSG;
		return -1;
	}
	if (byte == '.') {
		filter->junk = filter->left > 0;
		return 0;
	}
	memset(to, byte, 2);
	return 2;
}

const char *filter_in_error(const struct filter_in *filter)
{
	(void)filter;
	return "it is broken";
}

uint64_t filter_in_used(const struct filter_in *filter)
{
	return filter->used;
}

bool filter_in_junk(const struct filter_in *filter)
{
	return filter->junk;
}

void filter_in_free(struct filter_in *filter)
{
	free(filter);
}

/* ---- the vocabulary ---- */

static struct opts opts;
static struct ring *ring;
static struct intake *intake;
static int saved_in;
static unsigned char noise[4 << 20], got[8 << 20];

static int setup(void **state)
{
	diag_reset();
	drive_clear();
	no_filter = false;
	intake = NULL;
	saved_in = -1;
	opts = (struct opts){ .block = 4096 };
	return tree_setup(state);
}

static int teardown(void **state)
{
	drive_clear();
	return tree_teardown(state);
}

static void stdin_is(int fd)
{
	saved_in = dup(STDIN_FILENO);
	dup2(fd, STDIN_FILENO);
	close(fd);
}

static void enter(size_t ring_size)
{
	struct ring_config config = { .size = ring_size, .low = 100, .spans = 8 };

	ring = ring_new(&config);
	assert_non_null(ring);
	intake = intake_open(&opts);
	assert_non_null(intake);
}

static void leave(void)
{
	intake_free(intake);
	ring_free(ring);
	if (saved_in >= 0) {
		dup2(saved_in, STDIN_FILENO);
		close(saved_in);
		saved_in = -1;
	}
}

static void run_main(void *arg)
{
	intake_run(intake, ring, arg != NULL);
}

/* Takes all that comes, into `got`.  Returns how much. */
static size_t take_all(void)
{
	const void *bytes;
	size_t all = 0, size;

	while (ring_peek(ring, &bytes, &size) > 0) {
		unsigned span = ring_take(ring, size);

		memcpy(got + all, bytes, size);
		all += size;
		ring_release(ring, span);
	}
	return all;
}

static size_t run_all(void)
{
	struct thread thread;
	size_t all;

	assert_int_equal(thread_start(&thread, "intake", run_main, &opts), 0);
	all = take_all();
	thread_join(&thread);
	return all;
}

static void assert_noise(size_t size)
{
	assert_int_equal(run_all(), size);
	assert_memory_equal(got, noise, size);
}

/* What a run says; what came is in `got`. */
static const char *run_says(size_t *size)
{
	capture_begin(STDERR_FILENO);
	*size = run_all();
	return capture_end();
}

/* The descriptor that was opened last. */
static int fd_of_intake(void)
{
	int next = dup(0);

	close(next);
	return next - 1;
}

static int make_noise(void **state)
{
	(void)state;
	put_noise(noise, sizeof(noise), 7);
	return 0;
}

/* ---- files and pipes ---- */

static void a_file_comes_whole(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4096, 4097, 300000 };

	(void)state;
	opts.file = "in";
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		put_bytes("in", noise, sizes[i]);
		enter(65536);
		assert_string_equal(intake_shown(intake), "in");
		assert_false(intake_is_tape(intake));
		assert_noise(sizes[i]);
		assert_int_equal(intake_bytes(intake), sizes[i]);
		assert_false(intake_failed(intake));
		leave();
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_block_may_be_larger_than_the_ring_likes(void **state)
{
	(void)state;
	opts.file = "in";
	opts.block = 1 << 20;
	put_bytes("in", noise, 3000000);
	enter(65536);
	assert_noise(3000000);
	leave();
}

struct writer { int fd; size_t size, piece; unsigned pause; };

static void writer_main(void *arg)
{
	const struct writer *writer = arg;

	for (size_t at = 0; at < writer->size; at += writer->piece) {
		size_t n = writer->size - at;

		if (n > writer->piece)
			n = writer->piece;
		if (write(writer->fd, noise + at, n) != (ssize_t)n)
			break;
		if (writer->pause > 0)
			usleep(writer->pause);
	}
	close(writer->fd);
}

static void any_pieces_from_a_pipe(void **state)
{
	static const size_t pieces[] = { 1, 511, 701, 65537 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct writer writer = { .size = 200000, .piece = pieces[i] };
		struct thread thread;
		int fds[2];

		if (pieces[i] == 1)
			writer.size = 5000;
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		writer.fd = fds[1];
		stdin_is(fds[0]);
		opts.file = i % 2 ? "-" : NULL;
		enter(65536);
		assert_string_equal(intake_shown(intake), "standard input");
		assert_int_equal(thread_start(&thread, "write", writer_main,
					      &writer), 0);
		assert_noise(writer.size);
		thread_join(&thread);
		leave();
	}
}

/* What came is there to be taken while the writer rests. */
static void what_came_is_handed_over_at_once(void **state)
{
	struct thread thread;
	const void *bytes;
	size_t size, all = 0;
	int fds[2];

	(void)state;
	opts.block = 524288;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	stdin_is(fds[0]);
	enter(4 << 20);
	assert_int_equal(thread_start(&thread, "intake", run_main, NULL), 0);
	assert_int_equal(write(fds[1], noise, 16), 16);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ring_peek(ring, &bytes, &size), 1);
		assert_memory_equal(bytes, noise + all, size);
		all += size;
		ring_release(ring, ring_take(ring, size));
		assert_int_equal(write(fds[1], noise + all, 1), 1);
	}
	close(fds[1]);
	(void)take_all();
	thread_join(&thread);
	leave();
	assert_int_equal(all, 20);
}

static void a_read_that_fails_tells_where(void **state)
{
	size_t size;

	(void)state;
	opts.file = "in";
	put_bytes("in", noise, 100000);
	enter(1 << 20);
	drive.fd = fd_of_intake();
	fault_set(READ, (struct fault){ .after = 3, .err = EIO });
	drive.interrupts = 1;
	assert_string_equal(run_says(&size), "tarpipe: in: read after 12288 bytes: "
					     "Input/output error\n");
	assert_int_equal(size, 12288);
	assert_memory_equal(got, noise, 12288);
	assert_true(intake_failed(intake));
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);

	/* The very first, and one while magic bytes are looked for. */
	for (unsigned i = 0; i < 2; i++) {
		enter(1 << 20);
		drive.fd = fd_of_intake();
		lseek(drive.fd, i == 0 ? 0 : 99995, SEEK_SET);
		fault_set(READ, (struct fault){ .after = i, .err = EIO });
		(void)run_says(&size);
		assert_int_equal(fault_hits(READ), 1);
		assert_int_equal(size, 0);
		assert_true(intake_failed(intake));
		leave();
	}
}

static void after_an_abort_a_pipe_is_drained(void **state)
{
	struct writer writer = { .size = 1 << 20, .piece = 4096 };
	struct thread thread;
	int fds[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		writer.fd = fds[1];
		stdin_is(fds[0]);
		enter(65536);
		ring_abort(ring, ENOSPC);
		assert_int_equal(thread_start(&thread, "write", writer_main,
					      &writer), 0);
		intake_run(intake, ring, i == 0);
		if (i == 0)
			thread_join(&thread);
		assert_int_equal(intake_bytes(intake) == 1 << 20, i == 0);
		assert_false(intake_failed(intake));
		signal(SIGPIPE, SIG_IGN);
		leave();
		if (i == 1)
			thread_join(&thread);
		signal(SIGPIPE, SIG_DFL);
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_file_is_not(void **state)
{
	(void)state;
	opts.file = "in";
	put_bytes("in", noise, 1000000);
	enter(65536);
	ring_abort(ring, ENOSPC);
	intake_run(intake, ring, true);
	assert_true(intake_bytes(intake) < 100000);
	leave();
}

static void the_sum_is_of_what_was_read(void **state)
{
	size_t size;

	(void)state;
	opts.file = "in";
	opts.hash = HASH_CRC32;
	put_file("in", "123456789");
	enter(65536);
	assert_string_equal(run_says(&size), "tarpipe: crc32 cbf43926\n");
	assert_int_equal(size, 9);
	leave();
}

static void a_rate_is_kept(void **state)
{
	uint64_t start = clock_ns();

	(void)state;
	opts.file = "in";
	opts.read_rate = 1000000;
	put_bytes("in", noise, 200000);
	enter(65536);
	assert_noise(200000);
	leave();
	assert_true(clock_ns() - start > 100000000);
}

static void assert_refused(enum status status, const char *words)
{
	unsigned before = open_descriptors();
	const char *said;

	diag_reset();
	capture_begin(STDERR_FILENO);
	intake = intake_open(&opts);
	said = capture_end();
	if (intake)
		fail_msg("taken, not refused: %s", words);
	if (!strstr(said, words))
		fail_msg("says '%s' and not '%s'", said, words);
	assert_int_equal(diag_status(), status);
	assert_int_equal(open_descriptors(), before);
}

static void what_can_not_be_read_is_refused(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	(void)state;
	put_dir("dir");
	opts.file = "dir";
	assert_refused(STATUS_USAGE, "dir: is a directory");
	opts.file = "none";
	assert_refused(STATUS_STOPPED, "none: open the input: No such file");
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		skip();
	opts.file = ptsname(master);
	slave = open(opts.file, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_refused(STATUS_USAGE, "is a terminal: missing -f?");
	close(slave);
	close(master);
}

/* ---- compressed ---- */

static void compressed_bytes_are_decompressed(void **state)
{
	size_t size;

	(void)state;
	opts.file = "in";
	put_file("in", MAGIC "abc.");
	enter(65536);
	assert_string_equal(run_says(&size), "");
	assert_int_equal(size, 2 * 19);
	assert_memory_equal(got + 32, "aabbcc", 6);
	assert_int_equal(intake_bytes(intake), 20);
	assert_false(intake_failed(intake));
	leave();
	assert_int_equal(diag_status(), STATUS_OK);
}

static void magic_may_come_in_pieces(void **state)
{
	int fds[2];
	size_t size;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], MAGIC "abc.", 20), 20);
	close(fds[1]);
	stdin_is(fds[0]);
	enter(65536);
	drive.fd = STDIN_FILENO;
	fault_set(READ, (struct fault){ .most = 1, .times = EVERY_TIME });
	assert_string_equal(run_says(&size), "");
	assert_int_equal(size, 2 * 19);
	leave();
}

static void damage_is_told_with_its_place(void **state)
{
	static const char *const texts[] = { MAGIC "ab!cd.", MAGIC "ab" };
	static const int at[] = { 19, 18 };
	char said[100];
	size_t size;

	(void)state;
	opts.file = "in";
	for (int i = 0; i < 2; i++) {
		put_file("in", texts[i]);
		diag_reset();
		enter(65536);
		snprintf(said, sizeof(said), "tarpipe: in: it is broken, at byte "
					     "%d as compressed\n", at[i]);
		assert_string_equal(run_says(&size), said);
		assert_int_equal(size, 2 * 18);
		assert_true(intake_failed(intake));
		leave();
		assert_int_equal(diag_status(), STATUS_STOPPED);
	}
}

static void what_follows_is_told(void **state)
{
	size_t size;

	(void)state;
	opts.file = "in";
	put_file("in", MAGIC "ab.junk");
	enter(65536);
	assert_string_equal(run_says(&size), "tarpipe: in: something else follows "
					     "the xz stream, after byte 19\n");
	assert_int_equal(size, 2 * 18);
	assert_false(intake_failed(intake));
	leave();
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_filter_needs_memory(void **state)
{
	size_t size;

	(void)state;
	no_filter = true;
	opts.file = "in";
	put_file("in", MAGIC "ab.");
	enter(65536);
	assert_string_equal(run_says(&size), "tarpipe: setting up xz: Cannot "
					     "allocate memory\n");
	assert_true(intake_failed(intake));
	leave();
}

/* The first read gives the magic bytes, the second one fails. */
static void a_failed_read_is_not_told_twice(void **state)
{
	size_t size;

	(void)state;
	opts.block = 16;
	opts.file = "in";
	put_file("in", MAGIC "abcdefghijklm.");
	enter(65536);
	drive.fd = fd_of_intake();
	fault_set(READ, (struct fault){ .after = 1, .err = EIO });
	assert_string_equal(run_says(&size), "tarpipe: in: read after 16 bytes: "
					     "Input/output error\n");
	assert_int_equal(size, 32);
	assert_true(intake_failed(intake));
	leave();
}

/* ---- tapes ---- */

/* A tape under the name "tape", which opens as the next descriptor. */
static void enter_tape(size_t ring_size)
{
	opts.file = "tape";
	put_file("tape", "");
	drive.fd = dup(0);
	close(drive.fd);
	drive.tape = true;
	enter(ring_size);
	assert_true(intake_is_tape(intake));
}

/* Records of `noise` up to `size`, and a filemark. */
static void put_records(size_t size, size_t record)
{
	for (size_t at = 0; at < size; at += record)
		drive_put(noise + at,
			  (int)(size - at < record ? size - at : record));
	drive_put("", DRIVE_MARK);
}

static void records_up_to_the_filemark(void **state)
{
	(void)state;
	put_records(100000, 10240);
	drive_put("next", 4);
	enter_tape(65536);
	assert_noise(100000);
	assert_int_equal(intake_bytes(intake), 100000);
	/* It stands before the mark, as tar leaves it. */
	assert_int_equal(drive.on[drive.at].size, DRIVE_MARK);
	leave();
	assert_int_equal(diag_status(), STATUS_OK);
}

static void the_next_one_begins_behind_the_mark(void **state)
{
	(void)state;
	drive_put("", DRIVE_MARK);
	put_records(100000, 10240);
	enter_tape(65536);
	assert_noise(100000);
	leave();
}

static void any_record_size_is_found_out(void **state)
{
	static const size_t records[] = { 512, 4096, 4097, 65536, 1 << 20,
					  (1 << 20) + 512, 4 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		size_t size = 5 * records[i] < sizeof(noise) ? 5 * records[i] :
							      sizeof(noise);

		drive_clear();
		put_records(size, records[i]);
		enter_tape(65536);
		assert_noise(size);
		leave();
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_record_may_be_too_large(void **state)
{
	unsigned char *large = calloc(1, (16 << 20) + 1);
	size_t size;

	(void)state;
	assert_non_null(large);
	drive_put(noise, 4096);
	drive_put(large, (16 << 20) + 1);
	enter_tape(1 << 20);
	assert_string_equal(run_says(&size),
			    "tarpipe: tape: read after 4096 bytes: the record is "
			    "larger than 16777216 bytes\n");
	assert_int_equal(size, 4096);
	assert_true(intake_failed(intake));
	leave();
	free(large);
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void a_drive_that_can_not_go_back(void **state)
{
	size_t size;

	(void)state;
	put_records(100000, 10240);
	drive.no_back = true;
	enter_tape(65536);
	assert_string_equal(run_says(&size),
			    "tarpipe: tape: read after 0 bytes: the record is "
			    "larger than 4096 bytes, and the drive can't go back: "
			    "give its size with -s or -b\n");
	assert_int_equal(size, 0);
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void a_bad_tape_tells_where(void **state)
{
	size_t size;

	(void)state;
	put_records(100000, 4096);
	enter_tape(65536);
	fault_set(READ, (struct fault){ .after = 5, .err = EIO });
	assert_string_equal(run_says(&size), "tarpipe: tape: read after 20480 "
					     "bytes: Input/output error\n");
	assert_int_equal(size, 20480);
	leave();
}

static void fixed_blocks_are_read_whole(void **state)
{
	(void)state;
	opts.block = 1000;
	put_records(10240, 1024);
	drive.block = 1024;
	enter_tape(65536);
	drive.no_back = true;	/* the first read has to fit */
	assert_noise(10240);
	leave();
}

static void a_tape_may_be_compressed(void **state)
{
	size_t size;

	(void)state;
	drive_put(MAGIC "ab", 18);
	drive_put("cd.", 3);
	drive_put("", DRIVE_MARK);
	enter_tape(65536);
	assert_string_equal(run_says(&size), "");
	assert_int_equal(size, 40);
	leave();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_comes_whole),
		TEST(a_block_may_be_larger_than_the_ring_likes),
		TEST(any_pieces_from_a_pipe),
		TEST(what_came_is_handed_over_at_once),
		TEST(a_read_that_fails_tells_where),
		TEST(after_an_abort_a_pipe_is_drained),
		TEST(a_file_is_not),
		TEST(the_sum_is_of_what_was_read),
		TEST(a_rate_is_kept),
		TEST(what_can_not_be_read_is_refused),
		TEST(compressed_bytes_are_decompressed),
		TEST(magic_may_come_in_pieces),
		TEST(damage_is_told_with_its_place),
		TEST(what_follows_is_told),
		TEST(a_filter_needs_memory),
		TEST(a_failed_read_is_not_told_twice),
		TEST(records_up_to_the_filemark),
		TEST(the_next_one_begins_behind_the_mark),
		TEST(any_record_size_is_found_out),
		TEST(a_record_may_be_too_large),
		TEST(a_drive_that_can_not_go_back),
		TEST(a_bad_tape_tells_where),
		TEST(fixed_blocks_are_read_whole),
		TEST(a_tape_may_be_compressed),
	};

	return cmocka_run_group_tests_name("intake", tests, make_noise, NULL);
}
