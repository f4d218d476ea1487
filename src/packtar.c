/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of a tar stream.  A header comes before what it describes, so all that it
 * says is asked for first: attributes and holes; and the first bytes are read before it
 * goes out.
 *
 * A small file costs five calls: openat, fstat, flistxattr, pread, close.
 */
#include "packing.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "extent.h"
#include "packout.h"

enum {
	EXTENTS_MAX = 1 << 16,		/* of one file; what comes then is dense */
	ATTRIBUTES_MAX = 1 << 20,	/* bytes together: no header holds more */
	MADE_UP_MAX = 1 << 20,		/* bytes of a file whose size is made up */
};

struct packtar {
	struct bytes path;		/* of the member at hand, with a NUL */
	size_t dir_len;			/* ... up to the slash of its directory */

	struct tar_xattr *xattrs;
	size_t nxattrs, xattrs_room;
	struct bytes values;		/* of the attributes, one after the other */

	struct tar_extent *extents;
	size_t nextents, extents_room;

	unsigned char *whole;		/* MADE_UP_MAX + 1 bytes, or NULL */
};

struct packtar *packtar_new(void)
{
	return calloc(1, sizeof(struct packtar));
}

void packtar_free(struct packtar *tar)
{
	if (!tar)
		return;
	bytes_free(&tar->path);
	bytes_free(&tar->values);
	free(tar->xattrs);
	free(tar->extents);
	free(tar->whole);
	free(tar);
}

/* Without memory the object at hand is left out. */
static int no_memory(struct pack *pack)
{
	diag_fail(STATUS_PARTIAL, pack_shown(pack), ENOMEM, "left out");
	return 0;
}

/* Room for one more element, doubling. */
static bool reserve(void **array, size_t *room, size_t count, size_t element)
{
	size_t more = *room ? 2 * *room : 64;
	void *bigger;

	if (count < *room)
		return true;
	bigger = realloc(*array, more * element);
	if (!bigger)
		return false;
	*array = bigger;
	*room = more;
	return true;
}

/* ---- names ---- */

void packtar_root(struct pack *pack)
{
	pack->tar->dir_len = 0;
}

/* The path of the item at hand; NULL without memory. */
static const char *name_item(struct packtar *tar, const struct walk_item *item)
{
	struct bytes *path = &tar->path;

	path->len = tar->dir_len;
	if (bytes_put(path, item->as ? item->as : ".") != 0 ||
	    (item->event == WALK_ENTER && bytes_put(path, "/") != 0) ||
	    bytes_add(path, "", 1) != 0)
		return NULL;
	return (const char *)path->at;
}

/* The directory at hand is the one that the next items are in. */
static void name_enter(struct packtar *tar)
{
	tar->dir_len = tar->path.len - 1;
}

static void name_leave(struct packtar *tar)
{
	size_t len = tar->dir_len;

	while (len > 0 && tar->path.at[len - 1] == '/')
		len--;
	while (len > 0 && tar->path.at[len - 1] != '/')
		len--;
	tar->dir_len = len;
}

/* ---- attributes ---- */

static bool add_attribute(struct packtar *tar, const char *name,
			  const void *value, size_t size)
{
	if (!reserve((void **)&tar->xattrs, &tar->xattrs_room, tar->nxattrs,
		     sizeof(*tar->xattrs)) ||
	    bytes_add(&tar->values, value, size) != 0)
		return false;
	tar->xattrs[tar->nxattrs++] = (struct tar_xattr){ name, NULL, size };
	return true;
}

static void read_attributes(struct pack *pack, const struct xattr_source *from)
{
	struct packtar *tar = pack->tar;

	for (size_t at = 0;
	     at < pack->names_len && tar->values.len <= ATTRIBUTES_MAX;
	     at += strlen(pack->names.bytes + at) + 1) {
		const char *name = pack->names.bytes + at;
		ssize_t size;

		if (!pack_wants_attribute(pack, name))
			continue;
		size = pack_read_attribute(pack, from, name);
		if (size >= 0 && !add_attribute(tar, name, pack->value.bytes,
						(size_t)size))
			diag_fail(STATUS_PARTIAL, pack_shown(pack), ENOMEM,
				  "attribute %s", name);
	}
}

