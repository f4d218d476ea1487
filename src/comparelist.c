/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of files against a tree.
 */
#include "comparing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "mtree.h"
#include "sha256.h"

struct list {
	struct compare *compare;
	const struct opts *opts;
	struct mtree *mtree;
	struct mtree_entry entry;
	uint64_t entries;
	uint64_t unsummed;		/* files without a digest in the list */
	struct parts target;		/* of a hard link */
};

/* ---- contents ---- */

static void compare_digest(struct list *list, const struct found *found)
{
	struct samefile_room *room = &list->compare->room;
	unsigned char digest[SHA256_SIZE];
	struct sha256 sum;
	uint64_t at = 0;
	ssize_t n;

	sha256_begin(&sum);
	while ((n = sha256_add_from(&sum, found->fd, room->one, SAMEFILE_PIECE,
				    at)) > 0)
		at += (uint64_t)n;
	if (n < 0) {
		diag_fail(STATUS_PARTIAL,
			  compare_where(list->compare, found->name), errno,
			  "reading at byte %llu", (unsigned long long)at);
		return;
	}
	sha256_end(&sum, digest);
	if (memcmp(digest, list->entry.digest, SHA256_SIZE) != 0)
		differ_say(list->opts, found->name,
			   "content: has another sha256");
}

static void compare_regular(struct list *list, struct found *found)
{
	if (!list->entry.has_digest)
		list->unsummed++;
	if (!differ_same_size(list->opts, found->name, &list->entry.want,
			      &found->st) ||
	    !list->entry.has_digest || compare_open(list->compare, found) != 0)
		return;
	compare_digest(list, found);
	close(found->fd);
	found->fd = -1;
}

/* ---- names ---- */

static void compare_links(struct list *list, const struct found *found)
{
	const struct mtree_entry *entry = &list->entry;
	struct found other = { .fd = -1 };

	if (!(list->opts->preserve & PRESERVE_LINKS) ||
	    S_ISDIR(found->st.st_mode))
		return;
	if (entry->nlink != 0 && entry->nlink != found->st.st_nlink)
		differ_say(list->opts, found->name, "links: %llu became %llu",
			   (unsigned long long)entry->nlink,
			   (unsigned long long)found->st.st_nlink);
	if (!entry->hardlink ||
	    parts_parse(&list->target, entry->hardlink) != PARTS_FINE ||
	    list->target.count == 0)
		return;
	other.name = list->target.text;
	if (compare_find(list->compare, &other) == 1 &&
	    (other.st.st_dev != found->st.st_dev ||
	     other.st.st_ino != found->st.st_ino))
		differ_say(list->opts, found->name,
			   "links: is not one file with %s", other.name);
}

static int find(struct list *list, struct found *found)
{
	if (list->entry.optional && compare_is_missing(list->compare, found))
		return 0;
	return compare_find(list->compare, found);
}

static void compare_entry(struct list *list)
{
	const struct mtree_entry *entry = &list->entry;
	uint32_t mode = entry->want.meta.mode;
	struct found found = { .fd = -1 };

	list->entries++;
	found.name = compare_take(list->compare, entry->path, 0,
				  entry->has_type && S_ISDIR(mode));
	if (!found.name ||
	    (entry->has_type && !compare_wants_type(list->compare, mode)) ||
	    find(list, &found) != 1)
		return;
	if (entry->has_type &&
	    !differ_same_type(list->opts, found.name, mode, &found.st))
		return;
	differ_meta(list->opts, found.name, &entry->want, &found.st);
	if (entry->target && S_ISLNK(found.st.st_mode))
		compare_target(list->compare, &found, entry->target);
	if (S_ISREG(found.st.st_mode))
		compare_regular(list, &found);
	compare_links(list, &found);
}

/* ---- the run ---- */

static void list_end(struct list *list)
{
	const char *file = list->opts->manifest;

	compare_extras(list->compare);
	if (list->entries == 0)
		diag_fail(STATUS_PARTIAL, file, 0, "nothing is listed in it");
	if (list->unsummed > 0)
		diag_note(file, "has no sha256 of %llu files: their contents are "
			  "not compared", (unsigned long long)list->unsummed);
}

void compare_list(struct compare *compare)
{
	struct list list = { .compare = compare, .opts = compare->opts };
	const char *file = compare->opts->manifest;
	int got = 0;

	list.mtree = mtree_open(file);
	if (!list.mtree) {
		diag_fail(STATUS_USAGE, file, errno, "open");
		return;
	}
	while ((got = mtree_next(list.mtree, &list.entry)) == 1)
		compare_entry(&list);
	if (got < 0)
		diag_fail(STATUS_STOPPED, file, errno, "reading the list");
	else
		list_end(&list);
	mtree_close(list.mtree);
	parts_destroy(&list.target);
}
