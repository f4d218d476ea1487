/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a stream goes to: files, pipes, tapes, tees, and how they fail. */
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
#include "outlet.h"
#include "thread.h"

#include "capture.h"
#include "drive.h"
#include "tree.h"

WRAPPED(int, close, int fd)
{
	int rc = __real_close(fd);

	return fd == drive.fd && fault_due(CLOSE, NULL, NULL) ? -1 : rc;
}

WRAPPED(int, fsync, int fd)
{
	return fault_due(FSYNC, NULL, NULL) ? -1 : __real_fsync(fd);
}

WRAPPED(int, renameat, int from, const char *old, int to, const char *name)
{
	return fault_due(RENAMEAT, NULL, NULL) ? -1 :
		__real_renameat(from, old, to, name);
}

static struct opts opts;
static struct outlet *outlet;
static struct ring *ring;
static int saved_out;		/* standard output, when a test replaced it */

static int setup(void **state)
{
	diag_reset();
	drive_clear();
	saved_out = -1;
	outlet = NULL;
	opts = (struct opts){ .block = 4096 };
	return tree_setup(state);
}

static int teardown(void **state)
{
	drive_clear();
	signal(SIGPIPE, SIG_DFL);
	return tree_teardown(state);
}

/* Standard output is `fd` until leave(). */
static void stdout_is(int fd)
{
	fflush(NULL);
	saved_out = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

static void enter(size_t ring_size)
{
	struct ring_config config = { .size = ring_size, .low = 100, .spans = 8 };

	ring = ring_new(&config);
	assert_non_null(ring);
	outlet = outlet_open(&opts);
	assert_non_null(outlet);
}

/* Gives it what fits into the ring, and the end. */
static void feed(const void *bytes, size_t size, size_t piece)
{
	const unsigned char *at = bytes;

	while (size > 0) {
		size_t n = size < piece ? size : piece;

		memcpy(ring_reserve(ring, n), at, n);
		ring_commit(ring, n);
		at += n;
		size -= n;
	}
	ring_close(ring);
}

static void leave(void)
{
	outlet_free(outlet);
	ring_free(ring);
	if (saved_out >= 0) {
		dup2(saved_out, STDOUT_FILENO);
		close(saved_out);
	}
}

static unsigned char noise[300000];

static int make_noise(void **state)
{
	(void)state;
	put_noise(noise, sizeof(noise), 5);
	return 0;
}

/* ---- files ---- */

static void a_file_is_there_when_it_is_complete(void **state)
{
	(void)state;
	opts.file = "out";
	enter(1 << 20);
	feed(noise, sizeof(noise), 5000);
	outlet_run(outlet, ring);
	assert_names(".", "");
	assert_int_equal(outlet_bytes(outlet), sizeof(noise));
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
	assert_bytes("out", noise, sizeof(noise));
	assert_names(".", "out");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void an_unfinished_one_leaves_the_old_file(void **state)
{
	(void)state;
	put_file("out", "before");
	opts.file = "out";
	enter(1 << 20);
	feed(noise, sizeof(noise), 5000);
	outlet_run(outlet, ring);
	leave();
	assert_text("out", "before");
	assert_names(".", "out");
}

static void a_stopped_source_leaves_the_old_file(void **state)
{
	(void)state;
	put_file("out", "before");
	opts.file = "out";
	enter(1 << 20);
	ring_abort(ring, EINTR);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), -1);
	leave();
	assert_text("out", "before");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void it_knows_its_files(void **state)
{
	struct stat st;

	(void)state;
	put_file("out", "before");
	put_file("tee", "before");
	put_file("other", "");
	opts.file = "out";
	opts.tees[opts.ntees++] = "tee";
	enter(1 << 20);
	st = stat_of("out");
	assert_true(outlet_is(outlet, &st));
	st = stat_of("tee");
	assert_true(outlet_is(outlet, &st));
	st = stat_of("other");
	assert_false(outlet_is(outlet, &st));
	leave();
}

static void standard_output_may_be_a_file(void **state)
{
	static const char *const names[] = { NULL, "-", "/dev/stdout" };
	struct stat st;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		diag_reset();
		opts.file = names[i];
		stdout_is(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644));
		assert_int_equal(write(STDOUT_FILENO, "head", 4), 4);
		enter(1 << 20);
		st = stat_of("out");
		assert_true(outlet_is(outlet, &st));
		feed("text", 4, 4);
		outlet_run(outlet, ring);
		assert_int_equal(outlet_finish(outlet), 0);
		leave();
		assert_text("out", "headtext");
	}
}

