/* SPDX-License-Identifier: BSD-2-Clause */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "stamp.h"

static bool keeps(const struct apply *apply, unsigned part)
{
	return apply->config->opts->preserve & part;
}

/* A kind of thing that the file system does not have at all. */
static bool no_such_kind(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS;
}

/* Tells a failure: once for a kind that can't be, else each. */
static void tell(const struct apply *apply, enum diag_kind kind, int err,
		 const char *call, const char *detail)
{
	char *path = gate_path(apply->config->gate, apply->dir, apply->shown);
	const char *name = path ? path : apply->shown;
	char what[320];

	snprintf(what, sizeof(what), "%s%s", call ? call : "", detail);
	if (no_such_kind(err) || kind == DIAG_LABEL || kind == DIAG_SETID)
		diag_count(kind, name, call ? what : NULL, err);
	else
		diag_fail(STATUS_PARTIAL, name, err, "%s", what);
	free(path);
}

/* ---- what it shall have ---- */

static void owner_wanted(struct apply *apply)
{
	const struct privileges *who = privileges_get();
	const struct opts *opts = apply->config->opts;
	struct owners *owners = apply->config->owners;
	uint32_t uid = apply->meta.uid, gid = apply->meta.gid;

	if (!keeps(apply, PRESERVE_OWNER))
		return;
	if (opts->names) {
		uid = owners_map(owners, OWNER_USER, uid);
		gid = owners_map(owners, OWNER_GROUP, gid);
	}
	apply->meta.uid = uid;
	apply->meta.gid = gid;
	apply->ask_owner = true;
	if (who->chown || (opts->preserve_asked & PRESERVE_OWNER)) {
		apply->uid = uid;
		apply->gid = gid;
	} else if (privileges_member(who, gid)) {
		apply->gid = gid;
	} else {
		apply->ask_owner = false;
	}
}

void apply_begin(struct apply *apply, const struct apply_config *config,
		 const struct meta *meta, int64_t group)
{
	const struct privileges *who = privileges_get();

	memset(apply, 0, sizeof(*apply));
	apply->config = config;
	apply->at.fd = -1;
	apply->meta = *meta;
	apply->uid = apply->now_uid = who->uid;
	apply->now_gid = group;
	apply->gid = group >= 0 ? (uint32_t)group : who->gid;
	owner_wanted(apply);
	if (keeps(apply, PRESERVE_MODE))
		apply->want = meta->mode & 07777;
	else
		apply->want = meta->mode & 0777 & ~config->umask;
}

static bool owner_comes_right(const struct apply *apply)
{
	return !apply->ask_owner || (apply->uid == apply->now_uid &&
				     (int64_t)apply->gid == apply->now_gid);
}

mode_t apply_creation_mode(struct apply *apply)
{
	/* A file that one may not write takes no user.* from its owner. */
	bool closed = apply->has_attributes && !(apply->want & 0200) &&
		      !privileges_get()->dac;
	bool final = owner_comes_right(apply) && !(apply->want & 06000) &&
		     !apply->has_acl && !apply->inherits && !closed;

	apply->now_mode = final ? apply->want : 0600;
	return apply->now_mode;
}

/* ---- stages ---- */

/* Something is not right; may it be set? */
static bool may_change(struct apply *apply)
{
	apply->differs = true;
	return !apply->frozen;
}

static void set_owner(struct apply *apply)
{
	int done;

	if (owner_comes_right(apply) || !may_change(apply))
		return;
	if (!apply->at.handle)
		done = fchown(apply->at.fd, apply->uid, apply->gid);
	else
		done = fchownat(apply->at.fd, "", apply->uid, apply->gid,
				AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	if (done != 0) {
		tell(apply, DIAG_NO_OWNER, errno, "chown", "");
		return;
	}
	apply->now_uid = apply->uid;
	apply->now_gid = apply->gid;
	apply->now_mode &= ~(mode_t)06000;
}

/* setuid and setgid mean the owner they were given by. */
static mode_t allowed_setid(struct apply *apply)
{
	const struct privileges *who = privileges_get();
	mode_t want = apply->want;

	if (!keeps(apply, PRESERVE_MODE))
		return want;
	if (apply->now_uid != apply->meta.uid ||
	    apply->now_gid != (int64_t)apply->meta.gid)
		want &= ~(mode_t)(S_ISUID | S_ISGID);
	/* The kernel would drop it without a word. */
	if (!who->fsetid && !privileges_member(who, apply->meta.gid))
		want &= ~(mode_t)S_ISGID;
	if (want != apply->want)
		tell(apply, DIAG_SETID, 0, NULL, "");
	return want;
}

/* chmod of what can't be opened, by the magic link of its handle. */
static int chmod_handle(const struct apply *apply, mode_t mode)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", apply->at.fd);
	return fchmodat(AT_FDCWD, link, mode, 0);
}

