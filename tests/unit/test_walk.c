/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk: what comes, in which order, by which ids, and what is left out. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "tree.h"
#include "walk.h"

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

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

static bool types_left_out;	/* as some file systems do */
static const char *last_name;	/* this one comes last, whatever its inode is */

WRAPPED(ssize_t, getdents64, int fd, void *to, size_t size)
{
	ssize_t len;

	if (fault_due(GETDENTS, NULL, &size))
		return -1;
	len = __real_getdents64(fd, to, size);
	for (ssize_t at = 0; at < len;) {
		struct dirent64 *entry = (void *)((char *)to + at);

		if (types_left_out)
			entry->d_type = DT_UNKNOWN;
		if (last_name && strcmp(entry->d_name, last_name) == 0)
			entry->d_ino = ~(ino64_t)0;
		at += entry->d_reclen;
	}
	return len;
}

static struct walk_config config;
static struct walk *walk;

static int setup(void **state)
{
	faults_clear();
	types_left_out = false;
	last_name = NULL;
	config = (struct walk_config){ .fds = 16 };
	walk = NULL;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	walk_free(walk);
	diag_reset();
	return tree_teardown(state);
}

static void begin(const char *path, const char *as)
{
	if (!walk)
		walk = walk_new(&config);
	assert_non_null(walk);
	walk_begin(walk, path, as, false);
}

static struct walk_item next(void)
{
	struct walk_item item = { 0 };

	walk_next(walk, &item);
	return item;
}

static void assert_next(enum walk_event event, const char *path)
{
	struct walk_item item = next();

	assert_int_equal(item.event, event);
	if (path)
		assert_string_equal(walk_path(walk), path);
}

static void assert_end(void)
{
	assert_int_equal(next().event, WALK_END);
	assert_int_equal(next().event, WALK_END);	/* for ever */
}

/*
 * All items that are left, as one line: `+name(` and `)` for a directory, the name of
 * another entry, `!` behind a directory without a descriptor.
 */
static const char *rest(void)
{
	static char text[16384];
	struct walk_item item;
	size_t len = 0;

	text[0] = '\0';
	for (;;) {
		item = next();
		if (item.event == WALK_END)
			return text;
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%s%s%s",
			len > 0 && item.event != WALK_LEAVE ? " " : "",
			item.event == WALK_LEAVE ? ")" : item.name,
			item.event != WALK_ENTRY && item.fd < 0 ? "!" : "",
			item.event == WALK_ENTER ? "(" : "");
	}
}

/* Runs to the end and returns what is told meanwhile; the items go to `items`. */
static const char *told_by_the_rest(char *items, size_t size)
{
	capture_begin(STDERR_FILENO);
	snprintf(items, size, "%s", rest());
	return capture_end();
}

/* ---- order ---- */

/* The inode as the listing has it (an overlay may tell another one by stat). */
static ino_t listed_inode(const char *path, const char *name)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	ino_t ino = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, name) == 0)
			ino = entry->d_ino;
	closedir(dir);
	return ino;
}

static void entries_come_by_inode_and_directories_last(void **state)
{
	char name[32];
	ino_t last = 0;
	bool in_dirs = false;
	int entries = 0, dirs = 0;
	struct walk_item item;

	(void)state;
	put_dir("src");
	/* Made in one order, named in another. */
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "src/%d", i * 7919 % 1000);
		if (i % 10 == 3)
			put_dir(name);
		else
			put_file(name, "");
	}
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	for (;;) {
		item = next();
		if (item.event == WALK_LEAVE && item.id == 1)
			break;
		if (item.event == WALK_LEAVE)
			continue;
		assert_true((item.event == WALK_ENTER) >= in_dirs);
		if (item.event == WALK_ENTER && !in_dirs)
			last = 0;
		in_dirs = item.event == WALK_ENTER;
		*(in_dirs ? &dirs : &entries) += 1;
		ino_t ino = listed_inode("src", item.name);
		assert_true(ino > last);
		last = ino;
	}
	assert_int_equal(entries, 180);
	assert_int_equal(dirs, 20);
	assert_end();
}

static void a_directory_is_left_before_the_next_is_entered(void **state)
{
	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_dir("src/a/b");
	put_file("src/a/b/f", "");
	put_file("src/g", "");
	begin("src", "dst");
	assert_string_equal(rest(), "src( g a( b( f)))");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void an_empty_directory_is_entered_and_left(void **state)
{
	(void)state;
	put_dir("src");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	assert_next(WALK_LEAVE, "src");
	assert_end();
}

static void large_directories_come_whole(void **state)
{
	char name[300];
	int n = 0;

	(void)state;
	put_dir("src");
	for (int i = 0; i < 800; i++) {
		snprintf(name, sizeof(name), "src/%0200d", i);
		put_file(name, "");
	}
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	for (struct walk_item item = next(); item.event == WALK_ENTRY;
	     item = next())
		n++;
	assert_int_equal(n, 800);
	assert_end();
}

/* ---- what an item says ---- */

static void ids_say_which_directory_it_is_in(void **state)
{
	struct walk_item item;

	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_file("src/a/f", "");
	begin("src", "dst");
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 1 && item.dir == 0);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 2 && item.dir == 1);
	item = next();
	assert_true(item.event == WALK_ENTRY && item.dir == 2);
	item = next();
	assert_true(item.event == WALK_LEAVE && item.id == 2);
	item = next();
	assert_true(item.event == WALK_LEAVE && item.id == 1);
	assert_end();
}

