/* SPDX-License-Identifier: BSD-2-Clause */
#include "tarpax.h"

#include <stdlib.h>
#include <string.h>

/* One record, its parts NUL-terminated but for the value's sake counted. */
struct pax_record {
	char *key, *value;
	size_t size;
};

void pax_clear(struct pax *pax)
{
	struct pax kept = { .xattrs = pax->xattrs, .xattrs_room = pax->xattrs_room,
			    .rest = pax->rest, .rest_room = pax->rest_room };

	*pax = kept;
}

void pax_free(struct pax *pax)
{
	free(pax->xattrs);
	free(pax->rest);
	*pax = (struct pax){ 0 };
}

/* ---- values ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A whole number of decimal digits that fits int64_t. */
static bool parse_size(const char *text, uint64_t *value)
{
	uint64_t n = 0;

	if (!is_digit(*text))
		return false;
	for (; is_digit(*text); text++) {
		unsigned digit = (unsigned)(*text - '0');
		if (n > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*value = n;
	return *text == '\0';
}

/* Digits of a fraction, cut after nanoseconds. */
static bool parse_fraction(const char *text, long *nsec)
{
	long unit = 100000000;

	*nsec = 0;
	for (; is_digit(*text); text++, unit /= 10)
		*nsec += (*text - '0') * unit;
	return *text == '\0';
}

/* `[-]SECONDS[.FRACTION]`; the time before 1970 counts its nanoseconds upwards. */
static bool parse_time(char *text, struct timespec *time)
{
	bool negative = *text == '-';
	char *point = strchr(text, '.');
	uint64_t sec;

	if (negative)
		text++;
	time->tv_nsec = 0;
	if (point) {
		*point = '\0';
		if (!parse_fraction(point + 1, &time->tv_nsec))
			return false;
	}
	if (!parse_size(text, &sec))
		return false;
	time->tv_sec = negative ? -(time_t)sec : (time_t)sec;
	if (negative && time->tv_nsec > 0) {
		time->tv_sec--;
		time->tv_nsec = 1000000000 - time->tv_nsec;
	}
	return true;
}

/* ---- records ---- */

/* Room for `n` elements of `size`; doubles.  NULL without memory. */
static void *grow(void *array, size_t *room, size_t n, size_t size)
{
	size_t more = 2 * n + 16;
	void *larger;

	if (n <= *room)
		return array;
	larger = realloc(array, more * size);
	if (larger)
		*room = more;
	return larger;
}

static const char *no_memory = "no memory for its extended header";

static const char *put_rest(struct pax *pax, const char *record, size_t len)
{
	char *rest = grow(pax->rest, &pax->rest_room, pax->rest_len + len, 1);

	if (!rest)
		return no_memory;
	memcpy(rest + pax->rest_len, record, len);
	pax->rest = rest;
	pax->rest_len += len;
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* GNU tar writes `=` and `%` as %3D and %25, libarchive other bytes too.  In place. */
static void decode_name(char *name)
{
	char *to = name;

	while (*name) {
		int high = name[0] == '%' ? hex_digit(name[1]) : -1;
		int low = high >= 0 ? hex_digit(name[2]) : -1;

		if (low >= 0 && high + low > 0) {
			*to++ = (char)(high << 4 | low);
			name += 3;
		} else {
			*to++ = *name++;
		}
	}
	*to = '\0';
}

static const char *put_xattr(struct pax *pax, char *name,
			     const struct pax_record *record)
{
	struct tar_xattr *xattrs = grow(pax->xattrs, &pax->xattrs_room,
					pax->nxattrs + 1, sizeof(*xattrs));

	if (!xattrs)
		return no_memory;
	pax->xattrs = xattrs;
	decode_name(name);
	if (*name == '\0')
		return "an attribute without a name";
	xattrs[pax->nxattrs++] = (struct tar_xattr){ name, record->value,
						     record->size };
	return NULL;
}

/* An empty value takes back what was said. */
static const char *put_string(const char **to, const struct pax_record *record)
{
	if (strlen(record->value) != record->size)
		return "a name with a NUL in it";
	*to = record->size > 0 ? record->value : NULL;
	return NULL;
}

static const char *put_time(struct timespec *to, bool *has,
			    const struct pax_record *record)
{
	*has = record->size > 0;
	if (*has && (strlen(record->value) != record->size ||
		     !parse_time(record->value, to)))
		return "a time that makes no sense";
	return NULL;
}

static const char *put_size(struct pax *pax, const struct pax_record *record)
{
	pax->has_size = parse_size(record->value, &pax->size);
	return pax->has_size ? NULL : "a size that makes no sense";
}

/*
 * Takes a record that is ours; *ours is false for one that is libarchive's.  Charset
 * and comments are of no use to anybody.
 */
static const char *take_record(struct pax *pax, const struct pax_record *record,
			       bool *ours)
{
	static const char xattr[] = "SCHILY.xattr.";
	char *key = record->key;

	*ours = true;
	if (strcmp(key, "path") == 0)
		return put_string(&pax->path, record);
	if (strcmp(key, "linkpath") == 0)
		return put_string(&pax->link, record);
	if (strcmp(key, "GNU.sparse.name") == 0)
		return put_string(&pax->sparse_path, record);
	if (strcmp(key, "uname") == 0)
		return put_string(&pax->user, record);
	if (strcmp(key, "gname") == 0)
		return put_string(&pax->group, record);
	if (strcmp(key, "mtime") == 0)
		return put_time(&pax->mtime, &pax->has_mtime, record);
	if (strcmp(key, "atime") == 0)
		return put_time(&pax->atime, &pax->has_atime, record);
	if (strncmp(key, xattr, sizeof(xattr) - 1) == 0)
		return put_xattr(pax, key + sizeof(xattr) - 1, record);
	if (strcmp(key, "ctime") == 0 || strcmp(key, "hdrcharset") == 0 ||
	    strcmp(key, "comment") == 0)
		return NULL;
	*ours = false;
	if (strncmp(key, "SCHILY.acl.", 11) == 0)
		pax->has_acl = true;
	if (strcmp(key, "GNU.sparse.major") == 0)
		pax->has_map = strcmp(record->value, "1") == 0;
	return strcmp(key, "size") == 0 ? put_size(pax, record) : NULL;
}

/* The length of the record that begins here, all of which is there; 0 for none. */
static size_t record_length(const char *bytes, size_t left, size_t *digits)
{
	size_t len = 0, n = 0;

	while (n < left && is_digit(bytes[n])) {
		len = len * 10 + (size_t)(bytes[n++] - '0');
		if (len > left)
			return 0;
	}
	*digits = n;
	if (n == 0 || len < n + 4 || bytes[n] != ' ' || bytes[len - 1] != '\n')
		return 0;
	return len;
}

static const char *parse_record(struct pax *pax, char *bytes, size_t len,
				size_t digits)
{
	char *key = bytes + digits + 1, *end = bytes + len - 1;
	char *equals = memchr(key, '=', (size_t)(end - key));
	struct pax_record record;
	bool ours;

	if (!equals || equals == key)
		return "a damaged extended header";
	*end = '\0';
	*equals = '\0';
	record = (struct pax_record){ key, equals + 1,
				      (size_t)(end - equals - 1) };
	if (strlen(key) != (size_t)(equals - key))
		return "a damaged extended header";
	const char *wrong = take_record(pax, &record, &ours);
	if (wrong || ours)
		return wrong;
	*end = '\n';
	*equals = '=';
	return put_rest(pax, bytes, len);
}

const char *pax_parse(struct pax *pax, char *body, size_t len)
{
	const char *wrong = NULL;
	size_t digits;

	while (len > 0 && !wrong) {
		size_t one = record_length(body, len, &digits);

		if (one == 0)
			return "a damaged extended header";
		wrong = parse_record(pax, body, one, digits);
		body += one;
		len -= one;
	}
	return wrong;
}
