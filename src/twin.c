/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

/* A directory that has been entered; [0] is the top. */
struct frame {
	int fd;			/* -1: closed, or there is none */
	bool there;
	size_t name;		/* in `names`, which is cut there when it is left */
	dev_t dev;
	ino_t ino;
};

struct twin {
	struct frame *frames;
	size_t depth, room;
	size_t lost;		/* entered without memory for a frame: nothing */
	size_t lowest;		/* frames below it, but for [0], are closed */
	unsigned fds;
	struct bytes names;
};

struct twin *twin_new(int top, unsigned fds)
{
	struct twin *twin = calloc(1, sizeof(*twin));

	if (!twin)
		return NULL;
	twin->room = 64;
	twin->frames = calloc(twin->room, sizeof(*twin->frames));
	if (!twin->frames) {
		free(twin);
		return NULL;
	}
	twin->frames[0].fd = top;
	twin->frames[0].there = true;
	twin->depth = twin->lowest = 1;
	twin->fds = fds < 2 ? 2 : fds;
	return twin;
}

static void frame_close(struct frame *frame)
{
	if (frame->fd >= 0)
		close(frame->fd);
	frame->fd = -1;
}

void twin_free(struct twin *twin)
{
	if (!twin)
		return;
	while (twin->depth > 1)
		frame_close(&twin->frames[--twin->depth]);
	free(twin->frames);
	bytes_free(&twin->names);
	free(twin);
}

int twin_fd(const struct twin *twin)
{
	return twin->lost > 0 ? -1 : twin->frames[twin->depth - 1].fd;
}

/* ---- opening ---- */

int twin_open(int dir, const char *name, int flags)
{
	int fd;

	flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	fd = openat(dir, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(dir, name, flags);
	return fd;
}

/* Opens a directory that was open before; it has to be the same one. */
static int reopen(int dir, const char *name, const struct frame *frame)
{
	int fd = twin_open(dir, name, O_DIRECTORY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == frame->dev &&
	    st.st_ino == frame->ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

static const char *name_of(const struct twin *twin, size_t i)
{
	return (const char *)twin->names.at + twin->frames[i].name;
}

/* When `..` is not where it was: down from the top. */
static int reopen_from_top(const struct twin *twin, size_t to)
{
	int top = twin->frames[0].fd, fd = top;

	for (size_t i = 1; i <= to; i++) {
		int next = reopen(fd, name_of(twin, i), &twin->frames[i]);
		int err = errno;

		if (fd != top)
			close(fd);
		errno = err;
		if (next < 0)
			return -1;
		fd = next;
	}
	return fd;
}

/* ---- entering and leaving ---- */

/* Closes the outermost one that can be found again, when descriptors run short. */
static void save_descriptor(struct twin *twin)
{
	if (twin->depth - twin->lowest + 1 < twin->fds ||
	    twin->lowest >= twin->depth)
		return;
	frame_close(&twin->frames[twin->lowest]);
	twin->lowest++;
}

/* Pushes a frame of that name that is nothing so far; NULL without memory. */
static struct frame *push(struct twin *twin, const char *name)
{
	size_t at = twin->names.len, more = 2 * twin->room;
	struct frame *frames = twin->frames;

	if (twin->lost > 0)
		return NULL;
	if (twin->depth == twin->room) {
		frames = realloc(frames, more * sizeof(*frames));
		if (!frames)
			return NULL;
		twin->frames = frames;
		twin->room = more;
	}
	if (bytes_add(&twin->names, name, strlen(name) + 1) != 0)
		return NULL;
	frames[twin->depth] = (struct frame){ .fd = -1, .name = at };
	return &frames[twin->depth++];
}

void twin_enter_nothing(struct twin *twin)
{
	if (!push(twin, ""))
		twin->lost++;
}

int twin_enter(struct twin *twin, const char *name, struct stat *st)
{
	struct frame *frame;
	int above, err;

	save_descriptor(twin);
	above = twin_fd(twin);
	frame = push(twin, name);
	if (!frame) {
		twin->lost++;
		errno = ENOMEM;
		return -1;
	}
	frame->fd = twin_open(above, name, O_DIRECTORY);
	if (frame->fd < 0)
		return -1;
	if (fstat(frame->fd, st) != 0) {
		err = errno;
		frame_close(frame);
		errno = err;
		return -1;
	}
	frame->there = true;
	frame->dev = st->st_dev;
	frame->ino = st->st_ino;
	return 0;
}

int twin_leave(struct twin *twin)
{
	struct frame *frame, *above;
	int result = 0;

	if (twin->lost > 0) {
		twin->lost--;
		return 0;
	}
	frame = &twin->frames[--twin->depth];
	above = &twin->frames[twin->depth - 1];
	twin->names.len = frame->name;
	if (above->there && above->fd < 0) {
		above->fd = frame->fd >= 0 ? reopen(frame->fd, "..", above) : -1;
		if (above->fd < 0)
			above->fd = reopen_from_top(twin, twin->depth - 1);
		twin->lowest = twin->depth - 1;
		above->there = above->fd >= 0;
		result = above->there ? 0 : -1;
	}
	frame_close(frame);
	if (result != 0)
		errno = ESTALE;
	return result;
}
