/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cli: the command line.  One table makes the parser, --help and the list that
 * a test compares with the manual page.
 */
#ifndef TARPIPE_CLI_H
#define TARPIPE_CLI_H

#include "opts.h"

/* What cli_parse wants done next. */
enum cli_verdict {
	CLI_RUN,		/* options and operands are there: run */
	CLI_DONE,		/* --help or --version was printed: exit 0 */
	CLI_REFUSED,		/* the message is out: exit STATUS_USAGE */
};

/*
 * Parses argv (as main got it; permuted so that operands may stand anywhere
 * before `--`) into *opts, defaults first.  Prints --help and --version to standard output.
 */
enum cli_verdict cli_parse(struct opts *opts, int argc, char **argv);

#endif
