/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and reading regular files of a source that may change meanwhile. */
#include "packing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "thread.h"

enum {
	LEASE_TRIES = 3000,
	LEASE_PAUSE = 20000000,		/* ns; together a minute */
};

/* Not in <linux/magic.h>. */
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif

/* ---- opening ---- */

static int open_once(const struct walk_item *item)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			  O_CLOEXEC;
	int fd = openat(item->parent, item->name,
			flags | (item->mine ? O_NOATIME : 0));

	if (fd < 0 && errno == EPERM && item->mine)
		fd = openat(item->parent, item->name, flags);
	return fd;
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
		ring_urge(pack->ring);
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

enum source_found source_open(struct pack *pack, struct source *source)
{
	source->fd = open_file(pack);
	if (source->fd < 0) {
		pack_tell(pack, errno, "opening");
		return SOURCE_GONE;
	}
	if (fstat(source->fd, &source->st) != 0) {
		pack_tell(pack, errno, "fstat");
		close(source->fd);
		return SOURCE_GONE;
	}
	if (S_ISREG(source->st.st_mode))
		return SOURCE_OPEN;
	close(source->fd);
	return other_type(pack, &source->st);
}

/* ---- reading ---- */

/* File systems without storage, whose sizes mean nothing. */
static bool is_made_up(const struct statfs *fs)
{
	static const unsigned long magics[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 DEBUGFS_MAGIC,
		TRACEFS_MAGIC,	    SECURITYFS_MAGIC,	 SELINUX_MAGIC,
		SMACK_MAGIC,	    CGROUP_SUPER_MAGIC,	 CGROUP2_SUPER_MAGIC,
		PSTOREFS_MAGIC,	    EFIVARFS_MAGIC,	 BPF_FS_MAGIC,
		BINFMTFS_MAGIC,	    NSFS_MAGIC,		 CONFIGFS_MAGIC,
		MQUEUE_MAGIC,
	};

	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if ((unsigned long)fs->f_type == magics[i])
			return true;
	return false;
}

bool source_made_up(struct pack *pack, const struct source *source)
{
	struct statfs fs;

	if (!pack->asked || pack->asked_dev != source->st.st_dev) {
		pack->asked = true;
		pack->asked_dev = source->st.st_dev;
		pack->made_up = fstatfs(source->fd, &fs) == 0 && is_made_up(&fs);
	}
	return pack->made_up;
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

ssize_t source_read_at(const struct source *source, void *to, size_t len,
		       uint64_t offset)
{
	ssize_t n;

	do
		n = pread(source->fd, to, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n;
}

/* One call, but where it comes back with less, which need not be the end on a network. */
ssize_t source_read(const struct source *source, unsigned char *to, size_t size)
{
	size_t have = 0;

	do {
		ssize_t n = source_read_at(source, to + have,
					   size + 1 - have, have);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	} while (have < size);
	return (ssize_t)have;
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
