/* SPDX-License-Identifier: BSD-2-Clause */
/* -t and --to-stdout, between an intake and a selection that do as they are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "instream.h"
#include "intake.h"
#include "list.h"
#include "select.h"
#include "tarbytes.h"

/* ---- what surrounds it ---- */

enum failing { NOTHING, SELECT, INTAKE, RING, INSTREAM, FIRST_THREAD,
	       SECOND_THREAD };

static struct {
	struct tarbytes stream;
	enum failing failing;
	unsigned threads;
	const char *unwanted;	/* the one name */
	const char *unmatched;
	unsigned opened, freed;
	int some;		/* something to point at */
} around;

WRAPPED(struct intake *, intake_open, const struct opts *opts)
{
	(void)opts;
	if (around.failing == INTAKE) {
		diag_fail(STATUS_USAGE, "s.tar", 0, "refused");
		return NULL;
	}
	around.opened++;
	return (struct intake *)&around.some;
}

WRAPPED(void, intake_free, struct intake *intake)
{
	around.freed += intake != NULL;
}

WRAPPED(const char *, intake_shown, const struct intake *intake)
{
	(void)intake;
	return "s.tar";
}

WRAPPED(bool, intake_is_tape, const struct intake *intake)
{
	(void)intake;
	return false;
}

WRAPPED(void, intake_run, struct intake *intake, struct ring *ring, bool drain)
{
	void *to;

	(void)intake, (void)drain;
	for (size_t at = 0; at < around.stream.len; at += 512) {
		to = ring_reserve(ring, 512);
		if (!to)
			break;
		memcpy(to, around.stream.bytes + at, 512);
		ring_commit(ring, 512);
	}
	ring_close(ring);
}

WRAPPED(struct select *, select_from_opts, const struct opts *with, bool members,
	char *const *operands, int noperands)
{
	assert_true(members);
	if (around.failing == SELECT) {
		diag_fail(STATUS_USAGE, NULL, ENOMEM, "patterns");
		return NULL;
	}
	if (with->nchoices > 0)
		around.unwanted = with->choices[0].text;
	if (noperands > 0)
		around.unmatched = operands[0];
	return (struct select *)&around.some;
}

WRAPPED(void, select_free, struct select *select)
{
	(void)select;
}

WRAPPED(bool, select_wants, struct select *select, const char *path, bool directory)
{
	(void)select, (void)directory;
	return !around.unwanted || strcmp(path, around.unwanted) != 0;
}

WRAPPED(void, select_tell_unmatched, struct select *select)
{
	(void)select;
	if (around.unmatched)
		diag_fail(STATUS_PARTIAL, around.unmatched, 0, "unmatched");
}

WRAPPED(struct ring *, ring_new, const struct ring_config *config)
{
	errno = ENOMEM;
	return around.failing == RING ? NULL : __real_ring_new(config);
}

WRAPPED(struct instream *, instream_new, const struct instream_config *config)
{
	errno = ENOMEM;
	return around.failing == INSTREAM ? NULL : __real_instream_new(config);
}

WRAPPED(int, thread_start, struct thread *thread, const char *name,
	void (*run)(void *), void *arg)
{
	around.threads++;
	if (around.failing == FIRST_THREAD + around.threads - 1) {
		errno = EAGAIN;
		return -1;
	}
	return __real_thread_start(thread, name, run, arg);
}

/* ---- a run ---- */

static char output[65536];		/* up to a NUL */
static const char *messages;
static struct opts opts;

static int go(void)
{
	int result;

	diag_reset();
	around.threads = around.opened = around.freed = 0;
	capture_begin(STDOUT_FILENO);
	int saved = capture.saved, file = capture.file;
	capture_begin(STDERR_FILENO);
	result = list_run(&opts);
	messages = capture_end();
	char *copy = strdup(messages);
	capture.fd = STDOUT_FILENO;
	capture.saved = saved;
	capture.file = file;
	strcpy(output, capture_end());
	strcpy(capture.text, copy);
	free(copy);
	return result;
}