static void the_contents_of_a_root_go_to_directory_0(void **state)
{
	struct walk_item item;

	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_file("src/a/f", "");
	begin("src", NULL);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 0);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 1 && item.dir == 0);
	item = next();
	assert_true(item.event == WALK_ENTRY && item.dir == 1);
	assert_int_equal(next().event, WALK_LEAVE);
	item = next();
	assert_true(item.event == WALK_LEAVE && item.id == 0);
	assert_end();
}

/* An id is free again when its directory was left. */
static void ids_are_as_large_as_the_tree_is_deep(void **state)
{
	struct walk_item item;
	char name[32];

	(void)state;
	put_dir("src");
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "src/%d", i);
		put_dir(name);
	}
	begin("src", "dst");
	for (item = next(); item.event != WALK_END; item = next())
		assert_true(item.id <= 2);
}

static void a_root_has_its_name_there_and_here(void **state)
{
	struct walk_item item;

	(void)state;
	put_dir("src");
	put_file("src/f", "");
	begin("src", "new");
	item = next();
	assert_string_equal(item.name, "src");
	assert_string_equal(item.as, "new");
	assert_true(item.fd >= 0);
	assert_int_equal(item.st.st_ino, stat_of("src").st_ino);
	item = next();
	assert_string_equal(item.name, "f");
	assert_string_equal(item.as, "f");
	assert_int_equal(item.type, DT_REG);
	assert_int_equal(faccessat(item.parent, item.name, F_OK, 0), 0);
}

static void types_are_told(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		struct walk_item item;
		int seen = 0;

		types_left_out = round == 1;
		if (round == 0) {
			put_dir("src");
			put_file("src/r", "");
			put_dir("src/d");
			assert_int_equal(symlink("d", "src/l"), 0);
			assert_int_equal(mkfifo("src/p", 0600), 0);
		}
		begin("src", "dst");
		for (item = next(); item.event != WALK_END; item = next()) {
			if (item.event != WALK_ENTRY)
				continue;
			seen++;
			assert_int_equal(item.type,
					 item.name[0] == 'r' ? DT_REG :
					 item.name[0] == 'l' ? DT_LNK :
							       DT_FIFO);
		}
		assert_int_equal(seen, 3);
	}
}

static void paths_are_those_a_user_knows(void **state)
{
	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_dir("src/a/b");
	put_file("src/a/b/f", "");
	begin("./src/", "dst");
	assert_next(WALK_ENTER, "./src/");
	assert_next(WALK_ENTER, "./src/a");
	assert_next(WALK_ENTER, "./src/a/b");
	assert_next(WALK_ENTRY, "./src/a/b/f");
	assert_next(WALK_LEAVE, "./src/a/b");
	assert_next(WALK_LEAVE, "./src/a");
	assert_next(WALK_LEAVE, "./src/");
	assert_end();
}

/* ---- roots ---- */

static void a_root_that_is_a_file(void **state)
{
	struct walk_item item;

	(void)state;
	put_dir("d");
	put_file("d/f", "");
	begin("d/f", "g");
	item = next();
	assert_int_equal(item.event, WALK_ENTRY);
	assert_int_equal(item.dir, 0);
	assert_string_equal(item.name, "d/f");
	assert_string_equal(item.as, "g");
	assert_int_equal(item.type, DT_REG);
	assert_string_equal(walk_path(walk), "d/f");
	assert_end();
}

static void a_root_that_is_a_symlink(void **state)
{
	struct walk_item item;

	(void)state;
	put_dir("src");
	put_file("src/f", "");
	assert_int_equal(symlink("src", "link"), 0);
	begin("link", "dst");
	item = next();
	assert_true(item.event == WALK_ENTRY && item.type == DT_LNK);
	assert_end();
	walk_begin(walk, "link", "dst", true);
	assert_string_equal(rest(), "link( f)");
	walk_begin(walk, "link", NULL, false);	/* contents: always entered */
	assert_string_equal(rest(), "link( f)");
}

