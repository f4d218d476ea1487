/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "order.h"

static struct order *order;

static int setup(void **state)
{
	(void)state;
	order = order_new(4, 16);
	return order ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	order_free(order);
	return 0;
}

static uint64_t key(const char *name)
{
	return order_key(ORDER_ROOT, name, strlen(name));
}

static void a_name_waits_for_the_earlier_batch(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	assert_false(order_meet(order, key("a")));
	order_begin(order, 2, 1);
	assert_false(order_meet(order, key("b")));
	assert_true(order_meet(order, key("a")));
	/* The newest that has it counts from now on. */
	order_begin(order, 3, 2);
	assert_true(order_meet(order, key("a")));
}

static void within_a_batch_nothing_waits(void **state)
{
	(void)state;
	order_begin(order, 7, 7);
	assert_false(order_meet(order, key("a")));
	assert_false(order_meet(order, key("a")));
	order_note(order, key("a"), 0);
	assert_false(order_meet(order, key("a")));
}

static void what_is_done_is_not_waited_for(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	(void)order_meet(order, key("a"));
	order_begin(order, 2, 2);
	assert_false(order_meet(order, key("a")));
	order_begin(order, 9, 3);
	assert_false(order_meet(order, key("a")));
}

static void what_was_noted_is_waited_for(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	order_note(order, key("dir"), 0);
	order_begin(order, 2, 1);
	assert_true(order_meet(order, key("dir")));
}

/* Links to one file: side by side, after it, and before what replaces it. */
static void users_wait_for_who_has_it_only(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	assert_false(order_meet(order, key("f")));
	assert_false(order_use(order, key("f")));
	order_begin(order, 2, 1);
	assert_true(order_use(order, key("f")));
	order_begin(order, 3, 2);
	assert_false(order_use(order, key("f")));
	order_begin(order, 4, 2);
	assert_false(order_use(order, key("f")));
	order_begin(order, 5, 3);
	assert_true(order_meet(order, key("f")));
	order_begin(order, 6, 5);
	assert_true(order_use(order, key("f")));
	order_begin(order, 7, 6);
	assert_true(order_meet(order, key("f")));
}

/* A batch that didn't have to wait for them must not make them forgotten. */
static void earlier_users_are_not_forgotten(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	assert_false(order_use(order, key("f")));
	order_begin(order, 2, 1);
	assert_false(order_use(order, key("f")));
	assert_true(order_meet(order, key("f")));
}

static void what_is_noted_makes_nothing_forgotten(void **state)
{
	(void)state;
	order_begin(order, 1, 1);
	assert_false(order_meet(order, key("dir")));
	order_begin(order, 2, 1);
	order_note(order, key("dir"), 0);
	assert_true(order_meet(order, key("dir")));
	order_begin(order, 3, 3);
	assert_false(order_meet(order, key("other")));
	order_begin(order, 4, 3);
	order_note(order, key("other"), 0);
	assert_true(order_use(order, key("other")));
}

static void an_earlier_batch_can_be_noted(void **state)
{
	(void)state;
	order_begin(order, 5, 4);
	order_note(order, key("dir"), 4);
	assert_true(order_meet(order, key("dir")));
	order_begin(order, 7, 7);
	order_note(order, key("dir"), 6);
	assert_false(order_meet(order, key("dir")));
}

static void a_path_is_its_components(void **state)
{
	uint64_t a = key("a"), b = order_key(a, "b", 1);

	(void)state;
	assert_true(order_path("a") == a);
	assert_true(order_path("a/b") == b);
	assert_true(order_path("a/bc") != b);
	assert_true(order_path("ab") != b);
	assert_true(order_path("b/a") != b);
	assert_true(order_path("") == ORDER_ROOT);
}

/* More names than there is room for: it forgets none, it waits. */
static void too_many_names_are_waited_for(void **state)
{
	char name[16];

	(void)state;
	order_begin(order, 1, 1);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		(void)order_meet(order, key(name));
	}
	order_begin(order, 2, 1);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_true(order_meet(order, key(name)));
	}
	/* When both are done it is as good as new. */
	order_begin(order, 3, 3);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_false(order_meet(order, key(name)));
	}
}

/* Against a list of all that came, with batches that end in any order. */
static void it_never_says_no_in_spite_of_it(void **state)
{
	enum { BATCHES = 300, NAMES = 20, DIFFERENT = 90 };
	static uint64_t newest[DIFFERENT];
	uint64_t oldest = 1;
	unsigned in_vain = 0;
	char name[16];

	(void)state;
	srand(1);
	memset(newest, 0, sizeof(newest));
	for (uint64_t batch = 1; batch <= BATCHES; batch++) {
		if (rand() % 2 && oldest < batch)
			oldest += (uint64_t)rand() % (batch - oldest + 1);
		if (batch - oldest > 3)
			oldest = batch - 3;
		order_begin(order, batch, oldest);
		for (int i = 0; i < NAMES; i++) {
			int n = rand() % DIFFERENT;
			bool must, says;

			snprintf(name, sizeof(name), "n%d", n);
			must = newest[n] >= oldest && newest[n] != batch &&
			       newest[n] != 0;
			says = order_meet(order, key(name));
			if (must)
				assert_true(says);
			else
				in_vain += says;
			newest[n] = batch;
		}
	}
	assert_true(in_vain < BATCHES * NAMES / 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_waits_for_the_earlier_batch),
		TEST(within_a_batch_nothing_waits),
		TEST(what_is_done_is_not_waited_for),
		TEST(what_was_noted_is_waited_for),
		TEST(users_wait_for_who_has_it_only),
		TEST(earlier_users_are_not_forgotten),
		TEST(what_is_noted_makes_nothing_forgotten),
		TEST(an_earlier_batch_can_be_noted),
		TEST(a_path_is_its_components),
		TEST(too_many_names_are_waited_for),
		TEST(it_never_says_no_in_spite_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
