/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular files: small ones in one piece, large ones in pieces of their data, or by
 * reference.  A small one costs five calls: openat, fstat, flistxattr, pread, close.
 */
#include "packing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "extent.h"
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

/* A file on its way. */
struct file {
	int fd;
	struct stat st;
	struct record head;
	uint64_t size;			/* what END will say */
	int failure;			/* errno of a failed read: it is thrown away */
	bool settled;			/* its holes can be asked for */
};

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

static bool size_made_up(struct pack *pack, const struct file *file)
{
	struct statfs fs;

	if (!pack->asked || pack->asked_dev != file->st.st_dev) {
		pack->asked = true;
		pack->asked_dev = file->st.st_dev;
		pack->made_up = fstatfs(file->fd, &fs) == 0 && is_made_up(&fs);
	}
	return pack->made_up;
}

static void tell_size(struct pack *pack, const struct file *file, uint64_t now)
{
	uint64_t then = (uint64_t)file->st.st_size;

	if (now < then)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "shrank by %llu bytes while it was read",
			  (unsigned long long)(then - now));
	else
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "grew while it was read: its first %llu bytes are copied",
			  (unsigned long long)then);
}

static void tell_read_error(struct pack *pack, int err, uint64_t offset)
{
	diag_fail(STATUS_PARTIAL, pack_shown(pack), err, "reading at byte %llu",
		  (unsigned long long)offset);
}

static ssize_t read_at(int fd, void *to, size_t len, uint64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, to, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n;
}

/*
 * Reads a file of `size` bytes and one more, to see that there is none.  One call,
 * but where it comes back with less, which need not be the end on a network.
 */
static ssize_t read_whole(int fd, unsigned char *to, size_t size)
{
	size_t have = 0;

	do {
		ssize_t n = read_at(fd, to + have, size + 1 - have, have);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	} while (have < size);
	return (ssize_t)have;
}

/*
 * A file that fits: head, data and, when nothing lies between, end in one
 * reservation.
 */
static int pack_small(struct pack *pack, struct file *file)
{
	size_t head_size = record_size(RECORD_FILE, file->head.name_len, 0);
	size_t end_size = record_size(RECORD_END, 0, 0);
	size_t size = (size_t)file->st.st_size, used = head_size;
	unsigned char *at = ring_reserve(
		pack->ring, head_size + record_size(RECORD_PIECE, 0, size + 1) +
				    end_size);
	struct record piece = { .type = RECORD_PIECE };
	struct record end = { .type = RECORD_END };
	ssize_t n = 0;

	if (!at)
		return -1;
	if (size > 0)
		n = read_whole(file->fd, at + head_size + RECORD_DATA_AT,
			       size);
	if (n < 0) {
		tell_read_error(pack, errno, 0);
		file->failure = errno;
		return 1;
	}
	if ((size_t)n != size)
		tell_size(pack, file, (uint64_t)n);
	file->size = (size_t)n > size ? size : (size_t)n;

	record_encode(at, &file->head);
	if (file->size > 0) {
		piece.data_len = (uint32_t)file->size;
		record_encode(at + used, &piece);
		used += record_size(RECORD_PIECE, 0, piece.data_len);
	}
	if (!(file->head.flags & RECORD_MORE)) {
		end.first = file->size;
		record_encode(at + used, &end);
		used += end_size;
	}
	pack->bytes += file->size;
	ring_commit(pack->ring, used);
	return 0;
}

/*
 * Reads [from, to) into pieces.  Returns 0, 1 at a read error or the file's early
 * end (file->failure, file->size say what), or -1.
 */
static int pack_range(struct pack *pack, struct file *file, uint64_t from,
		      uint64_t to)
{
	while (from < to) {
		uint64_t left = to - from;
		size_t want = left < pack->piece_max ? (size_t)left :
						       pack->piece_max;
		unsigned char *at = ring_reserve(
			pack->ring, record_size(RECORD_PIECE, 0, want));
		struct record piece = { .type = RECORD_PIECE, .first = from };
		ssize_t n;

		if (!at)
			return -1;
		n = read_at(file->fd, at + RECORD_DATA_AT, want, from);
		if (n < 0) {
			file->failure = errno;
			tell_read_error(pack, errno, from);
			return 1;
		}
		if (n == 0) {
			file->size = from;
			return 1;
		}
		piece.data_len = (uint32_t)n;
		record_encode(at, &piece);
		ring_commit(pack->ring, record_size(RECORD_PIECE, 0, (size_t)n));
		from += (uint64_t)n;
		pack->bytes += (uint64_t)n;
	}
	return 0;
}

/* Only the data of a file with holes; all of it where they can't be found. */
static int pack_extents(struct pack *pack, struct file *file)
{
	uint64_t size = (uint64_t)file->st.st_size, at = 0, start, end;
	int more, got;

	if (!(file->head.flags & RECORD_SPARSE) || !file->settled)
		return pack_range(pack, file, 0, size);
	while ((more = extent_next(file->fd, at, size, &start, &end)) > 0) {
		got = pack_range(pack, file, start, end);
		if (got != 0)
			return got;
		at = end;
	}
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more < 0 || (at == 0 && extent_has_blocks(file->fd)))
		return pack_range(pack, file, at, size);
	return 0;
}

