/* SPDX-License-Identifier: BSD-2-Clause */
#include "fskind.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

/* Not in every <linux/magic.h>. */
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xFE534D42
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400
#endif

static const uint32_t made_up[] = {
	PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 DEBUGFS_MAGIC,
	TRACEFS_MAGIC,	    SECURITYFS_MAGIC,	 SELINUX_MAGIC,
	SMACK_MAGIC,	    CGROUP_SUPER_MAGIC,	 CGROUP2_SUPER_MAGIC,
	PSTOREFS_MAGIC,	    EFIVARFS_MAGIC,	 BPF_FS_MAGIC,
	BINFMTFS_MAGIC,	    NSFS_MAGIC,		 CONFIGFS_MAGIC,
	MQUEUE_MAGIC,
};

static const uint32_t remote[] = {
	FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  CIFS_SUPER_MAGIC,
	SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC, V9FS_MAGIC,
};

static bool is_among(uint32_t type, const uint32_t *magics, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (type == magics[i])
			return true;
	return false;
}

enum fskind fskind_of(int fd)
{
	struct statfs fs;
	uint32_t type;

	if (fstatfs(fd, &fs) != 0)
		return FSKIND_USUAL;
	type = (uint32_t)fs.f_type;	/* some have a sign */
	if (is_among(type, made_up, sizeof(made_up) / sizeof(*made_up)))
		return FSKIND_MADE_UP;
	if (is_among(type, remote, sizeof(remote) / sizeof(*remote)))
		return FSKIND_REMOTE;
	return FSKIND_USUAL;
}
