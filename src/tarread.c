/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libarchive decodes; tarframe.c says where each member begins and ends, and
 * feeds it one member after the other.  What stands in the headers as plain bytes is taken
 * from them (tarpax.h says why), and those records are left out of what libarchive gets.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tar.h"
#include "taracl.h"
#include "tarframe.h"
#include "tarpax.h"

/* libarchive refuses more records than that. */
enum { REST_MAX = 1000000 };

/* An attribute while duplicates are dropped: of one name the higher rank counts. */
struct ranked {
	struct tar_xattr xattr;
	size_t rank;
};

struct tar_reader {
	struct frame frame;
	struct archive *archive;	/* NULL: to be made */
	struct bytes feed;	/* headers for libarchive */
	bool fed;			/* it has got them */
	uint64_t given;			/* bytes that this archive object got */
	locale_t locale;
	struct ranked *ranked;
	struct tar_xattr *xattrs;
	size_t xattrs_room;
	char *acls[TAR_ACLS];		/* values */
	char link[USTAR_LINK_LEN + 1];
	uint64_t end, size;		/* of the data read so far; of the file */
	uint64_t mapped, got;		/* bytes that its sparse map has; that came */
	bool has_map;
	bool in_data;			/* a member is open */
	bool regular;			/* ... and has data for others */
	const char *wrong;
	char words[256];
};

struct tar_reader *tar_reader_new(tar_source *source, void *arg)
{
	struct tar_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	frame_init(&reader->frame, source, arg);
	/* Without it names are still right, only libarchive grumbles. */
	reader->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return reader;
}

static void drop_archive(struct tar_reader *reader)
{
	if (reader->archive)
		(void)archive_read_free(reader->archive);
	reader->archive = NULL;
	reader->in_data = false;
	reader->given = 0;
}

void tar_reader_free(struct tar_reader *reader)
{
	if (!reader)
		return;
	drop_archive(reader);
	frame_destroy(&reader->frame);
	for (int kind = 0; kind < TAR_ACLS; kind++)
		free(reader->acls[kind]);
	bytes_free(&reader->feed);
	free(reader->ranked);
	free(reader->xattrs);
	if (reader->locale)
		freelocale(reader->locale);
	free(reader);
}

/* ---- what libarchive gets ---- */

static la_ssize_t feed(struct archive *archive, void *arg, const void **bytes)
{
	struct tar_reader *reader = arg;
	size_t n;

	(void)archive;
	if (!reader->fed) {
		reader->fed = true;
		*bytes = reader->feed.at;
		n = reader->feed.len;
	} else {
		n = frame_data(&reader->frame, bytes);
	}
	reader->given += n;
	return (la_ssize_t)n;
}

/* The path that extended headers tell, or NULL. */
static const char *long_path(const struct frame *frame)
{
	if (frame->pax.sparse_path)
		return frame->pax.sparse_path;
	if (frame->pax.path)
		return frame->pax.path;
	return frame->has_name ? (const char *)frame->name.at : NULL;
}

/*
 * A slash at the end makes old headers a directory's.  Where the field has only the
 * begin of the name, it may be any of the path's.
 */
static void hide_slash(const struct frame *frame, char *header)
{
	size_t len = strnlen(header + USTAR_NAME, USTAR_NAME_LEN);
	const char *path = long_path(frame);

	if (path && path[0] != '\0' && path[strlen(path) - 1] != '/' && len > 0 &&
	    header[USTAR_NAME + len - 1] == '/')
		header[USTAR_NAME + len - 1] = '_';
}

/* A field that says there are no data, or that a hard link's are a file's. */
static void adjust_header(const struct frame *frame, char *header)
{
	hide_slash(frame, header);
	if (frame->skipped_size)
		ustar_put(header, USTAR_SIZE, USTAR_LONG_LEN, 0);
	if (header[USTAR_TYPE] == '1' && frame->size > 0)
		header[USTAR_TYPE] = '0';
	ustar_sign(header);
}

/* The records that are left, and the member's header. */
static const char *make_feed(struct tar_reader *reader)
{
	static const char zeros[TAR_BLOCK];
	struct frame *frame = &reader->frame;
	struct bytes *to = &reader->feed;
	size_t rest = frame->has_pax ? frame->pax.rest_len : 0;
	char block[TAR_BLOCK];
	bool good = true;

	to->len = 0;
	reader->fed = false;
	if (rest > REST_MAX)
		return "its extended header is too large";
	if (rest > 0) {
		ustar_make(block, "x", 'x', rest);
		ustar_sign(block);
		good = bytes_add(to, block, TAR_BLOCK) == 0 &&
		       bytes_add(to, frame->pax.rest, rest) == 0 &&
		       bytes_add(to, zeros, (TAR_BLOCK - rest % TAR_BLOCK) %
					    TAR_BLOCK) == 0;
	}
	if (!good || bytes_add(to, frame->head.at, frame->head.len) != 0)
		return "no memory for its header";
	adjust_header(frame, (char *)to->at + to->len - frame->head.len);
	return NULL;
}

