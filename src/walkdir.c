/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directories that a walk has entered: a stack.
 */
#include "walking.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"

void frame_close(struct walk *walk, struct frame *frame)
{
	/* One that is still in use, after all was stopped, stays open. */
	bool over = scouts_end(walk, &frame->scouts);

	if (frame->fd >= 0 && over) {
		if (walk->config.close)
			walk->config.close(walk->config.close_arg, frame->fd);
		else
			close(frame->fd);
	}
	frame->fd = -1;
}

/* ---- paths ---- */

const char *frame_name(const struct walk *walk, size_t i)
{
	return i == 0 ? walk->root_path :
			walk->list.names + walk->frames[i].name + 1;
}

static bool path_add(struct walk *walk, size_t *len, const char *name)
{
	size_t more = strlen(name);
	char *path = dirlist_grown(walk->path, &walk->path_room, *len + more + 2, 1);

	if (!path)
		return false;
	walk->path = path;
	if (*len > 0 && path[*len - 1] != '/')
		path[(*len)++] = '/';
	memcpy(path + *len, name, more + 1);
	*len += more;
	return true;
}

/* The last item's path, with another name for the root.  Returns false on ENOMEM. */
static bool path_make(struct walk *walk, const char *root)
{
	size_t len = 0;

	if (!path_add(walk, &len, root))
		return false;
	for (size_t i = 1; i < walk->depth; i++)
		if (!path_add(walk, &len, frame_name(walk, i)))
			return false;
	return walk->depth == 0 || walk->inside ||
	       path_add(walk, &len, walk->current);
}

const char *walk_path(struct walk *walk)
{
	return path_make(walk, walk->root_path) ? walk->path : walk->current;
}

const char *walk_member(struct walk *walk)
{
	return path_make(walk, walk->root_as ? walk->root_as : "") ? walk->path :
								     NULL;
}

/* ---- reading a directory ---- */

/* What a failure says on a name that the directory itself has told, or a list has. */
static enum status failure_status(const struct walk *walk, int err)
{
	bool changed = err == ENOENT || err == ENOTDIR || err == ELOOP ||
		       err == ESTALE;
	bool listed = walk->depth == 0 || !walk->frames[walk->depth - 1].way;

	return changed && listed ? STATUS_CHANGED : STATUS_PARTIAL;
}

/* ENOENT: it was removed after it was opened. */
static void tell_unread(struct walk *walk, int err)
{
	diag_fail(failure_status(walk, err), walk_path(walk), err,
		  "reading the directory");
}

void frame_read(struct walk *walk, struct frame *frame)
{
	if (frame->fd >= 0 &&
	    dirlist_read(&walk->list, frame->fd, walk->entries, false) < 0)
		tell_unread(walk, errno);
	frame->end = walk->list.places_len;
	dirlist_sort(&walk->list, frame->first);
}

/* The same from what a scout has found. */
static void frame_take(struct walk *walk, struct frame *frame, struct scout *scout)
{
	int err = scout->list_err;

	if (!dirlist_add(&walk->list, &scout->list))
		err = ENOMEM;
	if (err == 0 && scout->more) {
		frame_read(walk, frame);
		return;
	}
	if (err != 0)
		tell_unread(walk, err);
	frame->end = walk->list.places_len;
	if (frame->end == frame->first)		/* no memory for it */
		(void)scouts_end(walk, &frame->scouts);
	for (struct scout *s = frame->scouts; s; s = s->next)
		s->place += frame->first;
}

/* ---- descriptors of the stack ---- */

void stack_save_descriptor(struct walk *walk)
{
	size_t held = walk->depth - walk->lowest + 1;

	if (held < walk->config.fds || walk->lowest >= walk->depth)
		return;
	frame_close(walk, &walk->frames[walk->lowest]);
	walk->lowest++;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Opens a directory that was open before; it has to be the same one. */
static int reopen(int parent, const char *name, const struct stat *before)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && same(&st, before))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* The long way round, when `..` is not where it was: down from the root. */
static int reopen_from_root(struct walk *walk, size_t to)
{
	int fd = walk->frames[0].fd;

	for (size_t i = 1; i <= to; i++) {
		int next = reopen(fd, frame_name(walk, i),
				  &walk->frames[i].st);

		if (fd != walk->frames[0].fd)
			close(fd);
		if (next < 0)
			return -1;
		fd = next;
	}
	return fd;
}

/* Makes sure that the top frame is open again, coming from its child. */
static void stack_return(struct walk *walk, int child)
{
	size_t top = walk->depth - 1;
	struct frame *frame = &walk->frames[top];

	if (frame->fd >= 0 || !frame->readable)
		return;
	frame->fd = child >= 0 ? reopen(child, "..", &frame->st) : -1;
	if (frame->fd < 0)
		frame->fd = reopen_from_root(walk, top);
	walk->lowest = top;
	if (frame->fd < 0) {
		diag_fail(STATUS_CHANGED, walk_path(walk), errno,
			  "finding the directory again; the rest of it is left out");
		frame->readable = false;
		frame->next = frame->end;
	}
}

