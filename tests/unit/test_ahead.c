/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Look-ahead: the items are those of the walk, in its order, whoever has fetched them;
 * and what went wrong for a helper comes to the packer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ahead.h"
#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "tree.h"

WRAPPED(int, openat, int dirfd, const char *name, int flags, ...)
{
	return fault_due(OPENAT, name, NULL) ? -1 :
					       __real_openat(dirfd, name, flags);
}

WRAPPED(int, __openat_2, int dirfd, const char *name, int flags)
{
	return __wrap_openat(dirfd, name, flags);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
	return fault_due(FSTAT, NULL, NULL) ? -1 : __real_fstat(fd, st);
}

WRAPPED(ssize_t, pread, int fd, void *to, size_t size, off_t at)
{
	return fault_due(PREAD, NULL, &size) ? -1 : __real_pread(fd, to, size, at);
}

WRAPPED(ssize_t, flistxattr, int fd, char *to, size_t size)
{
	return fault_due(LISTXATTR, NULL, NULL) ? -1 :
						  __real_flistxattr(fd, to, size);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

WRAPPED(void *, calloc, size_t count, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(count, size);
}

static bool no_threads;

WRAPPED(int, pthread_create, pthread_t *id, const pthread_attr_t *attributes,
	void *(*run)(void *), void *arg)
{
	return no_threads ? EAGAIN :
			    __real_pthread_create(id, attributes, run, arg);
}

/* ---- a run ---- */

static struct ahead_config config;
static struct ring *ring;
static struct ahead *ahead;
static bool wants;		/* all files are wanted open */

static bool wants_open(void *arg, const struct stat *st)
{
	(void)arg, (void)st;
	return wants;
}

static int setup(void **state)
{
	struct ring_config ring_config = { .size = 1 << 20, .low = 100, .spans = 4 };

	faults_clear();
	wants = false;
	ring = ring_new(&ring_config);
	assert_non_null(ring);
	config = (struct ahead_config){
		.walk = { .fds = 16 },
		.ring = ring,
		.descriptors = 100,
		.rules = { .small = 100000, .attributes = true,
			   .wants_open = wants_open },
	};
	ahead = NULL;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	ahead_free(ahead);
	ring_free(ring);
	diag_reset();
	return tree_teardown(state);
}

static void begin(int helpers)
{
	config.helpers = helpers;
	ahead_free(ahead);
	ahead = ahead_new(&config);
	assert_non_null(ahead);
	ahead_begin(ahead, "src", "src", false, NULL);
}

/* What is taken of an item is closed. */
static void use(void)
{
	struct fetch *fetch = ahead_fetched(ahead);

	if (fetch && fetch->fd >= 0)
		close(fetch->fd);
	if (fetch)
		fetch->fd = -1;
}

static struct walk_item next(void)
{
	struct walk_item item = { 0 };

	assert_int_equal(ahead_next(ahead, &item), 0);
	return item;
}

/* The next item that is a file of this name. */
static struct fetch *find(const char *name)
{
	for (;;) {
		struct walk_item item = next();

		assert_int_not_equal(item.event, WALK_END);
		if (item.event == WALK_ENTRY && strcmp(item.name, name) == 0)
			return ahead_fetched(ahead);
		use();
	}
}

/*
 * Its item once a helper has done it: the packer takes over what none has begun, and then
 * the whole is tried again.
 */
static struct fetch *find_fetched(const char *name)
{
	for (int i = 0; i < 1000; i++) {
		struct fetch *fetch;

		begin(1);
		(void)next();		/* helpers are at work */
		usleep(1000);
		fetch = find(name);
		if (fetch)
			return fetch;
	}
	fail_msg("no helper has ever fetched %s", name);
	return NULL;
}

static char lines[1 << 20];

/* All items, a line each. */
static const char *all(int helpers)
{
	static const char *const events[] = { "end", "entry", "enter", "leave" };
	struct walk_item item;
	size_t len = 0;

	begin(helpers);
	do {
		item = next();
		len += (size_t)snprintf(lines + len, sizeof(lines) - len,
					"%s %s %s %u %u %d\n", events[item.event],
					item.event == WALK_END ? "" :
								 ahead_path(ahead),
					item.event != WALK_END && item.as ?
						item.as :
						"",
					item.dir, item.id,
					item.event == WALK_ENTRY ? item.type : 0);
		assert_true(len < sizeof(lines));
		use();
	} while (item.event != WALK_END);
	return lines;
}

static void make_tree(void)
{
	char path[64];

	put_dir("src");
	for (int i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "src/d%d", i);
		put_dir(path);
		for (int j = 0; j < 12; j++) {
			snprintf(path, sizeof(path), "src/d%d/e%d", i, j);
			put_dir(path);
			snprintf(path, sizeof(path), "src/d%d/e%d/a-%d", i, j, i);
			put_file(path, path);
			snprintf(path, sizeof(path), "src/d%d/f%d", i, j);
			put_file(path, path);
			snprintf(path, sizeof(path), "src/d%d/l%d", i, j);
			assert_int_equal(symlink("f1", path), 0);
		}
	}
	put_dir("src/empty");
}

