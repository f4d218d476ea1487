/* SPDX-License-Identifier: BSD-2-Clause */
#include "temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"

#define PREFIX ".tarpipe-tmp-"

enum {
	RUN_DIGITS = 16,
	OLD_SECONDS = 60,
	FRESH_SECONDS = 2,
	MOMENT_NS = 20000000,
};

uint64_t temp_draw(void)
{
	uint64_t run;

	/* Early in a boot there may be none: then the clock has to do. */
	if (getrandom(&run, sizeof(run), GRND_NONBLOCK) != sizeof(run))
		run = clock_ns() * UINT64_C(0x9e3779b97f4a7c15) +
		      (uint64_t)getpid();
	return run;
}

void temp_name(char *name, uint64_t run, unsigned number)
{
	snprintf(name, TEMP_NAME_SIZE, PREFIX "%016" PRIx64 "-%u", run, number);
}

bool temp_is_name(const char *name)
{
	const char *digits = name + strlen(PREFIX), *number;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	    strspn(digits, "0123456789abcdef") != RUN_DIGITS)
		return false;
	number = digits + RUN_DIGITS + 1;
	return number[-1] == '-' && *number != '\0' &&
	       number[strspn(number, "0123456789")] == '\0';
}

/*
 * A name that was made a moment ago may be somebody's who comes to lock it next, or
 * to rename it.  Returns false when it is gone after a while that is long for that.
 */
static bool still_there(int dirfd, const char *name, struct stat *st)
{
	struct stat before;

	if (fstatat(dirfd, name, &before, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (before.st_ctime < time(NULL) - FRESH_SECONDS) {
		*st = before;
		return true;
	}
	clock_wait(clock_ns() + MOMENT_NS);
	return fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st->st_dev == before.st_dev && st->st_ino == before.st_ino;
}

/* A file that can't be opened to ask for its lock may be in use for longer. */
static bool is_stale(int fd, const struct stat *st)
{
	if (fd >= 0)
		return flock(fd, LOCK_EX | LOCK_NB) == 0 ||
		       errno != EWOULDBLOCK;
	return !S_ISREG(st->st_mode) || st->st_ctime < time(NULL) - OLD_SECONDS;
}

static void remove_stale(int dirfd, const char *name)
{
	struct stat st;
	int fd;

	if (!still_there(dirfd, name, &st))
		return;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (is_stale(fd, &st))
		(void)unlinkat(dirfd, name, 0);
	if (fd >= 0)
		close(fd);
}

static void sweep_entries(int dirfd, const char *entries, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *entry = (const void *)(entries + at);

		at += entry->d_reclen;
		if (entry->d_type != DT_DIR && temp_is_name(entry->d_name))
			remove_stale(dirfd, entry->d_name);
	}
}

void temp_sweep(int dirfd, void *buffer, size_t size)
{
	/* Its own descriptor: the position in a directory is the descriptor's. */
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return;
	while ((len = getdents64(fd, buffer, size)) > 0)
		sweep_entries(dirfd, buffer, (size_t)len);
	close(fd);
}
