/* SPDX-License-Identifier: BSD-2-Clause */
#include "seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

/* What git has at the head of its archives: every tar has met it. */
static const char header_name[] = "pax_global_header";

/* Writes `LENGTH comment=WORDS\n`, where LENGTH counts itself.  Returns its length. */
static size_t record_write(char *to, const char *words)
{
	size_t rest = strlen(" comment=\n") + strlen(words);
	size_t digits = rest + 2 < 100 ? 2 : 3;

	return (size_t)sprintf(to, "%zu comment=%s\n", rest + digits, words);
}

static void header_write(unsigned char *to, size_t size)
{
	char *block = (char *)to;
	unsigned sum = 0;

	memcpy(block, header_name, sizeof(header_name));
	memcpy(block + 100, "0000644", 8);
	memcpy(block + 108, "0000000", 8);
	memcpy(block + 116, "0000000", 8);
	snprintf(block + 124, 12, "%011zo", size);
	memcpy(block + 136, "00000000000", 12);
	memset(block + 148, ' ', 8);
	block[156] = 'g';
	memcpy(block + 257, "ustar\0" "00", 8);
	memcpy(block + 329, "0000000", 8);
	memcpy(block + 337, "0000000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += to[i];
	snprintf(block + 148, 8, "%06o", sum);
}

void seal_encode(void *to, const struct seal *seal)
{
	unsigned char *blocks = to;
	char words[128] = "tarpipe 1";

	memset(to, 0, SEAL_SIZE);
	if (seal)
		snprintf(words, sizeof(words), "tarpipe 1 entries=%" PRIu64
			 " bytes=%" PRIu64 " xxh3=%016" PRIx64,
			 seal->entries, seal->bytes, seal->sum);
	header_write(blocks, record_write((char *)blocks + BLOCK, words));
}

/* Whether these are the blocks of that seal, to the last byte. */
static bool is_encoded(const void *bytes, const struct seal *seal)
{
	unsigned char blocks[SEAL_SIZE];

	seal_encode(blocks, seal);
	return memcmp(blocks, bytes, SEAL_SIZE) == 0;
}

enum seal_kind seal_decode(const void *bytes, struct seal *seal)
{
	struct seal found = { 0 };
	char record[BLOCK + 1];

	if (is_encoded(bytes, NULL))
		return SEAL_HEAD;
	memcpy(record, (const char *)bytes + BLOCK, BLOCK);
	record[BLOCK] = '\0';
	if (sscanf(record, "%*u comment=tarpipe 1 entries=%" SCNu64
		   " bytes=%" SCNu64 " xxh3=%" SCNx64,
		   &found.entries, &found.bytes, &found.sum) != 3 ||
	    !is_encoded(bytes, &found))
		return SEAL_NONE;
	*seal = found;
	return SEAL_TRAILER;
}
