/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drive: a tape drive in place of one descriptor, for tests that link with
 * $(drive_wraps): records and filemarks in memory, and calls that fail.
 *
 * Include it after cmocka.h and faults.h.  READ and WRITE of faults.h meet `drive.fd`
 * only, tape or not.
 */
#ifndef TARPIPE_DRIVE_H
#define TARPIPE_DRIVE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mtio.h>
#include <unistd.h>

#include "faults.h"

enum { DRIVE_RECORDS = 64, DRIVE_MARK = -1 };

static struct {
	int fd;			/* what is replaced; -1: nothing */
	bool tape;
	struct { int size; unsigned char *bytes; } on[DRIVE_RECORDS];
	int count, at;
	unsigned block;		/* fixed blocks */
	bool no_back;
	int interrupts;		/* so many calls are interrupted */
	int astray;		/* records written from within a page */
} drive = { .fd = -1 };

static inline void drive_clear(void)
{
	for (int i = 0; i < drive.count; i++)
		free(drive.on[i].bytes);
	memset(&drive, 0, sizeof(drive));
	drive.fd = -1;
	faults_clear();
}

/* Puts a record (or DRIVE_MARK) at the end of the tape; the head stays. */
static inline void drive_put(const void *bytes, int size)
{
	int i = drive.count;

	assert_in_range(i, 0, DRIVE_RECORDS - 1);
	if (i >= DRIVE_RECORDS)
		return;
	drive.count++;
	drive.on[i].size = size;
	drive.on[i].bytes = malloc(size > 0 ? (size_t)size : 1);
	if (size > 0)
		memcpy(drive.on[i].bytes, bytes, (size_t)size);
}

static inline bool drive_interrupted(void)
{
	if (drive.interrupts == 0)
		return false;
	drive.interrupts--;
	errno = EINTR;
	return true;
}

static inline int drive_fail(int err)
{
	errno = err;
	return -1;
}

static inline ssize_t drive_read(void *to, size_t size)
{
	int at = drive.at;

	if (at == drive.count)
		return drive_fail(EIO);
	drive.at++;
	if (drive.on[at].size == DRIVE_MARK)
		return 0;
	if ((size_t)drive.on[at].size > size)
		return drive_fail(ENOMEM);
	memcpy(to, drive.on[at].bytes, (size_t)drive.on[at].size);
	return drive.on[at].size;
}

static inline int drive_do(const struct mtop *op)
{
	if (op->mt_op == MTBSR && drive.no_back)
		return drive_fail(EIO);
	if (op->mt_op == MTBSR)
		drive.at -= op->mt_count;
	else if (op->mt_op == MTBSF)
		while (drive.on[--drive.at].size != DRIVE_MARK)
			;
	else
		return drive_fail(EINVAL);
	return 0;
}

WRAPPED(ssize_t, read, int fd, void *to, size_t size)
{
	if (fd != drive.fd)
		return __real_read(fd, to, size);
	if (drive_interrupted() || fault_due(READ, NULL, &size))
		return -1;
	return drive.tape ? drive_read(to, size) : __real_read(fd, to, size);
}

WRAPPED(ssize_t, write, int fd, const void *bytes, size_t size)
{
	if (fd != drive.fd)
		return __real_write(fd, bytes, size);
	if (drive_interrupted() || fault_due(WRITE, NULL, &size))
		return -1;
	if (!drive.tape)
		return __real_write(fd, bytes, size);
	drive_put(bytes, (int)size);
	drive.astray += (uintptr_t)bytes % 4096 != 0;
	return (ssize_t)size;
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (fd != drive.fd || !drive.tape)
		return __real_ioctl(fd, request, arg);
	if (drive_interrupted())
		return -1;
	if (request == MTIOCTOP)
		return drive_do(arg);
	if (request != MTIOCGET)
		return drive_fail(EINVAL);
	memset(arg, 0, sizeof(struct mtget));
	((struct mtget *)arg)->mt_dsreg = (long)(drive.block | 0x45000000u);
	return 0;
}

#endif
