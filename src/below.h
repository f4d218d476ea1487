/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * below: a path that somebody else wrote, looked up below a directory and never
 * outside: no `..`, no symlink on the way, whatever others rename meanwhile.
 */
#ifndef TARPIPE_BELOW_H
#define TARPIPE_BELOW_H

#include <stdbool.h>

/*
 * Opens the directory that the last component of `path` is in.  Returns a descriptor
 * (O_PATH) that the caller closes, and in *last the component, within `path`; -1 with
 * errno: EINVAL for an absolute path, an empty one, or one with `.` or `..` or an empty
 * component; ELOOP or ENOTDIR where the way leads through a symlink or a file.
 * With `follow` symlinks to directories on the way are followed, wherever they lead:
 * for who asked for that (--keep-directory-symlink).
 */
int below_open(int root, const char *path, bool follow, const char **last);

#endif
