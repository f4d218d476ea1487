/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers: their tasks, how many of them pay, and the memory that they fill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "crew.h"
#include "rate.h"
#include "slab.h"
#include "thread.h"

/* ---- rate: a device that does so much with so many ---- */

enum { MS = 1000000 };

static uint64_t now, units, waited;

/* Asks for a second, and returns what it says in the end. */
static unsigned serve(struct rate *rate, uint64_t (*device)(unsigned), unsigned ms,
		      bool starved)
{
	unsigned level = rate->level;

	for (unsigned i = 0; i < ms; i++) {
		now += MS;
		units += device(level);
		waited += starved ? MS : 0;
		level = rate_ask(rate, now, units, waited);
	}
	return level;
}

static uint64_t each_adds(unsigned level)
{
	return level;
}

static uint64_t up_to_8(unsigned level)
{
	return level < 8 ? level : 8;
}

static uint64_t better_alone(unsigned level)
{
	return 64 / level;
}

static void rate_start(struct rate *rate, unsigned least, unsigned most)
{
	now = 77 * MS;
	units = waited = 0;
	rate_begin(rate, least, most, now);
}

static void rate_grows_while_it_pays(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 2, 64);
	assert_int_equal(rate.level, 2);
	assert_int_equal(serve(&rate, each_adds, 1000, true), 64);
	rate_start(&rate, 2, 5);
	assert_int_equal(serve(&rate, each_adds, 1000, true), 5);
}

static void rate_steps_back_from_what_gained_nothing(void **state)
{
	struct rate rate;
	unsigned at_16 = 0, at_8 = 0, others = 0;

	(void)state;
	rate_start(&rate, 2, 64);
	serve(&rate, up_to_8, 1000, true);
	for (unsigned i = 0; i < 10000; i++) {
		unsigned level = serve(&rate, up_to_8, 1, true);

		at_8 += level == 8;
		at_16 += level == 16;
		others += level != 8 && level != 16;
	}
	assert_int_equal(others, 0);
	assert_true(at_16 > 0);			/* it is tried again ... */
	assert_true(at_8 > 4 * at_16);		/* ... seldom */
}

static void rate_never_falls_below_the_least(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 2, 64);
	for (unsigned i = 0; i < 3000; i++)
		assert_in_range(serve(&rate, better_alone, 1, true), 2, 4);
}

static void rate_stays_when_nobody_waits(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 2, 64);
	assert_int_equal(serve(&rate, each_adds, 1000, false), 2);
}

static void rate_may_be_fixed(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 7, 7);
	assert_int_equal(serve(&rate, each_adds, 1000, true), 7);
	assert_int_equal(serve(&rate, better_alone, 1000, true), 7);
}

static uint64_t burst(unsigned level)
{
	return now < 100 * (uint64_t)MS ? 100 : level;
}

static void rate_forgets_a_measure_that_was_none(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 2, 64);
	assert_int_equal(serve(&rate, burst, 600, true), 64);
}

/* As many in each tenth of a second, all at its beginning. */
static uint64_t in_bursts(unsigned level)
{
	(void)level;
	return now / MS % 100 < 5 ? 40 : 0;
}

static void rate_is_not_misled_by_bursts(void **state)
{
	struct rate rate;
	unsigned high = 0;

	(void)state;
	rate_start(&rate, 2, 64);
	for (unsigned i = 0; i < 10000; i++)
		high += serve(&rate, in_bursts, 1, true) > 16;
	assert_in_range(high, 0, 2000);
}

static void rate_leaves_out_what_was_skipped(void **state)
{
	struct rate rate;

	(void)state;
	rate_start(&rate, 2, 64);
	serve(&rate, each_adds, 100, true);
	assert_int_equal(rate.level, 4);
	now += 3600 * (uint64_t)1000 * MS;
	rate_skip(&rate, now, units, waited);
	assert_int_equal(serve(&rate, each_adds, 1000, true), 64);
}

/* ---- slab ---- */

