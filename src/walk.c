/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "meta.h"
#include "walking.h"

struct walk *walk_new(const struct walk_config *config)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->config = *config;
	clock_gettime(CLOCK_REALTIME, &walk->began);
	walk->root_parent = -1;
	walk->entries = malloc(DIRLIST_BUFFER);
	if (!walk->entries) {
		free(walk);
		return NULL;
	}
	return walk;
}

void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	while (walk->depth > 0)
		frame_close(walk, &walk->frames[--walk->depth]);
	free(walk->frames);
	dirlist_free(&walk->list);
	free(walk->path);
	free(walk->entries);
	route_destroy(&walk->route);
	mounts_free(walk->mounts);
	free(walk);
}

/* ---- items ---- */

/* The name is `current`, and nothing of it is open. */
bool walk_is_wanted(struct walk *walk, bool directory)
{
	const char *member;

	if (!walk->config.wanted)
		return true;
	member = walk_member(walk);
	if (!member) {
		diag_fail(STATUS_PARTIAL, walk->current, ENOMEM,
			  "asking whether it is wanted");
		return false;
	}
	return walk->config.wanted(walk->config.wanted_arg, member, directory);
}

/* The id of a directory that is so far below directory 0, where nothing is cut off. */
static uint32_t id_at(const struct walk *walk, size_t level)
{
	return level > walk->strip ? (uint32_t)(level - walk->strip) : 0;
}

/* As the next. */
static bool give_directory(struct walk *walk, struct walk_item *item,
			   enum walk_event event)
{
	size_t top = walk->depth - 1;
	size_t level = top + (walk->root_as ? 1 : 0);
	const struct frame *frame = &walk->frames[top];

	if (level > 0 && level <= walk->strip)
		return false;
	item->event = event;
	item->id = id_at(walk, level);
	item->dir = level > 0 ? id_at(walk, level - 1) : 0;
	item->way = frame->way;
	item->mount = frame->mount;
	item->unasked = frame->unasked;
	item->name = frame_name(walk, top);
	item->as = top == 0 ? walk->root_as : item->name;
	item->parent = top == 0 ? walk->root_parent : walk->frames[top - 1].fd;
	item->fd = frame->fd;
	item->st = frame->st;
	return true;
}

/* Returns false when nothing is left of its path. */
static bool give_entry(struct walk *walk, struct walk_item *item, int parent,
		       const char *name, const char *as, unsigned char type)
{
	size_t level = walk->depth + (walk->root_as ? 1 : 0);

	if (level <= walk->strip)
		return false;
	item->event = WALK_ENTRY;
	item->dir = id_at(walk, level - 1);
	item->id = 0;
	item->way = item->mount = item->unasked = false;
	item->name = name;
	item->as = as;
	item->parent = parent;
	item->fd = -1;
	item->type = type;
	item->mine = walk->depth > 0 ?
			     scout_noatime(&walk->frames[walk->depth - 1].st) != 0 :
			     privileges_get()->fowner;
	return true;
}

/* ---- the root ---- */

/* `as` may be a path: what is cut off of it, the ids don't have. */
static size_t levels_cut(const struct walk *walk, const char *as)
{
	size_t strip = walk->config.strip;

	for (const char *p = as; p && strip > 0 && (p = strchr(p, '/')); p++)
		strip--;
	return strip;
}

void walk_begin(struct walk *walk, const char *path, const char *as,
	       bool follow)
{
	walk->root_path = path;
	walk->root_as = as;
	walk->strip = levels_cut(walk, as);
	walk->root_follow = follow || !as;
	walk->root_parent = AT_FDCWD;
	walk->root_given = walk->leaving = false;
	walk->depth = 0;
	walk->lowest = 1;
	walk->list.names_len = walk->list.places_len = 0;
	walk->current = path;
	walk->inside = false;
	route_init(&walk->route, NULL);
}

void walk_list(struct walk *walk, struct names *names)
{
	route_init(&walk->route, names);
}

/* Returns whether an item was given, as all that follow. */
static bool give_root(struct walk *walk, struct walk_item *item)
{
	int nofollow = walk->root_follow ? 0 : AT_SYMLINK_NOFOLLOW;
	bool way = walk->route.names != NULL;
	struct stat st;

	walk->root_given = true;
	if (fstatat(AT_FDCWD, walk->root_path, &st, nofollow) != 0) {
		diag_fail(STATUS_PARTIAL, walk->root_path, errno, "fstatat");
		return false;
	}
	if (way && !S_ISDIR(st.st_mode)) {
		diag_fail(STATUS_PARTIAL, walk->root_path, ENOTDIR,
			  "taking the names of a list");
		return false;
	}
	if (walk->root_as && !walk_is_wanted(walk, S_ISDIR(st.st_mode)))
		return false;
	if (!S_ISDIR(st.st_mode))
		return give_entry(walk, item, AT_FDCWD, walk->root_path,
				  walk->root_as,
				  (unsigned char)IFTODT(st.st_mode));
	top_forget(walk);
	if (!stack_enter(walk, AT_FDCWD, walk->root_path, 0,
			 (walk->root_follow ? 0 : O_NOFOLLOW) | scout_noatime(&st),
			 way))
		return false;
	top_begin(walk);
	return give_directory(walk, item, WALK_ENTER);
}

/* ---- item by item ---- */

/* Enters a directory of the top frame's. */
static bool give_below(struct walk *walk, struct walk_item *item, size_t name_at,
		       bool way)
{
	const struct frame *frame;

	stack_save_descriptor(walk);
	frame = &walk->frames[walk->depth - 1];
	return stack_enter(walk, frame->fd, walk->list.names + name_at + 1, name_at,
			   O_NOFOLLOW | scout_noatime(&frame->st), way) &&
	       give_directory(walk, item, WALK_ENTER);
}

