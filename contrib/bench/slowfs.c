/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slowfs: a directory as over a slow network, on FUSE.
 *
 *     slowfs [-f] [--delay=MS] [--dirs] [--stat] DIR MOUNTPOINT
 *
 * Shows DIR at MOUNTPOINT, read-only, and lets 5 milliseconds pass before it
 * answers each open and each read, however many wait at the same time.
 *
 *     -f            stay in the foreground
 *     --delay=MS    another delay, fractions allowed, at most 60000
 *     --dirs        the same for each opendir and each directory that is read
 *     --stat        the same for each look-up, stat, readlink and attribute
 *
 * It returns when it is mounted, and the process behind it ends when MOUNTPOINT
 * is unmounted.  As on a network file system, names and attributes are good for
 * a second, and each open forgets what was cached of the file's data.  The
 * kernel asks for at most 128 KiB in a read unless the read_ahead_kb of the
 * mount (/sys/class/bdi/MAJOR:MINOR) is raised.
 *
 * Types, modes, owners, times, link counts, inode numbers, targets, extended
 * attributes and ACLs are DIR's own; holes aren't told.  A name longer than
 * PATH_MAX, from DIR on, can't be reached.
 *
 * Build: cc -pthread slowfs.c $(pkg-config --cflags --libs fuse3), 3.12 or newer.
 */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* More than any reader has in flight; the library's default of 10 is the limit
 * of a machine and not of a network. */
enum { MAX_THREADS = 256 };

struct slow {
	int root;		/* fd of DIR */
	struct timespec delay;
	bool foreground, dirs, stats;
};

static const struct slow *slow_get(void)
{
	return fuse_get_context()->private_data;
}

