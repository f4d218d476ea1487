/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare: --compare, what differs between what a run would make and what is there.
 *
 * A tree, a stream or a list of files (see manifest.h) is held against DST, and each
 * difference is a line (see differ.h).  Writes nothing; what could not be read is told
 * and raises STATUS_PARTIAL.
 */
#ifndef TARPIPE_COMPARE_H
#define TARPIPE_COMPARE_H

#include "opts.h"

/* The run; returns JOB_LEFT_BEHIND or 0. */
int compare_run(const struct opts *opts);

#endif
