/* SPDX-License-Identifier: BSD-2-Clause */
#include "paxhead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

static size_t digits_of(size_t number)
{
	size_t n = 1;

	while (number >= 10) {
		number /= 10;
		n++;
	}
	return n;
}

int pax_add(struct bytes *records, const char *key, const void *value,
	    size_t size)
{
	size_t rest = strlen(key) + size + 3, len = rest + digits_of(rest);
	char number[32];

	if (digits_of(len) != digits_of(rest))
		len = rest + digits_of(len);
	snprintf(number, sizeof(number), "%zu ", len);
	if (bytes_put(records, number) != 0 || bytes_put(records, key) != 0 ||
	    bytes_put(records, "=") != 0 ||
	    bytes_add(records, value, size) != 0)
		return -1;
	return bytes_put(records, "\n");
}

int pax_put(struct bytes *records, const char *key, const char *value)
{
	return pax_add(records, key, value, strlen(value));
}

int pax_put_number(struct bytes *records, const char *key, uint64_t number)
{
	char value[32];

	snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
	return pax_put(records, key, value);
}

/* A fraction counts away from zero here: -1.5 s are -2 s and 500000000 ns. */
int pax_put_time(struct bytes *records, const char *key,
		 const struct timespec *time)
{
	bool negative = time->tv_sec < 0;
	bool borrows = negative && time->tv_nsec > 0;
	unsigned long long seconds = (unsigned long long)time->tv_sec;
	long fraction = borrows ? 1000000000 - time->tv_nsec : time->tv_nsec;
	char value[64];

	if (negative)
		seconds = 0 - seconds - (borrows ? 1 : 0);
	if (fraction)
		snprintf(value, sizeof(value), "%s%llu.%09ld",
			 negative ? "-" : "", seconds, fraction);
	else
		snprintf(value, sizeof(value), "%s%llu", negative ? "-" : "",
			 seconds);
	return pax_put(records, key, value);
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
