/* SPDX-License-Identifier: BSD-2-Clause */
#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "end_fd.h"
#include "output.h"
#include "pace.h"
#include "pass.h"
#include "ring.h"
#include "size.h"
#include "thread.h"

#define SEEK_EVERY (UINT64_C(1) << 30)

struct buffer {
	const struct buffer_opts *opts;
	struct ring *ring;
	struct hash *hash;
	uint64_t started;

	/* The reader's. */
	struct thread reader;
	struct end_in in;
	const char *in_name;
	mode_t in_type;
	struct stat in_st;
	bool in_failed;		/* read after the join */
	struct pass pass;	/* usable: while the ring is empty, by reference */

	/* The writer's. */
	struct outputs outs;
	uint64_t shown;		/* -S: where the last line was */
	struct pace pace;
};

/* -Z: tells a character device that it is at its start again after each GiB. */
static void seek_start(const struct buffer *buffer, int fd, mode_t type,
		       uint64_t before, uint64_t now)
{
	if (buffer->opts->seek && type == S_IFCHR &&
	    before / SEEK_EVERY != now / SEEK_EVERY)
		(void)lseek(fd, 0, SEEK_SET);
}

/* ---- setting up ---- */

static int open_log(const struct buffer_opts *opts)
{
	int fd;

	if (!opts->log)
		return 0;
	fd = open(opts->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0) {
		diag_fail(STATUS_STOPPED, opts->log, errno, "open the log");
		return -1;
	}
	diag_log(fd);
	return 0;
}

static int open_input(struct buffer *buffer)
{
	const char *name = buffer->opts->input;
	int fd = STDIN_FILENO;

	buffer->in_name = name ? name : "standard input";
	if (name)
		fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &buffer->in_st) != 0) {
		diag_fail(STATUS_STOPPED, buffer->in_name, errno,
			  "open the input");
		return -1;
	}
	buffer->in_type = buffer->in_st.st_mode & S_IFMT;
	buffer->in.fd = fd;
	return 0;
}

static int open_output(struct buffer *buffer, const char *name)
{
	const struct output_not input = {
		buffer->in_st, "is the input, and would be emptied"
	};
	size_t block = buffer->opts->block;

	if (name)
		return outputs_open(&buffer->outs, name, block, &input) ? 0 : -1;
	if (outputs_add(&buffer->outs, STDOUT_FILENO, "standard output", block))
		return 0;
	diag_fail(STATUS_STOPPED, "standard output", errno, "open the output");
	return -1;
}

static int open_ends(struct buffer *buffer)
{
	const struct buffer_opts *opts = buffer->opts;

	if (open_input(buffer) != 0 || open_output(buffer, opts->output) != 0)
		return -1;
	for (int i = 0; i < opts->ntees; i++)
		if (open_output(buffer, opts->tees[i]) != 0)
			return -1;
	return 0;
}

static int make_ring(struct buffer *buffer)
{
	const struct buffer_opts *opts = buffer->opts;
	struct ring_config config = {
		.start = opts->fill,
		.low = opts->low,
		.rearm = RING_EACH_BATCH,
		.spans = 1,
		.unit = opts->block,
	};

	errno = ENOMEM;
	if (!__builtin_mul_overflow(opts->blocks, opts->block, &config.size) &&
	    config.size <= SIZE_MAX / 16)
		buffer->ring = ring_new(&config);
	if (!buffer->ring) {
		diag_fail(STATUS_STOPPED, NULL, errno, "mapping %" PRIu64
			  " blocks of %" PRIu64 " bytes", opts->blocks,
			  opts->block);
		return -1;
	}
	end_in_init(&buffer->in, buffer->in.fd, opts->block, buffer->ring);
	buffer->in.pad = opts->pad;
	return 0;
}

/* Whether nothing is asked for that needs to see the bytes, or to stop them. */
static bool may_pass(const struct buffer_opts *opts)
{
	return opts->fill == 0 && opts->low == 100 && opts->pause == 0 &&
	       opts->show == 0 && !opts->pad && opts->ntees == 0 &&
	       opts->hash == HASH_NONE && opts->read_rate == 0 &&
	       opts->write_rate == 0;
}

static void make_pass(struct buffer *buffer)
{
	const struct buffer_opts *opts = buffer->opts;

	buffer->pass.events = -1;
	if (may_pass(opts))
		pass_init(&buffer->pass, buffer->in.fd, buffer->outs.out[0].end.fd,
			  opts->block, opts->block * opts->blocks);
}

