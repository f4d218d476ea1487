/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarpax: the records of a pax extended header, as bytes.
 *
 * Names, times and attributes are taken from here and not from libarchive, which
 * composes UTF-8 (a name gets other bytes), drops the name with an attribute that
 * is too large, ends a name at a NUL and gets negative times wrong.  The other records
 * (sparse maps, ids, ACLs) are left to it.
 */
#ifndef TARPIPE_TARPAX_H
#define TARPIPE_TARPAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tar.h"

/* What the records say; strings and values lie in the header's body. */
struct pax {
	const char *path, *link, *user, *group;		/* NULL: not said */
	const char *sparse_path;
	struct timespec mtime, atime;
	bool has_mtime, has_atime, has_size;
	bool has_acl;
	bool has_map;			/* the data begin with a sparse map (1.0) */
	uint64_t size;
	struct tar_xattr *xattrs;	/* in the order they came, with duplicates */
	size_t nxattrs, xattrs_room;
	char *rest;			/* records for libarchive */
	size_t rest_len, rest_room;
};

/* Forgets what was parsed, and keeps the memory. */
void pax_clear(struct pax *pax);

/*
 * Parses `len` bytes of records, which are changed and must stay.  NULL when all is
 * well, else in words what is wrong with them.
 */
const char *pax_parse(struct pax *pax, char *body, size_t len);

void pax_free(struct pax *pax);

#endif
