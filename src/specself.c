/* SPDX-License-Identifier: BSD-2-Clause */
/* A destination that is a source, or within one; a source that is its own destination. */
#include "planning.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mounts.h"

bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* --- a destination within a source --- */

static const struct source *find_entered(const struct plan *plan,
					 const struct stat *st)
{
	for (size_t i = 0; i < plan->nsrc; i++)
		if (plan_enters(plan, &plan->src[i]) &&
		    same_file(&plan->src[i].target, st))
			return &plan->src[i];
	return NULL;
}

/* Where a directory is; where that can't be found out, nowhere in particular. */
static struct mount_place place_of(int fd, const char *path)
{
	struct mount_place place = { 0 };

	(void)mount_look(fd, path, 0, &place);
	return place;
}

/*
 * A walk of `src` comes down to where the climb started.  Not when it sees the
 * directory through another mount than the climb, which has left a mount: the
 * mount point between is then not in its view (a bind mount of `/`).  And not when it
 * stays on another file system than that.
 */
static bool leads_down(const struct plan *plan, const struct source *src,
		       const struct mount_place *start, uint64_t mount)
{
	struct mount_place top = place_of(AT_FDCWD, src->path);

	if (plan->opts->one_fs && mount_crosses(&top, start))
		return false;
	return mount == start->mount || top.mount == mount;
}

/*
 * Climbs from a directory, which it closes, to the root, and compares every
 * directory on the way: names say nothing about symlinks and bind mounts.  What
 * we may not search ends the climb: no walk could come down through it.  `itself`: it is
 * DST, not where that will be.
 */
static int climb(const struct plan *plan, int fd, bool itself)
{
	struct mount_place start = { 0 };
	const struct source *src = NULL;
	struct stat st, below = { 0 };

	if (fd >= 0)
		start = place_of(fd, "");
	while (fd >= 0 && fstat(fd, &st) == 0 && !same_file(&st, &below)) {
		src = find_entered(plan, &st);
		if (src && leads_down(plan, src, &start, place_of(fd, "").mount))
			break;
		src = NULL;
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
		below = st;
		itself = false;
	}
	if (fd < 0 && (errno != EACCES || below.st_ino == 0))
		return refuse(plan->dst_given, errno, "open its parents");
	if (fd >= 0)
		close(fd);
	if (src)
		return refuse(plan->dst_given, 0, itself ?
			      "is the source %s itself" :
			      "lies within the source %s", src->given);
	return 0;
}

/* What is written to an overlay goes to a directory which may be in a source, too. */
static int check_upper(const struct plan *plan, int fd)
{
	struct mount_place place = place_of(fd, "");
	struct mounts *mounts;
	struct statfs fs;
	const char *upper;
	int below = -1;

	if (fstatfs(fd, &fs) != 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return 0;
	mounts = mounts_read();
	upper = mounts ? mounts_upper(mounts, place.mount) : NULL;
	/* Where it can't be opened it is of another namespace: then nobody walks it. */
	if (upper)
		below = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mounts_free(mounts);
	return below >= 0 ? climb(plan, below, false) : 0;
}

static int check_outside(const struct spec *spec, const struct plan *plan)
{
	int fd = open(spec_anchor(spec), O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && check_upper(plan, fd) != 0) {
		close(fd);
		return -1;
	}
	return climb(plan, fd, !spec->dst_new);
}

/* --- a source that would replace itself --- */

/*
 * A source that would replace itself, or what it is a symlink to.  `old` is what
 * stands at its name in the destination.
 */
static bool replaces_itself(const struct source *src, const struct stat *old)
{
	return same_file(&src->own, old) || same_file(&src->target, old);
}

/* A device or a pipe is written to by other tools; nobody wants it replaced. */
static int check_special(const struct plan *plan)
{
	mode_t type = plan->dst_stat.st_mode & S_IFMT;

	if (!plan_becomes_file(plan) || plan->dst_kind != DST_OTHER ||
	    S_ISREG(type) || type == (plan->src[0].own.st_mode & S_IFMT))
		return 0;
	return refuse(plan->dst_given, 0, "is a device, FIFO or socket: it would "
		      "be replaced by %s, not written to", plan->src[0].given);
}

/* No source arrives at a name that is its own. */
static int check_roots(const struct spec *spec, const struct plan *plan)
{
	int flags = plan->opts->keep_dirlink ? 0 : AT_SYMLINK_NOFOLLOW;
	int fd = spec->dst_new ? -1 :
		 open(spec->dst_shown, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct source *same = NULL;
	struct stat old;

	for (size_t i = 0, r = 0; fd >= 0 && !same && i < plan->nsrc; i++) {
		if (!plan->src[i].there)
			continue;
		const char *as = spec->roots[r++].as;
		if (as && fstatat(fd, as, &old, flags) == 0 &&
		    replaces_itself(&plan->src[i], &old))
			same = &plan->src[i];
	}
	if (fd >= 0)
		close(fd);
	if (same)
		return refuse(same->given, 0, "would replace itself in %s",
			      spec->dst_shown);
	return check_special(plan);
}

int plan_check_itself(const struct plan *plan, const struct spec *spec)
{
	return check_outside(spec, plan) == 0 ? check_roots(spec, plan) : -1;
}
