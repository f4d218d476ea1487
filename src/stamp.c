/* SPDX-License-Identifier: BSD-2-Clause */
#include "stamp.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

/* Not in every <linux/magic.h>. */
#define EXFAT_MAGIC 0x2011bab0
#define FUSE_MAGIC 0x65735546
#define CIFS_MAGIC 0xff534d42
#define SMB2_MAGIC 0xfe534d42
#define NTFS_MAGIC 0x5346544e
#define NTFS3_MAGIC 0x7366746e
#define HFS_MAGIC 0x4244
#define HFSPLUS_MAGIC 0x482b
#define UDF_MAGIC 0x15013346

enum { SECOND = 1000000000, NTFS_GRAIN = 100 };

static const struct {
	uint32_t type, grain;
} kinds[] = {
	{ MSDOS_SUPER_MAGIC, 2000000000 }, { EXFAT_MAGIC, 10000000 },
	{ NTFS_MAGIC, NTFS_GRAIN },	   { NTFS3_MAGIC, NTFS_GRAIN },
	{ HFS_MAGIC, SECOND },		   { HFSPLUS_MAGIC, SECOND },
	{ UDF_MAGIC, 1000 },
};

static uint32_t type_of(struct stamp_fs *fs, int fd, dev_t dev)
{
	struct statfs is;

	if (!fs->known || fs->dev != dev) {
		fs->known = true;
		fs->dev = dev;
		fs->type = fstatfs(fd, &is) == 0 ? (uint32_t)is.f_type : 0;
	}
	return fs->type;
}

/* Neither time has digits below `step`. */
static bool is_round(const struct stat *st, long step)
{
	return st->st_mtim.tv_nsec % step == 0 && st->st_ctim.tv_nsec % step == 0;
}

/* What somebody else's file system is made on may be anything. */
static bool is_a_front(uint32_t type)
{
	return type == FUSE_MAGIC || type == CIFS_MAGIC || type == SMB2_MAGIC;
}

uint32_t stamp_grain(struct stamp_fs *fs, int fd, const struct stat *st)
{
	uint32_t type = type_of(fs, fd, st->st_dev);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == type)
			return kinds[i].grain;
	if (is_round(st, SECOND))
		return SECOND;
	return is_a_front(type) && is_round(st, NTFS_GRAIN) ? NTFS_GRAIN : 1;
}

/* How much later `b` is, in ns: a few seconds at most, and as many when it is earlier. */
static int64_t apart(const struct timespec *a, const struct timespec *b)
{
	const int64_t most = 4;
	int64_t seconds;

	/* A stream may say any time. */
	if (__builtin_sub_overflow((int64_t)b->tv_sec, (int64_t)a->tv_sec,
				   &seconds))
		seconds = b->tv_sec > a->tv_sec ? most : -most;
	if (seconds > most)
		seconds = most;
	if (seconds < -most)
		seconds = -most;
	return seconds * SECOND + (b->tv_nsec - a->tv_nsec);
}

bool stamp_is_before(const struct timespec *when, const struct timespec *then,
		     uint32_t grain)
{
	return apart(when, then) >= (int64_t)grain;
}

bool stamp_time_fits(const struct timespec *want, const struct timespec *have,
		     uint32_t grain)
{
	int64_t ns = apart(have, want);

	if (ns == 0)
		return true;
	return ns > 0 && ns < (int64_t)grain &&
	       have->tv_nsec % (long)(grain < SECOND ? grain : SECOND) == 0 &&
	       (grain <= SECOND || have->tv_sec % (grain / SECOND) == 0);
}

bool stamp_fits(const struct meta *want, const struct stat *have,
		uint32_t grain)
{
	return ((want->mode ^ have->st_mode) & S_IFMT) == 0 &&
	       want->size == (uint64_t)have->st_size &&
	       stamp_time_fits(&want->mtime, &have->st_mtim, grain);
}
