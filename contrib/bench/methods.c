/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * methods: one copying program with several ways to move the bytes.
 *
 *     methods METHOD [-ap] [-b SIZE] [-j THREADS] SRC DST
 *     methods read [-a] [-b SIZE] [-j THREADS] SRC
 *     methods drop SRC
 *
 * SRC is a file or a tree; DST is made, an existing directory is gone into, an
 * existing file refused.  METHODs:
 *
 *     whole      reads each file into one buffer of its size, then writes it
 *     loop       reads and writes SIZE bytes in turn
 *     splice     from the file into a pipe and from there into the copy
 *     range      copy_file_range; what shares extents shares them
 *     sendfile   sendfile, which is a splice with a pipe of the kernel's
 *     read       only reads, SIZE bytes at a time
 *     drop       neither: writes SRC back and puts it out of the page cache, so
 *                that the next run finds it cold; fails when it stays
 *
 *     -a         posix_fadvise(POSIX_FADV_SEQUENTIAL) on each file
 *     -p         owner, mode and times are set; without it files get their mode
 *                by open alone, as with `cp -r`
 *     -b SIZE    of the buffer, the pipe, and each call but whole's (default
 *                256 KiB; a number with k, m or g)
 *     -j N       each file of at least N MiB in N ranges by N threads (loop,
 *                range and read), each with an open file of its own
 *
 * Symbolic links are made anew; sockets, FIFOs and devices are named and left
 * out with status 1.  No links, holes or attributes: it measures ways, it is no
 * copying program.
 *
 * Prints one line, SECONDS BYTES FILES.  The first failing call is named and
 * ends it with status 1; wrong usage with 64.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MIB = 1 << 20 };

/* What a thread keeps from file to file. */
struct lane {
	char *buffer;
	size_t room;
	int pipe[2];		/* both 0 before its first use */
};

/* A piece of a file to be moved; `out` is -1 where nothing is written. */
struct range {
	const struct job *job;
	struct lane *lane;
	const char *name;	/* of the source, for messages */
	int in, out;
	off_t at, end;
};

struct method {
	const char *name;
	void (*move)(struct range *range);
	bool writes, ranges;
};

struct job {
	const struct method *method;
	const char *src, *dst;
	size_t size;
	int threads;
	bool advice, perms;
	struct lane lanes[MAX_THREADS];
	unsigned long long bytes;
	unsigned long files;
	int status;
};

/* ---- the ways ---- */

static void lane_grow(struct lane *lane, size_t size)
{
	if (lane->room >= size)
		return;
	free(lane->buffer);
	size = (size + 4095) / 4096 * 4096;
	lane->buffer = aligned_alloc(4096, size);
	if (!lane->buffer)
		err(1, "a buffer of %zu bytes", size);
	lane->room = size;
}

static void lane_open_pipe(struct lane *lane, size_t size)
{
	if (lane->pipe[1])
		return;
	if (pipe2(lane->pipe, O_CLOEXEC) != 0)
		err(1, "pipe");
	/* A size above the user's limit leaves the default of 64 KiB. */
	(void)fcntl(lane->pipe[1], F_SETPIPE_SZ, (int)size);
}

static size_t range_left(const struct range *range, size_t most)
{
	off_t left = range->end - range->at;

	return left < (off_t)most ? (size_t)left : most;
}

/* Ends the program unless a call moved something. */
static size_t moved(const struct range *range, const char *call, ssize_t rc)
{
	if (rc < 0)
		err(1, "%s: %s", range->name, call);
	if (rc == 0)
		errx(1, "%s: %s: it ends at %jd bytes and not at %jd", range->name, call,
		     (intmax_t)range->at, (intmax_t)range->end);
	return (size_t)rc;
}

static void write_all(const struct range *range, size_t size)
{
	size_t done = 0;

	while (range->out >= 0 && done < size)
		done += moved(range, "write", pwrite(range->out, range->lane->buffer + done,
						     size - done, range->at + (off_t)done));
}

static void move_by_buffer(struct range *range, size_t size)
{
	while (range->at < range->end) {
		size_t got = moved(range, "read", pread(range->in, range->lane->buffer,
							range_left(range, size), range->at));

		write_all(range, got);
		range->at += (off_t)got;
	}
}

static void move_loop(struct range *range)
{
	lane_grow(range->lane, range->job->size);
	move_by_buffer(range, range->job->size);
}

/* A read stops short of 2 GiB: the largest files take more than one. */
static void move_whole(struct range *range)
{
	size_t size = range_left(range, SIZE_MAX / 2);

	lane_grow(range->lane, size);
	move_by_buffer(range, size);
}

static void empty_pipe(struct range *range, size_t filled)
{
	while (filled > 0)
		filled -= moved(range, "splice", splice(range->lane->pipe[0], NULL, range->out,
							NULL, filled, SPLICE_F_MOVE));
}

