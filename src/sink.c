/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink.h"

#include <errno.h>
#include <sys/stat.h>

#include "meta.h"
#include "thread.h"

/* Before the first write. */
static int make_syncs(struct sink *sink)
{
	struct stat st;

	if (!sink->config.opts->sync)
		return 0;
	sink->syncs = syncs_new();
	return sink->syncs && fstat(sink->config.dst, &st) == 0 ?
		       syncs_meet(sink->syncs, sink->config.dst, st.st_dev) :
		       -1;
}

static int make_places(struct sink *sink)
{
	const struct sink_config *config = &sink->config;
	struct gate_config gate = {
		.root = config->dst,
		.shown = config->shown,
		.fds = config->budget->gate,
		.fresh = config->fresh,
		.widen = config->widen,
		.keep = config->opts->keep,
		.keep_dirlink = config->opts->keep_dirlink,
		.ordered = config->ordered,
		.syncs = sink->syncs,
	};

	sink->refs = references_new(config->opts->reflink,
				    config->budget->references);
	if (sink->refs && config->opts->no_cache)
		references_clone_only(sink->refs);
	sink->owners = owners_new();
	sink->gate = gate_new(&gate);
	sink->inodes = sink->gate ? inodes_new(sink->gate) : NULL;
	return sink->refs && sink->owners && sink->inodes ? 0 : -1;
}

static void verify_stops(void *arg, int reason)
{
	sink_stop(arg, reason);
}

static void verify_done(void *arg)
{
	const struct sink *sink = arg;

	if (sink->config.done)
		sink->config.done(sink->config.done_arg);
}

static int make_verify(struct sink *sink)
{
	struct verify_config verify = {
		.gate = sink->gate,
		.fds = sink->config.budget->verify,
		.stop = verify_stops,
		.done = verify_done,
		.arg = sink,
	};

	if (!sink->config.opts->verify)
		return 0;
	sink->verify = verify_new(&verify);
	return sink->verify ? 0 : -1;
}

int sink_make(struct sink *sink, const struct sink_config *config)
{
	sink->config = *config;
	(void)privileges_get();			/* before there are threads ... */
	(void)xattr_classify("user.none");	/* ... that ask at the same time */
	if (make_syncs(sink) != 0 || make_places(sink) != 0 ||
	    make_verify(sink) != 0)
		return -1;
	struct restore_config restore = {
		.opts = config->opts,
		.ring = config->ring,
		.gate = sink->gate,
		.inodes = sink->inodes,
		.refs = sink->refs,
		.owners = sink->owners,
		.verify = sink->verify,
		.umask = config->umask,
		.workers = config->budget->workers,
		.release = config->release,
	};
	sink->restore = restore_new(&restore);
	return sink->restore ? 0 : -1;
}

/* When nobody is left who makes anything, what was made may still have to be verified. */
static void hand_done(struct sink *sink)
{
	if (count_add(&sink->hands_done, 1) == sink->hands)
		verify_close(sink->verify);
}

static void workers_done(void *arg)
{
	hand_done(arg);
}

void sink_helped(struct sink *sink)
{
	if (sink->verify && sink->hands > 1)
		hand_done(sink);
}

int sink_start(struct sink *sink)
{
	unsigned workers = sink->config.budget->workers;
	bool help = sink->config.help && workers > 1;
	struct unpack_config unpack = {
		.ring = sink->config.ring,
		.gate = sink->gate,
		.inodes = sink->inodes,
		.owners = sink->owners,
		.restore = sink->restore,
		.workers = help ? workers - 1 : workers,
		.help = help,
		.done = sink->config.done,
		.done_arg = sink->config.done_arg,
	};

	sink->hands = help ? 2 : 1;
	if (sink->verify) {
		unpack.done = workers_done;
		unpack.done_arg = sink;
		if (verify_start(sink->verify) != 0)
			return -1;
	}
	sink->unpack = unpack_start(&unpack);
	if (!sink->unpack && sink->verify) {
		int err = errno;

		verify_close(sink->verify);
		(void)verify_join(sink->verify);
		errno = err;
	}
	return sink->unpack ? 0 : -1;
}

void sink_stop(struct sink *sink, int reason)
{
	(void)restore_stop(sink->restore, reason);
}

int sink_join(struct sink *sink)
{
	int got = unpack_join(sink->unpack);

	sink->unpack = NULL;
	gate_put_back(sink->gate);
	if (sink->verify) {
		verify_close(sink->verify);
		sink->stuck = !verify_join(sink->verify);
	}
	return got;
}

void sink_sync(struct sink *sink)
{
	if (sink->syncs)
		syncs_finish(sink->syncs, sink->config.shown);
}

void sink_destroy(struct sink *sink)
{
	verify_free(sink->verify);
	restore_free(sink->restore);
	inodes_free(sink->inodes);
	gate_free(sink->gate);
	owners_free(sink->owners);
	references_free(sink->refs);
	syncs_free(sink->syncs);
	*sink = (struct sink){ 0 };
}
