/* SPDX-License-Identifier: BSD-2-Clause */
/* A tar stream from the ring to members and their data, as -x and -t read it. */
#include <string.h>

#include "fuzz.h"
#include "instream.h"
#include "ring.h"

enum { ENTRIES_MOST = 100000 };

/* All of it at once: there is room. */
static void ring_fill(struct ring *ring, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		size_t piece = ring_span_max(ring) / 2;
		void *to;

		if (piece > size)
			piece = size;
		to = ring_reserve(ring, piece);
		FUZZ_MUST(to);
		memcpy(to, bytes, piece);
		ring_commit(ring, piece);
		bytes += piece;
		size -= piece;
	}
	ring_close(ring);
}

static void check_member(const struct tar_member *member)
{
	FUZZ_MUST(member->path);
	FUZZ_MUST(strlen(member->path) < (4 << 20));
	FUZZ_MUST(member->meta.mtime.tv_nsec >= 0 &&
		  member->meta.mtime.tv_nsec < 1000000000);
	for (size_t i = 0; i < member->nxattrs; i++) {
		FUZZ_MUST(member->xattrs[i].name);
		FUZZ_MUST(member->xattrs[i].size == 0 || member->xattrs[i].value);
	}
}

/* Every byte is read; holes of any size cost nothing. */
static unsigned check_data(struct instream *in)
{
	struct instream_data data;
	uint64_t end = 0;
	unsigned sum = 0;

	while (instream_read(in, &data) > 0) {
		FUZZ_MUST(data.offset >= end);
		end = data.offset + data.size;
		for (size_t i = 0; i < data.size; i++)
			sum += ((const unsigned char *)data.bytes)[i];
	}
	return sum;
}

/* No mark makes a file larger than its header says. */
static void check_end(struct instream *in, const struct tar_member *member)
{
	uint64_t size = member->meta.size;

	(void)instream_check(in, &size, true);
	FUZZ_MUST(size <= member->meta.size);
}

/* Signs every header anew. */
void fuzz_mend(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + 512 <= size; at += 512) {
		uint8_t *block = bytes + at;
		unsigned sum = 0;

		if (memcmp(block + 257, "ustar", 5) != 0)
			continue;
		memset(block + 148, ' ', 8);
		for (int i = 0; i < 512; i++)
			sum += block[i];
		snprintf((char *)block + 148, 8, "%06o", sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ring_config ring_config = {
		.size = 4 * size + (1 << 17),
		.low = 100,
		.spans = INSTREAM_SPANS,
	};
	struct instream_config config = {
		.ring = ring_new(&ring_config),
		.shown = "fuzz",
		.ignore_zeros = size > 0 && (bytes[size / 2] & 1),
		.drain = true,
	};
	struct instream *in = instream_new(&config);
	struct tar_member member;
	static volatile unsigned sink;

	FUZZ_MUST(config.ring && in);
	ring_fill(config.ring, bytes, size);
	for (unsigned i = 0; i < ENTRIES_MOST && instream_next(in, &member) > 0;
	     i++) {
		check_member(&member);
		if (i % 3 != 2)
			sink += check_data(in);
		if (i % 4 != 3)
			check_end(in, &member);
	}
	instream_free(in);
	ring_free(config.ring);
	return 0;
}
