/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of one inode, on the side that walks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "faults.h"
#include "links.h"

WRAPPED(void *, calloc, size_t count, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(count, size);
}

WRAPPED(void *, realloc, void *block, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(block, size);
}

static int make(void **state)
{
	faults_clear();
	*state = links_new();
	return *state ? 0 : -1;
}

static int unmake(void **state)
{
	faults_clear();
	links_free(*state);
	return 0;
}

static struct link meet(struct links *links, dev_t dev, ino_t ino, nlink_t nlink)
{
	struct link link = { 0 };

	assert_int_equal(links_meet(links, dev, ino, nlink, 7, &link), 0);
	assert_true(link.id > 0);
	return link;
}

/* Paths of their own for three inodes, told to the last of their names and gone then. */
static void a_path_is_kept_until_the_last_name(void **state)
{
	char path[16];
	struct link link;

	for (int round = 0; round < 2; round++) {
		for (ino_t ino = 0; ino < 200; ino++) {
			link = meet(*state, 1, 10 + ino, 3);
			assert_null(link.path);
			snprintf(path, sizeof(path), "./%d", (int)ino);
			assert_int_equal(links_name(*state, link.id, path), 0);
		}
		for (int name = 0; name < 2; name++) {
			for (ino_t ino = 0; ino < 200; ino++) {
				link = meet(*state, 1, 10 + ino, 3);
				snprintf(path, sizeof(path), "./%d", (int)ino);
				assert_string_equal(link.path, path);
			}
		}
		assert_true(link.last);
	}
	link = meet(*state, 1, 10, 2);
	assert_int_equal(links_name(*state, link.id, "a"), 0);
	links_forget(*state, 1, 10);
	link = meet(*state, 1, 10, 2);
	assert_true(link.first);
	link = meet(*state, 1, 10, 2);
	assert_null(link.path);
}

static void a_path_without_memory(void **state)
{
	struct link link = meet(*state, 1, 10, 2);

	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(links_name(*state, link.id, "a"), -1);
	assert_null(meet(*state, 1, 10, 2).path);
}

static void the_first_and_the_last_name_are_told(void **state)
{
	struct link a = meet(*state, 1, 10, 3);
	struct link b = meet(*state, 1, 10, 3);
	struct link c = meet(*state, 1, 10, 3);

	assert_true(a.first && !a.last);
	assert_true(!b.first && !b.last);
	assert_true(!c.first && c.last);
	assert_int_equal(a.id, b.id);
	assert_int_equal(a.id, c.id);
}

static void an_inode_goes_with_its_last_name(void **state)
{
	struct link link;

	link = meet(*state, 1, 10, 2);
	assert_int_equal(links_open(*state), 1);
	link = meet(*state, 1, 10, 2);
	assert_true(link.last);
	assert_int_equal(links_open(*state), 0);
	link = meet(*state, 1, 10, 2);		/* a name that came meanwhile */
	assert_true(link.first);
}

static void inodes_are_told_apart_by_device_too(void **state)
{
	uint32_t a = meet(*state, 1, 10, 2).id;
	struct link b = meet(*state, 2, 10, 2);
	struct link c = meet(*state, 1, 11, 2);

	assert_true(b.first && c.first);
	assert_true(a != b.id && a != c.id && b.id != c.id);
	assert_int_equal(meet(*state, 2, 10, 2).id, b.id);
	assert_int_equal(meet(*state, 1, 11, 2).id, c.id);
	assert_int_equal(meet(*state, 1, 10, 2).id, a);
}

/* The other side has a table by id: they have to stay small. */
static void ids_are_given_again(void **state)
{
	for (ino_t ino = 1; ino < 10000; ino++) {
		assert_true(meet(*state, 1, ino, 2).id <= 1);
		assert_true(meet(*state, 1, ino, 2).last);
	}
}

static void a_forgotten_inode_begins_anew(void **state)
{
	struct link link;

	(void)meet(*state, 1, 10, 3);
	links_forget(*state, 1, 10);
	assert_int_equal(links_open(*state), 0);
	link = meet(*state, 1, 10, 3);
	assert_true(link.first && !link.last);
	links_forget(*state, 7, 77);		/* nobody knows it: nothing */
	assert_int_equal(links_open(*state), 1);
	assert_false(meet(*state, 1, 10, 3).first);
}

static void names_outside_the_tree_keep_it_open(void **state)
{
	for (ino_t ino = 0; ino < 1000; ino++)
		(void)meet(*state, 1, ino, 2);
	assert_int_equal(links_open(*state), 1000);
	for (ino_t ino = 0; ino < 1000; ino++)
		assert_false(meet(*state, 1, ino, 2).first);
	assert_int_equal(links_open(*state), 0);
}

/* ---- a model to compare with ---- */

enum { INODES = 4000, STEPS = 200000 };

struct model {
	unsigned nlink, met;
	uint32_t id;
};

static ino_t number(unsigned i)
{
	/* Runs, as a disk has them, and far apart. */
	return (ino_t)(i % 4 == 0 ? (uint64_t)i << 32 : i * 8);
}

