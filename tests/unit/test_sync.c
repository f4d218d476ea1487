/* SPDX-License-Identifier: BSD-2-Clause */
/* sync: each file system once, through a descriptor of its own, and what it says. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "sync.h"

static int synced[4], nsynced, fails;

int __wrap_syncfs(int fd);

int __wrap_syncfs(int fd)
{
	if (nsynced < 4)
		synced[nsynced] = fd;
	nsynced++;
	errno = EIO;
	return fails ? -1 : 0;
}

static struct syncs *met(int dir)
{
	struct syncs *syncs = syncs_new();

	nsynced = fails = 0;
	assert_non_null(syncs);
	assert_int_equal(syncs_meet(syncs, dir, 1), 0);
	assert_int_equal(syncs_meet(syncs, dir, 2), 0);
	assert_int_equal(syncs_meet(syncs, dir, 1), 0);
	return syncs;
}

static void each_once(void **state)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY);
	struct syncs *syncs = met(dir);

	(void)state;
	close(dir);
	syncs_finish(syncs, "dst");
	assert_int_equal(nsynced, 2);
	assert_int_not_equal(synced[0], synced[1]);
	assert_int_not_equal(synced[0], dir);
	syncs_free(syncs);
	syncs_free(NULL);
}

static void failure_is_told(void **state)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY);
	struct syncs *syncs = met(dir);
	const char *said;

	(void)state;
	close(dir);
	fails = 1;
	capture_begin(STDERR_FILENO);
	syncs_finish(syncs, "dst");
	said = capture_end();
	assert_non_null(strstr(said, "dst: syncing its file system"));
	assert_non_null(strstr(said, "Input/output error"));
	assert_int_equal(diag_status(), STATUS_STOPPED);
	syncs_free(syncs);
}

static void no_directory(void **state)
{
	struct syncs *syncs = syncs_new();

	(void)state;
	assert_int_equal(syncs_meet(syncs, -1, 1), -1);
	assert_int_equal(errno, EBADF);
	syncs_free(syncs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once),
		cmocka_unit_test(failure_is_told),
		cmocka_unit_test(no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