static void a_root_that_is_not_there(void **state)
{
	char items[64];

	(void)state;
	begin("nothing", "dst");
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: nothing: fstatat: No such file or "
			    "directory\n");
	assert_string_equal(items, "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void one_root_after_the_other(void **state)
{
	(void)state;
	put_dir("a");
	put_file("a/1", "");
	put_dir("b");
	put_file("b/2", "");
	begin("a", "a");
	assert_string_equal(rest(), "a( 1)");
	begin("b", "b");
	assert_string_equal(rest(), "b( 2)");
	/* ... also when the first was not walked to its end. */
	begin("a", "a");
	assert_next(WALK_ENTER, "a");
	begin("b", "b");
	assert_string_equal(rest(), "b( 2)");
}

static void what_is_skipped_is_left_at_once(void **state)
{
	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_file("src/a/f", "");
	put_file("src/g", "");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	assert_next(WALK_ENTRY, "src/g");
	assert_next(WALK_ENTER, "src/a");
	walk_skip(walk);
	assert_next(WALK_LEAVE, "src/a");
	assert_next(WALK_LEAVE, "src");
	assert_end();
}

/* ---- symlinks ---- */

static void symlinks_are_not_entered(void **state)
{
	(void)state;
	put_dir("out");
	put_file("out/secret", "");
	put_dir("src");
	assert_int_equal(symlink("../out", "src/l"), 0);
	begin("src", "dst");
	assert_string_equal(rest(), "src( l)");
}

static void swap_for_link(void)
{
	assert_int_equal(rename("src/d", "src/was"), 0);
	assert_int_equal(symlink("../out", "src/d"), 0);
}

/* Listed as a directory, a link by the time it is entered. */
static void a_directory_that_becomes_a_symlink_is_not_entered(void **state)
{
	char items[64];

	(void)state;
	put_dir("out");
	put_file("out/secret", "");
	put_dir("src");
	put_dir("src/d");
	put_file("src/d/f", "");
	put_file("src/g", "");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	swap_for_link();
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: opening the directory: Not a "
			    "directory\n");
	assert_string_equal(items, "g)");
	assert_int_equal(diag_status(), STATUS_CHANGED);
}

/* ---- what can't be read ---- */

static void a_directory_that_vanished_is_told(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/g", "");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	assert_int_equal(rmdir("src/d"), 0);
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: opening the directory: No such file "
			    "or directory\n");
	assert_string_equal(items, "g)");
	assert_int_equal(diag_status(), STATUS_CHANGED);
}

/* It comes, empty and with its metadata, so that it is made at least. */
static void an_unreadable_directory_comes_empty(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/d/f", "");
	put_file("src/g", "");
	begin("src", "dst");
	fault_set(OPENAT, (struct fault){ .name = "d", .err = EACCES });
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: opening the directory: Permission "
			    "denied\n");
	assert_string_equal(items, "src( g d!()!)");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_user_may_not_read_all(void **state)
{
	char items[64];

	(void)state;
	if (geteuid() == 0) {
		puts("# needs an ordinary user");
		skip();
	}
	put_dir("src");
	put_dir("src/d");
	put_file("src/d/f", "");
	assert_int_equal(chmod("src/d", 0), 0);
	begin("src", "dst");
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: opening the directory: Permission "
			    "denied\n");
	assert_string_equal(items, "src( d!()!)");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_directory_that_can_not_be_opened_for_another_reason(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/g", "");
	begin("src", "dst");
	fault_set(OPENAT, (struct fault){ .name = "d", .err = EIO });
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: opening the directory: Input/output "
			    "error\n");
	assert_string_equal(items, "src( g)");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_listing_that_breaks_off_is_told(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/g", "");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	fault_set(GETDENTS, (struct fault){ .err = EIO });
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: reading the directory: Input/output "
			    "error\n");
	assert_string_equal(items, "g d())");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void what_was_listed_before_it_broke_off_comes(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_file("src/g", "");
	begin("src", "dst");
	fault_set(GETDENTS, (struct fault){ .after = 1, .err = EIO });
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src: reading the directory: Input/output "
			    "error\n");
	assert_string_equal(items, "src( g)");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_directory_without_a_stat_is_told(void **state)
{
	char items[64];

	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/g", "");
	begin("src", "dst");
	assert_next(WALK_ENTER, "src");
	unsigned before = open_descriptors();
	fault_set(FSTAT, (struct fault){ .err = EIO });
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/d: fstat: Input/output error\n");
	assert_string_equal(items, "g)");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_int_equal(open_descriptors(), before - 1);	/* the root's */
}

