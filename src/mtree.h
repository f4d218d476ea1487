/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mtree: lists of files as mtree(5) describes them, read entry by entry; those of mtree(8)
 * (with names that are relative to the last directory) and of bsdtar, too.
 *
 * Holds a line and the path of a directory.  One thing is our own: the comment
 *
 *     #hardlink NAME
 *
 * says that the entry behind it is one file with that name.  Used by one thread.
 */
#ifndef TARPIPE_MTREE_H
#define TARPIPE_MTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"
#include "differ.h"
#include "sha256.h"

/* What the list says of a name. */
struct mtree_entry {
	const char *path;		/* as the list has it, decoded */
	struct want want;
	bool has_type;
	const char *target;		/* of a symlink, decoded; or NULL */
	const char *hardlink;		/* decoded, or NULL */
	uint64_t nlink;			/* 0: not said */
	bool has_digest;
	unsigned char digest[SHA256_SIZE];
	bool optional;			/* it need not be there */
};

struct mtree;

/* Opens a list; `-` is standard input.  NULL with errno. */
struct mtree *mtree_open(const char *file);

/*
 * The next entry, valid until the next call.  1; 0 at the end; -1 when the list can't be
 * read further: errno (EILSEQ: it has a NUL).  Entries that can't be understood are told
 * (STATUS_PARTIAL) and left out.
 */
int mtree_next(struct mtree *mtree, struct mtree_entry *entry);

/* Accepts NULL. */
void mtree_close(struct mtree *mtree);

/*
 * Adds a name to a list's line, encoded: what is no plain character becomes \ooo.  0, or -1
 * without memory.
 */
int mtree_put_name(struct bytes *line, const char *name);

/* Decodes a word in place. */
void mtree_decode(char *word);

#endif