/* ---- order ---- */

static void items_are_those_of_the_walk(void **state)
{
	static const int helpers[] = { 1, 2, 5, 64 };
	unsigned before = open_descriptors();
	char *plain;

	(void)state;
	make_tree();
	plain = strdup(all(READ_AHEAD_OFF));
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		assert_string_equal(all(helpers[i]), plain);
	config.walk.fds = 3;
	config.descriptors = 12;
	assert_string_equal(all(5), plain);
	assert_string_equal(all(READ_AHEAD_AUTO), plain);
	free(plain);
	ahead_free(ahead);
	ahead = NULL;
	assert_int_equal(open_descriptors(), before);
}

static unsigned asked;

static bool not_named_e(void *arg, const char *path, bool directory)
{
	const char *name = strrchr(path, '/');

	(void)arg, (void)directory;
	asked++;
	return !name || strncmp(name, "/e3", 3) != 0;
}

static void names_are_asked_for_once_and_not_touched(void **state)
{
	unsigned plain_asked;
	char *plain;

	(void)state;
	make_tree();
	config.walk.wanted = not_named_e;
	asked = 0;
	plain = strdup(all(READ_AHEAD_OFF));
	plain_asked = asked;
	asked = 0;
	fault_set(OPENAT, (struct fault){ .name = "e3", .times = EVERY_TIME,
					  .err = EIO });
	assert_string_equal(all(8), plain);
	assert_int_equal(asked, plain_asked);
	assert_int_equal(fault_hits(OPENAT), 0);
	free(plain);
}

static void the_destination_is_left_out(void **state)
{
	struct stat st;
	const char *said;
	char *plain;

	(void)state;
	make_tree();
	st = stat_of("src/d5");
	config.walk.avoid = true;
	config.walk.avoid_dev = st.st_dev;
	config.walk.avoid_ino = st.st_ino;
	capture_begin(STDERR_FILENO);
	plain = strdup(all(READ_AHEAD_OFF));
	(void)capture_end();
	for (int i = 0; i < 10; i++) {
		capture_begin(STDERR_FILENO);
		assert_string_equal(all(16), plain);
		said = capture_end();
		assert_string_equal(said, "tarpipe: src/d5: left out: it is the "
					  "destination\n");
	}
	free(plain);
}

static void what_is_skipped_does_not_come(void **state)
{
	struct walk_item item;

	(void)state;
	make_tree();
	begin(4);
	do
		item = next();
	while (item.event != WALK_ENTER || strcmp(item.name, "d5") != 0);
	ahead_skip(ahead);
	item = next();
	assert_int_equal(item.event, WALK_LEAVE);
	assert_string_equal(item.name, "d5");
	do
		item = next();
	while (item.event != WALK_END);
}

