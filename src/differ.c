/* SPDX-License-Identifier: BSD-2-Clause */
#include "differ.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "diag.h"
#include "text.h"

enum {
	PERMISSIONS = 07777,
	SLACK = 64 << 10,	/* bytes that file systems round holes by */
};

/* ---- lines ---- */

void differ_say(const struct opts *opts, const char *name, const char *what, ...)
{
	struct text line;
	char *words = NULL;
	va_list args;
	int len;

	diag_raise(STATUS_CHANGED);
	if (opts->quiet)
		return;
	va_start(args, what);
	len = vasprintf(&words, what, args);
	va_end(args);
	text_init(&line);
	text_put(&line, name);
	text_put(&line, ": ");
	text_put(&line, len < 0 ? "differs" : words);
	diag_list(line.bytes);
	text_destroy(&line);
	if (len >= 0)
		free(words);
}

void differ_fail(const char *name, int err, const char *call)
{
	diag_fail(STATUS_PARTIAL, name, err, "%s", call);
}

/* ---- type ---- */

const char *differ_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block device";
	case S_IFCHR:
		return "character device";
	default:
		return "something";
	}
}

bool differ_same_type(const struct opts *opts, const char *name, uint32_t wanted,
		      const struct stat *st)
{
	if ((wanted & S_IFMT) == (st->st_mode & S_IFMT))
		return true;
	differ_say(opts, name, "type: %s became %s", differ_type(wanted),
		   differ_type(st->st_mode));
	return false;
}

/* ---- the rest of it ---- */

static void differ_owner(const struct opts *opts, const char *name,
			 const struct want *want, const struct stat *st)
{
	uint32_t uid = want->known & WANT_UID ? want->meta.uid : st->st_uid;
	uint32_t gid = want->known & WANT_GID ? want->meta.gid : st->st_gid;

	if (uid != st->st_uid || gid != st->st_gid)
		differ_say(opts, name, "owner: %u:%u became %u:%u", uid, gid,
			   st->st_uid, st->st_gid);
}

/* Within the window; all seconds that a file can have fit. */
static bool same_time(const struct timespec *a, const struct timespec *b,
		      unsigned window)
{
	const struct timespec *later = a, *sooner = b;
	uint64_t seconds;
	int64_t rest;

	if (a->tv_sec == b->tv_sec)
		return window > 0 || a->tv_nsec == b->tv_nsec;
	if (a->tv_sec < b->tv_sec) {
		later = b;
		sooner = a;
	}
	seconds = (uint64_t)later->tv_sec - (uint64_t)sooner->tv_sec;
	rest = later->tv_nsec - sooner->tv_nsec;
	return seconds < window || (seconds == window && rest <= 0);
}

static void differ_mtime(const struct opts *opts, const char *name,
			 const struct timespec *wanted,
			 const struct timespec *found)
{
	if (!same_time(wanted, found, opts->modify_window))
		differ_say(opts, name, "times: mtime %lld.%09ld became %lld.%09ld",
			   (long long)wanted->tv_sec, wanted->tv_nsec,
			   (long long)found->tv_sec, found->tv_nsec);
}

static void differ_device(const struct opts *opts, const char *name,
			  const struct meta *wanted, const struct stat *st)
{
	uint32_t high = major(st->st_rdev), low = minor(st->st_rdev);

	if (wanted->rdev_major != high || wanted->rdev_minor != low)
		differ_say(opts, name, "device: %u:%u became %u:%u",
			   wanted->rdev_major, wanted->rdev_minor, high, low);
}

void differ_meta(const struct opts *opts, const char *name,
		 const struct want *want, const struct stat *st)
{
	const struct meta *meta = &want->meta;
	unsigned keeps = opts->preserve;

	/* A symlink's mode is no one's to choose. */
	if ((keeps & PRESERVE_MODE) && (want->known & WANT_MODE) &&
	    !S_ISLNK(st->st_mode) &&
	    ((meta->mode ^ st->st_mode) & PERMISSIONS) != 0)
		differ_say(opts, name, "mode: %04o became %04o",
			   meta->mode & PERMISSIONS, st->st_mode & PERMISSIONS);
	if (keeps & PRESERVE_OWNER)
		differ_owner(opts, name, want, st);
	if ((keeps & PRESERVE_TIMES) && (want->known & WANT_MTIME))
		differ_mtime(opts, name, &meta->mtime, &st->st_mtim);
	if ((want->known & WANT_DEVICE) &&
	    (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode)))
		differ_device(opts, name, meta, st);
}

void differ_target(const struct opts *opts, const char *name, const char *wanted,
		   const char *found)
{
	if (strcmp(wanted, found) != 0)
		differ_say(opts, name, "target: %s became %s", wanted, found);
}

bool differ_same_size(const struct opts *opts, const char *name,
		      const struct want *want, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || !(want->known & WANT_SIZE) ||
	    want->meta.size == (uint64_t)st->st_size)
		return true;
	differ_say(opts, name, "content: %llu bytes became %llu",
		   (unsigned long long)want->meta.size,
		   (unsigned long long)st->st_size);
	return false;
}

bool differ_too_dense(uint64_t wanted, uint64_t found)
{
	return found > wanted && found - wanted > wanted / 4 + SLACK;
}

void differ_holes(const struct opts *opts, const char *name, uint64_t wanted,
		  uint64_t found)
{
	if (differ_too_dense(wanted, found))
		differ_say(opts, name, "holes: %llu bytes of data became %llu",
			   (unsigned long long)wanted,
			   (unsigned long long)found);
}
