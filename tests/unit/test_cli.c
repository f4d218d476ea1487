/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: what it sets, what it refuses, and what --help looks like. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "cli.h"
#include "diag.h"

static struct opts opts;
static const char *said;	/* on standard error */

/* Parses a command line given as words with single spaces between. */
static enum cli_verdict parse(const char *line)
{
	static char words[512];
	static char *argv[32];
	int argc = 0;

	diag_reset();
	argv[argc++] = (char *)(uintptr_t)"tarpipe";
	snprintf(words, sizeof words, "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	capture_begin(STDERR_FILENO);
	enum cli_verdict verdict = cli_parse(&opts, argc, argv);
	said = capture_end();
	return verdict;
}

static void accept(const char *line)
{
	if (parse(line) != CLI_RUN)
		fail_msg("'%s' is refused: %s", line, said);
	assert_string_equal(said, "");
	assert_int_equal(diag_status(), STATUS_OK);
}

/* Refused with status 64 and one line that has all of the words given. */
#define refuse(line, ...) refuse_words(line, __VA_ARGS__, NULL)
static void refuse_words(const char *line, ...)
{
	const char *word;
	va_list words;

	assert_int_equal(parse(line), CLI_REFUSED);
	assert_int_equal(diag_status(), STATUS_USAGE);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	if (!strstr(said, "try 'tarpipe --help'\n"))
		fail_msg("no hint: %s", said);
	va_start(words, line);
	while ((word = va_arg(words, const char *)) != NULL)
		if (!strstr(said, word))
			fail_msg("'%s' is not in: %s", word, said);
	va_end(words);
}

static void defaults(void **state)
{
	cpu_set_t cpus;

	(void)state;
	memset(&opts, 0xff, sizeof opts);
	accept("src dst");
	assert_int_equal(opts.noperands, 2);
	assert_string_equal(opts.operands[0], "src");
	assert_string_equal(opts.operands[1], "dst");
	assert_int_equal(opts.memory, 64 << 20);
	assert_int_equal(opts.fill, 0);
	assert_int_equal(opts.low, 100);
	assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
	unsigned n = (unsigned)CPU_COUNT(&cpus);
	assert_int_equal(opts.jobs, n < 8 ? n : 8);
	assert_int_equal(opts.preserve, PRESERVE_ALL & ~PRESERVE_ROOT);
	assert_int_equal(opts.preserve_asked, 0);
	assert_int_equal(opts.preserve_denied, 0);
	assert_int_equal(opts.reflink, REFLINK_AUTO);
	assert_int_equal(opts.verbose, 0);
	assert_false(opts.names || opts.keep || opts.unlink_first ||
		     opts.keep_dirlink || opts.quiet || opts.dry_run || opts.stats);
}

static void jobs_follow_the_cpus_we_may_use(void **state)
{
	cpu_set_t all, one;
	int cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	accept("a b");
	sched_setaffinity(0, sizeof all, &all);
	assert_int_equal(opts.jobs, 1);
}

static void numbers(void **state)
{
	(void)state;
	accept("-m 64k -p75 --low=20 -j 3 a b");
	assert_int_equal(opts.memory, 65536);
	assert_int_equal(opts.fill, 75);
	assert_int_equal(opts.low, 20);
	assert_int_equal(opts.jobs, 3);
	accept("--memory=1GiB --fill=100 --low 0 --jobs=64 a b");
	assert_int_equal(opts.memory, 1 << 30);
	assert_int_equal(opts.fill, 100);
	assert_int_equal(opts.low, 0);
	assert_int_equal(opts.jobs, 64);
	accept("-m 1% a b");
	assert_true(opts.memory >= 65536 && opts.memory != 64 << 20);
}

static void flags(void **state)
{
	(void)state;
	accept("--names -k --keep-directory-symlink -vv -q -n --stats a b");
	assert_true(opts.names && opts.keep && opts.keep_dirlink && opts.quiet &&
		    opts.dry_run && opts.stats);
	assert_int_equal(opts.verbose, 2);
	assert_false(opts.unlink_first);
	accept("--unlink-first --verbose --quiet --dry-run a b");
	assert_true(opts.unlink_first && opts.quiet && opts.dry_run);
	assert_false(opts.keep);
	assert_int_equal(opts.verbose, 1);
	assert_false(opts.resume);
	accept("--continue --unlink-first a b");
	assert_true(opts.resume);
	accept("--keep-old-files a b");
	assert_true(opts.keep);
	accept("--unl a b");
	assert_true(opts.unlink_first);
	assert_false(opts.no_cache);
	accept("--no-cache a b");
	assert_true(opts.no_cache);
	accept("--reflink=always a b");
	assert_int_equal(opts.reflink, REFLINK_ALWAYS);
	accept("--reflink=always --reflink never a b");
	assert_int_equal(opts.reflink, REFLINK_NEVER);
}

static void options_stand_anywhere_before_the_dashes(void **state)
{
	(void)state;
	accept("a -v b -p 50 c/");
	assert_int_equal(opts.noperands, 3);
	assert_string_equal(opts.operands[2], "c/");
	assert_int_equal(opts.verbose, 1);
	assert_int_equal(opts.fill, 50);
	accept("-q -- -v --names");
	assert_int_equal(opts.noperands, 2);
	assert_string_equal(opts.operands[0], "-v");
	assert_string_equal(opts.operands[1], "--names");
	assert_int_equal(opts.verbose, 0);
	assert_false(opts.names);
}

static void preserve_lists(void **state)
{
	const unsigned usual = PRESERVE_ALL & ~PRESERVE_ROOT;

	(void)state;
	accept("--preserve=owner a b");
	assert_int_equal(opts.preserve, usual);
	assert_int_equal(opts.preserve_asked, PRESERVE_OWNER);
	accept("--no-preserve=owner,acl a b");
	assert_int_equal(opts.preserve,
			 usual & ~(PRESERVE_OWNER | PRESERVE_ACL));
	assert_int_equal(opts.preserve_denied, PRESERVE_OWNER | PRESERVE_ACL);
	accept("--no-preserve=all --preserve=mode,times a b");
	assert_int_equal(opts.preserve, PRESERVE_MODE | PRESERVE_TIMES);
	assert_int_equal(opts.preserve_asked, PRESERVE_MODE | PRESERVE_TIMES);
	assert_int_equal(opts.preserve_denied,
			 PRESERVE_ALL & ~(PRESERVE_MODE | PRESERVE_TIMES));
	accept("--preserve=mode,times --no-preserve=times --preserve=links a b");
	assert_int_equal(opts.preserve, usual & ~PRESERVE_TIMES);
	assert_int_equal(opts.preserve_asked, PRESERVE_MODE | PRESERVE_LINKS);
	accept("--preserve=root a b");
	assert_int_equal(opts.preserve, usual);
	assert_int_equal(opts.preserve_asked, PRESERVE_ROOT);
	accept("--preserve=root --no-preserve=root a b");
	assert_int_equal(opts.preserve_asked, 0);
	assert_int_equal(opts.preserve_denied, PRESERVE_ROOT);
	accept("--preserve=all a b");
	assert_int_equal(opts.preserve, usual);
	assert_int_equal(opts.preserve_asked, PRESERVE_ALL);
}

#define PARTS "mode, owner, times, links, holes, xattr, acl, special, root and all"

static void an_unknown_part_names_the_known(void **state)
{
	(void)state;
	refuse("--preserve=mode,ownership a b", "--preserve", "'ownership'", PARTS);
	refuse("--no-preserve=context a b", "--no-preserve", "'context'", PARTS);
	refuse("--preserve=mod a b", "'mod'");
	refuse("--preserve=modes a b", "'modes'");
	refuse("--preserve=mode, a b", "''", PARTS);
	refuse("--preserve= a b", "''", PARTS);
	refuse("--preserve=,mode a b", "''");
	/* and every known one is known */
	accept("--preserve=mode,owner,times,links,holes,xattr,acl,special,root a b");
	assert_int_equal(opts.preserve_asked, PRESERVE_ALL);
}

static void letters_mean_something_else_elsewhere(void **state)
{
	(void)state;
	refuse("-pf a b", "-p", "'f'",
	       "-p is the fill mark, in percent; modes are always kept");
	refuse("-p src dst", "-p", "'src'", "modes are always kept");
	refuse("-mf a b", "-m", "'f'",
	       "-m is the ring's size; modification times are always kept");
	refuse("-jf a b", "-j", "'f'",
	       "-j is the number of threads, not bzip2");
	refuse("-p", "-p", "PERCENT", "modes are always kept");
	refuse("-xpf a b", "-p", "'f'", "modes are always kept");
	refuse("-cpf a b", "-p", "'f'", "modes are always kept");
	refuse("-xbf a", "-b", "'f'", "units of 512");
	refuse("-cJf a b", "no option -J", "--xz");
	refuse("-uf a b", "no option -u", "added");
	refuse("-a src dst", "no option -a", "everything is kept");
	refuse("-r src dst", "no option -r", "whole");
	refuse("--fill=x a b", "--fill", "'x'");
	assert_null(strstr(said, "modes"));
}

static void streams_have_modes(void **state)
{
	(void)state;
	accept("a b");
	assert_int_equal(opts.mode, MODE_COPY);
	accept("-czf x.tgz -C /usr lib share");
	assert_int_equal(opts.mode, MODE_CREATE);
	assert_int_equal(opts.filter, FILTER_GZIP);
	assert_int_equal(opts.level, -1);
	assert_string_equal(opts.file, "x.tgz");
	assert_string_equal(opts.directory, "/usr");
	assert_int_equal(opts.noperands, 2);
	assert_int_equal(opts.block, 512 << 10);
	assert_false(opts.block_given);
	accept("-xvf x.tgz");
	assert_int_equal(opts.mode, MODE_EXTRACT);
	assert_int_equal(opts.noperands, 0);
	accept("-t -i -b 20");
	assert_int_equal(opts.mode, MODE_LIST);
	assert_true(opts.ignore_zeros);
	assert_int_equal(opts.block, 10240);
	accept("-c -s 1m --format=ustar --gzip=9 --tee=a --tee b --hash=crc32 d");
	assert_int_equal(opts.block, 1 << 20);
	assert_int_equal(opts.format, TAR_USTAR);
	assert_int_equal(opts.level, 9);
	assert_int_equal(opts.ntees, 2);
	assert_string_equal(opts.tees[1], "b");
	assert_int_equal(opts.hash, HASH_CRC32);
	accept("-x -O --read-rate=1m a b");
	assert_true(opts.to_stdout);
	assert_int_equal(opts.read_rate, 1 << 20);
	accept("-m 64k -c d");
	assert_int_equal(opts.block, 16384);
	accept("-c -T list --null");
	assert_string_equal(opts.files_from, "list");
	assert_true(opts.null);
}

static void modes_exclude_each_other_and_what_they_have_no_use_for(void **state)
{
	(void)state;
	refuse("-c -x a", "-c and -x");
	refuse("-xt a", "-x and -t");
	refuse("-c", "nothing is to be packed");
	refuse("-f x a b", "--file", "a copy");
	refuse("-t --tee=x", "--tee", "-t");
	refuse("-c -n a", "--dry-run", "-c");
	refuse("-c -k a", "--keep-old-files", "-c");
	refuse("-c -f a -f b d", "-f given twice");
	refuse("-cz --xz d", "--xz", "another compression");
	refuse("-c --gzip=0 d", "--gzip", "'0'");
	refuse("-c --xz=x d", "--xz", "'x'");
	refuse("-c -m 64k -s 32k d", "too small");
	refuse("-c -s 0 d", "-s", "'0'");
	refuse("-c -b 0 d", "-b", "'0'");
	refuse("-c --format=zip d", "pax, gnu or ustar");
	refuse("-c --hash=md5 d", "xxh3 or crc32");
}

static void choices_keep_their_order(void **state)
{
	(void)state;
	accept("--exclude=a -X f --exclude b --strip-components=2 s d");
	assert_int_equal(opts.nchoices, 3);
	assert_string_equal(opts.choices[0].text, "a");
	assert_false(opts.choices[0].file);
	assert_string_equal(opts.choices[1].text, "f");
	assert_true(opts.choices[1].file);
	assert_string_equal(opts.choices[2].text, "b");
	assert_int_equal(opts.strip, 2);
	free(opts.choices);
	refuse("--strip-components=x a b", "--strip-components", "'x'");
}

static void values_are_refused_by_name(void **state)
{
	(void)state;
	refuse("-m 63k a b", "-m", "'63k'", "64k");
	refuse("-m 65535 a b", "-m", "64k");
	refuse("--memory=8mm a b", "--memory", "'8mm'");
	refuse("-m 1.5g a b", "-m", "'1.5g'");
	refuse("-m 0% a b", "-m", "'0%'");
	refuse("-m 99999999999999999999 a b", "-m");
	refuse("-p 101 a b", "-p", "'101'", "0 to 100");
	refuse("-p 75% a b", "-p", "'75%'");
	refuse("-p -1 a b", "-p", "'-1'");
	refuse("--low=200 a b", "--low", "'200'");
	refuse("-j 0 a b", "-j", "'0'", "1 to 64");
	refuse("-j 65 a b", "-j", "'65'");
	refuse("-j 4x a b", "-j", "'4x'");
	refuse("--reflink=sometimes a b", "--reflink", "'sometimes'",
	       "auto, always or never");
	refuse("--reflink= a b", "--reflink");
}

static void options_are_refused_by_name(void **state)
{
	(void)state;
	refuse("--frobnicate a b", "no option --frobnicate;");
	refuse("--frobnicate=7 a b", "no option --frobnicate;");
	refuse("-vW a b", "no option -W;");
	refuse("a b -\001", "no option -\\001;");
	refuse("--keep a b", "--keep ", "--keep-old-files",
	       "--keep-directory-symlink");
	refuse("--names=yes a b", "--names takes no argument");
	refuse("a b --memory", "--memory needs an argument, SIZE");
	refuse("-k --continue a b", "--keep-old-files", "--continue");
	refuse("--no-preserve=times --continue a b", "--continue", "mtime");
	refuse("-c --continue a", "--continue", "-c");
	refuse("-k --unlink-first a b", "--keep-old-files", "--unlink-first");
}

static void missing_operands_show_the_usage(void **state)
{
	(void)state;
	refuse("", "operands are missing", "SRC DST", "SRC/ DST", "SRC... DIR/");
	refuse("-v", "operands are missing");
	refuse("src", "'src'", "SRC DST");
	refuse("-- --names", "'--names'");
}

/* --- what is printed --- */

static const char *print(const char *line)
{
	static char text[16384];

	diag_reset();
	capture_begin(STDOUT_FILENO);
	char *argv[] = { (char *)(uintptr_t)"tarpipe", (char *)(uintptr_t)line, NULL };
	assert_int_equal(cli_parse(&opts, 2, argv), CLI_DONE);
	const char *printed = capture_end();
	assert_true(strlen(printed) < sizeof text);
	strcpy(text, printed);
	assert_int_equal(diag_status(), STATUS_OK);
	return text;
}

static void version_is_one_line(void **state)
{
	(void)state;
	const char *text = print("--version");
	assert_int_equal(strncmp(text, "tarpipe ", 8), 0);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
#ifdef PACKAGE_VERSION
	assert_string_equal(text, "tarpipe " PACKAGE_VERSION "\n");
#endif
}

static void help_is_aligned_and_fits_the_width(void **state)
{
	const char *line = print("--help");
	int lines = 0;

	(void)state;
	for (; *line; lines++) {
		size_t len = strcspn(line, "\n");
		if (len > 80)
			fail_msg("%zu columns: %.*s", len, (int)len, line);
		/* an option, and what continues its text, begin at one column */
		if (line[0] == ' ' && strncmp(line, "  or:", 5) != 0 &&
		    (len < 33 || line[31] != ' ' || line[32] == ' '))
			fail_msg("not aligned: %.*s", (int)len, line);
		line += len + 1;
	}
	assert_in_range(lines, 20, 96);
}

static void help_has_every_option(void **state)
{
	static const char *const heads[] = {
		"-m, --memory=SIZE ", "-p, --fill=PERCENT ", "    --low=PERCENT ",
		"-j, --jobs=N ", "    --read-ahead=WHEN ",
		"    --preserve=LIST ", "    --no-preserve=LIST ",
		"    --names ", "    --reflink=WHEN ", "    --no-cache ",
		"-k, --keep-old-files ",
		"    --continue ", "    --unlink-first ", "    --keep-directory-symlink ",
		"-n, --dry-run ", "-v, --verbose ", "-q, --quiet ", "    --sync ", "    --verify ",
		"    --stats ",
		"-h, --help ", "    --version ",
		"-c, --create ", "-x, --extract ", "-t, --list ",
		"-f, --file=FILE ", "-C, --directory=DIR ",
		"-s, --block-size=SIZE ", "-b, --blocking-factor=N ",
		"    --format=NAME ", "-i, --ignore-zeros ", "-O, --to-stdout ",
		"    --tee=FILE ", "    --hash=NAME ", "    --read-rate=SIZE ",
		"    --write-rate=SIZE ", "-z, --gzip[=LEVEL] ",
		"    --zstd[=LEVEL] ", "    --xz[=LEVEL] ", "    --lz4[=LEVEL] ",
		"    --bzip2[=LEVEL] ", "    --exclude=PATTERN ",
		"-X, --exclude-from=FILE ", "-T, --files-from=FILE ",
		"    --one-file-system ",
		"    --null ", "    --strip-components=N ", "    --numeric-owner ",
		"    --compare ", "    --manifest=FILE ", "    --modify-window=SECONDS ",
	};
	static const char *const words[] = {
		"mode,", "owner,", "times,", "links,", "holes,", "xattr,", "acl,",
		"special,", "root ", "all\n", "auto ", "always ", "never\n",
		"SRC DST ", "SRC/ DST ", "SRC... DIR/ ",
	};
	const char *text = print("--help");
	size_t options = 0;

	(void)state;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (!strstr(text, heads[i]))
			fail_msg("not in --help: %s", heads[i]);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strstr(text, words[i]))
			fail_msg("not in --help: %s", words[i]);
	/* behind the usage */
	for (const char *p = strstr(text, "\n\n");
	     (p = strstr(p, " --")) != NULL; p++)
		options++;
	assert_int_equal(options, sizeof heads / sizeof *heads);
}

