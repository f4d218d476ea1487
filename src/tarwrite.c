/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers come from libarchive and are gathered before they go out, because some of what
 * it writes has to be made good:
 *
 *   - a negative time with a fraction comes out wrong, an atime of 0 not at all, a name
 *     of an attribute with odd characters in an encoding that only libarchive knows:
 *     times and attributes are left out of its entry, and stand in the pax header as
 *     records of our own;
 *   - its pax header costs more than all the rest, so where ours says all that the ustar
 *     header can't, it is asked for a ustar header alone, and for a pax header of its own
 *     when that has no room (a long name, a large number) or there is an ACL;
 *   - a sparse file would have to be handed over with its holes: it is told a plain
 *     file, and the records and the map of GNU's format 1.0 are added;
 *   - an ACL makes the mode say what the ACL says of the owning group, where all others
 *     write st_mode; a minor device number above 2^18 gets a vendor's record, on
 *     which GNU tar warns, though 2^21 have room: these fields are written again;
 *   - names that are not ASCII get records, which bsdtar composes to other names, or, in
 *     the C locale, complains of; and those that are no UTF-8 make GNU tar warn.  What
 *     fits the ustar header is raw bytes there instead: libarchive is shown a
 *     stand-in of the same length.
 *
 * Data pass through libarchive uncopied.
 */
#include "tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paxhead.h"
#include "taracl.h"
#include "tarsparse.h"

/* What libarchive is asked for: the format, or a header of a pax stream as ustar. */
enum form { FORM_WHOLE, FORM_PLAIN, FORMS };

/* Names for which libarchive may be shown a stand-in. */
enum raw_name { RAW_PATH, RAW_LINK, RAW_USER, RAW_GROUP, RAW_NAMES };

struct tar_writer {
	enum tar_format format;
	tar_sink *sink;
	void *arg;
	int err;			/* why the sink, or memory, failed */

	struct archive *archives[FORMS];	/* NULL: made for the next member */
	enum form form;			/* of the member at hand */
	struct archive_entry *entry;
	locale_t locale;

	bool gathering;			/* what comes goes to `header` */
	bool dropping;			/* ... fails */
	struct bytes header;
	struct bytes records;		/* ours, for the pax header */
	struct bytes map;		/* of a sparse file */
	struct bytes name;
	struct bytes raw[RAW_NAMES];	/* what stand-ins stand for; empty: none */
	bool long_path;			/* the path needs its record */
	bool has_acl;
	uint64_t total;			/* bytes that went to the sink */

	bool is_sparse;			/* the member at hand */
	struct sparse sparse;
};

/* ---- the archive ---- */

static int give(struct tar_writer *writer, const void *bytes, size_t size)
{
	if (writer->sink(writer->arg, bytes, size) != 0) {
		writer->err = errno ? errno : EIO;
		return -1;
	}
	writer->total += size;
	return 0;
}

/*
 * A first failure is not told to libarchive, which would not free what belongs to its
 * output then: writer->err says it.
 */
static la_ssize_t take(struct archive *archive, void *arg, const void *bytes,
		       size_t size)
{
	struct tar_writer *writer = arg;

	(void)archive;
	if (writer->dropping || (writer->err != 0 && !writer->gathering))
		return -1;
	if (!writer->gathering)
		(void)give(writer, bytes, size);
	else if (bytes_add(&writer->header, bytes, size) != 0)
		writer->err = ENOMEM;
	return (la_ssize_t)size;
}

static int set_format(struct archive *archive, enum tar_format format)
{
	if (format == TAR_GNU)
		return archive_write_set_format_gnutar(archive);
	if (format == TAR_USTAR)
		return archive_write_set_format_ustar(archive);
	if (archive_write_set_format_pax(archive) != ARCHIVE_OK)
		return ARCHIVE_FATAL;
	return archive_write_set_format_option(archive, "pax", "xattrheader",
					       "SCHILY");
}

