/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter: compression of a byte stream, one way and the other, by name or by magic
 * bytes; never by an external program.
 *
 * gzip is written by gzip.c on several threads and read by gunzip.c, whose zlib checks
 * its sums; the others are libarchive's filters around its raw format.
 *
 * What can be noticed is up to the format: gzip, xz, lz4 and bzip2 have checksums, a
 * zstd stream as libarchive 3.6.2 writes it has none.
 */
#ifndef TARPIPE_FILTER_H
#define TARPIPE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "opts.h"

/* ---- compressing ---- */

/*
 * Takes bytes that are ready, in order, one call at a time but from any thread.
 * Returns 0, or -1 with errno: then the filter takes no more.
 */
typedef int filter_sink(void *arg, const void *bytes, size_t size);

struct filter_out;

/*
 * Begins a compressed stream.  `level` -1 is the kind's default, `threads` how many may
 * compress (1: none beside the caller where that can be).  NULL with errno (EINVAL: no
 * such kind or level, or none that this libarchive writes without another program;
 * ENOMEM).
 */
struct filter_out *filter_out_new(enum filter_kind kind, int level,
				  unsigned threads, filter_sink *sink,
				  void *arg);

/* Adds bytes, copied.  May wait for the threads.  0, or -1 with the sink's errno. */
int filter_out_write(struct filter_out *filter, const void *bytes, size_t size);

/* Ends the stream: everything has gone to the sink.  0, or -1 with errno. */
int filter_out_close(struct filter_out *filter);

/*
 * Frees it, closed or not: then what is under way is dropped, but for a call of the sink
 * that has begun, which is waited for.  Accepts NULL.
 */
void filter_out_free(struct filter_out *filter);

/* The range of levels of a kind; false when it has none. */
bool filter_levels(enum filter_kind kind, int *least, int *most);

/* ---- decompressing ---- */

enum { FILTER_MAGIC = 16 };	/* bytes that filter_detect wants to see */

/* What the first bytes of a stream say; FILTER_NONE for anything else. */
enum filter_kind filter_detect(const void *bytes, size_t size);

const char *filter_name(enum filter_kind kind);

/*
 * Gives the next compressed bytes, which stay valid until the next call: their number, 0
 * at the end of the input, -1 with errno.
 */
typedef ssize_t filter_source(void *arg, const void **bytes);

struct filter_in;

/*
 * Begins reading.  NULL with errno (EINVAL: no such kind, or none that this libarchive
 * reads without another program; ENOMEM).
 */
struct filter_in *filter_in_new(enum filter_kind kind, filter_source *source,
				void *arg);

/*
 * Reads into `to`, as much as fits or is there at once (never 0 of a stream that goes
 * on).  Returns 0 at the end of the compressed stream (all members or frames, each
 * checked), -1 with errno: EBADMSG when it is damaged or cut (filter_in_error says
 * it in words), else the source's.
 */
ssize_t filter_in_read(struct filter_in *filter, void *to, size_t size);

/* What is wrong, in words; valid until the filter is freed. */
const char *filter_in_error(const struct filter_in *filter);

/*
 * Compressed bytes used so far; after the end, all of the stream without what follows
 * it.  And, after the end, whether other bytes than zeros follow.
 */
uint64_t filter_in_used(const struct filter_in *filter);
bool filter_in_junk(const struct filter_in *filter);

void filter_in_free(struct filter_in *filter);

#endif
