/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spec: what the operands mean.
 *
 * Turns SRC... DST into roots (what is walked, and under which name it
 * arrives) and one destination directory, by the rules of the manual's operand
 * table.  Everything that can be refused is refused here, before anything is
 * written, with a message that shows the right spelling.
 */
#ifndef TARPIPE_SPEC_H
#define TARPIPE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "opts.h"

/* What is said of HOST:PATH where nothing is to be copied. */
#define SPEC_COMPARE_HOST \
	"hosts are not reached yet; a stream from there can be compared: ssh " \
	"HOST tarpipe -c SRC | tarpipe --compare -f - DST"

/* One source. */
struct spec_root {
	char *path;		/* as the user gave it, without trailing slashes; opened
				   and shown by it, owned */
	char *as;		/* its name in the destination directory, owned;
				   NULL: its contents go there, beside what is there */
	bool follow;		/* path is a symlink to a directory, to be entered */
};

/*
 * The destination directory: entries arrive in it.  For `SRC DST` with a SRC that
 * is no directory and a DST that is none, it is DST's parent, and `as` is DST's
 * last component.
 */
struct spec {
	struct spec_root *roots;
	size_t nroots;

	char *dst;		/* resolved path of the destination directory, owned; it
				   is opened by what the user gave (spec_open_dst) */
	char *dst_shown;	/* how messages name it: as given, without trailing
				   slashes; owned */
	char *dst_parent;	/* where dst is to be made when it is new, else NULL */
	bool dst_new;		/* it does not exist yet */
	dev_t anchor_dev;	/* what DST, or its parent when it is new, was when it */
	ino_t anchor_ino;	/* was looked at */
	bool dst_is_copy;	/* SRC's own metadata become its (bare and SRC/ forms),
				   as far as the next says so */
	bool dst_keeps;		/* but it keeps its own: `/`, sticky, --no-preserve=root */
	bool merges;		/* the SRC/ form: what DST has besides is no matter */
};

/*
 * Resolves the operands of `opts` into *spec.  Writes nothing.  Returns 0, or -1
 * when the run is refused: the message is out and the status is STATUS_USAGE.  A
 * source that is missing among several is told, raises STATUS_PARTIAL and gets no
 * root.
 */
int spec_resolve(struct spec *spec, const struct opts *opts);

/*
 * What the operands of -c mean: roots alone.  One that is a directory is packed as its
 * contents, others by their last component; with -C (`dir` is that directory, open;
 * else AT_FDCWD) by the names that were given, which `dir` holds.  Refusals and missing
 * sources as spec_resolve.
 */
int spec_resolve_create(struct spec *spec, const struct opts *opts, int dir);

/*
 * The same for -x: DST alone, the stream takes the place of SRC.  An existing DST keeps
 * its own metadata (dst_keeps), unless --preserve=root says otherwise.  The options'
 * operands are DST, or with -C patterns, which are not looked at.
 */
int spec_resolve_extract(struct spec *spec, const struct opts *opts);

/*
 * Is a root of a copy, or of -c, within another one, or the same?  Then names come
 * more than once.  Call where their paths begin.
 */
bool spec_overlaps(const struct spec *spec);

/*
 * Whether -f and --tee name something on this machine.  0, or -1: refused, as
 * spec_resolve.
 */
int spec_check_stream(const struct opts *opts);

/*
 * Makes the destination directory when it is new and opens it; call while the
 * process has the user's umask.  Its mode is 0700 when SRC's metadata are to become
 * its own, else 0777 less the umask, which then is final.  Returns a descriptor
 * (O_RDONLY|O_DIRECTORY|O_CLOEXEC) that the caller closes, or -1 after a message
 * that raised STATUS_STOPPED.
 */
int spec_open_dst(const struct spec *spec);

/* Frees what spec_resolve made; accepts a zeroed struct. */
void spec_destroy(struct spec *spec);

#endif
