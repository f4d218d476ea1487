/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list: -t and --to-stdout: the members of a stream, as lines or as bytes.
 */
#ifndef TARPIPE_LIST_H
#define TARPIPE_LIST_H

#include "opts.h"

/* As job_run. */
int list_run(const struct opts *opts);

#endif
