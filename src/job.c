/* SPDX-License-Identifier: BSD-2-Clause */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "extent.h"
#include "gate.h"
#include "inodes.h"
#include "meta.h"
#include "owner.h"
#include "pack.h"
#include "restore.h"
#include "ring.h"
#include "signals.h"
#include "spec.h"
#include "stats.h"
#include "thread.h"
#include "unpack.h"
#include "walk.h"

/*
 * One budget of descriptors, shared out before anything is opened: each part
 * stays within its own, so none can starve another.
 */
struct budget {
	unsigned walk;		/* directories of the source */
	unsigned gate;		/* directories of the destination */
	unsigned references;	/* source files on their way */
	unsigned workers;
};

enum {
	FDS_OWN = 5,		/* to come: DST, signals, one in passing */
	FDS_LOOKED_AT = 1024,
	FDS_WORKER = 3,		/* a file, a handle, a spare */
	PACKER_PATIENCE = 300,	/* ms, for a packer that was told to stop */
};

/* Descriptors that are open already: ours, and what the caller left open. */
static unsigned fds_open(unsigned limit)
{
	unsigned count = 0;

	for (unsigned fd = 0; fd < limit && fd < FDS_LOOKED_AT; fd++)
		if (fcntl((int)fd, F_GETFD) >= 0)
			count++;
	return count;
}

static unsigned fds_free(void)
{
	struct rlimit limit;
	unsigned most = 1024, taken;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
			most = limit.rlim_cur < 4096 ? (unsigned)limit.rlim_cur :
						       4096;
	}
	taken = fds_open(most) + FDS_OWN;
	return most > taken ? most - taken : 0;
}

static unsigned at_most(unsigned n, unsigned most)
{
	return n < most ? n : most;
}

/* The least is what one worker and a walk need; below that it can't be helped. */
static void budget_share(struct budget *budget, unsigned jobs)
{
	unsigned all = fds_free();

	budget->workers = jobs;
	while (budget->workers > 1 && budget->workers * FDS_WORKER > all / 3)
		budget->workers--;
	all -= at_most(all, budget->workers * FDS_WORKER);
	budget->walk = at_most(all / 4, 64);
	if (budget->walk < 3)
		budget->walk = 3;
	all -= at_most(all, budget->walk);
	budget->references = at_most(all / 3, 64);
	budget->gate = at_most(all - budget->references, 256);
	if (budget->gate < 2)
		budget->gate = 2;
}

struct job {
	const struct opts *opts;
	struct spec spec;
	struct budget budget;
	int dst;
	struct stat dst_st;
	mode_t umask;

	struct ring *ring;
	struct references *refs;
	struct owners *owners;
	struct gate *gate;
	struct inodes *inodes;
	struct restore *restore;
	struct unpack *unpack;
	struct pack *pack;
	struct thread packer;
	bool packer_stuck;	/* in a call that takes its time: left behind */
	uint64_t started;
};

static void job_destroy(struct job *job)
{
	/* The process is about to end, and the packer still uses all this. */
	if (job->packer_stuck)
		return;
	pack_free(job->pack);
	restore_free(job->restore);
	inodes_free(job->inodes);
	gate_free(job->gate);
	owners_free(job->owners);
	references_free(job->refs);
	ring_free(job->ring);
	signals_close();
	if (job->dst >= 0)
		close(job->dst);
	spec_destroy(&job->spec);
}

static struct walk_config walk_settings(const struct job *job)
{
	struct walk_config config = { .fds = job->budget.walk };

	if (job->dst >= 0) {
		/* What a bind mount hid from the operands shows here. */
		config.avoid = true;
		config.avoid_dev = job->dst_st.st_dev;
		config.avoid_ino = job->dst_st.st_ino;
	}
	return config;
}

/* ---- making the parts ---- */

static int make_ring(struct job *job)
{
	struct ring_config ring = {
		.size = job->opts->memory,
		.start = job->opts->fill,
		.low = job->opts->low,
		.spans = unpack_spans(job->budget.workers),
	};

	job->ring = ring_new(&ring);
	if (!job->ring)
		diag_fail(STATUS_STOPPED, NULL, errno,
			  "mapping a ring of %llu bytes",
			  (unsigned long long)job->opts->memory);
	return job->ring ? 0 : -1;
}

static int make_ends(struct job *job)
{
	struct gate_config gate = {
		.root = job->dst,
		.shown = job->spec.dst_shown,
		.fds = job->budget.gate,
		.fresh = job->spec.dst_new && job->spec.dst_is_copy &&
			 !job->spec.dst_keeps,
		.widen = job->spec.dst_is_copy,
		.keep = job->opts->keep,
		.keep_dirlink = job->opts->keep_dirlink,
	};

	job->refs = references_new(job->opts->reflink, job->budget.references);
	job->owners = owners_new();
	job->gate = gate_new(&gate);
	job->inodes = job->gate ? inodes_new(job->gate) : NULL;
	return job->refs && job->owners && job->inodes ? 0 : -1;
}

