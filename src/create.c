/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for whom
 *
 *   walk, pack ==> tar bytes, compressed or not (ring) ==> outlet
 *
 * The outlet is the last to end: when the packer has closed the ring, or when it can't
 * write and aborts the ring itself.  The file gets its name when both are through.
 */
#include "create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "diag.h"
#include "job.h"
#include "manifest.h"
#include "meta.h"
#include "names.h"
#include "outlet.h"
#include "pack.h"
#include "ring.h"
#include "select.h"
#include "signals.h"
#include "spec.h"
#include "stats.h"
#include "thread.h"

enum {
	SPANS = 8,		/* the outlet holds one */
	BATCH = 256 << 10,	/* bytes of a write, as far as they come at once */
	PATIENCE = 300,		/* ms, for a thread that was told to stop */
};

struct create {
	const struct opts *opts;
	struct spec spec;
	struct budget budget;
	int dir;		/* -C, or AT_FDCWD */

	struct select *select;
	struct names *names;	/* -T, or NULL */
	struct outlet *outlet;
	struct ring *ring;
	struct pack *pack;
	struct manifest *manifest;	/* or NULL */

	struct thread packer, writer;
	bool whole;		/* the packer came to its end */
	bool stuck;		/* a thread is in a call that takes its time */
	uint64_t started;
};

static void create_destroy(struct create *create)
{
	pack_free(create->pack);
	manifest_close(create->manifest, false);
	ring_free(create->ring);
	outlet_free(create->outlet);
	names_close(create->names);
	select_free(create->select);
	signals_close();
	if (create->dir >= 0)
		close(create->dir);
	spec_destroy(&create->spec);
	free(create);
}

/* ---- making the parts ---- */

static int open_directory(struct create *create)
{
	const char *name = create->opts->directory;

	create->dir = AT_FDCWD;
	if (!name)
		return 0;
	create->dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (create->dir >= 0)
		return 0;
	diag_fail(STATUS_USAGE, name, errno, "open");
	return -1;
}

/* The names of -T lie below the top, which is no member itself. */
static int add_list(struct create *create)
{
	struct spec_root *root = &create->spec.roots[create->spec.nroots];

	if (!create->names)
		return 0;
	root->path = strdup(".");
	create->spec.nroots++;
	return root->path ? 0 : -1;
}

static int choose(struct create *create)
{
	create->select = select_from_opts(create->opts, false, NULL, 0);
	if (!create->select || names_from_opts(&create->names, create->opts) != 0)
		return -1;
	return add_list(create);
}

static bool is_output(void *arg, const struct stat *st)
{
	const struct create *create = arg;

	return outlet_is(create->outlet, st);
}

/* `-c -f FILE FILE` would leave an empty archive in the place of what was there. */
static int check_output(const struct create *create)
{
	const struct spec *spec = &create->spec;
	struct stat st;

	for (size_t i = 0; i < spec->nroots; i++)
		if (stat(spec->roots[i].path, &st) != 0 ||
		    !outlet_is(create->outlet, &st))
			return 0;
	if (spec->nroots == 0)
		return 0;
	diag_fail(STATUS_USAGE, create->opts->file, 0,
		  "is the archive, and nothing else is to be packed");
	return -1;
}

static void marks(void *arg, uint64_t bytes)
{
	const struct create *create = arg;

	outlet_marks(create->outlet, bytes);
}

static int make_pack(struct create *create)
{
	const struct opts *opts = create->opts;
	struct pack_config config = {
		.opts = opts,
		.ring = create->ring,
		.manifest = create->manifest,
		.walk = {
			.fds = create->budget.walk,
			.stay = opts->one_fs,
			.wanted = select_is_empty(create->select) ? NULL :
								    select_hook,
			.wanted_arg = create->select,
			.strip = opts->strip,
		},
		.ahead = create->budget.ahead,
		.tar = true,
		.format = opts->format,
		.filter = opts->filter,
		.level = opts->level,
		.threads = opts->jobs,
		.marks = marks,
		.is_output = is_output,
		.arg = create,
	};

	create->pack = pack_new(&config);
	if (create->pack && (create->names || spec_overlaps(&create->spec)))
		pack_again(create->pack);
	return create->pack ? 0 : -1;
}

static int make_ring(struct create *create)
{
	struct ring_config config = job_ring_config(create->opts, SPANS);

	config.batch = BATCH;
	create->ring = job_ring(&config);
	return create->ring ? 0 : -1;
}

/* ---- running ---- */

