/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * apply: metadata put back onto one object, in the order in which they hold.
 *
 * Each of these undoes something of those above it when it comes too early:
 *
 *   data           writing clears setid bits and capabilities, and changes the mtime
 *   owner          chown clears them as well
 *   user.*         one who is not root may set them only while the mode lets him
 *   mode           after the owner, with which setid bits mean something
 *   ACL            refines the mode: chmod after it would change its mask
 *   security.*, trusted.*
 *   times          everything above changes them
 *
 * An object moves through these stages forwards only; apply_until does what lies
 * between.  Calls that would change nothing are not made: a file that was created
 * with its owner and mode right by themselves costs one call, futimens.
 */
#ifndef TARPIPE_APPLY_H
#define TARPIPE_APPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate.h"
#include "meta.h"
#include "opts.h"
#include "owner.h"

enum apply_stage {
	APPLY_DATA,
	APPLY_OWNER,
	APPLY_PLAIN,
	APPLY_MODE,
	APPLY_ACL,
	APPLY_PRIVILEGED,
	APPLY_TIMES,
};

/* What all objects of a run have in common.  Const. */
struct apply_config {
	const struct opts *opts;
	const struct gate *gate;	/* for messages */
	struct owners *owners;		/* for --names */
	mode_t umask;			/* the caller's */
};

/* The attributes of what was there, while it is made right.  Starts zeroed. */
struct apply_old {
	struct xattr_buffer names, value;
	size_t names_len;	/* those of which nothing was heard so far */
};

void apply_old_free(struct apply_old *old);

/* One object.  Filled by apply_begin, then by its maker. */
struct apply {
	const struct apply_config *config;
	struct xattr_source at;	/* how to reach it: an open file, or a handle, so
				   that no name is looked up a second time */
	const struct dir *dir;	/* for messages: where it is ... */
	const char *shown;	/* ... under its final name; NULL: the directory */
	struct meta meta;	/* what it shall have */
	bool clean;		/* it was there: drop what attributes it has */
	bool inherits;		/* it may have got an ACL from its directory */
	bool has_acl;		/* an ACL will come: no mode in between */
	bool has_attributes;	/* attributes will come */

	uint32_t uid, gid;	/* what it shall get, within one's rights */
	bool ask_owner;		/* ... and that may need a call */
	uint32_t now_uid;	/* what it has */
	int64_t now_gid;	/* -1: not known */
	mode_t want;		/* permission bits to end with */
	mode_t now_mode;	/* permission bits it has */
	enum apply_stage stage;

	struct apply_old *old;	/* NULL, or it was there: only what is not right is set */
	bool frozen;		/* ... and nothing at all: `differs` tells that it is not right */
	bool differs;
	uint32_t grain;		/* ... of its times */
	struct timespec now_atime, now_mtime;
};

/*
 * Works out owner and mode for `meta`.  An object of one's own making belongs to the
 * caller and (when known, else -1) the group `group`.
 */
void apply_begin(struct apply *apply, const struct apply_config *config,
		 const struct meta *meta, int64_t group);

/*
 * The mode to create it with: the final one when nothing will have to be changed
 * afterwards, else one that lets nobody else in.
 */
mode_t apply_creation_mode(struct apply *apply);

/*
 * It was there, `st` says so, and has to be made right.  After apply_begin and `at`; uses `old`
 * until its end.  When it is `frozen`, because it may have names of which the run knows
 * nothing, no call changes it; its atime doesn't count then.
 */
void apply_there(struct apply *apply, const struct stat *st,
		 struct apply_old *old, uint32_t grain, bool frozen);

/* Does all up to and with `stage`.  What fails is told, and the rest goes on. */
void apply_until(struct apply *apply, enum apply_stage stage);

/* Sets one attribute, after all that has to come before its class. */
void apply_attribute(struct apply *apply, const char *name, const void *value,
		     size_t size);

#endif
