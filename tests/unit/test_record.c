/* SPDX-License-Identifier: BSD-2-Clause */
/* Records: what is written comes back, and nothing else is believed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record.h"

/* Where numbers lie in the head, as record.h tells. */
enum {
	AT_SIZE = 0, AT_TYPE = 4, AT_FLAGS = 5, AT_NAME_LEN = 6, AT_DIR = 8,
	AT_DATA_LEN = 12, AT_MODE = 16, AT_UID = 20, AT_GID = 24, AT_ID = 36,
	AT_ATIME_NS = 40, AT_MTIME_NS = 44, AT_ATIME = 48, AT_MTIME = 56,
	AT_FILE_SIZE = 64, AT_ENTRY_NAME = 72, AT_FIRST = 16, AT_SECOND = 24,
};

/* Of the entries. */
#define META                                    \
	.meta = {                               \
		.mode = 0100644,                \
		.uid = 3000000000u,             \
		.gid = 2097152,                 \
		.rdev_major = 259,              \
		.rdev_minor = 1048575,          \
		.size = UINT64_C(9) << 30,      \
		.atime = { 1234567890, 123456789 }, \
		.mtime = { -1, 999999999 },     \
	}
#define NAME(text) .name = text, .name_len = sizeof(text) - 1
#define DATA(text) .data = text, .data_len = sizeof(text) - 1

static const struct record_span a_span = { "bytes", NULL };

static const struct record one_of_each[] = {
	{ .type = RECORD_START, .first = RECORD_MAGIC, .second = RECORD_VERSION },
	{ .type = RECORD_DIR, .dir = 7, .id = 8, NAME("sub"), META },
	{ .type = RECORD_LEAVE, .flags = RECORD_MORE, .dir = 8,
	  META },
	{ .type = RECORD_FILE, .flags = RECORD_SPARSE | RECORD_ACL, .dir = 1,
	  .id = UINT32_MAX, NAME("a file"), META },
	{ .type = RECORD_SYMLINK, .dir = 1, NAME("l"), DATA("../target"),
	  META },
	{ .type = RECORD_NODE, .dir = UINT32_MAX, NAME("null"),
	  META },
	{ .type = RECORD_LINK, .flags = RECORD_LAST, .dir = 2, .id = 3,
	  NAME("b"), META },
	{ .type = RECORD_PATHLINK, .dir = 2, NAME("c"), DATA("a/file"), META },
	{ .type = RECORD_PIECE, .first = UINT64_MAX, DATA("some bytes\0more") },
	{ .type = RECORD_SPAN, .first = 5, .second = 6, .data = &a_span,
	  .data_len = sizeof(a_span) },
	{ .type = RECORD_REF, .first = 5, .second = 1 << 20 },
	{ .type = RECORD_SUMS, .first = 3, .second = (5 << 20) - 1,
	  DATA("two sums, hashed") },
	{ .type = RECORD_XATTR, .first = 0, .second = 6, NAME("user.k"),
	  DATA("v\0\0\377\nz") },
	{ .type = RECORD_END, .first = 4711, .second = EIO },
	{ .type = RECORD_USER, .first = 1000, NAME("me") },
	{ .type = RECORD_GROUP, .first = 100, NAME("users") },
	{ .type = RECORD_FINISH, .first = 1, .second = 2 },
};

enum { KINDS = sizeof(one_of_each) / sizeof(*one_of_each) };

/* On the heap, in just the room it needs: a byte too far is noticed. */
static unsigned char *encoded(const struct record *record, size_t *size)
{
	unsigned char *bytes;

	*size = record_size((enum record_type)record->type, record->name_len,
			    record->data_len);
	bytes = malloc(*size);
	assert_non_null(bytes);
	memset(bytes, 0xee, *size);
	record_encode(bytes, record);
	return bytes;
}

static void put32(unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *at, int bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | at[bytes];
	return value;
}

