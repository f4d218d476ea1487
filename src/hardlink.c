/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Further names of an inode: made when the first one is complete, by whichever
 * worker meets them.
 *
 * A LINK speaks of its inode by id, a PATHLINK by the path of another name, which
 * comes from elsewhere: it is looked up below the destination (below.c) and may lead
 * to any file there, also to one that was there before (but see target_fits).
 */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "below.h"
#include "thread.h"

/* The source of a link: its directory entered, and the name in it. */
struct link_source {
	struct inode_place place;
	int dirfd;
};

static bool links_refused(int err)
{
	return err == EMLINK || err == EPERM || err == EOPNOTSUPP ||
	       err == ENOSYS || err == EXDEV;
}

/* The name is there already and is the very inode. */
static bool link_there(struct worker *worker, const struct link_source *from)
{
	struct stat st;

	return fstatat(worker->dirfd, worker->object.name, &st,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == from->place.dev && st.st_ino == from->place.ino;
}

static int make_link(struct worker *worker, const char *name,
		     const struct record *record)
{
	/* record->data smuggles the source through the maker's signature. */
	const struct link_source *from = record->data;
	struct stat st;

	if (linkat(from->dirfd, from->place.name, worker->dirfd, name, 0) != 0) {
		int err = errno;

		if (err == EEXIST && name == worker->object.name &&
		    link_there(worker, from)) {
			worker->object.there =
				worker->restore->config.opts->resume;
			return 0;
		}
		errno = err;
		worker->object.refused = links_refused(errno) ? errno : 0;
		return -1;
	}
	/* Somebody may have put another file under the first name. */
	if (fstatat(worker->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == from->place.dev && st.st_ino == from->place.ino)
		return 0;
	unlinkat(worker->dirfd, name, 0);
	errno = ESTALE;
	return -1;
}

static void drop(struct worker *worker, struct inode *inode)
{
	if (inode)
		inode_drop(worker->restore->config.inodes, inode);
}

/* Attributes of a second inode, taken over from the first. */
static void copy_attributes(struct worker *worker,
			    const struct xattr_source *from)
{
	struct xattr_buffer names = { 0 }, value = { 0 };
	ssize_t len = xattr_list(from, &names), size;

	for (int class = XATTR_PLAIN; class <= XATTR_PRIVILEGED; class++)
		for (ssize_t at = 0; at < len;
		     at += (ssize_t)strlen(names.bytes + at) + 1) {
			if ((int)xattr_classify(names.bytes + at) != class)
				continue;
			size = xattr_get(from, names.bytes + at, &value);
			if (size >= 0)
				apply_attribute(&worker->object.apply,
						names.bytes + at, value.bytes,
						(size_t)size);
		}
	xattr_buffer_free(&names);
	xattr_buffer_free(&value);
}

static void twin_file(struct worker *worker, struct record *record,
		      const struct link_source *from, struct inode *inode)
{
	struct object *object = &worker->object;
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int in = openat(from->dirfd, from->place.name, flags | O_NOATIME);
	struct xattr_source source = { .fd = in };
	struct stat st;

	if (in < 0 && errno == EPERM)
		in = openat(from->dirfd, from->place.name, flags);
	source.fd = in;
	if (in < 0 || fstat(in, &st) != 0) {
		object_tell(worker, errno, "opening its first name");
		object_give_up(worker);
		drop(worker, inode);
		if (in >= 0)
			close(in);
		return;
	}
	record->type = RECORD_FILE;
	record->flags = extent_sparse(&st) ? RECORD_SPARSE : 0;
	record->flags |= RECORD_ACL;	/* there may be one: no final mode early */
	record->data = NULL;
	file_begin(worker, record, inode);
	if (!object->skip &&
	    file_copy_from(worker, in, &st, (uint64_t)st.st_size) == 0) {
		copy_attributes(worker, &source);
		handover_sums_of(worker, in, &st);
		file_finish(worker, (uint64_t)st.st_size);
	}
	close(in);
}

static void twin_special(struct worker *worker, struct record *record,
			 const struct link_source *from, struct inode *inode)
{
	const struct xattr_source source = {
		.fd = -1,
		.dirfd = from->dirfd,
		.name = from->place.name,
	};
	char target[PATH_MAX + 1];
	ssize_t len;

	record->type = RECORD_NODE;
	record->flags = RECORD_MORE;
	record->data = NULL;
	if (S_ISLNK(record->meta.mode)) {
		len = readlinkat(from->dirfd, from->place.name, target,
				 sizeof(target) - 1);
		if (len < 0) {
			object_tell(worker, errno, "readlinkat of its first name");
			object_give_up(worker);
			drop(worker, inode);
			return;
		}
		target[len] = '\0';
		record->type = RECORD_SYMLINK;
		record->data = target;
	}
	special_begin(worker, record, inode);
	if (worker->object.skip)
		return;
	copy_attributes(worker, &source);
	special_end(worker);
}

/*
 * The file system takes no more names for the inode: begin another one with the
 * same contents, to which further names are then linked.  Takes over the hold.
 */
static void make_twin(struct worker *worker, struct record *record,
		      const struct link_source *from, struct inode *inode,
		      int err)
{
	if (err == EMLINK)
		object_tell(worker, err, "linkat: it begins another inode with the "
			    "same contents");
	else
		object_tell_kind(worker, DIAG_NO_LINK, EOPNOTSUPP,
				 "linkat: copied instead");
	if (S_ISREG(record->meta.mode))
		twin_file(worker, record, from, inode);
	else
		twin_special(worker, record, from, inode);
}

/*
 * One twin at a time: whoever comes second links to the first one's.  Returns false
 * when there is one already, and *from is no more the newest name.
 */
static bool make_only_twin(struct worker *worker, struct record *record,
			   const struct link_source *from, struct inode *inode,
			   int err)
{
	struct restore *restore = worker->restore;
	struct inode_place newest;
	bool mine;

	lock_take(&restore->twins);
	mine = !inode_wait(restore->config.inodes, inode, &newest) ||
	       err != EMLINK || newest.ino == from->place.ino;
	if (mine)
		make_twin(worker, record, from, inode, err);
	lock_give(&restore->twins);
	return mine;
}

/* Takes over the hold of the inode, unless it returns false: then try again. */
static bool link_make(struct worker *worker, struct record *record,
		      const struct link_source *from, struct inode *inode)
{
	record->data = from;
	if (object_make(worker, make_link, record, "linkat",
			DIAG_NO_LINK) == 0)
		object_finish(worker);
	else if (worker->object.refused != 0)
		return make_only_twin(worker, record, from, inode,
				      worker->object.refused);
	inode_drop(worker->restore->config.inodes, inode);
	return true;
}

/* Waits for the first name and opens its directory.  False after a message. */
static bool link_find(struct worker *worker, struct inode *inode,
		      struct link_source *from)
{
	struct restore_config *config = &worker->restore->config;
	bool stopped;

	if (!inode_wait(config->inodes, inode, &from->place)) {
		stopped = restore_stopped(worker->restore);
		if (!stopped)
			object_tell(worker, 0, "not linked: its first name could not "
				    "be made");
		return false;
	}
	from->dirfd = gate_enter(config->gate, from->place.dir);
	if (from->dirfd < 0)
		object_tell(worker, 0, "not linked: the directory of its first name "
			    "can't be entered");
	return from->dirfd >= 0;
}

void link_record(struct worker *worker, const struct record *record,
		 struct inode *inode)
{
	struct restore_config *config = &worker->restore->config;
	struct link_source from;
	bool made = false;

	while (!made) {
		struct record copy = *record;

		/* A name only: what becomes of it says nothing of the inode. */
		object_begin(worker, record, NULL);
		if (worker->object.skip || !link_find(worker, inode, &from)) {
			object_give_up(worker);
			inode_drop(config->inodes, inode);
			return;
		}
		/* The inode's pin on the directory may go with its last hold. */
		gate_pin(config->gate, from.place.dir);
		made = link_make(worker, &copy, &from, inode);
		gate_exit(config->gate, from.place.dir);
		gate_unpin(config->gate, from.place.dir);
	}
}

/* ---- by path ---- */

/* Tells why there is no link, and to what it would have been. */
static void tell_target(struct worker *worker, int err, const char *why,
			const char *path)
{
	char *what;

	if (asprintf(&what, "%s (a link to %s)", why, path) < 0)
		what = NULL;
	object_tell(worker, err, what ? what : why);
	free(what);
}

static const char *why_not_found(int err)
{
	switch (err) {
	case EINVAL:
		return "refused: its link's target is no path below the destination";
	case ELOOP:
	case ENOTDIR:
		return "refused: the way to its link's target leads through what "
		       "is no directory";
	default:
		return "not linked: looking up its target";
	}
}

/*
 * Finds the target, which belongs to nobody: its directory stays open until the caller
 * closes it.  False after a message.
 */
static bool target_find(struct worker *worker, const struct record *record,
			struct link_source *from, struct stat *st)
{
	struct gate *gate = worker->restore->config.gate;
	bool follow = worker->restore->config.opts->keep_dirlink;
	const char *path = record->data;
	int root = gate_enter(gate, gate_root(gate)), err;
	const char *last = path;
	bool there;

	from->dirfd = root < 0 ? -1 : below_open(root, path, follow, &last);
	there = from->dirfd >= 0 &&
		fstatat(from->dirfd, last, st, AT_SYMLINK_NOFOLLOW) == 0;
	err = errno;
	if (root >= 0)
		gate_exit(gate, gate_root(gate));
	if (!there && err == ENOENT && (record->flags & RECORD_OTHER)) {
		tell_target(worker, 0, "not linked: its target was left out", path);
	} else if (!there) {
		tell_target(worker, err == EINVAL ? 0 : err, why_not_found(err),
			    path);
	} else if (S_ISDIR(st->st_mode)) {
		object_tell(worker, 0, "refused: its link's target is a directory");
	} else {
		from->place = (struct inode_place){ NULL, last, st->st_dev,
						    st->st_ino };
		return true;
	}
	if (from->dirfd >= 0)
		close(from->dirfd);
	return false;
}

/*
 * May the target be what the link means?  One that this run did not unpack, because it
 * was left out or -k kept what was there, is taken for the same file by its time.  Not
 * every stream, and not every file system, has fractions of a second.
 */
static bool target_fits(const struct worker *worker, const struct record *record,
			const struct stat *st)
{
	const struct opts *opts = worker->restore->config.opts;
	const struct timespec *mtime = &record->meta.mtime;

	if (!(record->flags & RECORD_OTHER) &&
	    !(opts->keep && (opts->preserve & PRESERVE_TIMES)))
		return true;
	return mtime->tv_sec == st->st_mtim.tv_sec &&
	       (mtime->tv_nsec == st->st_mtim.tv_nsec ||
		mtime->tv_nsec == 0 || st->st_mtim.tv_nsec == 0);
}

/* -k keeps what has the link's name, whatever that should have been. */
static bool is_kept(const struct worker *worker)
{
	struct stat st;

	return worker->restore->config.opts->keep &&
	       fstatat(worker->dirfd, worker->object.name, &st,
		       AT_SYMLINK_NOFOLLOW) == 0;
}

/* The inode that stands for a full one, if there is one that is newer than `from`. */
static bool find_twin(struct worker *worker, const struct stat *target,
		      const struct link_source *from, struct path_twin *twin)
{
	*twin = worker->restore->twin;
	return twin->dir && twin->was_dev == target->st_dev &&
	       twin->was_ino == target->st_ino &&
	       (twin->dev != from->place.dev || twin->ino != from->place.ino);
}

/* The name that was just made stands for the target from now on. */
static void keep_twin(struct worker *worker, const char *name,
		      const struct stat *target)
{
	struct gate *gate = worker->restore->config.gate;
	struct path_twin *twin = &worker->restore->twin;
	struct stat st;

	/* An object that came to nothing is not forgotten yet. */
	if (worker->object.type != 0 ||
	    fstatat(worker->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	gate_pin(gate, worker->dir);
	if (twin->dir)
		gate_unpin(gate, twin->dir);
	*twin = (struct path_twin){
		.dir = worker->dir,
		.was_dev = target->st_dev,
		.was_ino = target->st_ino,
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	memcpy(twin->name, name, strlen(name) + 1);
}

/*
 * Links to `from`, or where that takes no more, begins another inode.  Returns false when
 * there is one meanwhile.
 */
static bool pathlink_make(struct worker *worker, struct record *record,
			  const struct link_source *from,
			  const struct stat *target)
{
	struct restore *restore = worker->restore;
	struct path_twin twin;
	bool done = true;

	record->data = from;
	if (object_make(worker, make_link, record, "linkat",
			DIAG_NO_LINK) == 0) {
		object_finish(worker);
	} else if (worker->object.refused == EMLINK) {
		lock_take(&restore->twins);
		done = !find_twin(worker, target, from, &twin);
		if (done) {
			make_twin(worker, record, from, NULL, EMLINK);
			keep_twin(worker, record->name, target);
		}
		lock_give(&restore->twins);
	} else if (worker->object.refused != 0) {
		make_twin(worker, record, from, NULL, worker->object.refused);
	}
	return done;
}

/* Through the newest inode that stands for the target, if that is not the target. */
static bool pathlink_try(struct worker *worker, const struct record *record,
			 const struct link_source *target,
			 const struct stat *st)
{
	struct restore *restore = worker->restore;
	struct gate *gate = restore->config.gate;
	struct link_source from = *target;
	struct record copy = *record;
	struct path_twin twin;
	bool done;

	meta_from_stat(&copy.meta, st);
	lock_take(&restore->twins);
	if (!find_twin(worker, st, target, &twin))
		twin.dir = NULL;
	else
		gate_pin(gate, twin.dir);
	lock_give(&restore->twins);
	if (twin.dir) {
		from.dirfd = gate_enter(gate, twin.dir);
		from.place = (struct inode_place){ twin.dir, twin.name,
						   twin.dev, twin.ino };
	}
	if (from.dirfd < 0)
		from = *target;
	done = pathlink_make(worker, &copy, &from, st);
	if (twin.dir) {
		if (from.dirfd != target->dirfd)
			gate_exit(gate, twin.dir);
		gate_unpin(gate, twin.dir);
	}
	return done;
}

/* What --no-preserve=links asks for: a file of its own. */
static void pathlink_copy(struct worker *worker, const struct record *record,
			  const struct link_source *target,
			  const struct stat *st)
{
	struct record copy = *record;

	meta_from_stat(&copy.meta, st);
	if (S_ISREG(st->st_mode))
		twin_file(worker, &copy, target, NULL);
	else
		twin_special(worker, &copy, target, NULL);
}

void pathlink_record(struct worker *worker, const struct record *record)
{
	const struct opts *opts = worker->restore->config.opts;
	struct link_source target;
	bool done = false;
	struct stat st;

	object_begin(worker, record, NULL);
	if (worker->object.skip ||
	    !target_find(worker, record, &target, &st)) {
		object_give_up(worker);
		return;
	}
	if (!target_fits(worker, record, &st)) {
		if (!is_kept(worker))
			tell_target(worker, 0, "not linked: its target was there "
				    "before, and is another file", record->data);
		object_give_up(worker);
		close(target.dirfd);
		return;
	}
	if (record->meta.size != 0 && record->meta.size != (uint64_t)st.st_size)
		object_tell(worker, 0, "a link that came with data, which are not "
			    "those of the file it is linked to: left out");
	if (!(opts->preserve & PRESERVE_LINKS)) {
		pathlink_copy(worker, record, &target, &st);
		done = true;
	}
	while (!done) {
		object_begin(worker, record, NULL);
		if (worker->object.skip)
			break;
		done = pathlink_try(worker, record, &target, &st);
	}
	close(target.dirfd);
}