static int make_hash(struct buffer *buffer)
{
	if (buffer->opts->hash == HASH_NONE)
		return 0;
	buffer->hash = hash_new(buffer->opts->hash);
	if (!buffer->hash)
		diag_fail(STATUS_STOPPED, NULL, errno, "setting up the hash");
	return buffer->hash ? 0 : -1;
}

/* ---- the reader ---- */

/* Nothing is read that isn't written: the writer waits for us. */
static bool nothing_between(const struct buffer *buffer)
{
	struct ring_counters counters;

	ring_count(buffer->ring, &counters);
	return counters.fill == 0 && buffer->in.part == 0;
}

/* Moves blocks past the ring while that can be.  Returns 0, or -1 after a message. */
static int reader_pass(struct buffer *buffer)
{
	struct output *out = &buffer->outs.out[0];
	size_t moved;
	ssize_t n = 1;

	while (n > 0 && pass_usable(&buffer->pass) && nothing_between(buffer)) {
		n = pass_move(&buffer->pass, &moved);
		count_add(&buffer->in.bytes, moved);
		count_add(&out->end.bytes, moved);
	}
	if (n < 0)
		output_fail(out, STATUS_STOPPED, "out");
	return n < 0 ? -1 : 0;
}

static void reader_main(void *arg)
{
	struct buffer *buffer = arg;
	struct pace pace;
	ssize_t n = 0;

	pace_init(&pace, buffer->opts->read_rate);
	while (reader_pass(buffer) == 0 &&
	       (n = end_in_read(&buffer->in, pace_step(&pace))) > 0) {
		uint64_t now = count_get(&buffer->in.bytes);

		seek_start(buffer, buffer->in.fd, buffer->in_type,
			   now - (uint64_t)n, now);
		pace_wait(&pace, (uint64_t)n);
	}
	if (n < 0 && !buffer->outs.out[0].failed) {
		buffer->in_failed = true;
		diag_fail(STATUS_STOPPED, buffer->in_name, errno,
			  "read after %" PRIu64 " bytes",
			  count_get(&buffer->in.bytes));
	}
	/* What was read before it failed is good, and is written. */
	ring_close(buffer->ring);
}

/* ---- the writer ---- */

/* -S: `done` of the bytes so far, and how fast. */
static void show_line(struct buffer *buffer, uint64_t done)
{
	uint64_t ms = (clock_ns() - buffer->started) / 1000000;
	char speed[24] = "?", line[80];

	if (ms > 0)
		snprintf(speed, sizeof(speed), "%" PRIu64, done / 1024 * 1000 / ms);
	snprintf(line, sizeof(line), "%10" PRIu64 "K, %10sK/s\r", done / 1024,
		 speed);
	diag_text(line);
	buffer->shown = done;
}

static void show_some(struct buffer *buffer, uint64_t done)
{
	uint64_t show = buffer->opts->show;

	if (show > 0 && done / show != buffer->shown / show)
		show_line(buffer, done);
}

/* The bytes in whole blocks to the next line. */
static size_t show_left(const struct buffer *buffer)
{
	const struct buffer_opts *opts = buffer->opts;
	uint64_t left = opts->show - buffer->outs.out[0].end.bytes % opts->show;
	uint64_t over = left % opts->block;

	return over ? left - over + opts->block : left;
}

/* -t and -S have their last words. */
static void show_total(struct buffer *buffer)
{
	uint64_t done = buffer->outs.out[0].end.bytes;
	char line[64];

	if (buffer->opts->show > 0) {
		show_line(buffer, done);
		diag_text("\n");
	}
	if (buffer->opts->total) {
		snprintf(line, sizeof(line), "Kilobytes Out %" PRIu64 "\n",
			 done / 1024);
		diag_text(line);
	}
}

/* How much of what lies there goes next. */
static size_t piece_size(const struct buffer *buffer, size_t size)
{
	const struct buffer_opts *opts = buffer->opts;
	size_t most = pace_step(&buffer->pace);

	size = outputs_share(&buffer->outs, size);
	if (opts->pause > 0)
		most = 1;
	if (opts->show > 0 && show_left(buffer) < most)
		most = show_left(buffer);
	if (size <= most || size <= opts->block)
		return size;
	most -= most % opts->block;
	return most > 0 ? most : opts->block;
}

static void output_piece(struct buffer *buffer, struct output *out,
			 const void *bytes, size_t size)
{
	uint64_t before = out->end.bytes;

	if (output_write(out, bytes, size) == 0)
		seek_start(buffer, out->end.fd, out->st.st_mode & S_IFMT,
			   before, out->end.bytes);
	else
		output_fail(out, STATUS_STOPPED, "out");
}

