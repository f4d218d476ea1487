/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text: a string that grows.
 *
 * It never fails: what memory forbids is left out at the end.  Good for messages
 * and for nothing else.  Not to be copied by assignment.
 */
#ifndef TARPIPE_TEXT_H
#define TARPIPE_TEXT_H

#include <stddef.h>

struct text {
	char *bytes;		/* always ends in NUL, at [len] */
	size_t len;
	size_t size;		/* of `bytes` */
	char small[512];	/* what most need */
};

void text_init(struct text *text);
void text_destroy(struct text *text);

/* Adds `len` bytes; `bytes` is not within the text itself. */
void text_add(struct text *text, const char *bytes, size_t len);

/* Adds a string. */
void text_put(struct text *text, const char *string);

#endif
