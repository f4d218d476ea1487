/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path: paths as people type them, taken apart and written for a shell.
 *
 * Strings only, nothing looks at the disk.  A `stripped` path has no trailing
 * slashes, unless it is `/`.  What returns char * is on the heap, NULL with
 * ENOMEM.
 */
#ifndef TARPIPE_PATH_H
#define TARPIPE_PATH_H

#include <stdbool.h>

#include "text.h"

/* `.` or `..` */
bool path_is_dot(const char *name);

bool path_ends_with(const char *path, const char *tail);

/* A stripped copy; with `dots`, without trailing `/.` too. */
char *path_strip(const char *path, bool dots);

/* The last component of a stripped path, within it; of `/` that is `/`. */
const char *path_base(const char *path);

/* All before the last component of a stripped path, stripped; `.` if nothing is. */
char *path_parent(const char *path);

/* Whether a stripped path ends in a name, neither `.` nor `..`, nor is `/`. */
bool path_has_name(const char *path);

/*
 * What is left of a path without its first `n` components, within it; NULL when nothing
 * is.  A `.` counts as one, as with tar; slashes in front do not.
 */
const char *path_strip_components(const char *path, unsigned n);

/* dir/name */
char *path_join(const char *dir, const char *name);

/* Adds a word as a shell reads it back, whatever bytes it has ($'...' for some). */
void path_put_quoted(struct text *text, const char *word);

/* The same for an operand of a command, with exactly one trailing slash or none. */
void path_put_operand(struct text *text, const char *path, bool slash);

#endif
