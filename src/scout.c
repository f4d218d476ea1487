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

int scout_open(int parent, const char *name, int extra)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(parent, name, flags | extra);

	if (fd < 0 && errno == EPERM && (extra & O_NOATIME))
		fd = openat(parent, name, flags | (extra & ~O_NOATIME));
	return fd;
}

static void scout_close(struct scout *scout)
{
	if (scout->fd >= 0)
		close(scout->fd);
	scout->fd = -1;
}

/* Two calls see the end of most, and what they bring is bounded. */
static void scout_list(struct scout *scout, struct helper *helper)
{
	void *buffer = helper_buffer(helper, DIRLIST_BUFFER);
	int got = 1;

	for (int i = 0; i < 2 && buffer && got > 0; i++)
		got = dirlist_read(&scout->list, scout->fd, buffer, true);
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

	scout->fd = scout_open(scout->parent, scout->name, scout->extra);
	scout->opened = scout->fd >= 0;
	if (scout->opened && fstat(scout->fd, &scout->st) == 0)
		scout_list(scout, helper);
	else
		scout->err = errno;
	if (scout->err != 0)
		scout_close(scout);
	task->holds = scout->fd >= 0;
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
	scout->fd = -1;
	if (scout->name)
		return scout;
	free(scout);
	return NULL;
}

void scout_free(struct scout *scout)
{
	scout_close(scout);
	dirlist_free(&scout->list);
	free(scout->name);
	free(scout);
}
