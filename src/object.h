/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object: one name at the destination, from its head to its END.  Shared by the
 * rooms that restore (restore.c, regular.c, hardlink.c) and by nobody else.
 *
 * An object is made under its own name where that is free, else under a temporary
 * one beside it; when it is complete it is renamed, when it can't be completed it is
 * removed.  All functions belong to the worker's own thread.
 */
#ifndef TARPIPE_OBJECT_H
#define TARPIPE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "apply.h"
#include "cache.h"
#include "diag.h"
#include "extent.h"
#include "restore.h"
#include "stamp.h"
#include "sums.h"
#include "temp.h"
#include "thread.h"
#include "verify.h"

enum {
	COPY_SIZE = 256 << 10,		/* worker->buffer */
	XATTR_VALUE_MAX = 64 << 10,	/* worker->value */
};

/*
 * The inode that was begun because another one (was_*) takes no more names, and a
 * name of it, by which further ones are made.
 */
struct path_twin {
	struct dir *dir;		/* pinned; NULL: none */
	dev_t was_dev, dev;
	ino_t was_ino, ino;
	char name[RECORD_NAME_MAX + 1];
};

struct restore {
	struct restore_config config;
	struct apply_config apply;
	struct restore_counts counts;
	uint64_t stopped;
	struct lock twins;		/* one at a time (hardlink.c) */
	struct path_twin twin;		/* the newest of a PATHLINK; under twins */
	struct timespec began;
	uint64_t temp_run;		/* for temp_name */
	uint64_t temp_lookalikes;	/* entries of the stream that are named so */
};

/* The object between its head and its END. */
struct object {
	uint8_t type;			/* enum record_type; 0: none */
	struct dir *dir;		/* where it is */
	bool skip;			/* it is left out: what comes is for nothing */
	bool there;			/* it is what was there before, left alone (there.c) */
	bool beside;			/* it is made under a temporary name, taken or not */
	bool temporary;			/* it has the name worker->temp for now */
	dev_t temp_dev;			/* ... and, a file, is this inode */
	ino_t temp_ino;			/* (0: not known) */
	bool sparse;
	struct inode *inode;		/* held; NULL: one name only */
	int refused;			/* LINK: why no further name is possible */
	int source;			/* descriptor to copy from by reference, or -1 */
	uint64_t end;			/* the file's size as it is now */
	uint64_t reserved;		/* bytes that space was set aside for */
	struct verified *verified;	/* --verify: a file that is, or NULL */
	uint64_t given;			/* ... so many bytes of it were given for it */
	int reader;			/* ... and read by this; -1: by apply.at.fd */
	struct cache_file data;		/* how it is written */
	struct apply apply;
	char name[RECORD_NAME_MAX + 1];	/* final */
};

struct worker {
	struct restore *restore;
	unsigned index;

	struct dir *dir;		/* of the run */
	bool entered;			/* it was opened, if that could be */
	int dirfd;			/* -1: left out */
	int64_t group;			/* that new files in it get; -1: not known */
	bool inherits;

	struct cache cache;
	struct extent_space space;
	struct stamp_fs fs;		/* of what was there */
	struct apply_old old;
	struct object object;
	char temp[TEMP_NAME_SIZE];
	unsigned char *buffer;		/* COPY_SIZE */
	struct sums_run sums;		/* of the file at hand, not given yet */
	char *value;			/* XATTR_VALUE_MAX: one in parts ... */
	size_t value_len;		/* ... of which so much is here */
};

/* Something that makes a name; as the system calls, errno EEXIST when it is taken. */
typedef int maker(struct worker *worker, const char *name,
		  const struct record *record);

/* ---- telling ---- */

/*
 * Tells what failed with a name (NULL: the directory) of the run's directory, or with
 * the object at hand.  ENOSPC ends the run.
 */
void object_tell_name(struct worker *worker, const char *name, int err,
		      const char *what);
void object_tell(struct worker *worker, int err, const char *what);