static int make_halves(struct job *job)
{
	struct restore_config restore = {
		.opts = job->opts,
		.ring = job->ring,
		.gate = job->gate,
		.inodes = job->inodes,
		.refs = job->refs,
		.owners = job->owners,
		.umask = job->umask,
		.workers = job->budget.workers,
	};
	struct pack_config pack = {
		.opts = job->opts,
		.ring = job->ring,
		.refs = job->refs,
		.dst_dev = job->dst_st.st_dev,
		.walk = walk_settings(job),
	};

	job->restore = restore_new(&restore);
	job->pack = pack_new(&pack);
	return job->restore && job->pack ? 0 : -1;
}

/* ---- running ---- */

static void packer_main(void *arg)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->spec.nroots; i++) {
		const struct spec_root *root = &job->spec.roots[i];

		if (pack_root(job->pack, root->path, root->as, root->follow,
			      job->spec.dst_keeps) != 0)
			return;
	}
	(void)pack_finish(job->pack);
}

static void workers_done(void *arg)
{
	(void)arg;
	signals_done();
}

static int start_threads(struct job *job)
{
	struct unpack_config unpack = {
		.ring = job->ring,
		.gate = job->gate,
		.inodes = job->inodes,
		.owners = job->owners,
		.restore = job->restore,
		.workers = job->budget.workers,
		.done = workers_done,
		.done_arg = job,
	};

	job->unpack = unpack_start(&unpack);
	if (!job->unpack)
		return -1;
	if (thread_start(&job->packer, "pack", packer_main, job) == 0)
		return 0;
	(void)restore_stop(job->restore, errno);
	(void)unpack_join(job->unpack);
	return -1;
}

static void print_stats(struct job *job)
{
	struct stats stats = {
		.ring_size = job->opts->memory,
		.elapsed_ns = clock_ns() - job->started,
	};

	restore_count(job->restore, &stats.done);
	ring_count(job->ring, &stats.ring);
	stats_print(&stats);
}

/* Waits for the workers, or for a signal, which stops them. */
static int wait_and_join(struct job *job)
{
	int number = signals_wait();

	if (number != 0) {
		signals_close();	/* a second one kills at once */
		diag_hurry();
		(void)restore_stop(job->restore, EINTR);
	}
	if (unpack_join(job->unpack) != 0 && number == 0 &&
	    diag_status() < STATUS_STOPPED)
		diag_fail(STATUS_STOPPED, NULL, 0,
			  "the copy broke off before its end");
	gate_put_back(job->gate);
	if (ring_reason(job->ring) == 0) {
		thread_join(&job->packer);
		return number;
	}
	/* It holds nothing that has to be cleaned up, so it need not hold us. */
	references_cancel(job->refs);
	job->packer_stuck = !thread_join_within(&job->packer, PACKER_PATIENCE);
	return number;
}

static int job_copy(struct job *job)
{
	int number;

	if (make_ring(job) != 0)
		return 0;
	job->dst = spec_open_dst(&job->spec);
	if (job->dst < 0)
		return 0;
	job->umask = umask(0);
	umask(job->umask);
	job->started = clock_ns();
	(void)privileges_get();			/* before there are threads ... */
	(void)xattr_classify("user.none");	/* ... that ask at the same time */
	if (fstat(job->dst, &job->dst_st) != 0 || signals_open() != 0 ||
	    make_ends(job) != 0 || make_halves(job) != 0 ||
	    start_threads(job) != 0) {
		diag_fail(STATUS_STOPPED, job->spec.dst_shown, errno,
			  "setting up the run");
		return 0;
	}
	number = wait_and_join(job);
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
		do {
			walk_next(walk, &item);
			if (item.event == WALK_ENTRY || item.event == WALK_ENTER)
				diag_list(walk_path(walk));
		} while (item.event != WALK_END);
	}
	walk_free(walk);
	diag_list_end();
}

int job_run(const struct opts *opts)
{
	struct job job = { .opts = opts, .dst = -1 };
	int number = 0;

	if (spec_resolve(&job.spec, opts) != 0)
		return 0;
	budget_share(&job.budget, opts->jobs);
	if (opts->dry_run)
		job_list(&job);
	else
		number = job_copy(&job);
	diag_summary();
	job_destroy(&job);
	return job.packer_stuck && number == 0 ? JOB_LEFT_BEHIND : number;
}
