/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "parts.h"

static struct parts parts;

static int teardown(void **state)
{
	(void)state;
	parts_destroy(&parts);
	return 0;
}

static void assert_parts(const char *path, const char *text, size_t count)
{
	assert_int_equal(parts_parse(&parts, path), PARTS_FINE);
	assert_string_equal(parts.text, text);
	assert_int_equal(parts.count, count);
}

static void assert_part(size_t index, const char *text)
{
	size_t len;
	const char *part = parts_get(&parts, index, &len);

	assert_int_equal(len, strlen(text));
	assert_memory_equal(part, text, len);
}

static void what_means_nothing_is_dropped(void **state)
{
	(void)state;
	assert_parts("a", "a", 1);
	assert_parts("a/b/c", "a/b/c", 3);
	assert_parts("./a", "a", 1);
	assert_parts("a/", "a", 1);
	assert_parts("./a//b/./c/.", "a/b/c", 3);
	assert_part(0, "a");
	assert_part(1, "b");
	assert_part(2, "c");
	assert_parts("./", "", 0);
	assert_parts(".", "", 0);
	assert_parts("...", "...", 1);
	assert_parts("..a/b..", "..a/b..", 2);
	assert_parts(" / ", " / ", 2);
}

static void what_leads_out_is_refused(void **state)
{
	(void)state;
	assert_int_equal(parts_parse(&parts, "/"), PARTS_ABSOLUTE);
	assert_int_equal(parts_parse(&parts, "/a"), PARTS_ABSOLUTE);
	assert_int_equal(parts_parse(&parts, "//a/.."), PARTS_ABSOLUTE);
	assert_int_equal(parts_parse(&parts, ".."), PARTS_UPWARD);
	assert_int_equal(parts_parse(&parts, "a/.."), PARTS_UPWARD);
	assert_int_equal(parts_parse(&parts, "./../a"), PARTS_UPWARD);
	assert_int_equal(parts_parse(&parts, "a/../b"), PARTS_UPWARD);
	assert_int_equal(parts_parse(&parts, ""), PARTS_EMPTY);
}

static void a_component_has_255_bytes_at_most(void **state)
{
	char path[300] = "a/";

	(void)state;
	memset(path + 2, 'x', 255);
	assert_int_equal(parts_parse(&parts, path), PARTS_FINE);
	path[257] = 'x';
	assert_int_equal(parts_parse(&parts, path), PARTS_LONG);
}

static void a_path_may_be_long(void **state)
{
	size_t len = 1 << 20;
	char *path = malloc(len + 1);

	(void)state;
	for (size_t i = 0; i < len; i++)
		path[i] = i % 2 ? '/' : 'a';
	path[len] = '\0';
	assert_int_equal(parts_parse(&parts, path), PARTS_FINE);
	assert_int_equal(parts.count, len / 2);
	assert_part(len / 2 - 1, "a");
	free(path);
	assert_parts("b/c", "b/c", 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_means_nothing_is_dropped),
		TEST(what_leads_out_is_refused),
		TEST(a_component_has_255_bytes_at_most),
		TEST(a_path_may_be_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
