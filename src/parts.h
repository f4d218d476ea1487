/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts: a path of an archive, taken apart.
 *
 * What means nothing (`.`, doubled and trailing slashes) is dropped; what is not
 * plainly below the place where the archive is unpacked is refused, never mended.
 */
#ifndef TARPIPE_PARTS_H
#define TARPIPE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* Starts zeroed, and is used again and again. */
struct parts {
	char *text;		/* the components that count, with `/` between */
	size_t size;
	size_t *ends;		/* of each component in it */
	size_t room;
	size_t count;		/* of components */
};

enum parts_verdict {
	PARTS_FINE,		/* also of no component: the place itself */
	PARTS_EMPTY,		/* there is no path */
	PARTS_ABSOLUTE,
	PARTS_UPWARD,		/* it has a `..` */
	PARTS_LONG,		/* a component is longer than a name can be */
	PARTS_NO_MEMORY,
};

enum parts_verdict parts_parse(struct parts *parts, const char *path);

/* A component, not NUL-terminated, of those that count. */
const char *parts_get(const struct parts *parts, size_t index, size_t *len);

void parts_destroy(struct parts *parts);

#endif
