/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Further names of an inode: made when the first one is complete, by whichever
 * worker meets them.
 */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "thread.h"

/* The source of a link: its directory entered, and the name in it. */
struct link_source {
	struct inode_place place;
	int dirfd;
};

static bool links_refused(int err)
{
	return err == EMLINK || err == EPERM || err == EOPNOTSUPP ||
	       err == ENOSYS;
}

static int make_link(struct worker *worker, const char *name,
		     const struct record *record)
{
	/* record->data smuggles the source through the maker's signature. */
	const struct link_source *from = record->data;
	struct stat st;

	if (linkat(from->dirfd, from->place.name, worker->dirfd, name, 0) != 0) {
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

/* The name is there already and is the very inode. */
static bool link_there(struct worker *worker, const struct link_source *from)
{
	struct stat st;

	return gate_facts(worker->dir)->existed &&
	       fstatat(worker->dirfd, worker->object.name, &st,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == from->place.dev && st.st_ino == from->place.ino;
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
		inode_drop(worker->restore->config.inodes, inode);
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
			inode_drop(worker->restore->config.inodes, inode);
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
	if (link_there(worker, from) ||
	    object_make(worker, make_link, record, "linkat",
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
