/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cliset.h"
#include "diag.h"
#include "filter.h"
#include "options.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "(not configured)"	/* else from the build */
#endif

#define USAGE "tarpipe [OPTION]... SRC DST, SRC/ DST or SRC... DIR/"

#define BLOCK_DEFAULT (512 << 10)
#define JOBS_DEFAULT_MAX 8

enum { HELP_COLUMN = 32 };

/* The headings of --help, in its order; the rows of one stand together. */
enum group { MODES, STREAM, COMPRESSION, CHOOSING, BUFFERING, FIDELITY, EXISTING, RUN };

static const char *const titles[] = {
	[MODES] = "What is done, if not a copy:",
	[STREAM] = "Streams:",
	[COMPRESSION] = "Compression (-c; on reading it is found out):",
	[CHOOSING] = "Choosing:",
	[BUFFERING] = "Buffering:",
	[FIDELITY] = "What is kept (by default all that the destination can hold):",
	[EXISTING] =
	"What exists in DST (by default a file is replaced by a complete new one):",
	[RUN] = "The run:",
};

/* Where an option has a meaning. */
enum where {
	COPY = 1 << MODE_COPY,
	CREATE = 1 << MODE_CREATE,
	EXTRACT = 1 << MODE_EXTRACT,
	LIST = 1 << MODE_LIST,
	COMPARE = 1 << MODE_COMPARE,
	READ = EXTRACT | LIST,
	BYTES = CREATE | READ,
	TREE = COPY | EXTRACT,
	ALL = COPY | BYTES,
	EVERY = ALL | COMPARE,
	STREAMS = BYTES | COMPARE,
};

#define AT(member) offsetof(struct opts, member)

/* --- the table: parsing and --help are made from it and from nothing else --- */

