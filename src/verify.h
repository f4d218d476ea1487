/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify: what was written is read back from the disk, and compared with the sums of what
 * was read at the source (--verify).
 *
 * A worker gives each regular file's parts here, as soon as it has written them and has
 * their sums: ranges of up to some dozens of MiB, the last with the end of the file.  A
 * part has a descriptor of its own.  One thread takes parts in batches: it sends what is
 * still only in memory to the disk, drops it from the page cache, and reads it back.
 * So nothing is read twice, no journal is committed for it, and it runs
 * beside the copy, near behind it.
 *
 * What waits is bounded, by descriptors and by bytes on the disk: who gives more, waits.
 * In memory that is for each part its name, and 8 bytes a MiB; a file of 1 TB, too, has
 * but some of its parts here at one time.
 *
 * What differs, or can't be read, is told by the file's name, once a file, STATUS_PARTIAL;
 * the file stays.  Only the data of regular files are verified.
 */
#ifndef TARPIPE_VERIFY_H
#define TARPIPE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "gate.h"
#include "sums.h"

struct verify_config {
	struct gate *gate;	/* borrowed */
	unsigned fds;		/* parts that wait, at most */
	void (*stop)(void *arg, int reason);	/* there is no room on the disk after all */
	void (*done)(void *arg);	/* its thread is through */
	void *arg;		/* of both, which are called by that thread */
};

struct verify;

/* NULL with errno ENOMEM.  verify_free accepts NULL; no file may be left. */
struct verify *verify_new(const struct verify_config *config);
void verify_free(struct verify *verify);

/* 0, or -1 with errno. */
int verify_start(struct verify *verify);

/* ---- any thread ---- */

/* No more will come: the rest is verified, then the thread ends. */
void verify_close(struct verify *verify);

/* What waits, or comes, is not verified any more; nobody waits, and the thread ends. */
void verify_stop(struct verify *verify);

/* What was done so far. */
struct verify_counts {
	uint64_t files;		/* ... that are as they were read */
	uint64_t bytes;
	uint64_t differ;	/* files, or they could not be read back */
};
void verify_count(const struct verify *verify, struct verify_counts *counts);

/* ---- the worker that has a file ---- */

struct verified;		/* a file */
struct part;

/* A file, which will have this name.  NULL with errno ENOMEM. */
struct verified *verified_new(struct verify *verify, struct dir *dir,
			      const char *name);

/* The worker is through with it; its parts may not be.  Accepts NULL. */
void verified_drop(struct verified *file);

/*
 * The file will be cut to `size`, which is less than was given here: what lies behind, and a
 * block that is cut in two, has no sum any more.
 */
void verified_cut(struct verified *file, uint64_t size);

/* Opens what a handle (O_PATH) leads to, a regular file, for part_new.  -1 with errno. */
int verify_open(int handle);

/*
 * A part: [from, to) of what `fd` (open for reading; stays the caller's) is, and the sums
 * that lie in it, or NULL.  Blocks without a sum shall be zeros.  NULL with errno.
 */
struct part *part_new(struct verified *file, int fd, uint64_t from, uint64_t to,
		      const struct sums_run *run);

/*
 * The part is the last of its file, which has so many bytes, and shall keep this atime
 * (NULL: any).
 */
void part_is_last(struct part *part, uint64_t size, const struct timespec *atime);

/* Gives it to be verified.  Waits while too much is. */
void part_give(struct part *part);

/* ... or does without.  Accepts NULL. */
void part_free(struct part *part);

/* ---- the end ---- */

/*
 * Waits for the thread, after verify_close.  When it was stopped, for some tenths of a
 * second only: false when it is in a call that takes longer; then nothing may be freed.
 */
bool verify_join(struct verify *verify);

#endif
