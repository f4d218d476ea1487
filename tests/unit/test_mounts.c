/* SPDX-License-Identifier: BSD-2-Clause */
/* The mount table, and what is said of single names. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "faults.h"
#include "mounts.h"
#include "tree.h"

static const char *table;	/* NULL: it can't be opened */

WRAPPED(FILE *, fopen, const char *path, const char *mode)
{
	if (strcmp(path, "/proc/self/mountinfo") != 0)
		return __real_fopen(path, mode);
	if (!table) {
		errno = ENOENT;
		return NULL;
	}
	return fmemopen((char *)(uintptr_t)table, strlen(table), "r");
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

static const char usual[] =
	"24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"25 24 0:5 / /proc rw - proc proc rw\n"
	"26 24 0:40 / /mnt/a\\040b\\134c rw shared:3 master:4 - nfs4 srv:/x rw\n"
	"27 24 0:41 / /home/u/ssh rw - fuse.sshfs u@h: rw\n"
	"28 24 0:42 / /net rw - autofs auto rw\n"
	"29 24 0:43 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\040per,"
	"workdir=/w\n"
	"30 24 0:44 / /shown rw - overlay overlay ro,lowerdir=/l\n"
	"31 24 0:45 / /fb rw - fuseblk /dev/sdb1 rw\n"
	"no line of such a table\n"
	"32 24 0:46 / /last rw - tmpfs tmpfs rw";

static void kinds_are_told(void **state)
{
	struct mounts *mounts;

	(void)state;
	table = usual;
	mounts = mounts_read();
	assert_non_null(mounts);
	assert_int_equal(mounts_kind(mounts, 24), MOUNT_LOCAL);
	assert_int_equal(mounts_kind(mounts, 25), MOUNT_LOCAL);
	assert_int_equal(mounts_kind(mounts, 26), MOUNT_SERVED);
	assert_int_equal(mounts_kind(mounts, 27), MOUNT_SERVED);
	assert_int_equal(mounts_kind(mounts, 28), MOUNT_AUTOFS);
	assert_int_equal(mounts_kind(mounts, 31), MOUNT_SERVED);
	assert_int_equal(mounts_kind(mounts, 32), MOUNT_LOCAL);
	assert_int_equal(mounts_kind(mounts, 99), MOUNT_UNKNOWN);
	mounts_free(mounts);
}

static void names_are_found(void **state)
{
	struct mounts *mounts;

	(void)state;
	table = usual;
	mounts = mounts_read();
	assert_non_null(mounts);
	assert_true(mounts_has_name(mounts, "a b\\c"));
	assert_true(mounts_has_name(mounts, "proc"));
	assert_true(mounts_has_name(mounts, "last"));
	assert_true(mounts_has_name(mounts, ""));	/* of the root */
	assert_false(mounts_has_name(mounts, "mnt"));
	assert_false(mounts_has_name(mounts, "line"));
	mounts_free(mounts);
}

static void an_overlay_has_its_upper_directory(void **state)
{
	struct mounts *mounts;

	(void)state;
	table = usual;
	mounts = mounts_read();
	assert_non_null(mounts);
	assert_string_equal(mounts_upper(mounts, 29), "/up per");
	assert_null(mounts_upper(mounts, 30));
	assert_null(mounts_upper(mounts, 24));
	assert_null(mounts_upper(mounts, 99));
	mounts_free(mounts);
}

static void without_a_table(void **state)
{
	(void)state;
	table = NULL;
	assert_null(mounts_read());
	assert_int_equal(errno, ENOENT);
	mounts_free(NULL);
}

static void without_memory(void **state)
{
	(void)state;
	table = usual;
	fault_set(REALLOC, (struct fault){ .err = ENOMEM });
	assert_null(mounts_read());
	assert_int_equal(errno, ENOMEM);
	faults_clear();
}

static void a_name_is_where_its_directory_is(void **state)
{
	struct mount_place top, place;
	struct stat st, real;

	(void)state;
	put_dir("d");
	assert_int_equal(mount_look(AT_FDCWD, ".", 0, &top), 0);
	assert_int_equal(mount_look(AT_FDCWD, "d", AT_SYMLINK_NOFOLLOW, &place), 0);
	assert_false(mount_crosses(&top, &place));
	assert_int_equal(mount_look(AT_FDCWD, "/proc", 0, &place), 0);
	assert_true(mount_crosses(&top, &place));
	assert_int_equal(mount_look(AT_FDCWD, "none", 0, &place), -1);
	assert_int_equal(errno, ENOENT);

	assert_int_equal(mount_stat(AT_FDCWD, "d", &st), 0);
	assert_int_equal(stat("d", &real), 0);
	assert_int_equal(st.st_mode, real.st_mode);
	assert_int_equal(st.st_dev, real.st_dev);
	assert_int_equal(st.st_ino, real.st_ino);
	assert_int_equal(st.st_nlink, real.st_nlink);
	assert_int_equal(st.st_uid, real.st_uid);
	assert_int_equal(st.st_size, real.st_size);
	assert_memory_equal(&st.st_mtim, &real.st_mtim, sizeof(st.st_mtim));
	assert_memory_equal(&st.st_atim, &real.st_atim, sizeof(st.st_atim));
}

static void places_differ_by_mount_or_device(void **state)
{
	struct mount_place top = { .mount = 1, .dev = 2 }, other = top;

	(void)state;
	assert_false(mount_crosses(&top, &other));
	other.mount = 3;
	assert_true(mount_crosses(&top, &other));
	other = top;
	other.dev = 3;
	assert_true(mount_crosses(&top, &other));
	other = top;
	other.automount = true;
	assert_true(mount_crosses(&top, &other));
	other = top;
	top.automount = true;
	assert_true(mount_crosses(&top, &other));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kinds_are_told),
		TEST(names_are_found),
		TEST(an_overlay_has_its_upper_directory),
		TEST(without_a_table),
		TEST(without_memory),
		TEST(a_name_is_where_its_directory_is),
		TEST(places_differ_by_mount_or_device),
	};

	return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