/* The first descriptor of a file of so many bytes. */
static int fd_of_size(off_t size)
{
	struct stat st;

	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size == size)
			return fd;
	fail_msg("no file of %ld bytes is open", (long)size);
	return -1;
}

static void failures_at_the_end_count(void **state)
{
	static const struct { enum fault_call call; const char *said; } fails[] = {
		{ FSYNC, "close, 4 bytes were written and may be lost" },
		{ CLOSE, "close, 4 bytes were written and may be lost" },
		{ RENAMEAT, "give the complete file its name" },
	};

	(void)state;
	put_file("out", "before");
	opts.file = "out";
	for (size_t i = 0; i < 3; i++) {
		const char *said;

		diag_reset();
		enter(1 << 20);
		feed("text", 4, 4);
		outlet_run(outlet, ring);
		drive.fd = fd_of_size(4);
		fault_set(fails[i].call, (struct fault){ .err = EIO });
		capture_begin(STDERR_FILENO);
		assert_int_equal(outlet_finish(outlet), -1);
		said = capture_end();
		assert_non_null(strstr(said, fails[i].said));
		assert_non_null(strstr(said, "out: "));
		faults_clear();
		leave();
		assert_int_equal(diag_status(), STATUS_STOPPED);
		assert_text("out", "before");
		assert_names(".", "out");
	}
}

/* ---- blocks ---- */

/* Reads of the other end of a pipe that keeps packets, as written. */
static void assert_writes(int fd, const size_t *sizes, size_t count)
{
	static unsigned char got[65536];

	for (size_t i = 0; i < count; i++)
		assert_int_equal(read(fd, got, sizeof(got)), sizes[i]);
	assert_int_equal(read(fd, got, sizeof(got)), 0);
}

static void a_given_block_is_what_is_written(void **state)
{
	int fds[2];

	(void)state;
	opts.block = 1000;
	opts.block_given = true;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_DIRECT), 0);
	stdout_is(fds[1]);
	enter(1 << 20);
	/* Pieces that neither are nor divide a block: each has to be gathered. */
	for (size_t at = 0; at < 3500; at += 700) {
		memcpy(ring_reserve(ring, 700), noise + at, 700);
		ring_commit(ring, 700);
	}
	ring_close(ring);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
	assert_writes(fds[0], (const size_t[]){ 3000, 500 }, 2);
	close(fds[0]);
}

/* Gives 700 bytes at a time, and waits until they are gone. */
static void trickle_main(void *arg)
{
	struct ring_counters counters;
	struct ring *to = arg;

	for (size_t at = 0; at < 3500; at += 700) {
		memcpy(ring_reserve(to, 700), noise + at, 700);
		ring_commit(to, 700);
		ring_flush(to);
		do {
			usleep(200);
			ring_count(to, &counters);
		} while (counters.fill > 0);
	}
	ring_close(to);
}

static void trickle_through(void)
{
	struct thread thread;

	assert_int_equal(thread_start(&thread, "trickle", trickle_main, ring), 0);
	outlet_run(outlet, ring);
	thread_join(&thread);
	assert_int_equal(outlet_finish(outlet), 0);
}

static void a_given_block_is_waited_for(void **state)
{
	int fds[2];

	(void)state;
	opts.block = 1000;
	opts.block_given = true;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_DIRECT), 0);
	stdout_is(fds[1]);
	enter(1 << 20);
	trickle_through();
	leave();
	assert_writes(fds[0], (const size_t[]){ 1000, 1000, 1000, 500 }, 4);
	close(fds[0]);
}

/* GNU tar, reading a pipe by its name, takes any other piece for damage. */
static void else_whole_headers_go_at_once(void **state)
{
	int fds[2];

	(void)state;
	opts.block = 1000;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_DIRECT), 0);
	stdout_is(fds[1]);
	enter(1 << 20);
	trickle_through();
	leave();
	assert_writes(fds[0], (const size_t[]){ 512, 512, 512, 512, 512, 512, 428 },
		      7);
	close(fds[0]);
}

/* ---- tapes ---- */