static void slab_pieces_do_not_overlap(void **state)
{
	struct slab *slab = slab_new(64 << 10);
	unsigned char *pieces[16] = { NULL };
	size_t sizes[16] = { 0 };
	unsigned seed = 7, taken = 0, refused = 0;

	(void)state;
	assert_non_null(slab);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = (seed = seed * 1103515245 + 12345) >> 16 & 15;

		if (pieces[i])
			for (size_t k = 0; k < sizes[i]; k++)
				assert_int_equal(pieces[i][k], i);
		slab_give(slab, pieces[i]);
		sizes[i] = (seed >> 8) % 9000;
		pieces[i] = slab_take(slab, sizes[i]);
		taken += pieces[i] != NULL;
		refused += pieces[i] == NULL;
		if (pieces[i])
			memset(pieces[i], (int)i, sizes[i]);
	}
	assert_true(taken > 1000);
	assert_true(refused > 100);
	for (unsigned i = 0; i < 16; i++)
		slab_give(slab, pieces[i]);
	assert_non_null(slab_take(slab, (64 << 10) - 16));
	slab_free(slab);
}

static void slab_refuses_what_never_fits(void **state)
{
	struct slab *slab = slab_new(4096);

	(void)state;
	assert_null(slab_take(slab, 4096));
	assert_null(slab_take(slab, SIZE_MAX));
	slab_give(slab, NULL);
	slab_free(slab);
	slab_free(NULL);
}

static void slab_promises_no_more_than_it_has(void **state)
{
	struct slab *slab = slab_new(4096);

	(void)state;
	assert_true(slab_promise(slab, 4000));
	assert_false(slab_promise(slab, 97));
	assert_false(slab_promise(slab, SIZE_MAX));
	assert_true(slab_promise(slab, 96));
	slab_release(slab, 0);
	slab_release(slab, 4000);
	assert_true(slab_promise(slab, 4000));
	slab_free(slab);
}

/* ---- crew ---- */

static struct lock lock = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
static bool gate_open, gone;
static unsigned inside, most_inside;

static bool is_gone(void *arg)
{
	(void)arg;
	return gone;
}

static void run_nothing(struct task *task, struct helper *helper)
{
	(void)task, (void)helper;
}

/* Waits until the gate is open. */
static void run_waiting(struct task *task, struct helper *helper)
{
	(void)helper;
	task->holds = true;
	lock_take(&lock);
	if (++inside > most_inside)
		most_inside = inside;
	lock_notify(&lock);
	while (!gate_open)
		lock_wait(&lock);
	inside--;
	lock_give(&lock);
}

static void run_sleeping(struct task *task, struct helper *helper)
{
	(void)task, (void)helper;
	usleep(1000);
}

static void wait_inside(unsigned count)
{
	lock_take(&lock);
	while (inside < count)
		lock_wait(&lock);
	lock_give(&lock);
}

static void open_gate(bool open)
{
	lock_take(&lock);
	gate_open = open;
	lock_notify(&lock);
	lock_give(&lock);
}

static struct crew *crew_with(unsigned helpers, unsigned descriptors)
{
	struct crew_config config = { helpers, descriptors, is_gone, NULL };
	struct crew *crew = crew_new(&config);

	assert_non_null(crew);
	gate_open = gone = false;
	inside = most_inside = 0;
	return crew;
}

static void crew_end(struct crew *crew)
{
	open_gate(true);
	assert_true(crew_stop(crew, 10000));
	crew_free(crew);
}

enum { TASKS = 100 };

static struct task tasks[TASKS], *list[TASKS];

static void make_tasks(void (*run)(struct task *, struct helper *))
{
	memset(tasks, 0, sizeof(tasks));
	for (size_t i = 0; i < TASKS; i++) {
		tasks[i].run = run;
		list[i] = &tasks[i];
	}
}

static void crew_does_all(void **state)
{
	struct crew *crew = crew_with(5, 64);

	(void)state;
	make_tasks(run_nothing);
	crew_put(crew, list, TASKS);
	for (size_t i = 0; i < TASKS; i++) {
		assert_true(crew_wait(crew, &tasks[i], NULL));
		assert_true(crew_is_done(crew, &tasks[i]));
		assert_false(crew_claim(crew, &tasks[i]));
	}
	assert_int_equal(crew_count_done(crew, list, TASKS), TASKS);
	assert_int_equal(crew_most(crew), 5);
	crew_end(crew);
}

static void crew_gives_back_what_was_not_begun(void **state)
{
	struct crew *crew = crew_with(2, 64);

	(void)state;
	make_tasks(run_waiting);
	crew_put(crew, list, 10);
	wait_inside(2);
	for (size_t i = 2; i < 10; i++)
		assert_true(crew_claim(crew, &tasks[i]));
	assert_false(crew_claim(crew, &tasks[0]));
	assert_int_equal(crew_count_done(crew, list, 10), 0);
	crew_put(crew, list + 5, 1);
	open_gate(true);
	assert_true(crew_wait(crew, &tasks[5], NULL));
	crew_end(crew);
	assert_int_equal(tasks[7].state, TASK_NONE);
}

