/* SPDX-License-Identifier: BSD-2-Clause */
#include "extent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"

/* ---- holes ---- */

bool extent_sparse(const struct stat *st)
{
	/* st_blocks counts 512 bytes, whatever the file system's blocks. */
	return (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size;
}

int extent_settle(int fd, const struct stat *st)
{
	time_t now = time(NULL);
	time_t changed = st->st_mtim.tv_sec > st->st_ctim.tv_sec ?
				 st->st_mtim.tv_sec :
				 st->st_ctim.tv_sec;

	if (changed < now - 60)
		return 0;
	return fdatasync(fd);
}

int extent_next(int fd, uint64_t from, uint64_t size, uint64_t *start,
		uint64_t *end)
{
	off_t data, hole;

	if (from >= size)
		return 0;
	data = lseek(fd, (off_t)from, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? 0 : -1;
	if ((uint64_t)data >= size)
		return 0;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole < 0)
		return -1;
	*start = (uint64_t)data;
	*end = (uint64_t)hole < size ? (uint64_t)hole : size;
	if (*start < from || *end <= *start) {
		errno = EIO;		/* an answer that makes no sense */
		return -1;
	}
	return 1;
}

bool extent_has_blocks(int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || st.st_blocks > 0;
}

bool extent_zero(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	/* Equal to itself shifted by one, and the first is 0. */
	return len == 0 || (at[0] == 0 && memcmp(at, at + 1, len - 1) == 0);
}

/* ---- space set aside ---- */

static bool space_able(struct extent_space *space, int fd, dev_t dev)
{
	struct statfs fs;

	if (!space->asked || space->dev != dev) {
		space->asked = true;
		space->dev = dev;
		space->able = fstatfs(fd, &fs) == 0 &&
			      fs.f_type == EXT4_SUPER_MAGIC;
	}
	return space->able;
}

int extent_reserve(struct extent_space *space, int fd, dev_t dev, uint64_t size)
{
	int got;

	if (!space_able(space, fd, dev))
		return 0;
	do
		got = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
	while (got != 0 && errno == EINTR);
	if (got == 0)
		return 1;
	if (errno == EOPNOTSUPP || errno == ENOSYS)
		space->able = false;	/* ext3's files */
	return errno == ENOSPC || errno == EDQUOT ? -1 : 0;
}

/* ---- references ---- */

enum {
	PAIRS_MAX = 64,		/* more pairs than this are tried each time */
	RANGE_MAX = 64 << 20,
};

enum ability { CAN_CLONE = 1 << 0, CAN_RANGE = 1 << 1 };

struct pair {
	dev_t from, to;
	unsigned able;		/* enum ability: not yet known to fail */
};

struct references {
	enum reflink mode;
	unsigned ways;		/* enum ability: what may be tried */
	struct lock lock;
	unsigned most;		/* descriptors under way */
	unsigned places;	/* ... that are still free */
	bool cancelled;
	struct pair pairs[PAIRS_MAX];
	size_t npairs;
};

static unsigned all_abilities(enum reflink mode)
{
	return mode == REFLINK_NEVER  ? 0 :
	       mode == REFLINK_ALWAYS ? CAN_CLONE :
					CAN_CLONE | CAN_RANGE;
}

struct references *references_new(enum reflink mode, unsigned descriptors)
{
	struct references *refs = calloc(1, sizeof(*refs));

	if (!refs)
		return NULL;
	refs->mode = mode;
	refs->ways = all_abilities(mode);
	refs->most = refs->places = descriptors;
	lock_init(&refs->lock);
	return refs;
}

void references_clone_only(struct references *refs)
{
	refs->ways &= ~(unsigned)CAN_RANGE;
}

void references_free(struct references *refs)
{
	if (!refs)
		return;
	lock_destroy(&refs->lock);
	free(refs);
}

/* Under the lock. */
static struct pair *find_pair(struct references *refs, dev_t from, dev_t to)
{
	for (size_t i = 0; i < refs->npairs; i++)
		if (refs->pairs[i].from == from && refs->pairs[i].to == to)
			return &refs->pairs[i];
	return NULL;
}

static unsigned abilities(struct references *refs, dev_t from, dev_t to)
{
	unsigned able = refs->ways;

	lock_take(&refs->lock);
	const struct pair *pair = find_pair(refs, from, to);
	if (pair)
		able = pair->able;
	lock_give(&refs->lock);
	return able;
}

static void forget_ability(struct references *refs,
			   const struct extent_copy *copy, unsigned ability)
{
	lock_take(&refs->lock);
	struct pair *pair = find_pair(refs, copy->from, copy->to);
	if (!pair && refs->npairs < PAIRS_MAX) {
		pair = &refs->pairs[refs->npairs++];
		*pair = (struct pair){ copy->from, copy->to, refs->ways };
	}
	if (pair)
		pair->able &= ~ability;
	lock_give(&refs->lock);
}

bool references_possible(struct references *refs, dev_t from, dev_t to)
{
	if (refs->most == 0)
		return false;
	return refs->mode == REFLINK_ALWAYS || abilities(refs, from, to) != 0;
}

bool references_try(struct references *refs)
{
	lock_take(&refs->lock);
	bool entered = refs->places > 0 && !refs->cancelled;
	if (entered)
		refs->places--;
	lock_give(&refs->lock);
	return entered;
}

bool references_enter(struct references *refs)
{
	lock_take(&refs->lock);
	while (refs->places == 0 && !refs->cancelled)
		lock_wait(&refs->lock);
	bool entered = !refs->cancelled;
	if (entered)
		refs->places--;
	lock_give(&refs->lock);
	return entered;
}

void references_leave(struct references *refs)
{
	lock_take(&refs->lock);
	if (refs->places++ == 0)
		lock_notify(&refs->lock);
	lock_give(&refs->lock);
}

void references_cancel(struct references *refs)
{
	lock_take(&refs->lock);
	refs->cancelled = true;
	lock_notify(&refs->lock);
	lock_give(&refs->lock);
}

bool references_cancelled(struct references *refs)
{
	lock_take(&refs->lock);
	bool cancelled = refs->cancelled;
	lock_give(&refs->lock);
	return cancelled;
}

/* Not for this file alone, but between these file systems. */
static bool never_works(int err)
{
	return err == EXDEV || err == EOPNOTSUPP || err == ENOTTY ||
	       err == ENOSYS;
}

/* Says nothing about the file system, but the call is no use here. */
static bool read_instead(int err)
{
	return never_works(err) || err == EINVAL || err == EPERM ||
	       err == EBADF || err == ETXTBSY || err == EOVERFLOW;
}

/* Returns how far it came, or -1; *end is moved there. */
static int copy_range(struct references *refs, struct extent_copy *copy,
		      uint64_t start, uint64_t end)
{
	off_t from = (off_t)start, to = (off_t)start;

	while ((uint64_t)to < end) {
		if (references_cancelled(refs)) {
			errno = ECANCELED;
			return -1;
		}
		uint64_t left = end - (uint64_t)to;
		size_t piece = left < RANGE_MAX ? (size_t)left : RANGE_MAX;
		ssize_t n = copy_file_range(copy->in, &from, copy->out, &to,
					    piece, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && read_instead(errno)) {
			if (never_works(errno))
				forget_ability(refs, copy, CAN_RANGE);
			n = 0;
		}
		copy->done = (uint64_t)to;
		if (n < 0)
			return -1;
		if (n == 0)
			return 0;	/* the end, or not this way */
	}
	return 1;
}

static int copy_ranges(struct references *refs, struct extent_copy *copy)
{
	uint64_t start = 0, end = copy->size;
	int more, got;

	if (!copy->sparse)
		return copy_range(refs, copy, 0, copy->size) < 0 ? -1 : 0;
	while ((more = extent_next(copy->in, copy->done, copy->size, &start,
				   &end)) > 0) {
		got = copy_range(refs, copy, start, end);
		if (got <= 0)
			return got;
	}
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more == 0 && (copy->done > 0 || !extent_has_blocks(copy->in)))
		copy->done = copy->size;
	return 0;
}

int references_copy(struct references *refs, struct extent_copy *copy)
{
	unsigned able = abilities(refs, copy->from, copy->to);

	copy->done = 0;
	if (able & CAN_CLONE) {
		if (ioctl(copy->out, FICLONE, copy->in) == 0) {
			copy->done = copy->size;
			return 0;
		}
		if (refs->mode == REFLINK_ALWAYS)
			return -1;
		if (never_works(errno))
			forget_ability(refs, copy, CAN_CLONE);
		else if (!read_instead(errno))
			return -1;
	}
	if (able & CAN_RANGE)
		return copy_ranges(refs, copy);
	return 0;
}
