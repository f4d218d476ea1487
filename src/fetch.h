/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetch: the first calls on a name that is no directory: open, fstat, flistxattr and,
 * when it is small, pread; or what can be asked of a symlink or a device.
 *
 * The packer makes these calls itself, or takes what a helper has found: a fetch is
 * a task of a crew, and says nothing to anybody: what fails is told by who takes it.
 */
#ifndef TARPIPE_FETCH_H
#define TARPIPE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "cache.h"
#include "crew.h"
#include "fskind.h"
#include "have.h"
#include "slab.h"
#include "walk.h"

enum { FETCH_TEXT = 256 };	/* bytes of names or of a target that are kept */

/* How files are to be taken.  The same for all of a run. */
struct fetch_rules {
	size_t small;		/* files up to this are read whole ... */
	bool attributes;	/* names of attributes are wanted */
	bool no_cache;		/* nothing is to stay in the page cache */

	/* ... but for those of which the descriptor is wanted, not the bytes.  Any thread. */
	bool (*wants_open)(void *arg, const struct stat *st);
	void *arg;
};

enum fetch_found {
	FETCH_NOTHING,		/* nothing of use: make the calls yourself */
	FETCH_NO_OPEN,		/* the open failed ... */
	FETCH_NO_STAT,		/* ... or the fstat, or fstatat: `err` */
	FETCH_OPEN,		/* a file; `fd` is -1 when it isn't needed any more */
	FETCH_SPECIAL,		/* something else, not opened */
};

struct fetch {
	struct task task;	/* first: tasks are fetches */
	const struct fetch_rules *rules;	/* borrowed */
	struct slab *slab;			/* borrowed */
	int parent;
	const char *name;
	unsigned char type;	/* DT_* */
	bool mine;		/* as the item says */
	const struct have_seen *seen;	/* NULL, or what the destination has: what is
					   there is not read; borrowed */

	enum fetch_found found;
	int err;
	int fd;			/* who takes it closes it */
	struct stat st;
	enum fskind kind;	/* of its file system */
	bool listed;		/* `text` holds the names of its attributes */
	char text[FETCH_TEXT];	/* ... or the target of a symlink */
	ssize_t text_len;	/* -1: the target doesn't fit, or can't be read */

	bool read;		/* whole, into `data`: `got` bytes, up to size + 1 ... */
	unsigned char *data;	/* a piece of the slab, or NULL */
	ssize_t got;		/* ... or -1: `err` */
	size_t advised;		/* bytes that the kernel was asked to read */
};

/* Sets up the task for an item; its strings and descriptors outlive it.  `seen` is NULL. */
void fetch_init(struct fetch *fetch, const struct fetch_rules *rules,
		struct slab *slab, const struct walk_item *item);

/* Closes and gives back what nobody has taken. */
void fetch_drop(struct fetch *fetch);

/* ---- the single calls ---- */

/* Opens a file for reading: never through a symlink, never waiting.  -1 with errno. */
int fetch_open(int parent, const char *name, bool mine);

/* As cache_read, but not interrupted. */
ssize_t fetch_read_at(struct cache_file *file, void *to, size_t len,
		      uint64_t offset);

/*
 * Reads a file of `size` bytes and one more, to see that there is none.  Returns the
 * bytes read, up to size + 1, or -1 with errno.
 */
ssize_t fetch_read(struct cache_file *file, unsigned char *to, size_t size);

#endif
