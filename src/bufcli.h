/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bufcli: the command line of the buffering stage: buffer's letters, and what there
 * is beyond them.  One table makes the parser and --buffer --help.
 */
#ifndef TARPIPE_BUFCLI_H
#define TARPIPE_BUFCLI_H

#include <stdbool.h>

#include "buffer.h"
#include "cli.h"

/* Whether argv asks for it: called `buffer`, or the first argument is --buffer. */
bool bufcli_called(int argc, char **argv);

/*
 * Parses argv, for which bufcli_called is true, into *opts, defaults first.
 * CLI_REFUSED, after a message, is BUFFER_FAILED here.
 */
enum cli_verdict bufcli_parse(struct buffer_opts *opts, int argc, char **argv);

#endif
