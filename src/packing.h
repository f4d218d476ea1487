/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packing: what the rooms that pack (pack.c, packread.c and the like) share, and
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

#include "ahead.h"
#include "cache.h"
#include "diag.h"
#include "fskind.h"
#include "links.h"
#include "meta.h"
#include "owner.h"
#include "pack.h"
#include "record.h"
#include "sums.h"

/* Bytes of one block may end one before, with a hole between, and themselves. */
enum { PACK_SUMS_DUE = 4 };

struct pack {
	struct pack_config config;
	struct ring *ring;
	struct ahead *ahead;		/* the walk, and what is fetched before its turn */
	struct links *links;
	struct owners *owners;
	struct names *listed;		/* NULL: all is packed */
	struct walk_item item;
	size_t piece_max;
	struct cache cache;

	struct xattr_buffer names;	/* attributes of the object at hand */
	size_t names_len;
	struct xattr_buffer value;

	dev_t asked_dev;		/* last file system asked about ... */
	bool asked;
	enum fskind kind;		/* ... of what kind it is */

	struct link met;		/* what pack_meet found; id 0: nothing */

	struct packtar *tar;		/* -c; NULL: records */
	struct packout *out;

	struct sums *sums;		/* --verify, or NULL */
	struct sums_run due[PACK_SUMS_DUE];	/* runs of it that are to go into the ring */
	unsigned ndue;
	unsigned char *unsent;		/* room for data that are only summed up */

	bool started;
	uint64_t entries, bytes;
};

/* The part of --preserve is kept. */
bool pack_keeps(const struct pack *pack, unsigned part);

/*
 * ring_urge, before the packer waits for what is not the ring.  Not with a filter: its
 * threads are the ring's producers.
 */
void pack_urge(struct pack *pack);

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
 * Looks up an inode that has several names.  False when it has none that count, or
 * can't be remembered (told).
 */
bool pack_meet(struct pack *pack, const struct stat *st, struct link *link);

/*
 * Gives an inode with several names its id.  Returns 1 when a LINK was packed in the
 * object's place, 0 when the object is to be packed, or -1.
 */
int pack_link(struct pack *pack, struct record *head, const struct stat *st);

/* An object's END: its size, and an errno when it is to be thrown away. */
int pack_end(struct pack *pack, uint64_t size, int failure);

/* ---- packread.c: a regular file at the source, for records and tar alike ---- */

struct source {
	int fd;
	struct stat st;			/* as it was when it was opened */
	struct fetch *fetch;		/* NULL, or what was found ahead: then fd may be -1 */
	uint64_t since;			/* 0, or when its first call began ... */
	uint64_t spent;			/* ... and 0, or how long they took so far */
	struct cache_file data;		/* how it is read */
};

enum source_found {
	SOURCE_OPEN,			/* the caller closes source->fd */
	SOURCE_SPECIAL,			/* something else is mounted over the name; the
					   item says so now */
	SOURCE_GONE,			/* told, and left out */
};

/* Opens the item at hand; waits for whoever holds a lease on it. */
enum source_found source_open(struct pack *pack, struct source *source);

/* It is on a file system without storage, and its size means nothing. */
bool source_made_up(struct pack *pack, const struct source *source);

/*
 * It will be read from its begin to its end, in many reads.  Of use on network file systems and FUSE only: there it doubles the requests under way (5 ms each,
 * 32 MB: 0.36 s instead of 0.69).  On disks reads of 256 KiB are as fast without (128 KiB of
 * read-ahead: 0.60 and 0.60 s for 1 GB), or faster.
 */
void source_sequential(struct pack *pack, const struct source *source);

/* As fetch_read_at; only of one with a descriptor. */
ssize_t source_read_at(struct source *source, void *to, size_t len,
		       uint64_t offset);

/* As fetch_read, of the size that it has by fstat. */
ssize_t source_read(struct source *source, unsigned char *to);

/* The packer is through with it, or will go on with long reads: tells how long it took. */
void source_note(struct pack *pack, struct source *source);

/* Waits for the ring come in between: they don't count. */
void source_pause(struct source *source);
void source_resume(struct source *source);

void source_close(struct source *source);

/*
 * A second look at what took more than one read: tells what changed, and lowers *size
 * to what is left of a file that shrank.  `so` says what became of that.
 */
void source_check(struct pack *pack, const struct source *source, uint64_t *size,
		  const char *so);

