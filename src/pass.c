/* SPDX-License-Identifier: BSD-2-Clause */
#include "pass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	PIPE_USUAL = 64 << 10,	/* what a pipe holds without us */
	PART_MS = 10,		/* how long the rest of a block is waited for */
	ROOM_MS = 1,		/* how long room is, before the ring is used */
};

void pass_init(struct pass *pass, int in, int out, size_t block, uint64_t held)
{
	int in_size = fcntl(in, F_GETPIPE_SZ), out_size = fcntl(out, F_GETPIPE_SZ);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	*pass = (struct pass){ .in = in, .out = out, .events = -1,
			       .block = block };
	if (in_size < 0 || out_size < 0 || block > (size_t)in_size)
		return;
	pass->in_size = (size_t)in_size;
	pass->patient = held + 2 * PIPE_USUAL <=
			(uint64_t)in_size + (uint64_t)out_size;
	/* The edge: more has come, though something was there before. */
	pass->events = epoll_create1(EPOLL_CLOEXEC);
	if (pass->events >= 0 &&
	    epoll_ctl(pass->events, EPOLL_CTL_ADD, in, &event) != 0)
		pass_destroy(pass);
}

void pass_destroy(struct pass *pass)
{
	if (pass->events >= 0)
		close(pass->events);
	pass->events = -1;
}

bool pass_usable(const struct pass *pass)
{
	return pass->events >= 0;
}

/* Waits for a whole block; less when the rest doesn't come soon, or never. */
static size_t wait_block(struct pass *pass)
{
	for (;;) {
		struct epoll_event event = { 0 };
		int there = 0;

		if (ioctl(pass->in, FIONREAD, &there) != 0)
			return 0;
		if ((size_t)there >= pass->block || pass->hung_up)
			return (size_t)there;
		if (epoll_wait(pass->events, &event, 1,
			       there > 0 ? PART_MS : -1) == 0)
			return (size_t)there;
		pass->hung_up = event.events & (EPOLLHUP | EPOLLERR);
	}
}

/* Waits for room in the output; false when the ring shall take what comes. */
static bool wait_room(const struct pass *pass, size_t there)
{
	struct pollfd room = { pass->out, POLLOUT, 0 };

	if (pass->patient)
		return poll(&room, 1, -1) > 0 || errno == EINTR;
	return poll(&room, 1, there > pass->in_size / 2 ? 0 : ROOM_MS) > 0;
}

/* Moves the rest of a block that was moved in part; all of it is there. */
static int finish_block(const struct pass *pass, size_t *moved)
{
	while (*moved % pass->block) {
		struct pollfd room = { pass->out, POLLOUT, 0 };
		ssize_t n = splice(pass->in, NULL, pass->out, NULL,
				   pass->block - *moved % pass->block,
				   SPLICE_F_MOVE);

		if (n > 0)
			*moved += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			poll(&room, 1, -1);
		else if (n == 0 || errno != EINTR)
			return -1;
	}
	return 0;
}

ssize_t pass_move(struct pass *pass, size_t *moved)
{
	*moved = 0;
	for (;;) {
		size_t there = wait_block(pass);
		ssize_t n;

		if (there < pass->block)
			return 0;
		n = splice(pass->in, NULL, pass->out, NULL,
			   there - there % pass->block,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n > 0) {
			*moved = (size_t)n;
			return finish_block(pass, moved) == 0 ?
				(ssize_t)*moved : -1;
		}
		if (n < 0 && errno == EAGAIN && wait_room(pass, there))
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EINVAL)
			return -1;
		if (n == 0 || errno == EINVAL)	/* not with these: copy */
			pass_destroy(pass);
		return 0;
	}
}
