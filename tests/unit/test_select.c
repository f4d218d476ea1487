/* SPDX-License-Identifier: BSD-2-Clause */
/* Which names are wanted: by patterns, compared with what GNU tar itself leaves out. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "opts.h"
#include "select.h"
#include "tree.h"

WRAPPED(void *, malloc, size_t size)
{
	return fault_due(MALLOC, NULL, NULL) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

static struct select *chosen;

static int setup(void **state)
{
	if (tree_setup(state) != 0)
		return -1;
	chosen = select_new();
	return chosen ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	select_free(chosen);
	diag_reset();
	return tree_teardown(state);
}

static void exclude(const char *pattern)
{
	assert_int_equal(select_exclude(chosen, pattern), 0);
}

static void include(const char *pattern)
{
	assert_int_equal(select_include(chosen, pattern), 0);
}

static bool wants(const char *path)
{
	return select_wants(chosen, path, false);
}

/* ---- beside GNU tar: names that begin with their first component ---- */

/* Directories first; those with a slash at the end. */
static const char *const members[] = {
	"a/", "a/b/", "a/b/c/", "abs/", "c/", "d.o/", "x y/",
	"a/b/c/f.o", "a/b/x.o", "a/b/a", "a/y", "abs/f", "c/a", "c/x.o", "c/ab",
	"c/1", "d.o/f", "e.o", "f", "^a", "z$", "$", "st*r", "star", "q?", "[ab]",
	"b]", "a-b", "back\\slash", "sp ace", "sp ", "n\nl", ".hid", "a\xff", "\xff",
	"x y/z", "B", "1", "1a", "~",
};

enum { MEMBERS = sizeof(members) / sizeof(*members) };

