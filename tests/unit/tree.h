/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree: a scratch directory for each test, and a vocabulary for what is in it.
 *
 *     cmocka_unit_test_setup_teardown(a_test, tree_setup, tree_teardown)
 *
 * A test runs inside its directory, so that paths are short and relative, with the
 * umask 022, and ends the program when it hangs.  Include it after cmocka.h.
 */
#ifndef TARPIPE_TREE_H
#define TARPIPE_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	char path[256];
	int before;		/* the directory we come from */
} tree;

static inline int tree_setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	alarm(120);
	umask(022);
	tree.before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(tree.path, sizeof(tree.path), "%s/tarpipe-unit.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (tree.before < 0 || !mkdtemp(tree.path))
		return -1;
	return chdir(tree.path);
}

static inline int tree_open_up(const char *path, const struct stat *st, int kind,
			       struct FTW *ftw)
{
	(void)ftw;
	if ((kind == FTW_D || kind == FTW_DNR) && (st->st_mode & 0700) != 0700)
		(void)chmod(path, st->st_mode | 0700);
	return 0;
}

static inline int tree_remove(const char *path, const struct stat *st, int kind,
			      struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	(void)remove(path);
	return 0;
}

static inline int tree_teardown(void **state)
{
	(void)state;
	alarm(0);
	if (fchdir(tree.before) != 0)
		return -1;
	close(tree.before);
	(void)nftw(tree.path, tree_open_up, 16, FTW_PHYS);
	return nftw(tree.path, tree_remove, 16, FTW_PHYS | FTW_DEPTH);
}

/* ---- making ---- */

/* A file of any bytes, in place of what was there. */
static inline void put_bytes(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		fail_msg("can't write %s", path);
	close(fd);
}

static inline void put_file(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static inline void put_dir(const char *path)
{
	if (mkdir(path, 0755) != 0)
		fail_msg("can't make %s", path);
}

/* Bytes that no other seed gives and that have no long runs of zeros. */
static inline void put_noise(unsigned char *to, size_t len, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (unsigned char)(x >> 24) | 1;
	}
}

/* ---- looking ---- */

static inline struct stat stat_of(const char *path)
{
	struct stat st = { 0 };

	if (lstat(path, &st) != 0)
		fail_msg("%s is not there", path);
	return st;
}

static inline mode_t mode_of(const char *path)
{
	return stat_of(path).st_mode & 07777;
}

static inline bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* It is a regular file of just these bytes. */
static inline void assert_bytes(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *got = malloc(len + 1);
	ssize_t n = fd < 0 ? -1 : read(fd, got, len + 1);

	if (fd < 0)
		fail_msg("%s is not there", path);
	close(fd);
	if (n < 0 || (size_t)n != len)
		fail_msg("%s has %zd bytes, not %zu", path, n, len);
	if (memcmp(got, bytes, len) != 0)
		fail_msg("%s has other bytes", path);
	free(got);
}

static inline void assert_text(const char *path, const char *text)
{
	assert_bytes(path, text, strlen(text));
}

static inline int tree_not_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static inline int tree_by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names in a directory, in the order of their bytes, with blanks between. */
static inline const char *names_in(const char *path)
{
	static char text[65536];
	struct dirent **names = NULL;
	int n = scandir(path, &names, tree_not_dots, tree_by_bytes);
	size_t len = 0;

	if (n < 0)
		fail_msg("can't list %s", path);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i > 0 ? " " : "", names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return text;
}

/* Nothing but these is there: also no temporary name. */
static inline void assert_names(const char *path, const char *names)
{
	assert_string_equal(names_in(path), names);
}

/* Descriptors of this process. */
static inline unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!dir)
		fail_msg("no /proc");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 3;		/* dots, and the one that lists them */
}

#endif
