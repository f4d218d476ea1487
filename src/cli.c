/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "size.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "(not configured)"	/* else from the build */
#endif

#define USAGE "tarpipe [OPTION]... SRC DST, SRC/ DST or SRC... DIR/"
#define HINT "; try 'tarpipe --help'"

#define MEMORY_DEFAULT (UINT64_C(64) << 20)
#define MEMORY_MIN (UINT64_C(64) << 10)
#define JOBS_DEFAULT_MAX 8
#define JOBS_MAX 64

enum { HELP_COLUMN = 32 };

/* The headings of --help, in its order; the rows of one stand together. */
enum group { BUFFERING, FIDELITY, EXISTING, RUN };

static const char *const titles[] = {
	[BUFFERING] = "Buffering:",
	[FIDELITY] = "What is kept (by default all that the destination can hold):",
	[EXISTING] =
	"What exists in DST (by default a file is replaced by a complete new one):",
	[RUN] = "The run:",
};

/* An option as the user wrote it. */
struct use {
	const struct row *row;
	const char *shown;	/* `-m` or `--memory` */
	const char *value;	/* its argument, or NULL */
	bool is_short;
};

/*
 * One option.  `set` returns 0, or -1 after its message.  A flag sets the bool
 * at `offset` in struct opts; numbers and their like use it too.
 */
struct row {
	enum group group;
	const char *name;
	int letter;		/* 0: it has none */
	const char *arg;	/* what --help calls its argument, or NULL */
	int (*set)(struct opts *opts, const struct use *use);
	size_t offset;
	const char *help;	/* \n starts another line */
	const char *habit;	/* what the letter means here, for those who meant another */
};

static int set_memory(struct opts *opts, const struct use *use);
static int set_percent(struct opts *opts, const struct use *use);
static int set_jobs(struct opts *opts, const struct use *use);
static int set_preserve(struct opts *opts, const struct use *use);
static int set_no_preserve(struct opts *opts, const struct use *use);
static int set_reflink(struct opts *opts, const struct use *use);
static int set_flag(struct opts *opts, const struct use *use);
static int set_count(struct opts *opts, const struct use *use);
static int set_done(struct opts *opts, const struct use *use);

#define AT(member) offsetof(struct opts, member)

/* --- the table: parsing and --help are made from it and from nothing else --- */

static const struct row rows[] = {
	{ BUFFERING, "memory", 'm', "SIZE", set_memory, AT(memory),
	  "size of the ring, 64k or more: bytes, k, m, g, t\n"
	  "or N% of the memory there is (default 64m)",
	  "-m is the ring's size; modification times are always kept" },
	{ BUFFERING, "fill", 'p', "PERCENT", set_percent, AT(fill),
	  "begin to write when the ring is so full, and\n"
	  "again each time it has run empty (default 0)",
	  "-p is the fill mark, in percent; modes are always kept" },
	{ BUFFERING, "low", 0, "PERCENT", set_percent, AT(low),
	  "once the ring is full, read on when it has\n"
	  "fallen to this (default: as soon as a quarter\n"
	  "is free)", NULL },
	{ BUFFERING, "jobs", 'j', "N", set_jobs, AT(jobs),
	  "threads that restore, 1 to 64 (default: one for\n"
	  "each CPU, at most 8)",
	  "-j is the number of restoring threads, not bzip2" },
	{ FIDELITY, "preserve", 0, "LIST", set_preserve, 0,
	  "insist on parts of what is kept, any of mode,\n"
	  "owner, times, links, holes, xattr, acl, special,\n"
	  "root (of the top directory itself), all", NULL },
	{ FIDELITY, "no-preserve", 0, "LIST", set_no_preserve, 0,
	  "do without; the last word on a part counts", NULL },
	{ FIDELITY, "names", 0, NULL, set_flag, AT(names),
	  "map owners and groups by name, not by number", NULL },
	{ FIDELITY, "reflink", 0, "WHEN", set_reflink, 0,
	  "share data on one file system: auto (default),\n"
	  "always or never", NULL },
	{ EXISTING, "keep-old-files", 'k', NULL, set_flag, AT(keep),
	  "keep files that exist", NULL },
	{ EXISTING, "unlink-first", 0, NULL, set_flag, AT(unlink_first),
	  "remove an old file before the new one is written", NULL },
	{ EXISTING, "keep-directory-symlink", 0, NULL, set_flag, AT(keep_dirlink),
	  "follow symlinks to directories in DST", NULL },
	{ RUN, "dry-run", 'n', NULL, set_flag, AT(dry_run),
	  "write nothing", NULL },
	{ RUN, "verbose", 'v', NULL, set_count, AT(verbose),
	  "name what is copied", NULL },
	{ RUN, "quiet", 'q', NULL, set_flag, AT(quiet),
	  "only errors", NULL },
	{ RUN, "stats", 0, NULL, set_flag, AT(stats),
	  "tell at the end what was done, how fast, and\n"
	  "which side was slow", NULL },
	{ RUN, "help", 'h', NULL, set_done, 0,
	  "print this and stop", NULL },
	{ RUN, "version", 0, NULL, set_done, 0,
	  "print the version and stop", NULL },
};