/* The drive is `name`, whatever descriptor that gets. */
static void drive_is_next(void)
{
	drive.fd = dup(0);
	close(drive.fd);
	drive.tape = true;
}

static void assert_tape(size_t size, int block)
{
	int records = (int)((size + (size_t)block - 1) / (size_t)block);
	static const unsigned char zeros[65536];

	assert_int_equal(drive.count, records);
	/* FUSE would take a large one apart. */
	assert_int_equal(drive.astray, 0);
	for (int i = 0; i < records; i++) {
		size_t at = (size_t)i * (size_t)block, n = size - at;

		if (n > (size_t)block)
			n = (size_t)block;
		assert_int_equal(drive.on[i].size, block);
		assert_memory_equal(drive.on[i].bytes, noise + at, n);
		assert_memory_equal(drive.on[i].bytes + n, zeros,
				    (size_t)block - n);
	}
}

static void a_tape_gets_whole_records(void **state)
{
	static const size_t pieces[] = { 100, 5000, 10240, 16000 };

	(void)state;
	opts.block = 10240;
	opts.file = "tape";
	put_file("tape", "");
	for (size_t i = 0; i < 4; i++) {
		drive_clear();
		drive_is_next();
		enter(1 << 20);
		feed(noise, 200000, pieces[i]);
		outlet_run(outlet, ring);
		assert_tape(200000, 10240);
		assert_int_equal(outlet_bytes(outlet), 20 * 10240);
		assert_int_equal(outlet_finish(outlet), 0);
		leave();
	}
	drive_clear();
	assert_text("tape", "");
	assert_int_equal(diag_status(), STATUS_OK);
}

struct feeder { size_t size, piece; };

static void feeder_main(void *arg)
{
	struct feeder *feeder = arg;

	feed(noise, feeder->size, feeder->piece);
}

static void no_ring_splits_a_record(void **state)
{
	struct feeder feeder = { sizeof(noise), 1111 };
	struct thread thread;

	(void)state;
	opts.block = 50000;	/* nearly the whole ring */
	opts.file = "tape";
	put_file("tape", "");
	drive_is_next();
	enter(65536);
	assert_int_equal(thread_start(&thread, "feed", feeder_main, &feeder), 0);
	outlet_run(outlet, ring);
	thread_join(&thread);
	assert_tape(sizeof(noise), 50000);
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
}

/* Only what goes to the tape is padded. */
static void a_tee_may_be_a_tape(void **state)
{
	(void)state;
	opts.block = 10240;
	opts.file = "out";
	opts.tees[opts.ntees++] = "tape";
	put_file("tape", "");
	/* After the file, its duplicate and its directory. */
	drive.fd = dup(0) + 3;
	close(drive.fd - 3);
	drive.tape = true;
	enter(1 << 20);
	feed(noise, 200000, 5000);
	outlet_run(outlet, ring);
	assert_tape(200000, 10240);
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
	drive_clear();
	assert_bytes("out", noise, 200000);
}

static void assert_refused(enum status status, const char *words)
{
	unsigned before = open_descriptors();
	const char *said;

	diag_reset();
	capture_begin(STDERR_FILENO);
	if (drive.tape)
		drive_is_next();
	outlet = outlet_open(&opts);
	said = capture_end();
	if (outlet)
		fail_msg("taken, not refused: %s", words);
	if (!strstr(said, words))
		fail_msg("says '%s' and not '%s'", said, words);
	assert_int_equal(diag_status(), status);
	assert_int_equal(open_descriptors(), before);
}

static void records_must_suit_the_drive(void **state)
{
	(void)state;
	opts.file = "tape";
	put_file("tape", "");
	drive_is_next();
	drive.block = 512;
	opts.block = 1000;
	assert_refused(STATUS_USAGE, "blocks of 512 bytes: -s must be a multiple");
	drive.block = 0;
	opts.block = (16 << 20) + 512;
	assert_refused(STATUS_USAGE, "at most 16777216 bytes");
}

