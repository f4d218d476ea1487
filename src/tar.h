/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tar: the language at the edges, spoken by libarchive: its encoder and its decoder
 * only, one object for each thread.  The only room (tarwrite.c, tarread.c, taracl.c)
 * that knows libarchive's entries, and where its faults are worked around.
 *
 * Names are bytes, in any locale.
 */
#ifndef TARPIPE_TAR_H
#define TARPIPE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "flaw.h"
#include "meta.h"
#include "opts.h"
#include "ustar.h"

/* An attribute.  ACLs travel by their kernel names and values (system.posix_acl_*). */
struct tar_xattr {
	const char *name;
	const void *value;
	size_t size;
};

/* A part of a sparse file that has data. */
struct tar_extent {
	uint64_t offset, length;
};

/*
 * One member.  Written: all pointers are borrowed for the call.  Read: they belong to
 * the reader and live until its next member.
 */
struct tar_member {
	const char *path;		/* a directory's ends in `/` when it is written */
	const char *target;		/* symlink: where to; else NULL */
	const char *hardlink;		/* path of another name of the same inode, or NULL:
					   then only the path matters, and the size of
					   data that come with it (0: none) */
	struct meta meta;		/* mode with the type */
	const char *user, *group;	/* names, or NULL */
	const struct tar_xattr *xattrs;
	size_t nxattrs;
	bool sparse;			/* `extents` are all that has data */
	const struct tar_extent *extents;	/* ascending; written only */
	size_t nextents;
	bool has_atime;			/* read: the header told one (else meta.atime is mtime) */
	const char *trouble;		/* read: what of it can't be used, in words; or NULL */
};

/* What a format could not hold of a member, as bits. */
enum tar_loss {
	TAR_LOST_XATTR = 1 << 0,	/* attributes of user.* and the like */
	TAR_LOST_ACL = 1 << 1,
	TAR_LOST_NSEC = 1 << 2,		/* fractions of seconds */
	TAR_LOST_ATIME = 1 << 3,
	TAR_LOST_HOLES = 1 << 4,	/* filled with zeros */
	TAR_LOST_BIG_XATTR = 1 << 5,	/* more than 1 MiB together: left out */
	TAR_LOST_NAME = 1 << 6,		/* path, target, size or id too long: the member is
					   not written at all */
	TAR_LOST_MTIME = 1 << 7,	/* before 1970 or after 2242: the nearest is written */
};

/* ---- writing ---- */

/* Takes encoded bytes.  0, or -1 with errno. */
typedef int tar_sink(void *arg, const void *bytes, size_t size);

struct tar_writer;

/* NULL with errno ENOMEM. */
struct tar_writer *tar_writer_new(enum tar_format format, tar_sink *sink,
				  void *arg);

/*
 * Writes a member's header.  What the format can't hold is left out and told in
 * *losses.  Returns 0; 1 when the member can't be written at all (TAR_LOST_NAME: nothing
 * has gone to the sink); -1 with errno when the sink failed.
 *
 * The sink gets it in one call, as bytes that stay until the next member: it may
 * keep the pointer, and read the data before it lets the header go.
 */
int tar_write_member(struct tar_writer *writer, const struct tar_member *member,
		     unsigned *losses);

/*
 * Writes the next of the member's data: of a sparse one all bytes of its extents in
 * order, else meta.size bytes.  The sink gets this very pointer (unless the format
 * fills holes).  0, or -1 with errno.
 */
int tar_write_data(struct tar_writer *writer, const void *bytes, size_t size);

/* The member is complete: fills up what is missing with zeros, and pads. */
int tar_write_end(struct tar_writer *writer);

/*
 * In place of tar_write_end, when the sink threw away all that it got of the member: the
 * stream goes on as if it had never been begun.
 */
void tar_write_cancel(struct tar_writer *writer);

/* Bytes that went to the sink so far (those of cancelled members, too). */
uint64_t tar_writer_bytes(const struct tar_writer *writer);

/* Writes the two zero blocks and nothing else. */
int tar_writer_close(struct tar_writer *writer);
void tar_writer_free(struct tar_writer *writer);

/* ---- reading ---- */

/*
 * Gives the next block of the stream, valid until the next call: its length, 0 at the end,
 * -1 with errno.  Large blocks are read uncopied.
 */
typedef ssize_t tar_source(void *arg, const void **bytes);

struct tar_reader;

/* NULL with errno ENOMEM. */
struct tar_reader *tar_reader_new(tar_source *source, void *arg);

enum tar_verdict {
	TAR_MEMBER,		/* *member is filled */
	TAR_END,		/* end marks, or the end of the input: see tar_reader_marks */
	TAR_BAD_MEMBER,		/* this one can't be understood; the next may */
	TAR_BROKEN,		/* nothing more can be read: tar_reader_error says why */
};

/* The next member; what is left of the last one's data is skipped. */
enum tar_verdict tar_read_member(struct tar_reader *reader,
				 struct tar_member *member);

/*
 * The next data of the member, in ascending order; what lies between are holes.
 * Returns 1, 0 at the end of the member, -1 when the stream is cut or broken, or
 * TAR_DATA_BAD when the member is, and the next one can be read nevertheless.  The
 * bytes lie in the source's block where they can, and live as long as it; or in the
 * reader's own memory, until the next call.
 */
enum { TAR_DATA_BAD = -2 };
int tar_read_data(struct tar_reader *reader, const void **bytes, size_t *size,
		  uint64_t *offset);

/*
 * Behind a member's data, what is left of which is skipped: whether the header that comes
 * next says that they are not all true (see flaw.h).  Returns 1 with *flaw filled, 0, or -1
 * when no header and no end mark follows: nobody knows then.
 */
int tar_read_flaw(struct tar_reader *reader, struct flaw *flaw);

/* After TAR_END: zero blocks that ended it, 0 to 2. */
unsigned tar_reader_marks(const struct tar_reader *reader);

/* Bytes of the stream that are used up; where the member's header began. */
uint64_t tar_reader_used(const struct tar_reader *reader);
uint64_t tar_reader_member_at(const struct tar_reader *reader);

/* What went wrong, in words; it went wrong because the source had no more. */
const char *tar_reader_error(const struct tar_reader *reader);
bool tar_reader_cut(const struct tar_reader *reader);

void tar_reader_free(struct tar_reader *reader);

#endif