enum { ROWS = sizeof rows / sizeof *rows };

static const struct { const char *word; unsigned bits; } parts[] = {
	{ "mode", PRESERVE_MODE }, { "owner", PRESERVE_OWNER },
	{ "times", PRESERVE_TIMES }, { "links", PRESERVE_LINKS },
	{ "holes", PRESERVE_HOLES }, { "xattr", PRESERVE_XATTR },
	{ "acl", PRESERVE_ACL }, { "special", PRESERVE_SPECIAL },
	{ "root", PRESERVE_ROOT }, { "all", PRESERVE_ALL },
};

#define PART_WORDS \
	"mode, owner, times, links, holes, xattr, acl, special, root and all"

/* Letters of tar, cp and rsync that are no options here, and what to say. */
static const struct { const char *letters, *text; } strangers[] = {
	{ "cxtfz", ": trees are copied, archives are neither made nor read: "
		   "tarpipe SRC DST" },
	{ "aHAX", ": it is not needed, everything is kept" },
	{ "rR", ": it is not needed, directories are copied whole" },
};

/* --- handlers --- */

static void *member_of(struct opts *opts, const struct use *use)
{
	return (char *)opts + use->row->offset;
}

/* Refuses a value: what it is not, and for a letter what that means here. */
static int refuse_value(const struct use *use, const char *expected)
{
	const char *habit = use->is_short ? use->row->habit : NULL;

	diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%s' is not %s%s%s" HINT,
		  use->shown, use->value, expected, habit ? "; " : "",
		  habit ? habit : "");
	return -1;
}

static int set_memory(struct opts *opts, const struct use *use)
{
	uint64_t bytes;

	if (size_parse_memory(use->value, &bytes) != 0) {
		if (errno != ENOENT)
			return refuse_value(use, "a size like 8m, 1GiB or 25%");
		diag_fail(STATUS_USAGE, NULL, 0, "option %s: how much memory "
			  "there is can't be found out; give a size like 64m",
			  use->shown);
		return -1;
	}
	if (bytes < MEMORY_MIN) {
		diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%s' is too small, "
			  "the ring takes 64k at least" HINT,
			  use->shown, use->value);
		return -1;
	}
	opts->memory = bytes;
	return 0;
}

static int set_percent(struct opts *opts, const struct use *use)
{
	if (size_parse_number(use->value, 0, 100, member_of(opts, use)) != 0)
		return refuse_value(use, "a percentage from 0 to 100");
	return 0;
}

static int set_jobs(struct opts *opts, const struct use *use)
{
	if (size_parse_number(use->value, 1, JOBS_MAX, &opts->jobs) != 0)
		return refuse_value(use, "a number from 1 to 64");
	return 0;
}

static int set_flag(struct opts *opts, const struct use *use)
{
	*(bool *)member_of(opts, use) = true;
	return 0;
}

static int set_count(struct opts *opts, const struct use *use)
{
	++*(unsigned *)member_of(opts, use);
	return 0;
}

/* --help and --version: print_done does their work. */
static int set_done(struct opts *opts, const struct use *use)
{
	(void)opts;
	(void)use;
	return 0;
}

static unsigned part_bits(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strlen(parts[i].word) == len &&
		    memcmp(parts[i].word, word, len) == 0)
			return parts[i].bits;
	return 0;
}

