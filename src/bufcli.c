/* SPDX-License-Identifier: BSD-2-Clause */
#include "bufcli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "size.h"

#define HINT "; try 'tarpipe --buffer --help'"

#define BLOCK_DEFAULT 10240
#define MEMORY_DEFAULT (UINT64_C(1) << 20)
#define SHOW_DEFAULT 10240
/* What buffer's own header takes of -m: so the number of blocks is the same. */
#define HEADER 32800

enum { HELP_COLUMN = 26 };

/* What is parsed: the options, and what only the checks at the end need. */
struct parse {
	struct buffer_opts *opts;
	uint64_t memory;	/* -m */
	unsigned blocks;	/* -b; 0: not given */
	bool capped;		/* -m came after -b: it is a limit for that */
};

/* An option as the user wrote it. */
struct use {
	const struct row *row;
	const char *shown;	/* `-m` or `--low` */
	const char *value;	/* its argument, or NULL */
};

/* One option; `set` returns 0, or -1 after its message. */
struct row {
	const char *name;	/* NULL: it has none */
	int letter;		/* 0: it has none */
	const char *arg;	/* what --help calls its argument, or NULL */
	int (*set)(struct parse *parse, const struct use *use);
	size_t offset;		/* in struct buffer_opts */
	const char *help;	/* \n starts another line */
};

static int set_flag(struct parse *parse, const struct use *use);
static int set_count(struct parse *parse, const struct use *use);
static int set_size(struct parse *parse, const struct use *use);
static int set_show(struct parse *parse, const struct use *use);
static int set_both(struct parse *parse, const struct use *use);
static int set_memory(struct parse *parse, const struct use *use);
static int set_blocks(struct parse *parse, const struct use *use);
static int set_percent(struct parse *parse, const struct use *use);
static int set_pause(struct parse *parse, const struct use *use);
static int set_name(struct parse *parse, const struct use *use);
static int set_tee(struct parse *parse, const struct use *use);
static int set_hash(struct parse *parse, const struct use *use);
static int set_done(struct parse *parse, const struct use *use);

#define AT(member) offsetof(struct buffer_opts, member)

/* --- the table: parsing and --help are made from it and from nothing else --- */

static const struct row rows[] = {
	{ NULL, 'i', "FILE", set_name, AT(input),
	  "read FILE, not standard input" },
	{ NULL, 'o', "FILE", set_name, AT(output),
	  "write FILE, emptied before, not standard output" },
	{ NULL, 's', "SIZE", set_size, AT(block),
	  "size of a block (default 10k)" },
	{ NULL, 'm', "SIZE", set_memory, 0,
	  "memory for blocks (default 1m)" },
	{ NULL, 'b', "N", set_blocks, 0,
	  "number of blocks (default: as many as fit in -m)" },
	{ NULL, 'p', "PERCENT", set_percent, AT(fill),
	  "collect so many of the blocks, write them all,\n"
	  "and collect again (default 0)" },
	{ "low", 0, "PERCENT", set_percent, AT(low),
	  "once all blocks are full, read on when no more\n"
	  "than this are (default 100: off)" },
	{ NULL, 'u', "MICROSECONDS", set_pause, AT(pause),
	  "pause after each block written (default 0)" },
	{ "read-rate", 0, "SIZE", set_size, AT(read_rate),
	  "read at most so many bytes a second" },
	{ "write-rate", 0, "SIZE", set_size, AT(write_rate),
	  "write at most so many bytes a second" },
	{ NULL, 'B', NULL, set_flag, AT(pad),
	  "fill the last block up with zeros" },
	{ NULL, 'Z', NULL, set_flag, AT(seek),
	  "seek to 0 after each GiB on a character device" },
	{ "tee", 0, "FILE", set_tee, 0,
	  "write to FILE also; may be given several times" },
	{ "hash", 0, "NAME", set_hash, 0,
	  "tell at the end the xxh3 or crc32 of all bytes" },
	{ NULL, 'S', "SIZE", set_show, 0,
	  "tell after each SIZE what was written, how fast" },
	{ NULL, 'z', "SIZE", set_both, AT(block),
	  "-s and -S in one" },
	{ NULL, 't', NULL, set_flag, AT(total),
	  "tell at the end how much was written" },
	{ NULL, 'd', NULL, set_count, AT(debug),
	  "tell about blocks, speed and waits" },
	{ "log", 0, "FILE", set_name, AT(log),
	  "add messages and a summary to FILE" },
	{ "help", 0, NULL, set_done, 0,
	  "print this and stop" },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* --- handlers --- */

static void *member_of(const struct parse *parse, const struct use *use)
{
	return (char *)parse->opts + use->row->offset;
}

static int refuse_value(const struct use *use, const char *expected)
{
	diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%s' is not %s" HINT,
		  use->shown, use->value, expected);
	return -1;
}

