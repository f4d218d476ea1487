/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay: a fuzz target over files, and over copies of each that are spoilt in the same
 * way every time.
 *
 *     fuzz_NAME FILE... [-n COPIES]
 *
 * Prints TAP, a line a file.  Who finds an input that crashes saves it in the corpus.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "diag.h"
#include "fuzz.h"

enum { INPUT_MOST = 1 << 20, COPIES = 200 };

/* What a target complains of is not looked at. */
void __wrap_diag_fail(enum status status, const char *name, int err,
		      const char *what, ...)
	__attribute__((format(printf, 4, 5)));
void __wrap_diag_fail(enum status status, const char *name, int err,
		      const char *what, ...)
{
	(void)name;
	(void)err;
	(void)what;
	diag_raise(status);
}

void __wrap_diag_note(const char *name, const char *what, ...)
	__attribute__((format(printf, 2, 3)));
void __wrap_diag_note(const char *name, const char *what, ...)
{
	(void)name;
	(void)what;
}

/* xorshift64* (Vigna 2016). */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Some bytes changed, a piece doubled, moved or cut off. */
static size_t spoil(uint8_t *bytes, size_t size, uint64_t *state)
{
	static const uint8_t odd[] = { 0, 0x7f, 0x80, 0xff, '0', '7', ' ', '\n' };
	size_t changes = 1 + draw(state) % 4;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < changes; i++) {
		uint8_t *at = bytes + draw(state) % size;

		switch (draw(state) % 4) {
		case 0:
			*at ^= (uint8_t)(1 << draw(state) % 8);
			break;
		case 1:
			*at = odd[draw(state) % sizeof odd];
			break;
		case 2:
			*at = (uint8_t)(*at + 1 - draw(state) % 3);
			break;
		default:
			memmove(bytes, at, size - (size_t)(at - bytes));
			break;
		}
	}
	return draw(state) % 8 ? size : draw(state) % size;
}

static bool replay(const char *name, unsigned copies)
{
	uint8_t *seed = malloc(INPUT_MOST), *copy = malloc(INPUT_MOST);
	FILE *file = fopen(name, "rb");
	uint64_t state = 1;
	size_t size = 0;

	if (!seed || !copy || !file) {
		free(seed);
		free(copy);
		return false;
	}
	size = fread(seed, 1, INPUT_MOST, file);
	fclose(file);
	LLVMFuzzerTestOneInput(seed, size);
	for (unsigned i = 0; i < copies; i++) {
		size_t left;

		memcpy(copy, seed, size);
		left = spoil(copy, size, &state);
		if (i % 4 != 0)
			fuzz_mend(copy, left);
		LLVMFuzzerTestOneInput(copy, left);
	}
	free(seed);
	free(copy);
	return true;
}

int main(int argc, char **argv)
{
	unsigned copies = COPIES;
	int failed = 0, files;
	int option;

	while ((option = getopt(argc, argv, "n:")) != -1)
		if (option == 'n')
			copies = (unsigned)strtoul(optarg, NULL, 10);
	files = argc - optind;
	printf("1..%d\n", files);
	for (int i = 0; i < files; i++) {
		const char *name = argv[optind + i];
		const char *base = strrchr(name, '/');
		bool done = replay(name, copies);

		printf("%s %d - %s and %u spoilt copies\n",
		       done ? "ok" : "not ok", i + 1, base ? base + 1 : name,
		       copies);
		fflush(stdout);
		failed += !done;
	}
	return failed > 0;
}
