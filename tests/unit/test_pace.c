/* SPDX-License-Identifier: BSD-2-Clause */
/* So many bytes a second, by a clock that goes as the test says. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "pace.h"

#include "faults.h"

#define SECOND UINT64_C(1000000000)

static uint64_t now;
static unsigned waits;

WRAPPED(uint64_t, clock_ns, void)
{
	return now;
}

WRAPPED(void, clock_wait, uint64_t moment)
{
	waits++;
	if (moment > now)
		now = moment;
}

static int setup(void **state)
{
	(void)state;
	now = 1000 * SECOND;
	waits = 0;
	return 0;
}

static void no_rate_is_no_wait(void **state)
{
	struct pace pace;

	(void)state;
	pace_init(&pace, 0);
	assert_true(pace_step(&pace) == SIZE_MAX);
	pace_wait(&pace, UINT64_MAX);
	assert_int_equal(waits, 0);
}

static void bytes_take_their_time(void **state)
{
	struct pace pace;
	uint64_t start = now;

	(void)state;
	pace_init(&pace, 1000000);
	assert_int_equal(pace_step(&pace), 50000);
	for (int i = 0; i < 100; i++)
		pace_wait(&pace, 50000);
	assert_int_equal((now - start) / 1000, 5 * SECOND / 1000);
}

static void slow_rates_go_byte_by_byte(void **state)
{
	struct pace pace;
	uint64_t start = now;

	(void)state;
	pace_init(&pace, 3);
	assert_int_equal(pace_step(&pace), 1);
	for (int i = 0; i < 6; i++)
		pace_wait(&pace, 1);
	assert_in_range((now - start) / 1000000, 1990, 2010);
}

/* After a rest of ten seconds there is no burst of ten seconds' bytes. */
static void a_rest_is_not_caught_up(void **state)
{
	struct pace pace;
	uint64_t start;

	(void)state;
	pace_init(&pace, 1000);
	now += 10 * SECOND;
	start = now;
	pace_wait(&pace, 1000);
	assert_in_range((now - start) / 1000000, 949, 1000);
}

static void absurd_numbers_do_not_wrap(void **state)
{
	struct pace pace;
	uint64_t start = now;

	(void)state;
	pace_init(&pace, 1);
	pace_wait(&pace, UINT64_MAX);
	assert_true(now - start > 1000 * SECOND);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_rate_is_no_wait),
		TEST(bytes_take_their_time),
		TEST(slow_rates_go_byte_by_byte),
		TEST(a_rest_is_not_caught_up),
		TEST(absurd_numbers_do_not_wrap),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