static void assert_refused(const unsigned char *bytes, size_t size)
{
	struct record got;

	errno = 0;
	assert_int_equal(record_decode(&got, bytes, size), -1);
	assert_int_equal(errno, EBADMSG);
}

static void assert_same_meta(const struct meta *got, const struct meta *want)
{
	assert_int_equal(got->mode, want->mode);
	assert_int_equal(got->uid, want->uid);
	assert_int_equal(got->gid, want->gid);
	assert_int_equal(got->rdev_major, want->rdev_major);
	assert_int_equal(got->rdev_minor, want->rdev_minor);
	assert_true(got->size == want->size);
	assert_true(got->atime.tv_sec == want->atime.tv_sec);
	assert_true(got->mtime.tv_sec == want->mtime.tv_sec);
	assert_true(got->atime.tv_nsec == want->atime.tv_nsec);
	assert_true(got->mtime.tv_nsec == want->mtime.tv_nsec);
}

static void assert_same(const struct record *got, const struct record *want)
{
	assert_int_equal(got->type, want->type);
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->dir, want->dir);
	assert_int_equal(got->id, want->id);
	assert_true(got->first == want->first);
	assert_true(got->second == want->second);
	assert_int_equal(got->name_len, want->name_len);
	if (want->name)
		assert_string_equal(got->name, want->name);
	else
		assert_null(got->name);
	assert_int_equal(got->data_len, want->data_len);
	if (want->data)
		assert_memory_equal(got->data, want->data, want->data_len);
	assert_same_meta(&got->meta, &want->meta);
}

/* ---- what is written ---- */

static void every_type_comes_back_as_it_was(void **state)
{
	struct record got;
	size_t size;

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		unsigned char *bytes = encoded(&one_of_each[i], &size);

		assert_int_equal(record_decode(&got, bytes, size), 0);
		assert_same(&got, &one_of_each[i]);
		assert_int_equal(got.size, size);
		assert_int_equal(size % RECORD_ALIGN, 0);
		free(bytes);
	}
	assert_int_equal(KINDS, RECORD_TYPES - 1);
}

static void one_record_ends_where_the_next_begins(void **state)
{
	struct record got;
	unsigned char *all = malloc(KINDS * 128);
	size_t len = 0, at = 0, size;

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		unsigned char *bytes = encoded(&one_of_each[i], &size);

		memcpy(all + len, bytes, size);
		len += size;
		free(bytes);
	}
	for (int i = 0; i < KINDS; i++) {
		assert_int_equal(record_decode(&got, all + at, len - at), 0);
		assert_same(&got, &one_of_each[i]);
		at += got.size;
	}
	assert_int_equal(at, len);
	free(all);
}

static void the_layout_is_the_documented_one(void **state)
{
	const struct record *file = &one_of_each[3];
	size_t size;
	unsigned char *at = encoded(file, &size);

	(void)state;
	assert_int_equal(get(at + AT_SIZE, 4), 80);
	assert_int_equal(at[AT_TYPE], RECORD_FILE);
	assert_int_equal(at[AT_FLAGS], RECORD_SPARSE | RECORD_ACL);
	assert_int_equal(get(at + AT_NAME_LEN, 2), 6);
	assert_int_equal(get(at + AT_DIR, 4), 1);
	assert_int_equal(get(at + AT_DATA_LEN, 4), 0);
	assert_int_equal(get(at + AT_MODE, 4), 0100644);
	assert_int_equal(get(at + AT_UID, 4), 3000000000u);
	assert_int_equal(get(at + AT_GID, 4), 2097152);
	assert_int_equal(get(at + AT_ID, 4), UINT32_MAX);
	assert_int_equal(get(at + AT_ATIME_NS, 4), 123456789);
	assert_int_equal(get(at + AT_MTIME_NS, 4), 999999999);
	assert_int_equal(get(at + AT_ATIME, 8), 1234567890);
	assert_true(get(at + AT_MTIME, 8) == UINT64_MAX);
	assert_true(get(at + AT_FILE_SIZE, 8) == UINT64_C(9) << 30);
	assert_memory_equal(at + AT_ENTRY_NAME, "a file\0", 8);
	free(at);
	at = encoded(&one_of_each[10], &size);
	assert_int_equal(get(at + AT_FIRST, 8), 5);
	assert_int_equal(get(at + AT_SECOND, 8), 1 << 20);
	assert_int_equal(size, 32);
	free(at);
}

