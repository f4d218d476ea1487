/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffer: the buffering stage alone, as buffer(1) has it.
 *
 *     input -> reader (a thread) -> ring of blocks -> writer (main) -> outputs
 *
 * The reader fills whole blocks.  With a fill mark the writer collects that many
 * blocks, writes them all, and collects again.
 */
#ifndef TARPIPE_BUFFER_H
#define TARPIPE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

/* buffer's exit statuses; beside these 0, or death by a signal. */
enum buffer_status {
	BUFFER_WRITE_FAILED = 254,	/* an output failed */
	BUFFER_FAILED = 255,		/* refused, no set-up, or the input failed */
};

enum { BUFFER_TEES = 32 };

/* What the user asked for; filled by bufcli_parse. */
struct buffer_opts {
	const char *input;	/* -i; NULL: standard input */
	const char *output;	/* -o; NULL: standard output */
	const char *tees[BUFFER_TEES];	/* --tee: further outputs */
	int ntees;
	uint64_t block;		/* -s: bytes */
	uint64_t blocks;	/* of the ring */
	unsigned fill;		/* -p: percent of the blocks, 0..100 */
	unsigned low;		/* --low: the same; 100 is off */
	uint64_t pause;		/* -u: microseconds after each write */
	uint64_t show;		/* -S: bytes between two lines; 0: none */
	bool pad;		/* -B */
	bool total;		/* -t */
	bool seek;		/* -Z */
	unsigned debug;		/* -d, counted */
	uint64_t read_rate;	/* bytes a second; 0: as fast as can be */
	uint64_t write_rate;
	enum hash_kind hash;
	const char *log;	/* NULL: none */
};

/*
 * Runs the stage and says what went wrong.  Returns the exit status.  When it is
 * not 0 a thread may still be reading: the caller is to exit.  SIGPIPE is ignored from then on.
 */
int buffer_run(const struct buffer_opts *opts);

#endif
