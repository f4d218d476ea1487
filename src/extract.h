/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extract: -x: the intake's bytes go through the ring and the tar decoder to the workers.
 */
#ifndef TARPIPE_EXTRACT_H
#define TARPIPE_EXTRACT_H

#include "opts.h"

/* As job_run. */
int extract_run(const struct opts *opts);

#endif
