/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host: operands that name another machine, HOST:PATH or USER@HOST:PATH.
 *
 * They cannot be reached yet; what can be given is the pipe that does the work.
 */
#ifndef TARPIPE_HOST_H
#define TARPIPE_HOST_H

#include <stdbool.h>

#include "text.h"

/*
 * The colon that ends the host, within the operand, or NULL when it is local:
 * rsync's rule, a colon before the first slash (`./a:b` is local).
 */
const char *host_colon(const char *operand);

/*
 * Adds the shell command that copies `src` into `dst`, one or both of them on
 * other machines, by tar and ssh: its contents, or itself `by_name`.
 */
void host_put_pipe(struct text *out, const char *src, const char *dst, bool by_name);

#endif
