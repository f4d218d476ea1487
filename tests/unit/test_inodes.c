/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of one inode, on the side that restores. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "diag.h"
#include "faults.h"
#include "gate.h"
#include "inodes.h"
#include "thread.h"
#include "tree.h"

WRAPPED(void *, malloc, size_t size)
{
	return fault_due(MALLOC, NULL, NULL) ? NULL : __real_malloc(size);
}

static struct gate *gate;
static struct inodes *inodes;
static int root;

static int setup(void **state)
{
	struct gate_config config = { .shown = "dst", .fds = 8 };

	faults_clear();
	if (tree_setup(state) != 0)
		return -1;
	root = config.root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gate = gate_new(&config);
	inodes = gate ? inodes_new(gate) : NULL;
	return inodes ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	inodes_free(inodes);
	gate_free(gate);
	close(root);
	diag_reset();
	return tree_teardown(state);
}

static struct inode_place place_of(const char *name, ino_t ino)
{
	return (struct inode_place){ gate_root(gate), name, 1, ino };
}

static struct inode *open_inode(uint32_t id)
{
	struct inode *inode = inodes_open(inodes, id);

	assert_non_null(inode);
	return inode;
}

static struct inode *find_inode(uint32_t id, bool last)
{
	struct inode *inode = inodes_find(inodes, id, last);

	assert_non_null(inode);
	return inode;
}

static void assert_place(struct inode *inode, const char *name, ino_t ino)
{
	struct inode_place place;

	assert_true(inode_wait(inodes, inode, &place));
	assert_ptr_equal(place.dir, gate_root(gate));
	assert_string_equal(place.name, name);
	assert_int_equal(place.dev, 1);
	assert_int_equal(place.ino, ino);
}

static void a_complete_name_is_found_by_the_others(void **state)
{
	struct inode *first = open_inode(1), *second;
	struct inode_place place = place_of("first", 5);

	(void)state;
	inode_complete(inodes, first, &place);
	inode_drop(inodes, first);
	second = find_inode(1, true);
	assert_place(second, "first", 5);
	inode_drop(inodes, second);
}

/* The table lends the name no longer than somebody holds it: it has its own copy. */
static void a_name_is_kept_whatever_becomes_of_the_string(void **state)
{
	struct inode *first = open_inode(1), *second;
	char name[] = "first";
	struct inode_place place = place_of(name, 5);

	(void)state;
	inode_complete(inodes, first, &place);
	inode_drop(inodes, first);
	memset(name, 'x', sizeof(name) - 1);
	second = find_inode(1, true);
	assert_place(second, "first", 5);
	inode_drop(inodes, second);
}

static void a_name_that_failed_is_told_to_the_others(void **state)
{
	struct inode *first = open_inode(1), *second;
	struct inode_place place;

	(void)state;
	inode_failed(inodes, first);
	inode_drop(inodes, first);
	second = find_inode(1, false);
	assert_false(inode_wait(inodes, second, &place));
	inode_drop(inodes, second);
}

static void an_inode_ends_with_its_last_name(void **state)
{
	struct inode *first = open_inode(1), *second, *last;
	struct inode_place place = place_of("first", 5);

	(void)state;
	second = find_inode(1, false);
	last = find_inode(1, true);
	errno = 0;
	assert_null(inodes_find(inodes, 1, false));
	assert_int_equal(errno, EBADMSG);
	inode_complete(inodes, first, &place);
	inode_drop(inodes, first);
	assert_place(second, "first", 5);	/* those on their way go on */
	inode_drop(inodes, second);
	assert_place(last, "first", 5);
	inode_drop(inodes, last);
}

static void an_id_is_given_again(void **state)
{
	struct inode *old = open_inode(3), *new = open_inode(3), *link;
	struct inode_place place = place_of("old", 1);

	(void)state;
	inode_complete(inodes, old, &place);
	inode_drop(inodes, old);
	place = place_of("new", 2);
	inode_complete(inodes, new, &place);
	inode_drop(inodes, new);
	link = find_inode(3, true);
	assert_place(link, "new", 2);
	inode_drop(inodes, link);
}

/* A twin takes over; who has the older name in hand keeps it. */
static void a_later_name_stands_for_it_from_then_on(void **state)
{
	struct inode *first = open_inode(1), *link = find_inode(1, false);
	struct inode_place place = place_of("first", 5), seen;

	(void)state;
	inode_complete(inodes, first, &place);
	assert_true(inode_wait(inodes, link, &seen));
	place = place_of("twin", 6);
	inode_complete(inodes, link, &place);
	assert_string_equal(seen.name, "first");
	assert_place(link, "twin", 6);
	inode_drop(inodes, first);
	inode_drop(inodes, link);
}

/* A twin that failed leaves the first name to the others. */
static void a_later_failure_does_not_undo_it(void **state)
{
	struct inode *first = open_inode(1), *link;
	struct inode_place place = place_of("first", 5);

	(void)state;
	inode_complete(inodes, first, &place);
	inode_failed(inodes, first);
	inode_drop(inodes, first);
	link = find_inode(1, true);
	assert_place(link, "first", 5);
	inode_drop(inodes, link);
}

/* ---- ids that no honest stream has ---- */

static void an_unknown_id_is_refused(void **state)
{
	static const uint32_t ids[] = { 0, 1, 63, 64, 1000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		errno = 0;
		assert_null(inodes_find(inodes, ids[i], i % 2));
		assert_int_equal(errno, EBADMSG);
	}
}

