/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals as something to wait for. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "signals.h"

/* Under nohup they would be ignored. */
static int make(void **state)
{
	(void)state;
	signal(SIGHUP, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	return signals_open();
}

static int unmake(void **state)
{
	(void)state;
	signals_close();
	return 0;
}

static void a_signal_is_waited_for(void **state)
{
	(void)state;
	raise(SIGTERM);
	assert_int_equal(signals_wait(), SIGTERM);
	signals_done();
	assert_int_equal(signals_wait(), 0);
}

/* A thread that ends after the signal must not write into another one's file. */
static void who_is_done_late_writes_nowhere_else(void **state)
{
	struct stat st;
	FILE *file;

	(void)state;
	raise(SIGHUP);
	assert_int_equal(signals_wait(), SIGHUP);
	signals_default();
	file = tmpfile();
	assert_non_null(file);
	signals_done();
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(st.st_size, 0);
	fclose(file);
	assert_int_equal(signals_wait(), 0);
}

static void then_a_signal_kills(void **state)
{
	struct sigaction action;

	(void)state;
	signals_default();
	assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
	assert_true(action.sa_handler == SIG_DFL);
}

/* What a thread hangs in need not come back; the time is only its bound. */
static void who_hangs_dies_of_it_all_the_same(void **state)
{
	pid_t child;
	int got;

	(void)state;
	child = fork();
	if (child == 0) {
		signals_hurry(SIGHUP);
		alarm(10);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &got, 0), child);
	assert_true(WIFSIGNALED(got));
	assert_int_equal(WTERMSIG(got), SIGHUP);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_signal_is_waited_for),
		TEST(who_is_done_late_writes_nowhere_else),
		TEST(then_a_signal_kills),
		TEST(who_hangs_dies_of_it_all_the_same),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
