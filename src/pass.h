/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pass: blocks go from pipe to pipe by reference (splice), not copied.
 *
 * Only whole blocks are moved, so that who reads them finds blocks; and only while
 * nothing lies between the two pipes, so the order stays.  A destination that is
 * full is a matter for the ring, unless the pipes alone hold as much as the
 * ring would.  One thread at a time.
 */
#ifndef TARPIPE_PASS_H
#define TARPIPE_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pass {
	int in, out;
	int events;		/* an epoll of `in`; -1: can't be used */
	size_t block;
	size_t in_size;		/* what the pipe holds at most */
	bool patient;		/* waits for room itself */
	bool hung_up;		/* the input's writers are gone */
};

/*
 * Sees whether both are pipes; if not, pass_usable stays false.  `held` is what the ring
 * would hold, in bytes.  The descriptors stay the caller's.
 */
void pass_init(struct pass *pass, int in, int out, size_t block, uint64_t held);
void pass_destroy(struct pass *pass);

bool pass_usable(const struct pass *pass);

/*
 * Waits for whole blocks and moves them.  Returns the bytes moved; 0 when the next ones
 * have to be read (the end, a block that comes in parts, no room); -1 with
 * errno when the output failed, with what was moved before in *moved.
 */
ssize_t pass_move(struct pass *pass, size_t *moved);

#endif