/* The packer reads a file straight to where its piece will be. */
static void data_may_be_there_before_the_head(void **state)
{
	struct record piece = { .type = RECORD_PIECE, .data_len = 5 }, got;
	unsigned char bytes[64];

	(void)state;
	memcpy(bytes + RECORD_DATA_AT, "hello", 5);
	assert_ptr_equal(record_encode(bytes, &piece), bytes + RECORD_DATA_AT);
	assert_int_equal(record_decode(&got, bytes, sizeof(bytes)), 0);
	assert_int_equal(got.data_len, 5);
	assert_memory_equal(got.data, "hello", 5);
}

static void padding_tells_nothing_of_what_was_there(void **state)
{
	struct record got;
	size_t size;

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		const struct record *want = &one_of_each[i];
		unsigned char *bytes = encoded(want, &size);
		const unsigned char *end;

		assert_int_equal(record_decode(&got, bytes, size), 0);
		end = got.data ? (const unsigned char *)got.data + got.data_len :
		      got.name ? (const unsigned char *)got.name + got.name_len :
				 bytes + size;
		while (end < bytes + size)
			assert_int_equal(*end++, 0);
		free(bytes);
	}
}

static void a_name_of_255_bytes_is_the_longest(void **state)
{
	char name[257];
	struct record record = { .type = RECORD_FILE, .name = name }, got;
	unsigned char *bytes;
	size_t size;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	record.name_len = 256;
	bytes = encoded(&record, &size);
	assert_refused(bytes, size);
	free(bytes);
	name[255] = '\0';
	record.name_len = 255;
	bytes = encoded(&record, &size);
	assert_int_equal(record_decode(&got, bytes, size), 0);
	assert_string_equal(got.name, name);
	free(bytes);
}

/* ---- what is not believed ---- */

static void a_record_that_is_cut_off(void **state)
{
	size_t size;

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		unsigned char *bytes = encoded(&one_of_each[i], &size);

		for (size_t len = 0; len < size; len++) {
			unsigned char *part = malloc(len + 1);

			memcpy(part, bytes, len);
			assert_refused(part, len);
			free(part);
		}
		free(bytes);
	}
}

static void a_type_that_is_none(void **state)
{
	static const unsigned char types[] = { 0, RECORD_TYPES, 99, 255 };
	size_t size;
	unsigned char *bytes = encoded(&one_of_each[0], &size);

	(void)state;
	for (size_t i = 0; i < sizeof(types); i++) {
		bytes[AT_TYPE] = types[i];
		assert_refused(bytes, size);
	}
	free(bytes);
}

static void a_size_that_lies(void **state)
{
	static const uint32_t lies[] = { 0, 1, 7, 8, 16, 24, 0x7fffffff,
					 0x80000000, 0xfffffff8, 0xffffffff };
	size_t size;

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		unsigned char *bytes = encoded(&one_of_each[i], &size);

		for (size_t j = 0; j < sizeof(lies) / sizeof(*lies); j++) {
			put32(bytes + AT_SIZE, lies[j]);
			assert_refused(bytes, size);
		}
		put32(bytes + AT_SIZE, (uint32_t)size - 8);
		assert_refused(bytes, size);
		bytes = realloc(bytes, size + 8);
		memset(bytes + size, 0, 8);
		put32(bytes + AT_SIZE, (uint32_t)size + 8);
		assert_refused(bytes, size + 8);
		free(bytes);
	}
}