static void a_full_tape_stops_the_run(void **state)
{
	const char *said;

	(void)state;
	opts.block = 10240;
	opts.file = "tape";
	put_file("tape", "");
	drive_is_next();
	enter(1 << 20);
	feed(noise, 200000, 5000);
	fault_set(WRITE, (struct fault){ .after = 3, .err = ENOSPC });
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	said = capture_end();
	assert_string_equal(said, "tarpipe: tape: write, 30720 bytes are safely "
				  "out: No space left on device\n");
	assert_int_equal(drive.count, 3);
	assert_int_equal(ring_reason(ring), ENOSPC);
	assert_int_equal(outlet_finish(outlet), -1);
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

/* ---- failures ---- */

static void a_full_device_has_taken_nothing(void **state)
{
	const char *said;

	(void)state;
	opts.file = "/dev/full";
	enter(1 << 20);
	feed(noise, 200000, 5000);
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), -1);
	said = capture_end();
	assert_string_equal(said, "tarpipe: /dev/full: write, 0 bytes are safely "
				  "out: No space left on device\n");
	assert_int_equal(ring_reason(ring), ENOSPC);
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void an_error_tells_what_is_out(void **state)
{
	const char *said;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	stdout_is(fds[1]);
	drive.fd = STDOUT_FILENO;
	enter(1 << 20);
	feed(noise, 10000, 5000);
	fault_set(WRITE, (struct fault){ .most = 1234 });
	drive.interrupts = 2;
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	said = capture_end();
	assert_string_equal(said, "");
	leave();

	stdout_is(dup(fds[0]));		/* for reading only */
	enter(1 << 20);
	feed(noise, 10000, 5000);
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	said = capture_end();
	assert_string_equal(said, "tarpipe: standard output: write, 0 bytes are "
				  "safely out: Bad file descriptor\n");
	leave();
	close(fds[0]);
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static volatile sig_atomic_t got_signal;

static void on_signal(int number)
{
	got_signal = number;
}

/* A pipe whose reader is gone is standard output. */
static void enter_broken(void)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	stdout_is(fds[1]);
	got_signal = 0;
	enter(1 << 20);
	feed(noise, 10000, 5000);
}

