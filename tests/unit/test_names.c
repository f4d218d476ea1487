/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of names: what comes of them, piece by piece, and what goes wrong. */
#include <errno.h>
#include <fcntl.h>
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
#include "diag.h"
#include "faults.h"
#include "names.h"
#include "tree.h"

/* read comes by the name of pread: there is no other in these lists. */
WRAPPED(ssize_t, read, int fd, void *to, size_t size)
{
	return fault_due(PREAD, NULL, &size) ? -1 : __real_read(fd, to, size);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(n, size);
}

static struct names *names;

static int setup(void **state)
{
	faults_clear();
	names = NULL;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	names_close(names);
	diag_reset();
	return tree_teardown(state);
}

static void open_list(const void *bytes, size_t len, bool null)
{
	put_bytes("list", bytes, len);
	names = names_open("list", null);
	assert_non_null(names);
}

static void assert_next(const char *want)
{
	const char *got = names_next(names);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void assert_end(int err)
{
	for (int i = 0; i < 2; i++) {
		errno = EDOM;
		assert_null(names_next(names));
		assert_int_equal(errno, err);
	}
}

static void lines_are_names(void **state)
{
	(void)state;
	open_list(" a \n\n\n-b\\n\nc\r\nlast", 18, false);
	assert_next(" a ");
	assert_next("-b\\n");
	assert_next("c\r");
	assert_next("last");
	assert_end(0);
}

static void names_may_end_in_nul(void **state)
{
	(void)state;
	open_list("a\nb\0\0c\0", 7, true);
	assert_next("a\nb");
	assert_next("c");
	assert_end(0);
}

static void an_empty_list(void **state)
{
	(void)state;
	open_list("", 0, false);
	assert_end(0);
	names_close(names);
	open_list("\n\n", 2, false);
	assert_end(0);
}

/* A byte at a time, interrupted. */
static void pieces_are_put_together(void **state)
{
	(void)state;
	open_list("abc\ndef", 7, false);
	fault_set(PREAD, (struct fault){ .most = 1, .times = EVERY_TIME });
	assert_next("abc");
	assert_false(names_ready(names));
	assert_next("def");
	assert_end(0);
	names_close(names);
	open_list("abc\nd\n", 6, false);
	fault_set(PREAD, (struct fault){ .err = EINTR });
	assert_next("abc");
	assert_int_equal(fault_hits(PREAD), 1);
	assert_true(names_ready(names));
	fault_set(PREAD, (struct fault){ .err = EAGAIN });
	assert_next("d");
	assert_end(0);
	assert_int_equal(fault_hits(PREAD), 1);
}

static void many_names(void **state)
{
	enum { MANY = 50000 };
	FILE *list = fopen("list", "w");
	char want[64];

	(void)state;
	assert_non_null(list);
	for (int i = 0; i < MANY; i++)
		fprintf(list, "%0*d\n", i % 40 + 1, i);
	fclose(list);
	names = names_open("list", false);
	assert_non_null(names);
	for (int i = 0; i < MANY; i++) {
		snprintf(want, sizeof(want), "%0*d", i % 40 + 1, i);
		assert_next(want);
	}
	assert_end(0);
}

static void a_name_may_be_long(void **state)
{
	char *bytes = malloc(2 * NAMES_LENGTH_MAX);

	(void)state;
	memset(bytes, 'x', 2 * NAMES_LENGTH_MAX);
	bytes[500000] = '\n';
	open_list(bytes, 500004, false);
	bytes[500000] = '\0';
	assert_next(bytes);
	assert_next("xxx");
	assert_end(0);
	names_close(names);
	bytes[500000] = 'x';
	open_list(bytes, 2 * NAMES_LENGTH_MAX, false);	/* no end in sight */
	free(bytes);
	assert_end(ENAMETOOLONG);
}

/* A list for --null that is read without: its first name is not all there is. */
static void nul_in_a_line_is_an_error(void **state)
{
	(void)state;
	open_list("ok\na\0b\0", 7, false);
	assert_next("ok");
	assert_null(names_next(names));
	assert_int_equal(errno, EILSEQ);
	assert_non_null(strstr(names_failure(EILSEQ), "--null"));
	assert_string_equal(names_failure(EIO), "reading the list");
}

static void a_list_that_breaks_off(void **state)
{
	(void)state;
	open_list("a\nb", 3, false);
	assert_next("a");
	fault_set(PREAD, (struct fault){ .err = EIO, .times = EVERY_TIME });
	assert_end(EIO);
}

static void standard_input(void **state)
{
	int before = dup(STDIN_FILENO), in;

	(void)state;
	put_file("list", "a\n");
	in = open("list", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
	close(in);
	names = names_open("-", false);
	assert_non_null(names);
	assert_string_equal(names_file(names), "standard input");
	assert_next("a");
	names_close(names);
	names = NULL;
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	/* Closed at the start: what stands there now can't be read. */
	in = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
	close(in);
	assert_null(names_open("-", false));
	assert_int_equal(errno, EBADF);
	dup2(before, STDIN_FILENO);
	close(before);
}

static void what_can_not_be_opened(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	assert_null(names_open("none", false));
	assert_int_equal(errno, ENOENT);
	assert_null(names_open(".", false));
	assert_int_equal(errno, EISDIR);
	fault_set(CALLOC, (struct fault){ .err = ENOMEM });
	assert_null(names_open(".", false));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(open_descriptors(), before);
}

static void no_memory_for_a_name(void **state)
{
	(void)state;
	open_list("a\n", 2, false);
	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_null(names_next(names));
	assert_int_equal(errno, ENOMEM);
	names_close(NULL);
}

static void options_name_a_list(void **state)
{
	struct opts opts = { .null = true };

	(void)state;
	assert_int_equal(names_from_opts(&names, &opts), 0);
	assert_null(names);
	put_bytes("list", "a\nb\0", 4);
	opts.files_from = "list";
	assert_int_equal(names_from_opts(&names, &opts), 0);
	assert_non_null(names);
	assert_string_equal(names_file(names), "list");
	assert_next("a\nb");
	names_close(names);
	opts.files_from = "none";
	capture_begin(STDERR_FILENO);
	int got = names_from_opts(&names, &opts);
	assert_string_equal(capture_end(), "tarpipe: none: opening the list (-T): No "
					   "such file or directory\n");
	assert_int_equal(got, -1);
	assert_null(names);
	assert_int_equal(diag_status(), STATUS_USAGE);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(lines_are_names),
		T(names_may_end_in_nul),
		T(an_empty_list),
		T(pieces_are_put_together),
		T(many_names),
		T(a_name_may_be_long),
		T(nul_in_a_line_is_an_error),
		T(a_list_that_breaks_off),
		T(standard_input),
		T(what_can_not_be_opened),
		T(no_memory_for_a_name),
		T(options_name_a_list),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