static void help_comes_also_by_letter(void **state)
{
	char *text = strdup(print("--help"));

	(void)state;
	assert_string_equal(print("-h"), text);
	free(text);
}

static void help_into_a_full_disk_is_a_failure(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"tarpipe", (char *)(uintptr_t)"--help", NULL };
	int saved;

	(void)state;
	diag_reset();
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	if (!freopen("/dev/full", "w", stdout))
		skip();
	capture_begin(STDERR_FILENO);
	cli_parse(&opts, 2, argv);
	said = capture_end();
	clearerr(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_string_equal(said, "tarpipe: standard output: write: "
			    "No space left on device\n");
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(jobs_follow_the_cpus_we_may_use),
		cmocka_unit_test(numbers),
		cmocka_unit_test(flags),
		cmocka_unit_test(options_stand_anywhere_before_the_dashes),
		cmocka_unit_test(preserve_lists),
		cmocka_unit_test(an_unknown_part_names_the_known),
		cmocka_unit_test(letters_mean_something_else_elsewhere),
		cmocka_unit_test(streams_have_modes),
		cmocka_unit_test(
			modes_exclude_each_other_and_what_they_have_no_use_for),
		cmocka_unit_test(choices_keep_their_order),
		cmocka_unit_test(values_are_refused_by_name),
		cmocka_unit_test(options_are_refused_by_name),
		cmocka_unit_test(missing_operands_show_the_usage),
		cmocka_unit_test(version_is_one_line),
		cmocka_unit_test(help_is_aligned_and_fits_the_width),
		cmocka_unit_test(help_has_every_option),
		cmocka_unit_test(help_comes_also_by_letter),
		cmocka_unit_test(help_into_a_full_disk_is_a_failure),
	};

	unsetenv("POSIXLY_CORRECT");
	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
