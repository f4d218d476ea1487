/* SPDX-License-Identifier: BSD-2-Clause */
/* How a stream says that it is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "seal.h"

static void a_head_is_known_again(void **state)
{
	unsigned char head[SEAL_SIZE];
	struct seal seal = { 7, 7, 7 };

	(void)state;
	seal_encode(head, NULL);
	assert_int_equal(seal_decode(head, &seal), SEAL_HEAD);
	assert_int_equal(seal.entries, 7);
	assert_string_equal((char *)head + 512, "21 comment=tarpipe 1\n");
}

static void check(uint64_t entries, uint64_t bytes, uint64_t sum)
{
	unsigned char trailer[SEAL_SIZE];
	struct seal seal = { entries, bytes, sum }, found = { 0 };

	seal_encode(trailer, &seal);
	assert_int_equal(seal_decode(trailer, &found), SEAL_TRAILER);
	assert_true(found.entries == entries);
	assert_true(found.bytes == bytes);
	assert_true(found.sum == sum);
}

static void a_trailer_brings_its_numbers(void **state)
{
	(void)state;
	check(0, 0, 0);
	check(1, 1536, 0xabc);
	check(UINT64_MAX, UINT64_MAX, UINT64_MAX);
	for (unsigned bit = 0; bit < 64; bit++)
		check(1ull << bit, UINT64_MAX >> bit, 3ull << bit);
}

/* As pax has it: the length counts the record and itself. */
static void a_record_says_its_length(void **state)
{
	unsigned char trailer[SEAL_SIZE];

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		struct seal seal = { 1ull << bit, 1ull << bit, 0 };
		const char *record = (const char *)trailer + 512;
		char *end;

		seal_encode(trailer, &seal);
		assert_int_equal(strtoul(record, &end, 10), strlen(record));
		assert_int_equal(*end, ' ');
		assert_int_equal(record[strlen(record) - 1], '\n');
		assert_int_equal(strtoul((char *)trailer + 124, NULL, 8),
				 strlen(record));
	}
}

static void a_flipped_bit_makes_it_none_or_another(void **state)
{
	unsigned char blocks[SEAL_SIZE];
	struct seal seal = { 12, 34567, 0x123456789abcdef }, found;

	(void)state;
	for (size_t bit = 0; bit < SEAL_SIZE * 8; bit++) {
		seal_encode(blocks, NULL);
		blocks[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_int_equal(seal_decode(blocks, &found), SEAL_NONE);
		seal_encode(blocks, &seal);
		blocks[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (seal_decode(blocks, &found) == SEAL_TRAILER)
			assert_true(found.entries != seal.entries ||
				    found.bytes != seal.bytes ||
				    found.sum != seal.sum);
	}
}

static void other_blocks_are_none(void **state)
{
	unsigned char blocks[SEAL_SIZE] = { 0 };
	struct seal found;

	(void)state;
	assert_int_equal(seal_decode(blocks, &found), SEAL_NONE);
	memset(blocks, 'x', sizeof(blocks));
	assert_int_equal(seal_decode(blocks, &found), SEAL_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_known_again),
		cmocka_unit_test(a_trailer_brings_its_numbers),
		cmocka_unit_test(a_record_says_its_length),
		cmocka_unit_test(a_flipped_bit_makes_it_none_or_another),
		cmocka_unit_test(other_blocks_are_none),
	};

	return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
