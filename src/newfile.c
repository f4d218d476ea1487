/* SPDX-License-Identifier: BSD-2-Clause */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	LINKS_MOST = 40,
	SWEEP_SIZE = 32 << 10,
	NAMES_TRIED = 100,
	ACL_MOST = 64 << 10,		/* XATTR_SIZE_MAX */
};

#define ACCESS "system.posix_acl_access"

/* ---- where it goes ---- */

/* `path` cut after the last slash, with `name` behind; NULL with errno. */
static char *path_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash && name[0] != '/' ? (size_t)(slash + 1 - path) : 0;
	char *beside = malloc(len + strlen(name) + 1);

	if (!beside)
		return NULL;
	memcpy(beside, path, len);
	strcpy(beside + len, name);
	return beside;
}

/* Follows the symlinks that the last component is, also one that dangles. */
static char *path_follow(const char *path)
{
	char target[PATH_MAX], *at = strdup(path), *next;

	for (int i = 0; at && i <= LINKS_MOST; i++) {
		ssize_t n = readlink(at, target, sizeof(target) - 1);

		if (n < 0)
			return at;
		target[n] = '\0';
		next = path_beside(at, target);
		free(at);
		at = next;
	}
	free(at);
	errno = at ? ELOOP : ENOMEM;
	return NULL;
}

static int directory_open(struct newfile *file, const char *path)
{
	char *dir = path_beside(path, ".");
	int err;

	if (!dir)
		return -1;
	file->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = errno;
	free(dir);
	errno = err;
	return file->dir >= 0 ? 0 : -1;
}

/* What is there under the name. */
static int old_look(struct newfile *file)
{
	file->replaces = fstatat(file->dir, file->name, &file->old,
				 AT_SYMLINK_NOFOLLOW) == 0;
	if (!file->replaces)
		return errno == ENOENT ? 0 : -1;
	errno = S_ISDIR(file->old.st_mode) ? EISDIR : EEXIST;
	return S_ISREG(file->old.st_mode) ? 0 : -1;
}

static int place_find(struct newfile *file, const char *path)
{
	char *real = path_follow(path);
	const char *slash;
	int rc = -1;

	if (!real)
		return -1;
	slash = strrchr(real, '/');
	file->name = strdup(slash ? slash + 1 : real);
	if (!file->name)
		errno = ENOMEM;
	else if (file->name[0] == '\0')
		errno = EISDIR;
	else if (directory_open(file, real) == 0)
		rc = old_look(file);
	free(real);
	return rc;
}

/* ---- the file without its name ---- */

