/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate: the only way to a name at the destination.
 *
 * A name is a held directory and one last component.  The gate checks the component,
 * makes and opens directories, never through a symlink, and knows of each when all
 * that belongs in it is there, so that its own metadata can be set.  Directories
 * whose descriptor was given up to stay within the budget are found again by
 * `..` or from above, and compared by device and inode.
 *
 * A struct dir lives through these hands:
 *   - the taker of the stream (one thread at a time) adds it, and holds and
 *     ends it in stream order: gate_add, gate_hold, gate_end;
 *   - the worker that meets its DIR record makes it: gate_make, once;
 *   - workers with entries in it wait until it is made, use it between gate_enter and
 *     gate_exit, and drop their hold: gate_drop tells who was the last.
 * Everything else is behind one lock inside.
 */
#ifndef TARPIPE_GATE_H
#define TARPIPE_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "meta.h"

struct gate;
struct dir;
struct syncs;

struct gate_config {
	int root;		/* the destination directory, open; borrowed */
	const char *shown;	/* how messages name it; borrowed */
	unsigned fds;		/* directories held open at one time */
	bool fresh;		/* the root was made by this run, for SRC's metadata */
	bool widen;		/* the root's mode may be widened: it is put back */
	bool keep;		/* existing names stay as they are */
	bool keep_dirlink;	/* follow symlinks to directories */
	bool ordered;		/* the stream may enter a directory again */
	struct syncs *syncs;	/* NULL, or meets each file system; borrowed */
};

/* NULL with errno.  `gate_free` closes and frees all that is left. */
struct gate *gate_new(const struct gate_config *config);
void gate_free(struct gate *gate);

/*
 * Puts back modes that were widened for work that will not be finished.  When no
 * worker is left.
 */
void gate_put_back(struct gate *gate);

/* The destination directory itself. */
struct dir *gate_root(struct gate *gate);

/* ---- the taker ---- */

/*
 * Adds a directory to be made below `parent`.  It is held once, for the stream, until
 * gate_end.  NULL with errno ENOMEM.
 */
struct dir *gate_add(struct gate *gate, struct dir *parent, const char *name,
		     size_t name_len);

/* Holds it for a run of entries, until gate_drop. */
void gate_hold(struct gate *gate, struct dir *dir);

/* The stream has left it: the next drop to nothing is the last. */
void gate_end(struct gate *gate, struct dir *dir);

/* ---- the workers ---- */

/* One last component: no `/`, not `.` or `..`, not empty.  Else errno EINVAL. */
int gate_check(const char *name);

/*
 * Makes the directory, or takes the one that is there; where the stream was in that
 * one before, waits until it is done.  Tells what fails; then the
 * directory and all below it are left out.  The parent must be entered.  Returns
 * 0, or -1 with errno ENOSPC when the run can't go on; after `cancelled` nothing is
 * made.
 */
int gate_make(struct gate *gate, struct dir *dir, bool cancelled);

/*
 * Waits until it is made and opens it for the caller.  Returns a descriptor that
 * is good until gate_exit, or -1: it is left out (or can't be found again, which
 * was told).
 */
int gate_enter(struct gate *gate, struct dir *dir);
void gate_exit(struct gate *gate, struct dir *dir);

/* Waits until nobody but the caller and the stream holds it: all in it is done. */
void gate_settle(struct gate *gate, struct dir *dir);

/* Keeps the metadata that are to be set when the last hold is dropped. */
void gate_finally(struct gate *gate, struct dir *dir, const struct meta *meta);

/*
 * At the last drop it gets back what it was when it was found (dir_facts), or, when it
 * was made, the usual mode.
 */
void gate_putback(struct gate *gate, struct dir *dir);

/* Its mode has been set: nothing is left to be put back (dir_facts.opened). */
void gate_mode_set(struct gate *gate, struct dir *dir);

/*
 * Drops a hold.  Returns true when it was the last: the caller sets the metadata of
 * gate_final (entering the directory once more) and calls gate_done.
 */
bool gate_drop(struct gate *gate, struct dir *dir);

/* What gate_finally kept, or NULL: leave its metadata alone. */
const struct meta *gate_final(const struct dir *dir);

/* gate_putback was called. */
bool gate_puts_back(const struct dir *dir);

/*
 * The directory needs no more work.  Returns its parent, whose hold by this child
 * the caller has to drop in turn, or NULL at the top.
 */
struct dir *gate_done(struct gate *gate, struct dir *dir);

/* ---- what restore asks ---- */

/* What it was when it was made or found. */
struct dir_facts {
	dev_t dev;
	ino_t ino;
	mode_t mode;		/* before this run changed it */
	uid_t uid;
	gid_t gid;
	struct timespec atime, mtime;
	bool existed;		/* it was there before this run */
	bool opened;		/* its mode was widened, to work in it */
};

const struct dir_facts *gate_facts(const struct dir *dir);

/* New names in it inherit an ACL. */
bool gate_inherits(const struct dir *dir);

/*
 * The group that new files in it get, once known (gate_learn_group); -1 before.
 */
int64_t gate_group(struct gate *gate, struct dir *dir);
void gate_learn_group(struct gate *gate, struct dir *dir, gid_t group);

/*
 * Keeps a directory findable after it is done, for later links to names in it,
 * until gate_unpin.
 */
void gate_pin(struct gate *gate, struct dir *dir);
void gate_unpin(struct gate *gate, struct dir *dir);

/*
 * True once for a directory that was there before: the caller removes what killed
 * runs left in it, then calls gate_sweep_end; others wait for that.
 */
bool gate_sweep_begin(struct gate *gate, struct dir *dir);
void gate_sweep_end(struct gate *gate, struct dir *dir);

/* The path of a name in it (NULL: its own) for messages; free() it. */
char *gate_path(const struct gate *gate, const struct dir *dir,
		const char *name);

/*
 * Waiting for what another worker does, apart from directories: the lock and its
 * condition are the gate's, since both kinds of waiting end the same way.
 */
struct lock;
struct lock *gate_lock(struct gate *gate);

#endif
