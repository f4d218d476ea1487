/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ: what a name of the destination is, against what it ought to be.
 *
 * Each difference is one line on standard output, escaped like every name there, and
 * raises STATUS_CHANGED:
 *
 *     NAME: missing
 *     NAME: extra
 *     NAME: ASPECT: what it ought to be became what it is
 *
 * Used by one thread.
 */
#ifndef TARPIPE_DIFFER_H
#define TARPIPE_DIFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "meta.h"
#include "opts.h"

/* What is known of how it ought to be, as bits. */
enum want_part {
	WANT_MODE = 1 << 0,
	WANT_UID = 1 << 1,
	WANT_GID = 1 << 2,
	WANT_MTIME = 1 << 3,
	WANT_SIZE = 1 << 4,	/* of a regular file */
	WANT_DEVICE = 1 << 5,
	WANT_ALL = (1 << 6) - 1,
};

/* What a name ought to be; the type always counts. */
struct want {
	struct meta meta;
	unsigned known;		/* enum want_part */
};

/* Tells a difference of a name: the line is `NAME: WHAT`. */
void differ_say(const struct opts *opts, const char *name, const char *what, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Tells that something could not be read, so that nobody knows: a message, and
 * STATUS_PARTIAL.
 */
void differ_fail(const char *name, int err, const char *call);

/* The type in words, of an st_mode. */
const char *differ_type(uint32_t mode);

/* Has the name the type that it ought to have?  Told when not. */
bool differ_same_type(const struct opts *opts, const char *name, uint32_t wanted,
		      const struct stat *st);

/*
 * Mode, owner, times and device numbers, as far as they are known and the options keep
 * them.  The types are the same.
 */
void differ_meta(const struct opts *opts, const char *name,
		 const struct want *want, const struct stat *st);

/* A symlink's targets. */
void differ_target(const struct opts *opts, const char *name, const char *wanted,
		   const char *found);

/*
 * Is the size right?  Told when not.  That of what is no regular file, or not known, is
 * always.
 */
bool differ_same_size(const struct opts *opts, const char *name,
		      const struct want *want, const struct stat *st);

/*
 * A file with `wanted` bytes of data and holes between them has `found` bytes of data:
 * are its holes lost?  A quarter and 64 KiB more are no loss, because file systems
 * round.  Told when they are.
 */
bool differ_too_dense(uint64_t wanted, uint64_t found);
void differ_holes(const struct opts *opts, const char *name, uint64_t wanted,
		  uint64_t found);

#endif
