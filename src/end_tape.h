/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end_tape: records on a tape (or whatever answers MTIOCGET): every write is one
 * record, every read gives one, a filemark ends the file.  See st(4).
 *
 * Neither opens nor prints; used by one thread.
 */
#ifndef TARPIPE_END_TAPE_H
#define TARPIPE_END_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TAPE_RECORD_MOST = 16 << 20 };	/* the largest record that is looked for */

/* The descriptor answers as a tape drive does. */
bool tape_is(int fd);

/*
 * The drive's fixed block size, 0 when records have any size (the usual), -1 with errno.
 */
int64_t tape_block(int fd);

/*
 * Reads one record.  Returns its length; 0 at the filemark; -1 with errno: ENOMEM when the
 * record is larger than `size`: the tape has been put back before it where the drive can
 * (*again is true: call again with more room), else it is lost.  EINTR is handled.
 */
ssize_t tape_read(int fd, void *to, size_t size, bool *again);

/*
 * Writes one record.  Returns 0, or -1 with errno: ENOSPC at the end of the medium, also
 * where a drive says it by a write of 0 bytes; EIO also for a short write, since a record
 * is whole or not there.
 */
int tape_write(int fd, const void *record, size_t size);

/*
 * Puts the tape back before the filemark that the last read met.  0, or -1 with errno.
 */
int tape_unmark(int fd);

#endif
