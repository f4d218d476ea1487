/* SPDX-License-Identifier: BSD-2-Clause */
/* Users and groups by name. */
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <cmocka.h>

#include "faults.h"
#include "owner.h"

/* The databases, as a test wants them. */
static unsigned asked;

WRAPPED(struct passwd *, getpwuid, uid_t uid)
{
	static char name[] = "alice";
	static struct passwd alice = { .pw_name = name };

	asked++;
	return uid == 1000 ? &alice : NULL;
}

WRAPPED(struct group *, getgrgid, gid_t gid)
{
	static char name[] = "staff";
	static struct group staff = { .gr_name = name };

	asked++;
	return gid == 1000 ? &staff : NULL;
}

WRAPPED(struct passwd *, getpwnam, const char *name)
{
	static struct passwd alice = { .pw_uid = 2000 };

	asked++;
	return strcmp(name, "alice") == 0 ? &alice : NULL;
}

WRAPPED(struct group *, getgrnam, const char *name)
{
	static struct group staff = { .gr_gid = 3000 };

	asked++;
	return strcmp(name, "staff") == 0 ? &staff : NULL;
}

static int make(void **state)
{
	asked = 0;
	*state = owners_new();
	return *state ? 0 : -1;
}

static int unmake(void **state)
{
	owners_free(*state);
	return 0;
}

static void a_number_is_named_the_first_time(void **state)
{
	const char *name = NULL;

	assert_true(owners_meet(*state, OWNER_USER, 1000, &name));
	assert_string_equal(name, "alice");
	name = NULL;
	assert_false(owners_meet(*state, OWNER_USER, 1000, &name));
	assert_string_equal(name, "alice");
}

static void users_and_groups_are_two_things(void **state)
{
	const char *name = NULL;

	assert_true(owners_meet(*state, OWNER_USER, 1000, &name));
	assert_true(owners_meet(*state, OWNER_GROUP, 1000, &name));
	assert_string_equal(name, "staff");
	owners_learn(*state, OWNER_USER, 5, "alice");
	assert_int_equal(owners_map(*state, OWNER_USER, 5), 2000);
	assert_int_equal(owners_map(*state, OWNER_GROUP, 5), 5);
	owners_learn(*state, OWNER_GROUP, 5, "staff");
	assert_int_equal(owners_map(*state, OWNER_GROUP, 5), 3000);
}

static void a_number_without_a_name_has_none(void **state)
{
	const char *name = "x";

	assert_true(owners_meet(*state, OWNER_USER, 4000000000u, &name));
	assert_null(name);
	assert_false(owners_meet(*state, OWNER_USER, 4000000000u, &name));
	assert_null(name);
}

static void a_number_maps_to_that_of_its_name_here(void **state)
{
	owners_learn(*state, OWNER_USER, 1234, "alice");
	assert_int_equal(owners_map(*state, OWNER_USER, 1234), 2000);
}

static void without_a_name_here_the_number_stays(void **state)
{
	assert_int_equal(owners_map(*state, OWNER_USER, 77), 77);
	owners_learn(*state, OWNER_USER, 77, "nobody-of-that-name");
	assert_int_equal(owners_map(*state, OWNER_USER, 77), 77);
}

/* The databases may be on another machine. */
static void each_is_looked_up_once(void **state)
{
	const char *name;

	for (int i = 0; i < 100; i++) {
		owners_meet(*state, OWNER_USER, 1000, &name);
		owners_meet(*state, OWNER_USER, 12, &name);
		owners_meet(*state, OWNER_GROUP, 1000, &name);
	}
	assert_int_equal(asked, 3);
	asked = 0;
	owners_learn(*state, OWNER_USER, 4, "alice");
	for (int i = 0; i < 100; i++)
		owners_map(*state, OWNER_USER, 4);
	assert_int_equal(asked, 1);
}

static void many_in_any_order(void **state)
{
	enum { MANY = 3000 };
	const char *name;

	/* 7 has no factor in common with MANY: each number comes once. */
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(owners_meet(*state, OWNER_USER,
					i * 7 % MANY * 1000000, &name));
	for (uint32_t i = 0; i < MANY; i++) {
		owners_learn(*state, OWNER_GROUP, i * 7 % MANY * 1000000,
			     i % 2 ? "staff" : "unknown");
		assert_false(owners_meet(*state, OWNER_USER, i * 1000000, &name));
	}
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t id = i * 7 % MANY * 1000000;

		assert_int_equal(owners_map(*state, OWNER_GROUP, id),
				 i % 2 ? 3000 : id);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_number_is_named_the_first_time),
		TEST(users_and_groups_are_two_things),
		TEST(a_number_without_a_name_has_none),
		TEST(a_number_maps_to_that_of_its_name_here),
		TEST(without_a_name_here_the_number_stays),
		TEST(each_is_looked_up_once),
		TEST(many_in_any_order),
	};

	return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
