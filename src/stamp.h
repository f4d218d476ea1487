/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stamp: by what a file that is there is known to be the one that is meant, its bytes
 * unread: type, size and mtime, this one as far as the file system can hold it.
 *
 * A time is cut down to a multiple of the file system's grain when it is set (2 s on FAT,
 * 10 ms on exFAT, 100 ns on NTFS, 1 s on ext3 and in small inodes of ext4).  Where its kind
 * doesn't tell the grain the file itself does: its ctime, which nobody can set, has
 * digits below a second by chance in one of a thousand million cases.
 */
#ifndef TARPIPE_STAMP_H
#define TARPIPE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "meta.h"

/* The last file system that was asked about.  Starts zeroed; used by one thread. */
struct stamp_fs {
	bool known;
	dev_t dev;
	uint32_t type;
};

/*
 * The grain in ns of times on the file system of `st`, of which `fd` is an open file or
 * handle; `st` is the stat of a regular file there.
 */
uint32_t stamp_grain(struct stamp_fs *fs, int fd, const struct stat *st);

/* `have` is what becomes of `want` where times have that grain. */
bool stamp_time_fits(const struct timespec *want, const struct timespec *have,
		     uint32_t grain);

/* What the file system says was at `when` was before `then`. */
bool stamp_is_before(const struct timespec *when, const struct timespec *then,
		     uint32_t grain);

/* Type, size and mtime are those that are meant. */
bool stamp_fits(const struct meta *want, const struct stat *have,
		uint32_t grain);

#endif
