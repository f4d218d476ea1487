/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "meta.h"

/* A directory that has been entered and not left. */
struct frame {
	int fd;			/* -1: closed to save a descriptor, or unreadable */
	bool readable;
	struct stat st;
	size_t name;		/* where its name lies, in the names below it */
	size_t names_start;	/* its entries' names and places begin here */
	size_t first, next, end;	/* ... in `places` */
};

/* An entry that was read and not yet given out. */
struct place {
	uint64_t ino;
	size_t name;		/* in `names`: a DT_* byte, then the name */
};

struct walk {
	struct walk_config config;

	const char *root_path;
	const char *root_as;
	int root_parent;	/* what the root's name is relative to */
	bool root_given;	/* the root itself has come */
	bool root_follow;

	struct frame *frames;	/* the stack; [0] is the root, when a directory */
	size_t depth, frames_room;
	size_t lowest;		/* frames below it, but for [0], are closed */

	char *names;		/* a stack of bytes: every frame's names */
	size_t names_len, names_room;
	struct place *places;
	size_t places_len, places_room;

	const char *current;	/* last component of the last item */
	bool inside;		/* the last item was a directory: its path is the stack's */
	bool leaving;		/* ... its LEAVE: it is popped at the next call */
	char *path;
	size_t path_room;
	char *entries;		/* for getdents64 */
};

enum { ENTRIES_SIZE = 64 << 10 };

struct walk *walk_new(const struct walk_config *config)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->config = *config;
	walk->root_parent = -1;
	walk->entries = malloc(ENTRIES_SIZE);
	if (!walk->entries) {
		free(walk);
		return NULL;
	}
	return walk;
}

static void frame_close(struct frame *frame)
{
	if (frame->fd >= 0)
		close(frame->fd);
	frame->fd = -1;
}

void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	while (walk->depth > 0)
		frame_close(&walk->frames[--walk->depth]);
	free(walk->frames);
	free(walk->names);
	free(walk->places);
	free(walk->path);
	free(walk->entries);
	free(walk);
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

/* ---- paths, for messages ---- */

static const char *frame_name(const struct walk *walk, size_t i)
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

const char *walk_path(struct walk *walk)
{
	size_t len = 0;

	for (size_t i = 0; i < walk->depth; i++)
		if (!path_add(walk, &len, frame_name(walk, i)))
			return walk->current;
	if (!walk->inside && walk->current &&
	    !path_add(walk, &len, walk->current))
		return walk->current;
	return walk->path ? walk->path : walk->root_path;
}

/* ---- reading a directory ---- */

