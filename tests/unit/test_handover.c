/* SPDX-License-Identifier: BSD-2-Clause */
/* handover: what a worker gives to be verified, and what becomes of sums that lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sums.h"
#include "verify.h"
#include "worker.h"

enum { BLOCK = SUMS_BLOCK };

static unsigned char *noise;

static int verify_setup(void **state)
{
	noise = malloc(40 * BLOCK);
	if (!noise || setup(state) != 0)
		return -1;
	put_noise(noise, 40 * BLOCK, 1);
	close_all();
	sink.verify = true;
	open_all();
	capture_begin(STDERR_FILENO);
	return 0;
}

static int verify_teardown(void **state)
{
	free(noise);
	return teardown(state);
}

/* Ends it; what was said. */
static const char *end(struct verify_counts *counts)
{
	leave();
	verify_close(sink.verifying);
	assert_true(verify_join(sink.verifying));
	verify_count(sink.verifying, counts);
	return capture_end();
}

static void give_noise(size_t from, size_t size)
{
	give((struct record){ .type = RECORD_PIECE, .first = from,
			      .data = noise + from, .data_len = (uint32_t)size });
}

/* The sums of `count` blocks from `first` on, which end at `end`. */
static void give_sums(uint64_t first, unsigned count, uint64_t end)
{
	struct sums_run run = { .first = first, .count = count, .end = end };

	for (unsigned i = 0; i < count; i++) {
		uint64_t at = (first + i) * BLOCK;

		run.sum[i] = sums_of(noise + at,
				     end - at < BLOCK ? (size_t)(end - at) : BLOCK);
	}
	give(sums_to_record(&run));
}

static void small_and_large_and_empty(void **state)
{
	struct verify_counts counts;

	(void)state;
	enter(root);
	give_head("empty");
	give_end(0);
	give_head("small");
	give_noise(0, 100);
	give_sums(0, 1, 100);
	give_end(100);
	give_head("large");
	give_noise(0, 40 * BLOCK);
	give_sums(0, 32, 32 * BLOCK);
	give_sums(32, 8, 40 * BLOCK);
	give_end(40 * BLOCK);
	give_head("holes");
	give_noise(2 * BLOCK, 100);
	give_sums(2, 1, 3 * BLOCK);
	give_end(3 * BLOCK);
	/* Its sum is of what was read: a block with zeros behind. */
	assert_non_null(strstr(end(&counts), "dst/holes: reads back otherwise"));
	assert_int_equal(counts.files, 3);
	assert_int_equal(counts.differ, 1);
}

/* What shrank while it was read: blocks that are not whole any more have no sum. */
static void less_than_was_read(void **state)
{
	static const uint64_t sizes[] = { 0, 100, BLOCK, BLOCK + 100,
					  33 * BLOCK + 100, 35 * BLOCK };
	struct verify_counts counts;

	(void)state;
	enter(root);
	for (size_t i = 0; i < 6; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		give_head(name);
		give_noise(0, 35 * BLOCK);
		give_sums(0, 32, 32 * BLOCK);
		give_sums(32, 3, 35 * BLOCK);
		give_end(sizes[i]);
	}
	assert_string_equal(end(&counts), "");
	assert_int_equal(counts.files, 6);
}

static void sums_out_of_order(void **state)
{
	struct verify_counts counts;

	(void)state;
	enter(root);
	give_head("f");
	give_noise(0, 3 * BLOCK);
	give_sums(2, 1, 3 * BLOCK);
	give_sums(0, 1, BLOCK);
	give_end(3 * BLOCK);
	assert_non_null(strstr(end(&counts), "dst/f: giving it to be verified: "
					     "Bad message"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_true(is_there("dst/f"));
}

static void what_comes_to_nothing_is_not_verified(void **state)
{
	struct verify_counts counts;
	struct record failed = { .type = RECORD_END, .first = 100, .second = EIO };

	(void)state;
	enter(root);
	give_head("f");
	give_noise(0, 100);
	give_sums(0, 1, 100);
	give(failed);
	fault_set(CLOSE, (struct fault){ .err = EIO, .times = EVERY_TIME });
	give_head("g");
	give_noise(0, 100);
	give_sums(0, 1, 100);
	give_end(100);
	faults_clear();
	/* Sums for nobody. */
	give_sums(0, 1, 100);
	assert_non_null(strstr(end(&counts), "dst/g: close"));
	assert_int_equal(counts.files + counts.differ, 0);
	assert_string_equal(names_in("dst"), "");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, verify_setup, verify_teardown)
	const struct CMUnitTest tests[] = {
		T(small_and_large_and_empty),
		T(less_than_was_read),
		T(sums_out_of_order),
		T(what_comes_to_nothing_is_not_verified),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
