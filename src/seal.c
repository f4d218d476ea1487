/* SPDX-License-Identifier: BSD-2-Clause */
#include "seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ustar.h"

/* What git has at the head of its archives: every tar has met it. */
static const char header_name[] = "pax_global_header";

/* Writes `LENGTH comment=WORDS\n`, where LENGTH counts itself.  Returns its length. */
static size_t record_write(char *to, const char *words)
{
	size_t rest = strlen(" comment=\n") + strlen(words);
	size_t digits = rest + 2 < 100 ? 2 : 3;

	return (size_t)sprintf(to, "%zu comment=%s\n", rest + digits, words);
}

void seal_comment(void *to, const char *words)
{
	unsigned char *blocks = to;

	memset(to, 0, SEAL_SIZE);
	ustar_make(blocks, header_name, 'g',
		   record_write((char *)blocks + TAR_BLOCK, words));
	ustar_sign(blocks);
}

void seal_encode(void *to, const struct seal *seal)
{
	char words[128] = "tarpipe 1";

	if (seal)
		snprintf(words, sizeof(words), "tarpipe 1 entries=%" PRIu64
			 " bytes=%" PRIu64 " xxh3=%016" PRIx64,
			 seal->entries, seal->bytes, seal->sum);
	seal_comment(to, words);
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
	char record[TAR_BLOCK + 1];

	if (is_encoded(bytes, NULL))
		return SEAL_HEAD;
	memcpy(record, (const char *)bytes + TAR_BLOCK, TAR_BLOCK);
	record[TAR_BLOCK] = '\0';
	if (sscanf(record, "%*u comment=tarpipe 1 entries=%" SCNu64
		   " bytes=%" SCNu64 " xxh3=%" SCNx64,
		   &found.entries, &found.bytes, &found.sum) != 3 ||
	    !is_encoded(bytes, &found))
		return SEAL_NONE;
	*seal = found;
	return SEAL_TRAILER;
}
