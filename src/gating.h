/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gating: what the rooms of the gate (gate.c, gatemake.c) share, and nobody else.
 * gate.c begins with the rules.
 */
#ifndef TARPIPE_GATING_H
#define TARPIPE_GATING_H

#include <fcntl.h>
#include <sys/stat.h>

#include "gate.h"
#include "thread.h"

enum state { DIR_NEW, DIR_READY, DIR_LEFT_OUT };
enum sweep { SWEEP_DONE, SWEEP_DUE, SWEEP_RUNNING };

struct dir {
	struct dir *parent;		/* NULL: the destination directory */
	struct dir *next, **link;	/* all that exist */
	struct dir *newer, *older;	/* open and unused, by age */
	struct dir *down;		/* scratch: the way down, while reopening */
	unsigned holds, refs, users;
	int fd;				/* -1: closed */
	enum state state;
	bool queued;			/* it is in the list of the unused */
	bool streaming;			/* the stream is in it (one of the holds) */
	enum sweep sweep;		/* of old temporary names */
	bool inherits;
	bool linked;			/* its name is a symlink that was followed */
	bool has_final, putback;
	bool done;			/* gate_done: its metadata are final */
	uint64_t added, ended;		/* moments of the stream; 0: not yet */
	int64_t group;			/* of new files; -1: not known */
	struct dir_facts facts;
	struct meta final;
	char name[];
};

/* A directory that needs no sweep when the stream enters it again. */
struct seen {
	dev_t dev;
	ino_t ino;
};

enum { GATE_SEEN = 1024 };

struct gate {
	struct gate_config config;
	struct lock lock;
	struct dir *root;
	struct dir *all;
	struct dir *newest, *oldest;	/* unused ones */
	unsigned open;
	uint64_t moment;		/* of the stream: additions and ends, counted */
	struct seen seen[GATE_SEEN];	/* made or taken lately; under the lock */
	uint64_t full;		/* directories that found no space: one tells it */
};

enum { OPEN_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* ---- gate.c ---- */

/* Gives it a descriptor, closing others beyond the budget.  Under the lock. */
void dir_set_fd(struct gate *gate, struct dir *dir, int fd);

/* It is open and nobody uses it.  Under the lock. */
void dir_queue(struct gate *gate, struct dir *dir);

/* ---- gatemake.c ---- */

/* Tells what failed with a directory; ENOSPC stops the run.  errno is `err` after. */
void dir_tell(struct gate *gate, const struct dir *dir, int err,
	      const char *what);

/* Keeps what the directory is. */
void dir_facts_from(struct dir *dir, const struct stat *st, bool existed);

/*
 * The open directory was there before: finds out about it, and with `widen` makes it
 * usable.  Returns 0, or -1 with errno.
 */
int dir_take_existing(struct dir *dir, int fd, bool widen);

/* Removes what it inherited. */
int dir_remove_acls(int fd);

#endif
