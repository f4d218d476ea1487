/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opts: what the user asked for.  Filled by cli_parse, const ever after; it
 * holds no state of a run.
 */
#ifndef TARPIPE_OPTS_H
#define TARPIPE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

/* The parts of --preserve, as bits. */
enum preserve {
	PRESERVE_MODE = 1 << 0,
	PRESERVE_OWNER = 1 << 1,
	PRESERVE_TIMES = 1 << 2,
	PRESERVE_LINKS = 1 << 3,
	PRESERVE_HOLES = 1 << 4,
	PRESERVE_XATTR = 1 << 5,
	PRESERVE_ACL = 1 << 6,
	PRESERVE_SPECIAL = 1 << 7,
	PRESERVE_ROOT = 1 << 8,
	PRESERVE_ALL = (1 << 9) - 1,
};

enum reflink { REFLINK_AUTO, REFLINK_ALWAYS, REFLINK_NEVER };

struct opts {
	char **operands;	/* borrowed from argv, in order */
	int noperands;

	uint64_t memory;	/* ring size in bytes */
	unsigned fill;		/* -p: start mark, percent, 0..100 */
	unsigned low;		/* --low: low mark, percent, 0..100; 100 is off */
	unsigned jobs;		/* -j: restoring threads, 1..64 */

	unsigned preserve;	/* enum preserve: what is kept */
	unsigned preserve_asked;	/* named by --preserve (fails loudly) */
	unsigned preserve_denied;	/* named by --no-preserve */
	bool names;		/* map owners by name */

	enum reflink reflink;
	bool keep;		/* -k: existing files stay */
	bool unlink_first;	/* free the space of an old file first */
	bool keep_dirlink;	/* follow symlinks to directories in DST */

	unsigned verbose;	/* -v, counted */
	bool quiet;		/* -q: only errors */
	bool dry_run;		/* -n */
	bool stats;		/* --stats */
};

#endif
