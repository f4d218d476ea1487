/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planning: what the rooms that read SRC... DST (spec.c, specself.c) share, and nobody
 * else.
 */
#ifndef TARPIPE_PLANNING_H
#define TARPIPE_PLANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "opts.h"
#include "spec.h"

enum form { FORM_BARE, FORM_MERGE, FORM_INTO };

enum dst_kind { DST_DIR, DST_OTHER, DST_NEW };

/* What a SRC operand is. */
struct source {
	const char *given;
	char *path;		/* without trailing slashes */
	bool there;
	bool link;
	bool dir;		/* a directory, or a symlink to one */
	struct stat own;	/* lstat */
	struct stat target;	/* stat; st_ino 0 when dangling */
};

/* All operands, read and looked at; half of the way to a spec. */
struct plan {
	const struct opts *opts;
	enum form form;
	struct source *src;
	size_t nsrc;
	const char *dst_given;
	char *dst;		/* without trailing slashes */
	bool dst_slash;
	enum dst_kind dst_kind;
	struct stat dst_stat;	/* unless new */
};

/*
 * Says why the run is refused, status 64, and returns -1.  The format knows %s,
 * and for an operand in a command %q (without trailing slash) and %Q (with one).
 */
int refuse(const char *name, int err, const char *format, ...);

/* Whether a source's contents are walked (a link is not, when it goes by name). */
bool plan_enters(const struct plan *plan, const struct source *src);

/* A SRC that is no directory becomes DST: a name in DST's parent. */
bool plan_becomes_file(const struct plan *plan);

/* The directory that is there: DST, or its parent when it is new. */
const char *spec_anchor(const struct spec *spec);

/* ---- specself.c ---- */

/*
 * Refuses a destination that is a source, or within one, and a source that would arrive
 * at a name of its own, or at that of a device.  0, or -1.
 */
int plan_check_itself(const struct plan *plan, const struct spec *spec);

/* By device and inode. */
bool same_file(const struct stat *a, const struct stat *b);

#endif