static const char *reason(struct tar_reader *reader, const char *otherwise)
{
	const char *words = reader->archive ?
		archive_error_string(reader->archive) : NULL;

	snprintf(reader->words, sizeof(reader->words), "%s",
		 words ? words : otherwise);
	return reader->words;
}

static int open_archive(struct tar_reader *reader)
{
	struct archive *archive = archive_read_new();

	reader->archive = archive;
	return archive &&
	       archive_read_support_filter_none(archive) == ARCHIVE_OK &&
	       archive_read_support_format_tar(archive) == ARCHIVE_OK &&
	       archive_read_open(archive, reader, NULL, feed, NULL) == ARCHIVE_OK ?
		0 : -1;
}

/* The member's entry; NULL with `wrong` when libarchive can't read it. */
static struct archive_entry *decode(struct tar_reader *reader)
{
	struct archive_entry *entry = NULL;
	int result;

	if (!reader->archive && open_archive(reader) != 0) {
		reader->wrong = reason(reader, "no memory");
		return NULL;
	}
	result = archive_read_next_header(reader->archive, &entry);
	/* A warning is of names, which are taken from elsewhere. */
	if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
		return entry;
	reader->wrong = reason(reader, "it makes no sense");
	return NULL;
}

/* ---- attributes ---- */

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	int by_name = strcmp(a->xattr.name, b->xattr.name);

	return by_name ? by_name : (a->rank > b->rank) - (a->rank < b->rank);
}

/* ACLs by their kernel names.  How many; what can't be used is told in *trouble. */
static size_t take_acls(struct tar_reader *reader, struct archive_entry *entry,
			struct ranked *to, const char **trouble)
{
	size_t n = 0;

	for (int kind = 0; kind < TAR_ACLS; kind++) {
		ssize_t size;

		if (!reader->acls[kind])
			reader->acls[kind] = malloc(TAR_ACL_VALUE_MAX);
		size = reader->acls[kind] ?
			tar_acl_get(entry, kind, reader->acls[kind]) : -1;
		if (size < 0)
			*trouble = "its ACL can't be used";
		else if (size > 0)
			to[n++].xattr = (struct tar_xattr){
				tar_acl_name(kind), reader->acls[kind],
				(size_t)size };
	}
	return n;
}

static int room_for_xattrs(struct tar_reader *reader, size_t n)
{
	struct ranked *ranked;
	struct tar_xattr *xattrs;

	if (n <= reader->xattrs_room)
		return 0;
	ranked = realloc(reader->ranked, 2 * n * sizeof(*ranked));
	if (ranked)
		reader->ranked = ranked;
	xattrs = realloc(reader->xattrs, 2 * n * sizeof(*xattrs));
	if (xattrs)
		reader->xattrs = xattrs;
	if (!ranked || !xattrs)
		return -1;
	reader->xattrs_room = 2 * n;
	return 0;
}

/* All of them, in rising rank: LIBARCHIVE.xattr, SCHILY.xattr, ACLs. */
static size_t gather_xattrs(struct tar_reader *reader,
			    struct archive_entry *entry, const char **trouble)
{
	const struct pax *pax = &reader->frame.pax;
	struct ranked *to = reader->ranked;
	const char *name;
	const void *value;
	size_t size, n = 0;

	(void)archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK)
		if (name && *name)
			to[n++].xattr = (struct tar_xattr){ name, value, size };
	for (size_t i = 0; i < pax->nxattrs; i++)
		to[n++].xattr = pax->xattrs[i];
	if (pax->has_acl)
		n += take_acls(reader, entry, to + n, trouble);
	for (size_t i = 0; i < n; i++)
		to[i].rank = i;
	return n;
}

static int take_xattrs(struct tar_reader *reader, struct archive_entry *entry,
		       struct tar_member *member)
{
	const struct ranked *from;
	size_t n = (size_t)archive_entry_xattr_reset(entry) +
		   reader->frame.pax.nxattrs + TAR_ACLS;

	if (n == TAR_ACLS && !reader->frame.pax.has_acl)
		return 0;
	if (room_for_xattrs(reader, n) != 0)
		return -1;
	n = gather_xattrs(reader, entry, &member->trouble);
	from = reader->ranked;
	if (n > 1)
		qsort(reader->ranked, n, sizeof(*from), compare_ranked);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n ||
		    strcmp(from[i].xattr.name, from[i + 1].xattr.name) != 0)
			reader->xattrs[member->nxattrs++] = from[i].xattr;
	member->xattrs = reader->xattrs;
	return 0;
}

/* ---- a member ---- */

