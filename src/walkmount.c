/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the root's file system ends.
 *
 * A directory is where the root is when it has the same device and is reached by the
 * same mount: a btrfs subvolume has another device by the same mount, a bind mount the
 * same device by another one.  The kernel is asked before anything is opened.
 *
 * To ask so of each file, too, would cost as much as opening it, and wait for the disk;
 * few names have something mounted over them, and these are in the mount table.
 */
#include "walking.h"

#include <errno.h>
#include <fcntl.h>

#include "diag.h"

void top_forget(struct walk *walk)
{
	walk->top_known = false;
	mounts_free(walk->mounts);
	walk->mounts = NULL;
}

void top_begin(struct walk *walk)
{
	const struct frame *root = &walk->frames[0];

	if (!walk->config.stay || root->fd < 0)
		return;
	if (mount_look(root->fd, "", 0, &walk->top) != 0)
		walk->top = (struct mount_place){ .dev = root->st.st_dev };
	walk->top_known = true;
	walk->mounts = mounts_read();
	if (!walk->mounts)
		diag_note(walk->root_path, "what is mounted over single files can't "
			  "be found out: they are taken as they are seen");
	else if (mounts_kind(walk->mounts, walk->top.mount) == MOUNT_AUTOFS)
		walk->top.automount = true;
}

const struct mount_place *walk_top(const struct walk *walk)
{
	return walk->top_known ? &walk->top : NULL;
}

/* Something was mounted meanwhile: it may be anything. */
static bool is_local(const struct walk *walk, uint64_t mount)
{
	return mount == walk->top.mount ||
	       (walk->mounts &&
		mounts_kind(walk->mounts, mount) == MOUNT_LOCAL);
}

/* The root of a file system on FUSE that nobody has asked about has nothing. */
static bool is_blank(const struct stat *st)
{
	return (st->st_mode & 07777) == 0 && st->st_mtim.tv_sec == 0 &&
	       st->st_mtim.tv_nsec == 0;
}

bool frame_stop(struct walk *walk, struct frame *frame,
		const struct scout_found *found, int parent, const char *name)
{
	int err = found->err;

	if (frame->way) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), 0, "is on another file "
			  "system: names of the list in it are left out");
		return false;
	}
	frame->mount = true;
	frame->unasked = !is_local(walk, found->mount);
	if (err == 0 && !(frame->unasked && is_blank(&frame->st)))
		return true;
	if (mount_stat_covered(parent, name, &frame->st) == 0)
		return true;
	if (err != 0) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), err,
			  "looking at what is mounted there");
		return false;
	}
	diag_fail(STATUS_PARTIAL, walk_path(walk), 0, "its owner, mode and times are "
		  "not known: what is mounted there was never asked");
	return true;
}

bool entry_stays(struct walk *walk, int parent, const char *name)
{
	struct mount_place place;

	if (!walk->mounts || !mounts_has_name(walk->mounts, name) ||
	    mount_look(parent, name, AT_SYMLINK_NOFOLLOW, &place) != 0 ||
	    place.mount == walk->top.mount)
		return true;
	if (is_local(walk, place.mount)) {
		diag_note(walk_path(walk), "has another file mounted over it, which is "
			  "taken as it is seen");
		return true;
	}
	diag_fail(STATUS_PARTIAL, walk_path(walk), 0, "left out: what is mounted over it "
		  "may not answer");
	return false;
}
