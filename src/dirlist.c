/* SPDX-License-Identifier: BSD-2-Clause */
#include "dirlist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mounts.h"

void *dirlist_grown(void *array, size_t *room, size_t need, size_t element)
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

bool dirlist_push(struct dirlist *list, const char *name, unsigned char type)
{
	size_t len = strlen(name);
	char *names = dirlist_grown(list->names, &list->names_room,
				    list->names_len + len + 2, 1);

	if (!names)
		return false;
	list->names = names;
	names[list->names_len] = (char)type;
	memcpy(names + list->names_len + 1, name, len + 1);
	list->names_len += len + 2;
	return true;
}

static bool remember(struct dirlist *list, const struct dirent64 *entry,
		     unsigned char type)
{
	struct place *places = dirlist_grown(list->places, &list->places_room,
					     list->places_len + 1, sizeof(*places));

	if (!places)
		return false;
	list->places = places;
	places[list->places_len].ino = entry->d_ino;
	places[list->places_len].name = list->names_len;
	if (!dirlist_push(list, entry->d_name, type))
		return false;
	list->places_len++;
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
	if (mount_stat(fd, entry->d_name, &st) != 0)
		return DT_REG;		/* its open will tell what is wrong */
	return (unsigned char)IFTODT(st.st_mode);
}

/* Returns false when memory ran out. */
static bool remember_all(struct dirlist *list, int fd, const char *buffer,
			 size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		at += entry->d_reclen;
		if (!dots(entry->d_name) &&
		    !remember(list, entry, entry_type(fd, entry)))
			return false;
	}
	return true;
}

int dirlist_read(struct dirlist *list, int fd, void *buffer, bool once)
{
	ssize_t len;

	while ((len = getdents64(fd, buffer, DIRLIST_BUFFER)) > 0) {
		if (!remember_all(list, fd, buffer, (size_t)len)) {
			errno = ENOMEM;
			return -1;
		}
		if (once)
			return 1;
	}
	return len < 0 ? -1 : 0;
}

bool dirlist_add(struct dirlist *list, const struct dirlist *other)
{
	size_t n = other->places_len, base = list->names_len;
	struct place *places = dirlist_grown(list->places, &list->places_room,
					     list->places_len + n, sizeof(*places));
	char *names = dirlist_grown(list->names, &list->names_room,
				    base + other->names_len, 1);

	if (places)
		list->places = places;
	if (names)
		list->names = names;
	if (n == 0)
		return true;
	if (!places || !names)
		return false;
	memcpy(names + base, other->names, other->names_len);
	for (size_t i = 0; i < n; i++)
		places[list->places_len + i] =
			(struct place){ other->places[i].ino,
					other->places[i].name + base };
	list->names_len += other->names_len;
	list->places_len += n;
	return true;
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

void dirlist_sort(struct dirlist *list, size_t first)
{
	if (list->places_len - first > 1)
		qsort_r(list->places + first, list->places_len - first,
			sizeof(*list->places), by_inode, list->names);
}

size_t dirlist_directories(const struct dirlist *list, size_t first, size_t end)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		char type = list->names[list->places[middle].name];

		if ((type & DIRLIST_TYPE) == DT_DIR)
			end = middle;
		else
			first = middle + 1;
	}
	return first;
}

void dirlist_free(struct dirlist *list)
{
	free(list->names);
	free(list->places);
	*list = (struct dirlist){ 0 };
}
