/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options: the engine of a command line.  One table of rows makes the parser, the
 * messages about what is wrong, and --help; cli.c and bufcli.c have one each.
 */
#ifndef TARPIPE_OPTIONS_H
#define TARPIPE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_row;

/* An option as the user wrote it. */
struct option_use {
	const struct option_table *table;
	const struct option_row *row;
	const char *shown;	/* `-m` or `--memory` */
	const char *value;	/* its argument, or NULL */
	bool is_short;
};

/* Takes a use into `target`.  Returns 0, or -1 after its message. */
typedef int option_set(void *target, const struct option_use *use);

struct option_row {
	int group;		/* index into titles; the rows of one stand together */
	const char *name;	/* NULL: it has none */
	int letter;		/* 0: it has none */
	const char *arg;	/* what --help calls its argument, or NULL */
	option_set *set;	/* option_stop ends parsing (--help) */
	size_t offset;		/* of a member of the target, for the sets below */
	const char *help;	/* \n starts another line */
	const char *habit;	/* what the letter means here, for those who meant another;
				   or NULL */
	unsigned where;		/* of the table's own kind: where it has a meaning */
	bool optional;		/* the long form's argument may be left out, the letter has
				   none */
};

enum { OPTION_ROWS_MAX = 64 };

struct option_table {
	const struct option_row *rows;
	size_t nrows;		/* at most OPTION_ROWS_MAX */
	const char *const *titles;	/* by group, or NULL: no headings */
	const char *hint;	/* ends messages: `; try 'tarpipe --help'` */
	int column;		/* where --help's texts begin */
	const char *(*stranger)(int letter);	/* what to say of a letter that is no
						   option: more words, or "" */
};

enum option_verdict {
	OPTION_RUN,		/* all is parsed */
	OPTION_STOPPED,		/* at a row with option_stop */
	OPTION_REFUSED,		/* the message is out */
};

/* What came of it. */
struct option_result {
	int operands;		/* index in argv of the first operand */
	uint64_t used;		/* bit i: rows[i] was given */
	const struct option_row *stop;
};

/* Parses argv, which is permuted so that operands may stand anywhere before `--`. */
enum option_verdict options_parse(const struct option_table *table, void *target,
				  int argc, char **argv,
				  struct option_result *result);

/* Prints a row or all of them, under their titles, for --help. */
void options_print(const struct option_table *table);

/* Refuses a value: says what it is not, and for a letter what that means here.  -1. */
int option_refuse(const struct option_use *use, const char *expected);

/* ---- sets for the target's members at `offset` ---- */

int option_stop(void *target, const struct option_use *use);
int option_flag(void *target, const struct option_use *use);	/* bool */
int option_count(void *target, const struct option_use *use);	/* unsigned */
int option_percent(void *target, const struct option_use *use);	/* unsigned */
int option_size(void *target, const struct option_use *use);	/* uint64_t, > 0 */
int option_once(void *target, const struct option_use *use);	/* char *, one time */

#endif
