/* SPDX-License-Identifier: BSD-2-Clause */
#include "alias.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "diag.h"
#include "differ.h"
#include "links.h"

/*
 * What is kept with an inode of one tree is `DEV:INO/NAME`: the inode that stood
 * under its first name in the other tree, and that name.
 */
struct alias {
	struct links *here, *there;
	struct bytes note;
};

struct alias *alias_new(void)
{
	struct alias *alias = calloc(1, sizeof(*alias));

	if (!alias)
		return NULL;
	alias->here = links_new();
	alias->there = links_new();
	if (alias->here && alias->there)
		return alias;
	alias_free(alias);
	errno = ENOMEM;
	return NULL;
}

void alias_free(struct alias *alias)
{
	if (!alias)
		return;
	links_free(alias->here);
	links_free(alias->there);
	bytes_free(&alias->note);
	free(alias);
}

void alias_again(struct alias *alias)
{
	links_again(alias->here);
	links_again(alias->there);
}

/* What is kept of a first name; NULL without memory. */
static const char *note_make(struct alias *alias, const struct stat *st,
			     const char *name)
{
	char head[64];

	snprintf(head, sizeof(head), "%" PRIx64 ":%" PRIx64 "/",
		 (uint64_t)st->st_dev, (uint64_t)st->st_ino);
	alias->note.len = 0;
	if (bytes_put(&alias->note, head) != 0 ||
	    bytes_add(&alias->note, name, strlen(name) + 1) != 0)
		return NULL;
	return (const char *)alias->note.at;
}

/*
 * Looks one inode up.  Returns the first name that it had when it stood for another
 * inode of the other tree then, else NULL.
 */
static const char *look(struct alias *alias, struct links *links,
			const char *name, const struct stat *st,
			const struct stat *other)
{
	const char *note, *slash;
	struct link link;

	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return NULL;
	note = note_make(alias, other, name);
	if (!note || links_meet(links, st->st_dev, st->st_ino, st->st_nlink, 0,
				&link) != 0) {
		differ_fail(name, ENOMEM, "remembering its other names");
		return NULL;
	}
	if (link.first || !link.path) {
		if (!link.last && links_name(links, link.id, note) != 0)
			differ_fail(name, ENOMEM, "remembering its other names");
		return NULL;
	}
	slash = strchr(link.path, '/');
	if (!slash || strcmp(slash + 1, name) == 0 ||
	    strncmp(link.path, note, (size_t)(slash - link.path) + 1) == 0)
		return NULL;
	return slash + 1;
}

void alias_meet(struct alias *alias, const struct opts *opts, const char *name,
		const struct stat *one, const struct stat *other)
{
	const char *first;

	if (!(opts->preserve & PRESERVE_LINKS))
		return;
	first = look(alias, alias->here, name, one, other);
	if (first)
		differ_say(opts, name, "links: is not one file with %s",
			   first);
	first = look(alias, alias->there, name, other, one);
	if (first)
		differ_say(opts, name, "links: is one file with %s",
			   first);
}
