/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names in lists: three octal digits for what is not plain, which all can read.  What
 * others write is vis(3)'s: also \n, \s and the like, \^A and \M-a.
 */
#include "mtree.h"

#include <stdbool.h>
#include <string.h>

/* What no reader takes for something else. */
static bool is_plain(unsigned char byte)
{
	return byte > ' ' && byte < 0x7f && !strchr("\\#*?[]=", byte);
}

int mtree_put_name(struct bytes *line, const char *name)
{
	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;
		const char octal[4] = {
			'\\',
			(char)('0' + (byte >> 6)),
			(char)('0' + (byte >> 3 & 7)),
			(char)('0' + (byte & 7)),
		};

		if (is_plain(byte) ? bytes_add(line, name, 1) != 0 :
				     bytes_add(line, octal, 4) != 0)
			return -1;
	}
	return 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* `^A`, with what is to be added to it. */
static const char *take_control(const char *from, int high, char *to)
{
	if (from[0] != '^' || from[1] == '\0')
		return NULL;
	*to = (char)((from[1] == '?' ? 0x7f : from[1] & 0x1f) | high);
	return from + 2;
}

/* `M-a` or `M^A`: the same with the highest bit. */
static const char *take_meta(const char *from, char *to)
{
	if (from[0] != 'M')
		return NULL;
	if (from[1] != '-' || from[2] == '\0')
		return take_control(from + 1, 0x80, to);
	*to = (char)(from[2] | 0x80);
	return from + 3;
}

/* Takes what stands behind a backslash; returns what comes after it. */
static const char *take_escape(const char *from, char *to)
{
	static const char letters[] = "abfnrstv0", meant[] = "\a\b\f\n\r \t\v";
	const char *after, *letter;

	if (from[0] >= '0' && from[0] <= '3' && is_octal(from[1]) &&
	    is_octal(from[2])) {
		*to = (char)((from[0] - '0') << 6 | (from[1] - '0') << 3 |
			     (from[2] - '0'));
		return from + 3;
	}
	after = take_control(from, 0, to);
	if (!after)
		after = take_meta(from, to);
	if (after)
		return after;
	letter = strchr(letters, from[0]);
	*to = letter ? meant[letter - letters] : from[0];
	return from + 1;
}

void mtree_decode(char *word)
{
	const char *from = word;
	char *to = word;

	while (*from) {
		if (*from != '\\' || from[1] == '\0')
			*to++ = *from++;
		else
			from = take_escape(from + 1, to++);
	}
	*to = '\0';
}