/* Reads a comma-separated list of parts; 0 after a message. */
static unsigned parts_parse(const struct use *use)
{
	const char *word = use->value;
	unsigned all = 0;

	for (;;) {
		size_t len = strcspn(word, ",");
		unsigned bits = part_bits(word, len);
		if (bits == 0) {
			diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%.*s' is "
				  "unknown; there are " PART_WORDS HINT,
				  use->shown, (int)len, word);
			return 0;
		}
		all |= bits;
		if (word[len] == '\0')
			return all;
		word += len + 1;
	}
}

static int set_preserve(struct opts *opts, const struct use *use)
{
	unsigned bits = parts_parse(use);

	opts->preserve |= bits & ~(unsigned)PRESERVE_ROOT;
	opts->preserve_asked |= bits;
	opts->preserve_denied &= ~bits;
	return bits ? 0 : -1;
}

static int set_no_preserve(struct opts *opts, const struct use *use)
{
	unsigned bits = parts_parse(use);

	opts->preserve &= ~bits;
	opts->preserve_denied |= bits;
	opts->preserve_asked &= ~bits;
	return bits ? 0 : -1;
}

static int set_reflink(struct opts *opts, const struct use *use)
{
	static const char *const words[] = {
		[REFLINK_AUTO] = "auto", [REFLINK_ALWAYS] = "always",
		[REFLINK_NEVER] = "never",
	};

	for (int i = REFLINK_AUTO; i <= REFLINK_NEVER; i++)
		if (strcmp(use->value, words[i]) == 0) {
			opts->reflink = (enum reflink)i;
			return 0;
		}
	return refuse_value(use, "auto, always or never");
}

/* --- what is printed --- */

static void print_row(const struct row *row)
{
	char head[64];
	int n = 0;

	if (row->letter)
		n = snprintf(head, sizeof head, "  -%c, ", row->letter);
	else
		n = snprintf(head, sizeof head, "      ");
	snprintf(head + n, sizeof head - (size_t)n, "--%s%s%s", row->name,
		 row->arg ? "=" : "", row->arg ? row->arg : "");
	printf("%-*s", HELP_COLUMN, head);
	for (const char *p = row->help; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", HELP_COLUMN, "");
	}
	putchar('\n');
}

static void print_help(void)
{
	fputs("Usage: tarpipe [OPTION]... SRC DST      DST becomes the copy of SRC\n"
	      "  or:  tarpipe [OPTION]... SRC/ DST     what is in SRC goes into DST\n"
	      "  or:  tarpipe [OPTION]... SRC... DIR/  each SRC becomes DIR/SRC\n",
	      stdout);
	for (int i = 0; i < ROWS; i++) {
		if (i == 0 || rows[i].group != rows[i - 1].group)
			printf("\n%s\n", titles[rows[i].group]);
		print_row(&rows[i]);
	}
	fputs("\nStatus: 0 all is as asked, 1 the source changed meanwhile, "
	      "2 something is\nmissing in the copy, 3 stopped, 64 refused.\n",
	      stdout);
}

/* Does what --help or --version asks; told when nobody could take it. */
static enum cli_verdict print_done(const struct row *row)
{
	if (row->letter == 'h')
		print_help();
	else
		puts("tarpipe " PACKAGE_VERSION);
	if (fflush(stdout) != 0 || ferror(stdout))
		diag_fail(STATUS_STOPPED, "standard output", errno, "write");
	return CLI_DONE;
}

/* --- parsing --- */

/*
 * What getopt_long takes, made from the table.  A long option's value is LONG +
 * its index in `rows`, which no letter is: so it can be told how it was spelled.
 */
enum { LONG = 256 };

struct parser {
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 2];
};

static void parser_init(struct parser *parser)
{
	char *s = parser->shorts;

	memset(parser, 0, sizeof *parser);
	*s++ = ':';	/* a missing argument is told from an unknown option */
	for (int i = 0; i < ROWS; i++) {
		parser->longs[i] = (struct option){ rows[i].name,
			rows[i].arg ? required_argument : no_argument,
			NULL, LONG + i };
		if (rows[i].letter)
			*s++ = (char)rows[i].letter;
		if (rows[i].letter && rows[i].arg)
			*s++ = ':';
	}
}

static const struct row *row_find(int value)
{
	for (int i = 0; i < ROWS; i++)
		if (value == LONG + i || value == rows[i].letter)
			return &rows[i];
	return NULL;
}