static void model_meet(struct links *links, struct model *model, unsigned i,
		       unsigned *owner)
{
	struct link link = meet(links, i % 3, number(i), model->nlink);

	assert_int_equal(link.first, model->met == 0);
	model->met++;
	assert_int_equal(link.last, model->met == model->nlink);
	if (link.first) {
		assert_true(link.id <= INODES);
		assert_int_equal(owner[link.id], 0);	/* nobody has it */
		owner[link.id] = i + 1;
		model->id = link.id;
	}
	assert_int_equal(link.id, model->id);
	if (link.last) {
		owner[link.id] = 0;
		model->met = 0;
	}
}

static void any_order_of_many_names(void **state)
{
	struct model *models = calloc(INODES, sizeof(*models));
	unsigned *owner = calloc(INODES + 1, sizeof(*owner));
	unsigned seed = 3;
	size_t open = 0;

	for (unsigned i = 0; i < INODES; i++)
		models[i].nlink = 2 + i % 5;
	for (unsigned step = 0; step < STEPS; step++) {
		/* Waves: the table grows and shrinks. */
		unsigned range = step / 20000 % 2 ? INODES / 50 : INODES;
		unsigned i = (unsigned)rand_r(&seed) % range;

		if (models[i].met > 0 && rand_r(&seed) % 50 == 0) {
			links_forget(*state, i % 3, number(i));
			owner[models[i].id] = 0;
			models[i].met = 0;
		} else {
			model_meet(*state, &models[i], i, owner);
		}
	}
	for (unsigned i = 0; i < INODES; i++)
		open += models[i].met > 0;
	assert_int_equal(links_open(*state), open);
	for (unsigned i = 0; i < INODES; i++)
		while (models[i].met > 0)
			model_meet(*state, &models[i], i, owner);
	assert_int_equal(links_open(*state), 0);
	free(models);
	free(owner);
}

/* ---- no memory ---- */

static void without_memory_there_is_no_table(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		fault_set(CALLOC, (struct fault){ .after = n, .err = ENOMEM });
		errno = 0;
		assert_null(links_new());
		assert_int_equal(errno, ENOMEM);
	}
}

static void what_does_not_fit_is_told_and_the_rest_stays(void **state)
{
	struct link link;
	ino_t ino = 0;

	fault_set(CALLOC, (struct fault){ .times = EVERY_TIME, .err = ENOMEM });
	while (links_meet(*state, 1, ino, 2, 7, &link) == 0)
		ino++;
	assert_int_equal(errno, ENOMEM);
	assert_true(ino > 16);
	assert_int_equal(links_open(*state), ino);
	faults_clear();
	assert_true(meet(*state, 1, ino, 2).first);
	for (ino_t i = 0; i <= ino; i++)
		assert_true(meet(*state, 1, i, 2).last);
}

static void an_id_that_does_not_fit_is_told(void **state)
{
	struct link link;

	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_int_equal(links_meet(*state, 1, 1, 2, 7, &link), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fault_hits(REALLOC), 1);
	assert_int_equal(links_open(*state), 0);
	assert_true(meet(*state, 1, 1, 2).first);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

/* A number that is used again names another file: nothing links the two. */
static void a_number_used_again_is_another_inode(void **state)
{
	struct link first, second, third;

	assert_int_equal(links_meet(*state, 1, 5, 3, 7, &first), 0);
	assert_false(first.changed);
	assert_int_equal(links_meet(*state, 1, 5, 2, 8, &second), 0);
	assert_true(second.first);
	assert_true(second.changed);
	assert_int_equal(links_open(*state), 1);
	assert_int_equal(links_meet(*state, 1, 5, 2, 8, &third), 0);
	assert_false(third.first);
	assert_true(third.last);
	assert_int_equal(third.id, second.id);
}

/* A list may name one file twice: its third name is still one. */
static void names_may_come_again(void **state)
{
	struct link first, link;

	links_again(*state);
	first = meet(*state, 1, 5, 2);
	for (int i = 0; i < 5; i++) {
		link = meet(*state, 1, 5, 2);
		assert_false(link.first);
		assert_false(link.last);
		assert_int_equal(link.id, first.id);
	}
	assert_int_equal(links_open(*state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_path_is_kept_until_the_last_name),
		TEST(a_path_without_memory),
		TEST(the_first_and_the_last_name_are_told),
		TEST(an_inode_goes_with_its_last_name),
		TEST(inodes_are_told_apart_by_device_too),
		TEST(ids_are_given_again),
		TEST(a_forgotten_inode_begins_anew),
		TEST(names_outside_the_tree_keep_it_open),
		TEST(any_order_of_many_names),
		TEST(without_memory_there_is_no_table),
		TEST(what_does_not_fit_is_told_and_the_rest_stays),
		TEST(an_id_that_does_not_fit_is_told),
		TEST(a_number_used_again_is_another_inode),
		TEST(names_may_come_again),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