/* After this error nothing more can be made: the file system is full or read-only. */
bool is_the_end(const struct worker *worker, int err);

/* The same as fail; what the file system can't do at all is told once for its kind. */
void object_tell_kind(struct worker *worker, enum diag_kind kind, int err,
		      const char *what);

/* ---- the life of an object ---- */

/*
 * Removes what killed runs left in a directory (entered); once, and only if it was
 * there before.  Comes before any temporary name of this run in it.
 */
void object_sweep(struct worker *worker, struct dir *dir, int fd);

/* Begins with its head; object.skip is set where it can't be made. */
void object_begin(struct worker *worker, const struct record *record,
		  struct inode *inode);

/*
 * Makes it.  Returns 0, or -1 when it is left out: told, or kept by -k.  The object
 * is given up then.
 */
int object_make(struct worker *worker, maker *make,
		const struct record *record, const char *call,
		enum diag_kind kind);

/* The name it has now: its own or the temporary one. */
const char *object_name(const struct worker *worker);

/* It is complete: gives it its own name and tells those who wait for its inode. */
void object_finish(struct worker *worker);

/* Removes what is there of it. */
void object_discard(struct worker *worker);

/* It comes to nothing: what follows of it is ignored. */
void object_give_up(struct worker *worker);

/* Forgets it. */
void object_reset(struct object *object);

/* The worker ends inside it (the stream broke off): removes it. */
void object_abandon(struct worker *worker);

/* ---- kinds of objects ---- */

/*
 * there.c (--continue): takes what is there in place of the object that was begun, when it
 * is that already.  True: it is taken, or given up with a message; no data go into it,
 * and its end sets what is not right of its metadata.
 */
bool there_file(struct worker *worker, const struct record *record);
bool there_special(struct worker *worker, const struct record *record);

/* The file's END: it gets what is not right. */
void there_end(struct worker *worker, const struct record *record);

/* regular.c: a regular file, or what is there of it */
void file_record(struct worker *worker, const struct record *record,
		 struct inode *inode);

/* ... a new one */
void file_begin(struct worker *worker, const struct record *record,
		struct inode *inode);
void file_piece(struct worker *worker, const struct record *record);
void file_span(struct worker *worker, const struct record *record);
void file_reference(struct worker *worker, const struct record *record);
void file_end(struct worker *worker, const struct record *record);

/*
 * Fills the file that was begun from an open one of `size` bytes.  Returns 0, or -1 after
 * a message; the object is then gone.
 */
int file_copy_from(struct worker *worker, int in, const struct stat *st,
		   uint64_t size);

/* All its data are there: sets size and metadata, and finishes it. */
void file_finish(struct worker *worker, uint64_t size);

/*
 * handover.c: its parts are given to be verified; nothing without --verify.  It begins; sums
 * of what has been written come; it is cut to what it shall have, before it is; all that
 * is left, before the descriptor is closed: that is given when it has its name, or freed.
 */
void handover_begin(struct worker *worker);
void file_sums(struct worker *worker, const struct record *record);
void handover_cut(struct worker *worker, uint64_t size);
struct part *handover_rest(struct worker *worker, uint64_t size);

/* When the object is finished: gives the rest, unless it came to nothing. */
void handover_give(struct worker *worker, struct part *rest);

/* Begins one that is there already (there.c), of which object.apply.at.fd is a handle. */
void handover_begin_there(struct worker *worker);

/* A further inode with the contents of an open file of `size` bytes: its sums. */
void handover_sums_of(struct worker *worker, int in, const struct stat *st);

/* restore.c: a symlink, FIFO, socket or device */
void special_begin(struct worker *worker, const struct record *record,
		   struct inode *inode);
void special_end(struct worker *worker);

/* hardlink.c: a further name of an inode */
void link_record(struct worker *worker, const struct record *record,
		 struct inode *inode);

/* ... or of what a path below the destination leads to */
void pathlink_record(struct worker *worker, const struct record *record);

#endif