static void a_broken_pipe_is_for_the_signal(void **state)
{
	(void)state;
	signal(SIGPIPE, on_signal);
	enter_broken();
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_string_equal(capture_end(), "");
	assert_int_equal(got_signal, SIGPIPE);
	assert_int_equal(ring_reason(ring), EPIPE);
	assert_int_equal(outlet_finish(outlet), -1);
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void where_that_is_ignored_it_is_told(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	enter_broken();
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_string_equal(capture_end(), "tarpipe: standard output: write, 0 "
					   "bytes are safely out: Broken pipe\n");
	leave();
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void after_the_end_marks_a_reader_may_go(void **state)
{
	int fds[2];

	(void)state;
	signal(SIGPIPE, on_signal);
	got_signal = 0;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	stdout_is(fds[1]);
	drive.fd = STDOUT_FILENO;
	opts.tees[opts.ntees++] = "tee";
	enter(1 << 20);
	outlet_marks(outlet, 8192);
	feed(noise, 20000, 5000);
	fault_set(WRITE, (struct fault){ .after = 2, .err = EPIPE });
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), 0);
	assert_string_equal(capture_end(), "");
	assert_int_equal(got_signal, 0);
	leave();
	close(fds[0]);
	assert_bytes("tee", noise, 20000);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* ---- tees and the rest ---- */

static void tees_get_the_same(void **state)
{
	(void)state;
	put_file("b", "longer than what comes, so that it has to be emptied");
	opts.file = "a";
	opts.tees[opts.ntees++] = "b";
	opts.tees[opts.ntees++] = "c";
	enter(1 << 20);
	feed("text", 4, 4);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
	assert_text("a", "text");
	assert_text("b", "text");
	assert_text("c", "text");
}

static void a_tee_that_fails_is_left_out(void **state)
{
	const char *said;

	(void)state;
	opts.file = "a";
	opts.tees[opts.ntees++] = "/dev/full";
	opts.tees[opts.ntees++] = "c";
	enter(1 << 20);
	feed(noise, 200000, 5000);
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_int_equal(outlet_finish(outlet), 0);
	said = capture_end();
	assert_string_equal(said, "tarpipe: /dev/full: write, 0 bytes are safely "
				  "out: No space left on device\n");
	leave();
	assert_bytes("a", noise, 200000);
	assert_bytes("c", noise, 200000);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_broken_tee_is_no_signal(void **state)
{
	(void)state;
	signal(SIGPIPE, on_signal);
	got_signal = 0;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	int reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	opts.file = "a";
	opts.tees[opts.ntees++] = "fifo";
	enter(1 << 20);
	close(reader);
	feed(noise, 200000, 5000);
	capture_begin(STDERR_FILENO);
	outlet_run(outlet, ring);
	assert_non_null(strstr(capture_end(), "fifo: write, 0 bytes"));
	assert_int_equal(outlet_finish(outlet), 0);
	assert_int_equal(got_signal, 0);
	leave();
	assert_bytes("a", noise, 200000);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void the_sum_is_told_at_the_end(void **state)
{
	(void)state;
	opts.file = "a";
	opts.hash = HASH_CRC32;
	enter(1 << 20);
	feed("123456789", 9, 2);
	outlet_run(outlet, ring);
	capture_begin(STDERR_FILENO);
	assert_int_equal(outlet_finish(outlet), 0);
	assert_string_equal(capture_end(), "tarpipe: crc32 cbf43926\n");
	leave();
}

static void a_rate_makes_small_pieces(void **state)
{
	uint64_t start = clock_ns();

	(void)state;
	opts.file = "a";
	opts.write_rate = 1000000;
	enter(1 << 20);
	feed(noise, 200000, 5000);
	outlet_run(outlet, ring);
	assert_true(clock_ns() - start > 100000000);
	assert_int_equal(outlet_finish(outlet), 0);
	leave();
	assert_bytes("a", noise, 200000);
}

static void what_can_not_be_opened_is_refused(void **state)
{
	(void)state;
	put_dir("dir");
	opts.file = "dir";
	assert_refused(STATUS_USAGE, "dir: open the output: Is a directory");
	opts.file = "none/file";
	assert_refused(STATUS_STOPPED, "none/file: open the output: No such file");
	opts.file = "out";
	opts.tees[opts.ntees++] = "none/tee";
	assert_refused(STATUS_STOPPED, "none/tee: open the output: No such file");
	assert_names(".", "dir");
}

static void no_file_is_written_twice(void **state)
{
	(void)state;
	opts.file = "new";
	opts.tees[opts.ntees++] = "new";
	assert_refused(STATUS_STOPPED, "new: is an output already");
	assert_names(".", "");
	put_file("old", "before");
	opts.file = "old";
	opts.tees[0] = "old";
	assert_refused(STATUS_STOPPED, "old: is an output already");
	assert_text("old", "before");
	opts.tees[0] = opts.tees[opts.ntees++] = "tee";
	assert_refused(STATUS_STOPPED, "tee: is an output already");
}

static void a_terminal_is_refused(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave;

	(void)state;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		skip();
	opts.file = ptsname(master);
	slave = open(opts.file, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_refused(STATUS_USAGE, "is a terminal: missing -f?");
	opts.file = "out";
	opts.tees[opts.ntees++] = ptsname(master);
	assert_refused(STATUS_USAGE, "is a terminal: missing -f?");
	close(slave);
	close(master);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_there_when_it_is_complete),
		TEST(an_unfinished_one_leaves_the_old_file),
		TEST(a_stopped_source_leaves_the_old_file),
		TEST(it_knows_its_files),
		TEST(standard_output_may_be_a_file),
		TEST(failures_at_the_end_count),
		TEST(a_given_block_is_what_is_written),
		TEST(a_given_block_is_waited_for),
		TEST(else_whole_headers_go_at_once),
		TEST(a_tape_gets_whole_records),
		TEST(no_ring_splits_a_record),
		TEST(a_tee_may_be_a_tape),
		TEST(records_must_suit_the_drive),
		TEST(a_full_tape_stops_the_run),
		TEST(a_full_device_has_taken_nothing),
		TEST(an_error_tells_what_is_out),
		TEST(a_broken_pipe_is_for_the_signal),
		TEST(where_that_is_ignored_it_is_told),
		TEST(after_the_end_marks_a_reader_may_go),
		TEST(tees_get_the_same),
		TEST(a_tee_that_fails_is_left_out),
		TEST(a_broken_tee_is_no_signal),
		TEST(the_sum_is_told_at_the_end),
		TEST(a_rate_makes_small_pieces),
		TEST(what_can_not_be_opened_is_refused),
		TEST(no_file_is_written_twice),
		TEST(a_terminal_is_refused),
	};

	return cmocka_run_group_tests_name("outlet", tests, make_noise, NULL);
}
