/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meta: what there is to know of a file beside its bytes, and the order in which
 * extended attributes are put back.
 */
#ifndef TARPIPE_META_H
#define TARPIPE_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* The metadata of one inode, with explicit widths, as it travels. */
struct meta {
	uint32_t mode;		/* type and permissions, as st_mode */
	uint32_t uid, gid;
	uint32_t rdev_major, rdev_minor;
	uint64_t size;		/* bytes; of a symlink: of its target */
	struct timespec atime, mtime;
};

void meta_from_stat(struct meta *meta, const struct stat *st);

/*
 * Classes of attributes, in the order in which they are put back: user.* (and
 * whatever else) after the owner, ACLs after the mode, which they refine, and
 * what the kernel drops at every chown, capabilities above all, last.
 */
enum xattr_class {
	XATTR_SKIP,		/* not carried (see xattr_classify) */
	XATTR_PLAIN,
	XATTR_ACL,
	XATTR_PRIVILEGED,	/* security.*, trusted.* */
};

/*
 * Not carried are attributes that /etc/xattr.conf marks `skip` (read once, at the
 * first call, which must come before there are threads), and those by which
 * cluster file systems describe their own layout.
 */
enum xattr_class xattr_classify(const char *name);

/* Is it among what is preserved (PRESERVE_* of opts.h)?  A second name of another is not. */
bool xattr_is_kept(unsigned preserve, const char *name);

/* For tests: reads another file than /etc/xattr.conf. */
void xattr_read_config(const char *path);

/*
 * The names of a file's attributes, NUL-terminated one after the other, through an
 * open file or (fd -1) of NAME below `dirfd` without following a symlink.
 */
struct xattr_source {
	int fd;			/* open file, or -1 */
	int dirfd;
	const char *name;
	bool handle;		/* fd was opened with O_PATH */
};

/* A buffer that grows and is used again and again; starts zeroed. */
struct xattr_buffer {
	char *bytes;
	size_t size;
};

/*
 * Lists into `buffer`.  Returns the length (0: none, or a file system without
 * attributes), or -1 with errno.
 */
ssize_t xattr_list(const struct xattr_source *source,
		   struct xattr_buffer *buffer);

/* Reads the value of `name` into `buffer`; returns its length, or -1 with errno. */
ssize_t xattr_get(const struct xattr_source *source, const char *name,
		  struct xattr_buffer *buffer);

/* Sets `name`; returns 0, or -1 with errno. */
int xattr_set(const struct xattr_source *target, const char *name,
	      const void *value, size_t size);

/* Removes `name`; one that is not there, or can't be, counts as removed. */
int xattr_remove(const struct xattr_source *target, const char *name);

/* Puts bytes into it that come from elsewhere; returns their length, or -1 with errno. */
ssize_t xattr_buffer_fill(struct xattr_buffer *buffer, const void *from,
			  size_t len);

void xattr_buffer_free(struct xattr_buffer *buffer);

/* What the calling process may do; found out once, by the first call. */
struct privileges {
	uint32_t uid, gid;	/* effective */
	bool chown;		/* CAP_CHOWN */
	bool fowner;		/* CAP_FOWNER */
	bool fsetid;		/* CAP_FSETID */
	bool dac;		/* CAP_DAC_OVERRIDE */
	uint32_t *groups;	/* supplementary */
	size_t ngroups;
};

const struct privileges *privileges_get(void);

/* The caller is a member of the group. */
bool privileges_member(const struct privileges *who, uint32_t gid);

#endif
