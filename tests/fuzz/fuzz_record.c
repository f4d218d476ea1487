/* SPDX-License-Identifier: BSD-2-Clause */
/* The record reader: what it accepts, written again, is the same record. */
#include <string.h>

#include "fuzz.h"
#include "record.h"

static void check_names(const struct record *record)
{
	if (!record->name)
		return;
	FUZZ_MUST(record->name_len <= RECORD_NAME_MAX);
	FUZZ_MUST(record->name[record->name_len] == '\0');
	FUZZ_MUST(memchr(record->name, 0, record->name_len) == NULL);
}

static void check_again(const struct record *record)
{
	uint64_t *bytes = calloc(record->size / 8 + 1, 8);
	struct record again;

	FUZZ_MUST(bytes);
	record_encode(bytes, record);
	FUZZ_MUST(record_decode(&again, bytes, record->size) == 0);
	FUZZ_MUST(again.type == record->type && again.flags == record->flags);
	FUZZ_MUST(again.dir == record->dir && again.id == record->id);
	FUZZ_MUST(again.size == record->size);
	FUZZ_MUST(again.first == record->first && again.second == record->second);
	FUZZ_MUST(again.name_len == record->name_len);
	FUZZ_MUST(!record->name || strcmp(again.name, record->name) == 0);
	FUZZ_MUST(again.data_len == record->data_len);
	FUZZ_MUST(record->data_len == 0 ||
		  memcmp(again.data, record->data, record->data_len) == 0);
	FUZZ_MUST(again.meta.mode == record->meta.mode &&
		  again.meta.size == record->meta.size &&
		  again.meta.mtime.tv_nsec == record->meta.mtime.tv_nsec);
	free(bytes);
}

/* A record has no checksum. */
void fuzz_mend(uint8_t *bytes, size_t size)
{
	(void)bytes;
	(void)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t *aligned = malloc(size + 8);
	const char *at = (const char *)aligned;
	struct record record;

	FUZZ_MUST(aligned);
	memcpy(aligned, bytes, size);
	while (size > 0 && record_decode(&record, at, size) == 0) {
		FUZZ_MUST(record.size > 0 && record.size <= size);
		check_names(&record);
		check_again(&record);
		at += record.size;
		size -= record.size;
	}
	free(aligned);
	return 0;
}