static const char *filled(const char *text)
{
	return text && *text ? text : NULL;
}

static const char *path_of(const struct frame *frame, struct archive_entry *entry)
{
	const char *path = long_path(frame);

	if (!path && entry)
		path = archive_entry_pathname(entry);
	return filled(path);
}

static const char *link_of(struct tar_reader *reader)
{
	const struct frame *frame = &reader->frame;

	if (frame->pax.link)
		return frame->pax.link;
	if (frame->has_link && frame->link.len > 0)
		return filled((const char *)frame->link.at);
	memcpy(reader->link, frame->head.at + USTAR_LINK, USTAR_LINK_LEN);
	return filled(reader->link);
}

/*
 * Permissions as the header has them: with an ACL libarchive makes the group's out of
 * it, and not out of the mask.
 */
static uint32_t mode_bits(const void *header, struct archive_entry *entry)
{
	int64_t mode = ustar_get(header, USTAR_MODE, USTAR_ID_LEN);

	return (mode < 0 ? archive_entry_perm(entry) : (uint32_t)mode) & 07777;
}

static void take_times(const struct pax *pax, struct archive_entry *entry,
		       struct tar_member *member)
{
	struct meta *meta = &member->meta;

	meta->mtime = pax->mtime;
	if (!pax->has_mtime)
		meta->mtime = (struct timespec){ archive_entry_mtime(entry),
						 archive_entry_mtime_nsec(entry) };
	member->has_atime = pax->has_atime || archive_entry_atime_is_set(entry);
	meta->atime = meta->mtime;
	if (pax->has_atime)
		meta->atime = pax->atime;
	else if (member->has_atime)
		meta->atime = (struct timespec){ archive_entry_atime(entry),
						 archive_entry_atime_nsec(entry) };
}

static const char *take_owner(struct archive_entry *entry,
			      const struct pax *pax, struct tar_member *member)
{
	la_int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);

	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return "an owner that makes no sense";
	member->meta.uid = (uint32_t)uid;
	member->meta.gid = (uint32_t)gid;
	member->user = pax->user ? pax->user : filled(archive_entry_uname(entry));
	member->group = pax->group ? pax->group : filled(archive_entry_gname(entry));
	return NULL;
}

/* Type, size, and where a link goes. */
static const char *take_kind(struct tar_reader *reader,
			     struct archive_entry *entry,
			     struct tar_member *member)
{
	uint32_t type = archive_entry_filetype(entry);
	la_int64_t size = archive_entry_size(entry);

	if (frame_type(&reader->frame) == '1') {
		type = S_IFREG;
		member->hardlink = link_of(reader);
		if (!member->hardlink)
			return "a hard link to nothing";
	} else if (type == S_IFLNK) {
		member->target = link_of(reader);
		if (!member->target)
			return "a symbolic link to nothing";
		size = (la_int64_t)strlen(member->target);
	} else if (type == 0) {
		return "an unknown type";
	} else if (type != S_IFREG) {
		size = 0;
	}
	if (size < 0)
		return "a size that makes no sense";
	member->meta.size = (uint64_t)size;
	member->meta.mode = type | mode_bits(reader->frame.head.at, entry);
	member->sparse = S_ISREG(type) && member->meta.size > reader->frame.size;
	if (type == S_IFCHR || type == S_IFBLK) {
		member->meta.rdev_major = (uint32_t)archive_entry_rdevmajor(entry);
		member->meta.rdev_minor = (uint32_t)archive_entry_rdevminor(entry);
	}
	return NULL;
}

/* Which bytes of a sparse file are to come. */
static void take_map(struct tar_reader *reader, struct archive_entry *entry)
{
	la_int64_t at, len;

	reader->mapped = reader->got = 0;
	reader->has_map = archive_entry_sparse_reset(entry) > 0;
	while (archive_entry_sparse_next(entry, &at, &len) == ARCHIVE_OK)
		reader->mapped += (uint64_t)len;
}

static const char *fill_member(struct tar_reader *reader,
			       struct archive_entry *entry,
			       struct tar_member *member)
{
	const struct pax *pax = &reader->frame.pax;
	const char *wrong;

	member->path = path_of(&reader->frame, entry);
	if (!member->path)
		return "a member without a name";
	wrong = take_kind(reader, entry, member);
	if (!wrong)
		wrong = take_owner(entry, pax, member);
	if (wrong)
		return wrong;
	take_times(pax, entry, member);
	take_map(reader, entry);
	return take_xattrs(reader, entry, member) == 0 ? NULL :
		"no memory for its attributes";
}

/* Of one that can't be read the name at least, where it is known. */
static enum tar_verdict bad_member(struct tar_reader *reader,
				   struct tar_member *member)
{
	const struct frame *frame = &reader->frame;

