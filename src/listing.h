/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listing: a member as a line for people, shaped like those of `tar -tv` and `ls -l`.
 */
#ifndef TARPIPE_LISTING_H
#define TARPIPE_LISTING_H

#include <stdbool.h>

#include "tar.h"
#include "text.h"

/* How lines are made; `width` grows with what was met, and starts as 0. */
struct listing {
	bool verbose;		/* all there is to say; else the name alone */
	bool numeric;		/* owners by number even where names are known */
	int width;
};

/*
 * Adds the line of a member, newline included, under the given path and, of a hard link,
 * with the given target.  Names are escaped.
 */
void listing_put(struct listing *listing, struct text *line,
		 const struct tar_member *member, const char *path,
		 const char *hardlink);

#endif
