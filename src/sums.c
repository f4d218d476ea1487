/* SPDX-License-Identifier: BSD-2-Clause */
#include "sums.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h>	/* XXH3_* for this very processor */
#else
#include <xxhash.h>
#endif

struct sums {
	sums_taker *take;
	void *arg;
	XXH3_state_t *state;
	bool open;		/* bytes have come for the block that `done` is in */
	uint64_t done;		/* up to here all is summed up */
	struct sums_run run;	/* not handed over yet */
};

struct record sums_to_record(const struct sums_run *run)
{
	return (struct record){
		.type = RECORD_SUMS,
		.first = run->first,
		.second = run->end,
		.data = run->sum,
		.data_len = (uint32_t)(run->count * sizeof(run->sum[0])),
	};
}

void sums_from_record(struct sums_run *run, const struct record *record)
{
	run->first = record->first;
	run->end = record->second;
	run->count = record->data_len / (unsigned)sizeof(run->sum[0]);
	memcpy(run->sum, record->data, record->data_len);
}

uint64_t sums_of(const void *bytes, size_t size)
{
	return htole64(XXH3_64bits(bytes, size));
}

size_t sums_small_size(void)
{
	return record_size(RECORD_SUMS, 0, sizeof(uint64_t));
}

size_t sums_put_small(void *at, const void *bytes, size_t size)
{
	struct sums_run run = { .end = size, .count = 1 };
	struct record record;

	if (size == 0)
		return 0;
	run.sum[0] = sums_of(bytes, size);
	record = sums_to_record(&run);
	record_encode(at, &record);
	return sums_small_size();
}

struct sums *sums_new(sums_taker *take, void *arg)
{
	struct sums *sums = calloc(1, sizeof(*sums));

	if (!sums)
		return NULL;
	sums->take = take;
	sums->arg = arg;
	sums->state = XXH3_createState();
	if (sums->state)
		return sums;
	free(sums);
	return NULL;
}

void sums_free(struct sums *sums)
{
	if (!sums)
		return;
	XXH3_freeState(sums->state);
	free(sums);
}

void sums_begin(struct sums *sums)
{
	sums->open = false;
	sums->done = 0;
	sums->run.count = 0;
}

static int run_flush(struct sums *sums)
{
	int got = sums->run.count > 0 ? sums->take(sums->arg, &sums->run) : 0;

	sums->run.count = 0;
	return got;
}

/* The sum of the block that ends at `end`. */
static int run_add(struct sums *sums, uint64_t sum, uint64_t end)
{
	struct sums_run *run = &sums->run;
	uint64_t block = (end - 1) / SUMS_BLOCK;
	int got = 0;

	if (run->count == SUMS_RUN || block != run->first + run->count)
		got = run_flush(sums);
	if (run->count == 0)
		run->first = block;
	run->sum[run->count++] = sum;
	run->end = end;
	return got;
}

static uint64_t block_end(uint64_t at)
{
	return (at / SUMS_BLOCK + 1) * SUMS_BLOCK;
}

static int block_close(struct sums *sums)
{
	sums->open = false;
	return run_add(sums, htole64(XXH3_64bits_digest(sums->state)),
		       sums->done);
}

static void block_open(struct sums *sums)
{
	if (!sums->open)
		(void)XXH3_64bits_reset(sums->state);
	sums->open = true;
}

/* Up to `offset`, within the block at hand, are zeros. */
static void block_zeros(struct sums *sums, uint64_t offset)
{
	static const unsigned char zeros[4096];

	while (sums->done < offset) {
		uint64_t left = offset - sums->done;
		size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

		(void)XXH3_64bits_update(sums->state, zeros, n);
		sums->done += n;
	}
}

/* Goes on to `offset`, which may lie in a later block. */
static int go_to(struct sums *sums, uint64_t offset)
{
	int got = 0;

	if (offset <= sums->done)
		return 0;
	if (sums->open) {
		uint64_t end = block_end(sums->done);

		block_zeros(sums, offset < end ? offset : end);
		if (sums->done == end)
			got = block_close(sums);
	}
	if (sums->done < offset) {
		sums->done = offset / SUMS_BLOCK * SUMS_BLOCK;
		if (sums->done < offset) {
			block_open(sums);
			block_zeros(sums, offset);
		}
	}
	return got;
}

int sums_add(struct sums *sums, const void *bytes, size_t size, uint64_t offset)
{
	const unsigned char *at = bytes;
	int got = size > 0 ? go_to(sums, offset) : 0;

	while (size > 0 && got == 0) {
		uint64_t left = block_end(sums->done) - sums->done;
		size_t n = size < left ? size : (size_t)left;

		if (n == SUMS_BLOCK) {
			sums->done += n;
			got = run_add(sums, sums_of(at, n), sums->done);
		} else {
			block_open(sums);
			(void)XXH3_64bits_update(sums->state, at, n);
			sums->done += n;
			if (n == left)
				got = block_close(sums);
		}
		at += n;
		size -= n;
	}
	return got;
}

int sums_end(struct sums *sums, uint64_t size)
{
	int got = 0;

	if (sums->open) {
		uint64_t end = block_end(sums->done);

		block_zeros(sums, size < end ? size : end);
		got = block_close(sums);
	}
	return got == 0 ? run_flush(sums) : got;
}