static void put_attributes(struct pack *pack, struct tar_member *member,
			   const struct xattr_source *from,
			   const struct fetch *fetch)
{
	struct packtar *tar = pack->tar;
	size_t at = 0;

	tar->nxattrs = tar->values.len = 0;
	if (pack_list_attributes(pack, from, fetch) != 0)
		read_attributes(pack, from);
	for (size_t i = 0; i < tar->nxattrs; i++) {
		tar->xattrs[i].value = tar->values.at + at;
		at += tar->xattrs[i].size;
	}
	member->xattrs = tar->xattrs;
	member->nxattrs = tar->nxattrs;
}

/* ---- members ---- */

static void member_begin(struct pack *pack, struct tar_member *member,
			 const char *path, const struct stat *st)
{
	*member = (struct tar_member){ .path = path };
	meta_from_stat(&member->meta, st);
	(void)owners_meet(pack->owners, OWNER_USER, st->st_uid, &member->user);
	(void)owners_meet(pack->owners, OWNER_GROUP, st->st_gid, &member->group);
}

static const struct {
	unsigned loss;
	enum diag_kind kind;
} kinds[] = {
	{ TAR_LOST_XATTR, DIAG_TAR_XATTR }, { TAR_LOST_ACL, DIAG_TAR_ACL },
	{ TAR_LOST_NSEC, DIAG_TAR_NSEC },   { TAR_LOST_ATIME, DIAG_TAR_ATIME },
	{ TAR_LOST_HOLES, DIAG_TAR_HOLES }, { TAR_LOST_MTIME, DIAG_TAR_MTIME },
};

static void tell_losses(struct pack *pack, unsigned losses)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (losses & kinds[i].loss)
			diag_count(kinds[i].kind, pack_shown(pack), NULL, 0);
	if (losses & TAR_LOST_BIG_XATTR)
		diag_fail(STATUS_PARTIAL, pack_shown(pack), 0,
			  "its extended attributes are left out: more than 1 "
			  "MiB together");
	if (losses & TAR_LOST_NAME)
		diag_fail(STATUS_PARTIAL, pack_shown(pack), 0,
			  "left out: its name, target, size or owner does not "
			  "fit the stream's format");
}

/* Its header.  Returns 1 when it can't be a member: told. */
static int member_put(struct pack *pack, const struct tar_member *member,
		      unsigned losses)
{
	unsigned more = 0;
	int got = packout_member(pack->out, member, &more);

	if (got < 0)
		return -1;
	tell_losses(pack, losses | more);
	if (got == 0)
		pack->entries++;
	return got;
}

/* A member that is nothing but its header. */
static int member_put_whole(struct pack *pack, const struct tar_member *member)
{
	int got = member_put(pack, member, 0);

	return got == 0 ? packout_end(pack->out) : got;
}

/*
 * Another name of what has come already.  Returns 1 when it was, 0 when the object itself
 * is to be packed, and will be found under this name then.
 */
static int link_put(struct pack *pack, struct tar_member *member,
		    const struct stat *st)
{
	struct link link;
	int got;

	if (!pack_meet(pack, st, &link))
		return 0;
	if (link.first || !link.path) {
		if (links_name(pack->links, link.id, member->path) == 0)
			return 0;
		links_forget(pack->links, st->st_dev, st->st_ino);
		pack_tell(pack, ENOMEM, "remembering its other names");
		return 0;
	}
	/* This name has come already: a link to itself is refused by some. */
	if (strcmp(link.path, member->path) == 0)
		return 1;
	member->hardlink = link.path;
	got = member_put_whole(pack, member);
	member->hardlink = NULL;
	return got < 0 ? -1 : 1;
}

/* It didn't become a member, or a damaged one: the next name of it is the first. */
static void link_forget(struct pack *pack, const struct stat *st)
{
	if (st->st_nlink > 1)
		links_forget(pack->links, st->st_dev, st->st_ino);
}

/* ---- regular files ---- */

struct file {
	struct source in;
	struct tar_member member;
	uint64_t size;			/* of its data that were there ... */
	int failure;			/* ... and why they end there, or 0: it shrank */
};

static const char so_shrunk[] = ": filled with zeros";

