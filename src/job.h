/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job: one run.  Picks the source and the sink, starts their threads, waits, and
 * joins what became of them.  The only room that sees both halves.
 */
#ifndef TARPIPE_JOB_H
#define TARPIPE_JOB_H

#include "opts.h"
#include "ring.h"

/*
 * Runs what the options ask for.  All failures are told by diag, whose status is the
 * run's.  Returns 0; or the number of the signal that the process has to die of; or
 * JOB_LEFT_BEHIND when a thread is stuck in a call and the process has to end without
 * waiting for it (_exit).
 */
enum { JOB_LEFT_BEHIND = -1 };

int job_run(const struct opts *opts);

/* What the options say of a ring of which `spans` are held at one time. */
struct ring_config job_ring_config(const struct opts *opts, unsigned spans);

/* A ring for a run.  NULL after a message, STATUS_STOPPED. */
struct ring *job_ring(const struct ring_config *config);

#endif
