/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cliset: what the options of the command line do with their arguments.  Each set takes
 * one use into a struct opts (options.h); what is wrong is told.
 */
#ifndef TARPIPE_CLISET_H
#define TARPIPE_CLISET_H

#include "options.h"
#include "opts.h"

#define HINT "; try 'tarpipe --help'"		/* ends messages */

#define MEMORY_DEFAULT (UINT64_C(64) << 20)	/* bytes of the ring */
#define TAR_UNIT 512				/* -b counts in these */

/* A mode as the user asks for it: `-c`. */
const char *cli_mode(enum mode mode);

int set_mode(void *target, const struct option_use *use);
int set_block(void *target, const struct option_use *use);
int set_blocks(void *target, const struct option_use *use);
int set_tee(void *target, const struct option_use *use);
int set_hash(void *target, const struct option_use *use);
int set_format(void *target, const struct option_use *use);
int set_filter(void *target, const struct option_use *use);
int set_choice(void *target, const struct option_use *use);
int set_strip(void *target, const struct option_use *use);
int set_memory(void *target, const struct option_use *use);
int set_jobs(void *target, const struct option_use *use);
int set_read_ahead(void *target, const struct option_use *use);
int set_preserve(void *target, const struct option_use *use);
int set_no_preserve(void *target, const struct option_use *use);
int set_numeric(void *target, const struct option_use *use);
int set_reflink(void *target, const struct option_use *use);
int set_window(void *target, const struct option_use *use);

#endif
