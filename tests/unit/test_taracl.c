/* SPDX-License-Identifier: BSD-2-Clause */
/* ACLs between the kernel's attributes and libarchive's entries. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "taracl.h"

static struct archive_entry *entry;
static unsigned char value[TAR_ACL_VALUE_MAX];

static int setup(void **state)
{
	(void)state;
	entry = archive_entry_new();
	archive_entry_set_mode(entry, S_IFREG | 0640);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	archive_entry_free(entry);
	return 0;
}

/* ---- values, as lines of numbers: tag perm id ---- */

struct line {
	unsigned tag, perm;
	uint32_t id;
};

enum { NOBODY = UINT32_MAX };

static size_t value_make(unsigned char *to, const struct line *lines, size_t n)
{
	memcpy(to, "\2\0\0", 4);
	for (size_t i = 0; i < n; i++) {
		unsigned char *at = to + 4 + 8 * i;

		at[0] = (unsigned char)lines[i].tag;
		at[2] = (unsigned char)lines[i].perm;
		at[1] = at[3] = 0;
		for (int byte = 0; byte < 4; byte++)
			at[4 + byte] = (unsigned char)(lines[i].id >> 8 * byte);
	}
	return 4 + 8 * n;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct line whole[] = {
	{ 1, 6, NOBODY }, { 2, 7, 1 },	     { 2, 4, 2147483648 },
	{ 2, 0, 4000000000 }, { 4, 4, NOBODY }, { 8, 5, 0 },
	{ 8, 1, 4294967294 }, { 16, 7, NOBODY }, { 32, 0, NOBODY },
};

static void values_come_back_as_they_were(void **state)
{
	unsigned char want[256];
	size_t size = value_make(want, whole, COUNT(whole));

	(void)state;
	for (int kind = 0; kind < TAR_ACLS; kind++) {
		assert_int_equal(tar_acl_put(entry, (enum tar_acl)kind, want,
					     size), 0);
		assert_int_equal(tar_acl_get(entry, (enum tar_acl)kind, value),
				 size);
		assert_memory_equal(value, want, size);
	}
}

/* Ids have to survive whether or not they have a name here. */
static void the_text_has_numbers(void **state)
{
	unsigned char bytes[256];
	size_t size = value_make(bytes, whole, COUNT(whole));
	char *text;

	(void)state;
	assert_int_equal(tar_acl_put(entry, TAR_ACL_DEFAULT, bytes, size), 0);
	text = archive_entry_acl_to_text(entry, NULL,
					 ARCHIVE_ENTRY_ACL_TYPE_DEFAULT |
					 ARCHIVE_ENTRY_ACL_STYLE_EXTRA_ID |
					 ARCHIVE_ENTRY_ACL_STYLE_SEPARATOR_COMMA);
	assert_non_null(text);
	assert_non_null(strstr(text, "user:1:rwx,"));
	assert_non_null(strstr(text, "user:4000000000:---,"));
	assert_non_null(strstr(text, "group:0:r-x,"));
	assert_non_null(strstr(text, "group:4294967294:--x"));
	free(text);
}

static void no_acl_is_no_value(void **state)
{
	static const struct line mode[] = {
		{ 1, 7, NOBODY }, { 4, 5, NOBODY }, { 32, 5, NOBODY },
	};
	size_t size = value_make(value, mode, COUNT(mode));

	(void)state;
	assert_int_equal(tar_acl_get(entry, TAR_ACL_ACCESS, value), 0);
	assert_int_equal(tar_acl_get(entry, TAR_ACL_DEFAULT, value), 0);
	size = value_make(value, mode, COUNT(mode));
	assert_int_equal(tar_acl_put(entry, TAR_ACL_ACCESS, value, size), 0);
	assert_int_equal(tar_acl_get(entry, TAR_ACL_ACCESS, value), 0);
	/* As a default one it says something. */
	size = value_make(value, mode, COUNT(mode));
	assert_int_equal(tar_acl_put(entry, TAR_ACL_DEFAULT, value, size), 0);
	assert_int_equal(tar_acl_get(entry, TAR_ACL_DEFAULT, value), size);
	/* An empty one takes an ACL away, so it is none. */
	assert_int_equal(tar_acl_put(entry, TAR_ACL_ACCESS, "\2\0\0", 4), 0);
	assert_int_equal(tar_acl_get(entry, TAR_ACL_ACCESS, value), 0);
}

static void put_fails(const void *bytes, size_t size)
{
	errno = 0;
	assert_int_equal(tar_acl_put(entry, TAR_ACL_ACCESS, bytes, size), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(archive_entry_acl_count(
				 entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS), 0);
}

static void put_fails_with(size_t i, struct line line)
{
	struct line lines[COUNT(whole)];

	memcpy(lines, whole, sizeof(whole));
	lines[i] = line;
	put_fails(value, value_make(value, lines, COUNT(whole)));
}

static void values_that_are_none_are_refused(void **state)
{
	size_t size = value_make(value, whole, COUNT(whole));

	(void)state;
	put_fails(value, 0);
	put_fails(value, 3);
	put_fails(value, size - 1);
	put_fails(value, size - 8);		/* no entry for others */
	value[0] = 1;
	put_fails(value, size);			/* another version */
	put_fails_with(0, (struct line){ 0, 7, NOBODY });
	put_fails_with(0, (struct line){ 3, 7, NOBODY });
	put_fails_with(0, (struct line){ 64, 7, NOBODY });
	put_fails_with(1, (struct line){ 2, 8, 1 });
	put_fails_with(1, (struct line){ 1, 7, NOBODY });	/* twice */
	put_fails_with(7, (struct line){ 8, 7, 5 });		/* no mask */
	memset(value, 0xff, sizeof(value));
	put_fails(value, sizeof(value));
}

/* As many as an attribute holds: none is lost, and one more is refused. */
static void as_many_as_an_attribute_holds(void **state)
{
	static struct line lines[TAR_ACL_ENTRIES + 1];
	static unsigned char want[TAR_ACL_VALUE_MAX + 8];
	size_t size;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		lines[i] = (struct line){ 2, 5, (uint32_t)i + 100 };
	lines[0] = whole[0];
	lines[TAR_ACL_ENTRIES - 3] = (struct line){ 4, 4, NOBODY };
	lines[TAR_ACL_ENTRIES - 2] = (struct line){ 16, 7, NOBODY };
	lines[TAR_ACL_ENTRIES - 1] = (struct line){ 32, 0, NOBODY };
	size = value_make(want, lines, TAR_ACL_ENTRIES);
	assert_int_equal(size, TAR_ACL_VALUE_MAX);
	assert_int_equal(tar_acl_put(entry, TAR_ACL_ACCESS, want, size), 0);
	assert_int_equal(tar_acl_get(entry, TAR_ACL_ACCESS, value), size);
	assert_memory_equal(value, want, size);
	size = value_make(want, lines, TAR_ACL_ENTRIES + 1);
	assert_int_equal(tar_acl_put(entry, TAR_ACL_DEFAULT, want, size), -1);
}

/* ---- what other tars wrote ---- */

static ssize_t get_text(const char *text, enum tar_acl kind)
{
	int type = kind == TAR_ACL_ACCESS ? ARCHIVE_ENTRY_ACL_TYPE_ACCESS :
					    ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;

	archive_entry_acl_clear(entry);
	assert_int_equal(archive_entry_acl_from_text(entry, text, type), 0);
	errno = 0;
	return tar_acl_get(entry, kind, value);
}

static void texts_of_other_programs(void **state)
{
	static const struct line lines[] = {
		{ 1, 6, NOBODY }, { 2, 7, 0 },	    { 2, 6, 1234 },
		{ 4, 4, NOBODY }, { 16, 7, NOBODY }, { 32, 0, NOBODY },
	};
	unsigned char want[64];
	size_t size = value_make(want, lines, COUNT(lines));

	(void)state;
	/* GNU tar: names alone.  star: names and numbers, the numbers count. */
	assert_int_equal(get_text("user::rw-,user:root:rwx,user:1234:rw-,"
				  "group::r--,mask::rwx,other::---",
				  TAR_ACL_ACCESS), size);
	assert_memory_equal(value, want, size);
	assert_int_equal(get_text("other::---,mask::rwx,group::r--,user::rw-,"
				  "user:somebody:rw-:1234,user:else:rwx:0",
				  TAR_ACL_ACCESS), size);
	assert_memory_equal(value, want, size);
	/* A mask that is missing limits nothing. */
	assert_int_equal(get_text("user::rw-,user:0:rwx,user:1234:rw-,"
				  "group::r--,other::---", TAR_ACL_DEFAULT), size);
	assert_memory_equal(value, want, size);
}

static void texts_that_make_no_sense(void **state)
{
	(void)state;
	assert_int_equal(get_text("user::rw-,user:nobody-has-this-name:rwx,"
				  "group::r--,mask::rwx,other::---",
				  TAR_ACL_ACCESS), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(get_text("user:5:rwx,group::r--,mask::rwx,other::---",
				  TAR_ACL_DEFAULT), -1);
	assert_int_equal(errno, EINVAL);
	/* The same number under two spellings. */
	assert_int_equal(get_text("user::rw-,user:root:rwx,user:x:r--:0,"
				  "group::r--,mask::rwx,other::---",
				  TAR_ACL_DEFAULT), -1);
	assert_int_equal(errno, EINVAL);
}

static void names_of_the_attributes(void **state)
{
	(void)state;
	for (int kind = 0; kind < TAR_ACLS; kind++)
		assert_int_equal(tar_acl_find(tar_acl_name((enum tar_acl)kind)),
				 kind);
	assert_int_equal(tar_acl_find("user.k"), TAR_ACLS);
	assert_int_equal(tar_acl_find("system.posix_acl_access2"), TAR_ACLS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_come_back_as_they_were),
		TEST(the_text_has_numbers),
		TEST(no_acl_is_no_value),
		TEST(values_that_are_none_are_refused),
		TEST(as_many_as_an_attribute_holds),
		TEST(texts_of_other_programs),
		TEST(texts_that_make_no_sense),
		TEST(names_of_the_attributes),
	};

	return cmocka_run_group_tests_name("taracl", tests, NULL, NULL);
}