/* Returns 0, or -1 when the ring was aborted. */
static int pack_roots(struct create *create)
{
	const struct spec *spec = &create->spec;

	for (size_t i = 0; i < spec->nroots; i++) {
		const struct spec_root *root = &spec->roots[i];
		bool listed = create->names && i == spec->nroots - 1;

		pack_list(create->pack, listed ? create->names : NULL);
		if (pack_root(create->pack, root->path, root->as, root->follow,
			      false) != 0)
			return -1;
	}
	return 0;
}

static void packer_main(void *arg)
{
	struct create *create = arg;

	create->whole = pack_roots(create) == 0 &&
			pack_finish(create->pack) == 0;
}

static void writer_main(void *arg)
{
	struct create *create = arg;

	outlet_run(create->outlet, create->ring);
	signals_done();
}

static int start_threads(struct create *create)
{
	if (thread_start(&create->writer, "write", writer_main, create) != 0)
		return -1;
	if (thread_start(&create->packer, "pack", packer_main, create) == 0)
		return 0;
	ring_abort(create->ring, errno);
	thread_join(&create->writer);
	return -1;
}

/* Waits for the writer, or for a signal, which stops all and is returned. */
static int wait_and_join(struct create *create)
{
	int number = signals_wait();

	if (number != 0) {
		signals_hurry(number);
		diag_hurry();
		ring_abort(create->ring, EINTR);
	}
	if (ring_reason(create->ring) == 0) {
		thread_join(&create->writer);
		thread_join(&create->packer);
		create->stuck = !pack_stop(create->pack, PATIENCE);
		return number;
	}
	create->stuck = !thread_join_within(&create->writer, PATIENCE) ||
			!thread_join_within(&create->packer, PATIENCE) ||
			!pack_stop(create->pack, PATIENCE);
	return number;
}

static void print_stats(struct create *create)
{
	struct stats stats = {
		.ring_size = create->opts->memory,
		.elapsed_ns = clock_ns() - create->started,
		.helpers = pack_helpers(create->pack),
	};

	pack_count(create->pack, &stats.done.entries, &stats.done.bytes);
	ring_count(create->ring, &stats.ring);
	stats_print(&stats);
}

static int create_all(struct create *create)
{
	int number;

	if (create->dir >= 0 && fchdir(create->dir) != 0) {
		diag_fail(STATUS_STOPPED, create->opts->directory, errno, "fchdir");
		return 0;
	}
	if (check_output(create) != 0 || make_ring(create) != 0)
		return 0;
	create->started = clock_ns();
	(void)privileges_get();			/* before there are threads ... */
	(void)xattr_classify("user.none");	/* ... that ask at the same time */
	if (signals_open() != 0 || make_pack(create) != 0 ||
	    start_threads(create) != 0) {
		diag_fail(STATUS_STOPPED, NULL, errno, "setting up the run");
		return 0;
	}
	number = wait_and_join(create);
	if (number != 0 || create->stuck)
		return number;
	if (create->whole && ring_reason(create->ring) == 0)
		(void)outlet_finish(create->outlet);
	if (create->manifest)
		signals_default();	/* it may take its time */
	manifest_close(create->manifest,
		       create->whole && diag_status() < STATUS_STOPPED);
	create->manifest = NULL;
	if (create->opts->verbose > 0)
		diag_list_end();
	if (create->opts->stats)
		print_stats(create);
	return 0;
}

/* Its name is relative to where the user is, not to -C. */
static int begin_list(struct create *create)
{
	const struct opts *opts = create->opts;

	if (opts->manifest)
		create->manifest = manifest_open(opts->manifest, opts->preserve);
	return opts->manifest && !create->manifest ? -1 : 0;
}

/* Opens the ends, and runs. */
static int create_go(struct create *create)
{
	const struct opts *opts = create->opts;

	if (spec_resolve_create(&create->spec, opts, create->dir) != 0 ||
	    choose(create) != 0)
		return 0;
	budget_share(&create->budget, opts->jobs, true, false, 0);
	create->outlet = outlet_open(opts);
	if (!opts->file || strcmp(opts->file, "-") == 0)
		diag_list_beside();
	if (!create->outlet || begin_list(create) != 0)
		return 0;
	return create_all(create);
}

int create_run(const struct opts *opts)
{
	struct create *create = calloc(1, sizeof(*create));	/* who is stuck uses it on */
	int number = 0;

	if (!create) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return 0;
	}
	create->opts = opts;
	create->dir = -1;
	if (spec_check_stream(opts) == 0 && open_directory(create) == 0) {
		number = create_go(create);
		diag_summary();
	}
	if (create->stuck)
		return number == 0 ? JOB_LEFT_BEHIND : number;
	create_destroy(create);
	return number;
}
