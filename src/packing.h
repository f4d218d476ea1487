/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packing: what the rooms that pack (pack.c, packfile.c, packattr.c) share, and
 * nobody else.  The mirror of object.h.  All of it belongs to the packing thread.
 *
 * Functions that return int return 0, or -1 when the ring was aborted: then
 * everybody goes home.  What can't be read is no such failure: it is told, and the
 * walk goes on.
 */
#ifndef TARPIPE_PACKING_H
#define TARPIPE_PACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "diag.h"
#include "links.h"
#include "meta.h"
#include "owner.h"
#include "pack.h"
#include "record.h"

struct pack {
	struct pack_config config;
	struct ring *ring;
	struct walk *walk;
	struct links *links;
	struct owners *owners;
	struct walk_item item;
	size_t piece_max;

	struct xattr_buffer names;	/* attributes of the object at hand */
	size_t names_len;
	struct xattr_buffer value;

	dev_t asked_dev;		/* last file system asked about ... */
	bool asked;
	bool made_up;			/* ... whether its sizes are made up */

	bool started;
	uint64_t entries, bytes;
};

/* The part of --preserve is kept. */
bool pack_keeps(const struct pack *pack, unsigned part);

/* The path of the item at hand, for messages. */
const char *pack_shown(struct pack *pack);

/*
 * Tells that `call` failed on the item at hand: as a change when the name, which was
 * listed a moment ago, is gone or something else.
 */
void pack_tell(struct pack *pack, int err, const char *call);

/* Puts one record into the ring, its data copied. */
int pack_emit(struct pack *pack, const struct record *record);

/* Fills a head from the item at hand. */
void pack_head(struct pack *pack, struct record *head, enum record_type type,
	       const struct stat *st);

/* Names the owners, the first time they are met (--names). */
int pack_owners(struct pack *pack, const struct stat *st);

/*
 * Gives an inode with several names its id.  Returns 1 when a LINK was packed in the
 * object's place, 0 when the object is to be packed, or -1.
 */
int pack_link(struct pack *pack, struct record *head, const struct stat *st);

/* An object's END: its size, and an errno when it is to be thrown away. */
int pack_end(struct pack *pack, uint64_t size, int failure);

/* packattr.c: lists the item's attributes; returns flags for its head. */
unsigned pack_list_attributes(struct pack *pack,
			      const struct xattr_source *from);

/* ... and packs those that were listed, class by class. */
int pack_attributes(struct pack *pack, const struct xattr_source *from);

/* packfile.c: a regular file, from its name. */
int pack_file(struct pack *pack);

/* Another file is mounted over the name; the directory tells the type of that below. */
bool pack_is_mount(const struct walk_item *item);

/* pack.c: a symlink, FIFO, socket or device, from its name. */
int pack_special(struct pack *pack);

#endif
