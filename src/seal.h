/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seal: how a stream of ours says that it is whole.
 *
 * At its head stands a pax global header with the record `comment=tarpipe 1`; directly
 * after the two zero blocks that end the archive a second one,
 * `comment=tarpipe 1 entries=N bytes=N xxh3=HEX16`: the members, and the length and
 * XXH3 (64 bits) of all bytes from the head to the end marks, both included.  Other
 * tars pass over both without a word.
 */
#ifndef TARPIPE_SEAL_H
#define TARPIPE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_SIZE = 1024 };	/* a header block and a block with its record */

struct seal {
	uint64_t entries, bytes, sum;
};

/* Fills `to`, SEAL_SIZE bytes: a pax global header with this comment, at most 127 bytes. */
void seal_comment(void *to, const char *words);

/* Fills `to`, SEAL_SIZE bytes: the head, or with `seal` the trailer. */
void seal_encode(void *to, const struct seal *seal);

enum seal_kind { SEAL_NONE, SEAL_HEAD, SEAL_TRAILER };

/* What these SEAL_SIZE bytes are; fills *seal from a trailer. */
enum seal_kind seal_decode(const void *bytes, struct seal *seal);

#endif
