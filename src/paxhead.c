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

/* Fields of a ustar header: offset and width. */
enum {
	AT_NAME = 0, NAME_LEN = 100,
	AT_MODE = 100, AT_UID = 108, AT_GID = 116, ID_LEN = 8,
	AT_SIZE = 124, SIZE_LEN = 12,
	AT_SUM = 148, SUM_LEN = 8,
	AT_TYPE = 156,
	AT_LINK = 157, AT_MAGIC = 257,
	AT_USER = 265, AT_GROUP = 297, OWNER_LEN = 32,
	AT_MAJOR = 329, AT_MINOR = 337, AT_PREFIX = 345, PREFIX_LEN = 155,
};

/* Octal digits and a NUL. */
static void field_put(unsigned char *block, size_t at, size_t width,
		      uint64_t number)
{
	block[at + width - 1] = 0;
	for (size_t i = width - 1; i > 0; i--, number >>= 3)
		block[at + i - 1] = (unsigned char)('0' + (number & 7));
}

static uint64_t field_get(const unsigned char *block, size_t at, size_t width)
{
	uint64_t number = 0;

	for (size_t i = at; i < at + width && block[i] >= '0' && block[i] <= '7';
	     i++)
		number = number * 8 + (block[i] - (unsigned)'0');
	return number;
}

/* Six digits, a NUL and a blank, as it has always been. */
static void block_sum(unsigned char *block)
{
	unsigned sum = 0;

	memset(block + AT_SUM, ' ', SUM_LEN);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	field_put(block, AT_SUM, SUM_LEN - 1, sum);
}

/* Makes room for a pax header before a header that has none. */
static int add_pax_block(struct bytes *header)
{
	unsigned char *block = bytes_extend(header, TAR_BLOCK);
	static const char name[] = "PaxHeader/";

	if (!block)
		return -1;
	block = header->at;
	memmove(block + TAR_BLOCK, block, TAR_BLOCK);
	memcpy(block + AT_NAME, name, sizeof(name) - 1);
	memcpy(block + AT_NAME + sizeof(name) - 1, block + TAR_BLOCK,
	       NAME_LEN - sizeof(name));
	block[AT_NAME + NAME_LEN - 1] = 0;
	field_put(block, AT_MODE, ID_LEN, 0644);
	field_put(block, AT_UID, ID_LEN, 0);
	field_put(block, AT_GID, ID_LEN, 0);
	field_put(block, AT_SIZE, SIZE_LEN, 0);
	block[AT_TYPE] = 'x';
	memset(block + AT_LINK, 0, AT_MAGIC - AT_LINK);
	memset(block + AT_USER, 0, TAR_BLOCK - AT_USER);
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
	body = field_get(header->at, AT_SIZE, SIZE_LEN);
	header->len = TAR_BLOCK + (size_t)body;
	if (bytes_add(header, records->at, records->len) != 0 ||
	    pax_pad(header) != 0 || bytes_add(header, last, TAR_BLOCK) != 0)
		return -1;
	field_put(header->at, AT_SIZE, SIZE_LEN, body + records->len);
	block_sum(header->at);
	return 0;
}

void header_set_mode(unsigned char *block, uint32_t mode)
{
	field_put(block, AT_MODE, ID_LEN, mode & 07777);
	block_sum(block);
}

void header_set_device(unsigned char *block, uint32_t major, uint32_t minor)
{
	field_put(block, AT_MAJOR, ID_LEN, major & HEADER_DEVICE_MAX);
	field_put(block, AT_MINOR, ID_LEN, minor & HEADER_DEVICE_MAX);
	block_sum(block);
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
	size_t prefix = strnlen(text + AT_PREFIX, PREFIX_LEN);
	size_t name = strnlen(text + AT_NAME, NAME_LEN);
	size_t slash = prefix > 0 ? 1 : 0;

	if (path && prefix + slash + name != strlen(path))
		return false;
	if (path) {
		memcpy(block + AT_PREFIX, path, prefix);
		memcpy(block + AT_NAME, path + prefix + slash, name);
	}
	name_put(block, AT_LINK, HEADER_LINK_MAX, names->link);
	name_put(block, AT_USER, OWNER_LEN, names->user);
	name_put(block, AT_GROUP, OWNER_LEN, names->group);
	if (path || names->link || names->user || names->group)
		block_sum(block);
	return true;
}
