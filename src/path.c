/* SPDX-License-Identifier: BSD-2-Clause */
#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"

bool path_is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool path_ends_with(const char *path, const char *tail)
{
	size_t len = strlen(path), n = strlen(tail);

	return len >= n && strcmp(path + len - n, tail) == 0;
}

char *path_strip(const char *path, bool dots)
{
	char *copy = strdup(path);
	size_t len = copy ? strlen(copy) : 0;

	while (len > 1 && (copy[len - 1] == '/' ||
			   (dots && copy[len - 1] == '.' && copy[len - 2] == '/')))
		copy[--len] = '\0';
	return copy;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *path_parent(const char *path)
{
	size_t len = (size_t)(path_base(path) - path);
	char *copy = len ? strndup(path, len) : strdup(".");

	while (copy && len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

bool path_has_name(const char *path)
{
	return !path_is_dot(path_base(path)) && strcmp(path, "/") != 0;
}

const char *path_strip_components(const char *path, unsigned n)
{
	for (; n > 0 && *path; n--) {
		path += strspn(path, "/");
		path += strcspn(path, "/");
		path += strspn(path, "/");
	}
	return *path ? path : NULL;
}

char *path_join(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%s", dir, path_ends_with(dir, "/") ? "" : "/",
		     name) < 0)
		return NULL;
	return path;
}

/* Whether a shell takes the word as it is. */
static bool is_safe(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *word != '\0' && word[strspn(word, safe)] == '\0';
}

/* Whether messages would show other bytes than the word has. */
static bool is_escaped(const char *word)
{
	size_t backslashes = 0;

	for (const char *p = word; *p; p++)
		backslashes += *p == '\\';
	return diag_escape(NULL, 0, word, strlen(word)) !=
	       strlen(word) + backslashes;
}

/* Adds the word with `quote` for each ' that it has. */
static void put_with_quotes(struct text *text, const char *word, const char *quote)
{
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			text_put(text, quote);
		else
			text_add(text, p, 1);
}

void path_put_quoted(struct text *text, const char *word)
{
	size_t size = 4 * strlen(word) + 1;
	char *escaped = is_escaped(word) ? malloc(size) : NULL;

	if (is_safe(word)) {
		text_put(text, word);
	} else if (escaped) {
		diag_escape(escaped, size, word, strlen(word));
		text_put(text, "$'");
		put_with_quotes(text, escaped, "\\'");
		text_put(text, "'");
	} else {
		text_put(text, "'");
		put_with_quotes(text, word, "'\\''");
		text_put(text, "'");
	}
	free(escaped);
}

void path_put_operand(struct text *text, const char *word, bool slash)
{
	char *path = path_strip(word, false);

	if (word[0] == '-')
		text_put(text, "./");
	path_put_quoted(text, path ? path : word);
	if (slash && !path_ends_with(path ? path : word, "/"))
		text_put(text, "/");
	free(path);
}
