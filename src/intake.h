/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intake: the byte source of a run: standard input, a file, a pipe, a device or a tape
 * goes into the ring, decompressed when its first bytes say that it is compressed, so
 * that the ring holds tar bytes.  Runs in one thread.
 */
#ifndef TARPIPE_INTAKE_H
#define TARPIPE_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "opts.h"
#include "ring.h"

struct intake;

/*
 * May wait for the other side of a FIFO, or for a drive.  Opens opts->file (NULL or `-`: standard input) for the ring of `opts->block`'d reads.
 * A terminal, a directory, what can't be opened are refused: NULL after a message, with
 * STATUS_USAGE or STATUS_STOPPED.
 */
struct intake *intake_open(const struct opts *opts);
void intake_free(struct intake *intake);

/* The stream's name for messages. */
const char *intake_shown(const struct intake *intake);

/* It is a tape: reading ends at the filemark, and nothing is drained. */
bool intake_is_tape(const struct intake *intake);

/*
 * Reads all of it into the ring and closes the ring; on failure it is told (once, with
 * the number of bytes read), the ring is closed too (what came is still of use), and
 * intake_failed is true ever after.  Says the sum of --hash, of the bytes as they were
 * read, at the end of the input.  After an abort of the ring it goes on reading a pipe
 * to its end, throwing away, when `drain` (its writer must not die of SIGPIPE).
 */
void intake_run(struct intake *intake, struct ring *ring, bool drain);

/* After the run, or beside it (any thread). */
bool intake_failed(const struct intake *intake);
uint64_t intake_bytes(const struct intake *intake);	/* as read, compressed */

#endif
