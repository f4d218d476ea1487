/* SPDX-License-Identifier: BSD-2-Clause */
#include "scout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta.h"

int scout_noatime(const struct stat *st)
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

static void found_close(struct scout_found *found)
{
	if (found->fd >= 0)
		close(found->fd);
	found->fd = -1;
}

/* Who can't say that it is elsewhere lets it be opened: that tells why. */
static bool is_beyond(struct scout_found *found, const struct mount_place *top,
		      int parent, const char *name)
{
	struct mount_place place;

	if (mount_look(parent, name, AT_SYMLINK_NOFOLLOW, &place) != 0 ||
	    !mount_crosses(top, &place))
		return false;
	found->beyond = true;
	found->mount = place.mount;
	if (mount_stat(parent, name, &found->st) != 0)
		found->err = errno;
	return true;
}

void scout_look(struct scout_found *found, const struct mount_place *top,
		int parent, const char *name, int extra)
{
	*found = (struct scout_found){ .fd = -1 };
	if (top && is_beyond(found, top, parent, name))
		return;
	found->fd = open_directory(parent, name, extra);
	found->opened = found->fd >= 0;
	if (!found->opened || fstat(found->fd, &found->st) != 0)
		found->err = errno;
	else if (top && found->st.st_dev != top->dev)
		found->beyond = true;	/* meanwhile, or there is no statx */
	if (found->err != 0 || found->beyond)
		found_close(found);
}

/* Two calls see the end of most, and what they bring is bounded. */
static void scout_list(struct scout *scout, struct helper *helper)
{
	void *buffer = helper_buffer(helper, DIRLIST_BUFFER);
	int got = 1;

	for (int i = 0; i < 2 && buffer && got > 0; i++)
		got = dirlist_read(&scout->list, scout->found.fd, buffer, true);
	scout->more = got > 0;
	scout->list_err = got < 0 ? errno : 0;
	if (scout->more)
		return;
	dirlist_sort(&scout->list, 0);
	scout->directories = dirlist_directories(&scout->list, 0,
						  scout->list.places_len);
}

static void scout_run(struct task *task, struct helper *helper)
{
	struct scout *scout = (struct scout *)task;

	scout_look(&scout->found, scout->top, scout->parent, scout->name,
		   scout->extra);
	task->holds = scout->found.fd >= 0;
	if (task->holds)
		scout_list(scout, helper);
	task->bytes = scout->list.names_len;
}

struct scout *scout_new(int parent, const char *name, int extra, size_t place)
{
	struct scout *scout = calloc(1, sizeof(*scout));

	if (!scout)
		return NULL;
	scout->task.run = scout_run;
	scout->task.urgent = true;
	scout->parent = parent;
	scout->name = strdup(name);
	scout->extra = extra;
	scout->place = place;
	scout->found.fd = -1;
	if (scout->name)
		return scout;
	free(scout);
	return NULL;
}

void scout_free(struct scout *scout)
{
	found_close(&scout->found);
	dirlist_free(&scout->list);
	free(scout->name);
	free(scout);
}