static void descriptors_stay_within_their_share(void **state)
{
	unsigned before, most = 0;
	struct walk_item item;

	(void)state;
	make_tree();
	wants = true;			/* each file is handed on open */
	config.descriptors = 20;
	config.walk.fds = 4;
	begin(16);
	before = open_descriptors();
	do {
		unsigned now;

		item = next();
		now = open_descriptors();
		most = now > most ? now : most;
		use();
	} while (item.event != WALK_END);
	assert_in_range(most - before, 1, 20 + 4 + 2);
}

/* ---- what was found ---- */

static void small_files_are_read(void **state)
{
	struct fetch *fetch;

	(void)state;
	put_dir("src");
	put_file("src/f", "hello");
	fetch = find_fetched("f");
	assert_int_equal(fetch->found, FETCH_OPEN);
	assert_int_equal(fetch->st.st_size, 5);
	assert_true(fetch->read);
	assert_int_equal(fetch->got, 5);
	assert_memory_equal(fetch->data, "hello", 5);
	assert_int_equal(fetch->fd, -1);
}

static void others_are_handed_on_open(void **state)
{
	static unsigned char noise[300000];
	struct fetch *fetch;

	(void)state;
	put_dir("src");
	put_noise(noise, sizeof(noise), 3);
	put_bytes("src/large", noise, sizeof(noise));
	put_file("src/one", "1");
	assert_int_equal(link("src/one", "src/two"), 0);
	put_file("src/small", "2");
	fetch = find_fetched("large");
	assert_false(fetch->read);
	assert_true(fetch->fd >= 0);
	use();
	fetch = find_fetched("two");
	assert_false(fetch->read);
	assert_true(fetch->fd >= 0);
	use();
	wants = true;
	fetch = find_fetched("small");
	assert_false(fetch->read);
	assert_true(fetch->fd >= 0);
	use();
	/* The slab has 256 KiB, with this ring. */
	wants = false;
	config.rules.small = 1 << 20;
	fetch = find_fetched("large");
	assert_false(fetch->read);
	assert_true(fetch->fd >= 0);
	use();
}

static void a_file_that_shrank_is_what_it_is_now(void **state)
{
	struct fetch *fetch;

	(void)state;
	put_dir("src");
	put_file("src/f", "hello");
	fault_set(PREAD, (struct fault){ .times = EVERY_TIME, .most = 2 });
	fetch = find_fetched("f");		/* short reads are no end */
	assert_int_equal(fetch->got, 5);
}

static void links_are_looked_at(void **state)
{
	struct fetch *fetch;
	char target[FETCH_TEXT + 1];

	(void)state;
	put_dir("src");
	assert_int_equal(symlink("target", "src/l"), 0);
	memset(target, 'x', FETCH_TEXT);
	target[FETCH_TEXT] = '\0';
	assert_int_equal(symlink(target, "src/long"), 0);
	fetch = find_fetched("l");
	assert_int_equal(fetch->found, FETCH_SPECIAL);
	assert_true(S_ISLNK(fetch->st.st_mode));
	assert_int_equal(fetch->text_len, 6);
	assert_memory_equal(fetch->text, "target", 6);
	fetch = find_fetched("long");
	assert_int_equal(fetch->found, FETCH_SPECIAL);
	assert_int_equal(fetch->text_len, -1);
}

/* ---- what went wrong ---- */

static void failures_are_handed_on(void **state)
{
	struct fetch *fetch;

	(void)state;
	put_dir("src");
	put_file("src/f", "hello");
	fault_set(OPENAT, (struct fault){ .name = "f", .times = EVERY_TIME,
					  .err = EIO });
	fetch = find_fetched("f");
	assert_int_equal(fetch->found, FETCH_NO_OPEN);
	assert_int_equal(fetch->err, EIO);
	faults_clear();

	fault_set(PREAD, (struct fault){ .times = EVERY_TIME, .err = EIO });
	fetch = find_fetched("f");
	assert_int_equal(fetch->found, FETCH_OPEN);
	assert_true(fetch->read);
	assert_int_equal(fetch->got, -1);
	assert_int_equal(fetch->err, EIO);
	faults_clear();

	fault_set(LISTXATTR, (struct fault){ .times = EVERY_TIME, .err = EIO });
	fetch = find_fetched("f");
	assert_int_equal(fetch->found, FETCH_OPEN);
	assert_false(fetch->listed);
	assert_true(fetch->fd >= 0);	/* the packer will see for itself */
	use();
}