static void move_splice(struct range *range)
{
	lane_open_pipe(range->lane, range->job->size);
	while (range->at < range->end) {
		size_t size = range_left(range, range->job->size);
		size_t got = moved(range, "splice", splice(range->in, NULL, range->lane->pipe[1],
							   NULL, size, SPLICE_F_MOVE));

		empty_pipe(range, got);
		range->at += (off_t)got;
	}
}

static void move_range(struct range *range)
{
	off_t to = range->at;

	while (range->at < range->end)
		moved(range, "copy_file_range",
		      copy_file_range(range->in, &range->at, range->out, &to,
				      range_left(range, range->job->size), 0));
}

static void move_sendfile(struct range *range)
{
	while (range->at < range->end)
		moved(range, "sendfile", sendfile(range->out, range->in, &range->at,
						  range_left(range, range->job->size)));
}

/* How much of an open file is in the page cache, in bytes. */
static size_t cached(const char *name, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page, found = 0;
	unsigned char *there = malloc(pages);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (!there || map == MAP_FAILED || mincore(map, size, there) != 0)
		err(1, "%s: mincore", name);
	for (size_t i = 0; i < pages; i++)
		found += there[i] & 1;
	munmap(map, size);
	free(there);
	return found * page;
}

static void move_drop(struct range *range)
{
	size_t stay;

	/* A page that isn't written yet can't be dropped. */
	if (fdatasync(range->in) != 0)
		err(1, "%s: fdatasync", range->name);
	errno = posix_fadvise(range->in, 0, 0, POSIX_FADV_DONTNEED);
	if (errno)
		err(1, "%s: posix_fadvise", range->name);
	if (range->end == 0)
		return;
	stay = cached(range->name, range->in, (size_t)range->end);
	if (stay > MIB || stay >= (size_t)range->end)
		errx(1, "%s: %zu of its bytes stay in the cache", range->name, stay);
}

static const struct method methods[] = {
	{ "whole", move_whole, true, false },
	{ "loop", move_loop, true, true },
	{ "splice", move_splice, true, false },
	{ "range", move_range, true, true },
	{ "sendfile", move_sendfile, true, false },
	{ "read", move_loop, false, true },
	{ "drop", move_drop, false, false },
};

/* ---- a file ---- */

static int open_source(const struct job *job, const char *name)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s: open", name);
	if (job->advice)
		errno = posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (job->advice && errno)
		err(1, "%s: posix_fadvise", name);
	return fd;
}

static void *range_run(void *arg)
{
	struct range *range = arg;

	range->job->method->move(range);
	return NULL;
}

/* Has `first` moved in several pieces, each by a thread with its own open file. */
static void move_ranges(struct job *job, const struct range *first)
{
	struct range ranges[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	off_t share = (first->end / job->threads + MIB - 1) / MIB * MIB;

	for (int i = 0; i < job->threads; i++) {
		off_t at = i * share < first->end ? i * share : first->end;

		ranges[i] = *first;
		ranges[i].lane = &job->lanes[i];
		ranges[i].in = open_source(job, first->name);
		ranges[i].at = at;
		if (share < first->end - at)
			ranges[i].end = at + share;
		errno = pthread_create(&threads[i], NULL, range_run, &ranges[i]);
		if (errno)
			err(1, "pthread_create");
	}
	for (int i = 0; i < job->threads; i++) {
		pthread_join(threads[i], NULL);
		close(ranges[i].in);
	}
}

static void move_file(struct job *job, const char *name, int in, int out, off_t size)
{
	struct range range = { job, job->lanes, name, in, out, 0, size };

	if (job->threads > 1 && size / MIB >= job->threads)
		move_ranges(job, &range);
	else
		job->method->move(&range);
	job->bytes += (unsigned long long)size;
	job->files++;
}

static void set_perms(const char *name, int fd, const struct stat *st)
{
	struct timespec times[] = { st->st_atim, st->st_mtim };

	if (fchown(fd, st->st_uid, st->st_gid) != 0)
		err(1, "%s: fchown", name);
	if (fchmod(fd, st->st_mode & 07777) != 0)
		err(1, "%s: fchmod", name);
	if (futimens(fd, times) != 0)
		err(1, "%s: futimens", name);
}

static void copy_file(struct job *job, const char *from, const char *to)
{
	struct stat st;
	int in = open_source(job, from), out = -1;

	if (fstat(in, &st) != 0)
		err(1, "%s: fstat", from);
	if (job->method->writes) {
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			   job->perms ? 0600 : st.st_mode & 0777);
		if (out < 0)
			err(1, "%s: open", to);
	}
	move_file(job, from, in, out, st.st_size);
	if (out >= 0 && job->perms)
		set_perms(to, out, &st);
	if (out >= 0 && close(out) != 0)
		err(1, "%s: close", to);
	close(in);
}

