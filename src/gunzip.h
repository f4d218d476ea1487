/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gunzip: reads gzip streams, one member after the other, by zlib, which checks the
 * header, the checksum and the length of each.
 */
#ifndef TARPIPE_GUNZIP_H
#define TARPIPE_GUNZIP_H

#include "feed.h"

struct gunzip;

/* Reads from `feed`, which it borrows.  NULL with errno ENOMEM. */
struct gunzip *gunzip_new(struct feed *feed);

/* As filter_in_read; at the end what follows the last member is still in the feed. */
ssize_t gunzip_read(struct gunzip *gunzip, void *to, size_t size);

/* What is wrong, in words. */
const char *gunzip_error(const struct gunzip *gunzip);

void gunzip_free(struct gunzip *gunzip);

#endif
