/* SPDX-License-Identifier: BSD-2-Clause */
#include "ustar.h"

#include <string.h>

void ustar_put(void *block, size_t at, size_t width, uint64_t number)
{
	unsigned char *field = (unsigned char *)block + at;

	field[width - 1] = 0;
	for (size_t i = width - 1; i > 0; i--, number >>= 3)
		field[i - 1] = (unsigned char)('0' + (number & 7));
}

int64_t ustar_get(const void *block, size_t at, size_t width)
{
	const unsigned char *s = (const unsigned char *)block + at;
	uint64_t n = 0;
	size_t i = 0;

	if (s[0] & 0x80) {
		if (s[0] != 0x80)
			return -1;
		for (i = 1; i < width; i++) {
			if (n > (uint64_t)INT64_MAX >> 8)
				return -1;
			n = n << 8 | s[i];
		}
		return (int64_t)n;
	}
	while (i < width && s[i] == ' ')
		i++;
	for (; i < width && s[i] >= '0' && s[i] <= '7'; i++)
		n = n << 3 | (s[i] - '0');
	return i == width || s[i] == ' ' || s[i] == '\0' ? (int64_t)n : -1;
}

/* With its own field as blanks; plain loops, which the compiler turns into wide adds. */
static int64_t sum_of(const void *block)
{
	const unsigned char *bytes = block;
	uint32_t sum = USTAR_SUM_LEN * ' ';

	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += bytes[i];
	for (size_t i = USTAR_SUM; i < USTAR_SUM + USTAR_SUM_LEN; i++)
		sum -= bytes[i];
	return sum;
}

static int64_t old_sum_of(const void *block)
{
	const signed char *bytes = block;
	int32_t sum = USTAR_SUM_LEN * ' ';

	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += bytes[i];
	for (size_t i = USTAR_SUM; i < USTAR_SUM + USTAR_SUM_LEN; i++)
		sum -= bytes[i];
	return sum;
}

/* Six digits, a NUL and a blank, as it has always been. */
void ustar_sign(void *block)
{
	ustar_put(block, USTAR_SUM, USTAR_SUM_LEN - 1, (uint64_t)sum_of(block));
	((char *)block)[USTAR_SUM + USTAR_SUM_LEN - 1] = ' ';
}

bool ustar_is_signed(const void *block)
{
	int64_t said = ustar_get(block, USTAR_SUM, USTAR_SUM_LEN);

	return said == sum_of(block) || said == old_sum_of(block);
}

void ustar_make(void *block, const char *name, char type, uint64_t size)
{
	char *at = block;

	memset(at, 0, TAR_BLOCK);
	memcpy(at + USTAR_NAME, name, strnlen(name, USTAR_NAME_LEN - 1));
	ustar_put(at, USTAR_MODE, USTAR_ID_LEN, 0644);
	ustar_put(at, USTAR_UID, USTAR_ID_LEN, 0);
	ustar_put(at, USTAR_GID, USTAR_ID_LEN, 0);
	ustar_put(at, USTAR_SIZE, USTAR_LONG_LEN, size);
	ustar_put(at, USTAR_MTIME, USTAR_LONG_LEN, 0);
	at[USTAR_TYPE] = type;
	memcpy(at + USTAR_MAGIC, "ustar\0" "00", 8);
	ustar_put(at, USTAR_MAJOR, USTAR_ID_LEN, 0);
	ustar_put(at, USTAR_MINOR, USTAR_ID_LEN, 0);
}
