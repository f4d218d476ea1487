/* SPDX-License-Identifier: BSD-2-Clause */
#include "end_tape.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mtio.h>
#include <unistd.h>

static int tape_do(int fd, short op, int count)
{
	struct mtop mt = { .mt_op = op, .mt_count = count };
	int rc;

	do
		rc = ioctl(fd, MTIOCTOP, &mt);
	while (rc != 0 && errno == EINTR);
	return rc;
}

bool tape_is(int fd)
{
	return tape_block(fd) >= 0;
}

int64_t tape_block(int fd)
{
	struct mtget got = { 0 };
	int rc;

	do
		rc = ioctl(fd, MTIOCGET, &got);
	while (rc != 0 && errno == EINTR);
	if (rc != 0)
		return -1;
	return (got.mt_dsreg & MT_ST_BLKSIZE_MASK) >> MT_ST_BLKSIZE_SHIFT;
}

ssize_t tape_read(int fd, void *to, size_t size, bool *again)
{
	ssize_t n;

	*again = false;
	do
		n = read(fd, to, size);
	while (n < 0 && errno == EINTR);
	if (n >= 0 || errno != ENOMEM)
		return n;
	/* The position is behind the record now. */
	*again = tape_do(fd, MTBSR, 1) == 0;
	errno = ENOMEM;
	return -1;
}

int tape_write(int fd, const void *record, size_t size)
{
	ssize_t n;

	do
		n = write(fd, record, size);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)size)
		return 0;
	if (n >= 0)
		errno = n > 0 ? EIO : ENOSPC;
	return -1;
}

int tape_unmark(int fd)
{
	return tape_do(fd, MTBSF, 1);
}
