/* SPDX-License-Identifier: BSD-2-Clause */
#include "sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "diag.h"
#include "thread.h"

struct met {
	dev_t dev;
	int fd;
};

struct syncs {
	struct lock lock;
	struct met *met;
	size_t count;
};

struct syncs *syncs_new(void)
{
	struct syncs *syncs = calloc(1, sizeof(*syncs));

	if (syncs)
		lock_init(&syncs->lock);
	return syncs;
}

void syncs_free(struct syncs *syncs)
{
	if (!syncs)
		return;
	for (size_t i = 0; i < syncs->count; i++)
		close(syncs->met[i].fd);
	free(syncs->met);
	lock_destroy(&syncs->lock);
	free(syncs);
}

/* Under the lock. */
static int meet(struct syncs *syncs, int dir, dev_t dev)
{
	struct met *met;

	for (size_t i = 0; i < syncs->count; i++)
		if (syncs->met[i].dev == dev)
			return 0;
	met = reallocarray(syncs->met, syncs->count + 1, sizeof(*met));
	if (!met)
		return -1;
	syncs->met = met;
	met += syncs->count;
	met->dev = dev;
	/* Not a duplicate, which would share what has been told already. */
	met->fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (met->fd < 0)
		return -1;
	syncs->count++;
	return 0;
}

int syncs_meet(struct syncs *syncs, int dir, dev_t dev)
{
	int got;

	lock_take(&syncs->lock);
	got = meet(syncs, dir, dev);
	lock_give(&syncs->lock);
	return got;
}

void syncs_finish(struct syncs *syncs, const char *shown)
{
	for (size_t i = 0; i < syncs->count; i++)
		if (syncfs(syncs->met[i].fd) != 0)
			diag_fail(STATUS_STOPPED, shown, errno,
				  "syncing its file system: what was written "
				  "may not be there");
}