static void sums_that_lie(void **state)
{
	static const uint64_t sums[RECORD_SUMS_MAX + 1];
	static const struct { uint64_t first, second; uint32_t bytes; } lies[] = {
		{ 0, 1, 0 }, { 0, 1, 4 }, { 0, 1, 12 },
		{ 0, 0, 8 }, { 0, (1 << 20) + 1, 8 }, { 1, 1 << 20, 8 },
		{ 5, (5 << 20) + 1, 16 }, { UINT64_MAX, 0, 8 },
		{ INT64_MAX >> 20, (uint64_t)INT64_MAX + 1, 8 },
		{ UINT64_MAX >> 20, UINT64_MAX, 8 },
		{ 0, (RECORD_SUMS_MAX + 1) << 20, (RECORD_SUMS_MAX + 1) * 8 },
	};
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		const struct record record = {
			.type = RECORD_SUMS, .first = lies[i].first,
			.second = lies[i].second, .data = sums,
			.data_len = lies[i].bytes };
		unsigned char *bytes = encoded(&record, &size);

		assert_refused(bytes, size);
		free(bytes);
	}
}

static void lengths_that_lie(void **state)
{
	static const uint32_t lies[] = { 100, 255, 256, 0x7fff, 0xffff, 0x10000,
					 0x7fffffff, 0xffffffe0, 0xffffffff };
	size_t size;

	(void)state;
	for (int i = 0; i < KINDS; i++)
		for (size_t j = 0; j < sizeof(lies) / sizeof(*lies); j++) {
			unsigned char *bytes = encoded(&one_of_each[i], &size);

			put32(bytes + AT_DATA_LEN, lies[j]);
			assert_refused(bytes, size);
			put32(bytes + AT_DATA_LEN, one_of_each[i].data_len);
			bytes[AT_NAME_LEN] = (unsigned char)lies[j];
			bytes[AT_NAME_LEN + 1] = (unsigned char)(lies[j] >> 8);
			if (get(bytes + AT_NAME_LEN, 2) !=
			    one_of_each[i].name_len)
				assert_refused(bytes, size);
			free(bytes);
		}
}

/* What a type does not have must not be there, however consistent. */
static void names_and_data_where_there_are_none(void **state)
{
	static const uint8_t nameless[] = { RECORD_LEAVE, RECORD_PIECE,
					    RECORD_END, RECORD_START };
	static const uint8_t dataless[] = { RECORD_FILE, RECORD_DIR, RECORD_NODE,
					    RECORD_LINK, RECORD_END, RECORD_REF,
					    RECORD_FINISH };
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(nameless); i++) {
		struct record record = { .type = nameless[i] };
		unsigned char *bytes = encoded(&record, &size);

		bytes[AT_NAME_LEN] = 1;
		assert_refused(bytes, size);
		free(bytes);
	}
	for (size_t i = 0; i < sizeof(dataless); i++) {
		struct record record = { .type = dataless[i], NAME("n"),
					 DATA("data") };
		unsigned char *bytes = encoded(&record, &size);

		assert_refused(bytes, size);
		free(bytes);
	}
}

static void names_that_are_no_strings(void **state)
{
	struct record record = { .type = RECORD_FILE, NAME("four") };
	size_t size;
	unsigned char *bytes = encoded(&record, &size);

	(void)state;
	bytes[AT_ENTRY_NAME + 1] = '\0';	/* ends early */
	assert_refused(bytes, size);
	memcpy(bytes + AT_ENTRY_NAME, "four", 4);
	bytes[AT_ENTRY_NAME + 4] = 's';		/* does not end */
	assert_refused(bytes, size);
	free(bytes);

	record = (struct record){ .type = RECORD_FILE, .name = "" };
	bytes = encoded(&record, &size);	/* is empty */
	assert_refused(bytes, size);
	free(bytes);
}

/* An address of any other size is no span. */
static void spans_of_another_size(void **state)
{
	size_t size;

	(void)state;
	for (uint32_t len = 0; len < 2 * sizeof(a_span); len++) {
		struct record record = { .type = RECORD_SPAN, .data_len = len };
		struct record got;
		unsigned char *bytes = encoded(&record, &size);

		if (len == sizeof(a_span))
			assert_int_equal(record_decode(&got, bytes, size), 0);
		else
			assert_refused(bytes, size);
		free(bytes);
	}
}

