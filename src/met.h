/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * met: paths that have come, to find those that have not.
 *
 * Holds 64 bits of each path's hash, under a seed of the run's own, so about 16 bytes a
 * path whatever its length.  That a path which has not come is taken for one that has is a
 * matter of one in 2^64 for each pair, and nobody can make it happen.
 */
#ifndef TARPIPE_MET_H
#define TARPIPE_MET_H

#include <stdbool.h>
#include <stddef.h>

struct met;

/* NULL with errno ENOMEM. */
struct met *met_new(void);
void met_free(struct met *met);

/*
 * A path has come (single slashes, none at its ends), and so have the directories it is
 * in.  0, or -1 with errno ENOMEM.
 */
int met_add(struct met *met, const char *path);

bool met_has(const struct met *met, const char *path);

#endif