/* Extends the last extent or adds one, in whole blocks.  False when it can't. */
static bool add_extent(struct packtar *tar, uint64_t start, uint64_t end,
		       uint64_t size)
{
	struct tar_extent *last =
		tar->nextents > 0 ? &tar->extents[tar->nextents - 1] : NULL;

	start -= start % TAR_BLOCK;
	end += (TAR_BLOCK - end % TAR_BLOCK) % TAR_BLOCK;
	if (end > size)
		end = size;
	if (last && start <= last->offset + last->length) {
		last->length = end - last->offset;
		return true;
	}
	if (!reserve((void **)&tar->extents, &tar->extents_room, tar->nextents,
		     sizeof(*tar->extents)))
		return false;
	tar->extents[tar->nextents++] = (struct tar_extent){ start, end - start };
	return true;
}

/* Where a file has data.  Returns false when it is to be read whole. */
static bool find_extents(struct packtar *tar, const struct source *in)
{
	uint64_t size = (uint64_t)in->st.st_size, at = 0, start, end;
	int more;

	tar->nextents = 0;
	while ((more = extent_next(in->fd, at, size, &start, &end)) > 0) {
		if (tar->nextents == EXTENTS_MAX)
			return add_extent(tar, at, size, size);
		if (!add_extent(tar, start, end, size))
			return false;
		at = end;
	}
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more < 0 || (at == 0 && extent_has_blocks(in->fd)))
		return false;
	return tar->nextents != 1 || tar->extents[0].length < size;
}

static void put_holes(struct pack *pack, struct file *file, unsigned *losses)
{
	if (!pack_keeps(pack, PRESERVE_HOLES) || !extent_sparse(&file->in.st))
		return;
	/* Zeros are read as fast as they are made up. */
	if (pack->config.format != TAR_PAX) {
		*losses |= TAR_LOST_HOLES;
		return;
	}
	if (extent_settle(file->in.fd, &file->in.st) != 0 ||
	    !find_extents(pack->tar, &file->in))
		return;
	file->member.sparse = true;
	file->member.extents = pack->tar->extents;
	file->member.nextents = pack->tar->nextents;
}

/* What is missing becomes zeros, and it is said where they begin. */
static int file_end(struct pack *pack, const struct file *file)
{
	const struct flaw flaw = { file->failure == 0, file->size };

	if (packout_end(pack->out) != 0)
		return -1;
	if (file->size == file->member.meta.size)
		return 0;
	return packout_flaw(pack->out, &flaw);
}

/* The rest of a member that can't be read, if it can't be taken back. */
static int file_fail(struct pack *pack, struct file *file)
{
	if (packout_cancel(pack->out)) {
		source_tell_error(pack, file->failure, file->size, "");
		pack->entries--;
		return 0;
	}
	source_tell_error(pack, file->failure, file->size,
			  ", the rest is filled with zeros");
	return file_end(pack, file);
}

/* One read takes all of it. */
static int put_small(struct pack *pack, struct file *file)
{
	size_t size = (size_t)file->in.st.st_size;
	unsigned char *at;
	ssize_t n = 0;
	int got;

	source_pause(&file->in);
	got = member_put(pack, &file->member, 0);
	if (got != 0)
		return got;
	if (size == 0) {
		source_resume(&file->in);
		source_note(pack, &file->in);
		return file_end(pack, file);
	}
	at = packout_room(pack->out, size + 1);
	if (!at)
		return -1;
	source_resume(&file->in);
	n = source_read(&file->in, at);
	source_note(pack, &file->in);
	if (n < 0) {
		file->failure = errno;
		return file_fail(pack, file);
	}
	if ((size_t)n != size)
		source_tell_size(pack, &file->in, (uint64_t)n, so_shrunk);
	if ((size_t)n > size)
		n = (ssize_t)size;
	file->size = (uint64_t)n;
	pack->bytes += (uint64_t)n;
	pack_note_data(pack, at, (size_t)n, 0);
	if (n > 0 && packout_data(pack->out, at, (size_t)n) != 0)
		return -1;
	return file_end(pack, file);
}

