/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record: the language in the ring, which both halves speak.
 *
 * A stream of records, each 8-byte aligned, its numbers little-endian and of
 * fixed width, none longer than a quarter of the ring:
 *
 *   START
 *   DIR id=1 dir=0 "src"            a directory, below the destination (id 0)
 *     FILE dir=1 "a" ... END        an object: head, what belongs to it, end
 *     ...
 *   LEAVE dir=1 [XATTR... END]      all of it was told: its own metadata
 *   FINISH
 *
 *   object:  FILE  ((PIECE | SPAN | SUMS)* | REF SUMS*) XATTR* END(status, size)
 *            FILE            SUMS*  XATTR* END(0, size)      with RECORD_HAVE
 *            SYMLINK | NODE | LEAVE   [XATTR* END(status)]   with RECORD_MORE
 *            LINK                   another name of the inode `id`
 *            PATHLINK               another name of what a path leads to
 *
 * A directory is named by its id, a small number that the stream chooses and may
 * use again after LEAVE; entries name their directory by id and carry one last
 * component, never a path.  A FILE, SYMLINK or NODE that has several names has
 * an `id` of its own kind (0: none), by which LINKs speak of it; RECORD_LAST tells
 * that no more will.  A stream that comes from elsewhere has no ids: its PATHLINKs
 * give a path below the destination.  The bytes of a file that no PIECE or SPAN
 * covers are holes.
 * Attributes come in the order of enum xattr_class; a value may take several
 * records.  SUMS tell the sums (sums.h) of data that have come before them, in ascending
 * order and as they become known; a MiB without one is zeros.
 *
 * Where START has RECORD_ORDERED, a name may come several times, and the last one
 * counts; elsewhere a stream has each name once.
 *
 * REF and SPAN speak of this very process (a descriptor, an address) and never leave
 * it.  On the ring records come from this very program, yet the reader takes them as
 * hostile: record_decode checks every length before it is used.
 *
 *   offset  size  head
 *        0     4  size of the whole record, padding included
 *        4     1  type
 *        5     1  flags
 *        6     2  length of the name, without the NUL that follows it
 *        8     4  id of the directory
 *       12     4  length of the data
 *                 entries (DIR to PATHLINK)
 *       16     4  mode             20  4  uid            24  4  gid
 *       28     4  device major     32  4  device minor   36  4  id
 *       40     4  atime, ns        44  4  mtime, ns      48  8  atime, s
 *       56     8  mtime, s         64  8  size
 *       72     -  name, NUL, data (SYMLINK, PATHLINK: a path, NUL)
 *                 others (START, PIECE to FINISH)
 *       16     8  first number     24  8  second number
 *       32     -  name, NUL (XATTR, USER, GROUP), data (SUMS: 8 bytes each)
 */
#ifndef TARPIPE_RECORD_H
#define TARPIPE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta.h"

enum record_type {
	RECORD_START = 1,	/* first: RECORD_MAGIC; second: RECORD_VERSION */
	RECORD_DIR,		/* a directory is entered; id: its own */
	RECORD_LEAVE,		/* directory `dir` is done; its metadata (no name) */
	RECORD_FILE,		/* head of a regular file */
	RECORD_SYMLINK,		/* data: the target */
	RECORD_NODE,		/* FIFO, socket or device */
	RECORD_LINK,		/* another name of the inode `id`; its metadata */
	RECORD_PATHLINK,	/* data: path of another name of it; its size: of data that
				   came with it and were left out */
	RECORD_PIECE,		/* data; first: offset */
	RECORD_SPAN,		/* data elsewhere; first: offset; second: length; a struct
				   record_span */
	RECORD_REF,		/* first: descriptor of the source; second: size */
	RECORD_SUMS,		/* first: a MiB's number; second: where the last sum's MiB
				   ends, in bytes; data: a sum for each MiB from there on */
	RECORD_XATTR,		/* name, data; first: offset in the value; second: its size */
	RECORD_END,		/* first: size; second: errno of what went wrong, or 0 */
	RECORD_USER,		/* first: a number, name: the user's */
	RECORD_GROUP,		/* first: a number, name: the group's */
	RECORD_FINISH,		/* first: entries; second: bytes */
	RECORD_TYPES
};

enum record_flag {
	RECORD_MORE = 1 << 0,	/* XATTR and END follow (not FILE: there always) */
	RECORD_LAST = 1 << 1,	/* LINK: all names of `id` have come */
	RECORD_SPARSE = 1 << 2,	/* FILE: has holes; zeros need no blocks */
	RECORD_ACL = 1 << 3,	/* object: an ACL is among its attributes */
	RECORD_KEEP = 1 << 4,	/* LEAVE: the directory keeps its own metadata */
	RECORD_PUTBACK = 1 << 5,	/* LEAVE: ... also those that the run changed: it was only
				   passed; one that was made gets the usual mode */
	RECORD_ORDERED = 1 << 6,	/* START: names may come again, later ones count */
	RECORD_OTHER = 1 << 7,	/* PATHLINK: the path's own member was left out, so what is
				   there may be another file */
	RECORD_HAVE = 1 << 7,	/* FILE: believed to be there, complete; no data come */
};

#define RECORD_MAGIC UINT64_C(0x0a65706970726174)	/* "tarpipe\n" */

enum {
	RECORD_VERSION = 1,
	RECORD_ALIGN = 8,
	RECORD_DATA_AT = 32,	/* where a PIECE's data begin */
	RECORD_NAME_MAX = 255,
	RECORD_SUMS_MAX = 32,	/* sums of one record */
};

/* What a SPAN's data are: where the bytes lie, and what is released when they are
 * used (see restore_config). */
struct record_span {
	const void *bytes;
	void *hold;
};

/*
 * One record, decoded.  Pointers reach into the bytes it was decoded from and live
 * as long as they.  Fields that the type does not have are 0.
 */
struct record {
	uint8_t type;
	uint8_t flags;
	uint32_t dir;
	uint32_t id;		/* entries */
	uint32_t size;		/* of the whole record */
	const char *name;	/* NUL-terminated, no NUL inside; NULL: none */
	uint16_t name_len;
	const void *data;
	uint32_t data_len;
	uint64_t first, second;	/* others */
	struct meta meta;	/* entries */
};

/* Bytes that a record of this type takes in all; a multiple of RECORD_ALIGN. */
size_t record_size(enum record_type type, size_t name_len, size_t data_len);

/*
 * Writes `record` at `at`, which has room for record_size bytes: head, name and
 * padding; the data are copied unless `record->data` is NULL.  Returns where the
 * data belong.
 */
void *record_encode(void *at, const struct record *record);

/*
 * Reads the record at the beginning of `len` bytes.  Returns 0, or -1 with errno
 * EBADMSG for one that is cut off, inconsistent or of no known type.
 */
int record_decode(struct record *record, const void *bytes, size_t len);

#endif