/* ---- entering and leaving ---- */

/* Opens it, or takes what a scout has found. */
static struct scout_found frame_find(struct walk *walk, int parent,
				     const char *name, int extra)
{
	struct scout *scout = walk->scouted;
	struct scout_found found;

	if (scout) {
		found = scout->found;
		scout->found.fd = -1;
	} else {
		scout_look(&found, walk_top(walk), parent, name, extra);
	}
	return found;
}

/*
 * Opens `name`; one that can't be opened is told, but still has a frame, empty,
 * when its metadata can be read.  Returns false when there is nothing to enter.
 */
static bool frame_open(struct walk *walk, struct frame *frame, int parent,
		       const char *name, int extra)
{
	struct scout_found found = frame_find(walk, parent, name, extra);
	int err = found.err;

	frame->fd = found.fd;
	frame->readable = found.fd >= 0;
	frame->st = found.st;
	if (found.beyond)
		return frame_stop(walk, frame, &found, parent, name);
	if (err == 0)
		return true;
	if (found.opened) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), err, "fstat");
		return false;
	}
	diag_fail(failure_status(walk, err), walk_path(walk), err,
		  "opening the directory");
	return err == EACCES &&
	       fstatat(parent, name, &frame->st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(frame->st.st_mode);
}

static bool avoided(struct walk *walk, const struct stat *st)
{
	if (!walk->config.avoid || st->st_dev != walk->config.avoid_dev ||
	    st->st_ino != walk->config.avoid_ino)
		return false;
	diag_fail(STATUS_PARTIAL, walk_path(walk), 0,
		  "left out: it is the destination");
	return true;
}

enum { ROUNDS_MAX = 8 };

static bool is_newborn(const struct walk *walk, const struct stat *st)
{
	return st->st_ctim.tv_sec > walk->began.tv_sec ||
	       (st->st_ctim.tv_sec == walk->began.tv_sec &&
		st->st_ctim.tv_nsec > walk->began.tv_nsec);
}

/* The names of the frames repeat themselves from the top one on, every `period`. */
static bool repeats(const struct walk *walk, const char *name, size_t period)
{
	size_t depth = walk->depth, more = ROUNDS_MAX * period;

	if (strcmp(name, frame_name(walk, depth - period)) != 0)
		return false;
	for (size_t i = 1; i + period <= more; i++)
		if (!is_newborn(walk, &walk->frames[depth - i].st) ||
		    strcmp(frame_name(walk, depth - i),
			   frame_name(walk, depth - i - period)) != 0)
			return false;
	return true;
}

/*
 * Who unpacks into the tree that he packs makes new directories as long as they are
 * found: dst/dst/dst.  Nobody can be asked; but all are new, and by the same names.
 */
static bool is_endless(struct walk *walk, const char *name, const struct stat *st)
{
	size_t most = walk->depth / ROUNDS_MAX;

	if (most == 0 || !is_newborn(walk, st))
		return false;
	for (size_t period = 1; period <= most; period++)
		if (walk->depth > ROUNDS_MAX * period &&
		    repeats(walk, name, period)) {
			diag_fail(STATUS_CHANGED, walk_path(walk), 0, "left out: a "
				  "copy of the tree seems to be made in it");
			return true;
		}
	return false;
}

static bool stack_push(struct walk *walk, struct frame *frame, int parent,
		       const char *name, int extra)
{
	struct frame *frames;

	if (!frame_open(walk, frame, parent, name, extra))
		return false;
	if (!frame->mount && (avoided(walk, &frame->st) ||
			      is_endless(walk, name, &frame->st))) {
		frame_close(walk, frame);
		return false;
	}
	frames = dirlist_grown(walk->frames, &walk->frames_room, walk->depth + 1,
			       sizeof(*frames));
	if (!frames) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), ENOMEM, "entering");
		frame_close(walk, frame);
		return false;
	}
	walk->frames = frames;
	frames[walk->depth++] = *frame;
	walk->inside = true;
	return true;
}

bool stack_enter(struct walk *walk, int parent, const char *name, size_t name_at,
		 int extra, bool way)
{
	struct frame frame = {
		.name = name_at,
		.way = way,
		.names_start = walk->list.names_len,
		.first = walk->list.places_len,
		.next = walk->list.places_len,
		.end = walk->list.places_len,
	};
	struct scout *scout = walk->scouted;
	bool entered;

	if (scout) {
		frame.scouts = scout->below;
		scout->below = NULL;
	}
	entered = stack_push(walk, &frame, parent, name, extra);
	if (entered && scout)
		frame_take(walk, &walk->frames[walk->depth - 1], scout);
	else if (entered && !way)
		frame_read(walk, &walk->frames[walk->depth - 1]);
	if (scout)
		scouts_drop(walk, scout);
	walk->scouted = NULL;
	return entered;
}

void stack_leave(struct walk *walk)
{
	struct frame *frame = &walk->frames[--walk->depth];

	walk->list.names_len = frame->names_start;
	walk->list.places_len = frame->first;
	if (walk->depth > 0)
		stack_return(walk, frame->fd);
	frame_close(walk, frame);
}
