/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk: goes through a tree and names what it finds, one item at a time.
 *
 * Everything is opened relative to a held directory and never through a symlink,
 * so that nobody who renames things meanwhile can lead it outside.  A directory's
 * names are read whole and come in the order of their inodes, directories last,
 * so that a disk is read forwards and a directory is not left and entered again.
 * A stack of frames on the heap bounds the depth by memory alone; when descriptors
 * run short, outer directories are closed and found again by `..`, compared by
 * device and inode.
 *
 * What can't be read is told by diag and left out.  Used by one thread.
 */
#ifndef TARPIPE_WALK_H
#define TARPIPE_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "names.h"

enum walk_event {
	WALK_END,		/* the root is done */
	WALK_ENTRY,		/* a name that is no directory */
	WALK_ENTER,		/* a directory; what follows up to its LEAVE is in it */
	WALK_LEAVE,		/* all of it has come */
};

/* One item.  Valid until the next call. */
struct walk_item {
	enum walk_event event;
	uint32_t dir;		/* id of the directory it is in */
	uint32_t id;		/* ENTER, LEAVE: its own id */
	const char *name;	/* its last component, at the source */
	const char *as;		/* ... and at the destination */
	int parent;		/* descriptor of the directory that holds it */
	int fd;			/* ENTER, LEAVE: of the directory itself; -1:
				   it can't be opened */
	bool way;		/* ENTER, LEAVE: it only leads to a name of a list */
	bool mount;		/* ENTER, LEAVE: another file system begins there; `fd` is
				   -1, and nothing comes of it (`stay`) */
	bool unasked;		/* ... it may not answer: nothing more is to be asked of
				   it (attributes) */
	unsigned char type;	/* ENTRY: DT_*, as the directory said */
	bool mine;		/* ENTRY: O_NOATIME is likely to be allowed */
	uint64_t ino;		/* ENTRY: as the directory said; 0: it didn't */
	struct stat st;		/* ENTER, LEAVE: as it was when it was opened */
};

struct walk_config {
	unsigned fds;		/* directories held open at one time; at least 3 */
	bool avoid;		/* leave out the directory with the next two */
	dev_t avoid_dev;
	ino_t avoid_ino;

	/*
	 * On the root's file system: what is reached by another mount, or has another
	 * device, is not entered but comes as a directory without contents, and is neither
	 * opened nor asked about: what the kernel remembers of it is all that is said.
	 */
	bool stay;

	/*
	 * Is a name wanted?  Asked once for each, before anything is opened; what is
	 * not is left out in silence, with all that is in it.  `path` is that of the
	 * member: below the root, behind its `as` if it has one.  NULL: all are.
	 */
	bool (*wanted)(void *arg, const char *path, bool directory);
	void *wanted_arg;

	/*
	 * So many leading components of members are cut off: what is no deeper does
	 * not come, but is gone through; what is moves up, its ids with it.
	 */
	unsigned strip;

	/* NULL, or closes a directory's descriptor that was given out, in its own time. */
	void (*close)(void *arg, int fd);
	void *close_arg;
};

struct walk;

struct walk *walk_new(const struct walk_config *config);
void walk_free(struct walk *walk);

/*
 * Begins with a root: `path` as the user gave it.  With `as`, it becomes an entry
 * of that name in the directory 0, and a symlink stays one unless `follow`;
 * without, it is a directory whose contents go there: its ENTER has id 0.  The strings
 * are borrowed until the next call of this.
 */
void walk_begin(struct walk *walk, const char *path, const char *as,
	       bool follow);

/*
 * Says, between walk_begin and the first item, that of the root, which is a directory,
 * only the names of a list come, as they are read from it: paths below the root, `.` and
 * slashes in them as good as not there.  Directories that are named come whole.  Those
 * on the way to a name are entered (`way`) and not listed, each component by itself and
 * no symlink followed; they are left when the next name lies elsewhere.  A directory may so
 * be entered again.  When `.` is named, the root comes once more as an ENTER without
 * `way`, and all that is in it; its LEAVE still comes at the end.
 *
 * Names that are absolute, have `..` in them or are not there are told, STATUS_PARTIAL,
 * and so is a list that can't be read further.  Borrowed until WALK_END.
 */
void walk_list(struct walk *walk, struct names *names);

/* The next item; WALK_END for ever after the last. */
void walk_next(struct walk *walk, struct walk_item *item);

/* The item is of no use (its directory could not be packed): leave what is in it. */
void walk_skip(struct walk *walk);

/*
 * The path of the last item, or of a name beside it, for messages.  Valid until
 * the next call.
 */
const char *walk_path(struct walk *walk);

/*
 * The last item's path as a member, as `wanted` is given it, nothing cut off; "" for a
 * root without `as`.  NULL with ENOMEM.  Valid until the next call.
 */
const char *walk_member(struct walk *walk);

/* ---- directories ahead ---- */

struct crew;
struct task;

/*
 * From now on a crew opens and reads directories before the walk comes there, up to
 * `most` at one time.  Until walk_free, which comes after crew_stop and before crew_free.
 */
void walk_scout(struct walk *walk, struct crew *crew, unsigned most);

/* Has those looked at that come next. */
void walk_look_ahead(struct walk *walk);

/* What the next walk_next would wait for, as far as can be seen; NULL: nothing. */
const struct task *walk_awaits(const struct walk *walk);

#endif
