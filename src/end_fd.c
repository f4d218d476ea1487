/* SPDX-License-Identifier: BSD-2-Clause */
#include "end_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thread.h"

enum { PIPE_MOST = 1 << 20, PIPE_LEAST = 128 << 10 };

/* Beyond its share of pipe buffers a user gets less, or what there is. */
static void pipe_enlarge(int fd)
{
	int now = fcntl(fd, F_GETPIPE_SZ);

	for (int size = PIPE_MOST; size >= PIPE_LEAST && size > now; size /= 2)
		if (fcntl(fd, F_SETPIPE_SZ, size) >= 0)
			return;
}

bool end_prepare(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return false;
	if (S_ISFIFO(st.st_mode))
		pipe_enlarge(fd);
	return S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) ||
	       S_ISSOCK(st.st_mode);
}

/* After a call that failed: true when it is to be tried again (after a wait). */
static bool call_again(int fd, short events)
{
	struct pollfd ready = { fd, events, 0 };

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN)
		return false;
	return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

/* ---- in ---- */

ssize_t end_read(int fd, void *to, size_t size)
{
	ssize_t n;

	do
		n = read(fd, to, size);
	while (n < 0 && call_again(fd, POLLIN));
	return n;
}

void end_in_init(struct end_in *in, int fd, size_t block, struct ring *ring)
{
	*in = (struct end_in){ .fd = fd, .block = block, .ring = ring };
	in->stream = end_prepare(fd);
}

/* Flushes, too: the next read may wait. */
static void blocks_commit(struct end_in *in, size_t size)
{
	if (size > 0)
		ring_commit(in->ring, size);
	ring_flush(in->ring);
	in->part -= size;
}

/* How far the next read may go: into whole blocks of the ring's room. */
static size_t read_span(const struct end_in *in)
{
	size_t room = ring_room(in->ring);

	if (!in->stream)
		return in->block - in->part;
	if (room > END_PIECE && in->block < END_PIECE)
		room = END_PIECE;
	return room - room % in->block - in->part;
}

ssize_t end_in_read(struct end_in *in, size_t most)
{
	unsigned char *block = ring_reserve(in->ring, in->block);
	size_t size;
	ssize_t n;
	int err;

	if (!block)
		return -1;
	size = read_span(in);
	n = end_read(in->fd, block + in->part, size < most ? size : most);
	err = errno;
	if (n > 0) {
		count_add(&in->bytes, (uint64_t)n);
		in->part += (size_t)n;
		blocks_commit(in, in->part - in->part % in->block);
	} else {
		if (in->part > 0 && in->pad) {
			memset(block + in->part, 0, in->block - in->part);
			in->part = in->block;
		}
		blocks_commit(in, in->part);
		errno = err;
	}
	return n;
}

/* ---- out ---- */

void end_out_init(struct end_out *out, int fd, size_t block)
{
	*out = (struct end_out){ .fd = fd, .block = block };
	out->stream = end_prepare(fd);
}

void end_out_uncached(struct end_out *out, struct cache *cache,
		      const struct stat *st)
{
	if (!S_ISREG(st->st_mode) && !S_ISBLK(st->st_mode))
		return;
	cache_begin_out(&out->data, cache, out->fd, st->st_dev);
	if (out->data.cache)
		cache_stream(&out->data);
}

static ssize_t write_once(struct end_out *out, const void *bytes, size_t size)
{
	return out->data.cache ? cache_write(&out->data, bytes, size, 0) :
				 write(out->fd, bytes, size);
}

size_t end_out_share(const struct end_out *out, size_t size)
{
	size_t share = out->block;

	if (out->stream && share < END_PIECE)
		share = END_PIECE - END_PIECE % share;
	if (size > share)
		return share;
	return size < out->block ? size : size - size % out->block;
}

int end_out_write(struct end_out *out, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size > 0) {
		ssize_t n = write_once(out, at, size);

		if (n < 0 && call_again(out->fd, POLLOUT))
			continue;
		if (n == 0)
			errno = ENOSPC;		/* some devices say it so */
		if (n <= 0)
			return -1;
		count_add(&out->bytes, (uint64_t)n);
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int end_out_close(struct end_out *out, bool sync)
{
	int err = 0;

	if (sync && fsync(out->fd) != 0 && errno != EINVAL && errno != EROFS)
		err = errno;
	cache_end_out(&out->data);
	if (close(out->fd) != 0 && errno != EINTR && err == 0)
		err = errno;
	out->fd = -1;
	errno = err;
	return err ? -1 : 0;
}
