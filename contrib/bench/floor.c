/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor: how fast a copy could be.
 *
 *     floor [-r | -w] [-j THREADS] SRC DST
 *
 * Scans SRC once, makes the directories, and then replays the least system
 * calls that a copy needs (openat fstat read close, openat write futimens
 * close; symlinkat utimensat for a symbolic link) from THREADS threads, which
 * take a directory at a time.  DST is an existing, empty directory.  -r only
 * reads and -w only writes (as many bytes, all of them the same).
 *
 * It is a yardstick and no copying program: no owner, no extended attribute,
 * no hole, no link count, no time of a directory is kept, special files are
 * left out, and all names are in memory before the first byte moves.
 *
 * Prints one line: the seconds of the whole, of its three parts, and what was
 * copied.  The first failing call ends it with status 1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, BUFFER_SIZE = 1 << 20 };

/* A regular file, or a symbolic link when it has a target. */
struct entry {
	char *name;
	char *target;
	off_t size;
	mode_t mode;
	struct timespec times[2];
};

struct dir {
	char *path;		/* below SRC and DST alike */
	struct entry *entries;
	size_t count, room;
};

/* What the scan found; read-only afterwards, `next` excepted. */
struct plan {
	const char *src, *dst;
	bool reads, writes;
	struct dir *dirs;	/* parents before their children */
	size_t count, room;
	atomic_size_t next;	/* the first directory that nobody has taken */
	unsigned long files;
	unsigned long long bytes;
};

/* Where a thread is: both sides of its directory (-1 where unused). */
struct place {
	const struct plan *plan;
	int src, dst;
	char *buffer;
};

static char *join(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		err(1, "asprintf");
	return path;
}

/* Makes room for one more element of `size` bytes in an array of `count`. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 16;
	array = reallocarray(array, *room, size);
	if (!array)
		err(1, "reallocarray");
	return array;
}

/* ---- the scan ---- */

static void plan_add_dir(struct plan *plan, char *path)
{
	plan->dirs = grow(plan->dirs, plan->count, &plan->room, sizeof(*plan->dirs));
	plan->dirs[plan->count++] = (struct dir){ .path = path };
}

static char *read_target(int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, name, target, sizeof(target) - 1);

	if (len < 0)
		err(1, "readlink %s", name);
	target[len] = '\0';
	return strdup(target);
}

static void dir_add_entry(struct dir *dir, int fd, const char *name,
			  const struct stat *st)
{
	dir->entries = grow(dir->entries, dir->count, &dir->room,
			    sizeof(*dir->entries));
	dir->entries[dir->count++] = (struct entry){
		.name = strdup(name),
		.target = S_ISLNK(st->st_mode) ? read_target(fd, name) : NULL,
		.size = S_ISREG(st->st_mode) ? st->st_size : 0,
		.mode = st->st_mode & 07777,
		.times = { st->st_atim, st->st_mtim },
	};
}

/* Files one name of directory number `at` into the plan. */
static void scan_name(struct plan *plan, size_t at, int fd, const char *name)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		err(1, "stat %s/%s", plan->dirs[at].path, name);
	if (S_ISDIR(st.st_mode)) {
		plan_add_dir(plan, join(plan->dirs[at].path, name));
	} else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
		dir_add_entry(&plan->dirs[at], fd, name, &st);
		plan->files++;
		plan->bytes += S_ISREG(st.st_mode) ? (unsigned long long)st.st_size : 0;
	}
}

static void scan_dir(struct plan *plan, size_t at)
{
	char *path = join(plan->src, plan->dirs[at].path);
	DIR *dir = opendir(path);
	struct dirent *found;

	if (!dir)
		err(1, "%s", path);
	while ((found = readdir(dir)))
		scan_name(plan, at, dirfd(dir), found->d_name);
	closedir(dir);
	free(path);
}

/* The list of directories is its own queue: those found are appended. */
static void scan(struct plan *plan)
{
	plan_add_dir(plan, strdup("."));
	for (size_t at = 0; at < plan->count; at++)
		scan_dir(plan, at);
}

/* ---- the replay ---- */

/* Number 0 is DST itself, which is there. */
static void make_dirs(const struct plan *plan)
{
	for (size_t at = 1; plan->writes && at < plan->count; at++) {
		char *path = join(plan->dst, plan->dirs[at].path);

		if (mkdir(path, 0755) < 0)
			err(1, "mkdir %s", path);
		free(path);
	}
}

static void copy_link(const struct place *at, const struct entry *entry)
{
	char target[PATH_MAX];

	if (at->plan->reads && readlinkat(at->src, entry->name, target, sizeof(target)) < 0)
		err(1, "readlink %s", entry->name);
	if (!at->plan->writes)
		return;
	if (symlinkat(entry->target, at->dst, entry->name) < 0)
		err(1, "symlink %s", entry->name);
	if (utimensat(at->dst, entry->name, entry->times, AT_SYMLINK_NOFOLLOW) < 0)
		err(1, "utimensat %s", entry->name);
}

