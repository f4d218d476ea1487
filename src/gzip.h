/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip: one standard gzip stream (RFC 1952), compressed in blocks on several threads.
 *
 * Each block is deflated on its own with the end of the one before as dictionary,
 * ends on a byte boundary (a sync flush), and is put in order by whoever finishes; the
 * checksum of the whole is combined from the blocks' (as pigz does it).
 */
#ifndef TARPIPE_GZIP_H
#define TARPIPE_GZIP_H

#include "filter.h"

struct gzip;

/*
 * As filter_out_new and its kin.  Levels are 1 (the default) to 9, threads 1 (the caller
 * compresses) to 64 (more are no error); each has a few hundred KiB and about 1 MiB of
 * blocks, and no more memory is taken however slow the sink is.  Fewer threads than asked
 * for, when they can't be started, are no error.
 *
 * The same bytes come out for any number of threads.  The sink gets a block a call.
 */
struct gzip *gzip_new(int level, unsigned threads, filter_sink *sink, void *arg);
int gzip_write(struct gzip *gzip, const void *bytes, size_t size);
int gzip_close(struct gzip *gzip);
void gzip_free(struct gzip *gzip);

#endif