static int setup(void **state)
{
	(void)state;
	alarm(60);
	memset(&around, 0, sizeof(around));
	opts = (struct opts){ .mode = MODE_LIST, .memory = 1 << 20, .low = 100,
			      .block = 10240 };
	tb_file(&around.stream, "d/a", "hello");
	tb_file(&around.stream, "d/b", "world");
	tb_header(&around.stream, "d/h", '1', 0, "d/a");
	tb_header(&around.stream, "d", '5', 0, NULL);
	tb_end(&around.stream);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tb_free(&around.stream);
	return 0;
}

/* ---- tests ---- */

static void names_are_listed(void **state)
{
	(void)state;
	assert_int_equal(go(), 0);
	assert_string_equal(output, "d/a\nd/b\nd/h\nd\n");
	assert_string_equal(messages, "");
	assert_int_equal(around.freed, 1);
	opts.verbose = 1;
	opts.strip = 1;
	assert_int_equal(go(), 0);
	assert_non_null(strstr(output, " a\n"));
	assert_non_null(strstr(output, " h link to a\n"));
	assert_null(strstr(output, " d\n"));
}

static void what_is_not_wanted_is_left_out(void **state)
{
	struct choice choice = { "d/b", false };
	char operand[] = "nosuch", *operands[] = { operand };

	(void)state;
	opts.choices = &choice;
	opts.nchoices = 1;
	opts.operands = operands;
	opts.noperands = 1;
	assert_int_equal(go(), 0);
	assert_string_equal(output, "d/a\nd/h\nd\n");
	assert_string_equal(messages,
			    "tarpipe: nosuch: unmatched\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	around.stream.len -= 700;	/* cut: who knows what was in it? */
	go();
	assert_null(strstr(messages, "nosuch"));
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void bytes_come_with_holes_as_zeros(void **state)
{
	static const char records[] = "22 GNU.sparse.major=1\n"
		"22 GNU.sparse.minor=0\n22 GNU.sparse.name=sp\n"
		"30 GNU.sparse.realsize=200000\n";
	static const char map[] = "1\n100000\n5\n";

	(void)state;
	around.stream.len -= 1024;
	tb_header(&around.stream, "x", 'x', strlen(records), NULL);
	tb_body(&around.stream, records, strlen(records));
	tb_header(&around.stream, "sp", '0', 517, NULL);
	tb_body(&around.stream, map, strlen(map));
	tb_body(&around.stream, "holes", 5);
	tb_end(&around.stream);
	opts.mode = MODE_EXTRACT;
	opts.to_stdout = true;
	opts.stats = true;
	assert_int_equal(go(), 0);
	assert_string_equal(output, "helloworld");	/* then there are zeros */
	assert_non_null(strstr(messages, "tarpipe: 5 entries, "));
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_cut_file_is_told(void **state)
{
	(void)state;
	around.stream.len = 512;
	opts.mode = MODE_EXTRACT;
	assert_int_equal(go(), 0);
	assert_string_equal(messages, "tarpipe: s.tar: cut off at byte 512, "
			    "within d/a\n");
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void what_fails_at_the_start_is_told_once(void **state)
{
	static const struct { enum failing failing; const char *message; } cases[] = {
		{ SELECT, "patterns: Cannot allocate memory" },
		{ INTAKE, "s.tar: refused" },
		{ RING, "mapping a ring of 1048576 bytes: Cannot allocate memory" },
		{ INSTREAM, "setting up the run: Cannot allocate memory" },
		{ FIRST_THREAD, "starting a thread: Resource temporarily unavailable" },
		{ SECOND_THREAD, "starting a thread: Resource temporarily unavailable" },
	};
	char line[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		around.failing = cases[i].failing;
		assert_int_equal(go(), 0);
		snprintf(line, sizeof(line), "tarpipe: %s\n", cases[i].message);
		assert_string_equal(messages, line);
		assert_true(diag_status() >= STATUS_STOPPED);
		assert_string_equal(output, "");
		assert_int_equal(around.freed, around.opened);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_listed),
		TEST(what_is_not_wanted_is_left_out),
		TEST(bytes_come_with_holes_as_zeros),
		TEST(a_cut_file_is_told),
		TEST(what_fails_at_the_start_is_told_once),
	};

	return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
