/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "diag.h"
#include "extent.h"

/* What older headers lack. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

enum { PAGE = 4096 };

void cache_init(struct cache *cache, bool on)
{
	*cache = (struct cache){ .on = on };
}

/* ---- file systems that don't know RWF_DONTCACHE ---- */

static bool is_refused(const struct cache *cache, dev_t dev)
{
	for (unsigned i = 0; i < CACHE_REFUSED && i < cache->nrefused; i++)
		if (cache->refused[i] == dev)
			return true;
	return false;
}

/* After a call with the flag: whether it is to be tried without, from now on. */
static bool refuses(struct cache *cache, dev_t dev)
{
	if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)
		return false;
	cache->refused[cache->nrefused++ % CACHE_REFUSED] = dev;
	return true;
}

/*
 * The offset for a call with the flag, -1 where the file stands.  False with errno for what is
 * none: it must not be taken for that.
 */
static bool offset_of(const struct cache_file *file, uint64_t at, off_t *offset)
{
	*offset = file->stream ? -1 : (off_t)at;
	if (file->stream || at <= INT64_MAX)
		return true;
	errno = EINVAL;
	return false;
}

void cache_stream(struct cache_file *file)
{
	off_t here = lseek(file->fd, 0, SEEK_CUR);

	file->stream = true;
	if (here > 0)
		file->here = file->window = file->dropped = (uint64_t)here;
}

/* `size` 0: to the end. */
static void drop(int fd, uint64_t from, uint64_t size)
{
	(void)posix_fadvise(fd, (off_t)from, (off_t)size, POSIX_FADV_DONTNEED);
}

/* ---- reading ---- */