static const struct option_row rows[] = {
	{ MODES, "create", 'c', NULL, set_mode, MODE_CREATE,
	  "pack SRC... into a tar stream", NULL, EVERY, false },
	{ MODES, "extract", 'x', NULL, set_mode, MODE_EXTRACT,
	  "unpack a tar stream into DST (default .)", NULL, EVERY, false },
	{ MODES, "list", 't', NULL, set_mode, MODE_LIST,
	  "list what is in a tar stream", NULL, EVERY, false },
	{ MODES, "compare", 0, NULL, set_mode, MODE_COMPARE,
	  "tell what of DST differs from SRC, or from what\n"
	  "is in a tar stream (-f) or a list (--manifest)", NULL, EVERY, false },
	{ STREAM, "file", 'f', "FILE", option_once, AT(file),
	  "the stream is in FILE, a device or tape; -: the\n"
	  "standard input or output (default)", NULL, STREAMS, false },
	{ STREAM, "directory", 'C', "DIR", option_once, AT(directory),
	  "-c: operands are names in DIR; -x: unpack in\n"
	  "DIR, operands are patterns of what is wanted", NULL, CREATE | EXTRACT,
	  false },
	{ STREAM, "block-size", 's', "SIZE", set_block, 0,
	  "size of every read and write (default 512k)", NULL, STREAMS, false },
	{ STREAM, "blocking-factor", 'b', "N", set_blocks, 0,
	  "the same, in units of 512 bytes",
	  "-b is the size of reads and writes in units of 512 bytes", STREAMS,
	  false },
	{ STREAM, "format", 0, "NAME", set_format, 0,
	  "-c: pax (default), gnu or ustar", NULL, CREATE, false },
	{ STREAM, "ignore-zeros", 'i', NULL, option_flag, AT(ignore_zeros),
	  "read on after the end, to the next archive", NULL, READ | COMPARE,
	  false },
	{ STREAM, "to-stdout", 'O', NULL, option_flag, AT(to_stdout),
	  "-x: files' contents go to standard output", NULL, EXTRACT, false },
	{ STREAM, "tee", 0, "FILE", set_tee, 0,
	  "-c: write to FILE also; may be given again", NULL, CREATE,
	  false },
	{ STREAM, "hash", 0, "NAME", set_hash, 0,
	  "-c: tell the xxh3 or crc32 of what was written", NULL, CREATE, false },
	{ STREAM, "manifest", 0, "FILE", option_once, AT(manifest),
	  "write a list of what is copied or packed, with\n"
	  "sha256, as mtree(5) (--compare: read one)", NULL, COPY | CREATE | COMPARE,
	  false },
	{ STREAM, "read-rate", 0, "SIZE", option_size, AT(read_rate),
	  "read at most so many bytes a second", NULL, READ | COMPARE, false },
	{ STREAM, "write-rate", 0, "SIZE", option_size, AT(write_rate),
	  "write at most so many bytes a second", NULL, CREATE, false },
	{ COMPRESSION, "gzip", 'z', "LEVEL", set_filter, FILTER_GZIP,
	  "gzip, on -j threads (levels 1 to 9, default 1)", NULL, STREAMS, true },
	{ COMPRESSION, "zstd", 0, "LEVEL", set_filter, FILTER_ZSTD,
	  "zstd", NULL, STREAMS, true },
	{ COMPRESSION, "xz", 0, "LEVEL", set_filter, FILTER_XZ,
	  "xz", NULL, STREAMS, true },
	{ COMPRESSION, "lz4", 0, "LEVEL", set_filter, FILTER_LZ4,
	  "lz4", NULL, STREAMS, true },
	{ COMPRESSION, "bzip2", 0, "LEVEL", set_filter, FILTER_BZIP2,
	  "bzip2", NULL, STREAMS, true },
	{ CHOOSING, "exclude", 0, "PATTERN", set_choice, 0,
	  "leave out names that match, and what is below", NULL, EVERY, false },
	{ CHOOSING, "exclude-from", 'X', "FILE", set_choice, 1,
	  "the same for each line of FILE", NULL, EVERY, false },
	{ CHOOSING, "files-from", 'T', "FILE", option_once, AT(files_from),
	  "take the names in FILE: below SRC in a copy,\n"
	  "operands with -c, members with -x and -t", NULL, EVERY, false },
	{ CHOOSING, "null", 0, NULL, option_flag, AT(null),
	  "names and patterns in such files end in NUL", NULL, EVERY, false },
	{ CHOOSING, "one-file-system", 0, NULL, option_flag, AT(one_fs),
	  "what is mounted in SRC comes empty", NULL,
	  COPY | CREATE | COMPARE, false },
	{ CHOOSING, "strip-components", 0, "N", set_strip, 0,
	  "cut N leading components off names", NULL, EVERY, false },
	{ BUFFERING, "memory", 'm', "SIZE", set_memory, AT(memory),
	  "size of the ring, 64k or more: bytes, k, m, g, t\n"
	  "or N% of the memory there is (default 64m)",
	  "-m is the ring's size; modification times are always kept", EVERY,
	  false },
	{ BUFFERING, "fill", 'p', "PERCENT", option_percent, AT(fill),
	  "begin to write when the ring is so full, and\n"
	  "again each time it has run empty (default 0)",
	  "-p is the fill mark, in percent; modes are always kept", EVERY, false },
	{ BUFFERING, "low", 0, "PERCENT", option_percent, AT(low),
	  "once the ring is full, read on when it has\n"
	  "fallen to this (default: as soon as a quarter\n"
	  "is free)", NULL, EVERY, false },
	{ BUFFERING, "no-cache", 0, NULL, option_flag, AT(no_cache),
	  "leave nothing in the page cache of what is read\n"
	  "and written", NULL, ALL, false },
	{ BUFFERING, "jobs", 'j', "N", set_jobs, AT(jobs),
	  "threads that restore or compress, 1 to 64\n"
	  "(default: one for each CPU, at most 8)",
	  "-j is the number of threads, not bzip2", ALL, false },
	{ BUFFERING, "read-ahead", 0, "WHEN", set_read_ahead, 0,
	  "threads that open and read files ahead: 1 to 64,\n"
	  "auto (default: as many as a slow source rewards,\n"
	  "none when it is fast), or off", NULL, ALL, false },
	{ FIDELITY, "preserve", 0, "LIST", set_preserve, 0,
	  "insist on parts of what is kept, any of mode,\n"
	  "owner, times, links, holes, xattr, acl, special,\n"
	  "root (of the top directory itself), all", NULL, TREE | CREATE | COMPARE,
	  false },
	{ FIDELITY, "no-preserve", 0, "LIST", set_no_preserve, 0,
	  "do without; the last word on a part counts", NULL, TREE | CREATE | COMPARE,
	  false },
	{ FIDELITY, "names", 0, NULL, option_flag, AT(names),
	  "map owners and groups by name, not by number", NULL, TREE, false },
	{ FIDELITY, "numeric-owner", 0, NULL, set_numeric, 0,
	  "by number: the default; -t shows numbers", NULL, EVERY, false },
	{ FIDELITY, "reflink", 0, "WHEN", set_reflink, 0,
	  "share data on one file system: auto (default),\n"
	  "always or never", NULL, COPY, false },
	{ FIDELITY, "modify-window", 0, "SECONDS", set_window, 0,
	  "seconds that times may differ by (--compare)", NULL, COMPARE,
	  false },
	{ EXISTING, "keep-old-files", 'k', NULL, option_flag, AT(keep),
	  "keep files that exist", NULL, TREE, false },
	{ EXISTING, "continue", 0, NULL, option_flag, AT(resume),
	  "leave what has the same type, size and mtime", NULL, TREE, false },
	{ EXISTING, "unlink-first", 0, NULL, option_flag, AT(unlink_first),
	  "remove an old file before the new one is written", NULL, TREE,
	  false },
	{ EXISTING, "keep-directory-symlink", 0, NULL, option_flag,
	  AT(keep_dirlink), "follow symlinks to directories in DST", NULL, TREE,
	  false },
	{ RUN, "dry-run", 'n', NULL, option_flag, AT(dry_run),
	  "write nothing", NULL, TREE, false },
	{ RUN, "verbose", 'v', NULL, option_count, AT(verbose),
	  "name what is done; -t: like ls -l", NULL, ALL, false },
	{ RUN, "quiet", 'q', NULL, option_flag, AT(quiet),
	  "only errors", NULL, EVERY, false },
	{ RUN, "sync", 0, NULL, option_flag, AT(sync),
	  "status 0 means that it is on the disk", NULL, TREE | CREATE, false },
	{ RUN, "verify", 0, NULL, option_flag, AT(verify),
	  "read back what was written, and compare it", NULL, TREE, false },
	{ RUN, "stats", 0, NULL, option_flag, AT(stats),
	  "tell what was done, and which side was slow", NULL, ALL, false },
	{ RUN, "help", 'h', NULL, option_stop, 0,
	  "print this and stop", NULL, EVERY, false },
	{ RUN, "version", 0, NULL, option_stop, 0,
	  "print the version and stop", NULL, EVERY, false },
};

