/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for whom
 *
 *   intake ==> bytes (ring) ==> untar ==> records (ring) ==> workers
 *                  ^                                            |
 *                  +------ spans of bytes that are written ------+
 *
 * The workers give back what untar has taken from the ring of bytes, so untar hands
 * over all its records before it waits for bytes.  Whoever ends early aborts what is
 * before him: the workers the records, untar (or, when that is asleep, this room) the
 * bytes; the intake then reads a pipe to its end for nothing, lest its writer die of a
 * signal that is ours.
 */
#include "extract.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budget.h"
#include "cache.h"
#include "diag.h"
#include "instream.h"
#include "intake.h"
#include "job.h"
#include "list.h"
#include "ring.h"
#include "select.h"
#include "signals.h"
#include "sink.h"
#include "spec.h"
#include "stats.h"
#include "thread.h"
#include "untar.h"

enum {
	RECORDS_SIZE = 4 << 20,
	INTAKE_PATIENCE = 300,	/* ms, for an intake that was told to stop */
};

struct extract {
	const struct opts *opts;
	struct spec spec;
	struct budget budget;
	int dst;
	mode_t umask;

	struct select *select;
	struct intake *intake;
	struct ring *bytes, *records;
	struct instream *in;
	struct untar *untar;
	struct sink sink;

	struct thread reader, decoder;
	uint64_t through;	/* of the intake and the workers, those who are */
	uint64_t workers_through;
	int decoded;		/* untar_run's */
	bool intake_stuck;	/* in a call that takes its time: left behind */
	uint64_t started;
};

static void extract_destroy(struct extract *extract)
{
	untar_free(extract->untar);
	instream_free(extract->in);
	sink_destroy(&extract->sink);
	ring_free(extract->records);
	ring_free(extract->bytes);
	intake_free(extract->intake);
	select_free(extract->select);
	signals_close();
	if (extract->dst >= 0)
		close(extract->dst);
	spec_destroy(&extract->spec);
	free(extract);
}

/* ---- making the parts ---- */

static int make_rings(struct extract *extract)
{
	const struct opts *opts = extract->opts;
	struct ring_config bytes = job_ring_config(opts, INSTREAM_SPANS);
	struct ring_config records = {
		.size = opts->memory < RECORDS_SIZE ? opts->memory :
						      RECORDS_SIZE,
		.low = 100,
		.spans = unpack_spans(extract->budget.workers),
	};

	extract->bytes = job_ring(&bytes);
	if (extract->bytes)
		extract->records = job_ring(&records);
	return extract->records ? 0 : -1;
}

/*
 * instream_config.waiting: what the workers have not seen, they can't give back.  Until
 * there are more bytes untar is one of them.
 */
static void lend_hand(void *arg)
{
	struct extract *extract = arg;
	const void *bytes;
	size_t size;

	ring_flush(extract->records);
	while (ring_try_peek(extract->bytes, &bytes, &size) == 0 &&
	       ring_lend(extract->records))
		;
}

static int make_decoder(struct extract *extract)
{
	struct instream_config in = {
		.ring = extract->bytes,
		.shown = intake_shown(extract->intake),
		.ignore_zeros = extract->opts->ignore_zeros,
		.drain = !intake_is_tape(extract->intake),
		.waiting = lend_hand,
		.arg = extract,
	};
	struct untar_config untar = {
		.opts = extract->opts,
		.ring = extract->records,
		.select = select_is_empty(extract->select) ? NULL :
							     extract->select,
		.keeps_root = extract->spec.dst_keeps,
	};

	untar.in = extract->in = instream_new(&in);
	if (extract->in)
		extract->untar = untar_new(&untar);
	return extract->untar ? 0 : -1;
}

static void release(void *hold)
{
	instream_release(hold);
}

static void workers_done(void *arg)
{
	struct extract *extract = arg;

	(void)count_add(&extract->workers_through, 1);
	(void)count_add(&extract->through, 1);
	signals_done();
}

static int make_sink(struct extract *extract)
{
	struct sink_config config = {
		.opts = extract->opts,
		.budget = &extract->budget,
		.ring = extract->records,
		.dst = extract->dst,
		.shown = extract->spec.dst_shown,
		.fresh = extract->spec.dst_new && !extract->spec.dst_keeps,
		.widen = !extract->spec.dst_keeps,
		.ordered = true,
		.help = true,
		.umask = extract->umask,
		.release = release,
		.done = workers_done,
		.done_arg = extract,
	};

	return sink_make(&extract->sink, &config);
}

/* ---- running ---- */

static void reader_main(void *arg)
{
	struct extract *extract = arg;

	intake_run(extract->intake, extract->bytes,
		   !intake_is_tape(extract->intake));
	(void)count_add(&extract->through, 1);
	signals_done();
}

static void decoder_main(void *arg)
{
	struct extract *extract = arg;

	thread_own_umask();		/* it may lend the workers a hand */
	extract->decoded = untar_run(extract->untar);
	sink_helped(&extract->sink);
	/* Nobody takes more of it. */
	ring_abort(extract->bytes, ECANCELED);
}

