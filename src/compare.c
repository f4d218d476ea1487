/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "comparing.h"
#include "diag.h"
#include "job.h"
#include "spec.h"
#include "twin.h"

const char *compare_where(struct compare *compare, const char *name)
{
	struct bytes *where = &compare->where;

	where->len = 0;
	if (bytes_put(where, compare->shown) != 0 ||
	    (where->len > 0 && where->at[where->len - 1] != '/' &&
	     bytes_put(where, "/") != 0) ||
	    bytes_add(where, name, strlen(name) + 1) != 0)
		return name;
	return (const char *)where->at;
}

int compare_look(struct compare *compare, struct found *found)
{
	if (fstatat(found->dir, found->last, &found->st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	if (errno == ENOENT) {
		differ_say(compare->opts, found->name, "missing");
		return 0;
	}
	differ_fail(compare_where(compare, found->name), errno, "fstatat");
	return -1;
}

int compare_open(struct compare *compare, struct found *found)
{
	const char *where = compare_where(compare, found->name);

	found->fd = twin_open(found->dir, found->last, 0);
	if (found->fd < 0) {
		differ_fail(where, errno, "opening");
		return -1;
	}
	if (fstat(found->fd, &found->st) != 0)
		differ_fail(where, errno, "fstat");
	else if (!S_ISREG(found->st.st_mode))
		differ_fail(where, 0, "is no regular file any more");
	else
		return 0;
	close(found->fd);
	found->fd = -1;
	return -1;
}

void compare_attributes(struct compare *compare, const struct found *found)
{
	const struct xattr_source from = {
		.fd = found->fd,
		.dirfd = found->dir,
		.name = found->last,
	};

	if (attrs_read(&compare->found, compare->opts, &from,
		       compare_where(compare, found->name)) == 0)
		attrs_differ(&compare->wanted, &compare->found, compare->opts,
			     found->name);
}

void compare_target(struct compare *compare, const struct found *found,
		    const char *wanted)
{
	char target[PATH_MAX + 1];
	ssize_t len = readlinkat(found->dir, found->last, target, PATH_MAX);

	if (len < 0) {
		differ_fail(compare_where(compare, found->name), errno,
			    "readlinkat");
		return;
	}
	target[len] = '\0';
	differ_target(compare->opts, found->name, wanted, target);
}

bool compare_wants_type(const struct compare *compare, uint32_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) ||
	       (compare->opts->preserve & PRESERVE_SPECIAL);
}

/* ---- the run ---- */

static int compare_init(struct compare *compare, const struct opts *opts)
{
	*compare = (struct compare){ .opts = opts, .dst = -1, .dir = -1 };
	compare->select = select_from_opts(opts, false, NULL, 0);
	if (!compare->select)
		return -1;
	budget_share(&compare->budget, 1, true, false, 0);
	(void)xattr_classify("user.");	/* reads its settings */
	compare->alias = alias_new();
	compare->met = met_new();
	if (compare->alias && compare->met && samefile_room_init(&compare->room) == 0)
		return 0;
	diag_fail(STATUS_STOPPED, NULL, errno, "setting up the run");
	return -1;
}

static void compare_destroy(struct compare *compare)
{
	attrs_destroy(&compare->wanted);
	attrs_destroy(&compare->found);
	samefile_room_destroy(&compare->room);
	alias_free(compare->alias);
	met_free(compare->met);
	parts_destroy(&compare->path);
	select_free(compare->select);
	bytes_free(&compare->where);
}

/* A stream or a list: DST is a directory that is there. */
static void compare_against(struct compare *compare,
			    void (*way)(struct compare *))
{
	struct spec spec;

	if (spec_resolve_extract(&spec, compare->opts) != 0)
		return;
	if (spec.dst_new)
		diag_fail(STATUS_USAGE, spec.dst_shown, ENOENT, "stat");
	else
		compare->dst = spec_open_dst(&spec);
	compare->shown = spec.dst_shown;
	if (compare->dst >= 0) {
		way(compare);
		compare_find_end(compare);
		close(compare->dst);
	}
	spec_destroy(&spec);
}

int compare_run(const struct opts *opts)
{
	struct compare compare;
	bool stuck = false;

	if (compare_init(&compare, opts) == 0) {
		if (opts->file)
			compare_against(&compare, compare_stream);
		else if (opts->manifest)
			compare_against(&compare, compare_list);
		else
			compare_tree(&compare);
		diag_list_end();
		diag_summary();
		stuck = compare.stuck;
	}
	compare_destroy(&compare);
	return stuck ? JOB_LEFT_BEHIND : 0;
}
