/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz: a target takes hostile bytes and must come back.  The name is libFuzzer's, so
 * that a target can be linked to it as it is:
 *
 *     clang -fsanitize=fuzzer,address -Isrc tests/fuzz/fuzz_tar.c libtarpipe.a ...
 *
 * In `make check` replay.c runs it over the corpus and over spoilt copies of that.
 */
#ifndef TARPIPE_FUZZ_H
#define TARPIPE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Makes what was spoilt pass the first checks, so that later ones are reached. */
void fuzz_mend(uint8_t *bytes, size_t size);

/* What must hold, also when assertions are compiled out. */
#define FUZZ_MUST(condition)                                              \
	do {                                                              \
		if (!(condition)) {                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition);                              \
			abort();                                          \
		}                                                         \
	} while (0)

#endif
