/* SPDX-License-Identifier: BSD-2-Clause */
/* sums: of each MiB, however the bytes come. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sums.h"
#include "tree.h"

enum { BLOCK = SUMS_BLOCK, BLOCKS = 80 };

/* What came: a sum, and where its block ends, for each block; 0: none. */
static uint64_t got[BLOCKS], last_end;
static unsigned runs, fails_at;

static int taken(void *arg, const struct sums_run *run)
{
	assert_ptr_equal(arg, got);
	assert_true(run->count > 0 && run->count <= SUMS_RUN);
	assert_true((run->end + BLOCK - 1) / BLOCK == run->first + run->count);
	assert_true(run->first * BLOCK >= last_end);
	last_end = run->end;
	for (unsigned i = 0; i < run->count; i++)
		got[run->first + i] = run->sum[i];
	return ++runs == fails_at ? -1 : 0;
}

static struct sums *begin(void)
{
	struct sums *sums = sums_new(taken, got);

	assert_non_null(sums);
	memset(got, 0, sizeof(got));
	last_end = runs = fails_at = 0;
	sums_begin(sums);
	return sums;
}

/* The sums of a whole file, block by block. */
static void assert_sums(const unsigned char *bytes, size_t size, unsigned holes)
{
	for (size_t block = 0; block * BLOCK < size; block++) {
		size_t left = size - block * BLOCK;

		if (holes >> block & 1)
			assert_true(got[block] == 0);
		else
			assert_true(got[block] ==
				    sums_of(bytes + block * BLOCK,
					    left < BLOCK ? left : BLOCK));
	}
}

static void pieces_of_any_size(void **state)
{
	static const size_t sizes[] = { 1, BLOCK - 1, BLOCK, BLOCK + 1,
					3 * BLOCK + 5 };
	static const size_t pieces[] = { 4099, BLOCK / 4, BLOCK, BLOCK + 7,
					 4 * BLOCK };
	unsigned char *bytes = malloc(4 * BLOCK);

	(void)state;
	put_noise(bytes, 4 * BLOCK, 1);
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++) {
			struct sums *sums = begin();

			for (size_t at = 0; at < sizes[i]; at += pieces[j]) {
				size_t left = sizes[i] - at;

				assert_int_equal(
					sums_add(sums, bytes + at,
						 left < pieces[j] ? left :
								    pieces[j],
						 at),
					0);
			}
			assert_int_equal(sums_end(sums, sizes[i]), 0);
			assert_sums(bytes, sizes[i], 0);
			assert_true(last_end == sizes[i]);
			assert_int_equal(runs, 1);
			sums_free(sums);
		}
	free(bytes);
}

static void holes_are_zeros_and_have_no_sums(void **state)
{
	unsigned char *bytes = calloc(8, BLOCK);
	struct sums *sums = begin();

	(void)state;
	/* Within the first block, then at the end of the third, then none. */
	put_noise(bytes + 100, 50, 1);
	put_noise(bytes + 200000, 9, 2);
	put_noise(bytes + 3 * BLOCK - 10, 20, 3);
	assert_int_equal(sums_add(sums, bytes + 100, 50, 100), 0);
	assert_int_equal(sums_add(sums, bytes + 200000, 9, 200000), 0);
	assert_int_equal(sums_add(sums, bytes, 0, 5 * BLOCK), 0);
	assert_int_equal(sums_add(sums, bytes + 3 * BLOCK - 10, 20,
				  3 * BLOCK - 10), 0);
	assert_int_equal(sums_end(sums, 8 * BLOCK), 0);
	assert_sums(bytes, 8 * BLOCK, 0xf2);
	assert_int_equal(runs, 2);
	assert_true(last_end == 4 * BLOCK);

	/* A hole up to the end, in the last block and short of its end. */
	sums_begin(sums);
	last_end = 0;
	assert_int_equal(sums_add(sums, bytes, 1000, 0), 0);
	assert_int_equal(sums_end(sums, 5000), 0);
	assert_true(got[0] == sums_of(bytes, 5000) && last_end == 5000);

	/* Nothing at all. */
	sums_begin(sums);
	runs = 0;
	assert_int_equal(sums_end(sums, 3 * BLOCK), 0);
	assert_int_equal(runs, 0);
	sums_free(sums);
	sums_free(NULL);
	free(bytes);
}

static void a_file_that_shrank_ends_where_it_was_read(void **state)
{
	unsigned char *bytes = malloc(BLOCK);
	struct sums *sums = begin();

	(void)state;
	put_noise(bytes, BLOCK, 1);
	assert_int_equal(sums_add(sums, bytes, 5000, 0), 0);
	assert_int_equal(sums_end(sums, 100), 0);
	assert_true(last_end == 5000 && got[0] == sums_of(bytes, 5000));
	sums_free(sums);
	free(bytes);
}

static void runs_are_bounded_and_may_fail(void **state)
{
	unsigned char *bytes = calloc(BLOCKS, BLOCK);
	struct sums *sums = begin();

	(void)state;
	assert_int_equal(sums_add(sums, bytes, (size_t)BLOCKS * BLOCK, 0), 0);
	assert_int_equal(runs, BLOCKS / SUMS_RUN);
	assert_int_equal(sums_end(sums, (uint64_t)BLOCKS * BLOCK), 0);
	assert_int_equal(runs, (BLOCKS + SUMS_RUN - 1) / SUMS_RUN);
	sums_begin(sums);
	last_end = runs = 0;
	fails_at = 2;
	assert_int_equal(sums_add(sums, bytes, (size_t)BLOCKS * BLOCK, 0), -1);
	assert_int_equal(runs, 2);
	sums_begin(sums);
	last_end = 0;
	fails_at = 3;
	assert_int_equal(sums_add(sums, bytes, 5, 0), 0);
	assert_int_equal(sums_end(sums, 5), -1);
	sums_free(sums);
	free(bytes);
}

static void a_record_holds_a_run(void **state)
{
	struct sums_run run = { .first = 7, .end = 9 * BLOCK - 3, .count = 2,
				.sum = { 11, 12 } }, back;
	struct record record = sums_to_record(&run), decoded;
	uint64_t bytes[32];

	(void)state;
	record_encode(bytes, &record);
	assert_int_equal(record_decode(&decoded, bytes, sizeof(bytes)), 0);
	sums_from_record(&back, &decoded);
	assert_true(back.first == 7 && back.end == run.end && back.count == 2);
	assert_true(back.sum[0] == 11 && back.sum[1] == 12);
	assert_int_equal(sums_put_small(bytes, "x", 0), 0);
	assert_int_equal(sums_put_small(bytes, "text", 4), sums_small_size());
	assert_int_equal(record_decode(&decoded, bytes, sizeof(bytes)), 0);
	sums_from_record(&back, &decoded);
	assert_true(back.first == 0 && back.end == 4 && back.count == 1 &&
		    back.sum[0] == sums_of("text", 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_any_size),
		cmocka_unit_test(holes_are_zeros_and_have_no_sums),
		cmocka_unit_test(a_file_that_shrank_ends_where_it_was_read),
		cmocka_unit_test(runs_are_bounded_and_may_fail),
		cmocka_unit_test(a_record_holds_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
