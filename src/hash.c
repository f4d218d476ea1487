/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h>	/* XXH3_* for this very processor */
#else
#include <xxhash.h>
#endif
#include <zlib.h>

#include "diag.h"

struct hash {
	enum hash_kind kind;
	XXH3_state_t *xxh3;	/* NULL: CRC32 */
	uLong crc;
};

static const struct { const char *name; int digits; } kinds[] = {
	[HASH_NONE] = { "none", 0 },
	[HASH_XXH3] = { "xxh3", 16 },
	[HASH_CRC32] = { "crc32", 8 },
};

struct hash *hash_new(enum hash_kind kind)
{
	struct hash *hash = calloc(1, sizeof(*hash));

	if (!hash)
		return NULL;
	hash->kind = kind;
	if (kind != HASH_XXH3)
		return hash;
	hash->xxh3 = XXH3_createState();
	if (hash->xxh3 && XXH3_64bits_reset(hash->xxh3) == XXH_OK)
		return hash;
	hash_free(hash);
	return NULL;
}

void hash_free(struct hash *hash)
{
	if (!hash)
		return;
	XXH3_freeState(hash->xxh3);
	free(hash);
}

void hash_add(struct hash *hash, const void *bytes, size_t size)
{
	if (hash->xxh3)
		(void)XXH3_64bits_update(hash->xxh3, bytes, size);
	else
		hash->crc = crc32_z(hash->crc, bytes, size);
}

uint64_t hash_sum(const struct hash *hash)
{
	return hash->xxh3 ? XXH3_64bits_digest(hash->xxh3) : hash->crc;
}

void hash_tell(const struct hash *hash)
{
	if (hash)
		diag_note(NULL, "%s %0*" PRIx64, kinds[hash->kind].name,
			  kinds[hash->kind].digits, hash_sum(hash));
}

enum hash_kind hash_find(const char *name)
{
	if (strcmp(name, kinds[HASH_XXH3].name) == 0)
		return HASH_XXH3;
	return strcmp(name, kinds[HASH_CRC32].name) == 0 ? HASH_CRC32 : HASH_NONE;
}