/* Returns 0, 1 at a read error or the file's early end (file->size says where), or -1. */
static int put_range(struct pack *pack, struct file *file, uint64_t from,
		     uint64_t to)
{
	while (from < to) {
		size_t most = packout_room_max(pack->out);
		size_t want = to - from < most ? (size_t)(to - from) : most;
		void *at = packout_room(pack->out, want);
		ssize_t n;

		if (!at)
			return -1;
		n = source_read_at(&file->in, at, want, from);
		if (n <= 0) {
			file->failure = n < 0 ? errno : 0;
			file->size = from;
			return 1;
		}
		pack_note_data(pack, at, (size_t)n, from);
		if (packout_data(pack->out, at, (size_t)n) != 0)
			return -1;
		from += (uint64_t)n;
		pack->bytes += (uint64_t)n;
	}
	return 0;
}

static int put_extents(struct pack *pack, struct file *file)
{
	const struct tar_member *member = &file->member;
	int got = 0;

	if (!member->sparse)
		return put_range(pack, file, 0, member->meta.size);
	for (size_t i = 0; got == 0 && i < member->nextents; i++)
		got = put_range(pack, file, member->extents[i].offset,
				member->extents[i].offset +
					member->extents[i].length);
	return got;
}

static int put_large(struct pack *pack, struct file *file)
{
	unsigned losses = 0;
	int got;

	source_note(pack, &file->in);
	source_sequential(pack, &file->in);
	put_holes(pack, file, &losses);
	file->size = (uint64_t)file->in.st.st_size;
	got = member_put(pack, &file->member, losses);
	if (got != 0)
		return got;
	got = put_extents(pack, file);
	if (got < 0)
		return -1;
	if (file->failure != 0)
		return file_fail(pack, file);
	source_check(pack, &file->in, &file->size, so_shrunk);
	return file_end(pack, file);
}

/* A size that is made up: only reading to the end tells it. */
static int put_made_up(struct pack *pack, struct file *file)
{
	struct packtar *tar = pack->tar;
	size_t have = 0;
	ssize_t n = 1;
	int got;

	if (!tar->whole)
		tar->whole = malloc(MADE_UP_MAX + 1);
	if (!tar->whole)
		return no_memory(pack);
	while (n > 0 && have <= MADE_UP_MAX) {
		n = source_read_at(&file->in, tar->whole + have,
				   MADE_UP_MAX + 1 - have, have);
		if (n > 0)
			have += (size_t)n;
	}
	if (n < 0)
		source_tell_error(pack, errno, have, "");
	else if (have > MADE_UP_MAX)
		diag_fail(STATUS_PARTIAL, pack_shown(pack), 0,
			  "left out: it tells no size, and has more than %d "
			  "bytes", MADE_UP_MAX);
	if (n < 0 || have > MADE_UP_MAX)
		return 1;
	file->size = file->member.meta.size = have;
	got = member_put(pack, &file->member, 0);
	if (got != 0)
		return got;
	pack->bytes += have;
	pack_note_data(pack, tar->whole, have, 0);
	if (have > 0 && packout_data(pack->out, tar->whole, have) != 0)
		return -1;
	return file_end(pack, file);
}

size_t packtar_small_max(const struct pack *pack)
{
	return packout_room_max(pack->out) - 1;
}

bool packtar_wants_open(void *arg, const struct stat *st)
{
	(void)arg;
	return extent_sparse(st) && st->st_size >= EXTENT_REFERENCE_MIN;
}

static bool is_small(struct pack *pack, const struct file *file)
{
	return (uint64_t)file->in.st.st_size <= packtar_small_max(pack) &&
	       !packtar_wants_open(pack, &file->in.st);
}

static int put_contents(struct pack *pack, struct file *file)
{
	if (source_made_up(pack, &file->in))
		return put_made_up(pack, file);
	return is_small(pack, file) ? put_small(pack, file) :
				      put_large(pack, file);
}

static bool is_output(struct pack *pack, const struct stat *st)
{
	if (!pack->config.is_output ||
	    !pack->config.is_output(pack->config.arg, st))
		return false;
	diag_note(pack_shown(pack), "left out: it is the archive");
	return true;
}

static int packtar_special(struct pack *pack);

