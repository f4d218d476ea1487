/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opts: what the user asked for.  Filled by cli_parse, const ever after; it
 * holds no state of a run.
 */
#ifndef TARPIPE_OPTS_H
#define TARPIPE_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

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

enum mode { MODE_COPY, MODE_CREATE, MODE_EXTRACT, MODE_LIST, MODE_COMPARE };

enum tar_format { TAR_PAX, TAR_GNU, TAR_USTAR };

enum filter_kind {
	FILTER_NONE,
	FILTER_GZIP,
	FILTER_ZSTD,
	FILTER_XZ,
	FILTER_LZ4,
	FILTER_BZIP2,
};

enum { TEES_MAX = 16 };

/* --exclude and -X, in the order they were given. */
struct choice {
	const char *text;	/* a pattern, or a file of patterns */
	bool file;
};

/* --read-ahead, if no number of helpers. */
enum read_ahead { READ_AHEAD_AUTO = -1, READ_AHEAD_OFF = 0 };

enum reflink { REFLINK_AUTO, REFLINK_ALWAYS, REFLINK_NEVER };

struct opts {
	enum mode mode;
	char **operands;	/* borrowed from argv, in order */
	int noperands;

	uint64_t memory;	/* ring size in bytes */
	unsigned fill;		/* -p: start mark, percent, 0..100 */
	unsigned low;		/* --low: low mark, percent, 0..100; 100 is off */
	unsigned jobs;		/* -j: restoring threads, 1..64 */
	int read_ahead;		/* helpers that read ahead, 1..64; or enum read_ahead */

	unsigned preserve;	/* enum preserve: what is kept */
	unsigned preserve_asked;	/* named by --preserve (fails loudly) */
	unsigned preserve_denied;	/* named by --no-preserve */
	bool names;		/* map owners by name */
	bool numeric;		/* --numeric-owner: -t shows numbers */

	enum reflink reflink;
	bool no_cache;		/* leave nothing in the page cache */
	bool keep;		/* -k: existing files stay */
	bool resume;		/* --continue: what is complete is left alone */
	bool unlink_first;	/* free the space of an old file first */
	bool keep_dirlink;	/* follow symlinks to directories in DST */

	unsigned verbose;	/* -v, counted */
	bool quiet;		/* -q: only errors */
	unsigned modify_window;	/* --compare: seconds that times may differ by */
	const char *manifest;	/* --manifest: a list of files, or NULL */
	bool dry_run;		/* -n */
	bool sync;		/* --sync: all is on the disk at the end */
	bool verify;		/* --verify: what was written is read back */
	bool stats;		/* --stats */

	/* Streams: -c, -x, -t. */
	const char *file;	/* -f; NULL or `-`: the standard stream */
	const char *directory;	/* -C, or NULL */
	size_t block;		/* -s, -b: bytes of every read and write */
	bool block_given;
	uint64_t read_rate, write_rate;	/* bytes a second, 0: any number */
	const char *tees[TEES_MAX];	/* further outputs of -c */
	int ntees;
	enum hash_kind hash;	/* of the bytes as they are written or read */
	enum tar_format format;
	enum filter_kind filter;	/* -c: compress so */
	int level;		/* ... at this level, -1: the kind's default */
	bool to_stdout;		/* -x: the files' bytes go to standard output */
	bool ignore_zeros;	/* streams one after the other */

	/* Choosing. */
	struct choice *choices;	/* excludes; owned by the command line */
	size_t nchoices;
	bool one_fs;		/* --one-file-system */
	const char *files_from;	/* -T: a list of names, or NULL */
	bool null;		/* names in lists end in NUL */
	unsigned strip;		/* leading components that are cut off */
};

#endif