static void piece_write(struct buffer *buffer, const void *bytes, size_t size)
{
	if (buffer->hash)
		hash_add(buffer->hash, bytes, size);
	for (int i = 0; i < buffer->outs.count; i++)
		if (!buffer->outs.out[i].failed)
			output_piece(buffer, &buffer->outs.out[i], bytes, size);
	show_some(buffer, buffer->outs.out[0].end.bytes);
	if (buffer->opts->pause > 0)
		clock_wait(clock_ns() + buffer->opts->pause * 1000);
	pace_wait(&buffer->pace, size);
}

/* Writes to the end, or until nobody takes it.  Returns 0 at the end, or -1. */
static int writer_run(struct buffer *buffer)
{
	const void *bytes;
	size_t size;

	pace_init(&buffer->pace, buffer->opts->write_rate);
	while (ring_peek(buffer->ring, &bytes, &size) > 0) {
		size = piece_size(buffer, size);
		unsigned span = ring_take(buffer->ring, size);
		piece_write(buffer, bytes, size);
		ring_release(buffer->ring, span);
		if (!outputs_go_on(&buffer->outs))
			return -1;
	}
	return 0;
}

/* ---- the end ---- */

static void close_outputs(struct buffer *buffer)
{
	for (int i = 0; i < buffer->outs.count; i++) {
		struct output *out = &buffer->outs.out[i];

		(void)output_close(out, S_ISBLK(out->st.st_mode),
				   STATUS_STOPPED);
	}
}

/* For -d and the log: what went through, how fast, and which side was slow. */
static void tell_run(struct buffer *buffer)
{
	struct ring_counters counters;
	char out[32], speed[32];
	double seconds = (double)(clock_ns() - buffer->started) / 1e9;
	uint64_t bytes = buffer->outs.out[0].end.bytes;
	double rate = (double)bytes / (seconds > 1e-6 ? seconds : 1e-6);

	ring_count(buffer->ring, &counters);
	size_format(bytes, out, sizeof(out));
	size_format((uint64_t)rate, speed, sizeof(speed));
	(buffer->opts->debug > 0 ? diag_note : diag_record)(NULL,
		"%" PRIu64 " bytes read, %" PRIu64 " written (%s) in %.3f seconds, "
		"%s/s; %" PRIu64 " times empty, %" PRIu64 " times full",
		count_get(&buffer->in.bytes), bytes, out, seconds, speed,
		counters.empty, counters.full);
}

static int buffer_status(const struct buffer *buffer)
{
	for (int i = 0; i < buffer->outs.count; i++)
		if (buffer->outs.out[i].failed)
			return BUFFER_WRITE_FAILED;
	return buffer->in_failed ? BUFFER_FAILED : 0;
}

/* Only when the reader is done: it may hang in a read for good. */
static void buffer_destroy(struct buffer *buffer)
{
	pass_destroy(&buffer->pass);
	hash_free(buffer->hash);
	ring_free(buffer->ring);
	if (buffer->opts->input)
		close(buffer->in.fd);
}

static int buffer_start(struct buffer *buffer)
{
	if (open_log(buffer->opts) != 0 || open_ends(buffer) != 0 ||
	    make_ring(buffer) != 0 || make_hash(buffer) != 0)
		return -1;
	make_pass(buffer);
	if (buffer->opts->debug > 0)
		diag_note(NULL, "%" PRIu64 " blocks of %" PRIu64 " bytes",
			  buffer->opts->blocks, buffer->opts->block);
	buffer->started = clock_ns();
	if (thread_start(&buffer->reader, "reader", reader_main, buffer) == 0)
		return 0;
	diag_fail(STATUS_STOPPED, NULL, errno, "starting a thread");
	return -1;
}

int buffer_run(const struct buffer_opts *opts)
{
	/* A reader that is left behind on failure still has it. */
	static struct buffer buffer;
	int ended;

	buffer = (struct buffer){ .opts = opts };
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (buffer_start(&buffer) != 0)
		return BUFFER_FAILED;
	ended = writer_run(&buffer);
	if (ended == 0)
		thread_join(&buffer.reader);
	close_outputs(&buffer);
	show_total(&buffer);
	if (ended == 0)
		hash_tell(buffer.hash);
	tell_run(&buffer);
	if (ended == 0)
		buffer_destroy(&buffer);
	return ended == 0 ? buffer_status(&buffer) : BUFFER_WRITE_FAILED;
}
