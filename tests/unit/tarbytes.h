/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarbytes: tar streams put together by hand, good ones and bad ones, for tests.
 */
#ifndef TARPIPE_TARBYTES_H
#define TARPIPE_TARBYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flaw.h"
#include "hash.h"
#include "seal.h"

struct tarbytes {
	char *bytes;
	size_t len, room;
	size_t begin;		/* of the sealed archive */
	uint64_t entries;
};

static inline char *tb_add(struct tarbytes *to, const void *bytes, size_t len)
{
	while (to->room < to->len + len) {
		to->room = 2 * to->room + 4096;
		to->bytes = realloc(to->bytes, to->room);
	}
	if (bytes)
		memcpy(to->bytes + to->len, bytes, len);
	else
		memset(to->bytes + to->len, 0, len);
	to->len += len;
	return to->bytes + to->len - len;
}

static inline void tb_free(struct tarbytes *to)
{
	free(to->bytes);
	*to = (struct tarbytes){ 0 };
}

static inline void tb_sign(char *block)
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
}

/* Bytes, filled up to a block. */
static inline void tb_body(struct tarbytes *to, const void *bytes, size_t len)
{
	tb_add(to, bytes, len);
	tb_add(to, NULL, (512 - len % 512) % 512);
}

/* A header block, mode 0644, owner 0, mtime 1; to be changed and signed again. */
static inline char *tb_header(struct tarbytes *to, const char *name, char type,
			      size_t size, const char *link)
{
	char *block = tb_add(to, NULL, 512);

	memcpy(block, name, strnlen(name, 100));
	snprintf(block + 100, 8, "%07o", 0644);
	snprintf(block + 108, 8, "%07o", 0);
	snprintf(block + 116, 8, "%07o", 0);
	snprintf(block + 124, 12, "%011lo", (unsigned long)size & 0777777777);
	snprintf(block + 136, 12, "%011o", 1);
	block[156] = type;
	if (link)
		memcpy(block + 157, link, strnlen(link, 100));
	memcpy(block + 257, "ustar\0" "00", 8);
	tb_sign(block);
	if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
		to->entries++;
	return block;
}

static inline void tb_file(struct tarbytes *to, const char *name, const char *text)
{
	tb_header(to, name, '0', strlen(text), NULL);
	tb_body(to, text, strlen(text));
}

/* A pax header of one record whose value has `len` bytes. */
static inline void tb_record(struct tarbytes *to, const char *key,
			     const void *value, size_t len)
{
	size_t rest = strlen(key) + len + 3, all = rest + 1;
	struct tarbytes record = { 0 };
	char digits[24];

	while ((size_t)snprintf(digits, sizeof(digits), "%zu", all) + rest != all)
		all++;
	tb_add(&record, digits, strlen(digits));
	tb_add(&record, " ", 1);
	tb_add(&record, key, strlen(key));
	tb_add(&record, "=", 1);
	tb_add(&record, value, len);
	tb_add(&record, "\n", 1);
	tb_header(to, "x", 'x', record.len, NULL);
	tb_body(to, record.bytes, record.len);
	tb_free(&record);
}

static inline void tb_pax(struct tarbytes *to, const char *key, const char *value)
{
	tb_record(to, key, value, strlen(value));
}

static inline void tb_end(struct tarbytes *to)
{
	tb_add(to, NULL, 1024);
}

static inline void tb_head(struct tarbytes *to)
{
	char head[SEAL_SIZE];

	to->begin = to->len;
	to->entries = 0;
	seal_encode(head, NULL);
	tb_add(to, head, SEAL_SIZE);
}

/* The member before is damaged from a byte on, or shrank to so many. */
static inline void tb_flaw(struct tarbytes *to, bool shrank, uint64_t at)
{
	const struct flaw flaw = { shrank, at };
	char mark[FLAW_SIZE];

	flaw_encode(mark, &flaw);
	tb_add(to, mark, FLAW_SIZE);
}

static inline void tb_trailer(struct tarbytes *to)
{
	struct hash *hash = hash_new(HASH_XXH3);
	char trailer[SEAL_SIZE];
	struct seal seal = { .entries = to->entries,
			     .bytes = to->len - to->begin };

	hash_add(hash, to->bytes + to->begin, to->len - to->begin);
	seal.sum = hash_sum(hash);
	hash_free(hash);
	seal_encode(trailer, &seal);
	tb_add(to, trailer, SEAL_SIZE);
}

#endif