/* A second look at what took more than one read. */
static void check_unchanged(struct pack *pack, struct file *file)
{
	struct stat now;

	if (size_made_up(pack, file))
		return;
	if (fstat(file->fd, &now) != 0) {
		pack_tell(pack, errno, "fstat");
		return;
	}
	if (now.st_size < file->st.st_size && (uint64_t)now.st_size < file->size)
		file->size = (uint64_t)now.st_size;
	if (file->size < (uint64_t)file->st.st_size)
		tell_size(pack, file, file->size);
	else if (now.st_size > file->st.st_size)
		tell_size(pack, file, (uint64_t)now.st_size);
	else if (now.st_nlink == 0)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "was replaced or removed while it was read");
	else if (now.st_mtim.tv_sec != file->st.st_mtim.tv_sec ||
		 now.st_mtim.tv_nsec != file->st.st_mtim.tv_nsec)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "changed while it was read");
}

/* A size that is made up: to the end of the file, wherever that is. */
static int pack_to_end(struct pack *pack, struct file *file)
{
	int got = pack_range(pack, file, 0, UINT64_MAX / 2);

	return got < 0 ? -1 : 0;
}

static int pack_pieces(struct pack *pack, struct file *file)
{
	int got;

	if (pack_emit(pack, &file->head) != 0)
		return -1;
	if (size_made_up(pack, file))
		return pack_to_end(pack, file);
	file->size = (uint64_t)file->st.st_size;
	got = pack_extents(pack, file);
	if (got < 0)
		return -1;
	if (file->failure == 0)
		check_unchanged(pack, file);
	return 0;
}

static int pack_reference(struct pack *pack, struct file *file)
{
	struct record ref = {
		.type = RECORD_REF,
		.first = (uint64_t)file->fd,
		.second = (uint64_t)file->st.st_size,
	};

	file->size = (uint64_t)file->st.st_size;
	pack->bytes += file->size;
	if (pack_emit(pack, &file->head) != 0)
		return -1;
	return pack_emit(pack, &ref);
}

static bool by_reference(struct pack *pack, const struct file *file)
{
	uint64_t least = pack->config.opts->reflink == REFLINK_ALWAYS ?
				 1 :
				 EXTENT_REFERENCE_MIN;

	if ((file->head.flags & RECORD_SPARSE) && !file->settled)
		return false;
	return (uint64_t)file->st.st_size >= least &&
	       references_possible(pack->config.refs, file->st.st_dev,
				   pack->config.dst_dev) &&
	       !size_made_up(pack, file);
}

/* Takes a place for a descriptor; the others are given back behind the ring. */
static bool enter_reference(struct pack *pack)
{
	struct references *refs = pack->config.refs;

	if (references_try(refs))
		return true;
	ring_urge(pack->ring);
	return references_enter(refs);
}

/* One read takes all of it; what is zero in it, the other side finds as fast. */
static bool is_small(struct pack *pack, const struct file *file)
{
	return (uint64_t)file->st.st_size <=
		       pack->piece_max - RECORD_ALIGN * 64 &&
	       !size_made_up(pack, file);
}

/* What follows the data, but for a small file's END, which came with them. */
static int pack_rest(struct pack *pack, struct file *file)
{
	const struct xattr_source from = { .fd = file->fd };

	if (file->failure == 0 && pack_attributes(pack, &from) != 0)
		return -1;
	return pack_end(pack, file->size, file->failure);
}

/* Head, data, attributes, end.  The descriptor is gone afterwards. */
static int pack_contents(struct pack *pack, struct file *file)
{
	bool small = is_small(pack, file), referenced;
	int got;

	if (!small && (file->head.flags & RECORD_SPARSE))
		file->settled = extent_settle(file->fd, &file->st) == 0;
	referenced = by_reference(pack, file) && enter_reference(pack);
	if (referenced)
		got = pack_reference(pack, file);
	else
		got = small ? pack_small(pack, file) : pack_pieces(pack, file);
	if (got == 0 && (referenced || !small ||
			 (file->head.flags & RECORD_MORE)))
		got = pack_rest(pack, file);
	/* From its END on, the other side owns a referenced descriptor. */
	if (!referenced || got < 0)
		close(file->fd);
	if (referenced && got < 0)
		references_leave(pack->config.refs);
	if (file->failure != 0 && file->head.id != 0)
		links_forget(pack->links, file->st.st_dev, file->st.st_ino);
	return got < 0 ? -1 : 0;
}

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
static int pack_other_type(struct pack *pack, const struct stat *st)
{
	struct walk_item *item = &pack->item;

	if (!S_ISDIR(st->st_mode) && pack_is_mount(item)) {
		item->type = (unsigned char)IFTODT(st->st_mode);
		return pack_special(pack);
	}
	diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
		  "is no regular file any more: left out");
	return 0;
}

int pack_file(struct pack *pack)
{
	struct file file = { .fd = open_file(pack) };
	struct xattr_source from = { .fd = file.fd };
	int got;

	if (file.fd < 0) {
		pack_tell(pack, errno, "opening");
		return 0;
	}
	if (fstat(file.fd, &file.st) != 0) {
		pack_tell(pack, errno, "fstat");
		close(file.fd);
		return 0;
	}
	if (!S_ISREG(file.st.st_mode)) {
		close(file.fd);
		return pack_other_type(pack, &file.st);
	}
	pack_head(pack, &file.head, RECORD_FILE, &file.st);
	got = pack_owners(pack, &file.st);
	if (got == 0)
		got = pack_link(pack, &file.head, &file.st);
	if (got != 0) {
		close(file.fd);
		return got < 0 ? -1 : 0;
	}
	file.head.flags = (uint8_t)pack_list_attributes(pack, &from);
	if (pack_keeps(pack, PRESERVE_HOLES) && extent_sparse(&file.st))
		file.head.flags |= RECORD_SPARSE;
	return pack_contents(pack, &file);
}
