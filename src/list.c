/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three threads: one reads the stream into the ring, one takes members out of it and
 * writes, and main waits for either or for a signal.
 */
#include "list.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "end_fd.h"
#include "instream.h"
#include "intake.h"
#include "job.h"
#include "listing.h"
#include "path.h"
#include "ring.h"
#include "select.h"
#include "signals.h"
#include "spec.h"
#include "stats.h"
#include "text.h"
#include "thread.h"

enum {
	BATCH = 32 << 10,	/* bytes of lines that are written at once */
	INTAKE_PATIENCE = 300,	/* ms, for a reader that was told to stop */
};

static const char zeros[64 << 10];

struct list {
	const struct opts *opts;
	struct intake *intake;
	struct ring *ring;
	struct select *select;
	struct instream *in;
	struct thread reader, lister;
	uint64_t started;

	/* the lister's */
	struct listing listing;
	struct text lines;		/* that are not written yet */
	struct end_out out;
	bool broken;			/* nothing can be written any more */
	bool whole;			/* the stream was read to its end */
};

/* ---- writing ---- */

static int put(struct list *list, const void *bytes, size_t size)
{
	if (list->broken)
		return -1;
	if (end_out_write(&list->out, bytes, size) == 0)
		return 0;
	if (errno == EPIPE && !signals_ignored(SIGPIPE))
		diag_raise(STATUS_STOPPED);
	else
		diag_fail(STATUS_STOPPED, NULL, errno,
			  "writing to standard output, after %llu bytes",
			  (unsigned long long)list->out.bytes);
	list->broken = true;
	return -1;
}

static int put_lines(struct list *list)
{
	int result = 0;

	if (list->lines.len > 0)
		result = put(list, list->lines.bytes, list->lines.len);
	list->lines.len = 0;
	return result;
}

/* What is known is shown before more is waited for. */
static void before_waiting(void *arg)
{
	(void)put_lines(arg);
}

static int put_zeros(struct list *list, uint64_t size)
{
	while (size > 0) {
		size_t n = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);

		if (ring_reason(list->ring) != 0 || put(list, zeros, n) != 0)
			return -1;
		size -= n;
	}
	return 0;
}

/* ---- members ---- */

static int list_member(struct list *list, const struct tar_member *member,
		       const char *path)
{
	const char *hardlink = member->hardlink;

	if (hardlink && path_strip_components(hardlink, list->opts->strip))
		hardlink = path_strip_components(hardlink, list->opts->strip);
	listing_put(&list->listing, &list->lines, member, path, hardlink);
	return list->lines.len < BATCH ? 0 : put_lines(list);
}

/* All of it is out: whether it is true.  Returns 0, or -1 when the stream can't go on. */
static int check_member(struct list *list, const struct tar_member *member)
{
	uint64_t size = member->meta.size;

	if (!S_ISREG(member->meta.mode) || size == 0)
		return 0;
	return instream_check(list->in, &size, false) == -1 ? -1 : 0;
}

/* A file's bytes, its holes as zeros. */
static int write_member(struct list *list, const struct tar_member *member)
{
	struct instream_data data;
	uint64_t done = 0;
	int result;

	if (!S_ISREG(member->meta.mode))
		return 0;
	while ((result = instream_read(list->in, &data)) == 1) {
		if (put_zeros(list, data.offset - done) != 0 ||
		    put(list, data.bytes, data.size) != 0)
			return -1;
		done = data.offset + data.size;
	}
	if (result < 0)
		return result == TAR_DATA_BAD ? 0 : -1;
	if (put_zeros(list, member->meta.size - done) != 0)
		return -1;
	return check_member(list, member);
}

static int take_member(struct list *list, const struct tar_member *member)
{
	const char *path = member->path;

	if (!select_wants(list->select, path, S_ISDIR(member->meta.mode)))
		return 0;
	path = path_strip_components(path, list->opts->strip);
	if (!path)
		return 0;
	if (list->opts->mode != MODE_LIST)
		return write_member(list, member);
	return list_member(list, member, path) == 0 ?
		       check_member(list, member) :
		       -1;
}

