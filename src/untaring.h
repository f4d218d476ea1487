/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * untaring: what the rooms of untar (untar.c, untardir.c, untarfile.c) share, and nobody
 * else.  The mirror of packing.h.  All of it belongs to the one thread.
 *
 * Functions that return int return 0, or -1 when the ring of records was aborted: then
 * everybody goes home.  A stream that breaks off is no such failure: `broken` says so,
 * and the records come to a proper end.
 */
#ifndef TARPIPE_UNTARING_H
#define TARPIPE_UNTARING_H

#include <stdbool.h>
#include <stdint.h>

#include "owner.h"
#include "parts.h"
#include "record.h"
#include "untar.h"

/* Attributes, as the records that set them, in their order. */
struct attributes {
	unsigned char *records;
	size_t used, size;
	uint8_t flags;		/* for the head: RECORD_MORE, RECORD_ACL */
};

/* A directory that the stream is in. */
struct level {
	char *name;
	size_t len;
	bool told;		/* its member came: what follows is filled */
	struct meta meta;
	struct attributes attributes;
};

enum { NAMES_KNOWN = 64 };

/* The number here of a name that came with a number. */
struct known_name {
	char *name;
	uint32_t id, here;
};

struct untar {
	struct untar_config config;
	struct ring *ring;
	size_t piece_max;

	struct tar_member member;	/* at hand ... */
	struct meta meta;		/* ... as it is to be restored */
	struct parts path, target;
	bool target_left_out;		/* by choice */
	struct attributes attributes;

	/* levels[0] is the destination, levels[n] the directory of id n. */
	struct level *levels;
	size_t depth, room;		/* the stream is in levels[depth] */

	struct known_name known[2][NAMES_KNOWN];	/* by enum owner_kind */

	struct sums *sums;		/* --verify, or NULL */

	bool broken;			/* the stream, or memory, ends here */
	uint64_t entries, bytes;
};

/* The part of --preserve is kept. */
bool untar_keeps(const struct untar *untar, unsigned part);

/* Puts one record into the ring, its data copied. */
int untar_emit(struct untar *untar, const struct record *record);

/* Memory is out: told, and the stream ends here. */
void untar_no_memory(struct untar *untar);

/* ---- untarfile.c ---- */

/* The member's attributes that are wanted, into untar->attributes. */
void untar_attributes(struct untar *untar);

/* An object's attributes and END, after its head, where the head has RECORD_MORE. */
int untar_rest(struct untar *untar, const struct attributes *attributes,
	       uint64_t size, int failure);

/* Fills a head of the member at hand, in the directory that the stream is in. */
void untar_head(const struct untar *untar, struct record *head,
		enum record_type type);

int untar_file(struct untar *untar);

/* ---- untardir.c ---- */

/* Leaves and enters directories until the stream is in the path's first `count`. */
int untar_go(struct untar *untar, size_t count);

/* The member at hand is the directory that the stream is in. */
void untar_tell_directory(struct untar *untar);

/* Leaves all, the destination too. */
int untar_leave_all(struct untar *untar);

void levels_destroy(struct untar *untar);

#endif