static bool path_is_directory(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

static bool is_top(const char *path)
{
	const char *slash = strchr(path, '/');

	return !slash || slash[1] == '\0';
}

static void put_members(void)
{
	for (size_t i = 0; i < MEMBERS; i++)
		if (path_is_directory(members[i]))
			put_dir(members[i]);
		else
			put_file(members[i], "");
}

struct row {
	const char *pattern;
	const char *instead;	/* where we differ from tar: a pattern of the same
				   meaning in tar, "" when we take none out */
};

static const struct row rows[] = {
	{ "*.o", NULL }, { "a", NULL }, { "a/b", NULL }, { "b", NULL },
	{ "b/c", NULL }, { "b/x.o", NULL }, { "c/a", NULL }, { "y", NULL },
	{ "a/*", NULL }, { "a/**", NULL }, { "a/b/*", NULL }, { "c/*", NULL },
	{ "a/*/*", NULL }, { "*/b", NULL }, { "*/x.o", NULL }, { "*/*", NULL },
	{ "*/*/*", NULL }, { "?*/a", NULL }, { "a*x.o", NULL }, { "a*", NULL },
	{ "*a", NULL }, { "*b*", NULL }, { "*", NULL }, { "**", NULL },
	{ "?", NULL }, { "??", NULL }, { "?/?", NULL }, { "a?b", NULL },
	{ "a?y", NULL }, { "q\\?", NULL }, { "q[?]", NULL }, { "[ab]*", NULL },
	{ "[ab]", NULL }, { "\\[ab\\]", NULL }, { "\\[ab]", NULL },
	{ "[^a]*", NULL }, { "[!a]*", NULL }, { "[!a]", NULL }, { "a[!x]", NULL },
	{ "a[!x]b", NULL }, { "a[!x]*", NULL }, { "a/[!b]", NULL },
	{ "c/[!a]", NULL }, { "f[!x]", NULL }, { "a[/]y", NULL },
	{ "x.[a-o]", NULL }, { "[a-c]", NULL }, { "[b-a]", NULL },
	{ "a[-x]b", NULL }, { "a[x-]b", NULL }, { "[]]", NULL }, { "b[]]", NULL },
	{ "b[\\]]", NULL }, { "b[]x]", NULL }, { "b[!]]", NULL }, { "b[!x]", NULL },
	{ "[", NULL }, { "[a", NULL }, { "a[", NULL }, { "[]", NULL },
	{ "[!]", NULL }, { "[[:digit:]]", NULL }, { "[[:alpha:]]", NULL },
	{ "[[:upper:]]", NULL }, { "[^[:alnum:]]*", NULL },
	{ "[[:alpha:][:digit:]]", NULL }, { "c/[[:alpha:]]", NULL },
	{ "[[:digit:]a]*", NULL }, { "^a", NULL }, { "[\\^]a", NULL },
	{ "a$", NULL }, { "z$", NULL }, { "z\\$", NULL }, { "$", NULL },
	{ "*$", NULL }, { "*\\$", NULL }, { "st\\*r", NULL }, { "st*r", NULL },
	{ "\\*", NULL }, { "back\\\\slash", NULL }, { "back\\slash", NULL },
	{ "\\a", NULL }, { "a\\", NULL }, { "sp ace", NULL }, { "sp ", NULL },
	{ "sp", NULL }, { "sp*", NULL }, { "sp?ace", NULL }, { "x y", NULL },
	{ "x\\ y", NULL }, { "n\nl", NULL }, { "n*l", NULL }, { "n?l", NULL },
	{ ".hid", NULL }, { "?hid", NULL }, { "*hid", NULL }, { ".*", NULL },
	{ "..", NULL }, { "../a", NULL }, { "a\xff", NULL }, { "\xff", NULL },
	{ "a?", NULL }, { "a[\xff]", NULL }, { "B", NULL }, { "~", NULL },
	{ "a/b/c/f.o", NULL }, { "b/*/f.o", NULL }, { "none", NULL },
	{ "a/none", NULL }, { "", NULL }, { "/", NULL }, { "//", NULL },
	{ ".", NULL }, { "./", NULL },

	/* tar would take out nothing. */
	{ "a/", "a" }, { "b/c/", "b/c" }, { "a//b", "a/b" }, { "a/./b", "a/b" },
	{ "/abs", "abs" }, { "/b", "none" }, { "/a/b", "a/b" }, { "//a/*", "a/*" },
	{ "d.o//", "d.o" }, { "*/", "*" }, { "?/", "?" },
};

/* As GNU tar shows names with --quoting-style=escape. */
static size_t put_escaped(char *to, const char *name)
{
	size_t n = 0;

	for (const char *p = name; *p; p++) {
		unsigned char byte = (unsigned char)*p;

		if (byte == '\n')
			n += (size_t)sprintf(to + n, "\\n");
		else if (byte == '\\')
			n += (size_t)sprintf(to + n, "\\\\");
		else if (byte >= 0x7f)
			n += (size_t)sprintf(to + n, "\\%03o", byte);
		else
			to[n++] = *p;
	}
	to[n++] = '\n';
	to[n] = '\0';
	return n;
}

/* It, or a directory it is in, is not wanted. */
static bool is_left_out(const char *member)
{
	char path[256];
	size_t len = strlen(member);

	for (size_t i = 1; i <= len; i++) {
		if (member[i] != '/' && member[i] != '\0')
			continue;
		if (i < len && member[i + 1] == '\0')
			i = len;
		memcpy(path, member, i);
		path[i] = '\0';
		if (!select_wants(chosen, path, i < len || path[i - 1] == '/'))
			return true;
	}
	return false;
}

/* All that the pattern leaves. */
static void our_choice(const char *pattern, char *to)
{
	*to = '\0';
	select_free(chosen);
	chosen = select_new();
	exclude(pattern);
	for (size_t i = 0; i < MEMBERS; i++)
		if (!is_left_out(members[i]))
			to += put_escaped(to, members[i]);
}

/* Runs a command and returns what it wrote to standard output, "" if it can't. */
static const char *run(const char *const *args)
{
	static char text[16384];
	int out = memfd_create("out", MFD_CLOEXEC);
	pid_t pid;
	ssize_t n;

	assert_true(out >= 0);
	pid = fork();
	if (pid == 0) {
		dup2(out, STDOUT_FILENO);
		execvp(args[0], (char **)(uintptr_t)args);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
	n = pread(out, text, sizeof(text) - 1, 0);
	close(out);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* With /dev/null as its archive GNU tar only lists. */
static const char *tar_choice(const char *pattern)
{
	char option[256];
	const char *args[MEMBERS + 10] = { "tar", "-cvf", "/dev/null",
					   "--quoting-style=escape", option, "--" };
	size_t n = 6;

	snprintf(option, sizeof(option), "--exclude=%s", pattern);
	for (size_t i = 0; i < MEMBERS; i++)
		if (is_top(members[i]))
			args[n++] = members[i];
	return run(args);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Their order doesn't matter, nor slashes at their ends. */
static void sort_lines(const char *text, char *to)
{
	char *lines[MEMBERS + 1], *copy = strdup(text), *at = copy;
	size_t n = 0;

	for (char *line; n <= MEMBERS && (line = strsep(&at, "\n")) && at;) {
		if (path_is_directory(line))
			line[strlen(line) - 1] = '\0';
		lines[n++] = line;
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++)
		to += sprintf(to, "%s\n", lines[i]);
	*to = '\0';
	free(copy);
}

static void need_gnu_tar(void)
{
	const char *const args[] = { "tar", "--version", NULL };

	if (!strstr(run(args), "GNU tar")) {
		puts("# tar is not GNU tar");
		skip();
	}
}

static unsigned differences(const struct row *row)
{
	char left[8192], ours[8192], theirs[8192], shown[512];

	our_choice(row->pattern, left);
	sort_lines(left, ours);
	sort_lines(tar_choice(row->instead ? row->instead : row->pattern), theirs);
	if (strcmp(ours, theirs) == 0)
		return 0;
	put_escaped(shown, row->pattern);
	printf("# pattern %s# ours:\n%s# tar's:\n%s", shown, ours, theirs);
	return 1;
}

static void excludes_are_those_of_gnu_tar(void **state)
{
	unsigned bad = 0;

	(void)state;
	need_gnu_tar();
	put_members();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bad += differences(&rows[i]);
	assert_int_equal(bad, 0);
}

/* The same for `tar -c .`, whose names begin with `./`: patterns that do so, too. */
static void excludes_with_a_dot_are_those_of_gnu_tar(void **state)
{
	static const char *const patterns[] = { "./a", "./b", "./a/b", "./*/b",
						"./c/*", "./none", "./[ab]*",
						"./a/b/c/", "./^a", "./z$" };
	const char *args[] = { "tar", "-cvf", "/dev/null", "--quoting-style=escape",
			       NULL, ".", NULL };
	char option[256], left[8192], ours[8192], theirs[8192], names[8192];

	(void)state;
	need_gnu_tar();
	put_members();
	args[4] = option;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		bool slash = path_is_directory(patterns[i]);
		size_t n = 0;

		snprintf(option, sizeof(option), "--exclude=%.*s",
			 (int)strlen(patterns[i]) - slash, patterns[i]);
		our_choice(patterns[i], left);
		sort_lines(left, ours);
		for (const char *at = strchr(run(args), '\n'); at && at[1];
		     at = strchr(at + 1, '\n'))
			n += (size_t)sprintf(names + n, "%.*s\n",
					     (int)strcspn(at + 3, "\n"), at + 3);
		sort_lines(names, theirs);
		assert_string_equal(ours, theirs);
	}
}

/* ---- names as streams have them ---- */

static void names_may_have_dots_in_front_and_slashes_behind(void **state)
{
	(void)state;
	exclude("a/b");
	exclude("./top");
	for (size_t i = 0; i < 2; i++) {
		assert_false(wants("a/b"));
		assert_false(wants("./a/b"));
		assert_false(wants("././a/b"));
		assert_false(wants(".//a/b"));
		assert_false(wants("/a/b"));
		assert_false(wants("a/b/"));
		assert_false(wants("./x/a/b/c"));
		assert_true(wants("a/bb"));
		assert_true(wants("xa/b"));
		assert_false(wants("top/"));
		assert_false(wants("./top/x"));
		assert_true(wants("./x/top"));
	}
}

static void the_top_itself_is_wanted(void **state)
{
	(void)state;
	exclude("*");
	exclude(".*");
	assert_true(wants("./"));
	assert_true(wants("."));
	assert_false(wants("a"));
	include("a");
	assert_false(wants("./"));
}

/* Bytes, whatever the locale says of them. */
static void names_are_bytes(void **state)
{
	static const char *const locales[] = { "C", "C.UTF-8" };

	(void)state;
	exclude("\xff?");
	exclude("[\xfe]x");
	exclude("\xc3\xa4");
	for (size_t i = 0; i < 2; i++) {
		(void)setlocale(LC_ALL, locales[i]);
		assert_false(wants("\xff\xff"));
		assert_false(wants("\xff" "a"));
		assert_true(wants("\xff"));
		assert_false(wants("\xfex"));
		assert_true(wants("\xffxy"));
		assert_false(wants("\xc3\xa4"));
		assert_true(wants("\xc3\xb6"));
	}
	(void)setlocale(LC_ALL, "C");
}

static void long_names_and_patterns(void **state)
{
	static char name[300000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 200; i < sizeof(name) - 1; i += 200)
		name[i] = '/';
	assert_true(wants(name));
	exclude(name);
	assert_false(wants(name));
	strcpy(name + sizeof(name) - 10, "/");
	assert_true(wants(name));
}

/* ---- including ---- */

static void including_patterns_take_all_below(void **state)
{
	(void)state;
	assert_true(select_is_empty(chosen));
	assert_true(wants("anything"));
	include("a/b");
	include("./c/*.o/");
	include("l\\[1]");
	assert_false(select_is_empty(chosen));
	assert_true(wants("a/b"));
	assert_true(wants("./a/b/"));
	assert_true(wants("a/b/c/d"));
	assert_false(wants("a"));
	assert_false(wants("a/bb"));
	assert_false(wants("x/a/b"));	/* from the begin of a name */
	assert_true(wants("c/x.o"));
	assert_true(wants("c/d/x.o"));
	assert_false(wants("c/x.oo"));
	assert_true(wants("l[1]"));
	assert_false(wants("l1"));
}

static void a_dot_includes_all(void **state)
{
	(void)state;
	include(".");
	assert_true(wants("./"));
	assert_true(wants("a/b"));
	assert_true(wants(".x"));
}

static char unmatched[256];

static void tell_unmatched(void *arg, const char *pattern)
{
	assert_ptr_equal(arg, unmatched);
	strcat(unmatched, pattern);
	strcat(unmatched, ";");
}

static void excludes_come_before_includes(void **state)
{
	(void)state;
	include("a");
	exclude("*.o");
	include("c.o");
	unmatched[0] = '\0';
	assert_true(wants("a/x"));
	assert_false(wants("a/x.o"));
	assert_false(wants("b"));
	assert_false(wants("c.o"));	/* it was there, though */
	assert_int_equal(select_unmatched(chosen, tell_unmatched, unmatched), 0);
}

/* In their order, each as it was given. */
static void what_matched_nothing_is_told(void **state)
{
	(void)state;
	unmatched[0] = '\0';
	assert_int_equal(select_unmatched(chosen, tell_unmatched, unmatched), 0);
	include("./none/");
	include("a");
	include("^x$");
	include("[[:digit:]]");
	include("./none/");
	include("*.c");
	include("none");
	assert_true(wants("a/b.c"));
	assert_false(wants("5x"));
	assert_int_equal(select_unmatched(chosen, tell_unmatched, unmatched), 5);
	assert_string_equal(unmatched,
			    "./none/;^x$;[[:digit:]];./none/;none;");
}

/* ---- files ---- */

static void lines_of_patterns(void **state)
{
	(void)state;
	put_file("list", "*.o\n\n  \na b \t\n[x]\r\nlast");
	assert_int_equal(select_exclude_from(chosen, "list", false), 0);
	assert_false(wants("x.o"));
	assert_false(wants("a b"));
	assert_false(wants("x"));
	assert_false(wants("last"));
	assert_true(wants("other"));
}

static void patterns_that_end_in_nul(void **state)
{
	(void)state;
	put_bytes("list", "a\nb\0c \0", 7);
	assert_int_equal(select_exclude_from(chosen, "list", true), 0);
	assert_false(wants("a\nb"));
	assert_true(wants("a"));
	assert_true(wants("c"));
	assert_false(wants("c "));
}

/* --null says of -X what it can; GNU tar's doesn't speak of it. */
static void patterns_in_lines_though_it_is_not_said(void **state)
{
	(void)state;
	put_file("list", "a \nb\n");
	assert_int_equal(select_exclude_from(chosen, "list", true), 0);
	assert_false(wants("a"));
	assert_false(wants("b"));
	assert_true(wants("c"));
}

static void mere_names_are_found_among_many(void **state)
{
	char name[64], path[64];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "./d%d/n%d/", i % 100, i);
		include(name);
	}
	include("d1/*.c");
	include("a.b/.c");
	for (int i = 0; i < 20000; i++) {
		snprintf(path, sizeof(path), "./d%d//n%d%s", i % 100, i,
			 i % 3 == 0 ? "/below/it/" : "/");
		assert_true(wants(path));
	}
	assert_false(wants("d1/n2"));
	assert_false(wants("d1"));
	assert_false(wants("d1/n1x"));
	assert_true(wants("d1/x.c"));
	assert_true(wants("a.b/./.c/x"));
	assert_false(wants("a.b/c"));
	assert_int_equal(select_unmatched(chosen, tell_unmatched, unmatched), 0);
}

static void lists_of_members(void **state)
{
	(void)state;
	put_file("list", "a\nb \n");
	assert_int_equal(select_include_from(chosen, "list", false), 0);
	assert_true(wants("a/x"));
	assert_true(wants("b "));
	assert_false(wants("b"));
}

static void lists_that_can_not_be_read(void **state)
{
	(void)state;
	assert_int_equal(select_exclude_from(chosen, "none", false), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(select_include_from(chosen, ".", false), -1);
	assert_int_equal(errno, EISDIR);
	put_bytes("list", "a\0b\0", 4);
	assert_int_equal(select_exclude_from(chosen, "list", false), -1);
	assert_int_equal(errno, EILSEQ);
}

/* ---- options ---- */

static const char *refused(const struct opts *opts, bool of_members)
{
	capture_begin(STDERR_FILENO);
	struct select *got = select_from_opts(opts, of_members, NULL, 0);
	const char *told = capture_end();

	assert_null(got);
	assert_int_equal(diag_status(), STATUS_USAGE);
	diag_reset();
	return told;
}

static void options_choose(void **state)
{
	struct choice choices[] = { { "*.o", false }, { "list", true } };
	struct opts opts = { .choices = choices, .nchoices = 2,
			     .files_from = "members", .null = true };
	char *operands[] = { (char[]){ "c" } };

	(void)state;
	put_file("list", "*.a\n");	/* --null is for names */
	put_bytes("members", "a\nb\0b", 5);
	select_free(chosen);
	chosen = select_from_opts(&opts, false, NULL, 0);
	assert_non_null(chosen);
	assert_true(wants("x"));
	assert_false(wants("x.o"));
	assert_false(wants("x.a"));
	opts.file = "archive";
	select_free(chosen);
	chosen = select_from_opts(&opts, true, operands, 1);
	assert_non_null(chosen);
	assert_false(wants("x"));
	assert_true(wants("c/x"));
	assert_false(wants("c/x.o"));
	assert_true(wants("b"));
	assert_true(wants("a\nb"));
}

static void options_that_can_not_be_had(void **state)
{
	struct choice choice = { "none", true };
	struct opts opts = { .choices = &choice, .nchoices = 1 };
	struct opts listed = { .files_from = "none", .file = "archive" };

	(void)state;
	assert_string_equal(refused(&opts, false), "tarpipe: none: reading the list "
						   "(-X): No such file or "
						   "directory\n");
	assert_string_equal(refused(&listed, true), "tarpipe: none: reading the "
						     "list (-T): No such file or "
						     "directory\n");
	put_bytes("nul", "a\0b\0", 4);
	listed.files_from = "nul";
	assert_string_equal(refused(&listed, true),
			    "tarpipe: nul: a name with a NUL byte; names that end in "
			    "NUL are read with --null (-T)\n");
	listed.files_from = "-";
	listed.file = NULL;
	assert_non_null(strstr(refused(&listed, true), "at once"));
	listed.file = "-";
	assert_non_null(strstr(refused(&listed, true), "at once"));
	choice.text = "-";
	assert_non_null(strstr(refused(&opts, true), "at once"));
}

/* ---- no memory ---- */

static void memory_runs_out(void **state)
{
	struct opts opts = { 0 };

	(void)state;
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_null(select_new());
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_string_equal(refused(&opts, false),
			    "tarpipe: patterns: Cannot allocate memory\n");
	fault_set(MALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(select_exclude(chosen, "a"), -1);
	fault_set(MALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(select_include(chosen, "a"), -1);
	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(select_include(chosen, "a"), -1);
	faults_clear();
	/* its table grows */
	for (int i = 0; i < 32; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		include(name);
	}
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(select_include(chosen, "a"), -1);
	faults_clear();
	include("a");
	assert_true(wants("a"));
	select_free(chosen);
	chosen = select_new();
	assert_true(select_is_empty(chosen));
	exclude("a");
	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_false(wants("a/"));
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(excludes_are_those_of_gnu_tar),
		T(excludes_with_a_dot_are_those_of_gnu_tar),
		T(names_may_have_dots_in_front_and_slashes_behind),
		T(the_top_itself_is_wanted),
		T(names_are_bytes),
		T(long_names_and_patterns),
		T(including_patterns_take_all_below),
		T(a_dot_includes_all),
		T(excludes_come_before_includes),
		T(what_matched_nothing_is_told),
		T(lines_of_patterns),
		T(patterns_that_end_in_nul),
		T(patterns_in_lines_though_it_is_not_said),
		T(mere_names_are_found_among_many),
		T(lists_of_members),
		T(lists_that_can_not_be_read),
		T(options_choose),
		T(options_that_can_not_be_had),
		T(memory_runs_out),
	};
#undef T

	setenv("LC_ALL", "C", 1);	/* tar's ? is a byte then */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
