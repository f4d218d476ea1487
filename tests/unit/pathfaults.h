/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pathfaults: calls on descriptors fail by the path, below the scratch directory, of what
 * they are open on.  For tests that pack, linked with --wrap=pread,--wrap=flistxattr.
 */
#ifndef TARPIPE_PATHFAULTS_H
#define TARPIPE_PATHFAULTS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "tree.h"

static const char *path_of(int fd, char *path, size_t size)
{
	char link[32];
	ssize_t len;
	size_t top = strlen(tree.path) + 1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, size - 1);
	if (len < 0 || (size_t)len <= top)
		return "";
	path[len] = '\0';
	return path + top;
}

static bool fd_due(enum fault_call call, int fd, size_t *len)
{
	char path[512];

	return fault_due(call, path_of(fd, path, sizeof(path)), len);
}

WRAPPED(ssize_t, pread, int fd, void *to, size_t len, off_t at)
{
	return fd_due(PREAD, fd, &len) ? -1 : __real_pread(fd, to, len, at);
}

WRAPPED(ssize_t, flistxattr, int fd, char *to, size_t size)
{
	return fd_due(LISTXATTR, fd, NULL) ? -1 : __real_flistxattr(fd, to, size);
}

#endif