static int packtar_file(struct pack *pack)
{
	struct file file = { .failure = 0 };
	struct xattr_source from = { 0 };
	const char *path;
	int got;

	switch (source_open(pack, &file.in)) {
	case SOURCE_OPEN:
		break;
	case SOURCE_SPECIAL:
		return packtar_special(pack);
	case SOURCE_GONE:
		return 0;
	}
	path = name_item(pack->tar, &pack->item);
	if (is_output(pack, &file.in.st)) {
		got = 0;
	} else if (path) {
		member_begin(pack, &file.member, path, &file.in.st);
		got = link_put(pack, &file.member, &file.in.st);
		if (got >= 0)
			pack_note(pack, &file.in.st, NULL, got > 0);
		if (got == 0) {
			from.fd = file.in.fd;
			put_attributes(pack, &file.member, &from, file.in.fetch);
			got = put_contents(pack, &file);
			pack_note_end(pack, file.size,
				      got > 0 ? EINVAL : file.failure);
			if (got > 0 || file.failure != 0)
				link_forget(pack, &file.in.st);
		}
	} else {
		got = no_memory(pack);
	}
	source_close(&file.in);
	return got < 0 ? -1 : 0;
}

/* ---- everything else ---- */

static int packtar_object(struct pack *pack, const struct stat *st,
			  const char *target)
{
	const struct walk_item *item = &pack->item;
	const struct xattr_source from = {
		.fd = item->event == WALK_ENTER ? item->fd : -1,
		.dirfd = item->parent,
		.name = item->name,
	};
	const char *path = name_item(pack->tar, item);
	struct tar_member member;
	int got;

	if (!path)
		return no_memory(pack);
	member_begin(pack, &member, path, st);
	member.target = target;
	if (!S_ISDIR(st->st_mode)) {
		got = link_put(pack, &member, st);
		if (got > 0)
			pack_note(pack, st, NULL, true);
		if (got != 0)
			return got < 0 ? -1 : 0;
	}
	put_attributes(pack, &member, &from, NULL);
	got = member_put_whole(pack, &member);
	if (got == 0)
		pack_note(pack, st, target, false);
	if (got > 0 && !S_ISDIR(st->st_mode))
		link_forget(pack, st);
	return got < 0 ? -1 : 0;
}

/* A symlink, FIFO or device. */
static int packtar_special(struct pack *pack)
{
	char target[PATH_MAX + 1];
	struct stat st;

	switch (special_look(pack, &st)) {
	case SPECIAL_WANTED:
		break;
	case SPECIAL_REGULAR:
		return packtar_file(pack);
	case SPECIAL_GONE:
		return 0;
	}
	if (S_ISSOCK(st.st_mode)) {
		diag_note(pack_shown(pack),
			  "socket left out: a tar stream can't hold it");
		return 0;
	}
	if (!S_ISLNK(st.st_mode))
		return packtar_object(pack, &st, NULL);
	if (special_target(pack, &st, target) < 0)
		return 0;
	return packtar_object(pack, &st, target);
}

/* A directory on the way to a name of a list: no member, as with tar. */
static int packtar_way(struct pack *pack)
{
	/* The top has no name: names are as the list says. */
	if (!pack->item.as)
		return 0;
	if (!name_item(pack->tar, &pack->item)) {
		ahead_skip(pack->ahead);
		return no_memory(pack);
	}
	name_enter(pack->tar);
	return 0;
}

static int packtar_enter(struct pack *pack)
{
	if (pack->item.way)
		return packtar_way(pack);
	if (!name_item(pack->tar, &pack->item)) {
		ahead_skip(pack->ahead);
		return no_memory(pack);
	}
	if (packtar_object(pack, &pack->item.st, NULL) != 0)
		return -1;
	name_enter(pack->tar);
	return 0;
}

int packtar_item(struct pack *pack)
{
	const char *path;

	if (pack->item.event == WALK_LEAVE) {
		name_leave(pack->tar);
		return 0;
	}
	if (pack->config.opts->verbose > 0 && !pack->item.way) {
		path = name_item(pack->tar, &pack->item);
		diag_list(path ? path : pack_shown(pack));
	}
	if (pack->item.event == WALK_ENTER)
		return packtar_enter(pack);
	if (pack->item.type == DT_REG)
		return packtar_file(pack);
	return packtar_special(pack);
}