/* Stops everybody, without waiting. */
static void stop(struct extract *extract, int reason)
{
	sink_stop(&extract->sink, reason);
	ring_abort(extract->bytes, reason);
}

static int start_threads(struct extract *extract)
{
	int err;

	if (sink_start(&extract->sink) != 0)
		return -1;
	if (thread_start(&extract->decoder, "untar", decoder_main,
			 extract) == 0 &&
	    thread_start(&extract->reader, "intake", reader_main,
			 extract) == 0)
		return 0;
	err = errno;
	stop(extract, err);
	(void)sink_join(&extract->sink);
	thread_join(&extract->decoder);
	errno = err;
	return -1;
}

/* Waits for the workers and the intake, or for a signal, which it returns. */
static int wait_for_all(struct extract *extract)
{
	int number = 0;

	while (number == 0 && count_get(&extract->through) < 2) {
		number = signals_wait();
		/* Without workers untar would wait for bytes to no purpose. */
		if (count_get(&extract->workers_through) > 0 &&
		    ring_reason(extract->records) != 0)
			ring_abort(extract->bytes, ECANCELED);
	}
	return number;
}

static int wait_and_join(struct extract *extract)
{
	int number = wait_for_all(extract);

	if (number != 0) {
		signals_hurry(number);
		diag_hurry();
		stop(extract, EINTR);
	}
	if (sink_join(&extract->sink) != 0 && number == 0 &&
	    diag_status() < STATUS_STOPPED)
		diag_fail(STATUS_STOPPED, NULL, 0,
			  "unpacking broke off before its end");
	thread_join(&extract->decoder);
	if (number == 0)
		thread_join(&extract->reader);
	else
		extract->intake_stuck = !thread_join_within(&extract->reader,
							    INTAKE_PATIENCE);
	return number;
}

static void print_stats(struct extract *extract)
{
	struct stats stats = {
		.ring_size = extract->opts->memory,
		.elapsed_ns = clock_ns() - extract->started,
	};

	stats.verifies = extract->sink.verify;
	if (stats.verifies)
		verify_count(extract->sink.verify, &stats.verified);
	restore_count(extract->sink.restore, &stats.done);
	ring_count(extract->bytes, &stats.ring);
	stats_print(&stats);
}

static int extract_all(struct extract *extract)
{
	int number;

	extract->dst = spec_open_dst(&extract->spec);
	if (extract->dst < 0)
		return 0;
	extract->umask = umask(0);
	umask(extract->umask);
	extract->started = clock_ns();
	if (signals_open() != 0 || make_sink(extract) != 0 ||
	    make_decoder(extract) != 0 || start_threads(extract) != 0) {
		diag_fail(STATUS_STOPPED, extract->spec.dst_shown, errno,
			  "setting up the run");
		return 0;
	}
	number = wait_and_join(extract);
	if (number == 0 && extract->opts->sync &&
	    diag_status() < STATUS_STOPPED) {
		signals_default();	/* nothing is left to be cleaned up */
		sink_sync(&extract->sink);
	}
	if (number == 0 && extract->decoded == 0)
		select_tell_unmatched(extract->select);
	if (extract->opts->verbose > 0)
		diag_list_end();
	if (extract->opts->stats)
		print_stats(extract);
	return number;
}

/* -n: what would be unpacked is listed; the operand is no pattern. */
static int extract_list(const struct opts *opts)
{
	struct opts list = *opts;

	if (!opts->directory)
		list.noperands = 0;
	list.verbose = 0;
	return list_run(&list);
}

/* Opens the ends, and runs. */
static int extract_go(struct extract *extract)
{
	const struct opts *opts = extract->opts;

	extract->select = select_from_opts(opts, true, opts->operands,
					   opts->directory ? opts->noperands : 0);
	if (extract->select)
		extract->intake = intake_open(opts);
	if (!extract->intake)
		return 0;
	/* Followed links give files further paths, which nobody could order. */
	budget_share(&extract->budget, opts->keep_dirlink ? 1 : opts->jobs,
		     false, opts->verify, opts->no_cache ? CACHE_HELD : 0);
	return make_rings(extract) == 0 ? extract_all(extract) : 0;
}

int extract_run(const struct opts *opts)
{
	struct extract *extract = calloc(1, sizeof(*extract));	/* who is stuck uses it on */
	int number = 0;

	if (!extract) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return 0;
	}
	extract->opts = opts;
	extract->dst = -1;
	if (spec_check_stream(opts) == 0 &&
	    spec_resolve_extract(&extract->spec, opts) == 0) {
		number = opts->dry_run ? extract_list(opts) :
					 extract_go(extract);
		if (!opts->dry_run)
			diag_summary();
	}
	if (extract->intake_stuck || extract->sink.stuck)
		return number == 0 ? JOB_LEFT_BEHIND : number;
	extract_destroy(extract);
	return number;
}
