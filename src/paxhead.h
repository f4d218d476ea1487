/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paxhead: what tarwrite.c changes in a header that libarchive has made, as bytes: a
 * ustar header, or one with a pax header (type x) before it, each padded to TAR_BLOCK.
 *
 * Functions that return int return 0, or -1 without memory.
 */
#ifndef TARPIPE_PAXHEAD_H
#define TARPIPE_PAXHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "bytes.h"
#include "tar.h"

/* ---- records: "LENGTH KEY=VALUE\n", where the length counts its own digits ---- */

int pax_add(struct bytes *records, const char *key, const void *value,
	    size_t size);
int pax_put(struct bytes *records, const char *key, const char *value);
int pax_put_number(struct bytes *records, const char *key, uint64_t number);
int pax_put_time(struct bytes *records, const char *key,
		 const struct timespec *time);

/* ---- headers ---- */

/* Fills up to a whole block with zeros. */
int pax_pad(struct bytes *bytes);

enum { PAX_BODY_MAX = 1 << 20 };	/* records that libarchive can read */
enum { HEADER_DEVICE_MAX = (1 << 21) - 1 };

/*
 * Adds records at the end of the pax header, which is made where there is none.  The last
 * block of `header` is the ustar one.
 */
int pax_merge(struct bytes *header, const struct bytes *records);

enum {
	HEADER_PATH_MAX = 155 + 1 + 100,	/* where a slash divides it so */
	HEADER_LINK_MAX = 100,
	HEADER_OWNER_MAX = 31,
};

/* Names that a ustar header is to have; NULL: the one that is there. */
struct header_names {
	const char *path, *link, *user, *group;
};

/*
 * Writes names over others of the same lengths.  Returns false when the header's path
 * hasn't the length of the new one: it was too long for it.
 */
bool header_set_names(unsigned char *block, const struct header_names *names);

/* Writes fields of a ustar header again: the permissions, the device's numbers. */
void header_set_mode(unsigned char *block, uint32_t mode);
void header_set_device(unsigned char *block, uint32_t major, uint32_t minor);

#endif
