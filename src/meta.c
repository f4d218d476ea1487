/* SPDX-License-Identifier: BSD-2-Clause */
#include "meta.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "opts.h"

void meta_from_stat(struct meta *meta, const struct stat *st)
{
	meta->mode = st->st_mode;
	meta->uid = st->st_uid;
	meta->gid = st->st_gid;
	meta->rdev_major = major(st->st_rdev);
	meta->rdev_minor = minor(st->st_rdev);
	meta->size = (uint64_t)st->st_size;
	meta->atime = st->st_atim;
	meta->mtime = st->st_mtim;
}

/* ---- which attributes are carried ---- */

/* How cluster file systems place a file: of no meaning on another one. */
static const char *const layout_patterns[] = {
	"lustre.*",	"trusted.lov",	"trusted.lma",
	"trusted.link", "trusted.gfid", "trusted.glusterfs.*",
};

enum { SKIPS_MAX = 64, PATTERN_MAX = 256 };

static char skip_patterns[SKIPS_MAX][PATTERN_MAX];
static size_t nskips;
static bool config_read;

/* Lines of xattr.conf(5): PATTERN ACTION, # begins a comment. */
void xattr_read_config(const char *path)
{
	char line[1024], pattern[PATTERN_MAX], action[32];
	FILE *file = fopen(path, "re");

	config_read = true;
	nskips = 0;
	if (!file)
		return;
	while (nskips < SKIPS_MAX && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#")] = '\0';
		if (sscanf(line, "%255s %31s", pattern, action) == 2 &&
		    strcmp(action, "skip") == 0)
			memcpy(skip_patterns[nskips++], pattern,
			       sizeof(pattern));
	}
	fclose(file);
}

static bool xattr_skipped(const char *name)
{
	size_t n = sizeof(layout_patterns) / sizeof(*layout_patterns);

	if (!config_read)
		xattr_read_config("/etc/xattr.conf");
	for (size_t i = 0; i < n; i++)
		if (fnmatch(layout_patterns[i], name, 0) == 0)
			return true;
	for (size_t i = 0; i < nskips; i++)
		if (fnmatch(skip_patterns[i], name, 0) == 0)
			return true;
	return false;
}

enum xattr_class xattr_classify(const char *name)
{
	if (xattr_skipped(name))
		return XATTR_SKIP;
	if (strcmp(name, "system.posix_acl_access") == 0 ||
	    strcmp(name, "system.posix_acl_default") == 0 ||
	    strncmp(name, "system.nfs4", 11) == 0 ||
	    strcmp(name, "system.richacl") == 0)
		return XATTR_ACL;
	if (strncmp(name, "security.", 9) == 0 ||
	    strncmp(name, "trusted.", 8) == 0)
		return XATTR_PRIVILEGED;
	return XATTR_PLAIN;
}

/* XFS shows ACLs under a second name as well: no attributes of their own. */
static bool is_second_face(const char *name)
{
	return strcmp(name, "trusted.SGI_ACL_FILE") == 0 ||
	       strcmp(name, "trusted.SGI_ACL_DEFAULT") == 0;
}

bool xattr_is_kept(unsigned preserve, const char *name)
{
	enum xattr_class class = xattr_classify(name);

	return class != XATTR_SKIP && !is_second_face(name) &&
	       (preserve & (class == XATTR_ACL ? PRESERVE_ACL : PRESERVE_XATTR));
}

/* ---- attribute calls ---- */

/*
 * There is no *at() call for the attributes of a symlink or a device before Linux
 * 6.13; the magic link of the held directory, or of a handle, makes one.  That of
 * a handle has to be followed, and leads to the very inode, symlink or not.
 */
enum { PROC_PATH_MAX = 32 + 256 };

static const char *xattr_path(const struct xattr_source *at, char *path)
{
	int len;

	if (at->handle) {
		snprintf(path, PROC_PATH_MAX, "/proc/self/fd/%d", at->fd);
		return path;
	}
	if (at->dirfd == AT_FDCWD)
		return at->name;
	len = snprintf(path, PROC_PATH_MAX, "/proc/self/fd/%d/%s", at->dirfd,
		       at->name);
	if (len < PROC_PATH_MAX)
		return path;
	errno = ENAMETOOLONG;
	return NULL;
}

static bool buffer_reserve(struct xattr_buffer *buffer, size_t size)
{
	char *bytes;

	if (buffer->size >= size)
		return true;
	bytes = realloc(buffer->bytes, size);
	if (!bytes)
		return false;
	buffer->bytes = bytes;
	buffer->size = size;
	return true;
}