/* The lister's thread. */
static void lister_main(void *arg)
{
	struct list *list = arg;
	struct tar_member member;
	int result;

	while ((result = instream_next(list->in, &member)) == 1)
		if (take_member(list, &member) != 0)
			break;
	list->whole = put_lines(list) == 0 && result == 0;
	if (list->whole)
		select_tell_unmatched(list->select);
	else
		ring_abort(list->ring, EPIPE);
	signals_done();
}

static void reader_main(void *arg)
{
	struct list *list = arg;

	intake_run(list->intake, list->ring, !intake_is_tape(list->intake));
}

/* ---- making the parts ---- */

static int make_parts(struct list *list)
{
	const struct opts *opts = list->opts;
	struct ring_config ring = job_ring_config(opts, INSTREAM_SPANS);
	struct instream_config in = {
		.shown = intake_shown(list->intake),
		.ignore_zeros = opts->ignore_zeros,
		.drain = !intake_is_tape(list->intake),
		.names_only = true,
		.waiting = before_waiting,
		.arg = list,
	};

	in.ring = list->ring = job_ring(&ring);
	if (!list->ring)
		return -1;
	list->in = instream_new(&in);
	if (list->in && signals_open() == 0)
		return 0;
	diag_fail(STATUS_STOPPED, NULL, errno, "setting up the run");
	return -1;
}

/* Both threads run, or none. */
static int start_threads(struct list *list)
{
	if (thread_start(&list->reader, "intake", reader_main, list) == 0) {
		if (thread_start(&list->lister, "list", lister_main, list) == 0)
			return 0;
		ring_abort(list->ring, errno);
		thread_join(&list->reader);
	}
	diag_fail(STATUS_STOPPED, NULL, errno, "starting a thread");
	return -1;
}

/* ---- running ---- */

/*
 * Waits for the lister or a signal.  False when a thread is left behind: after a signal, or
 * when nothing can be written, nobody waits for a reader or a writer that is stuck.
 */
static bool wait_and_join(struct list *list, int *number)
{
	*number = signals_wait();
	if (*number != 0) {
		signals_hurry(*number);
		diag_hurry();
		ring_abort(list->ring, EINTR);
		if (!thread_join_within(&list->lister, INTAKE_PATIENCE))
			return false;
	}
	thread_join(&list->lister);
	if (*number != 0 || list->broken)
		return thread_join_within(&list->reader, INTAKE_PATIENCE);
	thread_join(&list->reader);
	return true;
}

static void print_stats(struct list *list)
{
	struct stats stats = {
		.ring_size = list->opts->memory,
		.elapsed_ns = clock_ns() - list->started,
	};

	ring_count(list->ring, &stats.ring);
	stats.done.entries = instream_members(list->in);
	stats.done.bytes = stats.ring.bytes;
	stats_print(&stats);
}

static void list_destroy(struct list *list)
{
	instream_free(list->in);
	select_free(list->select);
	ring_free(list->ring);
	intake_free(list->intake);
	text_destroy(&list->lines);
	signals_close();
}

static int list_go(struct list *list)
{
	int number = 0;

	list->select = select_from_opts(list->opts, true, list->opts->operands,
					list->opts->noperands);
	if (!list->select)
		return 0;
	list->intake = intake_open(list->opts);
	if (!list->intake || make_parts(list) != 0)
		return 0;
	end_out_init(&list->out, STDOUT_FILENO, list->opts->block);
	list->started = clock_ns();
	if (start_threads(list) != 0)
		return 0;
	if (!wait_and_join(list, &number))
		return number != 0 ? number : JOB_LEFT_BEHIND;
	if (list->opts->stats)
		print_stats(list);
	diag_summary();
	return number;
}

int list_run(const struct opts *opts)
{
	struct list *list = calloc(1, sizeof(*list));
	int result;

	if (spec_check_stream(opts) != 0) {
		free(list);
		return 0;
	}
	if (!list) {
		diag_fail(STATUS_STOPPED, NULL, errno, "setting up the run");
		return 0;
	}
	list->opts = opts;
	list->listing.verbose = opts->verbose > 0;
	list->listing.numeric = opts->numeric;
	text_init(&list->lines);
	result = list_go(list);
	/* Who was left behind still uses it, and the process is about to end. */
	if (result == 0 || !list->reader.running) {
		list_destroy(list);
		free(list);
	}
	return result;
}