static int set_flag(struct parse *parse, const struct use *use)
{
	*(bool *)member_of(parse, use) = true;
	return 0;
}

static int set_count(struct parse *parse, const struct use *use)
{
	++*(unsigned *)member_of(parse, use);
	return 0;
}

static int set_size(struct parse *parse, const struct use *use)
{
	uint64_t bytes;

	if (size_parse(use->value, &bytes) != 0)
		return refuse_value(use, "a size like 10k, 8m or 1g");
	if (bytes == 0)
		return refuse_value(use, "a size above 0");
	*(uint64_t *)member_of(parse, use) = bytes;
	return 0;
}

/* buffer takes 0 for its default here. */
static int set_show(struct parse *parse, const struct use *use)
{
	uint64_t bytes;

	if (size_parse(use->value, &bytes) != 0)
		return refuse_value(use, "a size like 10k, 8m or 1g");
	parse->opts->show = bytes > 0 ? bytes : SHOW_DEFAULT;
	return 0;
}

static int set_both(struct parse *parse, const struct use *use)
{
	if (set_size(parse, use) != 0)
		return -1;
	return set_show(parse, use);
}

static int set_memory(struct parse *parse, const struct use *use)
{
	if (size_parse_memory(use->value, &parse->memory) != 0)
		return refuse_value(use, "a size like 8m, 1g or 25%");
	parse->capped = parse->blocks > 0;
	return 0;
}

static int set_blocks(struct parse *parse, const struct use *use)
{
	if (size_parse_number(use->value, 1, UINT_MAX, &parse->blocks) != 0)
		return refuse_value(use, "a number of blocks, 1 or more");
	return 0;
}

static int set_percent(struct parse *parse, const struct use *use)
{
	if (size_parse_number(use->value, 0, 100, member_of(parse, use)) != 0)
		return refuse_value(use, "a percentage from 0 to 100");
	return 0;
}

static int set_pause(struct parse *parse, const struct use *use)
{
	unsigned value;

	if (size_parse_number(use->value, 0, UINT_MAX, &value) != 0)
		return refuse_value(use, "a number of microseconds");
	*(uint64_t *)member_of(parse, use) = value;
	return 0;
}

static int set_name(struct parse *parse, const struct use *use)
{
	const char **name = member_of(parse, use);

	if (*name) {
		diag_fail(STATUS_USAGE, NULL, 0, "%s given twice" HINT,
			  use->shown);
		return -1;
	}
	*name = use->value;
	return 0;
}

static int set_tee(struct parse *parse, const struct use *use)
{
	struct buffer_opts *opts = parse->opts;

	if (opts->ntees == BUFFER_TEES) {
		diag_fail(STATUS_USAGE, NULL, 0, "at most %d times --tee" HINT,
			  BUFFER_TEES);
		return -1;
	}
	opts->tees[opts->ntees++] = use->value;
	return 0;
}

static int set_hash(struct parse *parse, const struct use *use)
{
	parse->opts->hash = hash_find(use->value);
	if (parse->opts->hash == HASH_NONE)
		return refuse_value(use, "xxh3 or crc32");
	return 0;
}

/* --help: print_help does its work. */
static int set_done(struct parse *parse, const struct use *use)
{
	(void)parse;
	(void)use;
	return 0;
}

/* --- what is printed --- */

static void print_row(const struct row *row)
{
	char head[64];

	if (row->name)
		snprintf(head, sizeof head, "      --%s%s%s", row->name,
			 row->arg ? "=" : "", row->arg ? row->arg : "");
	else
		snprintf(head, sizeof head, "  -%c%s%s", row->letter,
			 row->arg ? " " : "", row->arg ? row->arg : "");
	printf("%-*s", HELP_COLUMN, head);
	for (const char *p = row->help; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", HELP_COLUMN, "");
	}
	putchar('\n');
}