/* The top frame's next entry. */
static bool give_next(struct walk *walk, struct walk_item *item)
{
	struct frame *frame = &walk->frames[walk->depth - 1];
	size_t place = frame->next++, at = walk->list.places[place].name;
	const char *name = walk->list.names + at + 1;
	unsigned char type = (unsigned char)walk->list.names[at] & DIRLIST_TYPE;
	unsigned char asked = (unsigned char)walk->list.names[at] & PLACE_ASKED;

	walk->current = name;
	walk->inside = false;
	if (asked ? asked == PLACE_UNWANTED :
		    !walk_is_wanted(walk, type == DT_DIR))
		return false;
	item->ino = walk->list.places[place].ino;
	if (type != DT_DIR)
		return entry_stays(walk, frame->fd, name) &&
		       give_entry(walk, item, frame->fd, name, name, type);
	walk->scouted = scouts_take(walk, frame, place);
	return give_below(walk, item, at, false);
}

/* ---- names of a list ---- */

/* Takes the next name, and passes what it has in common with the stack. */
static bool route_renew(struct walk *walk)
{
	struct route *route = &walk->route;

	walk->current = walk->root_path;	/* it lay in the route */
	walk->inside = true;
	route_begin_next(route);
	if (!route->here)
		return false;
	for (size_t i = 1; i < walk->depth && route->parts.count > 0 &&
			   !route_is_last(route) &&
			   strcmp(frame_name(walk, i),
				  route_component(route)) == 0;
	     i++)
		route_pass(route);
	return true;
}

/* The root itself was named: all that is in it. */
static bool give_whole_root(struct walk *walk, struct walk_item *item)
{
	struct frame *frame = &walk->frames[0];

	walk->route.here = false;
	walk->inside = true;
	walk->list.names_len = frame->names_start;
	walk->list.places_len = frame->next = frame->first;
	if (frame->fd >= 0)
		(void)lseek(frame->fd, 0, SEEK_SET);
	frame_read(walk, frame);
	if (walk->root_as)
		return false;
	give_directory(walk, item, WALK_ENTER);
	item->way = false;
	return true;
}

/* Enters the directory that is the route's next component. */
static bool give_way(struct walk *walk, struct walk_item *item, bool way)
{
	size_t at = walk->list.names_len, depth = walk->depth;
	bool given;

	if (!dirlist_push(&walk->list, walk->current, DT_DIR)) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), ENOMEM, "entering");
		walk->route.here = false;
		return false;
	}
	given = give_below(walk, item, at, way);
	if (walk->depth == depth) {
		walk->list.names_len = at;
		walk->route.here = false;
		return false;
	}
	walk->frames[depth].names_start = at;	/* its name goes with it */
	route_pass(&walk->route);
	return given;
}

/* What is mounted there may not answer, and need not. */
static int look_at_named(const struct walk *walk, int parent, struct stat *st)
{
	if (walk_top(walk))
		return mount_stat(parent, walk->current, st);
	return fstatat(parent, walk->current, st, AT_SYMLINK_NOFOLLOW);
}

/* The route's next component; the frame that it is in is the top one. */
static bool give_component(struct walk *walk, struct walk_item *item)
{
	const struct frame *frame = &walk->frames[walk->depth - 1];
	struct route *route = &walk->route;
	bool last = route_is_last(route);
	struct stat st = { .st_mode = S_IFDIR };

	walk->current = route_component(route);
	walk->inside = false;
	if (last)
		route->here = false;
	if (frame->fd < 0)
		return route->here = false;	/* told when it was lost */
	if (last && look_at_named(walk, frame->fd, &st) != 0) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), errno, "fstatat");
		return false;
	}
	if (!walk_is_wanted(walk, S_ISDIR(st.st_mode)))
		return route->here = false;
	if (S_ISDIR(st.st_mode))
		return give_way(walk, item, !last);
	return entry_stays(walk, frame->fd, walk->current) &&
	       give_entry(walk, item, frame->fd, walk->current, walk->current,
			  (unsigned char)IFTODT(st.st_mode));
}

/* The top frame has nothing to come, by itself or by the list. */
static bool is_done(struct walk *walk)
{
	const struct frame *frame = &walk->frames[walk->depth - 1];

	if (frame->next != frame->end)
		return false;
	if (!frame->way || (!walk->route.here && !route_renew(walk)))
		return true;
	return walk->depth - 1 > walk->route.passed;
}

static bool give_more(struct walk *walk, struct walk_item *item)
{
	const struct frame *frame = &walk->frames[walk->depth - 1];

	if (frame->next != frame->end)
		return give_next(walk, item);
	if (walk->route.parts.count == 0)
		return give_whole_root(walk, item);
	return give_component(walk, item);
}

void walk_next(struct walk *walk, struct walk_item *item)
{
	item->ino = 0;
	if (walk->leaving)
		stack_leave(walk);
	walk->leaving = false;
	if (!walk->root_given && give_root(walk, item))
		return;
	while (walk->depth > 0) {
		if (!is_done(walk)) {
			if (give_more(walk, item))
				return;
			continue;
		}
		walk->inside = true;
		walk->leaving = give_directory(walk, item, WALK_LEAVE);
		if (walk->leaving)
			return;
		stack_leave(walk);
	}
	item->event = WALK_END;
}

void walk_skip(struct walk *walk)
{
	if (walk->depth > 0)
		walk->frames[walk->depth - 1].next =
			walk->frames[walk->depth - 1].end;
}
