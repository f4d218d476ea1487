/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names: a list of names in a file (-T, -X), streamed: one a line, or NUL-terminated.
 *
 * A name is taken as it is: blanks, a carriage return, backslashes and a leading `-`
 * belong to it.  Of the file no more than a piece and the name at hand is held.
 */
#ifndef TARPIPE_NAMES_H
#define TARPIPE_NAMES_H

#include <stdbool.h>

#include "opts.h"

enum { NAMES_LENGTH_MAX = 1 << 20 };

struct names;

/* Opens a list, `-` is standard input.  NULL with errno. */
struct names *names_open(const char *file, bool null);

/*
 * Opens the list that -T asks for; *names is NULL when there is none.  Returns 0, or -1
 * after a message that raised STATUS_USAGE.
 */
int names_from_opts(struct names **names, const struct opts *opts);

/*
 * The next name that is not empty, valid until the next call; NULL at the end (errno 0)
 * or when reading fails: errno, EILSEQ for a NUL in a list of lines, ENAMETOOLONG for a
 * name of more than NAMES_LENGTH_MAX bytes.  The caller tells.
 */
const char *names_next(struct names *names);

/* The next name is here: names_next will not wait for it. */
bool names_ready(const struct names *names);

/* It is a list for --null indeed: a NUL has come. */
bool names_had_nul(const struct names *names);

/* The list's name for messages, and words for why names_next failed with `err`. */
const char *names_file(const struct names *names);
const char *names_failure(int err);

void names_close(struct names *names);

#endif
