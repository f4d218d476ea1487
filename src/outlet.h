/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outlet: the byte sink of a run: what is in the ring goes to standard output, a file, a
 * pipe, a device or a tape, in blocks of opts->block, and to the further outputs of
 * --tee.  Runs in one thread.
 *
 * A regular or new file is written beside its name and gets it when it is complete.
 */
#ifndef TARPIPE_OUTLET_H
#define TARPIPE_OUTLET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "opts.h"
#include "ring.h"

struct outlet;

/*
 * May wait for the other side of a FIFO, or for a drive.  Opens opts->file (NULL or `-`: standard output) and the tees.  A terminal and what
 * can't be opened are refused: NULL after a message, with STATUS_USAGE or STATUS_STOPPED.
 */
struct outlet *outlet_open(const struct opts *opts);

/* Frees it; an output that was not finished is removed, its old content stays. */
void outlet_free(struct outlet *outlet);

/* Whether the file of this device and inode is one that this outlet writes. */
bool outlet_is(const struct outlet *outlet, const struct stat *st);

/*
 * Writes all that comes out of the ring.  On failure of the main output it is told with
 * the number of bytes that are safely out, and the ring is aborted; a tee that fails is
 * told (STATUS_PARTIAL) and left out from then on.  EPIPE after `outlet_marks` bytes is no
 * error.  Where it is one, and SIGPIPE is not ignored, nothing is told: the signal is
 * delivered before this returns, whatever its action is.
 */
void outlet_run(struct outlet *outlet, struct ring *ring);

/* From so many bytes on a reader may go: they hold the end marks.  Any thread. */
void outlet_marks(struct outlet *outlet, uint64_t bytes);

/*
 * After the run, the source being complete: syncs, closes, names the file; each failure
 * told, STATUS_STOPPED.  Prints the sum of --hash.  0 or -1.
 */
int outlet_finish(struct outlet *outlet);

/* Any thread. */
uint64_t outlet_bytes(const struct outlet *outlet);

#endif
