/* SPDX-License-Identifier: BSD-2-Clause */
#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budget.h"
#include "cache.h"
#include "diag.h"
#include "have.h"
#include "manifest.h"
#include "pack.h"
#include "ring.h"
#include "select.h"
#include "signals.h"
#include "sink.h"
#include "spec.h"
#include "stats.h"
#include "thread.h"
#include "walk.h"

enum {
	PACKER_PATIENCE = 300,	/* ms, for a packer that was told to stop */
	HAVE_FDS_MAX = 16,	/* directories of the destination that are looked at */
};

struct job {
	const struct opts *opts;
	struct spec spec;
	struct select *select;	/* excludes */
	struct names *names;	/* -T, or NULL */
	struct budget budget;
	int dst;
	struct stat dst_st;
	mode_t umask;

	struct ring *ring;
	struct sink sink;
	struct have *have;	/* --continue, or NULL */
	struct pack *pack;
	struct manifest *manifest;	/* or NULL */
	struct thread packer;
	bool packer_stuck;	/* in a call that takes its time: left behind */
	uint64_t started;
};

static void job_destroy(struct job *job)
{
	pack_free(job->pack);
	have_free(job->have);
	manifest_close(job->manifest, false);
	sink_destroy(&job->sink);
	ring_free(job->ring);
	signals_close();
	if (job->dst >= 0)
		close(job->dst);
	spec_destroy(&job->spec);
	select_free(job->select);
	names_close(job->names);
	free(job);
}

/* What the options leave out, and what they name. */
static int job_choose(struct job *job)
{
	job->select = select_from_opts(job->opts, false, NULL, 0);
	return job->select ? names_from_opts(&job->names, job->opts) : -1;
}

static struct walk_config walk_settings(const struct job *job)
{
	struct walk_config config = {
		.fds = job->budget.walk,
		.stay = job->opts->one_fs,
		.wanted = select_is_empty(job->select) ? NULL : select_hook,
		.wanted_arg = job->select,
		.strip = job->opts->strip,
	};

	if (job->dst >= 0) {
		/* What a bind mount hid from the operands shows here. */
		config.avoid = true;
		config.avoid_dev = job->dst_st.st_dev;
		config.avoid_ino = job->dst_st.st_ino;
	}
	return config;
}

/* ---- making the parts ---- */

struct ring_config job_ring_config(const struct opts *opts, unsigned spans)
{
	return (struct ring_config){
		.size = opts->memory,
		.start = opts->fill,
		.low = opts->low,
		.spans = spans,
	};
}

struct ring *job_ring(const struct ring_config *config)
{
	struct ring *ring = ring_new(config);

	if (!ring)
		diag_fail(STATUS_STOPPED, NULL, errno,
			  "mapping a ring of %zu bytes", config->size);
	return ring;
}

static int make_ring(struct job *job)
{
	struct ring_config ring =
		job_ring_config(job->opts,
				unpack_spans(job->budget.workers));

	job->ring = job_ring(&ring);
	return job->ring ? 0 : -1;
}

static void workers_done(void *arg)
{
	(void)arg;
	signals_done();
}

static int make_sink(struct job *job)
{
	struct sink_config config = {
		.opts = job->opts,
		.budget = &job->budget,
		.ring = job->ring,
		.dst = job->dst,
		.shown = job->spec.dst_shown,
		.fresh = job->spec.dst_new && job->spec.dst_is_copy &&
			 !job->spec.dst_keeps,
		.widen = job->spec.dst_is_copy,
		.umask = job->umask,
		.help = true,
		.done = workers_done,
	};

	return sink_make(&job->sink, &config);
}

/*
 * Names that are cut off may fall together, and what is there would be what this very run
 * has made of another file: so nothing is left alone then.
 */
static int make_have(struct job *job)
{
	unsigned fds = job->budget.gate / 8;

	if (!job->opts->resume || job->opts->strip > 0 || job->spec.dst_new)
		return 0;
	if (fds > HAVE_FDS_MAX)
		fds = HAVE_FDS_MAX;
	job->budget.gate -= fds;
	job->have = have_new(job->opts, job->dst, fds);
	return job->have ? 0 : -1;
}

static int make_source(struct job *job)
{
	struct pack_config config = {
		.opts = job->opts,
		.ring = job->ring,
		.refs = job->sink.refs,
		.dst_dev = job->dst_st.st_dev,
		.have = job->have,
		.manifest = job->manifest,
		.walk = walk_settings(job),
		.ahead = job->budget.ahead,
	};

	job->pack = pack_new(&config);
	if (job->pack && (job->names || spec_overlaps(&job->spec)))
		pack_again(job->pack);
	return job->pack ? 0 : -1;
}

/* ---- running ---- */

static void pack_all(struct job *job)
{
	pack_list(job->pack, job->names);
	for (size_t i = 0; i < job->spec.nroots; i++) {
		const struct spec_root *root = &job->spec.roots[i];

		if (pack_root(job->pack, root->path, root->as, root->follow,
			      job->spec.dst_keeps) != 0)
			return;
	}
	(void)pack_finish(job->pack);
}

