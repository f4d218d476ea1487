/* SPDX-License-Identifier: BSD-2-Clause */
#include "have.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "links.h"
#include "stamp.h"
#include "twin.h"

struct have {
	const struct opts *opts;
	struct twin *twin;
	uint32_t depth;			/* directories that were entered; the id of the one
					   at hand, as the walk counts */
	struct stamp_fs fs;
	struct links *taken;		/* inodes with further names that stand for a file */
	struct xattr_buffer names, value;
};

struct have *have_new(const struct opts *opts, int dst, unsigned fds)
{
	struct have *have = calloc(1, sizeof(*have));

	if (!have)
		return NULL;
	have->opts = opts;
	/* The one above, the one at hand and the next. */
	have->twin = twin_new(dst, fds < 3 ? 3 : fds);
	have->taken = links_new();
	if (have->twin && have->taken)
		return have;
	have_free(have);
	errno = ENOMEM;
	return NULL;
}

void have_free(struct have *have)
{
	if (!have)
		return;
	twin_free(have->twin);
	links_free(have->taken);
	xattr_buffer_free(&have->names);
	xattr_buffer_free(&have->value);
	free(have);
}

/* ---- attributes ---- */

/* Names come in any order, so their hashes are added.  False when one can't be read. */
static bool sum_attributes(struct have *have, const struct xattr_source *from,
			   uint64_t *sum)
{
	ssize_t len, size;

	*sum = 0;
	if (!(have->opts->preserve & (PRESERVE_XATTR | PRESERVE_ACL)))
		return true;
	len = xattr_list(from, &have->names);
	for (ssize_t at = 0; at < len;
	     at += (ssize_t)strlen(have->names.bytes + at) + 1) {
		const char *name = have->names.bytes + at;

		if (!xattr_is_kept(have->opts->preserve, name))
			continue;
		size = xattr_get(from, name, &have->value);
		if (size < 0)
			return false;
		*sum += XXH3_64bits_withSeed(have->value.bytes, (size_t)size,
					     XXH3_64bits(name, strlen(name)));
	}
	return len >= 0;
}

/* ---- going along ---- */

static void enter(struct have *have, const struct walk_item *item)
{
	struct stat st;

	/* Directories that are cut off, or the destination itself, are where we are. */
	if (item->id == 0)
		return;
	if (item->dir != have->depth || twin_fd(have->twin) < 0)
		twin_enter_nothing(have->twin);
	else
		(void)twin_enter(have->twin, item->as, &st);
	have->depth++;
}

static void leave(struct have *have, const struct walk_item *item)
{
	if (item->id == 0 || have->depth == 0)
		return;
	(void)twin_leave(have->twin);
	have->depth--;
}

static void look(struct have *have, const struct walk_item *item,
		 struct have_seen *seen)
{
	int dir = twin_fd(have->twin);
	const struct xattr_source from = { .fd = -1, .dirfd = dir,
					   .name = item->as };

	if (dir < 0 || item->dir != have->depth ||
	    fstatat(dir, item->as, &seen->st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(seen->st.st_mode))
		return;
	seen->there = true;
	seen->grain = stamp_grain(&have->fs, dir, &seen->st);
	if (seen->st.st_nlink > 1)
		seen->summed = sum_attributes(have, &from, &seen->attributes);
}

void have_meet(struct have *have, const struct walk_item *item,
	       struct have_seen *seen)
{
	seen->there = seen->summed = false;
	switch (item->event) {
	case WALK_ENTER:
		enter(have, item);
		break;
	case WALK_LEAVE:
		leave(have, item);
		break;
	case WALK_ENTRY:
		if (item->type == DT_REG)
			look(have, item, seen);
		break;
	case WALK_END:
		break;
	}
}

/* ---- what may stand for a file ---- */

bool have_fits(const struct have_seen *seen, const struct stat *st)
{
	struct meta meta;

	if (!seen->there)
		return false;
	meta_from_stat(&meta, st);
	return stamp_fits(&meta, &seen->st, seen->grain);
}

static bool same_owner_and_mode(const struct opts *opts, const struct stat *want,
				const struct stat *have)
{
	if ((opts->preserve & PRESERVE_MODE) && want->st_mode != have->st_mode)
		return false;
	return !(opts->preserve & PRESERVE_OWNER) ||
	       (want->st_uid == have->st_uid && want->st_gid == have->st_gid);
}

/* No other file of the source has it yet. */
static bool take(struct have *have, const struct stat *st)
{
	struct link link;

	return links_meet(have->taken, st->st_dev, st->st_ino, st->st_nlink, 0,
			  &link) == 0 && link.first;
}

bool have_takes(struct have *have, const struct have_seen *seen,
		const struct stat *st, const struct xattr_source *from)
{
	uint64_t sum = 0;

	if (!have_fits(seen, st))
		return false;
	if (seen->st.st_nlink <= 1)
		return true;
	/* Numbers say nothing of what owners it shall have by name. */
	return !have->opts->names && seen->summed &&
	       same_owner_and_mode(have->opts, st, &seen->st) &&
	       (!from || sum_attributes(have, from, &sum)) &&
	       sum == seen->attributes && take(have, &seen->st);
}
