/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate: which names are made and entered, which are not, and who is last. */
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
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "gate.h"
#include "thread.h"
#include "tree.h"

WRAPPED(int, mkdirat, int dirfd, const char *name, mode_t mode)
{
	return fault_due(MKDIRAT, name, NULL) ? -1 :
						__real_mkdirat(dirfd, name, mode);
}

WRAPPED(int, openat, int dirfd, const char *name, int flags, ...)
{
	return fault_due(OPENAT, name, NULL) ? -1 :
					       __real_openat(dirfd, name, flags);
}

WRAPPED(int, __openat_2, int dirfd, const char *name, int flags)
{
	return __wrap_openat(dirfd, name, flags);
}

WRAPPED(int, fremovexattr, int fd, const char *name)
{
	return fault_due(REMOVEXATTR, name, NULL) ? -1 :
						    __real_fremovexattr(fd, name);
}

/* Who runs the test, as the gate sees it. */
static struct privileges who;

WRAPPED(const struct privileges *, privileges_get, void)
{
	return &who;
}

static struct gate *gate;
static struct gate_config config;

/* A gate to "dst", beside which "out" is not to be touched. */
static int setup(void **state)
{
	faults_clear();
	who = (struct privileges){ .uid = geteuid(), .gid = getegid(),
				   .dac = true };
	if (tree_setup(state) != 0)
		return -1;
	put_dir("dst");
	put_dir("out");
	put_file("out/kept", "as it was");
	config = (struct gate_config){
		.root = open("dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.shown = "dst",
		.fds = 8,
	};
	gate = gate_new(&config);
	return gate ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	gate_free(gate);
	close(config.root);
	diag_reset();
	return tree_teardown(state);
}

static void gate_again(void)
{
	gate_free(gate);
	gate = gate_new(&config);
	assert_non_null(gate);
}

/* ---- what a stream does, in short ---- */

static struct dir *add(struct dir *parent, const char *name)
{
	struct dir *dir = gate_add(gate, parent, name, strlen(name));

	assert_non_null(dir);
	return dir;
}

/* Makes it; returns what gate_make does, its errno kept. */
static int make(struct dir *parent, struct dir *dir)
{
	int entered = gate_enter(gate, parent);
	int got = gate_make(gate, dir, entered < 0), err = errno;

	if (entered >= 0)
		gate_exit(gate, parent);
	errno = err;
	return got;
}

static struct dir *added(struct dir *parent, const char *name)
{
	struct dir *dir = add(parent, name);

	assert_int_equal(make(parent, dir), 0);
	return dir;
}

/* The stream leaves it; returns what gate_drop does. */
static bool leave(struct dir *dir)
{
	gate_hold(gate, dir);
	gate_end(gate, dir);
	return gate_drop(gate, dir);
}

/* The same, and it is done. */
static void finish(struct dir *dir)
{
	assert_true(leave(dir));
	dir = gate_done(gate, dir);
	if (dir && gate_drop(gate, dir))
		fail_msg("the root is never done");
}

static bool can_enter(struct dir *dir)
{
	int fd = gate_enter(gate, dir);

	if (fd >= 0)
		gate_exit(gate, dir);
	return fd >= 0;
}

/* Nothing of it is made or entered, `message` tells why, "out" is as it was. */
static void assert_left_out(const char *name, const char *message)
{
	struct dir *dir, *below;

	capture_begin(STDERR_FILENO);
	dir = add(gate_root(gate), name);
	below = add(dir, "below");
	int got = make(gate_root(gate), dir);
	int got_below = make(dir, below);
	bool entered = can_enter(dir) || can_enter(below);
	const char *told = capture_end();

	assert_string_equal(told, message);	/* once, not for what is below */
	assert_int_equal(got, -1);
	assert_int_equal(got_below, -1);
	assert_false(entered);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_true(leave(below));
	assert_ptr_equal(gate_done(gate, below), dir);
	assert_false(gate_drop(gate, dir));
	finish(dir);
	assert_names("out", "kept");
	assert_text("out/kept", "as it was");
}

/* ---- names ---- */

static void only_last_components_pass(void **state)
{
	static const char *const good[] = { "a", "...", "..a", ".a", " ", "-rf",
					    "a\nb", "\377", "\\" };
	static const char *const bad[] = { "", ".", "..", "/", "a/", "/a", "a/b",
					   "../a", "a/..", "//" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(gate_check(good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		errno = 0;
		assert_int_equal(gate_check(bad[i]), -1);
		assert_int_equal(errno, EINVAL);
	}
}

static void directories_of_other_names_are_refused(void **state)
{
	(void)state;
	assert_left_out("..", "tarpipe: dst/..: refused: no name of an entry\n");
	assert_left_out(".", "tarpipe: dst/.: refused: no name of an entry\n");
	assert_left_out("../out/d",
			"tarpipe: dst/../out/d: refused: no name of an entry\n");
	assert_left_out("", "tarpipe: dst/: refused: no name of an entry\n");
	assert_names(".", "dst out");
	assert_names("dst", "");
}

static void paths_are_those_a_user_knows(void **state)
{
	struct dir *a = add(gate_root(gate), "a"), *b = add(a, "b");
	char *path;

	(void)state;
	path = gate_path(gate, gate_root(gate), NULL);
	assert_string_equal(path, "dst");
	free(path);
	path = gate_path(gate, gate_root(gate), "f");
	assert_string_equal(path, "dst/f");
	free(path);
	path = gate_path(gate, b, NULL);
	assert_string_equal(path, "dst/a/b");
	free(path);
	path = gate_path(gate, b, "f");
	assert_string_equal(path, "dst/a/b/f");
	free(path);
}

/* ---- making ---- */

static void a_new_directory_is_ones_own_until_done(void **state)
{
	struct dir *dir = added(gate_root(gate), "d");

	(void)state;
	assert_int_equal(mode_of("dst/d"), 0700);
	assert_false(gate_facts(dir)->existed);
	assert_int_equal(gate_facts(dir)->ino, stat_of("dst/d").st_ino);
	assert_int_equal(gate_facts(dir)->uid, geteuid());
	assert_true(can_enter(dir));
	finish(dir);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void one_that_is_there_is_taken_as_it_is(void **state)
{
	struct dir *dir;

	(void)state;
	put_dir("dst/d");
	assert_int_equal(chmod("dst/d", 01750), 0);
	put_file("dst/d/old", "stays");
	dir = added(gate_root(gate), "d");
	assert_true(gate_facts(dir)->existed);
	assert_int_equal(gate_facts(dir)->mode, 01750);
	assert_int_equal(mode_of("dst/d"), 01750);
	assert_text("dst/d/old", "stays");
	finish(dir);
}

static void a_link_to_a_directory_is_not_followed(void **state)
{
	(void)state;
	assert_int_equal(symlink("../out", "dst/d"), 0);
	assert_left_out("d", "tarpipe: dst/d: is a symbolic link to a directory: "
			     "neither followed nor replaced, what belongs in it is "
			     "left out\n");
	assert_true(S_ISLNK(stat_of("dst/d").st_mode));
}

static void a_link_to_a_directory_is_followed_where_asked(void **state)
{
	struct dir *dir;

	(void)state;
	config.keep_dirlink = true;
	gate_again();
	assert_int_equal(symlink("../out", "dst/d"), 0);
	dir = added(gate_root(gate), "d");
	assert_true(gate_facts(dir)->existed);
	assert_int_equal(gate_facts(dir)->ino, stat_of("out").st_ino);
	finish(dir);
}

/* What is no directory has no contents to lose but its own, which is replaced. */
static void other_things_give_way(void **state)
{
	(void)state;
	put_file("dst/file", "old");
	assert_int_equal(symlink("../out/kept", "dst/link"), 0);
	assert_int_equal(symlink("nowhere", "dst/dangling"), 0);
	assert_int_equal(mkfifo("dst/fifo", 0600), 0);
	finish(added(gate_root(gate), "file"));
	finish(added(gate_root(gate), "link"));
	finish(added(gate_root(gate), "dangling"));
	finish(added(gate_root(gate), "fifo"));
	assert_true(S_ISDIR(stat_of("dst/file").st_mode));
	assert_true(S_ISDIR(stat_of("dst/link").st_mode));
	assert_true(S_ISDIR(stat_of("dst/dangling").st_mode));
	assert_true(S_ISDIR(stat_of("dst/fifo").st_mode));
	assert_text("out/kept", "as it was");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void with_k_other_things_stay(void **state)
{
	(void)state;
	config.keep = true;
	gate_again();
	put_file("dst/file", "old");
	assert_left_out("file", "tarpipe: dst/file: kept, and what belongs in it "
				"left out: Not a directory\n");
	assert_text("dst/file", "old");
}

static void a_cancelled_directory_is_not_made(void **state)
{
	struct dir *dir = add(gate_root(gate), "d");

	(void)state;
	assert_int_equal(gate_make(gate, dir, true), -1);
	assert_false(can_enter(dir));
	finish(dir);
	assert_names("dst", "");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_full_file_system_is_told_apart(void **state)
{
	struct dir *dir = add(gate_root(gate), "d");

	(void)state;
	fault_set(MKDIRAT, (struct fault){ .err = ENOSPC });
	capture_begin(STDERR_FILENO);
	int got = make(gate_root(gate), dir), err = errno;

	assert_string_equal(capture_end(),
			    "tarpipe: dst/d: mkdirat: No space left on device\n");
	assert_int_equal(got, -1);
	assert_int_equal(err, ENOSPC);
	assert_int_equal(diag_status(), STATUS_STOPPED);
	finish(dir);
}

static void of_several_that_find_no_space_one_is_told(void **state)
{
	struct dir *first = add(gate_root(gate), "d");
	struct dir *second = add(gate_root(gate), "e");

	(void)state;
	capture_begin(STDERR_FILENO);
	fault_set(MKDIRAT, (struct fault){ .err = ENOSPC });
	assert_int_equal(make(gate_root(gate), first), -1);
	fault_set(MKDIRAT, (struct fault){ .err = ENOSPC });
	assert_int_equal(make(gate_root(gate), second), -1);
	assert_int_equal(errno, ENOSPC);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/d: mkdirat: No space left on device\n");
	finish(second);
	finish(first);
}

static void a_refused_one_is_told_and_left_out(void **state)
{
	(void)state;
	fault_set(MKDIRAT, (struct fault){ .err = EACCES });
	assert_left_out("d", "tarpipe: dst/d: mkdirat: Permission denied\n");
	fault_set(OPENAT, (struct fault){ .name = "e", .err = EMFILE });
	assert_left_out("e", "tarpipe: dst/e: opening the new directory: Too many "
			     "open files\n");
	put_dir("dst/f");
	fault_set(OPENAT, (struct fault){ .name = "f", .err = EIO });
	assert_left_out("f", "tarpipe: dst/f: opening the directory that is "
			     "there: Input/output error\n");
}

/* ---- one's own directories without permissions ---- */

static void a_closed_directory_of_ones_own_is_opened_up(void **state)
{
	struct dir *dir;

	(void)state;
	who.dac = false;
	put_dir("dst/d");
	assert_int_equal(chmod("dst/d", 0500), 0);
	dir = added(gate_root(gate), "d");
	assert_int_equal(mode_of("dst/d"), 0700);
	assert_true(gate_facts(dir)->opened);
	assert_int_equal(gate_facts(dir)->mode, 0500);
	finish(dir);
}

static void one_that_can_not_be_read_too(void **state)
{
	struct dir *dir;

	(void)state;
	who.dac = false;
	put_dir("dst/d");
	assert_int_equal(chmod("dst/d", 0), 0);
	/* As for a user; root would get in. */
	fault_set(OPENAT, (struct fault){ .name = "d", .err = EACCES });
	dir = added(gate_root(gate), "d");
	assert_int_equal(mode_of("dst/d"), 0700);
	assert_true(gate_facts(dir)->opened);
	assert_int_equal(gate_facts(dir)->mode, 0);
	finish(dir);
}

static void those_of_others_are_left_alone(void **state)
{
	(void)state;
	who.dac = false;
	who.uid = geteuid() + 1;
	put_dir("dst/d");
	assert_int_equal(chmod("dst/d", 0500), 0);
	finish(added(gate_root(gate), "d"));
	assert_int_equal(mode_of("dst/d"), 0500);
	fault_set(OPENAT, (struct fault){ .name = "d", .err = EACCES });
	assert_left_out("d", "tarpipe: dst/d: opening the directory that is "
			     "there: Permission denied\n");
	assert_int_equal(mode_of("dst/d"), 0500);
}

static void the_root_is_opened_up_only_where_it_is_put_back(void **state)
{
	(void)state;
	who.dac = false;
	assert_int_equal(chmod("dst", 0500), 0);
	gate_again();
	assert_int_equal(mode_of("dst"), 0500);
	assert_false(gate_facts(gate_root(gate))->opened);
	config.widen = true;
	gate_again();
	assert_int_equal(mode_of("dst"), 0700);
	assert_true(gate_facts(gate_root(gate))->opened);
	assert_int_equal(gate_facts(gate_root(gate))->mode, 0500);
}

/* Nobody finished them; they must not stay as they are. */
static void modes_are_put_back_when_a_run_breaks_off(void **state)
{
	struct dir *dir;

	(void)state;
	who.dac = false;
	config.fds = 1;
	config.widen = true;
	assert_int_equal(chmod("dst", 0500), 0);
	gate_again();
	put_dir("dst/a");
	put_dir("dst/a/b");
	assert_int_equal(chmod("dst/a/b", 0111), 0);
	assert_int_equal(chmod("dst/a", 0555), 0);
	dir = added(gate_root(gate), "a");
	dir = added(dir, "b");
	(void)added(gate_root(gate), "c");
	assert_int_equal(mode_of("dst/a/b"), 0711);
	gate_put_back(gate);
	gate_free(gate);
	gate = NULL;
	assert_int_equal(mode_of("dst/a/b"), 0111);
	assert_int_equal(mode_of("dst/a"), 0555);
	assert_int_equal(mode_of("dst"), 0500);
}

/* ---- inherited ACLs ---- */

/* user::rwx user:1:rwx group::rwx mask::rwx other::rwx, as the kernel has it */
static const unsigned char default_acl[] = {
	2, 0, 0, 0,
	1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 1, 0, 0, 0,
	4, 0, 7, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255,
	32, 0, 7, 0, 255, 255, 255, 255,
};

static void put_default_acl(const char *path)
{
	if (setxattr(path, "system.posix_acl_default", default_acl,
		     sizeof(default_acl), 0) != 0)
		skip();
}

static ssize_t default_acl_of(const char *path)
{
	return getxattr(path, "system.posix_acl_default", NULL, 0);
}

static void a_new_directory_inherits_no_acl(void **state)
{
	struct dir *dir;

	(void)state;
	put_default_acl("dst");
	gate_again();
	assert_true(gate_inherits(gate_root(gate)));
	dir = added(gate_root(gate), "d");
	assert_int_equal(default_acl_of("dst/d"), -1);
	assert_false(gate_inherits(dir));
	finish(dir);
	assert_true(default_acl_of("dst") > 0);
}

static void an_old_directory_keeps_its_own_meanwhile(void **state)
{
	struct dir *dir;

	(void)state;
	put_dir("dst/d");
	put_default_acl("dst/d");
	dir = added(gate_root(gate), "d");
	assert_true(gate_inherits(dir));
	assert_true(default_acl_of("dst/d") > 0);
	finish(dir);
}

static void an_acl_that_stays_is_told(void **state)
{
	struct dir *dir;

	(void)state;
	put_default_acl("dst");
	gate_again();
	dir = add(gate_root(gate), "d");
	fault_set(REMOVEXATTR, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	int got = make(gate_root(gate), dir);

	assert_string_equal(capture_end(),
			    "tarpipe: dst/d: removing an inherited ACL: "
			    "Operation not permitted\n");
	assert_int_equal(got, 0);	/* the rest goes on */
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	finish(dir);
}

/* ---- few descriptors ---- */

enum { DEEP = 300 };

/* DEEP directories in each other, "0" to "299", with no more descriptors than allowed. */
static void make_deep(struct dir **dirs)
{
	struct dir *parent = gate_root(gate);
	unsigned before = open_descriptors();
	char name[16];

	for (int i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "%d", i);
		dirs[i] = added(parent, name);
		parent = dirs[i];
		assert_true(open_descriptors() <= before + config.fds);
	}
}

/* The path of the n-th, from the root of them. */
static const char *deep_path(int n)
{
	static char path[2048];
	int len = snprintf(path, sizeof(path), "dst");

	for (int i = 0; i <= n; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "/%d", i);
	return path;
}

static void deep_trees_take_few_descriptors(void **state)
{
	struct dir *dirs[DEEP];

	(void)state;
	config.fds = 3;
	gate_again();
	make_deep(dirs);
	for (int i = DEEP - 1; i >= 0; i--) {
		int fd = gate_enter(gate, dirs[i]);
		struct stat st;

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_ino, stat_of(deep_path(i)).st_ino);
		gate_exit(gate, dirs[i]);
		finish(dirs[i]);
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

static void any_of_them_is_found_again(void **state)
{
	static const int order[] = { 0, 299, 150, 1, 298, 299, 0, 77 };
	struct dir *dirs[DEEP];

	(void)state;
	config.fds = 3;
	gate_again();
	make_deep(dirs);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		int fd = gate_enter(gate, dirs[order[i]]);
		struct stat st;

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_ino, stat_of(deep_path(order[i])).st_ino);
		gate_exit(gate, dirs[order[i]]);
	}
}

/* `..` leads back although the names from above have changed. */
static void the_way_back_stays_when_an_ancestor_moves(void **state)
{
	struct dir *dirs[DEEP];

	(void)state;
	config.fds = 3;
	gate_again();
	make_deep(dirs);
	assert_int_equal(rename("dst/0", "dst/moved"), 0);
	for (int i = DEEP - 1; i >= 0; i--) {
		assert_true(can_enter(dirs[i]));
		finish(dirs[i]);
	}
	assert_int_equal(diag_status(), STATUS_OK);
}

/* One that is another now is not entered, whatever it is. */
static void a_directory_that_was_replaced_is_not_entered(void **state)
{
	struct dir *a, *b, *c;

	(void)state;
	config.fds = 1;
	gate_again();
	a = added(gate_root(gate), "a");
	b = added(gate_root(gate), "b");
	c = added(gate_root(gate), "c");	/* a and b are closed now */
	assert_int_equal(rename("dst/a", "dst/old"), 0);
	put_dir("dst/a");
	assert_int_equal(rename("dst/b", "dst/older"), 0);
	assert_int_equal(symlink("../out", "dst/b"), 0);
	capture_begin(STDERR_FILENO);
	bool entered = can_enter(a) || can_enter(a) || can_enter(b);

	assert_string_equal(capture_end(),
			    "tarpipe: dst/a: finding the directory again: Stale "
			    "file handle\n"
			    "tarpipe: dst/b: finding the directory again: Not a "
			    "directory\n");
	assert_false(entered);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_true(can_enter(c));
	finish(a);
	finish(b);
	finish(c);
}

static void those_in_use_stay_open(void **state)
{
	struct dir *dirs[6];
	int fds[6];
	struct stat st;

	(void)state;
	config.fds = 2;
	gate_again();
	for (int i = 0; i < 6; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		dirs[i] = added(gate_root(gate), name);
		fds[i] = gate_enter(gate, dirs[i]);
	}
	for (int i = 0; i < 6; i++) {
		assert_int_equal(fstat(fds[i], &st), 0);
		assert_int_equal(st.st_ino, gate_facts(dirs[i])->ino);
		gate_exit(gate, dirs[i]);
	}
	for (int i = 0; i < 6; i++)
		finish(dirs[i]);
}

/* ---- who is the last ---- */

static void the_last_one_is_told_once(void **state)
{
	struct dir *dir = added(gate_root(gate), "d");
	struct meta meta = { .mode = 0750 };

	(void)state;
	gate_hold(gate, dir);
	gate_hold(gate, dir);
	assert_null(gate_final(dir));
	gate_finally(gate, dir, &meta);
	assert_int_equal(gate_final(dir)->mode, 0750);
	assert_false(leave(dir));
	assert_false(gate_drop(gate, dir));
	assert_true(gate_drop(gate, dir));
	assert_ptr_equal(gate_done(gate, dir), gate_root(gate));
	assert_false(gate_drop(gate, gate_root(gate)));
}

static void a_directory_waits_for_those_below(void **state)
{
	struct dir *a = added(gate_root(gate), "a"), *b = added(a, "b");

	(void)state;
	gate_hold(gate, b);		/* a worker is still busy in it */
	assert_false(leave(b));
	assert_false(leave(a));
	assert_true(gate_drop(gate, b));
	assert_ptr_equal(gate_done(gate, b), a);
	assert_true(gate_drop(gate, a));
	assert_ptr_equal(gate_done(gate, a), gate_root(gate));
}

static void a_pinned_directory_is_found_after_it_is_done(void **state)
{
	struct dir *a = added(gate_root(gate), "a"), *b = added(a, "b");

	(void)state;
	gate_pin(gate, b);
	finish(b);
	assert_true(leave(a));
	assert_ptr_equal(gate_done(gate, a), gate_root(gate));
	assert_true(can_enter(b));
	gate_unpin(gate, b);
}

struct waiter {
	struct thread thread;
	struct dir *dir;
	void (*wait)(struct waiter *waiter);
	uint64_t done;
	int fd;
};

static void waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	waiter->wait(waiter);
	count_add(&waiter->done, 1);
}

static void waiter_start(struct waiter *waiter)
{
	assert_int_equal(thread_start(&waiter->thread, "waiter", waiter_run,
				      waiter), 0);
	usleep(5000);
	assert_int_equal(count_get(&waiter->done), 0);
}

static void wait_to_enter(struct waiter *waiter)
{
	waiter->fd = gate_enter(gate, waiter->dir);
}

static void wait_to_settle(struct waiter *waiter)
{
	gate_settle(gate, waiter->dir);
}

static void who_enters_waits_until_it_is_made(void **state)
{
	struct waiter waiter = { .wait = wait_to_enter };

	(void)state;
	waiter.dir = add(gate_root(gate), "d");
	waiter_start(&waiter);
	assert_int_equal(make(gate_root(gate), waiter.dir), 0);
	thread_join(&waiter.thread);
	assert_true(waiter.fd >= 0);
	gate_exit(gate, waiter.dir);
	finish(waiter.dir);
}

static void who_enters_waits_until_it_is_left_out(void **state)
{
	struct waiter waiter = { .wait = wait_to_enter };

	(void)state;
	waiter.dir = add(gate_root(gate), "d");
	waiter_start(&waiter);
	assert_int_equal(gate_make(gate, waiter.dir, true), -1);
	thread_join(&waiter.thread);
	assert_int_equal(waiter.fd, -1);
	finish(waiter.dir);
}

/* The stream's hold and one's own are not waited for. */
static void settling_waits_for_all_others(void **state)
{
	struct waiter waiter = { .wait = wait_to_settle };
	struct dir *dir = added(gate_root(gate), "d");

	(void)state;
	waiter.dir = dir;
	gate_hold(gate, dir);		/* the waiter's own */
	gate_settle(gate, dir);
	gate_hold(gate, dir);		/* another worker's */
	waiter_start(&waiter);
	assert_false(gate_drop(gate, dir));
	thread_join(&waiter.thread);
	gate_end(gate, dir);
	gate_settle(gate, dir);		/* the stream has left it */
	assert_true(gate_drop(gate, dir));
	gate_done(gate, dir);
}

/* ---- a directory that the stream enters again ---- */

static void wait_to_make(struct waiter *waiter)
{
	waiter->fd = make(gate_root(gate), waiter->dir);
}

/* Its second entry is made when the first is wholly done, and finds what that set. */
static void who_comes_again_waits_until_it_is_done(void **state)
{
	const struct timespec times[2] = { { 7, 8 }, { 9, 10 } };
	struct waiter waiter = { .wait = wait_to_make };
	struct dir *first;

	(void)state;
	config.ordered = true;
	gate_again();
	first = added(gate_root(gate), "d");
	gate_hold(gate, first);			/* a worker's */
	gate_end(gate, first);
	waiter.dir = add(gate_root(gate), "d");
	waiter_start(&waiter);
	assert_true(gate_drop(gate, first));
	usleep(5000);				/* its metadata are being set */
	assert_int_equal(count_get(&waiter.done), 0);
	assert_int_equal(utimensat(AT_FDCWD, "dst/d", times, 0), 0);
	assert_ptr_equal(gate_done(gate, first), gate_root(gate));
	assert_false(gate_drop(gate, gate_root(gate)));
	thread_join(&waiter.thread);
	assert_int_equal(waiter.fd, 0);
	assert_true(gate_facts(waiter.dir)->existed);
	assert_int_equal(gate_facts(waiter.dir)->mtime.tv_sec, 9);
	assert_int_equal(gate_facts(waiter.dir)->mtime.tv_nsec, 10);
	assert_int_equal(gate_facts(waiter.dir)->atime.tv_sec, 7);
	finish(waiter.dir);
}

static void one_that_comes_again_is_swept_once(void **state)
{
	struct dir *dir;

	(void)state;
	config.ordered = true;
	gate_again();
	put_dir("dst/old");
	dir = added(gate_root(gate), "old");
	assert_true(gate_sweep_begin(gate, dir));
	gate_sweep_end(gate, dir);
	finish(dir);
	dir = added(gate_root(gate), "old");
	assert_false(gate_sweep_begin(gate, dir));
	finish(dir);
	/* What was made by this run has nothing of others. */
	finish(added(gate_root(gate), "new"));
	dir = added(gate_root(gate), "new");
	assert_false(gate_sweep_begin(gate, dir));
	finish(dir);
}

/* One that the stream is still in can't be done before what is in it. */
static void one_that_has_not_ended_is_not_waited_for(void **state)
{
	struct dir *outer, *inner;

	(void)state;
	config.ordered = config.keep_dirlink = true;
	gate_again();
	put_dir("dst/d");
	assert_int_equal(symlink(".", "dst/d/self"), 0);
	outer = added(gate_root(gate), "d");
	inner = added(outer, "self");
	assert_int_equal(gate_facts(inner)->ino, gate_facts(outer)->ino);
	finish(inner);
	finish(outer);
}

/* ---- what restore asks ---- */

static void the_group_of_new_files_is_known_or_learned(void **state)
{
	struct dir *old, *new;

	(void)state;
	assert_int_equal(gate_group(gate, gate_root(gate)), -1);
	gate_learn_group(gate, gate_root(gate), 77);
	assert_int_equal(gate_group(gate, gate_root(gate)), 77);
	put_dir("dst/old");
	old = added(gate_root(gate), "old");
	assert_int_equal(gate_group(gate, old), -1);
	new = added(gate_root(gate), "new");
	assert_int_equal(gate_group(gate, new), stat_of("dst/new").st_gid);
	finish(old);
	finish(new);
}

static void a_setgid_directory_gives_its_own(void **state)
{
	struct dir *dir;

	(void)state;
	put_dir("dst/old");
	assert_int_equal(chmod("dst/old", 02755), 0);
	if (!(mode_of("dst/old") & S_ISGID))
		skip();
	dir = added(gate_root(gate), "old");
	assert_int_equal(gate_group(gate, dir), stat_of("dst/old").st_gid);
	finish(dir);
}

static void wait_to_sweep(struct waiter *waiter)
{
	waiter->fd = gate_sweep_begin(gate, waiter->dir);
}

/* ... by one, and the others wait for that. */
static void an_old_directory_is_swept_once(void **state)
{
	struct waiter waiter = { .wait = wait_to_sweep };

	(void)state;
	put_dir("dst/old");
	waiter.dir = added(gate_root(gate), "old");
	assert_true(gate_sweep_begin(gate, waiter.dir));
	waiter_start(&waiter);
	gate_sweep_end(gate, waiter.dir);
	thread_join(&waiter.thread);
	assert_false(waiter.fd);
	assert_false(gate_sweep_begin(gate, waiter.dir));
	finish(waiter.dir);
}

/* Nobody can have left anything in it. */
static void a_new_directory_is_not_swept(void **state)
{
	struct dir *dir = added(gate_root(gate), "new");

	(void)state;
	assert_false(gate_sweep_begin(gate, dir));
	assert_true(gate_sweep_begin(gate, gate_root(gate)));
	gate_sweep_end(gate, gate_root(gate));
	finish(dir);
}

static void a_root_that_was_made_for_this_is_new(void **state)
{
	(void)state;
	config.fresh = true;
	gate_again();
	assert_false(gate_facts(gate_root(gate))->existed);
	assert_false(gate_sweep_begin(gate, gate_root(gate)));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_last_components_pass),
		TEST(directories_of_other_names_are_refused),
		TEST(paths_are_those_a_user_knows),
		TEST(a_new_directory_is_ones_own_until_done),
		TEST(one_that_is_there_is_taken_as_it_is),
		TEST(a_link_to_a_directory_is_not_followed),
		TEST(a_link_to_a_directory_is_followed_where_asked),
		TEST(other_things_give_way),
		TEST(with_k_other_things_stay),
		TEST(a_cancelled_directory_is_not_made),
		TEST(a_full_file_system_is_told_apart),
		TEST(of_several_that_find_no_space_one_is_told),
		TEST(a_refused_one_is_told_and_left_out),
		TEST(a_closed_directory_of_ones_own_is_opened_up),
		TEST(one_that_can_not_be_read_too),
		TEST(those_of_others_are_left_alone),
		TEST(the_root_is_opened_up_only_where_it_is_put_back),
		TEST(a_new_directory_inherits_no_acl),
		TEST(an_old_directory_keeps_its_own_meanwhile),
		TEST(an_acl_that_stays_is_told),
		TEST(deep_trees_take_few_descriptors),
		TEST(any_of_them_is_found_again),
		TEST(the_way_back_stays_when_an_ancestor_moves),
		TEST(a_directory_that_was_replaced_is_not_entered),
		TEST(those_in_use_stay_open),
		TEST(the_last_one_is_told_once),
		TEST(a_directory_waits_for_those_below),
		TEST(a_pinned_directory_is_found_after_it_is_done),
		TEST(who_enters_waits_until_it_is_made),
		TEST(who_enters_waits_until_it_is_left_out),
		TEST(settling_waits_for_all_others),
		TEST(who_comes_again_waits_until_it_is_done),
		TEST(one_that_comes_again_is_swept_once),
		TEST(one_that_has_not_ended_is_not_waited_for),
		TEST(the_group_of_new_files_is_known_or_learned),
		TEST(a_setgid_directory_gives_its_own),
		TEST(an_old_directory_is_swept_once),
		TEST(a_new_directory_is_not_swept),
		TEST(a_root_that_was_made_for_this_is_new),
		TEST(modes_are_put_back_when_a_run_breaks_off),
	};

	return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
