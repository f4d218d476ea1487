/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { COMPONENT_MAX = 255 };

/* Makes room for a path and what it can have of components. */
static bool reserve(struct parts *parts, size_t len)
{
	if (parts->size < len + 1) {
		char *all = realloc(parts->text, len + 1);

		if (!all)
			return false;
		parts->text = all;
		parts->size = len + 1;
	}
	if (parts->room < len / 2 + 1) {
		size_t *ends = realloc(parts->ends,
				       (len / 2 + 1) * sizeof(*ends));

		if (!ends)
			return false;
		parts->ends = ends;
		parts->room = len / 2 + 1;
	}
	return true;
}

static void add(struct parts *parts, const char *component, size_t len,
		size_t *used)
{
	if (*used > 0)
		parts->text[(*used)++] = '/';
	memcpy(parts->text + *used, component, len);
	*used += len;
	parts->ends[parts->count++] = *used;
}

enum parts_verdict parts_parse(struct parts *parts, const char *path)
{
	enum parts_verdict verdict = PARTS_FINE;
	size_t used = 0, len;

	parts->count = 0;
	if (!reserve(parts, strlen(path)))
		return PARTS_NO_MEMORY;
	if (path[0] == '\0')
		verdict = PARTS_EMPTY;
	else if (path[0] == '/')
		verdict = PARTS_ABSOLUTE;
	for (; *path; path += len) {
		len = strcspn(path, "/");
		if (len == 2 && memcmp(path, "..", 2) == 0)
			verdict = verdict == PARTS_FINE ? PARTS_UPWARD : verdict;
		else if (len > COMPONENT_MAX)
			verdict = verdict == PARTS_FINE ? PARTS_LONG : verdict;
		if (len > 0 && !(len == 1 && path[0] == '.'))
			add(parts, path, len, &used);
		len += strspn(path + len, "/");
	}
	parts->text[used] = '\0';
	return verdict;
}

const char *parts_get(const struct parts *parts, size_t index, size_t *len)
{
	size_t start = index > 0 ? parts->ends[index - 1] + 1 : 0;

	*len = parts->ends[index] - start;
	return parts->text + start;
}

void parts_destroy(struct parts *parts)
{
	free(parts->text);
	free(parts->ends);
	*parts = (struct parts){ 0 };
}
