/* SPDX-License-Identifier: BSD-2-Clause */
#include "flaw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ustar.h"

static const char *const words[] = { "damaged", "shrank" };

void flaw_encode(void *to, const struct flaw *flaw)
{
	char comment[64];

	snprintf(comment, sizeof(comment), "tarpipe 1 %s=%" PRIu64,
		 words[flaw->shrank], flaw->at);
	seal_comment(to, comment);
}

bool flaw_decode(const void *bytes, struct flaw *flaw)
{
	unsigned char blocks[FLAW_SIZE];
	char record[TAR_BLOCK + 1], word[16];
	struct flaw found;

	memcpy(record, (const char *)bytes + TAR_BLOCK, TAR_BLOCK);
	record[TAR_BLOCK] = '\0';
	if (sscanf(record, "%*u comment=tarpipe 1 %15[a-z]=%" SCNu64, word,
		   &found.at) != 2)
		return false;
	found.shrank = strcmp(word, words[true]) == 0;
	flaw_encode(blocks, &found);
	if (memcmp(blocks, bytes, FLAW_SIZE) != 0)
		return false;
	*flaw = found;
	return true;
}