/* ---- the tree ---- */

static void copy_link(const struct job *job, const char *from, const char *to,
		      const struct stat *st)
{
	struct timespec times[] = { st->st_atim, st->st_mtim };
	char target[PATH_MAX];
	ssize_t len = readlink(from, target, sizeof(target) - 1);

	if (len < 0)
		err(1, "%s: readlink", from);
	target[len] = '\0';
	if (symlink(target, to) != 0)
		err(1, "%s: symlink", to);
	if (!job->perms)
		return;
	if (lchown(to, st->st_uid, st->st_gid) != 0)
		err(1, "%s: lchown", to);
	if (utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW) != 0)
		err(1, "%s: utimensat", to);
}

/* Without -p the owner may still be kept out by the mode of the source. */
static void make_dir(const struct job *job, const char *to, const struct stat *st)
{
	mode_t mode = job->perms ? 0700 : (st->st_mode & 0777) | 0700;

	if (mkdir(to, mode) != 0 && errno != EEXIST)
		err(1, "%s: mkdir", to);
}

static void finish_dir(const char *to, const struct stat *st)
{
	int fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s: open", to);
	set_perms(to, fd, st);
	close(fd);
}

static void copy_entry(struct job *job, const FTSENT *entry, const char *to)
{
	switch (entry->fts_info) {
	case FTS_D:
		if (job->method->writes)
			make_dir(job, to, entry->fts_statp);
		break;
	case FTS_DP:
		if (job->method->writes && job->perms)
			finish_dir(to, entry->fts_statp);
		break;
	case FTS_F:
		copy_file(job, entry->fts_accpath, to);
		break;
	case FTS_SL:
	case FTS_SLNONE:
		if (job->method->writes)
			copy_link(job, entry->fts_accpath, to, entry->fts_statp);
		break;
	case FTS_DEFAULT:
		warnx("%s: neither file, directory nor symbolic link: left out", entry->fts_path);
		job->status = 1;
		break;
	default:
		errno = entry->fts_errno;
		err(1, "%s", entry->fts_path);
	}
}

static void copy_tree(struct job *job)
{
	char *operands[] = { (char *)job->src, NULL };
	size_t skip = strlen(job->src);
	FTS *tree = fts_open(operands, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	if (!tree)
		err(1, "%s: fts_open", job->src);
	while (errno = 0, (entry = fts_read(tree))) {
		char *to = NULL;

		if (asprintf(&to, "%s%s", job->dst ? job->dst : "", entry->fts_path + skip) < 0)
			err(1, "asprintf");
		copy_entry(job, entry, to);
		free(to);
	}
	if (errno)
		err(1, "%s: fts_read", job->src);
	fts_close(tree);
}

/* ---- the command ---- */

static void usage(void)
{
	errx(64, "usage: methods whole|loop|splice|range|sendfile [-ap] [-b SIZE] "
		 "[-j THREADS] SRC DST\n"
		 "       methods read [-a] [-b SIZE] [-j THREADS] SRC\n"
		 "       methods drop SRC");
}

static const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	usage();
	return NULL;
}

static size_t parse_size(const char *text)
{
	static const char units[] = "kmg";
	char *end;
	unsigned long size = strtoul(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (unit && size <= 1UL << 30) {
		size <<= 10 * (unit - units + 1);
		end++;
	}
	if (*end != '\0' || *text == '-' || size < 1 || size > 1UL << 30)
		usage();
	return size;
}

static int parse_threads(const char *text)
{
	char *end;
	long threads = strtol(text, &end, 10);

	if (*end != '\0' || threads < 1 || threads > MAX_THREADS)
		usage();
	return (int)threads;
}

/* Names below SRC are cut off where SRC ends, so it must end in no slash. */
static const char *trim(char *path)
{
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	return path;
}

static void parse(struct job *job, int argc, char **argv)
{
	int option;

	if (argc < 2)
		usage();
	job->method = method_find(argv[1]);
	argc--;
	argv++;
	while ((option = getopt(argc, argv, "apb:j:")) != -1)
		switch (option) {
		case 'a': job->advice = true; break;
		case 'p': job->perms = true; break;
		case 'b': job->size = parse_size(optarg); break;
		case 'j': job->threads = parse_threads(optarg); break;
		default: usage();
		}
	if (argc - optind != 1 + job->method->writes ||
	    (job->threads > 1 && !job->method->ranges))
		usage();
	job->src = trim(argv[optind]);
	job->dst = argv[optind + 1];
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct job job = { .size = 256 << 10, .threads = 1 };
	double start;

	parse(&job, argc, argv);
	start = now();
	copy_tree(&job);
	for (int i = 0; i < job.threads; i++)
		free(job.lanes[i].buffer);
	printf("%.6f %llu %lu\n", now() - start, job.bytes, job.files);
	return job.status;
}
