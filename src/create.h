/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create: -c: a tree goes through the tar encoder and the ring to the outlet.
 */
#ifndef TARPIPE_CREATE_H
#define TARPIPE_CREATE_H

#include "opts.h"

/* As job_run. */
int create_run(const struct opts *opts);

#endif
