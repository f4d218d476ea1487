/* SPDX-License-Identifier: BSD-2-Clause */
#include "bufcli.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "options.h"
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
	struct buffer_opts opts;
	uint64_t memory;	/* -m */
	unsigned blocks;	/* -b; 0: not given */
	bool capped;		/* -m came after -b: it is a limit for that */
};

static int set_show(void *target, const struct option_use *use);
static int set_both(void *target, const struct option_use *use);
static int set_memory(void *target, const struct option_use *use);
static int set_blocks(void *target, const struct option_use *use);
static int set_pause(void *target, const struct option_use *use);
static int set_tee(void *target, const struct option_use *use);
static int set_hash(void *target, const struct option_use *use);

#define AT(member) offsetof(struct parse, opts.member)

/* --- the table: parsing and --help are made from it and from nothing else --- */

static const struct option_row rows[] = {
	{ 0, NULL, 'i', "FILE", option_once, AT(input),
	  "read FILE, not standard input", NULL, 0, false },
	{ 0, NULL, 'o', "FILE", option_once, AT(output),
	  "write FILE, emptied before, not standard output", NULL, 0, false },
	{ 0, NULL, 's', "SIZE", option_size, AT(block),
	  "size of a block (default 10k)", NULL, 0, false },
	{ 0, NULL, 'm', "SIZE", set_memory, 0,
	  "memory for blocks (default 1m)", NULL, 0, false },
	{ 0, NULL, 'b', "N", set_blocks, 0,
	  "number of blocks (default: as many as fit in -m)", NULL, 0, false },
	{ 0, NULL, 'p', "PERCENT", option_percent, AT(fill),
	  "collect so many of the blocks, write them all,\n"
	  "and collect again (default 0)", NULL, 0, false },
	{ 0, "low", 0, "PERCENT", option_percent, AT(low),
	  "once all blocks are full, read on when no more\n"
	  "than this are (default 100: off)", NULL, 0, false },
	{ 0, NULL, 'u', "MICROSECONDS", set_pause, AT(pause),
	  "pause after each block written (default 0)", NULL, 0, false },
	{ 0, "read-rate", 0, "SIZE", option_size, AT(read_rate),
	  "read at most so many bytes a second", NULL, 0, false },
	{ 0, "write-rate", 0, "SIZE", option_size, AT(write_rate),
	  "write at most so many bytes a second", NULL, 0, false },
	{ 0, NULL, 'B', NULL, option_flag, AT(pad),
	  "fill the last block up with zeros", NULL, 0, false },
	{ 0, NULL, 'Z', NULL, option_flag, AT(seek),
	  "seek to 0 after each GiB on a character device", NULL, 0, false },
	{ 0, "tee", 0, "FILE", set_tee, 0,
	  "write to FILE also; may be given several times", NULL, 0, false },
	{ 0, "hash", 0, "NAME", set_hash, 0,
	  "tell at the end the xxh3 or crc32 of all bytes", NULL, 0, false },
	{ 0, NULL, 'S', "SIZE", set_show, 0,
	  "tell after each SIZE what was written, how fast", NULL, 0, false },
	{ 0, NULL, 'z', "SIZE", set_both, AT(block),
	  "-s and -S in one", NULL, 0, false },
	{ 0, NULL, 't', NULL, option_flag, AT(total),
	  "tell at the end how much was written", NULL, 0, false },
	{ 0, NULL, 'd', NULL, option_count, AT(debug),
	  "tell about blocks, speed and waits", NULL, 0, false },
	{ 0, "log", 0, "FILE", option_once, AT(log),
	  "add messages and a summary to FILE", NULL, 0, false },
	{ 0, "help", 0, NULL, option_stop, 0,
	  "print this and stop", NULL, 0, false },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* --- handlers --- */

/* buffer takes 0 for its default here. */
static int set_show(void *target, const struct option_use *use)
{
	struct parse *parse = target;
	uint64_t bytes;

	if (size_parse(use->value, &bytes) != 0)
		return option_refuse(use, "a size like 10k, 8m or 1g");
	parse->opts.show = bytes > 0 ? bytes : SHOW_DEFAULT;
	return 0;
}

static int set_both(void *target, const struct option_use *use)
{
	if (option_size(target, use) != 0)
		return -1;
	return set_show(target, use);
}

static int set_memory(void *target, const struct option_use *use)
{
	struct parse *parse = target;

	if (size_parse_memory(use->value, &parse->memory) != 0)
		return option_refuse(use, "a size like 8m, 1g or 25%");
	parse->capped = parse->blocks > 0;
	return 0;
}

static int set_blocks(void *target, const struct option_use *use)
{
	struct parse *parse = target;

	if (size_parse_number(use->value, 1, UINT_MAX, &parse->blocks) != 0)
		return option_refuse(use, "a number of blocks, 1 or more");
	return 0;
}

static int set_pause(void *target, const struct option_use *use)
{
	struct parse *parse = target;
	unsigned value;

	if (size_parse_number(use->value, 0, UINT_MAX, &value) != 0)
		return option_refuse(use, "a number of microseconds");
	parse->opts.pause = value;
	return 0;
}

static int set_tee(void *target, const struct option_use *use)
{
	struct parse *parse = target;
	struct buffer_opts *opts = &parse->opts;

	if (opts->ntees == BUFFER_TEES) {
		diag_fail(STATUS_USAGE, NULL, 0, "at most %d times --tee" HINT,
			  BUFFER_TEES);
		return -1;
	}
	opts->tees[opts->ntees++] = use->value;
	return 0;
}

static int set_hash(void *target, const struct option_use *use)
{
	struct parse *parse = target;
	parse->opts.hash = hash_find(use->value);
	if (parse->opts.hash == HASH_NONE)
		return option_refuse(use, "xxh3 or crc32");
	return 0;
}

static const struct option_table table = {
	.rows = rows, .nrows = ROWS, .hint = HINT, .column = HELP_COLUMN,
};

/* --- what is printed --- */

static enum cli_verdict print_help(void)
{
	fputs("Usage: tarpipe --buffer [OPTION]...\n"
	      "  or:  buffer [OPTION]...   (a link of that name)\n\n"
	      "Copies standard input to standard output through a buffer.\n\n",
	      stdout);
	options_print(&table);
	fputs("\nSizes: bytes, or with b (512), k, m, g, t; for -m also N% of "
	      "the memory.\nStatus: 0 all is out, 254 an output failed, 255 the "
	      "input failed or refused.\n", stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_DONE;
	diag_fail(STATUS_STOPPED, "standard output", errno, "write");
	return CLI_REFUSED;
}

/* --- parsing --- */

/* The number of blocks, as buffer would have it. */
static enum cli_verdict check_blocks(struct parse *parse)
{
	struct buffer_opts *opts = &parse->opts;
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
	struct parse parse = {
		.opts = { .block = BLOCK_DEFAULT, .low = 100 },
		.memory = MEMORY_DEFAULT,
	};
	enum cli_verdict verdict;
	struct option_result result;

	if (argc > 1 && strcmp(argv[1], "--buffer") == 0) {
		argc--;
		argv++;
	}
	switch (options_parse(&table, &parse, argc, argv, &result)) {
	case OPTION_STOPPED:
		return print_help();
	case OPTION_REFUSED:
		return CLI_REFUSED;
	case OPTION_RUN:
		break;
	}
	if (result.operands < argc) {
		diag_fail(STATUS_USAGE, NULL, 0, "too many arguments: '%s'" HINT,
			  argv[result.operands]);
		return CLI_REFUSED;
	}
	verdict = check_blocks(&parse);
	*opts = parse.opts;
	return verdict;
}
