/* SPDX-License-Identifier: BSD-2-Clause */
/* How a stream says that a member is not what its source was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "flaw.h"

static void it_is_a_comment(void **state)
{
	const struct flaw damaged = { .at = 0 }, shrunk = { true, 4096 };
	char blocks[FLAW_SIZE];

	(void)state;
	flaw_encode(blocks, &damaged);
	assert_int_equal(blocks[156], 'g');
	assert_string_equal(blocks + 512, "31 comment=tarpipe 1 damaged=0\n");
	flaw_encode(blocks, &shrunk);
	assert_string_equal(blocks + 512, "33 comment=tarpipe 1 shrank=4096\n");
}

static void it_is_known_again(void **state)
{
	unsigned char blocks[FLAW_SIZE];

	(void)state;
	for (unsigned bit = 0; bit < 128; bit++) {
		struct flaw flaw = { bit & 1, UINT64_MAX >> bit / 2 };
		struct flaw found = { !flaw.shrank, 0 };

		flaw_encode(blocks, &flaw);
		assert_true(flaw_decode(blocks, &found));
		assert_int_equal(found.shrank, flaw.shrank);
		assert_true(found.at == flaw.at);
	}
}

/* One that is not ours to the last bit is none, or a number of its own. */
static void a_flipped_bit_makes_it_none_or_another(void **state)
{
	const struct flaw flaw = { true, 1234567 };
	unsigned char blocks[FLAW_SIZE];
	struct flaw found = { false, 7 };

	(void)state;
	for (size_t bit = 0; bit < FLAW_SIZE * 8; bit++) {
		flaw_encode(blocks, &flaw);
		blocks[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (flaw_decode(blocks, &found))
			assert_true(found.at != flaw.at);
	}
}

static void other_comments_are_none(void **state)
{
	static const char *const comments[] = {
		"tarpipe 1", "tarpipe 1 damaged=", "tarpipe 1 damaged=-1",
		"tarpipe 1 damaged=01", "tarpipe 1 grew=7", "tarpipe 2 damaged=7",
		"tarpipe 1 damaged=7 ", "tarpipe 1 shrank=0x7",
		"tarpipe 1 damaged=99999999999999999999",
	};
	struct flaw found = { false, 7 };
	unsigned char blocks[FLAW_SIZE] = { 0 };

	(void)state;
	assert_false(flaw_decode(blocks, &found));
	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++) {
		seal_comment(blocks, comments[i]);
		assert_false(flaw_decode(blocks, &found));
	}
	assert_int_equal(found.at, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_a_comment),
		cmocka_unit_test(it_is_known_again),
		cmocka_unit_test(a_flipped_bit_makes_it_none_or_another),
		cmocka_unit_test(other_comments_are_none),
	};

	return cmocka_run_group_tests_name("flaw", tests, NULL, NULL);
}
