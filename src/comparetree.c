/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree against a tree: the walk of one, and the directories of the other beside it.
 *
 * Of the names that only DST has nothing is kept: when a directory has been gone through,
 * each name of DST's is looked for in SRC's.
 */
#include "comparing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "mounts.h"
#include "names.h"
#include "path.h"
#include "spec.h"
#include "twin.h"
#include "walk.h"

enum { ENTRIES_ROOM = 64 << 10 };

struct tree {
	struct compare *compare;
	const struct opts *opts;
	struct spec spec;
	struct names *names;		/* -T, or NULL */
	struct walk *walk;
	struct walk_item item;
	struct twin *twin;
	size_t depth;			/* directories that were entered */
	bool extras;			/* names that only DST has are told */
	bool whole;			/* the root is compared as a whole after all */
	char *entries;			/* for getdents64 */
	struct bytes name;		/* of the item at hand */
	struct bytes path;		/* of an extra name */
};

/* The path of the item at hand, as lines have it.  Valid until the next call. */
static const char *member(struct tree *tree)
{
	const char *path = walk_member(tree->walk);

	tree->name.len = 0;
	if (!path || bytes_add(&tree->name, path, strlen(path) + 1) != 0)
		return tree->item.name;
	return *path ? (const char *)tree->name.at : ".";
}

/* The item at hand can't be read at the source, or has changed. */
static void source_fail(struct tree *tree, int err, const char *call)
{
	bool changed = err == ENOENT || err == ELOOP || err == ESTALE;

	diag_fail(changed ? STATUS_CHANGED : STATUS_PARTIAL,
		  walk_path(tree->walk), err, "%s", call);
}

/* ---- metadata ---- */

/* What both have, but for their contents.  `fd`: of the source, or -1. */
static void compare_meta(struct tree *tree, const struct stat *st, int fd,
			 const struct found *found)
{
	const struct xattr_source from = {
		.fd = fd,
		.dirfd = tree->item.parent,
		.name = tree->item.name,
	};
	struct want want = { .known = WANT_ALL };

	meta_from_stat(&want.meta, st);
	differ_meta(tree->opts, found->name, &want, &found->st);
	if (tree->item.unasked)
		return;
	if (attrs_read(&tree->compare->wanted, tree->opts, &from,
		       walk_path(tree->walk)) == 0)
		compare_attributes(tree->compare, found);
}

/* ---- regular files ---- */

static void compare_bytes(struct tree *tree, const struct samefile_side *source,
			  const struct found *found)
{
	struct samefile_side copy = { found->fd, found->st };
	uint64_t at;

	switch (samefile_compare(&tree->compare->room, source, &copy, &at)) {
	case SAMEFILE_EQUAL:
		break;
	case SAMEFILE_DIFFERENT:
		differ_say(tree->opts, found->name,
			   "content: differs from byte %llu on",
			   (unsigned long long)at);
		break;
	case SAMEFILE_BAD_ONE:
		diag_fail(STATUS_PARTIAL, walk_path(tree->walk), errno,
			  "reading at byte %llu", (unsigned long long)at);
		break;
	case SAMEFILE_BAD_OTHER:
		diag_fail(STATUS_PARTIAL,
			  compare_where(tree->compare, found->name), errno,
			  "reading at byte %llu", (unsigned long long)at);
		break;
	}
}

/* The source has holes: has the copy?  Blocks are asked first, which costs nothing. */
static void compare_holes(struct tree *tree, const struct samefile_side *source,
			  const struct found *found)
{
	struct samefile_side copy = { found->fd, found->st };
	uint64_t blocks = (uint64_t)source->st.st_blocks * 512;

	if (!(tree->opts->preserve & PRESERVE_HOLES) ||
	    blocks >= (uint64_t)source->st.st_size ||
	    !differ_too_dense(blocks, (uint64_t)copy.st.st_blocks * 512))
		return;
	differ_holes(tree->opts, found->name, samefile_data(source),
		     samefile_data(&copy));
}

static void compare_contents(struct tree *tree,
			     const struct samefile_side *source,
			     const struct found *found)
{
	struct want want = { .known = WANT_SIZE };

	want.meta.size = (uint64_t)source->st.st_size;
	if (!differ_same_size(tree->opts, found->name, &want, &found->st))
		return;
	compare_bytes(tree, source, found);
	compare_holes(tree, source, found);
}

/* Both are open. */
static void compare_file(struct tree *tree, struct samefile_side *source,
			 struct found *found)
{
	if (fstat(source->fd, &source->st) != 0) {
		source_fail(tree, errno, "fstat");
		return;
	}
	if (!S_ISREG(source->st.st_mode)) {
		source_fail(tree, ESTALE, "opening");
		return;
	}
	compare_meta(tree, &source->st, source->fd, found);
	compare_contents(tree, source, found);
}