/* Only owners may ask for O_NOATIME; who may not reads all the same. */
static void o_noatime_is_asked_for_once_at_most(void **state)
{
	(void)state;
	put_dir("src");
	put_dir("src/d");
	put_file("src/d/f", "");
	begin("src", "dst");
	fault_set(OPENAT, (struct fault){ .name = "d", .err = EPERM });
	assert_string_equal(rest(), "src( d( f))");
	assert_int_equal(fault_hits(OPENAT), 1);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void the_destination_is_avoided(void **state)
{
	char items[64];
	struct stat st;

	(void)state;
	put_dir("src");
	put_dir("src/a");
	put_dir("src/a/dst");
	put_file("src/a/dst/f", "");
	put_file("src/a/g", "");
	st = stat_of("src/a/dst");
	config.avoid = true;
	config.avoid_dev = st.st_dev;
	config.avoid_ino = st.st_ino;
	begin("src", "dst");
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: src/a/dst: left out: it is the "
			    "destination\n");
	assert_string_equal(items, "src( a( g))");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- few descriptors ---- */

enum { DEEP = 300, EACH = 10, MORE = DEEP / EACH };

/*
 * "src/0/1/.../299"; in every tenth of them, first of all in 2, there is a "z" to come
 * back for.  By descriptors: the whole path is long.
 */
static void put_deep(void)
{
	int at, below;
	char name[16];

	last_name = "z";
	put_dir("src");
	at = open("src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mkdirat(at, name, 0755), 0);
		below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		if (i % EACH == 2)
			assert_int_equal(mkdirat(below, "z", 0755), 0);
		close(at);
		at = below;
	}
	close(at);
}

/* Walks on until it is in the directory of that name. */
static void go_to(const char *name)
{
	struct walk_item item;

	do {
		item = next();
		assert_int_not_equal(item.event, WALK_END);
	} while (item.event != WALK_ENTER || strcmp(item.name, name) != 0);
}

/* Goes on to the end and counts what was entered. */
static unsigned entered_by_the_rest(void)
{
	unsigned n = 0;
	struct walk_item item;

	for (item = next(); item.event != WALK_END; item = next())
		n += item.event == WALK_ENTER;
	return n;
}

static void a_deep_tree_takes_three_descriptors(void **state)
{
	unsigned before, dirs = 0;
	struct walk_item item;

	(void)state;
	config.fds = 3;
	put_deep();
	begin("src", "dst");
	before = open_descriptors();
	for (item = next(); item.event != WALK_END; item = next()) {
		dirs += item.event == WALK_ENTER;
		assert_true(item.fd >= 0);
		assert_true(open_descriptors() <= before + 3);
	}
	assert_int_equal(dirs, 1 + DEEP + MORE);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* `..` leads back where the names from the root no longer do. */
static void the_way_back_stays_when_an_ancestor_moves(void **state)
{
	(void)state;
	config.fds = 3;
	put_deep();
	begin("src", "dst");
	go_to("299");
	assert_int_equal(rename("src/0", "elsewhere"), 0);
	assert_int_equal(entered_by_the_rest(), MORE);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* The names from the root lead back where `..` does no longer. */
static void the_way_round_stays_when_a_directory_moves(void **state)
{
	(void)state;
	config.fds = 3;
	put_deep();
	begin("src", "dst");
	go_to("299");
	put_dir("elsewhere");
	assert_int_equal(rename("src/0/1/2/3", "elsewhere/3"), 0);
	assert_int_equal(entered_by_the_rest(), MORE);
	assert_int_equal(diag_status(), STATUS_OK);
	assert_true(is_there("elsewhere/3"));
}

/* Neither leads back: that is told once, and the rest further out comes. */
static void what_can_not_be_found_again_is_told_and_left_out(void **state)
{
	const char *told;
	unsigned entered;

	(void)state;
	config.fds = 3;
	put_deep();
	begin("src", "dst");
	go_to("299");
	put_dir("elsewhere");
	/* 3 is no longer in 2, and 2 no longer in 1. */
	assert_int_equal(rename("src/0/1/2/3", "elsewhere/3"), 0);
	assert_int_equal(rename("src/0/1/2", "elsewhere/2"), 0);
	capture_begin(STDERR_FILENO);
	entered = entered_by_the_rest();
	told = capture_end();
	assert_string_equal(told, "tarpipe: src/0/1/2: finding the directory "
				  "again; the rest of it is left out: No such "
				  "file or directory\n");
	assert_int_equal(entered, MORE - 1);	/* not that of 2 */
	assert_int_equal(diag_status(), STATUS_CHANGED);
}

/* Another directory of its name is not taken for it. */
static void a_directory_put_in_its_place_is_not_entered(void **state)
{
	char items[128];
	const char *told;

	(void)state;
	config.fds = 3;
	put_deep();
	begin("src", "dst");
	go_to("4");
	go_to("5");
	go_to("6");
	put_dir("elsewhere");
	assert_int_equal(rename("src/0/1/2/3", "elsewhere/3"), 0);
	assert_int_equal(rename("src/0/1/2", "elsewhere/2"), 0);
	put_dir("src/0/1/2");
	put_dir("src/0/1/2/z");
	put_file("src/0/1/2/z/secret", "");
	for (int i = 0; i < 1000 && next().event != WALK_END; i++)
		if (strcmp(walk_path(walk), "src/0/1/2/3") == 0)
			break;
	told = told_by_the_rest(items, sizeof(items));
	assert_non_null(strstr(told, "src/0/1/2: finding the directory again"));
	assert_null(strstr(items, "secret"));
	assert_int_equal(diag_status(), STATUS_CHANGED);
}

/* ---- memory ---- */

static void a_walk_may_end_anywhere(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	put_deep();
	begin("src", "dst");
	go_to("100");
	walk_free(walk);
	walk = NULL;
	assert_int_equal(open_descriptors(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* ---- what is wanted ---- */

static char asked[4096];	/* what the hook was asked, in its order */
static const char *unwanted;	/* it says no to this */

static bool hook(void *arg, const char *path, bool directory)
{
	size_t len = strlen(asked);

	assert_ptr_equal(arg, asked);
	snprintf(asked + len, sizeof(asked) - len, "%s%s ", path,
		 directory ? "/" : "");
	return !unwanted || strcmp(path, unwanted) != 0;
}

static void begin_asking(const char *path, const char *as, const char *no)
{
	asked[0] = '\0';
	unwanted = no;
	config.wanted = hook;
	config.wanted_arg = asked;
	begin(path, as);
}

static void put_small_tree(void)
{
	put_dir("src");
	put_dir("src/a");
	put_dir("src/a/b");
	put_file("src/a/b/f", "");
	put_file("src/g", "");
}

static void the_hook_is_asked_for_each_name_once(void **state)
{
	(void)state;
	put_small_tree();
	begin_asking("./src/", NULL, NULL);
	assert_string_equal(rest(), "./src/( g a( b( f)))");
	assert_string_equal(asked, "g a/ a/b/ a/b/f ");
	begin_asking("src", "dst", NULL);
	assert_string_equal(rest(), "src( g a( b( f)))");
	assert_string_equal(asked, "dst/ dst/g dst/a/ dst/a/b/ dst/a/b/f ");
	begin_asking("src/g", "h", NULL);
	assert_string_equal(rest(), "src/g");
	assert_string_equal(asked, "h ");
}

/* Not opened, not asked about what is in it, not told. */
static void what_is_not_wanted_is_left_alone(void **state)
{
	(void)state;
	put_small_tree();
	fault_set(OPENAT, (struct fault){ .name = "b", .err = EACCES });
	begin_asking("src", NULL, "a/b");
	assert_string_equal(rest(), "src( g a())");
	assert_int_equal(fault_hits(OPENAT), 0);
	assert_string_equal(asked, "g a/ a/b/ ");
	begin_asking("src", NULL, "g");
	assert_string_equal(rest(), "src( a( b!()!))");
	begin_asking("src", "dst", "dst");
	assert_string_equal(rest(), "");
	begin_asking("src/g", "h", "h");
	assert_string_equal(rest(), "");
}

static void members_have_the_path_that_the_hook_saw(void **state)
{
	(void)state;
	put_small_tree();
	begin("src", "x/dst");
	assert_next(WALK_ENTER, "src");
	assert_string_equal(walk_member(walk), "x/dst");
	assert_next(WALK_ENTRY, "src/g");
	assert_string_equal(walk_member(walk), "x/dst/g");
	assert_next(WALK_ENTER, "src/a");
	assert_next(WALK_ENTER, "src/a/b");
	assert_next(WALK_ENTRY, "src/a/b/f");
	assert_string_equal(walk_member(walk), "x/dst/a/b/f");
	assert_next(WALK_LEAVE, "src/a/b");
	assert_string_equal(walk_member(walk), "x/dst/a/b");
	begin("src", NULL);
	assert_next(WALK_ENTER, "src");
	assert_string_equal(walk_member(walk), "");
	assert_next(WALK_ENTRY, "src/g");
	assert_string_equal(walk_member(walk), "g");
}

/* ---- paths cut short ---- */

/* All items that are left, with the ids of their directories. */
static const char *rest_with_ids(void)
{
	static char text[4096];
	struct walk_item item;
	size_t len = 0;

	text[0] = '\0';
	for (item = next(); item.event != WALK_END; item = next()) {
		if (item.event != WALK_LEAVE)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%u:%s", item.dir, item.name);
		if (item.event != WALK_ENTRY)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%s%u",
				item.event == WALK_ENTER ? "(" : ")", item.id);
		strcat(text + len++, " ");
	}
	return text;
}

static const char *cut(unsigned strip, const char *as)
{
	walk_free(walk);
	walk = NULL;
	config.strip = strip;
	begin("src", as);
	return rest_with_ids();
}

static void components_are_cut_off(void **state)
{
	(void)state;
	put_small_tree();
	assert_string_equal(cut(0, NULL), "0:src(0 0:g 0:a(1 1:b(2 2:f )2 )1 )0 ");
	assert_string_equal(cut(1, NULL), "0:src(0 0:b(1 1:f )1 )0 ");
	assert_string_equal(cut(2, NULL), "0:src(0 0:f )0 ");
	assert_string_equal(cut(3, NULL), "0:src(0 )0 ");
	assert_string_equal(cut(1, "dst"), "0:g 0:a(1 1:b(2 2:f )2 )1 ");
	assert_string_equal(cut(2, "dst"), "0:b(1 1:f )1 ");
	assert_string_equal(cut(2, "x/dst"), "0:g 0:a(1 1:b(2 2:f )2 )1 ");
	walk_begin(walk, "src/g", "h", false);
	assert_string_equal(rest(), "");
	assert_int_equal(diag_status(), STATUS_OK);
}

/* ---- names of a list ---- */

static struct names *list;

static void begin_list(const char *names, const char *as)
{
	put_file("list", names);
	names_close(list);
	list = names_open("list", false);
	assert_non_null(list);
	begin("src", as);
	walk_list(walk, list);
}

/* `what` comes of the names, and that is told of them. */
static void assert_list(const char *names, const char *what, const char *told)
{
	char items[4096];

	begin_list(names, NULL);
	assert_string_equal(told_by_the_rest(items, sizeof(items)), told);
	assert_string_equal(items, what);
	assert_int_equal(diag_status(), *told ? STATUS_PARTIAL : STATUS_OK);
	diag_reset();
	names_close(list);
	list = NULL;
}

static void named_entries_come_alone(void **state)
{
	(void)state;
	put_small_tree();
	put_file("src/a/z", "");
	put_file("src/a/b/y", "");
	assert_list("g\n", "src( g)", "");
	assert_list("a/z\n", "src( a( z))", "");
	assert_list("a/b/f\n", "src( a( b( f)))", "");
	assert_list("", "src()", "");
	/* slashes and dots */
	assert_list("./g\n././/a//./b/f\n", "src( g a( b( f)))", "");
}

static void named_directories_come_whole(void **state)
{
	(void)state;
	put_small_tree();
	put_dir("src/e");
	assert_list("a\n", "src( a( b( f)))", "");
	assert_list("a/b/\ne/\n", "src( a( b( f)) e())", "");
}

/* What names have in common is not left and entered again. */
static void shared_directories_are_entered_once(void **state)
{
	(void)state;
	put_small_tree();
	put_file("src/a/b/y", "");
	put_file("src/a/z", "");
	assert_list("a/b/f\na/b/y\na/z\ng\n", "src( a( b( f y) z) g)", "");
	/* ... in the order of the list, again where it says so. */
	assert_list("a/z\ng\na/b/y\n", "src( a( z) g a( b( y)))", "");
	assert_list("a/b\na/b/y\n", "src( a( b( f y) b( y)))", "");
	assert_list("a/b/f\na/b\n", "src( a( b( f) b( f y)))", "");
	assert_list("a/b/f\na\n", "src( a( b( f)) a( z b( f y)))", "");
}

static void the_root_may_be_named(void **state)
{
	struct walk_item item;

	(void)state;
	put_small_tree();
	assert_list(".\n", "src( src( g a( b( f)))", "");
	assert_list("g\n./\na/b/f\n.\n",
		    "src( g src( g a( b( f)) a( b( f)) src( g a( b( f)))", "");
	begin_list(".\n", "dst");
	assert_string_equal(rest(), "src( g a( b( f)))");	/* one DIR */
	begin_list(".\n", NULL);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 0 && item.way);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 0 && !item.way);
	assert_false(next().way);
	names_close(list);
	list = NULL;
}

static void ways_are_marked_and_have_ids(void **state)
{
	struct walk_item item;

	(void)state;
	put_small_tree();
	begin_list("a/b\n", "dst");
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 1 && item.way);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 2 && item.dir == 1 &&
		    item.way);
	assert_int_equal(item.st.st_ino, stat_of("src/a").st_ino);
	item = next();
	assert_true(item.event == WALK_ENTER && item.id == 3 && !item.way);
	assert_true(item.fd >= 0);
	item = next();
	assert_true(item.event == WALK_ENTRY && item.dir == 3 && !item.way);
	assert_true(!next().way && next().way && next().way);
	assert_end();
	names_close(list);
	list = NULL;
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	(void)state;
	put_dir("out");
	put_file("out/secret", "");
	put_small_tree();
	assert_int_equal(symlink("../out", "src/l"), 0);
	assert_list("/etc\n../out/secret\na/../g\na/..\ng\n", "src( g)",
		    "tarpipe: /etc: is absolute; names in a list lie below the "
		    "source: left out\n"
		    "tarpipe: ../out/secret: has `..` in it; names in a list lie "
		    "below the source: left out\n"
		    "tarpipe: a/../g: has `..` in it; names in a list lie below "
		    "the source: left out\n"
		    "tarpipe: a/..: has `..` in it; names in a list lie below the "
		    "source: left out\n");
	assert_list("l/secret\nl/\nl\ng\n", "src( l l g)",
		    "tarpipe: src/l: opening the directory: Not a directory\n");
}

static void names_that_are_not_there_are_told(void **state)
{
	(void)state;
	put_small_tree();
	assert_list("none\na/none\nno/x\ng/x\na/b/f\n", "src( a() a( b( f)))",
		    "tarpipe: src/none: fstatat: No such file or directory\n"
		    "tarpipe: src/a/none: fstatat: No such file or directory\n"
		    "tarpipe: src/no: opening the directory: No such file or "
		    "directory\n"
		    "tarpipe: src/g: opening the directory: Not a directory\n");
}

/* Told once; it is made, and what lies below it is not there. */
static void a_way_that_can_not_be_read(void **state)
{
	(void)state;
	put_small_tree();
	fault_set(OPENAT, (struct fault){ .name = "b", .err = EACCES });
	assert_list("a/b/f\na/b/y\ng\n", "src( a( b!()!) g)",
		    "tarpipe: src/a/b: opening the directory: Permission denied\n");
	fault_set(OPENAT, (struct fault){ .name = "a", .err = EIO });
	assert_list("a/b/f\ng\n", "src( g)",
		    "tarpipe: src/a: opening the directory: Input/output error\n");
}

static void a_list_that_can_not_be_read_further(void **state)
{
	char items[64];

	(void)state;
	put_small_tree();
	begin_list("", NULL);
	put_bytes("list", "a/b/f\na\0b\0\ng\n", 13);
	assert_string_equal(told_by_the_rest(items, sizeof(items)),
			    "tarpipe: list: a name with a NUL byte; names that end "
			    "in NUL are read with --null; the rest of it is left "
			    "out\n");
	assert_string_equal(items, "src( a( b( f)))");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	names_close(list);
	list = NULL;
}

static void excludes_hold_for_names_of_a_list(void **state)
{
	(void)state;
	put_small_tree();
	put_file("src/a/z", "");
	begin_asking("src", NULL, "a/b");
	assert_list("a/b/f\na/b\na/z\ng\n", "src( a( z) g)", "");
	assert_string_equal(asked, "a/ a/b/ a/b/ a/z g ");
}

static void paths_of_a_list_are_cut_off_too(void **state)
{
	(void)state;
	put_small_tree();
	put_file("src/a/z", "");
	config.strip = 1;
	begin_list("a/b/f\na/z\ng\n", NULL);
	assert_string_equal(rest_with_ids(), "0:src(0 0:b(1 1:f )1 0:z )0 ");
	names_close(list);
	list = NULL;
}

/* Wherever that is, it is told, and the walk comes to its end. */
static void memory_runs_out_at_any_time(void **state)
{
	char items[4096];
	unsigned failed = 0;

	(void)state;
	put_small_tree();
	config.wanted = hook;
	config.wanted_arg = asked;
	for (unsigned i = 0; i < 12; i++) {
		asked[0] = '\0';
		walk_free(walk);
		walk = NULL;
		begin_list("g\na/b/f\n.\na/b\n", "dst");
		fault_set(REALLOC, (struct fault){ .after = i, .err = ENOMEM });
		const char *told = told_by_the_rest(items, sizeof(items));
		bool hit = fault_hits(REALLOC) > 0;
		faults_clear();
		failed += hit;
		assert_int_equal(diag_status(), hit ? STATUS_PARTIAL : STATUS_OK);
		assert_int_equal(*told != '\0', hit);
		diag_reset();
	}
	assert_in_range(failed, 5, 11);
	names_close(list);
	list = NULL;
}

static void a_list_needs_a_directory(void **state)
{
	(void)state;
	put_file("src", "");
	assert_list("g\n", "", "tarpipe: src: taking the names of a list: Not a "
			       "directory\n");
}

/* Names, way after way, take no memory and no descriptors that stay. */
static void a_long_list_in_a_deep_tree(void **state)
{
	enum { LONG = 40, TIMES = 500 };
	char path[LONG * 2 + 8] = "src", *names = calloc(TIMES, LONG * 4);
	unsigned before = open_descriptors();
	size_t len = 0;

	(void)state;
	put_dir(path);
	for (int i = 0; i < LONG; i++) {
		strcat(path, "/d");
		put_dir(path);
	}
	put_file("src/d/f", "");
	for (int i = 0; i < TIMES; i++)
		len += (size_t)sprintf(names + len, "%s\nd/f\n",
				       path + sizeof("src"));
	config.fds = 3;
	begin_list(names, NULL);
	free(names);
	unsigned most = open_descriptors() + 3, entered = 0, entries = 0;
	for (struct walk_item item = next(); item.event != WALK_END;
	     item = next()) {
		entered += item.event == WALK_ENTER;
		entries += item.event == WALK_ENTRY;
		assert_true(item.event == WALK_ENTRY || item.fd >= 0);
		assert_true(open_descriptors() <= most);
	}
	assert_int_equal(entries, TIMES);
	assert_int_equal(entered, 2 + (LONG - 1) * TIMES);
	names_close(list);
	list = NULL;
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* ---- other file systems ---- */

static void what_is_mounted_is_not_entered(void **state)
{
	struct walk_item item;

	(void)state;
	config.stay = true;
	begin("/", NULL);
	for (item = next(); item.event != WALK_END; item = next()) {
		if (item.event != WALK_ENTER)
			continue;
		if (strcmp(walk_path(walk), "/proc") == 0)
			break;
		if (strcmp(walk_path(walk), "/") != 0)
			walk_skip(walk);
	}
	if (item.event == WALK_END)
		skip();		/* nothing is mounted there */
	assert_true(item.mount);
	assert_false(item.unasked);
	assert_int_equal(item.fd, -1);
	assert_true(S_ISDIR(item.st.st_mode));
	assert_next(WALK_LEAVE, "/proc");
}

/* What is made from now on is newer than all that was. */
static void wait_for_a_new_time(void)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	do {
		put_file("probe", "");
		assert_int_equal(stat("probe", &st), 0);
		assert_int_equal(unlink("probe"), 0);
	} while (st.st_ctim.tv_sec < now.tv_sec ||
		 (st.st_ctim.tv_sec == now.tv_sec &&
		  st.st_ctim.tv_nsec <= now.tv_nsec));
}

/* Who unpacks into what he packs: each directory has a new one of the same names. */
static void what_grows_for_ever_ends(void **state)
{
	enum { MOST = 40 };
	char path[MOST * 8 + 8] = "src", told[64];

	(void)state;
	put_dir(path);
	walk = walk_new(&config);
	assert_non_null(walk);

	wait_for_a_new_time();
	for (int i = 0; i < MOST; i++) {
		strcat(path, i % 2 == 0 ? "/a" : "/b");
		put_dir(path);
	}
	walk_begin(walk, "src", NULL, false);
	snprintf(told, sizeof(told), "%s", told_by_the_rest(path, sizeof(path)));
	assert_non_null(strstr(told, "src/a/b/a/b"));
	assert_int_equal(diag_status(), STATUS_CHANGED);
	assert_int_equal(strcspn(path, ")"), sizeof("src(") - 1 + 3 * 2 * 8);

	/* What was there before is no such thing. */
	diag_reset();
	walk_free(walk);
	walk = walk_new(&config);
	walk_begin(walk, "src", NULL, false);
	(void)rest();
	assert_int_equal(diag_status(), STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_come_by_inode_and_directories_last),
		TEST(a_directory_is_left_before_the_next_is_entered),
		TEST(an_empty_directory_is_entered_and_left),
		TEST(large_directories_come_whole),
		TEST(ids_say_which_directory_it_is_in),
		TEST(the_contents_of_a_root_go_to_directory_0),
		TEST(ids_are_as_large_as_the_tree_is_deep),
		TEST(a_root_has_its_name_there_and_here),
		TEST(types_are_told),
		TEST(paths_are_those_a_user_knows),
		TEST(a_root_that_is_a_file),
		TEST(a_root_that_is_a_symlink),
		TEST(a_root_that_is_not_there),
		TEST(one_root_after_the_other),
		TEST(what_is_skipped_is_left_at_once),
		TEST(symlinks_are_not_entered),
		TEST(a_directory_that_becomes_a_symlink_is_not_entered),
		TEST(a_directory_that_vanished_is_told),
		TEST(an_unreadable_directory_comes_empty),
		TEST(a_user_may_not_read_all),
		TEST(a_directory_that_can_not_be_opened_for_another_reason),
		TEST(a_listing_that_breaks_off_is_told),
		TEST(what_was_listed_before_it_broke_off_comes),
		TEST(a_directory_without_a_stat_is_told),
		TEST(o_noatime_is_asked_for_once_at_most),
		TEST(the_destination_is_avoided),
		TEST(the_hook_is_asked_for_each_name_once),
		TEST(what_is_not_wanted_is_left_alone),
		TEST(members_have_the_path_that_the_hook_saw),
		TEST(components_are_cut_off),
		TEST(named_entries_come_alone),
		TEST(named_directories_come_whole),
		TEST(shared_directories_are_entered_once),
		TEST(the_root_may_be_named),
		TEST(ways_are_marked_and_have_ids),
		TEST(names_that_lead_elsewhere_are_refused),
		TEST(names_that_are_not_there_are_told),
		TEST(a_way_that_can_not_be_read),
		TEST(a_list_that_can_not_be_read_further),
		TEST(excludes_hold_for_names_of_a_list),
		TEST(paths_of_a_list_are_cut_off_too),
		TEST(memory_runs_out_at_any_time),
		TEST(a_list_needs_a_directory),
		TEST(a_long_list_in_a_deep_tree),
		TEST(a_deep_tree_takes_three_descriptors),
		TEST(the_way_back_stays_when_an_ancestor_moves),
		TEST(the_way_round_stays_when_a_directory_moves),
		TEST(what_can_not_be_found_again_is_told_and_left_out),
		TEST(a_directory_put_in_its_place_is_not_entered),
		TEST(a_walk_may_end_anywhere),
		TEST(what_is_mounted_is_not_entered),
		TEST(what_grows_for_ever_ends),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