static void a_huge_id_takes_no_memory(void **state)
{
	static const uint32_t ids[] = { 1000, 1 << 20, 0x7fffffff, 0x80000000,
					UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		errno = 0;
		assert_null(inodes_open(inodes, ids[i]));
		assert_int_equal(errno, EBADMSG);
	}
}

static void dense_ids_may_be_many(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= 20000; id++)
		inode_drop(inodes, open_inode(id));
	for (uint32_t id = 1; id <= 20000; id++)
		inode_drop(inodes, find_inode(id, id % 2));
}

/* ---- waiting ---- */

struct waiter {
	struct inode *inode;
	struct thread thread;
	struct inode_place place;
	bool complete;
	uint64_t done;
};

static void waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	waiter->complete = inode_wait(inodes, waiter->inode, &waiter->place);
	count_add(&waiter->done, 1);
}

static void waiters_start(struct waiter *waiters, int count)
{
	for (int i = 0; i < count; i++) {
		waiters[i] = (struct waiter){ .inode = find_inode(1, false) };
		assert_int_equal(thread_start(&waiters[i].thread, "waiter",
					      waiter_run, &waiters[i]), 0);
	}
	usleep(5000);
	for (int i = 0; i < count; i++)
		assert_int_equal(count_get(&waiters[i].done), 0);
}

static void waiters_join(struct waiter *waiters, int count)
{
	for (int i = 0; i < count; i++) {
		thread_join(&waiters[i].thread);
		inode_drop(inodes, waiters[i].inode);
	}
}

static void all_wait_for_the_first_name(void **state)
{
	struct inode *first = open_inode(1);
	struct inode_place place = place_of("first", 5);
	struct waiter waiters[3];

	(void)state;
	waiters_start(waiters, 3);
	inode_complete(inodes, first, &place);
	for (int i = 0; i < 3; i++) {
		thread_join(&waiters[i].thread);
		assert_true(waiters[i].complete);
		assert_string_equal(waiters[i].place.name, "first");
	}
	waiters_join(waiters, 3);
	inode_drop(inodes, first);
}

static void none_waits_for_a_name_that_failed(void **state)
{
	struct inode *first = open_inode(1);
	struct waiter waiters[3];

	(void)state;
	waiters_start(waiters, 3);
	inode_failed(inodes, first);
	for (int i = 0; i < 3; i++) {
		thread_join(&waiters[i].thread);
		assert_false(waiters[i].complete);
	}
	waiters_join(waiters, 3);
	inode_drop(inodes, first);
}

static void without_memory_for_the_name_it_counts_as_failed(void **state)
{
	struct inode *first = open_inode(1);
	struct inode_place place = place_of("first", 5);

	(void)state;
	fault_set(MALLOC, (struct fault){ .err = ENOMEM });
	inode_complete(inodes, first, &place);
	assert_int_equal(fault_hits(MALLOC), 1);
	faults_clear();
	assert_false(inode_wait(inodes, first, &place));
	inode_drop(inodes, first);
}

/* ---- the directory of the name ---- */

/* Adds, makes and leaves a directory, as a stream does. */
static struct dir *dir_in_and_out(const char *name)
{
	struct dir *dir = gate_add(gate, gate_root(gate), name, strlen(name));

	assert_non_null(dir);
	assert_true(gate_enter(gate, gate_root(gate)) >= 0);
	assert_int_equal(gate_make(gate, dir, false), 0);
	gate_exit(gate, gate_root(gate));
	gate_hold(gate, dir);
	gate_end(gate, dir);
	return dir;
}

static void its_directory_stays_although_it_is_done(void **state)
{
	struct dir *dir = dir_in_and_out("d");
	struct inode *first = open_inode(1), *link;
	struct inode_place place = { dir, "first", 1, 5 };
	int fd;

	(void)state;
	inode_complete(inodes, first, &place);
	inode_drop(inodes, first);
	assert_true(gate_drop(gate, dir));
	assert_ptr_equal(gate_done(gate, dir), gate_root(gate));
	link = find_inode(1, true);
	assert_true(inode_wait(inodes, link, &place));
	assert_ptr_equal(place.dir, dir);
	fd = gate_enter(gate, place.dir);
	assert_true(fd >= 0);
	put_file("d/here", "");
	assert_int_equal(faccessat(fd, "here", F_OK, 0), 0);
	gate_exit(gate, place.dir);
	inode_drop(inodes, link);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_complete_name_is_found_by_the_others),
		TEST(a_name_is_kept_whatever_becomes_of_the_string),
		TEST(a_name_that_failed_is_told_to_the_others),
		TEST(an_inode_ends_with_its_last_name),
		TEST(an_id_is_given_again),
		TEST(a_later_name_stands_for_it_from_then_on),
		TEST(a_later_failure_does_not_undo_it),
		TEST(an_unknown_id_is_refused),
		TEST(a_huge_id_takes_no_memory),
		TEST(dense_ids_may_be_many),
		TEST(all_wait_for_the_first_name),
		TEST(none_waits_for_a_name_that_failed),
		TEST(without_memory_for_the_name_it_counts_as_failed),
		TEST(its_directory_stays_although_it_is_done),
	};

	return cmocka_run_group_tests_name("inodes", tests, NULL, NULL);
}
