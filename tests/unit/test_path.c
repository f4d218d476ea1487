/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings: texts that grow, paths, words for a shell, hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "host.h"
#include "path.h"
#include "text.h"

static void a_text_grows(void **state)
{
	struct text text;

	(void)state;
	text_init(&text);
	assert_string_equal(text.bytes, "");
	for (int i = 0; i < 10000; i++)
		text_put(&text, "0123456789");
	assert_int_equal(text.len, 100000);
	assert_int_equal(strlen(text.bytes), 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(text.bytes[i], '0' + i % 10);
	text_destroy(&text);
}

/* --- paths --- */

static void assert_owned(char *got, const char *want)
{
	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

static void slashes_are_stripped(void **state)
{
	(void)state;
	assert_owned(path_strip("a", false), "a");
	assert_owned(path_strip("a/", false), "a");
	assert_owned(path_strip("a///", false), "a");
	assert_owned(path_strip("/", false), "/");
	assert_owned(path_strip("///", false), "/");
	assert_owned(path_strip("/a/b/", false), "/a/b");
	assert_owned(path_strip("a/.", false), "a/.");
	assert_owned(path_strip("a/./", false), "a/.");
	assert_owned(path_strip("", false), "");
}

static void assert_rest(const char *path, unsigned n, const char *want)
{
	const char *got = path_strip_components(path, n);

	if (want)
		assert_string_equal(got ? got : "(nothing)", want);
	else
		assert_null(got);
}

static void components_are_cut_off(void **state)
{
	(void)state;
	assert_rest("a/b/c", 0, "a/b/c");
	assert_rest("a/b/c", 1, "b/c");
	assert_rest("a/b/c", 2, "c");
	assert_rest("a/b/c", 3, NULL);
	assert_rest("a/b/c", 65535, NULL);
	assert_rest("a//b///c/", 2, "c/");
	assert_rest("a/b/", 1, "b/");
	assert_rest("a/", 1, NULL);
	assert_rest("a", 1, NULL);
	assert_rest("/a/b", 1, "b");
	assert_rest("/a/b", 0, "/a/b");
	/* as with tar */
	assert_rest("./a/b", 1, "a/b");
	assert_rest("./", 1, NULL);
	assert_rest("", 0, NULL);
	assert_rest("", 2, NULL);
}

static void dots_are_stripped_where_asked_for(void **state)
{
	(void)state;
	assert_owned(path_strip("a/.", true), "a");
	assert_owned(path_strip("a/././/", true), "a");
	assert_owned(path_strip("./", true), ".");
	assert_owned(path_strip(".", true), ".");
	assert_owned(path_strip("..", true), "..");
	assert_owned(path_strip("a/..", true), "a/..");
	assert_owned(path_strip("a.", true), "a.");
	assert_owned(path_strip("/.", true), "/");
}

static void paths_come_apart(void **state)
{
	(void)state;
	assert_string_equal(path_base("a"), "a");
	assert_string_equal(path_base("a/b"), "b");
	assert_string_equal(path_base("/b"), "b");
	assert_string_equal(path_base("/"), "/");
	assert_owned(path_parent("a"), ".");
	assert_owned(path_parent("a/b"), "a");
	assert_owned(path_parent("a//b"), "a");
	assert_owned(path_parent("/b"), "/");
	assert_owned(path_parent("/a/b"), "/a");
	assert_owned(path_join("a", "b"), "a/b");
	assert_owned(path_join("/", "b"), "/b");
	assert_true(path_has_name("a/b"));
	assert_true(path_has_name("..."));
	assert_false(path_has_name("a/.."));
	assert_false(path_has_name("."));
	assert_false(path_has_name("/"));
}

/* --- words for a shell --- */

/* What a shell makes of the word, to be freed. */
static char *ask_shell(const char *shell, const char *quoted)
{
	char *command = NULL, *got = calloc(1, 4096);

	assert_true(asprintf(&command, "%s -c \"$(cat <<'E O F'\n"
			     "printf %%s %s\nE O F\n)\"", shell, quoted) > 0);
	FILE *in = popen(command, "r");
	assert_non_null(in);
	got[fread(got, 1, 4095, in)] = '\0';
	pclose(in);
	free(command);
	return got;
}

static void assert_quoted(const char *word, const char *want, const char *shell)
{
	struct text text;

	text_init(&text);
	path_put_quoted(&text, word);
	assert_string_equal(text.bytes, want);
	char *got = shell ? ask_shell(shell, text.bytes) : strdup(word);
	assert_string_equal(got, word);
	free(got);
	text_destroy(&text);
}

static void words_are_quoted_for_a_shell(void **state)
{
	const char *bash = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : NULL;

	(void)state;
	assert_quoted("a/b-c_d.e", "a/b-c_d.e", "sh");
	assert_quoted("", "''", "sh");
	assert_quoted("a b", "'a b'", "sh");
	assert_quoted("~", "'~'", "sh");
	assert_quoted("$HOME;`id`*", "'$HOME;`id`*'", "sh");
	assert_quoted("it's", "'it'\\''s'", "sh");
	assert_quoted("a\\b", "'a\\b'", "sh");
	assert_quoted("gr\303\274n", "'gr\303\274n'", "sh");
	assert_quoted("a\nb'c\\", "$'a\\nb\\'c\\\\'", bash);
	assert_quoted("\374\033", "$'\\374\\e'", bash);
}

static void assert_operand(const char *word, bool slash, const char *want)
{
	struct text text;

	text_init(&text);
	path_put_operand(&text, word, slash);
	assert_string_equal(text.bytes, want);
	text_destroy(&text);
}

static void operands_have_one_slash_or_none(void **state)
{
	(void)state;
	assert_operand("a", true, "a/");
	assert_operand("a//", true, "a/");
	assert_operand("a//", false, "a");
	assert_operand("/", true, "/");
	assert_operand("/", false, "/");
	assert_operand("a b/", true, "'a b'/");
	assert_operand("-rf", false, "./-rf");
}

/* --- hosts --- */

static void a_colon_before_the_first_slash_is_a_host(void **state)
{
	(void)state;
	assert_string_equal(host_colon("h:p"), ":p");
	assert_string_equal(host_colon("u@h:"), ":");
	assert_string_equal(host_colon("h:/a:b"), ":/a:b");
	assert_string_equal(host_colon("rsync://h/m"), "://h/m");
	assert_non_null(host_colon("[::1]:x"));
	assert_non_null(host_colon(":x"));
	assert_null(host_colon("a"));
	assert_null(host_colon("./a:b"));
	assert_null(host_colon("/a:b"));
	assert_null(host_colon("a/b:c"));
	assert_null(host_colon("[a/b]:c"));
	assert_null(host_colon("../a:b"));
}

static void assert_pipe(const char *src, const char *dst, bool by_name,
			const char *want)
{
	struct text text;

	text_init(&text);
	host_put_pipe(&text, src, dst, by_name);
	assert_string_equal(text.bytes, want);
	text_destroy(&text);
}

static void the_pipe_goes_the_right_way(void **state)
{
	(void)state;
	assert_pipe("src", "host:dst", false,
		    "tar -C src -cf - . | ssh host tar -C dst -xpf -");
	assert_pipe("u@host:src/", "dst/", false,
		    "ssh u@host tar -C src -cf - . | tar -C dst -xpf -");
	assert_pipe("a:src", "b:", false,
		    "ssh a tar -C src -cf - . | ssh b tar -C . -xpf -");
	assert_pipe("a/b", "h:~/dst", true,
		    "tar -C a -cf - b | ssh h tar -C dst -xpf -");
	assert_pipe("h:b", "dst", true,
		    "ssh h tar -C . -cf - b | tar -C dst -xpf -");
	assert_pipe("../..", "h:x", true,
		    "tar -C ../.. -cf - . | ssh h tar -C x -xpf -");
	assert_pipe("/", "h:/", true,
		    "tar -C / -cf - . | ssh h tar -C / -xpf -");
	assert_pipe("a/-x", "h:d", true,
		    "tar -C a -cf - ./-x | ssh h tar -C d -xpf -");
}

static void the_far_shell_needs_quotes_of_its_own(void **state)
{
	(void)state;
	assert_pipe("my src", "host:my dst", false,
		    "tar -C 'my src' -cf - . | "
		    "ssh host tar -C ''\\''my dst'\\''' -xpf -");
}

static void what_ssh_misreads_is_not_given_to_it(void **state)
{
	static const char general[] =
		"tar -C SRC -cf - . | ssh HOST tar -C DST -xpf -";

	(void)state;
	assert_pipe("src", "-oProxyCommand=x:dst", false, general);
	assert_pipe(":src", "dst", false, general);
	assert_pipe("[::1]:src", "dst", false, general);
	assert_pipe("u@[::1]:src", "dst", false, general);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_grows),
		cmocka_unit_test(slashes_are_stripped),
		cmocka_unit_test(components_are_cut_off),
		cmocka_unit_test(dots_are_stripped_where_asked_for),
		cmocka_unit_test(paths_come_apart),
		cmocka_unit_test(words_are_quoted_for_a_shell),
		cmocka_unit_test(operands_have_one_slash_or_none),
		cmocka_unit_test(a_colon_before_the_first_slash_is_a_host),
		cmocka_unit_test(the_pipe_goes_the_right_way),
		cmocka_unit_test(the_far_shell_needs_quotes_of_its_own),
		cmocka_unit_test(what_ssh_misreads_is_not_given_to_it),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