static void compare_regular(struct tree *tree, struct found *found)
{
	struct samefile_side source = {
		.fd = twin_open(tree->item.parent, tree->item.name, 0),
	};

	if (source.fd < 0) {
		source_fail(tree, errno, "opening");
		return;
	}
	if (compare_open(tree->compare, found) == 0) {
		compare_file(tree, &source, found);
		close(found->fd);
		found->fd = -1;
	}
	close(source.fd);
}

/* ---- everything else ---- */

static void compare_symlink(struct tree *tree, const struct found *found)
{
	char target[PATH_MAX + 1];
	ssize_t len = readlinkat(tree->item.parent, tree->item.name, target,
				 PATH_MAX);

	if (len < 0) {
		source_fail(tree, errno == EINVAL ? ELOOP : errno, "readlinkat");
		return;
	}
	target[len] = '\0';
	compare_target(tree->compare, found, target);
}

static void compare_entry(struct tree *tree)
{
	const struct walk_item *item = &tree->item;
	struct found found = {
		.name = member(tree),
		.dir = twin_fd(tree->twin),
		.last = item->as,
		.fd = -1,
	};
	struct stat st;

	if (found.dir < 0)
		return;		/* told when it was lost */
	if (fstatat(item->parent, item->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		source_fail(tree, errno, "fstatat");
		return;
	}
	if (!compare_wants_type(tree->compare, st.st_mode) ||
	    compare_look(tree->compare, &found) != 1 ||
	    !differ_same_type(tree->opts, found.name, st.st_mode, &found.st))
		return;
	alias_meet(tree->compare->alias, tree->opts, found.name, &st, &found.st);
	if (S_ISREG(st.st_mode)) {
		compare_regular(tree, &found);
		return;
	}
	if (S_ISLNK(st.st_mode))
		compare_symlink(tree, &found);
	compare_meta(tree, &st, -1, &found);
}

/* ---- directories ---- */

/* DST itself, which was entered before all. */
static void enter_top(struct tree *tree)
{
	struct found found = {
		.name = ".",
		.dir = AT_FDCWD,
		.last = tree->spec.dst_shown,
		.fd = tree->compare->dst,
	};

	if (tree->depth > 0) {
		tree->whole = true;	/* a list has named it */
		return;
	}
	tree->depth = 1;
	tree->whole = !tree->item.way;
	if (tree->spec.dst_keeps)
		return;
	if (fstat(found.fd, &found.st) != 0)
		differ_fail(tree->compare->shown, errno, "fstat");
	else
		compare_meta(tree, &tree->item.st, tree->item.fd, &found);
}

static void enter_nothing(struct tree *tree)
{
	twin_enter_nothing(tree->twin);
	walk_skip(tree->walk);
}

/* DST lies within SRC, on its own file system: its mount point changes with it. */
static bool is_dst(const struct tree *tree)
{
	struct stat st;

	return tree->item.mount && fstat(tree->compare->dst, &st) == 0 &&
	       st.st_dev == tree->item.st.st_dev &&
	       st.st_ino == tree->item.st.st_ino;
}

static void enter_found(struct tree *tree, struct found *found)
{
	const char *where;

	if (twin_enter(tree->twin, found->last, &found->st) != 0) {
		where = compare_where(tree->compare, found->name);
		differ_fail(where, errno, "opening the directory");
		walk_skip(tree->walk);
		return;
	}
	found->fd = twin_fd(tree->twin);
	if (!is_dst(tree))
		compare_meta(tree, &tree->item.st, tree->item.fd, found);
}

static void enter(struct tree *tree)
{
	struct found found = {
		.name = member(tree),
		.dir = twin_fd(tree->twin),
		.last = tree->item.as,
		.fd = -1,
	};

	if (!tree->item.as) {
		enter_top(tree);
		return;
	}
	tree->depth++;
	if (found.dir < 0 || compare_look(tree->compare, &found) != 1 ||
	    !differ_same_type(tree->opts, found.name, S_IFDIR, &found.st))
		enter_nothing(tree);
	else
		enter_found(tree, &found);
}

/* ---- names that only DST has ---- */

static void look_at_extra(struct tree *tree, size_t len, int dir,
			  const char *name)
{
	struct bytes *path = &tree->path;
	struct mount_place place;
	struct stat st;

	/* What is mounted there in SRC need not answer. */
	if (path_is_dot(name) ||
	    mount_look(tree->item.fd, name, AT_SYMLINK_NOFOLLOW, &place) == 0 ||
	    errno != ENOENT)
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;		/* gone meanwhile */
	path->len = len;
	if (bytes_add(path, name, strlen(name) + 1) != 0) {
		differ_fail(name, ENOMEM, "looking at it");
		return;
	}
	/* What file systems are made with is nobody's. */
	if (strcmp((const char *)path->at, "lost+found") == 0 &&
	    S_ISDIR(st.st_mode))
		return;
	if (compare_wants_type(tree->compare, st.st_mode) &&
	    select_wants(tree->compare->select, (const char *)path->at,
			 S_ISDIR(st.st_mode)))
		differ_say(tree->opts, (const char *)path->at, "extra");
}

/* The directory's own path, with a slash behind; its length, or -1 without memory. */
static ssize_t path_begin(struct tree *tree)
{
	const char *path = walk_member(tree->walk);

	tree->path.len = 0;
	if (!path || bytes_put(&tree->path, path) != 0 ||
	    (*path && bytes_put(&tree->path, "/") != 0))
		return -1;
	return (ssize_t)tree->path.len;
}

static void tell_extras(struct tree *tree, int fd)
{
	ssize_t before = path_begin(tree), len;

	if (before < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		differ_fail(compare_where(tree->compare, member(tree)),
			    before < 0 ? ENOMEM : errno,
			    "reading the directory again");
		return;
	}
	while ((len = getdents64(fd, tree->entries, ENTRIES_ROOM)) > 0)
		for (size_t at = 0; at < (size_t)len;) {
			const struct dirent64 *entry =
				(const void *)(tree->entries + at);

			at += entry->d_reclen;
			look_at_extra(tree, (size_t)before, fd, entry->d_name);
		}
	if (len < 0)
		differ_fail(compare_where(tree->compare, member(tree)), errno,
			    "reading the directory");
}

static void leave(struct tree *tree)
{
	int fd = twin_fd(tree->twin);
	bool whole = tree->item.as ? !tree->item.way : tree->whole;

	if (tree->extras && whole && fd >= 0 && tree->item.fd >= 0)
		tell_extras(tree, fd);
	if (!tree->item.as)
		return;
	tree->depth--;
	if (twin_leave(tree->twin) != 0)
		differ_fail(tree->compare->shown, errno,
			    "finding a directory in it again; the rest of that is "
			    "not compared");
}

/* ---- the run ---- */

static void compare_root(struct tree *tree, const struct spec_root *root)
{
	tree->depth = 0;
	walk_begin(tree->walk, root->path, root->as, root->follow);
	if (tree->names)
		walk_list(tree->walk, tree->names);
	for (;;) {
		walk_next(tree->walk, &tree->item);
		switch (tree->item.event) {
		case WALK_END:
			return;
		case WALK_ENTRY:
			compare_entry(tree);
			break;
		case WALK_ENTER:
			enter(tree);
			break;
		case WALK_LEAVE:
			leave(tree);
			break;
		}
	}
}

static int tree_init(struct tree *tree)
{
	struct compare *compare = tree->compare;
	struct walk_config config = {
		.fds = compare->budget.walk,
		.stay = tree->opts->one_fs,
		.wanted = select_is_empty(compare->select) ? NULL : select_hook,
		.wanted_arg = compare->select,
	};

	tree->extras = !tree->spec.merges;
	tree->walk = walk_new(&config);
	tree->twin = twin_new(compare->dst, compare->budget.gate);
	tree->entries = malloc(ENTRIES_ROOM);
	return tree->walk && tree->twin && tree->entries ? 0 : -1;
}

static void tree_destroy(struct tree *tree)
{
	walk_free(tree->walk);
	twin_free(tree->twin);
	free(tree->entries);
	bytes_free(&tree->name);
	bytes_free(&tree->path);
	names_close(tree->names);
	spec_destroy(&tree->spec);
}

void compare_tree(struct compare *compare)
{
	struct tree tree = { .compare = compare, .opts = compare->opts };

	if (spec_resolve(&tree.spec, tree.opts) == 0 &&
	    names_from_opts(&tree.names, tree.opts) == 0) {
		compare->shown = tree.spec.dst_shown;
		compare->dst = spec_open_dst(&tree.spec);
	}
	if (compare->dst >= 0) {
		if (tree.names || spec_overlaps(&tree.spec))
			alias_again(compare->alias);
		if (tree_init(&tree) != 0)
			diag_fail(STATUS_STOPPED, NULL, ENOMEM,
				  "setting up the run");
		else
			for (size_t i = 0; i < tree.spec.nroots; i++)
				compare_root(&tree, &tree.spec.roots[i]);
		close(compare->dst);
	}
	tree_destroy(&tree);
}
