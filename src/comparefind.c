/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the destination by the paths that a stream or a list has; and those that
 * neither has.
 */
#include "comparing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "below.h"
#include "diag.h"
#include "path.h"
#include "walk.h"

/* ---- paths ---- */

static const char *refuse(const char *path, enum parts_verdict verdict)
{
	switch (verdict) {
	case PARTS_NO_MEMORY:
		diag_fail(STATUS_PARTIAL, path, ENOMEM, "not compared");
		break;
	case PARTS_ABSOLUTE:
		diag_fail(STATUS_PARTIAL, path, 0,
			  "not compared: an absolute path");
		break;
	case PARTS_UPWARD:
		diag_fail(STATUS_PARTIAL, path, 0,
			  "not compared: a path with `..`");
		break;
	default:
		diag_fail(STATUS_PARTIAL, *path ? path : NULL, 0,
			  "not compared: an entry whose name can't be");
		break;
	}
	return NULL;
}

const char *compare_take(struct compare *compare, const char *path,
			 unsigned strip, bool directory)
{
	enum parts_verdict verdict = parts_parse(&compare->path, path);
	const char *name = compare->path.count > 0 ? compare->path.text : ".";

	if (verdict != PARTS_FINE)
		return refuse(path, verdict);
	if (!select_wants(compare->select, name, directory))
		return NULL;
	if (strip > 0) {
		path = path_strip_components(path, strip);
		if (!path || parts_parse(&compare->path, path) != PARTS_FINE ||
		    compare->path.count == 0)
			return NULL;
		name = compare->path.text;
	}
	if (compare->path.count == 0)
		return compare->opts->preserve_denied & PRESERVE_ROOT ? NULL :
									name;
	if (met_add(compare->met, name) == 0)
		return name;
	differ_fail(name, ENOMEM, "remembering its name");
	return NULL;
}

/* ---- names ---- */

void compare_find_end(struct compare *compare)
{
	if (compare->dir >= 0)
		close(compare->dir);
	compare->dir = -1;
	bytes_free(&compare->dir_path);
}

/* The directory of the last name is this one's, too. */
static bool is_open(const struct compare *compare, const char *name, size_t len)
{
	return compare->dir >= 0 && compare->dir_path.len == len &&
	       memcmp(compare->dir_path.at, name, len) == 0;
}

static int open_directory(struct compare *compare, const char *name, size_t len)
{
	const char *last;

	if (is_open(compare, name, len))
		return 0;
	if (compare->dir >= 0)
		close(compare->dir);
	compare->dir = below_open(compare->dst, name, false, &last);
	compare->dir_path.len = 0;
	if (compare->dir < 0)
		return -1;
	return bytes_add(&compare->dir_path, name, len);
}

int compare_find(struct compare *compare, struct found *found)
{
	const char *slash = strrchr(found->name, '/');
	size_t len = slash ? (size_t)(slash + 1 - found->name) : 0;

	found->last = slash ? slash + 1 : found->name;
	found->dir = compare->dst;
	if (len > 0 && open_directory(compare, found->name, len) != 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) {
			differ_say(compare->opts, found->name, "missing");
			return 0;
		}
		differ_fail(compare_where(compare, found->name), errno,
			    "opening its directory");
		return -1;
	}
	if (len > 0)
		found->dir = compare->dir;
	return compare_look(compare, found);
}

bool compare_is_missing(struct compare *compare, const struct found *found)
{
	const char *last = found->name;
	bool missing;
	struct stat st;
	int dir = below_open(compare->dst, found->name, false, &last);

	missing = dir < 0 || (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
			      errno == ENOENT);
	if (dir >= 0)
		close(dir);
	return missing;
}

/* ---- names that have not come ---- */

static bool is_lost_found(const char *path, const struct walk_item *item)
{
	return item->event == WALK_ENTER && strcmp(path, "lost+found") == 0;
}

static bool has_type(const struct walk_item *item)
{
	return item->event == WALK_ENTER || item->type == DT_REG ||
	       item->type == DT_LNK;
}

static void look_at(struct compare *compare, struct walk *walk,
		    const struct walk_item *item)
{
	const char *path = walk_member(walk);

	if (!path) {
		differ_fail(item->name, ENOMEM, "looking at it");
		return;
	}
	if (met_has(compare->met, path))
		return;
	if (item->event == WALK_ENTER)
		walk_skip(walk);
	if (!is_lost_found(path, item) &&
	    (has_type(item) || (compare->opts->preserve & PRESERVE_SPECIAL)))
		differ_say(compare->opts, path, "extra");
}

void compare_extras(struct compare *compare)
{
	struct walk_config config = {
		.fds = compare->budget.walk,
		.stay = compare->opts->one_fs,
		.wanted = select_is_empty(compare->select) ? NULL : select_hook,
		.wanted_arg = compare->select,
	};
	struct walk *walk = walk_new(&config);
	struct walk_item item;

	if (!walk) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return;
	}
	walk_begin(walk, compare->shown, NULL, true);
	do {
		walk_next(walk, &item);
		if (item.event == WALK_ENTRY ||
		    (item.event == WALK_ENTER && item.id != 0))
			look_at(compare, walk, &item);
	} while (item.event != WALK_END);
	walk_free(walk);
}