void cache_begin_in(struct cache_file *file, struct cache *cache, int fd,
		    const struct stat *st)
{
	*file = (struct cache_file){ .fd = fd };
	if (!cache->on)
		return;
	file->cache = cache;
	file->dev = st->st_dev;
	file->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : UINT64_MAX;
	file->sparse = S_ISREG(st->st_mode) && extent_sparse(st);
	/* Nobody would read, and so drop, what is read ahead in a hole. */
	if (file->sparse)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

/* How many pages of [from, from + size) (0: to the end) are cached; 0 when nobody can tell. */
static uint64_t cached_pages(int fd, uint64_t from, uint64_t size)
{
#if defined(SYS_cachestat) || !defined(__alpha__)
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
	uint64_t range[2] = { from, size }, counts[5] = { 0 };

	return syscall(SYS_cachestat, fd, range, counts, 0) == 0 ? counts[0] : 0;
#else
	return 0;
#endif
}

bool cache_has(int fd, uint64_t from, uint64_t to)
{
	return to > from && cached_pages(fd, from, to - from) > 0;
}

/*
 * Half of it or more is cached.  False where the kernel can't tell (before Linux 6.5): then
 * it is dropped like the others.
 */
static bool is_cached(const struct cache_file *file)
{
	uint64_t pages = cached_pages(file->fd, 0, 0);

	return pages > 0 && pages * 2 >= file->size / PAGE;
}

/* Each time from a window before: large folios lie across the border. */
static void drop_read(struct cache_file *file, uint64_t end)
{
	if (end >= file->size || file->sparse) {
		drop(file->fd, 0, 0);
	} else if (end >= file->window + CACHE_WINDOW) {
		uint64_t from = file->window > CACHE_WINDOW ?
					file->window - CACHE_WINDOW :
					0;

		drop(file->fd, from, end - from);
		file->window = end;
	}
}

static ssize_t plain_read(const struct cache_file *file, void *to, size_t size,
			  uint64_t at)
{
	return file->stream ? read(file->fd, to, size) :
			      pread(file->fd, to, size, (off_t)at);
}

/* As a file that has pages of its own in the cache; drops them. */
static ssize_t read_and_drop(struct cache_file *file, void *to, size_t size,
			     uint64_t at)
{
	ssize_t n;

	if (!file->looked) {
		file->looked = true;
		file->stays = is_cached(file);
	}
	n = plain_read(file, to, size, at);
	if (n > 0 && !file->stays)
		drop_read(file, (file->stream ? file->here : at) + (size_t)n);
	return n;
}

ssize_t cache_read(struct cache_file *file, void *to, size_t size, uint64_t at)
{
	struct iovec vector = { to, size };
	bool refused;
	off_t offset;
	ssize_t n = -1;

	if (!file->cache)
		return plain_read(file, to, size, at);
	if (!offset_of(file, at, &offset))
		return -1;
	refused = is_refused(file->cache, file->dev);
	if (!refused) {
		n = preadv2(file->fd, &vector, 1, offset, RWF_DONTCACHE);
		refused = n < 0 && refuses(file->cache, file->dev);
	}
	if (refused)
		n = read_and_drop(file, to, size, at);
	if (n > 0 && file->stream)
		file->here += (size_t)n;
	return n;
}

/* ---- writing ---- */

void cache_begin_out(struct cache_file *file, struct cache *cache, int fd,
		     dev_t dev)
{
	*file = (struct cache_file){ .fd = fd };
	if (!cache->on)
		return;
	file->cache = cache;
	file->dev = dev;
}

/* Bytes are lost; anything else means only that they can't be sent now. */
static bool is_loss(int err)
{
	return err == EIO || err == ENOSPC || err == EDQUOT;
}

/* Waits until [from, from + size) (0: to the end) is on the medium, and drops it. */
static int drop_written(int fd, uint64_t from, uint64_t size)
{
	if (sync_file_range(fd, (off_t)from, (off_t)size,
			    SYNC_FILE_RANGE_WAIT_BEFORE |
				    SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER) != 0 &&
	    is_loss(errno))
		return -1;
	drop(fd, from, size);
	return 0;
}

/* One window is on its way while the next one is filled. */
static int window_written(struct cache_file *file, uint64_t end)
{
	if (end < file->window + CACHE_WINDOW)
		return 0;
	(void)sync_file_range(file->fd, (off_t)file->window,
			      (off_t)(end - file->window),
			      SYNC_FILE_RANGE_WRITE);
	if (file->window > file->dropped &&
	    drop_written(file->fd, file->dropped,
			 file->window - file->dropped) != 0)
		return -1;
	file->dropped = file->window;
	file->window = end;
	return 0;
}

static ssize_t plain_write(const struct cache_file *file, const void *bytes,
			   size_t size, uint64_t at)
{
	return file->stream ? write(file->fd, bytes, size) :
			      pwrite(file->fd, bytes, size, (off_t)at);
}

ssize_t cache_write(struct cache_file *file, const void *bytes, size_t size,
		    uint64_t at)
{
	struct iovec vector = { (void *)(uintptr_t)bytes, size };
	uint64_t from = file->stream ? file->here : at;
	bool refused;
	off_t offset;
	ssize_t n = -1;

	if (!file->cache)
		return plain_write(file, bytes, size, at);
	if (!offset_of(file, at, &offset))
		return -1;
	refused = is_refused(file->cache, file->dev);
	if (!refused) {
		n = pwritev2(file->fd, &vector, 1, offset, RWF_DONTCACHE);
		refused = n < 0 && refuses(file->cache, file->dev);
	}
	if (refused)
		n = plain_write(file, bytes, size, at);
	if (n <= 0)
		return n;
	if (file->stream)
		file->here += (size_t)n;
	file->torn |= from % PAGE != 0;
	if ((refused || file->torn) && window_written(file, from + (size_t)n) != 0)
		return -1;
	return n;
}

/* ---- files that are complete, and not on the medium ---- */

/* Nobody else knows any more what it is called. */
static void tell_lost(int fd, int err)
{
	char link[32], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	diag_fail(STATUS_PARTIAL, len > 0 ? path : NULL, err,
		  "sync_file_range");
}

static void let_go(int fd, bool hurry)
{
	if (!hurry && drop_written(fd, 0, 0) != 0)
		tell_lost(fd, errno);
	(void)close(fd);
}

static void let_oldest_go(struct cache *cache, bool hurry)
{
	let_go(cache->held[0], hurry);
	cache->nheld--;
	memmove(cache->held, cache->held + 1, cache->nheld * sizeof(int));
}

void cache_end_out(struct cache_file *file)
{
	struct cache *cache = file->cache;
	int fd;

	file->cache = NULL;
	/* What was written with the flag drops by itself. */
	if (!cache || (!file->torn && !is_refused(cache, file->dev)))
		return;
	(void)sync_file_range(file->fd, (off_t)file->dropped, 0,
			      SYNC_FILE_RANGE_WRITE);
	if (cache->nheld == CACHE_HELD)
		let_oldest_go(cache, false);
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		cache->held[cache->nheld++] = fd;
	else if (drop_written(file->fd, 0, 0) != 0)
		tell_lost(file->fd, errno);
}

void cache_destroy(struct cache *cache, bool hurry)
{
	while (cache->nheld > 0)
		let_oldest_go(cache, hurry);
}
