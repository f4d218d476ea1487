/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * select: which names are wanted, by libarchive's archive_match with tar's meaning; mere
 * names, without anything that matches others, are looked up instead, however many.
 *
 * Excluding patterns match at the begin of any component of a path, including ones only
 * at its begin; both match all below.  `*`, `?` and `[...]` match a slash, too, and a
 * backslash takes the meaning from what follows.  Names and patterns are bytes: `?` is one
 * byte, whatever the locale.  Used by one thread.
 *
 * The meaning is GNU tar's default for --exclude, for names without `./` in front (tests/
 * unit/test_select.c compares).  archive_match is given patterns that are rewritten where
 * it has another one:
 *
 *   `^a`, `a$`     are names; to archive_match they are anchors
 *   `./a`          matches at the begin only; to archive_match anywhere
 *   `a/ *`         (without the blank) matches what is in a; to archive_match also a
 *   `[[:alpha:]]`  and other classes are not known to archive_match
 *   `[!a]`         matches the end of a name in archive_match, and goes on behind it
 *
 * Where GNU tar's pattern would match nothing at all, it has bsdtar's meaning:
 *
 *   `a/`           a slash at the end is dropped: a
 *   `/a`           is ./a: the begin of the tree, as with rsync (bsdtar: nothing)
 *   `a//b`, `a/./b`  are a/b
 *
 * And including patterns are always wildcards, as with bsdtar (GNU tar: --wildcards).
 */
#ifndef TARPIPE_SELECT_H
#define TARPIPE_SELECT_H

#include <stdbool.h>

#include "opts.h"

struct select;

/* NULL with errno ENOMEM. */
struct select *select_new(void);
void select_free(struct select *select);

/*
 * What the options choose: all excludes, and with `members` (-x, -t) the `noperands`
 * operands and the list of -T as including patterns.  NULL after a message that raised
 * STATUS_USAGE.
 */
struct select *select_from_opts(const struct opts *opts, bool members,
				char *const *operands, int noperands);

/*
 * Adds patterns; from a file one a line, or NUL-terminated.  Excluding lines lose the
 * blanks at their ends, as with tar; and a file of excludes that has no NUL at all is one
 * of lines, because with GNU tar --null is not about -X.  Empty patterns are ignored.
 * 0, or -1 with errno (see names_next).
 */
int select_exclude(struct select *select, const char *pattern);
int select_exclude_from(struct select *select, const char *file, bool null);
int select_include(struct select *select, const char *pattern);
int select_include_from(struct select *select, const char *file, bool null);

/* Nothing was added: everything is wanted, and nobody has to be asked. */
bool select_is_empty(const struct select *select);

/*
 * Is a name wanted?  `path` is relative, with or without a leading `./`; a directory
 * that is excluded is not entered.  `directory` says that it is one.
 */
bool select_wants(struct select *select, const char *path, bool directory);

/* The same for walk_config.wanted; `select` is one. */
bool select_hook(void *select, const char *path, bool directory);

/*
 * Calls `tell` for each including pattern that matched nothing, as it was given.
 * Returns their number.
 */
unsigned select_unmatched(struct select *select,
			  void (*tell)(void *arg, const char *pattern),
			  void *arg);

/* Says so of each, STATUS_PARTIAL. */
void select_tell_unmatched(struct select *select);

#endif
