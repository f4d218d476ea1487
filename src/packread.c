/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and reading regular files of a source that may change meanwhile. */
#include "packing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "thread.h"

enum {
	LEASE_TRIES = 3000,
	LEASE_PAUSE = 20000000,		/* ns; together a minute */
};

/* ---- opening ---- */

static int open_once(const struct walk_item *item)
{
	return fetch_open(item->parent, item->name, item->mine);
}

/*
 * Somebody may hold a lease on it (a file server does): our open has told him to
 * give it up, and the kernel takes it from him after a while.
 */
static int open_file(struct pack *pack)
{
	int fd = open_once(&pack->item);

	for (unsigned i = 0; fd < 0 && errno == EWOULDBLOCK &&
			     i < LEASE_TRIES && !ring_reason(pack->ring); i++) {
		pack_urge(pack);
		clock_wait(clock_ns() + LEASE_PAUSE);
		fd = open_once(&pack->item);
	}
	return fd;
}

/*
 * Something else than the directory said: changed underfoot, unless another file is
 * mounted over the name, for good.
 */
static enum source_found other_type(struct pack *pack, const struct stat *st)
{
	struct walk_item *item = &pack->item;

	if (!S_ISDIR(st->st_mode) && pack_is_mount(item)) {
		item->type = (unsigned char)IFTODT(st->st_mode);
		return SOURCE_SPECIAL;
	}
	diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
		  "is no regular file any more: left out");
	return SOURCE_GONE;
}

/* Makes the first calls.  0, or -1: told. */
static int open_here(struct pack *pack, struct source *source)
{
	source->fetch = NULL;
	source->since = clock_ns();
	source->spent = 0;
	source->fd = open_file(pack);
	if (source->fd < 0) {
		pack_tell(pack, errno, "opening");
		return -1;
	}
	if (fstat(source->fd, &source->st) == 0)
		return 0;
	pack_tell(pack, errno, "fstat");
	close(source->fd);
	return -1;
}

/* Takes what a helper has found by them. */
static int open_ahead(struct pack *pack, struct source *source,
		      struct fetch *fetch)
{
	source->fetch = fetch;
	source->since = source->spent = 0;
	source->fd = fetch->fd;
	fetch->fd = -1;
	source->st = fetch->st;
	if (fetch->found == FETCH_OPEN)
		return 0;
	pack_tell(pack, fetch->err,
		  fetch->found == FETCH_NO_OPEN ? "opening" : "fstat");
	return -1;
}

enum source_found source_open(struct pack *pack, struct source *source)
{
	struct fetch *fetch = ahead_fetched(pack->ahead);
	int got;

	/* A special file that turned out to be something mounted over it is none. */
	if (fetch && fetch->type == DT_REG)
		got = open_ahead(pack, source, fetch);
	else
		got = open_here(pack, source);
	if (got != 0)
		return SOURCE_GONE;
	cache_begin_in(&source->data, &pack->cache, source->fd, &source->st);
	if (S_ISREG(source->st.st_mode))
		return SOURCE_OPEN;
	source_close(source);
	return other_type(pack, &source->st);
}

void source_note(struct pack *pack, struct source *source)
{
	if (source->since != 0)
		ahead_note(pack->ahead, clock_ns() - source->since);
	source->since = 0;
}

void source_pause(struct source *source)
{
	if (source->since != 0)
		source->spent = clock_ns() - source->since;
	source->since = 0;
}

void source_resume(struct source *source)
{
	if (source->spent != 0)
		source->since = clock_ns() - source->spent;
	source->spent = 0;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

/* ---- reading ---- */

static enum fskind source_kind(struct pack *pack, const struct source *source)
{
	if (source->fetch)
		return source->fetch->kind;
	if (!pack->asked || pack->asked_dev != source->st.st_dev) {
		pack->asked = true;
		pack->asked_dev = source->st.st_dev;
		pack->kind = fskind_of(source->fd);
	}
	return pack->kind;
}

bool source_made_up(struct pack *pack, const struct source *source)
{
	return source_kind(pack, source) == FSKIND_MADE_UP;
}

void source_sequential(struct pack *pack, const struct source *source)
{
	if (source_kind(pack, source) == FSKIND_REMOTE)
		(void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void source_tell_size(struct pack *pack, const struct source *source,
		      uint64_t now, const char *so)
{
	uint64_t then = (uint64_t)source->st.st_size;

	if (now < then)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "shrank by %llu bytes while it was read%s",
			  (unsigned long long)(then - now), so);
	else
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "grew while it was read: its first %llu bytes are copied",
			  (unsigned long long)then);
}

void source_tell_error(struct pack *pack, int err, uint64_t offset,
		       const char *so)
{
	diag_fail(STATUS_PARTIAL, pack_shown(pack), err, "reading at byte %llu%s",
		  (unsigned long long)offset, so);
}

ssize_t source_read_at(struct source *source, void *to, size_t len,
		       uint64_t offset)
{
	return fetch_read_at(&source->data, to, len, offset);
}

ssize_t source_read(struct source *source, unsigned char *to)
{
	const struct fetch *fetch = source->fetch;

	if (!fetch || !fetch->read)
		return fetch_read(&source->data, to,
				  (size_t)source->st.st_size);
	if (fetch->got < 0) {
		errno = fetch->err;
		return -1;
	}
	memcpy(to, fetch->data, (size_t)fetch->got);
	return fetch->got;
}

void source_check(struct pack *pack, const struct source *source, uint64_t *size,
		  const char *so)
{
	struct stat now;

	if (source_made_up(pack, source))
		return;
	if (fstat(source->fd, &now) != 0) {
		pack_tell(pack, errno, "fstat");
		return;
	}
	if (now.st_size < source->st.st_size && (uint64_t)now.st_size < *size)
		*size = (uint64_t)now.st_size;
	if (*size < (uint64_t)source->st.st_size)
		source_tell_size(pack, source, *size, so);
	else if (now.st_size > source->st.st_size)
		source_tell_size(pack, source, (uint64_t)now.st_size, so);
	else if (now.st_nlink == 0)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "was replaced or removed while it was read");
	else if (now.st_mtim.tv_sec != source->st.st_mtim.tv_sec ||
		 now.st_mtim.tv_nsec != source->st.st_mtim.tv_nsec)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "changed while it was read");
}