static void crew_waits_for_either(void **state)
{
	struct crew *crew = crew_with(2, 64);

	(void)state;
	make_tasks(run_waiting);
	tasks[1].run = run_nothing;
	crew_put(crew, list, 2);
	assert_true(crew_wait(crew, &tasks[0], &tasks[1]));
	assert_false(crew_is_done(crew, &tasks[0]));
	assert_true(crew_is_done(crew, &tasks[1]));
	crew_end(crew);
}

static void crew_holds_no_more_descriptors_than_it_may(void **state)
{
	struct crew *crew = crew_with(20, 4);

	(void)state;
	make_tasks(run_waiting);
	crew_put(crew, list, 20);
	wait_inside(4);
	open_gate(true);
	for (size_t i = 0; i < 4; i++)
		assert_true(crew_wait(crew, &tasks[i], NULL));
	assert_true(crew_claim(crew, &tasks[19]));	/* four are held */
	assert_false(crew_is_done(crew, &tasks[4]));
	crew_give_back(crew, 2);
	assert_true(crew_wait(crew, &tasks[5], NULL));
	assert_int_equal(most_inside, 4);
	crew_end(crew);
}

static void crew_leaves_half_of_it_for_others(void **state)
{
	struct crew *crew = crew_with(4, 64);

	(void)state;
	make_tasks(run_waiting);
	for (size_t i = 0; i < 10; i++)
		tasks[i].urgent = true;
	for (size_t i = 10; i < 20; i++)
		tasks[i].run = run_nothing;
	crew_put(crew, list, 20);
	/* The first four may be urgent: nothing else is there when they begin. */
	open_gate(true);
	for (size_t i = 0; i < 20; i++)
		assert_true(crew_wait(crew, &tasks[i], NULL));
	crew_end(crew);
}

static void crew_waits_no_longer_than_the_run(void **state)
{
	struct crew *crew = crew_with(1, 64);

	(void)state;
	make_tasks(run_waiting);
	crew_put(crew, list, 2);
	wait_inside(1);
	gone = true;
	assert_false(crew_wait(crew, &tasks[0], NULL));
	assert_false(crew_stop(crew, 20));	/* it is stuck */
	crew_end(crew);
}

static void crew_sees_that_nothing_is_waited_for(void **state)
{
	struct crew *crew = crew_with(2, 64);

	(void)state;
	assert_false(crew_is_idle(crew));
	for (int round = 0; round < 10; round++) {
		make_tasks(run_nothing);
		crew_put(crew, list, TASKS);
		for (size_t i = 0; i < TASKS; i++)
			assert_true(crew_wait(crew, &tasks[i], NULL));
	}
	assert_true(crew_is_idle(crew));
	crew_forget(crew);
	assert_false(crew_is_idle(crew));
	for (int round = 0; round < 10; round++) {
		make_tasks(run_sleeping);
		crew_put(crew, list, TASKS);
		for (size_t i = 0; i < TASKS; i++)
			assert_true(crew_wait(crew, &tasks[i], NULL));
	}
	assert_false(crew_is_idle(crew));
	crew_end(crew);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_grows_while_it_pays),
		cmocka_unit_test(rate_steps_back_from_what_gained_nothing),
		cmocka_unit_test(rate_never_falls_below_the_least),
		cmocka_unit_test(rate_stays_when_nobody_waits),
		cmocka_unit_test(rate_may_be_fixed),
		cmocka_unit_test(rate_forgets_a_measure_that_was_none),
		cmocka_unit_test(rate_is_not_misled_by_bursts),
		cmocka_unit_test(rate_leaves_out_what_was_skipped),
		cmocka_unit_test(slab_pieces_do_not_overlap),
		cmocka_unit_test(slab_refuses_what_never_fits),
		cmocka_unit_test(slab_promises_no_more_than_it_has),
		cmocka_unit_test(crew_does_all),
		cmocka_unit_test(crew_gives_back_what_was_not_begun),
		cmocka_unit_test(crew_waits_for_either),
		cmocka_unit_test(crew_holds_no_more_descriptors_than_it_may),
		cmocka_unit_test(crew_leaves_half_of_it_for_others),
		cmocka_unit_test(crew_waits_no_longer_than_the_run),
		cmocka_unit_test(crew_sees_that_nothing_is_waited_for),
	};

	alarm(120);
	return cmocka_run_group_tests_name("crew", tests, NULL, NULL);
}
