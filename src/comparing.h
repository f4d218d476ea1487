/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comparing: what the rooms of --compare (compare.c, comparetree.c and the like) share,
 * and nobody else.  Used by one thread.
 */
#ifndef TARPIPE_COMPARING_H
#define TARPIPE_COMPARING_H

#include <stdbool.h>
#include <sys/stat.h>

#include "alias.h"
#include "attrs.h"
#include "budget.h"
#include "bytes.h"
#include "differ.h"
#include "met.h"
#include "opts.h"
#include "parts.h"
#include "samefile.h"
#include "select.h"

struct compare {
	const struct opts *opts;	/* borrowed */
	struct select *select;		/* excludes */
	struct budget budget;
	int dst;			/* the destination directory, or -1 */
	const char *shown;		/* ... its name for messages; borrowed */
	struct attrs wanted, found;
	struct samefile_room room;
	struct alias *alias;
	struct bytes where;

	/* comparefind.c: of who has paths, not directories */
	struct met *met;		/* that have come */
	struct parts path;		/* the one at hand */
	struct bytes dir_path;		/* the directory that is open as: */
	int dir;			/* ... or -1 */
	bool stuck;			/* a thread was left behind */
};

/* A name that is there in the destination. */
struct found {
	const char *name;		/* as a member, for lines */
	int dir;			/* descriptor of the directory that holds it */
	const char *last;		/* its name in there */
	int fd;				/* open, or -1 */
	struct stat st;
};

/* A path of the destination, for messages.  Valid until the next call. */
const char *compare_where(struct compare *compare, const char *name);

/*
 * Looks at a name in the destination.  Returns 1 when it is there, 0 when it is missing
 * (told as a difference), or -1: told.
 */
int compare_look(struct compare *compare, struct found *found);

/*
 * Opens what was looked at, which is a regular file, into found->fd, which the caller
 * closes.  0, or -1: told.
 */
int compare_open(struct compare *compare, struct found *found);

/* ---- comparefind.c: names of the destination by their paths ---- */

/*
 * What an entry's path means: below DST, as `found->name` takes it, `.` for DST itself;
 * valid until the next call.  NULL when it is not wanted or can't be meant: told where
 * that is so.  From then on it has come.
 */
const char *compare_take(struct compare *compare, const char *path,
			 unsigned strip, bool directory);

/* Looks for found->name, fills found->dir, last and st.  As compare_look. */
int compare_find(struct compare *compare, struct found *found);

/* It is not there, and nothing is told. */
bool compare_is_missing(struct compare *compare, const struct found *found);

/* Tells what is in DST and has not come. */
void compare_extras(struct compare *compare);

void compare_find_end(struct compare *compare);

/* ---- */

/* Compares its attributes with those in compare->wanted. */
void compare_attributes(struct compare *compare, const struct found *found);

/* Compares a symlink's target. */
void compare_target(struct compare *compare, const struct found *found,
		    const char *wanted);

/* The options want this type compared. */
bool compare_wants_type(const struct compare *compare, uint32_t mode);

/* ---- the three ways ---- */

/* comparetree.c: the operands of opts are SRC... DST. */
void compare_tree(struct compare *compare);

/* comparestream.c: the stream opts->file against compare->dst. */
void compare_stream(struct compare *compare);

/* comparelist.c: the list opts->manifest against compare->dst. */
void compare_list(struct compare *compare);

#endif
