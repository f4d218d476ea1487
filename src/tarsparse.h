/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarsparse: where the data of a sparse file stand in a stream: GNU's format 1.0, in
 * which a map of the extents, as text, comes before their bytes; or, in a format without
 * holes, the whole file.
 *
 * Extents are written in whole blocks, because GNU tar reads each from a block of its own:
 * what that adds to them is zeros.
 */
#ifndef TARPIPE_TARSPARSE_H
#define TARPIPE_TARSPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paxhead.h"
#include "tar.h"

struct sparse {
	tar_sink *sink;
	void *arg;
	struct tar_extent *given;	/* by the caller */
	struct tar_extent *spans;	/* that are written */
	size_t ngiven, nspans, room;
	size_t next_given, next_span;	/* not yet complete */
	uint64_t position;		/* in the file: before it all is written */
	uint64_t size;
};

void sparse_init(struct sparse *sparse, tar_sink *sink, void *arg);
void sparse_destroy(struct sparse *sparse);

/* Begins with a file; with `whole` its holes are written, too.  0, or -1 without memory. */
int sparse_begin(struct sparse *sparse, const struct tar_member *member,
		 bool whole);

/* Bytes that will be written. */
uint64_t sparse_length(const struct sparse *sparse);

/*
 * Adds the map, padded to a block; a hole at the end is an extent of no length.  0, or -1
 * without memory.
 */
int sparse_map(const struct sparse *sparse, struct bytes *map);

/* The next bytes of the extents, in order.  0, or -1 when the sink failed. */
int sparse_data(struct sparse *sparse, const void *bytes, size_t size);

/* What is missing is zeros. */
int sparse_end(struct sparse *sparse);

#endif