enum { ROWS = sizeof rows / sizeof *rows };

_Static_assert((int)ROWS <= (int)OPTION_ROWS_MAX, "more rows than the engine takes");

/* Letters of tar, cp and rsync that are no options here, and what to say. */
static const char *stranger(int letter)
{
	static const struct { const char *letters, *text; } known[] = {
		{ "aHA", ": it is not needed, everything is kept" },
		{ "rR", ": it is not needed, directories are copied whole; "
			"archives are not added to" },
		{ "J", ": xz is --xz" },
		{ "u", ": archives are not added to, and what is newer in DST is "
		       "replaced, too" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strchr(known[i].letters, letter))
			return known[i].text;
	return "";
}

static const struct option_table table = {
	.rows = rows, .nrows = ROWS, .titles = titles, .hint = HINT,
	.column = HELP_COLUMN, .stranger = stranger,
};

/* --- what is printed --- */

static void print_help(void)
{
	fputs("Usage: tarpipe [OPTION]... SRC DST      DST becomes the copy of SRC\n"
	      "  or:  tarpipe [OPTION]... SRC/ DST     what is in SRC goes into DST\n"
	      "  or:  tarpipe [OPTION]... SRC... DIR/  each SRC becomes DIR/SRC\n"
	      "  or:  tarpipe -c [OPTION]... SRC...    pack into a tar stream\n"
	      "  or:  tarpipe -x [OPTION]... [DST]     unpack a stream into DST\n"
	      "  or:  tarpipe -t [OPTION]... [PATTERN]...  list a stream\n"
	      "  or:  tarpipe --compare [OPTION]... SRC DST  tell what differs\n"
	      "  or:  tarpipe --compare -f FILE|--manifest=FILE [OPTION]... DST\n"
	      "  or:  tarpipe --buffer [OPTION]...     the buffer alone; see its "
	      "own --help\n",
	      stdout);
	options_print(&table);
	fputs("\nStatus: 0 all is as asked, 1 the source changed meanwhile, "
	      "2 something is\nmissing in the copy, 3 stopped, 64 refused "
	      "(--compare: 0 equal, 1 different,\n2 something could not be "
	      "compared).\n",
	      stdout);
}

/* Does what --help or --version asks; told when nobody could take it. */
static enum cli_verdict print_done(const struct option_row *row)
{
	if (row->letter == 'h')
		print_help();
	else
		puts("tarpipe " PACKAGE_VERSION);
	if (fflush(stdout) != 0 || ferror(stdout))
		diag_fail(STATUS_STOPPED, "standard output", errno, "write");
	return CLI_DONE;
}

/* --- defaults, and what single options cannot see --- */

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
		.read_ahead = READ_AHEAD_AUTO,
		.preserve = PRESERVE_ALL & ~(unsigned)PRESERVE_ROOT,
		.reflink = REFLINK_AUTO,
		.level = -1,
		.block = BLOCK_DEFAULT,
	};
}

