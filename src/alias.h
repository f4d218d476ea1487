/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alias: do names that share an inode in one tree share one in the other, and no more?
 *
 * Pairs of names come one after the other, each with what it is in either tree.  Only
 * inodes with several names whose names have not all come are remembered.  Used by
 * one thread.
 */
#ifndef TARPIPE_ALIAS_H
#define TARPIPE_ALIAS_H

#include <sys/stat.h>

#include "opts.h"

struct alias;

/* NULL with errno ENOMEM. */
struct alias *alias_new(void);
void alias_free(struct alias *alias);

/* Names may come more than once (see links_again). */
void alias_again(struct alias *alias);

/* Another pair; what differs is told (see differ_say). */
void alias_meet(struct alias *alias, const struct opts *opts, const char *name,
		const struct stat *one, const struct stat *other);

#endif