static void change_mode(struct apply *apply, mode_t want)
{
	int done;

	if (!apply->at.handle)
		done = fchmod(apply->at.fd, want);
	else
		done = chmod_handle(apply, want);
	if (done != 0)
		tell(apply, DIAG_NO_MODE, errno, "chmod", "");
	apply->now_mode = want;
}

static void set_mode(struct apply *apply)
{
	mode_t want;

	if (S_ISLNK(apply->meta.mode))
		return;
	want = allowed_setid(apply);
	if (want != apply->now_mode && may_change(apply))
		change_mode(apply, want);
}

/* ---- what was there ---- */

void apply_there(struct apply *apply, const struct stat *st,
		 struct apply_old *old, uint32_t grain, bool frozen)
{
	ssize_t len = 0;

	apply->old = old;
	apply->frozen = frozen;
	apply->grain = grain;
	apply->now_uid = st->st_uid;
	apply->now_gid = st->st_gid;
	apply->now_mode = st->st_mode & 07777;
	apply->now_atime = st->st_atim;
	apply->now_mtime = st->st_mtim;
	apply->inherits = false;
	if (!keeps(apply, PRESERVE_MODE))
		apply->want = apply->now_mode;
	if (keeps(apply, PRESERVE_XATTR | PRESERVE_ACL))
		len = xattr_list(&apply->at, &old->names);
	if (len < 0)
		tell(apply, DIAG_NO_XATTR, errno, "listing its attributes", "");
	old->names_len = len > 0 ? (size_t)len : 0;
}

void apply_old_free(struct apply_old *old)
{
	xattr_buffer_free(&old->names);
	xattr_buffer_free(&old->value);
}

/* Who is not root may change user.* only while the mode lets him: it is set after that. */
static void open_up(struct apply *apply, enum xattr_class class)
{
	if (class == XATTR_PLAIN && S_ISREG(apply->meta.mode) &&
	    !(apply->now_mode & S_IWUSR) && !privileges_get()->dac)
		change_mode(apply, apply->now_mode | S_IWUSR);
}

/* It has the attribute with this value; in any case it is off the list. */
static bool has_attribute(struct apply *apply, const char *name,
			  const void *value, size_t size)
{
	struct apply_old *old = apply->old;
	char *names = old->names.bytes;

	for (size_t at = 0, len; at < old->names_len; at += len) {
		len = strlen(names + at) + 1;
		if (strcmp(names + at, name) != 0)
			continue;
		old->names_len -= len;
		memmove(names + at, names + at + len, old->names_len - at);
		return xattr_get(&apply->at, name, &old->value) ==
			       (ssize_t)size &&
		       memcmp(old->value.bytes, value, size) == 0;
	}
	return false;
}

static void remove_attribute(struct apply *apply, const char *name)
{
	if (xattr_remove(&apply->at, name) != 0)
		tell(apply, DIAG_NO_XATTR, errno, "removing attribute ", name);
}

/* An old attribute of that name is one that would come if the source had it. */
static bool is_old(const struct apply *apply, const char *name)
{
	return strcmp(name, "security.selinux") != 0 &&
	       xattr_is_kept(apply->config->opts->preserve, name);
}

/* What an object that was there before has, and the source may not have. */
static void remove_old_attributes(struct apply *apply)
{
	struct xattr_buffer names = { 0 };
	ssize_t len = xattr_list(&apply->at, &names);

	for (ssize_t at = 0; at < len;
	     at += (ssize_t)strlen(names.bytes + at) + 1)
		if (is_old(apply, names.bytes + at))
			remove_attribute(apply, names.bytes + at);
	xattr_buffer_free(&names);
}

