/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ustar: a tar header block (POSIX.1-1988): where its fields are, numbers in them, and its
 * checksum.  Whatever else a header means is libarchive's business; this is for what is
 * found, changed or made beside it.
 */
#ifndef TARPIPE_USTAR_H
#define TARPIPE_USTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512 };

/* Fields: offset and width. */
enum ustar {
	USTAR_NAME = 0, USTAR_NAME_LEN = 100,
	USTAR_MODE = 100, USTAR_UID = 108, USTAR_GID = 116, USTAR_ID_LEN = 8,
	USTAR_SIZE = 124, USTAR_MTIME = 136, USTAR_LONG_LEN = 12,
	USTAR_SUM = 148, USTAR_SUM_LEN = 8,
	USTAR_TYPE = 156,
	USTAR_LINK = 157, USTAR_LINK_LEN = 100,
	USTAR_MAGIC = 257,
	USTAR_USER = 265, USTAR_GROUP = 297, USTAR_OWNER_LEN = 32,
	USTAR_MAJOR = 329, USTAR_MINOR = 337,
	USTAR_PREFIX = 345, USTAR_PREFIX_LEN = 155,
};

/*
 * Fills a block: mode 0644, all other numbers 0.  A name that is too long is cut.  Not
 * signed.
 */
void ustar_make(void *block, const char *name, char type, uint64_t size);

/* Writes a number as octal digits and a NUL. */
void ustar_put(void *block, size_t at, size_t width, uint64_t number);

/*
 * Reads a number: octal digits with blanks around, or binary with the top bit set.  -1 when
 * it is none, or negative.
 */
int64_t ustar_get(const void *block, size_t at, size_t width);

/* Writes the checksum; the last to be done. */
void ustar_sign(void *block);

/* The checksum is right (of unsigned bytes, or of signed ones as some old tars had it). */
bool ustar_is_signed(const void *block);

#endif
