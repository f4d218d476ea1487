/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attrs: the extended attributes and ACLs that one object has, to be compared with
 * those of another.
 *
 * What is not carried (see xattr_classify) and what the options don't keep isn't in a
 * set.  Used by one thread.
 */
#ifndef TARPIPE_ATTRS_H
#define TARPIPE_ATTRS_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"
#include "meta.h"
#include "opts.h"

/* One of a set; where it lies in the set's bytes. */
struct attr {
	size_t name, value, size;
};

/* A set; starts zeroed, and is filled again and again. */
struct attrs {
	struct bytes bytes;
	struct attr *all;
	size_t count, room;
	struct xattr_buffer names, value;
};

/*
 * Fills the set with all that an object has.  0, or -1 after a message under the name
 * `shown` (see differ_fail).
 */
int attrs_read(struct attrs *attrs, const struct opts *opts,
	       const struct xattr_source *from, const char *shown);

/* Empties the set; adds one.  0, or -1 with errno ENOMEM. */
void attrs_clear(struct attrs *attrs);
int attrs_add(struct attrs *attrs, const struct opts *opts, const char *name,
	      const void *value, size_t size);

/* Tells what the second set lacks, has besides or has otherwise (see differ_say). */
void attrs_differ(struct attrs *wanted, struct attrs *found,
		  const struct opts *opts, const char *name);

void attrs_destroy(struct attrs *attrs);

#endif