static void what_may_pass_is_left_to_the_packer(void **state)
{
	static const int passing[] = { EMFILE, ENFILE, ENOMEM, EWOULDBLOCK };

	(void)state;
	put_dir("src");
	put_file("src/f", "hello");
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++) {
		fault_set(OPENAT, (struct fault){ .name = "f", .times = 1,
						  .err = passing[i] });
		begin(1);
		(void)next();
		while (fault_hits(OPENAT) == 0)
			usleep(1000);
		assert_null(find("f"));
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void directories_that_fail_are_told_once(void **state)
{
	static const int errors[] = { EACCES, EIO, ENOENT, EMFILE };
	const char *said;

	(void)state;
	make_tree();
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fault_set(OPENAT, (struct fault){ .name = "e7", .times = EVERY_TIME,
						  .err = errors[i] });
		capture_begin(STDERR_FILENO);
		(void)all(4);
		said = capture_end();
		faults_clear();
		for (unsigned k = 0; k < 12; k++) {
			assert_non_null(strstr(said, "/e7: opening the directory: "));
			said = strstr(said, "/e7: opening") + 1;
		}
		assert_null(strstr(said, "/e7: opening"));
		if (i == 0)
			assert_non_null(strstr(lines, "enter src/d3/e7 "));
		assert_non_null(strstr(lines, "enter src/d3/e8 "));
	}
}

