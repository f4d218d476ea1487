/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nameset: paths that were named, however many, and whether a path is one or below one.
 *
 * Takes the time of a path's length, not of the number of names.  Paths have single
 * slashes, none at their ends.
 */
#ifndef TARPIPE_NAMESET_H
#define TARPIPE_NAMESET_H

#include <stdbool.h>

struct nameset;

/* NULL with errno ENOMEM. */
struct nameset *nameset_new(void);
void nameset_free(struct nameset *set);

/* Adds a path, once more or for the first time.  0, or -1 with errno ENOMEM. */
int nameset_add(struct nameset *set, const char *path);

/* The path, or a directory it is in, was added.  All those are met from then on. */
bool nameset_covers(struct nameset *set, const char *path);

/* An added path was met. */
bool nameset_met(const struct nameset *set, const char *path);

#endif
