/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manifesting: what manifest.c and listwriter.c share, and nobody else: the notes that go
 * from the packing thread to the one that writes the list, and what that does with them.
 */
#ifndef TARPIPE_MANIFESTING_H
#define TARPIPE_MANIFESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "meta.h"
#include "sha256.h"

enum note_kind {
	NOTE_ENTRY,	/* path, and target behind it */
	NOTE_DATA,	/* `length` bytes at `offset` of the file */
	NOTE_READ,	/* `offset` bytes are in the open file `fd` */
	NOTE_END,	/* the file has `offset` bytes; or failed */
};

struct note {
	uint32_t kind;		/* enum note_kind */
	uint32_t size;		/* with all that is behind it */
	uint64_t offset;	/* of an entry: its link count */
	struct meta meta;
	uint32_t length;
	uint32_t target;	/* offset behind the note, 0: none */
	uint32_t id;
	int32_t fd;		/* negative: an errno */
	int32_t failure;
	bool further, last;
};

/* An inode with further names to come. */
struct listed {
	char *path;		/* of its first name; NULL: unknown */
	uint64_t size;
	unsigned char digest[SHA256_SIZE];
};

/* Takes notes, writes lines. */
struct listwriter {
	int fd;
	const char *shown;
	unsigned keeps;			/* enum preserve */
	const uint64_t *stop;		/* a counter: no more is to be done */
	bool failed;			/* told; nothing is written any more */
	struct bytes lines;		/* that are not written yet */
	struct bytes path;		/* of the file at hand */
	struct note head;		/* ... and its entry */
	bool open;			/* there is such a file */
	bool bad;			/* it could not be read again: not listed */
	struct sha256 sum;
	uint64_t done;			/* bytes in the sum */
	struct listed *listed;		/* by id */
	size_t nlisted;
	unsigned char *room;		/* to read into */
};

/* Begins; the first four are set. */
void listwriter_init(struct listwriter *writer);
void listwriter_take(struct listwriter *writer, const struct note *note);
void listwriter_flush(struct listwriter *writer);
void listwriter_destroy(struct listwriter *writer);

#endif