/* An option that says nothing to this run is a mistake. */
static int check_where(const struct opts *opts, uint64_t used)
{
	for (int i = 0; i < ROWS; i++) {
		if (!(used >> i & 1) || rows[i].where & 1U << opts->mode)
			continue;
		diag_fail(STATUS_USAGE, NULL, 0, "option --%s means nothing with "
			  "%s" HINT, rows[i].name, cli_mode(opts->mode));
		return -1;
	}
	return 0;
}

/* Every read and write is one reservation of the ring. */
static int check_block(struct opts *opts)
{
	size_t most = (size_t)(opts->memory / 4);

	if (opts->block <= most)
		return 0;
	if (opts->block_given) {
		diag_fail(STATUS_USAGE, NULL, 0, "the ring (-m) is too small for "
			  "blocks of %zu bytes: four fit at least" HINT,
			  opts->block);
		return -1;
	}
	opts->block = most - most % TAR_UNIT;
	return 0;
}

/* SRC... DST, or DST alone against what is no tree. */
static int check_compared(const struct opts *opts)
{
	bool tree = !opts->file && !opts->manifest;

	if (opts->file && opts->manifest)
		diag_fail(STATUS_USAGE, NULL, 0,
			  "-f and --manifest: one of them" HINT);
	else if (tree ? opts->noperands < 2 : opts->noperands != 1)
		diag_fail(STATUS_USAGE, NULL, 0, "what is compared? tarpipe "
			  "--compare SRC DST, or -f FILE DST, or "
			  "--manifest=FILE DST" HINT);
	else if (!opts->file && opts->strip > 0)
		diag_fail(STATUS_USAGE, NULL, 0,
			  "--strip-components goes with -f" HINT);
	else if (!tree && opts->files_from)
		diag_fail(STATUS_USAGE, NULL, 0,
			  "-T goes with SRC DST" HINT);
	else
		return 0;
	return -1;
}

static int check_operands(const struct opts *opts)
{
	if (opts->mode == MODE_COMPARE)
		return check_compared(opts);
	if (opts->mode == MODE_CREATE && opts->noperands == 0 &&
	    !opts->files_from)
		diag_fail(STATUS_USAGE, NULL, 0, "nothing is to be packed: "
			  "tarpipe -c SRC..." HINT);
	else if (opts->mode != MODE_COPY)
		return 0;
	else if (opts->noperands == 0)
		diag_fail(STATUS_USAGE, NULL, 0, "operands are missing; usage: "
			  USAGE HINT);
	else if (opts->noperands == 1)
		diag_fail(STATUS_USAGE, NULL, 0, "a destination is missing "
			  "after '%s'; usage: " USAGE HINT, opts->operands[0]);
	else
		return 0;
	return -1;
}

static enum cli_verdict check_whole(struct opts *opts, uint64_t used)
{
	if (opts->keep && opts->unlink_first)
		diag_fail(STATUS_USAGE, NULL, 0, "--keep-old-files and "
			  "--unlink-first contradict each other" HINT);
	else if (opts->resume && opts->keep)
		diag_fail(STATUS_USAGE, NULL, 0, "--continue and "
			  "--keep-old-files contradict each other" HINT);
	else if (opts->resume && !(opts->preserve & PRESERVE_TIMES))
		diag_fail(STATUS_USAGE, NULL, 0, "--continue knows what is complete "
			  "by its mtime, which is to be preserved then" HINT);
	else if (opts->verify && opts->to_stdout)
		diag_fail(STATUS_USAGE, NULL, 0, "--verify and --to-stdout: what "
			  "is no file can't be read back" HINT);
	else if (check_where(opts, used) == 0 && check_operands(opts) == 0 &&
		 check_block(opts) == 0)
		return CLI_RUN;
	return CLI_REFUSED;
}

enum cli_verdict cli_parse(struct opts *opts, int argc, char **argv)
{
	struct option_result result;

	opts_default(opts);
	switch (options_parse(&table, opts, argc, argv, &result)) {
	case OPTION_STOPPED:
		return print_done(result.stop);
	case OPTION_REFUSED:
		return CLI_REFUSED;
	case OPTION_RUN:
		break;
	}
	opts->operands = argv + result.operands;
	opts->noperands = argc - result.operands;
	return check_whole(opts, result.used);
}
