/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directories that a walk has entered: a stack.
 */
#include "walking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "meta.h"

void frame_close(struct frame *frame)
{
	if (frame->fd >= 0)
		close(frame->fd);
	frame->fd = -1;
}

/* Makes room for one more element, doubling. */
static void *grown(void *array, size_t *room, size_t need, size_t element)
{
	size_t more = *room ? *room : 64;
	void *bigger;

	if (need <= *room)
		return array;
	while (more < need)
		more *= 2;
	bigger = realloc(array, more * element);
	if (!bigger)
		return NULL;
	*room = more;
	return bigger;
}

/* ---- paths ---- */

const char *frame_name(const struct walk *walk, size_t i)
{
	return i == 0 ? walk->root_path :
			walk->names + walk->frames[i].name + 1;
}

static bool path_add(struct walk *walk, size_t *len, const char *name)
{
	size_t more = strlen(name);
	char *path = grown(walk->path, &walk->path_room, *len + more + 2, 1);

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

bool names_push(struct walk *walk, const char *name, unsigned char type)
{
	size_t len = strlen(name);
	char *names = grown(walk->names, &walk->names_room,
			    walk->names_len + len + 2, 1);

	if (!names)
		return false;
	walk->names = names;
	names[walk->names_len] = (char)type;
	memcpy(names + walk->names_len + 1, name, len + 1);
	walk->names_len += len + 2;
	return true;
}

static bool remember(struct walk *walk, const struct dirent64 *entry,
		     unsigned char type)
{
	struct place *places = grown(walk->places, &walk->places_room, walk->places_len + 1,
		       sizeof(*places));
	if (!places)
		return false;
	walk->places = places;
	places[walk->places_len].ino = entry->d_ino;
	places[walk->places_len].name = walk->names_len;
	if (!names_push(walk, entry->d_name, type))
		return false;
	walk->places_len++;
	return true;
}

static bool dots(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Some file systems leave the type out of their listings. */
static unsigned char entry_type(int fd, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_REG;		/* its open will tell what is wrong */
	return (unsigned char)IFTODT(st.st_mode);
}

/* Returns false when memory ran out. */
static bool frame_remember_all(struct walk *walk, int fd, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *entry =
			(const void *)(walk->entries + at);

		at += entry->d_reclen;
		if (!dots(entry->d_name) &&
		    !remember(walk, entry, entry_type(fd, entry)))
			return false;
	}
	return true;
}

/* What a failure says on a name that the directory itself has told, or a list has. */
static enum status failure_status(const struct walk *walk, int err)
{
	bool changed = err == ENOENT || err == ENOTDIR || err == ELOOP ||
		       err == ESTALE;
	bool listed = walk->depth == 0 || !walk->frames[walk->depth - 1].way;

	return changed && listed ? STATUS_CHANGED : STATUS_PARTIAL;
}

/* For qsort_r: directories last, else by inode. */
static int by_inode(const void *a, const void *b, void *names)
{
	const struct place *x = a, *y = b;
	bool xdir = ((const char *)names)[x->name] == DT_DIR;
	bool ydir = ((const char *)names)[y->name] == DT_DIR;

	if (xdir != ydir)
		return xdir ? 1 : -1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

void frame_read(struct walk *walk, struct frame *frame)
{
	ssize_t len;

	if (frame->fd >= 0) {
		while ((len = getdents64(frame->fd, walk->entries,
					 ENTRIES_SIZE)) > 0)
			if (!frame_remember_all(walk, frame->fd, (size_t)len)) {
				len = -1;
				errno = ENOMEM;
				break;
			}
		/* ENOENT: it was removed after it was opened. */
		if (len < 0)
			diag_fail(failure_status(walk, errno), walk_path(walk), errno,
				  "reading the directory");
	}
	frame->end = walk->places_len;
	if (frame->end - frame->first > 1)
		qsort_r(walk->places + frame->first, frame->end - frame->first,
			sizeof(*walk->places), by_inode, walk->names);
}

/* ---- descriptors of the stack ---- */

void stack_save_descriptor(struct walk *walk)
{
	size_t held = walk->depth - walk->lowest + 1;

	if (held < walk->config.fds || walk->lowest >= walk->depth)
		return;
	frame_close(&walk->frames[walk->lowest]);
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

int noatime(const struct stat *st)
{
	const struct privileges *who = privileges_get();

	return who->fowner || st->st_uid == who->uid ? O_NOATIME : 0;
}

static int open_directory(int parent, const char *name, int extra)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(parent, name, flags | extra);

	if (fd < 0 && errno == EPERM && (extra & O_NOATIME))
		fd = openat(parent, name, flags | (extra & ~O_NOATIME));
	return fd;
}

/*
 * Opens `name`; one that can't be opened is told, but still has a frame, empty,
 * when its metadata can be read.  Returns false when there is nothing to enter.
 */
static bool frame_open(struct walk *walk, struct frame *frame, int parent,
		       const char *name, int extra)
{
	int err;

	frame->fd = open_directory(parent, name, extra);
	frame->readable = frame->fd >= 0;
	if (frame->fd >= 0) {
		if (fstat(frame->fd, &frame->st) == 0)
			return true;
		err = errno;
		frame_close(frame);
		diag_fail(STATUS_PARTIAL, walk_path(walk), err, "fstat");
		return false;
	}
	err = errno;
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

bool stack_enter(struct walk *walk, int parent, const char *name, size_t name_at,
		 int extra, bool way)
{
	struct frame frame = {
		.name = name_at,
		.way = way,
		.names_start = walk->names_len,
		.first = walk->places_len,
		.next = walk->places_len,
		.end = walk->places_len,
	};
	struct frame *frames;

	if (!frame_open(walk, &frame, parent, name, extra))
		return false;
	if (avoided(walk, &frame.st)) {
		frame_close(&frame);
		return false;
	}
	frames = grown(walk->frames, &walk->frames_room, walk->depth + 1,
		       sizeof(*frames));
	if (!frames) {
		diag_fail(STATUS_PARTIAL, walk_path(walk), ENOMEM, "entering");
		frame_close(&frame);
		return false;
	}
	walk->frames = frames;
	frames[walk->depth++] = frame;
	walk->inside = true;
	if (!way)
		frame_read(walk, &frames[walk->depth - 1]);
	return true;
}

void stack_leave(struct walk *walk)
{
	struct frame *frame = &walk->frames[--walk->depth];

	walk->names_len = frame->names_start;
	walk->places_len = frame->first;
	if (walk->depth > 0)
		stack_return(walk, frame->fd);
	frame_close(frame);
}