static void refuse_letter(int letter)
{
	const char *more = "";
	char shown[2] = { (char)letter, '\0' };

	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
		if (strchr(strangers[i].letters, letter))
			more = strangers[i].text;
	diag_fail(STATUS_USAGE, NULL, 0, "there is no option -%s%s" HINT, shown,
		  more);
}

/* An unknown long option, or an abbreviation that more than one fits. */
static void refuse_long(const char *word)
{
	size_t len = strcspn(word, "="), used = 0;
	char fits[256] = "";

	for (int i = 0; i < ROWS; i++)
		if (strncmp(rows[i].name, word + 2, len - 2) == 0 &&
		    used < sizeof fits)
			used += (size_t)snprintf(fits + used, sizeof fits - used,
						 "%s--%s", used ? ", " : "",
						 rows[i].name);
	if (used)
		diag_fail(STATUS_USAGE, NULL, 0, "option %.*s may be any of %s" HINT,
			  (int)len, word, fits);
	else
		diag_fail(STATUS_USAGE, NULL, 0, "there is no option %.*s" HINT,
			  (int)len, word);
}

static void refuse_missing(const struct use *use)
{
	const char *habit = use->is_short ? use->row->habit : NULL;

	diag_fail(STATUS_USAGE, NULL, 0, "option %s needs an argument, %s%s%s"
		  HINT, use->shown, use->row->arg, habit ? "; " : "",
		  habit ? habit : "");
}

/* One answer of getopt_long.  CLI_RUN: go on. */
static enum cli_verdict parse_one(struct opts *opts, int answer, char **argv)
{
	bool bad = answer == '?' || answer == ':';
	int value = bad ? optopt : answer;
	const struct row *row = value ? row_find(value) : NULL;
	char shown[64];
	struct use use = { row, shown, optarg, value < LONG };

	if (!row) {
		if (value)
			refuse_letter(value);
		else
			refuse_long(argv[optind - 1]);
		return CLI_REFUSED;
	}
	if (use.is_short)
		snprintf(shown, sizeof shown, "-%c", row->letter);
	else
		snprintf(shown, sizeof shown, "--%s", row->name);
	if (answer == ':')
		refuse_missing(&use);
	else if (answer == '?')
		diag_fail(STATUS_USAGE, NULL, 0, "option %s takes no argument"
			  HINT, shown);
	else if (row->set == set_done)
		return print_done(row);
	else if (row->set(opts, &use) == 0)
		return CLI_RUN;
	return CLI_REFUSED;
}

static unsigned jobs_default(void)
{
	cpu_set_t cpus;
	long n;

	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		n = CPU_COUNT(&cpus);
	else	/* more CPUs than the set has bits */
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX : (unsigned)n;
}

static void opts_default(struct opts *opts)
{
	*opts = (struct opts){
		.memory = MEMORY_DEFAULT,
		.fill = 0,
		.low = 100,
		.jobs = jobs_default(),
		.preserve = PRESERVE_ALL & ~(unsigned)PRESERVE_ROOT,
		.reflink = REFLINK_AUTO,
	};
}

/* What single options cannot see. */
static enum cli_verdict check_whole(const struct opts *opts)
{
	if (opts->keep && opts->unlink_first)
		diag_fail(STATUS_USAGE, NULL, 0, "--keep-old-files and "
			  "--unlink-first contradict each other" HINT);
	else if (opts->noperands == 0)
		diag_fail(STATUS_USAGE, NULL, 0, "operands are missing; usage: "
			  USAGE HINT);
	else if (opts->noperands == 1)
		diag_fail(STATUS_USAGE, NULL, 0, "a destination is missing "
			  "after '%s'; usage: " USAGE HINT, opts->operands[0]);
	else
		return CLI_RUN;
	return CLI_REFUSED;
}

enum cli_verdict cli_parse(struct opts *opts, int argc, char **argv)
{
	struct parser parser;
	int answer;

	opts_default(opts);
	parser_init(&parser);
	opterr = 0;
	optind = 0;	/* from the start, also when called again */
	while ((answer = getopt_long(argc, argv, parser.shorts, parser.longs,
				     NULL)) != -1) {
		enum cli_verdict verdict = parse_one(opts, answer, argv);
		if (verdict != CLI_RUN)
			return verdict;
	}
	opts->operands = argv + optind;
	opts->noperands = argc - optind;
	return check_whole(opts);
}