static void without_memory_it_goes_on(void **state)
{
	(void)state;
	make_tree();
	for (unsigned after = 0; after < 60; after++) {
		fault_set(CALLOC, (struct fault){ .after = after + 2, .times = 3,
						  .err = ENOMEM });
		(void)all(2);
		faults_clear();
		assert_non_null(strstr(lines, "entry src/d11/e11/a-11 "));
		assert_non_null(strstr(lines, "end "));
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void without_threads_the_packer_does_all(void **state)
{
	char *plain;

	(void)state;
	make_tree();
	plain = strdup(all(READ_AHEAD_OFF));
	no_threads = true;
	assert_string_equal(all(4), plain);
	no_threads = false;
	assert_int_equal(ahead_helpers(ahead), 0);
	free(plain);
}

static void paths_without_memory_come_all_the_same(void **state)
{
	char *plain;

	(void)state;
	put_dir("src");
	put_file("src/a", "a");
	put_file("src/b", "b");
	put_dir("src/c");
	put_file("src/c/d", "d");
	plain = strdup(all(READ_AHEAD_OFF));
	/* Of the first reallocs of a run some are the walk's, which tells. */
	for (unsigned after = 3; after < 12; after++) {
		capture_begin(STDERR_FILENO);
		fault_set(REALLOC, (struct fault){ .after = after, .err = ENOMEM });
		(void)all(2);
		faults_clear();
		if (strstr(capture_end(), "tarpipe: ") == NULL)
			assert_string_equal(lines, plain);
	}
	free(plain);
}

/* ---- the end ---- */

static struct lock lock = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
static bool gate_open;

static void wait_for_gate(void)
{
	lock_take(&lock);
	while (!gate_open)
		lock_wait(&lock);
	lock_give(&lock);
}

static void open_gate(void)
{
	lock_take(&lock);
	gate_open = true;
	lock_notify(&lock);
	lock_give(&lock);
}

static void a_stuck_helper_holds_nobody(void **state)
{
	struct walk_item item;
	int got = 0;

	(void)state;
	make_tree();
	gate_open = false;
	fault_set(PREAD, (struct fault){ .times = EVERY_TIME, .hook = wait_for_gate });
	begin(4);
	while (fault_hits(PREAD) == 0) {
		assert_int_not_equal(next().event, WALK_END);
		usleep(1000);
	}
	ring_abort(ring, EINTR);
	while (got == 0)
		got = ahead_next(ahead, &item);
	assert_int_equal(got, -1);
	assert_false(ahead_stop(ahead, 20));
	open_gate();
	assert_true(ahead_stop(ahead, 10000));
}

static void it_can_be_left_at_any_item(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	make_tree();
	for (unsigned n = 0; n < 400; n += 7) {
		begin(3);
		for (unsigned i = 0; i < n; i++) {
			(void)next();
			use();
		}
		ahead_free(ahead);
		ahead = NULL;
		assert_int_equal(open_descriptors(), before);
	}
}

/* ---- when it pays ---- */

static void slow_files_open_the_window(void **state)
{
	(void)state;
	make_tree();
	begin(READ_AHEAD_AUTO);
	for (int i = 0; i < 8; i++) {
		(void)next();
		usleep(100);
		ahead_note(ahead, 1000000);
	}
	(void)next();
	assert_true(ahead_helpers(ahead) > 0);
}

static void files_that_were_preempted_do_not(void **state)
{
	(void)state;
	make_tree();
	begin(READ_AHEAD_AUTO);
	for (int i = 0; i < 100; i++) {
		ahead_note(ahead, 1000000);
		(void)next();
	}
	assert_int_equal(ahead_helpers(ahead), 0);
}

static void fast_ones_do_not(void **state)
{
	(void)state;
	make_tree();
	begin(READ_AHEAD_AUTO);
	for (int i = 0; i < 100; i++) {
		usleep(100);
		ahead_note(ahead, i % 3 == 0 ? 1000000 : 5000);
		(void)next();
	}
	assert_int_equal(ahead_helpers(ahead), 0);
}

/* All items, from the moment on that the window was opened, and closed again. */
static void count_all(unsigned entered, unsigned files)
{
	struct walk_item item;

	begin(READ_AHEAD_AUTO);
	for (int i = 0; i < 8; i++) {
		usleep(100);
		ahead_note(ahead, 1000000);
	}
	do {
		usleep(20);
		item = next();
		entered -= item.event == WALK_ENTER;
		files -= item.event == WALK_ENTRY;
		use();
	} while (item.event != WALK_END && entered <= 1000000);
	assert_int_equal(entered, 0);
	assert_int_equal(files, 0);
	assert_true(ahead_helpers(ahead) > 0);
}

/*
 * Many directories, and descriptors for few of them: the window is empty again and
 * again, also when it turns out that it doesn't pay.
 */
static void an_empty_window_is_left(void **state)
{
	char path[64];

	(void)state;
	put_dir("src");
	for (int i = 0; i < 700; i++) {
		snprintf(path, sizeof(path), "src/d%d", i);
		put_dir(path);
	}
	config.descriptors = 12;
	for (unsigned i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "src/f%u", i);
		put_file(path, "");
		count_all(701, i + 1);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(items_are_those_of_the_walk),
		TEST(names_are_asked_for_once_and_not_touched),
		TEST(the_destination_is_left_out),
		TEST(what_is_skipped_does_not_come),
		TEST(descriptors_stay_within_their_share),
		TEST(small_files_are_read),
		TEST(others_are_handed_on_open),
		TEST(a_file_that_shrank_is_what_it_is_now),
		TEST(links_are_looked_at),
		TEST(failures_are_handed_on),
		TEST(what_may_pass_is_left_to_the_packer),
		TEST(directories_that_fail_are_told_once),
		TEST(without_memory_it_goes_on),
		TEST(without_threads_the_packer_does_all),
		TEST(paths_without_memory_come_all_the_same),
		TEST(a_stuck_helper_holds_nobody),
		TEST(it_can_be_left_at_any_item),
		TEST(slow_files_open_the_window),
		TEST(files_that_were_preempted_do_not),
		TEST(fast_ones_do_not),
		TEST(an_empty_window_is_left),
	};

	return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