static void slow_wait(const struct slow *slow)
{
	struct timespec left = slow->delay;

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void slow_wait_stat(const struct slow *slow)
{
	if (slow->stats)
		slow_wait(slow);
}

/* The library's paths begin with the slash of the mount point. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

/* The xattr calls have no fd-relative form. */
static int xattr_path(const struct slow *slow, const char *path, char *full, size_t room)
{
	int len = snprintf(full, room, "/proc/self/fd/%d/%s", slow->root, below(path));

	return len >= 0 && (size_t)len < room ? 0 : -ENAMETOOLONG;
}

static int answer(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

/* ---- names and attributes ---- */

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const struct slow *slow = slow_get();

	(void)fi;
	slow_wait_stat(slow);
	return answer(fstatat(slow->root, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int slow_readlink(const char *path, char *target, size_t room)
{
	const struct slow *slow = slow_get();
	ssize_t len;

	slow_wait_stat(slow);
	len = readlinkat(slow->root, below(path), target, room - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	return 0;
}

static int slow_getxattr(const char *path, const char *name, char *value, size_t size)
{
	const struct slow *slow = slow_get();
	char full[PATH_MAX];
	int rc = xattr_path(slow, path, full, sizeof(full));

	slow_wait_stat(slow);
	return rc < 0 ? rc : answer(lgetxattr(full, name, value, size));
}

static int slow_listxattr(const char *path, char *list, size_t size)
{
	const struct slow *slow = slow_get();
	char full[PATH_MAX];
	int rc = xattr_path(slow, path, full, sizeof(full));

	slow_wait_stat(slow);
	return rc < 0 ? rc : answer(llistxattr(full, list, size));
}

static int slow_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	return answer(fstatvfs(slow_get()->root, st));
}

/* ---- directories ---- */

static int slow_opendir(const char *path, struct fuse_file_info *fi)
{
	const struct slow *slow = slow_get();
	DIR *dir = NULL;
	int fd;

	if (slow->dirs)
		slow_wait(slow);
	fd = openat(slow->root, below(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return -error;
	}
	fi->fh = (uintptr_t)dir;
	return 0;
}

/* The library keeps the whole list and hands it out in pieces. */
static int slow_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	const struct slow *slow = slow_get();
	DIR *dir = (DIR *)(uintptr_t)fi->fh;
	struct dirent *found;

	(void)path;
	(void)offset;
	(void)flags;
	if (slow->dirs)
		slow_wait(slow);
	rewinddir(dir);
	while (errno = 0, (found = readdir(dir))) {
		struct stat st = { .st_ino = found->d_ino, .st_mode = DTTOIF(found->d_type) };

		if (fill(list, found->d_name, &st, 0, 0))
			return -ENOMEM;
	}
	return -errno;
}

static int slow_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	closedir((DIR *)(uintptr_t)fi->fh);
	return 0;
}

/* ---- files ---- */

static int slow_open(const char *path, struct fuse_file_info *fi)
{
	const struct slow *slow = slow_get();
	int fd;

	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		return -EROFS;
	slow_wait(slow);
	fd = openat(slow->root, below(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->keep_cache = 0;
	return 0;
}

static int slow_read(const char *path, char *data, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	(void)path;
	slow_wait(slow_get());
	return answer(pread((int)fi->fh, data, size, offset));
}

static int slow_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

/* ---- the mount ---- */

static void *slow_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	/* What is read ahead goes in the background, 12 at a time by default. */
	conn->max_background = MAX_THREADS;
	conn->congestion_threshold = MAX_THREADS;
	config->use_ino = 1;
	config->readdir_ino = 1;
	config->entry_timeout = 1;
	config->attr_timeout = 1;
	config->negative_timeout = 0;
	config->kernel_cache = 0;
	config->nullpath_ok = 0;
	return fuse_get_context()->private_data;
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr,
	.readlink = slow_readlink,
	.getxattr = slow_getxattr,
	.listxattr = slow_listxattr,
	.statfs = slow_statfs,
	.opendir = slow_opendir,
	.readdir = slow_readdir,
	.releasedir = slow_releasedir,
	.open = slow_open,
	.read = slow_read,
	.release = slow_release,
};

/* Answers requests until it is unmounted or told to end; 0 when it was mounted. */
static int serve_mounted(struct fuse *fuse, const struct slow *slow)
{
	struct fuse_session *session = fuse_get_session(fuse);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int rc = -1;

	if (!config)
		return -1;
	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, MAX_THREADS);
	if (fuse_daemonize(slow->foreground) == 0 && fuse_set_signal_handlers(session) == 0) {
		rc = fuse_loop_mt(fuse, config) < 0 ? -1 : 0;
		fuse_remove_signal_handlers(session);
	}
	fuse_loop_cfg_destroy(config);
	return rc;
}

static int serve(struct slow *slow, char *program, const char *dir, const char *mountpoint)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char options[PATH_MAX + 128];
	struct fuse *fuse;
	int rc = -1;

	/* Only root may let others in. */
	snprintf(options, sizeof(options), "-oro,default_permissions,subtype=slowfs%s",
		 geteuid() == 0 ? ",allow_other" : "");
	if (fuse_opt_add_arg(&args, program) != 0 || fuse_opt_add_arg(&args, options) != 0)
		err(1, "%s", dir);
	fuse = fuse_new(&args, &operations, sizeof(operations), slow);
	if (fuse && fuse_mount(fuse, mountpoint) == 0) {
		rc = serve_mounted(fuse, slow);
		fuse_unmount(fuse);
	}
	if (fuse)
		fuse_destroy(fuse);
	fuse_opt_free_args(&args);
	return rc;
}

/* ---- the command ---- */

static void usage(void)
{
	errx(64, "usage: slowfs [-f] [--delay=MS] [--dirs] [--stat] DIR MOUNTPOINT");
}

static struct timespec parse_delay(const char *text)
{
	char *end;
	double ms = strtod(text, &end), seconds;

	if (end == text || *end != '\0' || !(ms >= 0 && ms <= 60000))
		usage();
	seconds = (double)(long)(ms / 1000);
	return (struct timespec){ .tv_sec = (time_t)seconds,
				  .tv_nsec = (long)((ms - seconds * 1000) * 1e6) };
}

static void option_take(struct slow *slow, const char *text)
{
	if (strcmp(text, "-f") == 0)
		slow->foreground = true;
	else if (strcmp(text, "--dirs") == 0)
		slow->dirs = true;
	else if (strcmp(text, "--stat") == 0)
		slow->stats = true;
	else if (strncmp(text, "--delay=", 8) == 0)
		slow->delay = parse_delay(text + 8);
	else
		usage();
}

int main(int argc, char **argv)
{
	struct slow slow = { .delay = { .tv_nsec = 5000000 } };
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++)
		option_take(&slow, argv[at]);
	if (argc - at != 2)
		usage();
	slow.root = open(argv[at], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (slow.root < 0)
		err(1, "%s: open", argv[at]);
	return serve(&slow, argv[0], argv[at], argv[at + 1]) == 0 ? 0 : 1;
}
