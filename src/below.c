/* SPDX-License-Identifier: BSD-2-Clause */
#include "below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAY = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool is_plain(const char *at, size_t len)
{
	return len > 0 && len <= NAME_MAX && !(len == 1 && at[0] == '.') &&
	       !(len == 2 && at[0] == '.' && at[1] == '.');
}

/* Every component is a name.  errno says what is wrong with it. */
static bool path_is_plain(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!is_plain(path, len)) {
			errno = len > NAME_MAX ? ENAMETOOLONG : EINVAL;
			return false;
		}
		if (path[len] == '\0')
			return true;
		path += len + 1;
	}
}

/* One call, where the kernel has it and the path is not too long for it. */
static int open_at_once(int root, const char *path, size_t len)
{
	struct open_how how = {
		.flags = WAY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	char way[PATH_MAX];

	if (len >= sizeof(way)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(way, path, len);
	way[len] = '\0';
	return (int)syscall(SYS_openat2, root, way, &how, sizeof(how));
}

static int open_by_steps(int root, const char *path, size_t len, bool follow)
{
	const int way = follow ? WAY & ~O_NOFOLLOW : WAY;
	int fd = openat(root, ".", WAY);
	char name[NAME_MAX + 1];

	for (size_t at = 0; fd >= 0 && at < len;) {
		size_t part = strcspn(path + at, "/");
		int next, err;

		memcpy(name, path + at, part);
		name[part] = '\0';
		next = openat(fd, name, way);
		err = errno;
		close(fd);
		fd = next;
		errno = err;
		at += part + 1;
	}
	return fd;
}

int below_open(int root, const char *path, bool follow, const char **last)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int fd = -1;

	if (!path_is_plain(path))
		return -1;
	*last = slash ? slash + 1 : path;
	if (len > 0 && !follow)
		fd = open_at_once(root, path, len);
	if (len == 0 || follow || (fd < 0 && (errno == ENOSYS || errno == EPERM ||
				    errno == EAGAIN || errno == EINVAL ||
				    errno == ENAMETOOLONG)))
		fd = open_by_steps(root, path, len, follow);
	return fd;
}