static void packer_main(void *arg)
{
	struct job *job = arg;

	thread_own_umask();		/* it may lend the workers a hand */
	pack_all(job);
	sink_helped(&job->sink);
}

static int start_threads(struct job *job)
{
	if (sink_start(&job->sink) != 0)
		return -1;
	if (thread_start(&job->packer, "pack", packer_main, job) == 0)
		return 0;
	sink_stop(&job->sink, errno);
	(void)sink_join(&job->sink);
	return -1;
}

static void print_stats(struct job *job)
{
	struct stats stats = {
		.ring_size = job->opts->memory,
		.elapsed_ns = clock_ns() - job->started,
		.helpers = pack_helpers(job->pack),
	};

	stats.verifies = job->sink.verify;
	if (stats.verifies)
		verify_count(job->sink.verify, &stats.verified);
	restore_count(job->sink.restore, &stats.done);
	ring_count(job->ring, &stats.ring);
	stats_print(&stats);
}

/* Waits for the workers, or for a signal, which stops them. */
static int wait_and_join(struct job *job)
{
	int number = signals_wait();

	if (number != 0) {
		signals_hurry(number);
		diag_hurry();
		sink_stop(&job->sink, EINTR);
	}
	if (sink_join(&job->sink) != 0 && number == 0 &&
	    diag_status() < STATUS_STOPPED)
		diag_fail(STATUS_STOPPED, NULL, 0,
			  "the copy broke off before its end");
	if (ring_reason(job->ring) == 0) {
		thread_join(&job->packer);
	} else {
		/* It holds nothing that has to be cleaned up, so it need not hold us. */
		references_cancel(job->sink.refs);
		job->packer_stuck = !thread_join_within(&job->packer,
							PACKER_PATIENCE);
	}
	if (!job->packer_stuck)
		job->packer_stuck = !pack_stop(job->pack, PACKER_PATIENCE);
	return number;
}

/* The list is named when all was packed, and restored. */
static void manifest_end_run(struct job *job, int number)
{
	if (job->packer_stuck || !job->manifest)
		return;
	/* What still has to be read may take its time: a signal ends that at once. */
	signals_default();
	manifest_close(job->manifest, number == 0 && ring_reason(job->ring) == 0 &&
					      diag_status() < STATUS_STOPPED);
	job->manifest = NULL;
}

static int job_copy(struct job *job)
{
	int number;

	if (make_ring(job) != 0)
		return 0;
	job->dst = spec_open_dst(&job->spec);
	if (job->dst < 0)
		return 0;
	if (job->opts->manifest) {
		job->manifest = manifest_open(job->opts->manifest,
					      job->opts->preserve);
		if (!job->manifest)
			return 0;
	}
	job->umask = umask(0);
	umask(job->umask);
	job->started = clock_ns();
	if (fstat(job->dst, &job->dst_st) != 0 || signals_open() != 0 ||
	    make_have(job) != 0 || make_sink(job) != 0 ||
	    make_source(job) != 0 ||
	    start_threads(job) != 0) {
		diag_fail(STATUS_STOPPED, job->spec.dst_shown, errno,
			  "setting up the run");
		return 0;
	}
	number = wait_and_join(job);
	manifest_end_run(job, number);
	if (number == 0 && job->opts->sync && diag_status() < STATUS_STOPPED) {
		signals_default();	/* nothing is left to be cleaned up */
		sink_sync(&job->sink);
	}
	if (job->opts->verbose > 0 && !job->packer_stuck)
		diag_list_end();
	if (job->opts->stats)
		print_stats(job);
	return number;
}

/* -n: walks and lists, and writes nothing. */
static void job_list(struct job *job)
{
	struct walk_config config = walk_settings(job);
	struct walk *walk = walk_new(&config);
	struct walk_item item;

	if (!walk) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return;
	}
	for (size_t i = 0; i < job->spec.nroots; i++) {
		const struct spec_root *root = &job->spec.roots[i];

		walk_begin(walk, root->path, root->as, root->follow);
		if (job->names)
			walk_list(walk, job->names);
		do {
			walk_next(walk, &item);
			if ((item.event == WALK_ENTRY ||
			     item.event == WALK_ENTER) && !item.way)
				diag_list(walk_path(walk));
		} while (item.event != WALK_END);
	}
	walk_free(walk);
	diag_list_end();
}

int job_run(const struct opts *opts)
{
	struct job *job = calloc(1, sizeof(*job));	/* a stuck packer uses it on */
	int number = 0;

	if (!job) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return 0;
	}
	job->opts = opts;
	job->dst = -1;
	if (spec_resolve(&job->spec, opts) == 0 && job_choose(job) == 0) {
		budget_share(&job->budget, opts->jobs, true, opts->verify,
			     opts->no_cache ? CACHE_HELD : 0);
		if (opts->dry_run)
			job_list(job);
		else
			number = job_copy(job);
		diag_summary();
	}
	if (job->packer_stuck || job->sink.stuck)
		return number == 0 ? JOB_LEFT_BEHIND : number;
	job_destroy(job);
	return number;
}
