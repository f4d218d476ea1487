/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * temp: names under which replacements are made until they are complete.
 *
 *     .tarpipe-tmp-RRRRRRRRRRRRRRRR-N
 *
 * R are 16 hexadecimal digits, drawn anew for each run, so that no name of a source
 * and no other run meets them; N counts within the run.  A living run holds a lock
 * (flock) on each of its temporary files; names without one were left by a run
 * that was killed.
 */
#ifndef TARPIPE_TEMP_H
#define TARPIPE_TEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEMP_NAME_SIZE = 48 };

/* Draws a run's number. */
uint64_t temp_draw(void);

/* Writes a name into `name`, which has room for TEMP_NAME_SIZE bytes. */
void temp_name(char *name, uint64_t run, unsigned number);

/* It looks like one. */
bool temp_is_name(const char *name);

/*
 * Removes what killed runs left in the directory `dirfd`, using `buffer` (8-byte
 * aligned) to read it.  What can't be removed stays; what can't be read is not
 * looked at.
 */
void temp_sweep(int dirfd, void *buffer, size_t size);

#endif