	drop_archive(reader);
	*member = (struct tar_member){ .path = path_of(frame, NULL) };
	if (!member->path && frame->head.len > 0) {
		memcpy(reader->link, frame->head.at + USTAR_NAME,
		       USTAR_NAME_LEN);
		member->path = filled(reader->link);
	}
	return TAR_BAD_MEMBER;
}

/* Decodes what the frame has found. */
static enum tar_verdict take_member(struct tar_reader *reader,
				    struct tar_member *member)
{
	struct archive_entry *entry;

	reader->wrong = make_feed(reader);
	if (reader->wrong)
		return bad_member(reader, member);
	entry = decode(reader);
	if (!entry && reader->frame.ended && reader->frame.left > 0) {
		reader->wrong = "cut off";
		reader->frame.cut = true;
		return TAR_BROKEN;
	}
	if (entry)
		reader->wrong = fill_member(reader, entry, member);
	if (reader->wrong)
		return bad_member(reader, member);
	reader->in_data = true;
	reader->regular = S_ISREG(member->meta.mode);
	reader->end = 0;
	reader->size = member->meta.size;
	return TAR_MEMBER;
}

/* libarchive has to be done with the last member when the next one is fed. */
static void finish_member(struct tar_reader *reader)
{
	if (reader->in_data && archive_read_data_skip(reader->archive) < ARCHIVE_WARN)
		drop_archive(reader);
	reader->in_data = false;
	if (reader->archive && (frame_skip(&reader->frame) != 0 ||
	    (uint64_t)archive_filter_bytes(reader->archive, 0) != reader->given))
		drop_archive(reader);
}

static enum tar_verdict read_member(struct tar_reader *reader,
				    struct tar_member *member)
{
	enum tar_verdict verdict;

	finish_member(reader);
	verdict = frame_next(&reader->frame);
	reader->wrong = reader->frame.wrong;
	if (verdict == TAR_MEMBER)
		return take_member(reader, member);
	if (verdict == TAR_BAD_MEMBER)
		return bad_member(reader, member);
	return verdict;
}

enum tar_verdict tar_read_member(struct tar_reader *reader,
				 struct tar_member *member)
{
	locale_t before = uselocale(reader->locale);
	enum tar_verdict verdict;

	*member = (struct tar_member){ 0 };
	memset(reader->link, 0, sizeof(reader->link));
	verdict = read_member(reader, member);
	uselocale(before);
	return verdict;
}

/* ---- data ---- */

/* Nothing may come twice, or behind the end of its file. */
static bool in_order(struct tar_reader *reader, size_t size, uint64_t offset)
{
	if (offset < reader->end || offset > reader->size ||
	    size > reader->size - offset)
		return false;
	reader->end = offset + size;
	return true;
}

/* The stream goes on behind the member, unless it is cut within. */
static int data_failed(struct tar_reader *reader, const char *words)
{
	reader->frame.cut = reader->frame.ended && reader->frame.left > 0;
	if (reader->frame.cut)
		words = "cut off";
	if (words != reader->words)
		snprintf(reader->words, sizeof(reader->words), "%s", words);
	reader->wrong = reader->words;
	drop_archive(reader);
	return reader->frame.cut ? -1 : TAR_DATA_BAD;
}

int tar_read_data(struct tar_reader *reader, const void **bytes, size_t *size,
		  uint64_t *offset)
{
	la_int64_t at;
	int result;

	if (!reader->in_data || !reader->regular)
		return 0;
	do {
		result = archive_read_data_block(reader->archive, bytes, size, &at);
		if (result == ARCHIVE_EOF)
			return reader->has_map && reader->got < reader->mapped ?
				data_failed(reader, "its data are shorter than its "
					    "sparse map says") : 0;
		if (result < ARCHIVE_WARN)
			return data_failed(reader, reason(reader, "damaged"));
	} while (*size == 0);
	*offset = (uint64_t)at;
	reader->got += *size;
	if (at >= 0 && in_order(reader, *size, *offset))
		return 1;
	return data_failed(reader, "a sparse map that makes no sense");
}

int tar_read_flaw(struct tar_reader *reader, struct flaw *flaw)
{
	int got;

	finish_member(reader);
	got = frame_flaw(&reader->frame, flaw);
	reader->wrong = reader->frame.wrong;
	return got;
}

/* ---- looking ---- */

unsigned tar_reader_marks(const struct tar_reader *reader)
{
	return reader->frame.marks;
}

uint64_t tar_reader_used(const struct tar_reader *reader)
{
	return reader->frame.at;
}

uint64_t tar_reader_member_at(const struct tar_reader *reader)
{
	return reader->frame.member_at;
}

const char *tar_reader_error(const struct tar_reader *reader)
{
	return reader->wrong ? reader->wrong : "";
}

bool tar_reader_cut(const struct tar_reader *reader)
{
	return reader->frame.cut;
}
