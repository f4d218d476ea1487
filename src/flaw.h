/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flaw: how a stream of ours says that a member is not what its source was.
 *
 * A header with the size goes out before the data.  When they can't be had to their end
 * after that, zeros take their place, so that all that follows stays where a reader looks for
 * it, and directly behind the member comes a pax global header, as seal.h has it, with
 * the record `comment=tarpipe 1 damaged=N`: from byte N on it could not be read; or
 * `comment=tarpipe 1 shrank=N`: it had N bytes left.  Other tars pass over both
 * without a word, and make a file with zeros.
 */
#ifndef TARPIPE_FLAW_H
#define TARPIPE_FLAW_H

#include <stdbool.h>
#include <stdint.h>

#include "seal.h"

enum { FLAW_SIZE = SEAL_SIZE };

struct flaw {
	bool shrank;		/* else it is damaged */
	uint64_t at;		/* first byte of the file that is not its own */
};

/* Fills `to`, FLAW_SIZE bytes. */
void flaw_encode(void *to, const struct flaw *flaw);

/* Whether these FLAW_SIZE bytes are one, to the last byte; fills *flaw then. */
bool flaw_decode(const void *bytes, struct flaw *flaw);

#endif