static void self_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Without /proc it could not be named later. */
static int open_nameless(const struct newfile *file, mode_t mode)
{
	int fd = openat(file->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	char self[32];

	if (fd < 0)
		return -1;
	self_path(fd, self, sizeof(self));
	if (faccessat(AT_FDCWD, self, F_OK, 0) == 0)
		return fd;
	close(fd);
	return -1;
}

static int open_named(struct newfile *file, mode_t mode)
{
	int fd;

	temp_name(file->temp, temp_draw(), 0);
	fd = openat(file->dir, file->temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	file->named = fd >= 0;
	return fd;
}

static bool is_none(int err)
{
	return err == ENODATA || err == EOPNOTSUPP;
}

/*
 * The old one's ACL, or none where the directory's default has given one.  False when
 * that can't be: then the bits of the group, which mask an ACL, have to go.
 */
static bool acl_follow(const struct newfile *file, bool group)
{
	int old = openat(file->dir, file->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	void *acl = malloc(ACL_MOST);
	bool none = false, same = false;
	char self[32];
	ssize_t size;

	if (old >= 0 && acl) {
		self_path(old, self, sizeof(self));
		size = getxattr(self, ACCESS, acl, ACL_MOST);
		none = size < 0 && is_none(errno);
		same = group && size >= 0 &&
		       fsetxattr(file->fd, ACCESS, acl, (size_t)size, 0) == 0;
	}
	if (none)
		same = fremovexattr(file->fd, ACCESS) == 0 || is_none(errno);
	if (old >= 0)
		close(old);
	free(acl);
	return same;
}

/*
 * The owner first: it takes setid bits away.  Nobody may see more than before: another
 * group sees what all others do.
 */
static void old_follow(const struct newfile *file)
{
	const struct stat *old = &file->old;
	mode_t mode = old->st_mode & 07777;
	bool group = true;
	struct stat now;

	if (fstat(file->fd, &now) != 0)
		return;
	if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
	    fchown(file->fd, old->st_uid, old->st_gid) != 0) {
		mode &= 0777;
		group = now.st_gid == old->st_gid ||
			fchown(file->fd, (uid_t)-1, old->st_gid) == 0;
	}
	if (!group)
		mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
	if (!acl_follow(file, group))
		mode &= ~(mode_t)S_IRWXG;
	(void)fchmod(file->fd, mode);
}

static void leftovers_sweep(const struct newfile *file)
{
	void *buffer = malloc(SWEEP_SIZE);

	if (buffer)
		temp_sweep(file->dir, buffer, SWEEP_SIZE);
	free(buffer);
}

int newfile_open(struct newfile *file, const char *path)
{
	mode_t mode;
	int err;

	*file = (struct newfile){ .dir = -1, .fd = -1, .hold = -1 };
	if (place_find(file, path) != 0)
		goto fail;
	leftovers_sweep(file);
	mode = file->replaces ? 0600 : 0666;
	file->fd = open_nameless(file, mode);
	if (file->fd < 0)
		file->fd = open_named(file, mode);
	if (file->fd < 0)
		goto fail;
	file->hold = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (file->hold < 0)
		goto fail;
	/* Names of ours that nobody has locked are swept. */
	(void)flock(file->fd, LOCK_EX | LOCK_NB);
	if (file->replaces)
		old_follow(file);
	return 0;
fail:
	err = errno;
	if (file->fd >= 0)
		close(file->fd);
	newfile_drop(file);
	errno = err;
	return -1;
}

/* ---- the name ---- */

/* linkat replaces nothing, so it gets a temporary name first. */
static int nameless_link(struct newfile *file)
{
	char self[32];
	int rc = -1;

	self_path(file->hold, self, sizeof(self));
	errno = EEXIST;
	for (int i = 0; rc != 0 && errno == EEXIST && i < NAMES_TRIED; i++) {
		temp_name(file->temp, temp_draw(), 0);
		rc = linkat(AT_FDCWD, self, file->dir, file->temp,
			    AT_SYMLINK_FOLLOW);
	}
	file->named = rc == 0;
	return rc;
}

/* So that the name is there after a crash, too, where one may read the directory. */
static int sync_directory(const struct newfile *file)
{
	int fd = openat(file->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int got, err;

	if (fd < 0)
		return 0;
	got = fsync(fd);
	err = errno;
	close(fd);
	errno = err;
	return got == 0 || err == EINVAL || err == EROFS ? 0 : -1;
}

int newfile_name(struct newfile *file)
{
	if (!file->named && nameless_link(file) != 0)
		return -1;
	if (renameat(file->dir, file->temp, file->dir, file->name) != 0)
		return -1;
	file->named = false;
	return sync_directory(file);
}

bool newfile_unmake(const struct newfile *file, const struct stat *st)
{
	struct stat now;

	if (file->dir < 0 || file->replaces ||
	    fstatat(file->dir, file->name, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
	    now.st_dev != st->st_dev || now.st_ino != st->st_ino)
		return false;
	(void)unlinkat(file->dir, file->name, 0);
	return true;
}

void newfile_drop(struct newfile *file)
{
	if (file->named)
		(void)unlinkat(file->dir, file->temp, 0);
	file->named = false;
	if (file->dir >= 0)
		close(file->dir);
	if (file->hold >= 0)
		close(file->hold);
	file->dir = file->hold = -1;
	free(file->name);
	file->name = NULL;
}