static bool remember(struct walk *walk, const struct dirent64 *entry,
		     unsigned char type)
{
	size_t len = strlen(entry->d_name);
	char *names = grown(walk->names, &walk->names_room,
			    walk->names_len + len + 2, 1);
	struct place *places;

	if (!names)
		return false;
	walk->names = names;
	places = grown(walk->places, &walk->places_room, walk->places_len + 1,
		       sizeof(*places));
	if (!places)
		return false;
	walk->places = places;
	places[walk->places_len].ino = entry->d_ino;
	places[walk->places_len].name = walk->names_len;
	walk->places_len++;
	names[walk->names_len] = (char)type;
	memcpy(names + walk->names_len + 1, entry->d_name, len + 1);
	walk->names_len += len + 2;
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

/* What a failure on a name that was listed says. */
static enum status failure_status(int err)
{
	bool changed = err == ENOENT || err == ENOTDIR || err == ELOOP ||
		       err == ESTALE;

	return changed ? STATUS_CHANGED : STATUS_PARTIAL;
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

static void frame_read(struct walk *walk, struct frame *frame)
{
	ssize_t len;

	frame->names_start = walk->names_len;
	frame->first = frame->next = walk->places_len;
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
			diag_fail(failure_status(errno), walk_path(walk), errno,
				  "reading the directory");
	}
	frame->end = walk->places_len;
	if (frame->end - frame->first > 1)
		qsort_r(walk->places + frame->first, frame->end - frame->first,
			sizeof(*walk->places), by_inode, walk->names);
}

/* ---- descriptors of the stack ---- */

/* Closes the outermost directory that can be found again. */
static void stack_save_descriptor(struct walk *walk)
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

/* O_NOATIME is for owners, and who may act as one. */
static int noatime(const struct stat *st)
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
	diag_fail(failure_status(err), walk_path(walk), err,
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

/* Pushes a directory; `name` lies in `names` (or is the root's). */
static bool stack_enter(struct walk *walk, int parent, const char *name,
			size_t name_at, int extra)
{
	struct frame frame = { .name = name_at };
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
	frame_read(walk, &frames[walk->depth - 1]);
	return true;
}

static void give_directory(struct walk *walk, struct walk_item *item,
			   enum walk_event event)
{
	size_t top = walk->depth - 1;
	const struct frame *frame = &walk->frames[top];
	uint32_t base = walk->root_as ? 1 : 0;

	item->event = event;
	item->id = (uint32_t)top + base;
	item->dir = item->id > 0 ? item->id - 1 : 0;
	item->name = frame_name(walk, top);
	item->as = top == 0 ? walk->root_as : item->name;
	item->parent = top == 0 ? walk->root_parent : walk->frames[top - 1].fd;
	item->fd = frame->fd;
	item->st = frame->st;
}

static void give_entry(struct walk *walk, struct walk_item *item, int parent,
		       const char *name, const char *as, unsigned char type)
{
	item->event = WALK_ENTRY;
	item->dir = (uint32_t)walk->depth - 1 + (walk->root_as ? 1 : 0);
	item->id = 0;
	item->name = name;
	item->as = as;
	item->parent = parent;
	item->fd = -1;
	item->type = type;
	item->mine = walk->depth > 0 ?
			     noatime(&walk->frames[walk->depth - 1].st) != 0 :
			     privileges_get()->fowner;
}

/* Pops the top directory.  Its descriptor helps to find the parent again. */
static void stack_leave(struct walk *walk)
{
	struct frame *frame = &walk->frames[--walk->depth];

	walk->names_len = frame->names_start;
	walk->places_len = frame->first;
	if (walk->depth > 0)
		stack_return(walk, frame->fd);
	frame_close(frame);
}

/* ---- the root ---- */

void walk_begin(struct walk *walk, const char *path, const char *as,
	       bool follow)
{
	walk->root_path = path;
	walk->root_as = as;
	walk->root_follow = follow || !as;
	walk->root_parent = AT_FDCWD;
	walk->root_given = walk->leaving = false;
	walk->depth = 0;
	walk->lowest = 1;
	walk->names_len = walk->places_len = 0;
	walk->current = path;
	walk->inside = false;
}

static void give_root(struct walk *walk, struct walk_item *item)
{
	int nofollow = walk->root_follow ? 0 : AT_SYMLINK_NOFOLLOW;
	struct stat st;

	walk->root_given = true;
	item->event = WALK_END;
	if (fstatat(AT_FDCWD, walk->root_path, &st, nofollow) != 0) {
		diag_fail(STATUS_PARTIAL, walk->root_path, errno, "fstatat");
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		walk->depth = 0;
		give_entry(walk, item, AT_FDCWD, walk->root_path, walk->root_as,
			   (unsigned char)IFTODT(st.st_mode));
		item->dir = 0;
		return;
	}
	if (stack_enter(walk, AT_FDCWD, walk->root_path, 0,
			(walk->root_follow ? 0 : O_NOFOLLOW) | noatime(&st)))
		give_directory(walk, item, WALK_ENTER);
}

/* ---- item by item ---- */

/* Gives the top frame's next entry; returns false when it was nothing. */
static bool give_next(struct walk *walk, struct walk_item *item)
{
	struct frame *frame = &walk->frames[walk->depth - 1];
	size_t at = walk->places[frame->next++].name;
	const char *name = walk->names + at + 1;
	unsigned char type = (unsigned char)walk->names[at];

	walk->current = name;
	walk->inside = false;
	if (type != DT_DIR) {
		give_entry(walk, item, frame->fd, name, name, type);
		return true;
	}
	stack_save_descriptor(walk);
	if (!stack_enter(walk, frame->fd, name, at,
			 O_NOFOLLOW | noatime(&frame->st)))
		return false;
	give_directory(walk, item, WALK_ENTER);
	return true;
}

void walk_next(struct walk *walk, struct walk_item *item)
{
	if (walk->leaving)
		stack_leave(walk);
	walk->leaving = false;
	if (!walk->root_given) {
		give_root(walk, item);
		return;
	}
	while (walk->depth > 0) {
		const struct frame *frame = &walk->frames[walk->depth - 1];

		if (frame->next == frame->end) {
			walk->inside = walk->leaving = true;
			give_directory(walk, item, WALK_LEAVE);
			return;
		}
		if (give_next(walk, item))
			return;
	}
	item->event = WALK_END;
}

void walk_skip(struct walk *walk)
{
	if (walk->depth > 0)
		walk->frames[walk->depth - 1].next =
			walk->frames[walk->depth - 1].end;
}