/* The same when all that the source has has come. */
static void remove_rest(struct apply *apply)
{
	const struct apply_old *old = apply->old;
	mode_t mode = apply->now_mode;

	for (size_t at = 0; at < old->names_len;
	     at += strlen(old->names.bytes + at) + 1) {
		const char *name = old->names.bytes + at;

		if (!is_old(apply, name) || !may_change(apply))
			continue;
		open_up(apply, xattr_classify(name));
		remove_attribute(apply, name);
	}
	if (apply->now_mode != mode)
		change_mode(apply, mode);
}

/* ---- times ---- */

/* Some file system (vfat from 1980, ext3 to 2038) limits such a time silently. */
static bool beyond(const struct timespec *when)
{
	return when->tv_sec < 315532800 || when->tv_sec > INT32_MAX;
}

static void check_times(struct apply *apply)
{
	struct stat st;

	if (fstat(apply->at.fd, &st) != 0 ||
	    (st.st_atim.tv_sec == apply->meta.atime.tv_sec &&
	     st.st_mtim.tv_sec == apply->meta.mtime.tv_sec))
		return;
	tell(apply, DIAG_NO_TIMES, EOPNOTSUPP, "setting its times", "");
}

static bool times_are_right(const struct apply *apply)
{
	/* A file is known by its mtime, but a symlink or a device is not. */
	return apply->old &&
	       (apply->frozen ||
		(stamp_time_fits(&apply->meta.atime, &apply->now_atime,
				 apply->grain) &&
		 stamp_time_fits(&apply->meta.mtime, &apply->now_mtime,
				 apply->grain)));
}

static void set_times(struct apply *apply)
{
	const struct timespec times[2] = { apply->meta.atime,
					   apply->meta.mtime };
	int done;

	if (!keeps(apply, PRESERVE_TIMES) || times_are_right(apply))
		return;
	if (!apply->at.handle)
		done = futimens(apply->at.fd, times);
	else
		done = utimensat(apply->at.fd, "", times,
				 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	if (done != 0)
		tell(apply, DIAG_NO_TIMES, errno, "setting its times", "");
	else if (beyond(&times[0]) || beyond(&times[1]))
		check_times(apply);
}

/* ---- all stages ---- */

void apply_until(struct apply *apply, enum apply_stage stage)
{
	if (apply->stage < APPLY_OWNER && stage >= APPLY_OWNER)
		set_owner(apply);
	if (apply->stage < APPLY_PLAIN && stage >= APPLY_PLAIN) {
		if (apply->clean)
			remove_old_attributes(apply);
		if (apply->inherits && !S_ISLNK(apply->meta.mode))
			remove_attribute(apply, "system.posix_acl_access");
	}
	if (apply->stage < APPLY_MODE && stage >= APPLY_MODE)
		set_mode(apply);
	if (apply->stage < APPLY_TIMES && stage >= APPLY_TIMES) {
		if (apply->old)
			remove_rest(apply);
		set_times(apply);
	}
	if (apply->stage < stage)
		apply->stage = stage;
}

/* ---- attributes ---- */

void apply_attribute(struct apply *apply, const char *name, const void *value,
		     size_t size)
{
	static const enum apply_stage before[] = {
		[XATTR_PLAIN] = APPLY_PLAIN,
		[XATTR_ACL] = APPLY_ACL,
		[XATTR_PRIVILEGED] = APPLY_PRIVILEGED,
	};
	enum xattr_class class = xattr_classify(name);
	enum diag_kind kind = class == XATTR_ACL ? DIAG_NO_ACL : DIAG_NO_XATTR;

	if (class == XATTR_SKIP)
		return;
	apply_until(apply, before[class]);
	if (apply->old) {
		if (has_attribute(apply, name, value, size) || !may_change(apply))
			return;
		open_up(apply, class);
	}
	if (xattr_set(&apply->at, name, value, size) == 0)
		return;
	/* The policy decides about labels, not the caller. */
	if (strcmp(name, "security.selinux") == 0 ||
	    strncmp(name, "security.SMACK", 14) == 0)
		kind = DIAG_LABEL;
	tell(apply, kind, errno, "setting attribute ", name);
}
