/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output: a place that a stream is written to, and several that get the same stream.
 *
 * Used by one thread; `end.bytes` may be read by others with count_get.
 */
#ifndef TARPIPE_OUTPUT_H
#define TARPIPE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "diag.h"
#include "end_fd.h"

enum { OUTPUTS_MAX = 33 };	/* the main one, and buffer's 32 of --tee */

struct output {
	struct end_out end;
	const char *name;	/* for messages; borrowed */
	struct stat st;		/* as it was when it was opened */
	bool tape;		/* every write is a record */
	bool failed;		/* gets no more */
};

/* Those that get one stream, the main one first. */
struct outputs {
	struct output out[OUTPUTS_MAX];
	int count;
};

/*
 * Adds a descriptor, which is the output's from then on, in blocks of `block`.
 * Returns the output, or NULL with errno, and the descriptor is the caller's.
 */
struct output *outputs_add(struct outputs *outputs, int fd, const char *name,
			   size_t block);

/* A file that can't be an output, and what is said then. */
struct output_not {
	struct stat st;
	const char *why;
};

/*
 * Opens a file by its name, made when it is not there and emptied when it is one, and
 * adds it.  One that is among the outputs already, or is `other` (may be NULL), is refused
 * before.  Returns NULL after a message, STATUS_STOPPED.
 */
struct output *outputs_open(struct outputs *outputs, const char *name,
			    size_t block, const struct output_not *other);

/* Some output still takes something. */
bool outputs_go_on(const struct outputs *outputs);

/* How many of `size` bytes all of them take with one output_write each. */
size_t outputs_share(const struct outputs *outputs, size_t size);

/* Writes all of it; to a tape as one record.  Returns 0, or -1 with errno. */
int output_write(struct output *out, const void *bytes, size_t size);

/*
 * Leaves it out from now on, and tells errno and how many bytes are `where` ("out").
 */
void output_fail(struct output *out, enum status status, const char *where);

/*
 * Closes it, with `sync` after bringing its bytes to the medium.  A failure is told, when
 * it had not failed before.  Returns 0, or -1 when it has failed now or before.
 */
int output_close(struct output *out, bool sync, enum status status);

#endif