static void targets_that_are_no_strings(void **state)
{
	struct record record = { .type = RECORD_SYMLINK, NAME("l"),
				 DATA("tar\0get") };
	size_t size;
	unsigned char *bytes = encoded(&record, &size);

	(void)state;
	assert_refused(bytes, size);
	free(bytes);
	for (int i = 0; i < 2; i++) {
		record = (struct record){ .type = i ? RECORD_PATHLINK :
						      RECORD_SYMLINK,
					  NAME("l"), DATA("target") };
		bytes = encoded(&record, &size);
		bytes[AT_ENTRY_NAME + 2 + 6] = 's';
		assert_refused(bytes, size);
		free(bytes);
	}
}

static void nanoseconds_that_make_a_second(void **state)
{
	static const int where[] = { AT_ATIME_NS, AT_MTIME_NS };
	static const uint32_t many[] = { 1000000000, 0x3fffffff, 0x3ffffffe,
					 0x80000000, 0xffffffff };
	struct record got;
	size_t size;

	(void)state;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 5; j++) {
			unsigned char *bytes = encoded(&one_of_each[1], &size);

			put32(bytes + where[i], many[j]);
			assert_refused(bytes, size);
			put32(bytes + where[i], 999999999);
			assert_int_equal(record_decode(&got, bytes, size), 0);
			free(bytes);
		}
}

/* ---- noise ---- */

/* All that is reported lies within the record, and is what it says. */
static void assert_inside(const struct record *record, const unsigned char *bytes,
			  size_t size)
{
	assert_true(record->size <= size);
	assert_true(record->size % RECORD_ALIGN == 0);
	if (record->name) {
		const unsigned char *name = (const unsigned char *)record->name;

		assert_true(name >= bytes && record->name_len > 0);
		assert_true(name + record->name_len < bytes + record->size);
		assert_int_equal(strlen(record->name), record->name_len);
	}
	if (record->data) {
		const unsigned char *data = record->data;

		assert_true(data >= bytes);
		assert_true(data + record->data_len <= bytes + record->size);
	}
}

static void changed_bytes_never_lead_outside(void **state)
{
	static const unsigned char likely[] = { 0, 1, 7, 8, 127, 128, 255 };
	unsigned seed = 20;
	struct record got;
	size_t size;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		unsigned char *bytes = encoded(
			&one_of_each[rand_r(&seed) % KINDS], &size);

		for (int n = rand_r(&seed) % 4; n >= 0; n--) {
			size_t at = (size_t)rand_r(&seed) % (n % 2 ? size : 16);

			bytes[at] = rand_r(&seed) % 2 ?
					    likely[rand_r(&seed) % 7] :
					    (unsigned char)rand_r(&seed);
		}
		if (record_decode(&got, bytes, size) == 0)
			assert_inside(&got, bytes, size);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_comes_back_as_it_was),
		cmocka_unit_test(one_record_ends_where_the_next_begins),
		cmocka_unit_test(the_layout_is_the_documented_one),
		cmocka_unit_test(data_may_be_there_before_the_head),
		cmocka_unit_test(padding_tells_nothing_of_what_was_there),
		cmocka_unit_test(a_name_of_255_bytes_is_the_longest),
		cmocka_unit_test(a_record_that_is_cut_off),
		cmocka_unit_test(a_type_that_is_none),
		cmocka_unit_test(a_size_that_lies),
		cmocka_unit_test(sums_that_lie),
		cmocka_unit_test(lengths_that_lie),
		cmocka_unit_test(names_and_data_where_there_are_none),
		cmocka_unit_test(names_that_are_no_strings),
		cmocka_unit_test(spans_of_another_size),
		cmocka_unit_test(targets_that_are_no_strings),
		cmocka_unit_test(nanoseconds_that_make_a_second),
		cmocka_unit_test(changed_bytes_never_lead_outside),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
