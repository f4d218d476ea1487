/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slowdir: a directory that takes its time, for tests, on FUSE.
 *
 *     slowdir [--delay=MS] [--stuck=NAME] LOG DIR MOUNTPOINT
 *
 * MOUNTPOINT shows DIR, read-only.  Each open and read of a file, and each directory that
 * is opened, takes MS milliseconds (default 5), any number of them at one time.  It goes into
 * the background when it is mounted, and ends when it is unmounted.
 *
 * A read of what is called NAME never comes back.  Then a line "stuck" is in LOG.
 *
 * In the end LOG has lines `opens N`, `reads N`, `directories N` and `together N`, the
 * most of them that were under way at one time.
 */
#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct slow {
	int root;
	int log;
	unsigned delay;		/* ms */
	const char *stuck;

	pthread_mutex_t lock;
	unsigned opens, reads, directories, now, together;
};

static struct slow *slow_get(void)
{
	return fuse_get_context()->private_data;
}

static const char *below(const char *path)
{
	return path[1] != '\0' ? path + 1 : ".";
}

/* Takes the time, and counts. */
static void slow_call(unsigned *count)
{
	struct slow *slow = slow_get();
	struct timespec delay = { slow->delay / 1000,
				  (long)(slow->delay % 1000) * 1000000 };

	pthread_mutex_lock(&slow->lock);
	(*count)++;
	if (++slow->now > slow->together)
		slow->together = slow->now;
	pthread_mutex_unlock(&slow->lock);
	nanosleep(&delay, NULL);
	pthread_mutex_lock(&slow->lock);
	slow->now--;
	pthread_mutex_unlock(&slow->lock);
}

static int slow_getattr(const char *path, struct stat *st,
			struct fuse_file_info *info)
{
	(void)info;
	return fstatat(slow_get()->root, below(path), st, AT_SYMLINK_NOFOLLOW) == 0 ?
		       0 :
		       -errno;
}

static int slow_readlink(const char *path, char *target, size_t size)
{
	ssize_t len = readlinkat(slow_get()->root, below(path), target, size - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return 0;
}

static int slow_opendir(const char *path, struct fuse_file_info *info)
{
	struct slow *slow = slow_get();
	int fd;

	slow_call(&slow->directories);
	fd = openat(slow->root, below(path), O_RDONLY | O_DIRECTORY);
	info->fh = (uint64_t)(intptr_t)(fd < 0 ? NULL : fdopendir(fd));
	return info->fh ? 0 : -errno;
}

static int slow_readdir(const char *path, void *to, fuse_fill_dir_t fill,
			off_t offset, struct fuse_file_info *info,
			enum fuse_readdir_flags flags)
{
	DIR *dir = (DIR *)(intptr_t)info->fh;
	const struct dirent *entry;

	(void)path;
	(void)offset;
	(void)flags;
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		struct stat st = { .st_ino = entry->d_ino,
				   .st_mode = DTTOIF(entry->d_type) };

		if (fill(to, entry->d_name, &st, 0, 0) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int slow_releasedir(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return closedir((DIR *)(intptr_t)info->fh) == 0 ? 0 : -errno;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
	struct slow *slow = slow_get();
	int fd;

	slow_call(&slow->opens);
	fd = openat(slow->root, below(path), O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	info->fh = (uint64_t)fd;
	return 0;
}

static int slow_read(const char *path, char *to, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	struct slow *slow = slow_get();
	const char *name = strrchr(path, '/') + 1;
	ssize_t n;

	if (slow->stuck && strcmp(name, slow->stuck) == 0) {
		if (write(slow->log, "stuck\n", 6) != 6)
			return -EIO;
		for (;;)
			pause();
	}
	slow_call(&slow->reads);
	n = pread((int)info->fh, to, size, offset);
	return n < 0 ? -errno : (int)n;
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	close((int)info->fh);
	return 0;
}

/* What is read ahead goes in the background, 12 at one time by default. */
static void *slow_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	conn->max_background = 64;
	conn->congestion_threshold = 64;
	config->use_ino = 1;
	config->readdir_ino = 1;
	return slow_get();
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr,
	.readlink = slow_readlink,
	.opendir = slow_opendir,
	.readdir = slow_readdir,
	.releasedir = slow_releasedir,
	.open = slow_open,
	.read = slow_read,
	.release = slow_release,
};

static void slow_log(const struct slow *slow)
{
	dprintf(slow->log, "opens %u\nreads %u\ndirectories %u\ntogether %u\n",
		slow->opens, slow->reads, slow->directories, slow->together);
}

static int serve(struct slow *slow, char *program, const char *mountpoint)
{
	char *argv[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations), slow);
	struct fuse_loop_config config = { .clone_fd = 0, .max_idle_threads = 64 };
	int rc = -1;

	if (!fuse || fuse_mount(fuse, mountpoint) != 0)
		goto destroy;
	if (fuse_daemonize(0) == 0 &&
	    fuse_set_signal_handlers(fuse_get_session(fuse)) == 0)
		rc = fuse_loop_mt(fuse, &config) < 0 ? -1 : 0;
	slow_log(slow);
	/* One that is stuck would be waited for. */
	if (slow->stuck)
		_exit(0);
	fuse_unmount(fuse);
destroy:
	if (fuse)
		fuse_destroy(fuse);
	fuse_opt_free_args(&args);
	return rc;
}

int main(int argc, char **argv)
{
	struct slow slow = { .delay = 5, .lock = PTHREAD_MUTEX_INITIALIZER };
	int at = 1;

	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++)
		if (strncmp(argv[at], "--stuck=", 8) == 0)
			slow.stuck = argv[at] + 8;
		else if (sscanf(argv[at], "--delay=%u", &slow.delay) != 1)
			break;
	if (argc - at != 3) {
		fprintf(stderr, "usage: slowdir [--delay=MS] [--stuck=NAME] LOG "
				"DIR MOUNTPOINT\n");
		return 64;
	}
	slow.log = open(argv[at], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
	slow.root = open(argv[at + 1], O_RDONLY | O_DIRECTORY);
	if (slow.log < 0 || slow.root < 0) {
		perror(argv[at]);
		return 1;
	}
	return serve(&slow, argv[0], argv[at + 2]) == 0 ? 0 : 1;
}