/* Tells that it has `now` bytes, and not what fstat said; or that reading failed. */
void source_tell_size(struct pack *pack, const struct source *source,
		      uint64_t now, const char *so);
void source_tell_error(struct pack *pack, int err, uint64_t offset,
		       const char *so);

/* ---- packlist.c: the list of --manifest; does nothing when there is none ---- */

/*
 * The item at hand is packed.  It is a name of an inode of which another has come with
 * `further`; else, when it is a regular file, data and an end follow.
 */
void pack_note(struct pack *pack, const struct stat *st, const char *target,
	       bool further);
void pack_note_data(struct pack *pack, const void *bytes, size_t size,
		    uint64_t offset);
void pack_note_read(struct pack *pack, int fd, uint64_t size);
void pack_note_end(struct pack *pack, uint64_t size, int failure);

/* ---- packsums.c: sums for --verify; does nothing when there are none ---- */

/* 0, or -1 with errno ENOMEM. */
int pack_sum_init(struct pack *pack);
void pack_sum_destroy(struct pack *pack);

/*
 * A regular file's data begin; more of them, a block at most, while they are still the
 * packer's; they end.  What is due goes into the ring by pack_sum_send, after the record that
 * has the data, and at the end by itself.
 */
void pack_sum_begin(struct pack *pack);
void pack_sum_data(struct pack *pack, const void *bytes, size_t size,
		   uint64_t offset);
int pack_sum_send(struct pack *pack);
int pack_sum_end(struct pack *pack, uint64_t size);

/*
 * All data of a file of a block at most: writes their record, if there has to be one, and
 * returns its size, which is pack_sum_room at most.
 */
size_t pack_sum_room(const struct pack *pack);
size_t pack_sum_small(const struct pack *pack, void *at, const void *bytes,
		      size_t size);

/*
 * In the place of all these, for an open file whose data are not sent: reads it for its
 * sums (`holes`: only what extent_next finds).  *failure becomes the errno of a failed
 * read, which was told.
 */
int pack_sum_unsent(struct pack *pack, struct source *source, bool holes,
		    int *failure);

/* ---- metadata and records ---- */

/*
 * packattr.c: lists the item's attributes; returns flags for its head.  `fetch` may have
 * them already; NULL: it doesn't.
 */
unsigned pack_list_attributes(struct pack *pack,
			      const struct xattr_source *from,
			      const struct fetch *fetch);

/* The attribute is one that is carried and kept. */
bool pack_wants_attribute(const struct pack *pack, const char *name);

/* Reads one into pack->value; its length, or -1: told. */
ssize_t pack_read_attribute(struct pack *pack, const struct xattr_source *from,
			    const char *name);

/* ... and packs those that were listed, class by class. */
int pack_attributes(struct pack *pack, const struct xattr_source *from);

/* packfile.c: a regular file, from its name. */
int pack_file(struct pack *pack);

/*
 * packhave.c: is it at the destination already (--continue)?  Its attributes are listed.
 * To be asked once for each file.
 */
bool pack_has(struct pack *pack, const struct source *source);

/* Tells the list of --manifest of its bytes, which nobody reads otherwise. */
void pack_note_left(struct pack *pack, struct source *source);

/* The most bytes that one read takes. */
size_t pack_small_max(const struct pack *pack);

/* It may go by reference (`arg` is the pack).  Any thread. */
bool pack_may_reference(void *arg, const struct stat *st);

/* Another file is mounted over the name; the directory tells the type of that below. */
bool pack_is_mount(const struct walk_item *item);

/* pack.c: a symlink, FIFO, socket or device, from its name. */
int pack_special(struct pack *pack);

/* ---- packtar.c: the same as members of a tar stream ---- */

struct packtar *packtar_new(void);
void packtar_free(struct packtar *tar);

/* As the same of records. */
size_t packtar_small_max(const struct pack *pack);
bool packtar_wants_open(void *arg, const struct stat *st);

/* A root begins. */
void packtar_root(struct pack *pack);

/* The item at hand. */
int packtar_item(struct pack *pack);

/* ---- what is no regular file ---- */

enum special_found {
	SPECIAL_WANTED,
	SPECIAL_REGULAR,		/* a regular file is mounted over the name */
	SPECIAL_GONE,			/* left out, told where it must be */
};

/* Looks at the item at hand. */
enum special_found special_look(struct pack *pack, struct stat *st);

/* Reads a symlink into PATH_MAX + 1 bytes; its length, or -1: told. */
ssize_t special_target(struct pack *pack, const struct stat *st, char *target);

#endif
