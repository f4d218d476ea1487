/* SPDX-License-Identifier: BSD-2-Clause */
#include "paxhead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

enum { DIGITS_MAX = 20 };		/* of 64 bits */

static size_t digits_of(uint64_t number)
{
	size_t n = 1;

	while (number >= 10) {
		number /= 10;
		n++;
	}
	return n;
}

/* Writes `width` digits, the last ones of the number; returns what is behind them. */
static char *digits_put(char *to, uint64_t number, size_t width)
{
	for (size_t i = width; i > 0; i--, number /= 10)
		to[i - 1] = (char)('0' + number % 10);
	return to + width;
}

int pax_add(struct bytes *records, const char *key, const void *value,
	    size_t size)
{
	size_t key_len = strlen(key), rest = key_len + size + 3;
	size_t len = rest + digits_of(rest);
	char *to;

	if (digits_of(len) != digits_of(rest))
		len = rest + digits_of(len);
	to = bytes_extend(records, len);
	if (!to)
		return -1;
	to = digits_put(to, len, digits_of(len));
	*to++ = ' ';
	memcpy(to, key, key_len);
	to[key_len] = '=';
	if (size > 0)
		memcpy(to + key_len + 1, value, size);
	to[key_len + 1 + size] = '\n';
	return 0;
}

int pax_put(struct bytes *records, const char *key, const char *value)
{
	return pax_add(records, key, value, strlen(value));
}

int pax_put_number(struct bytes *records, const char *key, uint64_t number)
{
	char value[DIGITS_MAX];
	size_t width = digits_of(number);

	digits_put(value, number, width);
	return pax_add(records, key, value, width);
}

/* A fraction counts away from zero here: -1.5 s are -2 s and 500000000 ns. */
int pax_put_time(struct bytes *records, const char *key,
		 const struct timespec *time)
{
	bool negative = time->tv_sec < 0;
	bool borrows = negative && time->tv_nsec > 0;
	uint64_t seconds = (uint64_t)time->tv_sec;
	long fraction = borrows ? 1000000000 - time->tv_nsec : time->tv_nsec;
	char value[1 + DIGITS_MAX + 10], *end = value;

	if (negative)
		seconds = 0 - seconds - (borrows ? 1 : 0);
	if (negative)
		*end++ = '-';
	end = digits_put(end, seconds, digits_of(seconds));
	if (fraction) {
		*end++ = '.';
		end = digits_put(end, (uint64_t)fraction, 9);
	}
	return pax_add(records, key, value, (size_t)(end - value));
}

/* ---- headers ---- */

int pax_pad(struct bytes *bytes)
{
	size_t more = (TAR_BLOCK - bytes->len % TAR_BLOCK) % TAR_BLOCK;
	void *to = bytes_extend(bytes, more);

	if (!to)
		return -1;
	memset(to, 0, more);
	return 0;
}

/* Makes room for a pax header before a header that has none. */
static int add_pax_block(struct bytes *header)
{
	unsigned char *block = bytes_extend(header, TAR_BLOCK);
	char name[USTAR_NAME_LEN + 16];

	if (!block)
		return -1;
	block = header->at;
	snprintf(name, sizeof(name), "PaxHeader/%.*s", USTAR_NAME_LEN,
		 (const char *)block + USTAR_NAME);
	memmove(block + TAR_BLOCK, block, TAR_BLOCK);
	ustar_make(block, name, 'x', 0);
	return 0;
}

int pax_merge(struct bytes *header, const struct bytes *records)
{
	unsigned char last[TAR_BLOCK];
	uint64_t body;

	if (records->len == 0)
		return 0;
	if (header->len == TAR_BLOCK && add_pax_block(header) != 0)
		return -1;
	memcpy(last, header->at + header->len - TAR_BLOCK, TAR_BLOCK);
	body = (uint64_t)ustar_get(header->at, USTAR_SIZE, USTAR_LONG_LEN);
	header->len = TAR_BLOCK + (size_t)body;
	if (bytes_add(header, records->at, records->len) != 0 ||
	    pax_pad(header) != 0 || bytes_add(header, last, TAR_BLOCK) != 0)
		return -1;
	ustar_put(header->at, USTAR_SIZE, USTAR_LONG_LEN, body + records->len);
	ustar_sign(header->at);
	return 0;
}

void header_set_mode(unsigned char *block, uint32_t mode)
{
	ustar_put(block, USTAR_MODE, USTAR_ID_LEN, mode & 07777);
	ustar_sign(block);
}

void header_set_device(unsigned char *block, uint32_t major, uint32_t minor)
{
	ustar_put(block, USTAR_MAJOR, USTAR_ID_LEN, major & HEADER_DEVICE_MAX);
	ustar_put(block, USTAR_MINOR, USTAR_ID_LEN, minor & HEADER_DEVICE_MAX);
	ustar_sign(block);
}

static void name_put(unsigned char *block, size_t at, size_t width,
		     const char *name)
{
	if (name)
		memcpy(block + at, name, strnlen(name, width));
}

bool header_set_names(unsigned char *block, const struct header_names *names)
{
	const char *text = (const char *)block, *path = names->path;
	size_t prefix = strnlen(text + USTAR_PREFIX, USTAR_PREFIX_LEN);
	size_t name = strnlen(text + USTAR_NAME, USTAR_NAME_LEN);
	size_t slash = prefix > 0 ? 1 : 0;

	if (path && prefix + slash + name != strlen(path))
		return false;
	if (path) {
		memcpy(block + USTAR_PREFIX, path, prefix);
		memcpy(block + USTAR_NAME, path + prefix + slash, name);
	}
	name_put(block, USTAR_LINK, HEADER_LINK_MAX, names->link);
	name_put(block, USTAR_USER, USTAR_OWNER_LEN, names->user);
	name_put(block, USTAR_GROUP, USTAR_OWNER_LEN, names->group);
	if (path || names->link || names->user || names->group)
		ustar_sign(block);
	return true;
}
