/* SPDX-License-Identifier: BSD-2-Clause */
#include "size.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int fail(int err)
{
	errno = err;
	return -1;
}

/*
 * Reads the digits that `text` begins with.  Returns what follows them, or NULL
 * with errno EINVAL (no digit) or ERANGE.
 */
static const char *digits_parse(const char *text, uint64_t *value)
{
	uint64_t sum = 0;

	if (*text < '0' || *text > '9') {
		errno = EINVAL;
		return NULL;
	}
	for (; *text >= '0' && *text <= '9'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');
		if (sum > (INT64_MAX - digit) / 10) {
			errno = ERANGE;
			return NULL;
		}
		sum = sum * 10 + digit;
	}
	*value = sum;
	return text;
}

/* The factor of a suffix, 0 when it is none. */
static uint64_t suffix_factor(const char *suffix)
{
	static const struct { const char *one, *two; uint64_t factor; } table[] = {
		{ "", "", 1 },
		{ "b", "b", 512 },
		{ "k", "kib", UINT64_C(1) << 10 },
		{ "m", "mib", UINT64_C(1) << 20 },
		{ "g", "gib", UINT64_C(1) << 30 },
		{ "t", "tib", UINT64_C(1) << 40 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcasecmp(suffix, table[i].one) == 0 ||
		    strcasecmp(suffix, table[i].two) == 0)
			return table[i].factor;
	return 0;
}

int size_parse(const char *text, uint64_t *bytes)
{
	uint64_t value;
	const char *rest = digits_parse(text, &value);
	uint64_t factor = rest ? suffix_factor(rest) : 0;

	if (!rest && errno == ERANGE)
		return -1;
	if (factor == 0)
		return fail(EINVAL);
	if (value > INT64_MAX / factor)
		return fail(ERANGE);
	*bytes = value * factor;
	return 0;
}

int size_parse_number(const char *text, unsigned min, unsigned max,
		      unsigned *value)
{
	uint64_t wide;
	const char *rest = digits_parse(text, &wide);

	if (!rest)
		return -1;
	if (*rest != '\0')
		return fail(EINVAL);
	if (wide < min || wide > max)
		return fail(ERANGE);
	*value = (unsigned)wide;
	return 0;
}

/* --- how much memory there is --- */

/* Opens root/path for reading; NULL when it isn't there. */
static FILE *open_below(const char *root, const char *path)
{
	char *whole = NULL;
	FILE *file = NULL;

	if (asprintf(&whole, "%s/%s", root, path) >= 0)
		file = fopen(whole, "re");
	free(whole);
	return file;
}

/* The number in a limit file of a cgroup; UINT64_MAX when there is none ("max"). */
static uint64_t limit_read(const char *path)
{
	uint64_t limit = UINT64_MAX;
	char text[64];
	FILE *file = fopen(path, "re");

	if (!file)
		return limit;
	if (fgets(text, sizeof text, file)) {
		text[strcspn(text, "\n")] = '\0';
		size_parse(text, &limit);
	}
	fclose(file);
	return limit;
}

/* The least limit of the group at mount/group and all above it up to the mount. */
static uint64_t limit_walk(const char *mount, const char *group,
			   const char *limit_name)
{
	uint64_t least = UINT64_MAX;
	char *dir = NULL, *path = NULL;

	if (asprintf(&dir, "%s%s", mount, group) < 0)
		return least;
	for (;;) {
		if (asprintf(&path, "%s/%s", dir, limit_name) < 0)
			break;
		uint64_t limit = limit_read(path);
		free(path);
		if (limit < least)
			least = limit;
		char *slash = strrchr(dir, '/');
		if (!slash || slash < dir + strlen(mount))
			break;
		*slash = '\0';
	}
	free(dir);
	return least;
}

/* A hierarchy of control groups that may limit memory. */
struct hierarchy {
	char mount[512];	/* where it is mounted */
	char top[512];		/* which of its groups is seen there */
	bool v2;
};

/* Takes a line of mountinfo apart; false when it is no such hierarchy. */
static bool hierarchy_parse(struct hierarchy *h, const char *line)
{
	char type[32], super[512];
	const char *tail = strstr(line, " - ");

	if (!tail || sscanf(tail, " - %31s %*s %511s", type, super) != 2 ||
	    sscanf(line, "%*s %*s %*s %511s %511s", h->top, h->mount) != 2)
		return false;
	h->v2 = strcmp(type, "cgroup2") == 0;
	if (strcmp(h->top, "/") == 0)
		h->top[0] = '\0';
	return h->v2 || (strcmp(type, "cgroup") == 0 && strstr(super, "memory"));
}

/*
 * Our group in a hierarchy, from /proc/self/cgroup (`0::/a/b`, in version 1
 * `4:memory:/a/b`), below what is mounted; "" when it can't be seen there.
 */
static void group_find(const char *root, const struct hierarchy *h,
		       char *group, size_t size)
{
	char line[1024];
	FILE *file = open_below(root, "proc/self/cgroup");

	group[0] = '\0';
	while (file && fgets(line, sizeof line, file)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (h->v2 ? names[1] != '\0' : !strstr(names + 1, "memory"))
			continue;
		size_t top = strlen(h->top);
		if (strncmp(path, h->top, top) == 0 && path[top] == '/' &&
		    path[top + 1] != '\0')
			snprintf(group, size, "%s", path + top);
	}
	if (file)
		fclose(file);
}

/* The least limit that any hierarchy sets us. */
static uint64_t cgroup_limit(const char *root)
{
	uint64_t least = UINT64_MAX;
	char line[2048], group[1024], mount[1024];
	struct hierarchy h;
	FILE *file = open_below(root, "proc/self/mountinfo");

	while (file && fgets(line, sizeof line, file)) {
		if (!hierarchy_parse(&h, line))
			continue;
		group_find(root, &h, group, sizeof group);
		snprintf(mount, sizeof mount, "%s%s", root, h.mount);
		uint64_t limit = limit_walk(mount, group, h.v2 ? "memory.max" :
					    "memory.limit_in_bytes");
		if (limit < least)
			least = limit;
	}
	if (file)
		fclose(file);
	return least;
}

uint64_t size_memory(const char *root)
{
	uint64_t kib = 0, limit = cgroup_limit(root);
	char line[256];
	FILE *file = open_below(root, "proc/meminfo");

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
			break;
	if (file)
		fclose(file);
	if (kib > 0 && kib < limit / 1024)
		return kib * 1024;
	return limit == UINT64_MAX ? 0 : limit;
}

int size_parse_memory(const char *text, uint64_t *bytes)
{
	uint64_t percent, whole;
	const char *rest = digits_parse(text, &percent);

	if (!rest || strcmp(rest, "%") != 0)
		return size_parse(text, bytes);
	if (percent < 1 || percent > 100)
		return fail(ERANGE);
	whole = size_memory("");
	if (whole == 0)
		return fail(ENOENT);
	*bytes = whole / 100 * percent;
	return 0;
}

/* --- for people --- */

const char *size_format(uint64_t bytes, char *out, size_t size)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB",
					    "EiB" };
	size_t i = 0;
	double value = (double)bytes / 1024;

	if (bytes < 1024) {
		snprintf(out, size, "%u B", (unsigned)bytes);
		return out;
	}
	/* 1023.95 would be printed as 1024.0 */
	while (value >= 1023.95 && i + 1 < sizeof unit / sizeof *unit) {
		value /= 1024;
		i++;
	}
	snprintf(out, size, "%.1f %s", value, unit[i]);
	return out;
}