static int archive_begin(struct tar_writer *writer)
{
	struct archive *archive = archive_write_new();
	enum tar_format format = writer->form == FORM_PLAIN ? TAR_USTAR :
							      writer->format;

	if (!archive)
		return -1;
	if (set_format(archive, format) != ARCHIVE_OK ||
	    archive_write_add_filter_none(archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(archive, 0) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
	    archive_write_open(archive, writer, NULL, take, NULL) !=
		    ARCHIVE_OK) {
		archive_write_free(archive);
		return -1;
	}
	writer->archives[writer->form] = archive;
	return 0;
}

/* The one for the member at hand; NULL without memory. */
static struct archive *archive_of(struct tar_writer *writer)
{
	if (!writer->archives[writer->form] && archive_begin(writer) != 0)
		return NULL;
	return writer->archives[writer->form];
}

/*
 * Closes it, or it would leak what belongs to its output; but the rest of the member and
 * the end marks fail to be written.
 */
static void archive_drop(struct tar_writer *writer, enum form form)
{
	if (!writer->archives[form])
		return;
	writer->dropping = true;
	archive_write_free(writer->archives[form]);
	writer->dropping = false;
	writer->archives[form] = NULL;
}

/* Something failed for good: what the sink said, or memory. */
static int failed(struct tar_writer *writer)
{
	errno = writer->err ? writer->err : ENOMEM;
	return -1;
}

static int put_data(void *arg, const void *bytes, size_t size)
{
	struct tar_writer *writer = arg;
	const unsigned char *at = bytes;

	while (size > 0) {
		/* At most 2 GiB at one time are taken. */
		la_ssize_t n = archive_write_data(writer->archives[writer->form],
						  at, size);

		if (n < 0 || writer->err != 0)
			return failed(writer);
		if (n == 0)		/* beyond the size that was told */
			return 0;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

struct tar_writer *tar_writer_new(enum tar_format format, tar_sink *sink,
				  void *arg)
{
	struct tar_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->format = format;
	writer->sink = sink;
	writer->arg = arg;
	sparse_init(&writer->sparse, put_data, writer);
	/* Names are UTF-8 or raw bytes, whatever the user's locale says. */
	writer->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!writer->locale)
		writer->locale = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
	writer->entry = archive_entry_new();
	if (!writer->locale || !writer->entry || !archive_of(writer)) {
		tar_writer_free(writer);
		errno = ENOMEM;
		return NULL;
	}
	return writer;
}

void tar_writer_free(struct tar_writer *writer)
{
	if (!writer)
		return;
	for (int form = 0; form < FORMS; form++)
		archive_drop(writer, (enum form)form);
	archive_entry_free(writer->entry);
	if (writer->locale)
		freelocale(writer->locale);
	bytes_free(&writer->header);
	bytes_free(&writer->records);
	bytes_free(&writer->map);
	bytes_free(&writer->name);
	for (int i = 0; i < RAW_NAMES; i++)
		bytes_free(&writer->raw[i]);
	sparse_destroy(&writer->sparse);
	free(writer);
}

/* ---- times ---- */

/* The latest that a header's field holds: in 2242. */
static const time_t header_time_max = 077777777777;

static time_t header_time(const struct timespec *time)
{
	if (time->tv_sec < 0)	/* libarchive would write 0 without a word */
		return 0;
	return time->tv_sec < header_time_max ? time->tv_sec : header_time_max;
}

static int put_times(struct tar_writer *writer, const struct meta *meta)
{
	time_t seconds = header_time(&meta->mtime);

	/* A whole one that the field can't hold libarchive writes right, and binary there. */
	if (meta->mtime.tv_nsec == 0)
		seconds = meta->mtime.tv_sec;
	archive_entry_set_mtime(writer->entry, seconds, 0);
	if ((seconds != meta->mtime.tv_sec || meta->mtime.tv_nsec != 0) &&
	    pax_put_time(&writer->records, "mtime", &meta->mtime) != 0)
		return -1;
	return pax_put_time(&writer->records, "atime", &meta->atime);
}

/* What the other formats' one time has room for. */
static void put_plain_times(struct tar_writer *writer, const struct meta *meta,
			    unsigned *losses)
{
	const struct timespec *mtime = &meta->mtime;
	time_t seconds = header_time(mtime);

	if (seconds != mtime->tv_sec)
		*losses |= TAR_LOST_MTIME;
	if (mtime->tv_nsec != 0)
		*losses |= TAR_LOST_NSEC;
	if (meta->atime.tv_sec != mtime->tv_sec ||
	    meta->atime.tv_nsec != mtime->tv_nsec)
		*losses |= TAR_LOST_ATIME;
	archive_entry_set_mtime(writer->entry, seconds, 0);
}

/* ---- attributes ---- */

/* The key as GNU tar has it: `=` ends one. */
static int put_xattr_record(struct tar_writer *writer,
			    const struct tar_xattr *xattr)
{
	struct bytes *key = &writer->name;

	key->len = 0;
	if (bytes_put(key, "SCHILY.xattr.") != 0)
		return -1;
	for (const char *c = xattr->name; *c; c++)
		if (bytes_add(key, *c == '%' ? "%25" : *c == '=' ? "%3D" : c,
			      *c == '%' || *c == '=' ? 3 : 1) != 0)
			return -1;
	if (bytes_add(key, "", 1) != 0)
		return -1;
	return pax_add(&writer->records, (const char *)key->at, xattr->value,
			  xattr->size);
}

static int put_xattr(struct tar_writer *writer, const struct tar_xattr *xattr,
		     unsigned *losses)
{
	enum tar_acl kind = tar_acl_find(xattr->name);

	if (writer->format != TAR_PAX) {
		*losses |= kind == TAR_ACLS ? TAR_LOST_XATTR : TAR_LOST_ACL;
		return 0;
	}
	if (kind != TAR_ACLS) {
		writer->has_acl = true;
		if (tar_acl_put(writer->entry, kind, xattr->value,
				xattr->size) == 0)
			return 0;
		*losses |= TAR_LOST_ACL;
		return errno == EINVAL ? 0 : -1;
	}
	if (*losses & TAR_LOST_BIG_XATTR)
		return 0;
	return put_xattr_record(writer, xattr);
}

/* ---- sparse files ---- */

/*
 * The header's own name is another one, so that a reader who doesn't know the format
 * doesn't make a file of the map and the data under the right one.
 */
static int put_sparse(struct tar_writer *writer, const struct tar_member *member)
{
	const char *slash = strrchr(member->path, '/');
	size_t dir = slash ? (size_t)(slash + 1 - member->path) : 0;
	struct bytes *name = &writer->name;

	name->len = 0;
	if (sparse_map(&writer->sparse, &writer->map) != 0 ||
	    bytes_add(name, member->path, dir) != 0 ||
	    bytes_put(name, "GNUSparseFile.0/") != 0 ||
	    bytes_add(name, member->path + dir,
		      strlen(member->path + dir) + 1) != 0 ||
	    pax_put(&writer->records, "GNU.sparse.major", "1") != 0 ||
	    pax_put(&writer->records, "GNU.sparse.minor", "0") != 0 ||
	    pax_put(&writer->records, "GNU.sparse.name", member->path) != 0 ||
	    pax_put_number(&writer->records, "GNU.sparse.realsize", member->meta.size) != 0)
		return -1;
	archive_entry_set_pathname(writer->entry, (const char *)name->at);
	archive_entry_set_size(writer->entry,
			       (int64_t)(writer->map.len +
					 sparse_length(&writer->sparse)));
	return 0;
}

/* ---- a member into libarchive's entry ---- */

/* A name that doesn't fit would be cut into another one. */
static const char *owner_name(const struct tar_writer *writer, const char *name)
{
	return name && writer->format != TAR_PAX && strlen(name) > 31 ? NULL :
									name;
}

static int put_path(struct tar_writer *writer, const struct tar_member *member)
{
	struct bytes *name = &writer->name;
	size_t len = strlen(member->path);

	if (S_ISDIR(member->meta.mode) || len == 0 ||
	    member->path[len - 1] != '/') {
		archive_entry_set_pathname(writer->entry, member->path);
		return 0;
	}
	/* A slash at its end would make it a directory. */
	while (len > 1 && member->path[len - 1] == '/')
		len--;
	name->len = 0;
	if (bytes_add(name, member->path, len) != 0 || bytes_add(name, "", 1) != 0)
		return -1;
	archive_entry_set_pathname(writer->entry, (const char *)name->at);
	return 0;
}

static int put_contents(struct tar_writer *writer,
			const struct tar_member *member, unsigned *losses)
{
	struct archive_entry *entry = writer->entry;

	if (S_ISLNK(member->meta.mode))
		archive_entry_set_symlink(entry,
					  member->target ? member->target : "");
	if (!S_ISREG(member->meta.mode))
		return 0;
	archive_entry_set_size(entry, (int64_t)member->meta.size);
	if (!member->sparse)
		return 0;
	writer->is_sparse = true;
	if (sparse_begin(&writer->sparse, member, writer->format != TAR_PAX) != 0)
		return -1;
	if (writer->format == TAR_PAX)
		return put_sparse(writer, member);
	*losses |= TAR_LOST_HOLES;
	return 0;
}

static int put_member(struct tar_writer *writer,
		      const struct tar_member *member, unsigned *losses)
{
	struct archive_entry *entry = writer->entry;
	const struct meta *meta = &member->meta;

	writer->has_acl = false;
	archive_entry_clear(entry);
	archive_entry_set_mode(entry, meta->mode);
	archive_entry_set_uid(entry, meta->uid);
	archive_entry_set_gid(entry, meta->gid);
	archive_entry_set_uname(entry, owner_name(writer, member->user));
	archive_entry_set_gname(entry, owner_name(writer, member->group));
	if (put_path(writer, member) != 0)
		return -1;
	if (member->hardlink) {
		archive_entry_set_mode(entry, (meta->mode & 07777) | S_IFREG);
		archive_entry_set_mtime(entry, meta->mtime.tv_sec > 0 ?
						       meta->mtime.tv_sec :
						       0, 0);
		archive_entry_set_hardlink(entry, member->hardlink);
		archive_entry_set_size(entry, 0);
		return 0;
	}
	if (writer->format != TAR_PAX)
		put_plain_times(writer, meta, losses);
	else if (put_times(writer, meta) != 0)
		return -1;
	for (size_t i = 0; i < member->nxattrs; i++)
		if (put_xattr(writer, &member->xattrs[i], losses) != 0)
			return -1;
	return put_contents(writer, member, losses);
}

/* ---- names that are not ASCII ---- */

static bool is_ascii(const char *name)
{
	for (; *name; name++)
		if (*name & 0x80)
			return false;
	return true;
}

/*
 * Keeps a name and returns its stand-in, valid until the next call; NULL without memory.
 */
static const char *stand_in(struct tar_writer *writer, enum raw_name which,
			    const char *name)
{
	struct bytes *raw = &writer->raw[which], *other = &writer->name;
	size_t size = strlen(name) + 1;

	raw->len = 0;
	if (bytes_add(raw, name, size) != 0)
		return NULL;
	other->len = 0;
	if (bytes_add(other, raw->at, size) != 0)
		return NULL;
	for (size_t i = 0; i < size; i++)
		if (other->at[i] & 0x80)
			other->at[i] = '_';
	return (const char *)other->at;
}

static bool wants_stand_in(const char *name, size_t most)
{
	return name && !is_ascii(name) && strlen(name) <= most;
}

typedef void setter(struct archive_entry *entry, const char *name);

static int set_stand_in(struct tar_writer *writer, enum raw_name which,
			const char *name, size_t most, setter *set)
{
	if (!wants_stand_in(name, most))
		return 0;
	name = stand_in(writer, which, name);
	if (!name)
		return -1;
	set(writer->entry, name);
	return 0;
}

static int put_stand_ins(struct tar_writer *writer)
{
	struct archive_entry *entry = writer->entry;
	const char *link = archive_entry_hardlink(entry);

	for (int i = 0; i < RAW_NAMES; i++)
		writer->raw[i].len = 0;
	if (writer->format != TAR_PAX)
		return 0;
	if (set_stand_in(writer, RAW_LINK, link, HEADER_LINK_MAX,
			 archive_entry_set_hardlink) != 0 ||
	    (!link && set_stand_in(writer, RAW_LINK,
				   archive_entry_symlink(entry),
				   HEADER_LINK_MAX,
				   archive_entry_set_symlink) != 0) ||
	    set_stand_in(writer, RAW_USER, archive_entry_uname(entry),
			 HEADER_OWNER_MAX, archive_entry_set_uname) != 0 ||
	    set_stand_in(writer, RAW_GROUP, archive_entry_gname(entry),
			 HEADER_OWNER_MAX, archive_entry_set_gname) != 0)
		return -1;
	if (writer->long_path)
		return 0;
	return set_stand_in(writer, RAW_PATH, archive_entry_pathname(entry),
			    HEADER_PATH_MAX, archive_entry_set_pathname);
}

static const char *raw_of(const struct tar_writer *writer, enum raw_name which)
{
	const struct bytes *raw = &writer->raw[which];

	return raw->len > 0 ? (const char *)raw->at : NULL;
}

/* False when the path is not in the header, because it doesn't fit. */
static bool put_raw_names(struct tar_writer *writer)
{
	unsigned char *block = writer->header.at + writer->header.len - TAR_BLOCK;
	struct header_names names = {
		.path = raw_of(writer, RAW_PATH),
		.link = raw_of(writer, RAW_LINK),
		.user = raw_of(writer, RAW_USER),
		.group = raw_of(writer, RAW_GROUP),
	};

	return header_set_names(block, &names);
}

/* ---- the header as it goes out ---- */

static void write_fields_again(struct tar_writer *writer,
			       const struct tar_member *member)
{
	unsigned char *block = writer->header.at + writer->header.len - TAR_BLOCK;
	const struct meta *meta = &member->meta;

	if (writer->has_acl)
		header_set_mode(block, meta->mode);
	if (S_ISCHR(meta->mode) || S_ISBLK(meta->mode))
		header_set_device(block, meta->rdev_major, meta->rdev_minor);
}

static bool pax_too_big(const struct tar_writer *writer)
{
	return writer->header.len > PAX_BODY_MAX + 2 * TAR_BLOCK;
}

/* The header in this form.  0, 1 when it has no room for the member, or -1. */
static int encode_as(struct tar_writer *writer, enum form form)
{
	struct archive *archive;
	int got;

	writer->form = form;
	writer->header.len = 0;
	archive = archive_of(writer);
	if (!archive)
		return failed(writer);
	writer->gathering = true;
	got = archive_write_header(archive, writer->entry);
	writer->gathering = false;
	if (got == ARCHIVE_FATAL || writer->err != 0)
		return failed(writer);
	return got == ARCHIVE_FAILED || writer->header.len < TAR_BLOCK;
}

/* Encodes into writer->header.  As tar_write_member. */
static int encode(struct tar_writer *writer, const struct tar_member *member,
		  unsigned *losses)
{
	int got = 1;

	writer->records.len = writer->map.len = 0;
	writer->is_sparse = false;
	if (put_member(writer, member, losses) != 0 || put_stand_ins(writer) != 0)
		return failed(writer);
	if (writer->format == TAR_PAX && !writer->has_acl && !writer->long_path)
		got = encode_as(writer, FORM_PLAIN);
	if (got > 0)
		got = encode_as(writer, FORM_WHOLE);
	if (got > 0)
		*losses |= TAR_LOST_NAME;
	if (got != 0)
		return got;
	if (pax_merge(&writer->header, &writer->records) != 0)
		return failed(writer);
	write_fields_again(writer, member);
	if (put_raw_names(writer))
		return 0;
	tar_write_cancel(writer);
	writer->long_path = true;
	return encode(writer, member, losses);
}

/* Nothing above 2^21 is a device number on Linux; elsewhere it would be cut. */
static bool device_fits(const struct meta *meta)
{
	return (!S_ISCHR(meta->mode) && !S_ISBLK(meta->mode)) ||
	       (meta->rdev_major <= HEADER_DEVICE_MAX &&
		meta->rdev_minor <= HEADER_DEVICE_MAX);
}

static int encode_fitting(struct tar_writer *writer,
			  const struct tar_member *member, unsigned *losses)
{
	int got;

	*losses = 0;
	writer->long_path = false;
	if (!device_fits(&member->meta)) {
		*losses = TAR_LOST_NAME;
		return 1;
	}
	got = encode(writer, member, losses);
	if (got != 0 || !pax_too_big(writer))
		return got;
	tar_write_cancel(writer);
	*losses = TAR_LOST_BIG_XATTR;
	got = encode(writer, member, losses);
	if (got != 0 || !pax_too_big(writer))
		return got;
	tar_write_cancel(writer);
	*losses |= TAR_LOST_NAME;
	return 1;
}

int tar_write_member(struct tar_writer *writer, const struct tar_member *member,
		     unsigned *losses)
{
	locale_t before = uselocale(writer->locale);
	int got = encode_fitting(writer, member, losses);

	uselocale(before);
	if (got != 0)
		return got;
	if (writer->map.len > 0) {
		/* It is part of the data to libarchive, of the header to us. */
		writer->gathering = true;
		got = archive_write_data(writer->archives[writer->form],
					 writer->map.at, writer->map.len) < 0;
		writer->gathering = false;
	}
	if (got != 0 || writer->err != 0)
		return failed(writer);
	return give(writer, writer->header.at, writer->header.len) == 0 ?
		       0 :
		       failed(writer);
}

void tar_write_cancel(struct tar_writer *writer)
{
	archive_drop(writer, writer->form);
	writer->is_sparse = false;
}

/* ---- data ---- */

int tar_write_data(struct tar_writer *writer, const void *bytes, size_t size)
{
	return writer->is_sparse ? sparse_data(&writer->sparse, bytes, size) :
				   put_data(writer, bytes, size);
}

int tar_write_end(struct tar_writer *writer)
{
	if (writer->is_sparse && sparse_end(&writer->sparse) != 0)
		return -1;
	writer->is_sparse = false;
	if (archive_write_finish_entry(writer->archives[writer->form]) !=
		    ARCHIVE_OK ||
	    writer->err != 0)
		return failed(writer);
	return 0;
}

uint64_t tar_writer_bytes(const struct tar_writer *writer)
{
	return writer->total;
}

int tar_writer_close(struct tar_writer *writer)
{
	struct archive *archive = archive_of(writer);

	if (!archive || archive_write_close(archive) != ARCHIVE_OK ||
	    writer->err != 0)
		return failed(writer);
	return 0;
}
