/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink: the restoring half as a run has it, for tests: ring, gate, inodes, restore and
 * what belongs to them, with "dst" as the destination.
 */
#ifndef TARPIPE_SINK_H
#define TARPIPE_SINK_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "inodes.h"
#include "meta.h"
#include "opts.h"
#include "owner.h"
#include "restore.h"
#include "ring.h"
#include "unpack.h"
#include "verify.h"

struct sink {
	struct opts opts;
	unsigned workers;
	unsigned fds;		/* directories of the gate */
	size_t memory;
	bool ordered;		/* names may come again */
	void (*release)(void *hold);	/* of SPANs */
	struct ring *ring;
	struct references *refs;
	struct owners *owners;
	struct gate *gate;
	struct inodes *inodes;
	struct restore *restore;
	bool verify;		/* files are verified ... */
	struct verify *verifying;	/* ... by this, which the test closes and joins */
	int root;
};

static inline void sink_nobody(void *arg)
{
	(void)arg;
}

static inline void sink_verify(struct sink *sink)
{
	const struct verify_config config = { .gate = sink->gate, .fds = 8,
					      .done = sink_nobody };

	sink->verifying = NULL;
	if (!sink->verify)
		return;
	sink->verifying = verify_new(&config);
	if (!sink->verifying || verify_start(sink->verifying) != 0)
		abort();
}

/* What a user gets who asks for nothing. */
static inline void sink_defaults(struct sink *sink)
{
	*sink = (struct sink){
		.opts = { .preserve = PRESERVE_ALL, .reflink = REFLINK_NEVER },
		.workers = 1,
		.fds = 16,
		.memory = 1 << 20,
		.root = -1,
	};
}

/* Opens it onto "dst", which is there. */
static inline void sink_open(struct sink *sink)
{
	struct ring_config ring = { .size = sink->memory, .low = 100,
				    .spans = unpack_spans(sink->workers) };
	struct gate_config gate = {
		.root = open("dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.shown = "dst",
		.fds = sink->fds,
		.keep = sink->opts.keep,
		.keep_dirlink = sink->opts.keep_dirlink,
		.ordered = sink->ordered,
	};
	struct restore_config restore = { .opts = &sink->opts, .umask = 022,
					  .workers = sink->workers,
					  .release = sink->release };

	/* As a run does, before there are threads that ask at the same time. */
	(void)privileges_get();
	(void)xattr_classify("user.none");
	sink->root = gate.root;
	restore.ring = sink->ring = ring_new(&ring);
	restore.refs = sink->refs = references_new(sink->opts.reflink, 4);
	restore.owners = sink->owners = owners_new();
	restore.gate = sink->gate = gate_new(&gate);
	restore.inodes = sink->inodes = inodes_new(sink->gate);
	sink_verify(sink);
	restore.verify = sink->verifying;
	sink->restore = restore_new(&restore);
}

static inline void sink_close(struct sink *sink)
{
	restore_free(sink->restore);
	verify_free(sink->verifying);
	inodes_free(sink->inodes);
	gate_free(sink->gate);
	owners_free(sink->owners);
	references_free(sink->refs);
	ring_free(sink->ring);
	close(sink->root);
}

/* Starts to unpack what comes through the ring. */
static inline struct unpack *sink_unpack(struct sink *sink)
{
	struct unpack_config config = {
		.ring = sink->ring,
		.gate = sink->gate,
		.inodes = sink->inodes,
		.owners = sink->owners,
		.restore = sink->restore,
		.workers = sink->workers,
	};

	return unpack_start(&config);
}

#endif
