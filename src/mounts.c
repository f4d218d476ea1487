/* SPDX-License-Identifier: BSD-2-Clause */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Not in every <sys/mount.h>. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif

/* Nothing of it is asked of a file system, and nothing mounted. */
enum { UNTOUCHED = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC };

/* ---- single names ---- */

int mount_look(int dir, const char *name, int flags, struct mount_place *place)
{
	struct statx stx;

	/* FUSE refuses others than its owner who want more than this. */
	if (statx(dir, name, UNTOUCHED | AT_EMPTY_PATH | flags, STATX_MNT_ID,
		  &stx) != 0)
		return -1;
	place->mount = stx.stx_mask & STATX_MNT_ID ? stx.stx_mnt_id : 0;
	place->dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	place->automount = stx.stx_attributes & STATX_ATTR_AUTOMOUNT;
	return 0;
}

bool mount_crosses(const struct mount_place *top, const struct mount_place *place)
{
	return top->automount || place->automount || top->dev != place->dev ||
	       top->mount != place->mount;
}

static struct timespec time_of(const struct statx_timestamp *time)
{
	return (struct timespec){ .tv_sec = time->tv_sec,
				  .tv_nsec = time->tv_nsec };
}

int mount_stat(int dir, const char *name, struct stat *st)
{
	struct statx stx;

	if (statx(dir, name, UNTOUCHED | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
		  &stx) != 0)
		return -1;
	*st = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
		.st_nlink = stx.stx_nlink,
		.st_uid = stx.stx_uid,
		.st_gid = stx.stx_gid,
		.st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
		.st_size = (off_t)stx.stx_size,
		.st_blksize = (blksize_t)stx.stx_blksize,
		.st_blocks = (blkcnt_t)stx.stx_blocks,
		.st_atim = time_of(&stx.stx_atime),
		.st_mtim = time_of(&stx.stx_mtime),
		.st_ctim = time_of(&stx.stx_ctime),
	};
	return 0;
}

/* A copy of the mount that `dir` is in has nothing mounted in it. */
int mount_stat_covered(int dir, const char *name, struct stat *st)
{
	int tree = (int)syscall(SYS_open_tree, dir, "",
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
					AT_EMPTY_PATH);
	int result, err;

	if (tree < 0)
		return -1;
	result = mount_stat(tree, name, st);
	err = errno;
	close(tree);
	errno = err;
	return result;
}

/* ---- the table ---- */

struct mount {
	uint64_t id;
	enum mount_kind kind;
	char *name;		/* last component */
	char *upper;		/* NULL: it is no overlay that is written to */
};

struct mounts {
	struct mount *all;	/* by their names */
	size_t count, room;
};

/* By their own names; all of FUSE's begin with the same word. */
static const char *const served[] = {
	"9p", "afs", "beegfs", "ceph", "cifs", "coda", "gpfs", "lustre", "ncpfs",
	"nfs", "nfs4", "orangefs", "pvfs2", "smb3", "smbfs", "virtiofs",
};

static enum mount_kind kind_of(const char *type)
{
	if (strcmp(type, "autofs") == 0)
		return MOUNT_AUTOFS;
	if (strncmp(type, "fuse", 4) == 0)
		return MOUNT_SERVED;
	for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++)
		if (strcmp(type, served[i]) == 0)
			return MOUNT_SERVED;
	return MOUNT_LOCAL;
}

/* In place: \040 is a blank, and so are others that would end a word. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] && p[3]) {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
				       (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* The value of `upperdir` in an overlay's options, or NULL. */
static char *upper_of(char *options)
{
	char *save = NULL;

	for (char *word = strtok_r(options, ",\n", &save); word;
	     word = strtok_r(NULL, ",\n", &save))
		if (strncmp(word, "upperdir=", 9) == 0) {
			unescape(word + 9);
			return strdup(word + 9);
		}
	return NULL;
}

/*
 * Takes a line apart:
 *
 *     36 35 98:0 /root/in/it /mount/point options tags... - type source options
 *
 * Returns false when memory ran out; a line that is none is passed over.
 */
static bool mounts_take(struct mounts *mounts, char *line)
{
	struct mount *mount = &mounts->all[mounts->count];
	char *point, *type, *save = NULL, *slash;
	int at = 0;

	*mount = (struct mount){ 0 };
	if (sscanf(line, "%" SCNu64 " %*s %*s %*s %n", &mount->id, &at) != 1 ||
	    at == 0 || !(type = strstr(line, " - ")))
		return true;
	type = strtok_r(type + 3, " ", &save);
	point = line + at;
	point[strcspn(point, " ")] = '\0';
	unescape(point);
	slash = strrchr(point, '/');
	mount->name = strdup(slash ? slash + 1 : point);
	if (!mount->name)
		return false;
	mounts->count++;
	mount->kind = type ? kind_of(type) : MOUNT_UNKNOWN;
	if (type && strcmp(type, "overlay") == 0 && strtok_r(NULL, " ", &save))
		mount->upper = upper_of(save);
	return true;
}

static bool mounts_reserve(struct mounts *mounts)
{
	size_t more = mounts->room ? 2 * mounts->room : 32;
	struct mount *all;

	if (mounts->count < mounts->room)
		return true;
	all = realloc(mounts->all, more * sizeof(*all));
	if (!all)
		return false;
	mounts->all = all;
	mounts->room = more;
	return true;
}

/* 0, or -1 with errno. */
static int mounts_fill(struct mounts *mounts, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	while (result == 0 && getline(&line, &room, file) > 0)
		if (!mounts_reserve(mounts) || !mounts_take(mounts, line))
			result = -1;
	if (ferror(file))
		result = -1;
	free(line);
	return result;
}

static int by_name(const void *a, const void *b)
{
	const struct mount *x = a, *y = b;

	return strcmp(x->name, y->name);
}

struct mounts *mounts_read(void)
{
	struct mounts *mounts = calloc(1, sizeof(*mounts));
	FILE *file = mounts ? fopen("/proc/self/mountinfo", "re") : NULL;
	int err;

	if (file && mounts_fill(mounts, file) == 0) {
		fclose(file);
		if (mounts->count > 0)
			qsort(mounts->all, mounts->count, sizeof(*mounts->all),
			      by_name);
		return mounts;
	}
	err = errno;
	if (file)
		fclose(file);
	mounts_free(mounts);
	errno = err;
	return NULL;
}

void mounts_free(struct mounts *mounts)
{
	if (!mounts)
		return;
	for (size_t i = 0; i < mounts->count; i++) {
		free(mounts->all[i].name);
		free(mounts->all[i].upper);
	}
	free(mounts->all);
	free(mounts);
}

static const struct mount *mounts_find(const struct mounts *mounts, uint64_t id)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->all[i].id == id)
			return &mounts->all[i];
	return NULL;
}

enum mount_kind mounts_kind(const struct mounts *mounts, uint64_t mount)
{
	const struct mount *found = mounts_find(mounts, mount);

	return found ? found->kind : MOUNT_UNKNOWN;
}

const char *mounts_upper(const struct mounts *mounts, uint64_t mount)
{
	const struct mount *found = mounts_find(mounts, mount);

	return found ? found->upper : NULL;
}

static int name_to_mount(const void *name, const void *mount)
{
	return strcmp(name, ((const struct mount *)mount)->name);
}

bool mounts_has_name(const struct mounts *mounts, const char *name)
{
	return mounts->count > 0 &&
	       bsearch(name, mounts->all, mounts->count, sizeof(*mounts->all),
		       name_to_mount);
}