static enum cli_verdict print_help(void)
{
	fputs("Usage: tarpipe --buffer [OPTION]...\n"
	      "  or:  buffer [OPTION]...   (a link of that name)\n\n"
	      "Copies standard input to standard output through a buffer.\n\n",
	      stdout);
	for (int i = 0; i < ROWS; i++)
		print_row(&rows[i]);
	fputs("\nSizes: bytes, or with b (512), k, m, g, t; for -m also N% of "
	      "the memory.\nStatus: 0 all is out, 254 an output failed, 255 the "
	      "input failed or refused.\n", stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_DONE;
	diag_fail(STATUS_STOPPED, "standard output", errno, "write");
	return CLI_REFUSED;
}

/* --- parsing --- */

/* A long option's value is LONG + its index in `rows`, which no letter is. */
enum { LONG = 256 };

struct parser {
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 2];
};

static void parser_init(struct parser *parser)
{
	char *s = parser->shorts;
	int n = 0;

	memset(parser, 0, sizeof *parser);
	*s++ = ':';	/* a missing argument is told from an unknown option */
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].name)
			parser->longs[n++] = (struct option){ rows[i].name,
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

/* What getopt did not take: unknown, without its argument, or with one too many. */
static enum cli_verdict refuse_option(int answer, const char *word)
{
	const struct row *row = optopt ? row_find(optopt) : NULL;
	char shown[] = { '-', (char)optopt, '\0' };
	const char *option = optopt > 0 && optopt < LONG ? shown : word;
	int len = (int)strcspn(option, "=");

	if (!row)
		diag_fail(STATUS_USAGE, NULL, 0, "there is no option %.*s" HINT,
			  len, option);
	else if (answer == ':')
		diag_fail(STATUS_USAGE, NULL, 0,
			  "option %.*s needs an argument, %s" HINT, len, option,
			  row->arg);
	else
		diag_fail(STATUS_USAGE, NULL, 0,
			  "option %.*s takes no argument" HINT, len, option);
	return CLI_REFUSED;
}

/* One answer of getopt_long.  CLI_RUN: go on. */
static enum cli_verdict parse_one(struct parse *parse, int answer,
				  const char *word)
{
	const struct row *row = row_find(answer);
	char shown[64];
	struct use use = { row, shown, optarg };

	if (!row || answer == '?' || answer == ':')
		return refuse_option(answer, word);
	if (row->name)
		snprintf(shown, sizeof shown, "--%s", row->name);
	else
		snprintf(shown, sizeof shown, "-%c", row->letter);
	if (row->set == set_done)
		return print_help();
	return row->set(parse, &use) == 0 ? CLI_RUN : CLI_REFUSED;
}

/* The number of blocks, as buffer would have it. */
static enum cli_verdict check_blocks(const struct parse *parse)
{
	struct buffer_opts *opts = parse->opts;
	uint64_t fit = parse->memory < HEADER ? 0 :
		       (parse->memory - HEADER) / opts->block;

	opts->blocks = parse->blocks ? parse->blocks : fit;
	if (opts->blocks > 0 && (!parse->capped || parse->blocks <= fit))
		return CLI_RUN;
	diag_fail(STATUS_USAGE, NULL, 0, "the memory (-m) is too low for %llu "
		  "blocks of %llu bytes and 32800 more" HINT,
		  parse->blocks ? (unsigned long long)parse->blocks : 1ULL,
		  (unsigned long long)opts->block);
	return CLI_REFUSED;
}

bool bufcli_called(int argc, char **argv)
{
	const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;

	name = name ? name + 1 : argc > 0 ? argv[0] : "";
	return strcmp(name, "buffer") == 0 ||
	       (argc > 1 && strcmp(argv[1], "--buffer") == 0);
}

enum cli_verdict bufcli_parse(struct buffer_opts *opts, int argc, char **argv)
{
	struct parse parse = { .opts = opts, .memory = MEMORY_DEFAULT };
	struct parser parser;
	int answer;

	*opts = (struct buffer_opts){ .block = BLOCK_DEFAULT, .low = 100 };
	if (argc > 1 && strcmp(argv[1], "--buffer") == 0) {
		argc--;
		argv++;
	}
	parser_init(&parser);
	opterr = 0;
	optind = 0;	/* from the start, also when called again */
	while ((answer = getopt_long(argc, argv, parser.shorts, parser.longs,
				     NULL)) != -1) {
		enum cli_verdict verdict = parse_one(&parse, answer,
						     argv[optind - 1]);
		if (verdict != CLI_RUN)
			return verdict;
	}
	if (optind < argc) {
		diag_fail(STATUS_USAGE, NULL, 0, "too many arguments: '%s'" HINT,
			  argv[optind]);
		return CLI_REFUSED;
	}
	return check_blocks(&parse);
}