static ssize_t list_once(const struct xattr_source *source, char *out,
			 size_t size)
{
	char room[PROC_PATH_MAX];
	const char *path;

	if (source->fd >= 0 && !source->handle)
		return flistxattr(source->fd, out, size);
	path = xattr_path(source, room);
	if (!path)
		return -1;
	return source->handle ? listxattr(path, out, size) :
				llistxattr(path, out, size);
}

static ssize_t get_once(const struct xattr_source *source, const char *name,
			char *out, size_t size)
{
	char room[PROC_PATH_MAX];
	const char *path;

	if (source->fd >= 0 && !source->handle)
		return fgetxattr(source->fd, name, out, size);
	path = xattr_path(source, room);
	if (!path)
		return -1;
	return source->handle ? getxattr(path, name, out, size) :
				lgetxattr(path, name, out, size);
}

/* Small first: the kernel clears as much as it is offered. */
enum { FIRST_TRY = 1024, VALUE_MAX = 64 << 10 };

static ssize_t xattr_read(const struct xattr_source *source, const char *name,
			  struct xattr_buffer *buffer)
{
	ssize_t len;

	if (!buffer_reserve(buffer, FIRST_TRY))
		return -1;
	for (size_t size = FIRST_TRY;; size = VALUE_MAX) {
		if (!buffer_reserve(buffer, size))
			return -1;
		len = name ? get_once(source, name, buffer->bytes, size) :
			     list_once(source, buffer->bytes, size);
		if (len >= 0 || errno != ERANGE || size == VALUE_MAX)
			return len;
	}
}

ssize_t xattr_list(const struct xattr_source *source,
		   struct xattr_buffer *buffer)
{
	ssize_t len = xattr_read(source, NULL, buffer);

	if (len < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
		return 0;
	return len;
}

ssize_t xattr_get(const struct xattr_source *source, const char *name,
		  struct xattr_buffer *buffer)
{
	return xattr_read(source, name, buffer);
}

int xattr_set(const struct xattr_source *target, const char *name,
	      const void *value, size_t size)
{
	char room[PROC_PATH_MAX];
	const char *path;

	if (target->fd >= 0 && !target->handle)
		return fsetxattr(target->fd, name, value, size, 0);
	path = xattr_path(target, room);
	if (!path)
		return -1;
	return target->handle ? setxattr(path, name, value, size, 0) :
				lsetxattr(path, name, value, size, 0);
}

int xattr_remove(const struct xattr_source *target, const char *name)
{
	char room[PROC_PATH_MAX];
	const char *path;
	int done;

	if (target->fd >= 0 && !target->handle)
		done = fremovexattr(target->fd, name);
	else if ((path = xattr_path(target, room)) != NULL)
		done = target->handle ? removexattr(path, name) :
					lremovexattr(path, name);
	else
		return -1;
	if (done != 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return 0;
	return done;
}

ssize_t xattr_buffer_fill(struct xattr_buffer *buffer, const void *from,
			  size_t len)
{
	if (!buffer_reserve(buffer, len > 0 ? len : 1))
		return -1;
	memcpy(buffer->bytes, from, len);
	return (ssize_t)len;
}

void xattr_buffer_free(struct xattr_buffer *buffer)
{
	free(buffer->bytes);
	buffer->bytes = NULL;
	buffer->size = 0;
}

/* ---- privileges ---- */

static bool has_capability(const struct __user_cap_data_struct *data, int cap)
{
	return data[cap / 32].effective & (1U << (cap % 32));
}

static void privileges_read(struct privileges *who)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };
	int n = getgroups(0, NULL);

	who->uid = geteuid();
	who->gid = getegid();
	if (syscall(SYS_capget, &header, data) == 0) {
		who->chown = has_capability(data, CAP_CHOWN);
		who->fowner = has_capability(data, CAP_FOWNER);
		who->fsetid = has_capability(data, CAP_FSETID);
		who->dac = has_capability(data, CAP_DAC_OVERRIDE);
	}
	if (n <= 0)
		return;
	who->groups = calloc((size_t)n, sizeof(*who->groups));
	if (who->groups && (n = getgroups(n, who->groups)) > 0)
		who->ngroups = (size_t)n;
}

const struct privileges *privileges_get(void)
{
	static struct privileges who;
	static bool known;

	if (!known) {
		privileges_read(&who);
		known = true;
	}
	return &who;
}

bool privileges_member(const struct privileges *who, uint32_t gid)
{
	if (gid == who->gid)
		return true;
	for (size_t i = 0; i < who->ngroups; i++)
		if (who->groups[i] == gid)
			return true;
	return false;
}