static void copy_data(const struct place *at, const struct entry *entry,
		      int in, int out)
{
	for (off_t left = entry->size; left > 0;) {
		ssize_t got = left < BUFFER_SIZE ? left : BUFFER_SIZE;

		if (at->plan->reads)
			got = read(in, at->buffer, (size_t)got);
		if (got <= 0)
			err(1, "read %s", entry->name);
		if (at->plan->writes && write(out, at->buffer, (size_t)got) != got)
			err(1, "write %s", entry->name);
		left -= got;
	}
}

static int open_source(const struct place *at, const struct entry *entry)
{
	struct stat st;
	int fd = openat(at->src, entry->name, O_RDONLY | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "open %s", entry->name);
	return fd;
}

static int open_destination(const struct place *at, const struct entry *entry)
{
	int fd = openat(at->dst, entry->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, entry->mode);

	if (fd < 0)
		err(1, "create %s", entry->name);
	return fd;
}

static void copy_file(const struct place *at, const struct entry *entry)
{
	int in = at->plan->reads ? open_source(at, entry) : -1;
	int out = at->plan->writes ? open_destination(at, entry) : -1;

	copy_data(at, entry, in, out);
	if (out >= 0 && (futimens(out, entry->times) < 0 || close(out) < 0))
		err(1, "close %s", entry->name);
	if (in >= 0)
		close(in);
}

/* Opens a directory on one side, when that side takes part. */
static int enter(bool wanted, const char *side, const struct dir *dir)
{
	char *path;
	int fd;

	if (!wanted)
		return -1;
	path = join(side, dir->path);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		err(1, "%s", path);
	free(path);
	return fd;
}

static void leave(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void copy_dir(struct place *at, const struct dir *dir)
{
	at->src = enter(at->plan->reads, at->plan->src, dir);
	at->dst = enter(at->plan->writes, at->plan->dst, dir);
	for (size_t i = 0; i < dir->count; i++)
		if (dir->entries[i].target)
			copy_link(at, &dir->entries[i]);
		else
			copy_file(at, &dir->entries[i]);
	leave(at->src);
	leave(at->dst);
}

static void *work(void *arg)
{
	struct plan *plan = arg;
	struct place at = { .plan = plan };
	size_t i;

	/* Threads with one table of descriptors would queue for its lock. */
	if (unshare(CLONE_FILES) < 0)
		err(1, "unshare");
	at.buffer = aligned_alloc(4096, BUFFER_SIZE);
	if (!at.buffer)
		err(1, "aligned_alloc");
	memset(at.buffer, 1, BUFFER_SIZE);
	while ((i = atomic_fetch_add(&plan->next, 1)) < plan->count)
		if (plan->dirs[i].count > 0)
			copy_dir(&at, &plan->dirs[i]);
	free(at.buffer);
	return NULL;
}

static void replay(struct plan *plan, int threads)
{
	pthread_t thread[MAX_THREADS];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, plan) != 0)
			errx(1, "pthread_create failed");
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* ---- the command ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void usage(void)
{
	errx(64, "usage: floor [-r | -w] [-j THREADS] SRC DST (1 to %d threads)",
	     MAX_THREADS);
}

static int parse_threads(const char *text)
{
	char *end;
	long threads = strtol(text, &end, 10);

	if (*end != '\0' || threads < 1 || threads > MAX_THREADS)
		usage();
	return (int)threads;
}

/* Fills in the plan's operands and modes; returns the number of threads. */
static int parse(struct plan *plan, int argc, char **argv)
{
	int threads = 1, option;

	while ((option = getopt(argc, argv, "rwj:")) != -1)
		switch (option) {
		case 'r': plan->writes = false; break;
		case 'w': plan->reads = false; break;
		case 'j': threads = parse_threads(optarg); break;
		default: usage();
		}
	if (argc - optind != 2 || (!plan->reads && !plan->writes))
		usage();
	plan->src = argv[optind];
	plan->dst = argv[optind + 1];
	return threads;
}

int main(int argc, char **argv)
{
	struct plan plan = { .reads = true, .writes = true };
	int threads = parse(&plan, argc, argv);
	double start = now(), scanned, made, done;

	umask(0);
	scan(&plan);
	scanned = now();
	make_dirs(&plan);
	made = now();
	replay(&plan, threads);
	done = now();
	printf("floor %d: %.3f s (scan %.3f, mkdir %.3f, files %.3f), "
	       "%lu files, %zu directories, %.1f MB\n",
	       threads, done - start, scanned - start, made - scanned, done - made,
	       plan.files, plan.count, (double)plan.bytes / 1e6);
	return 0;
}
