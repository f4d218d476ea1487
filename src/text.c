/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <stdlib.h>
#include <string.h>

void text_init(struct text *text)
{
	text->bytes = text->small;
	text->size = sizeof text->small;
	text->len = 0;
	text->bytes[0] = '\0';
}

void text_destroy(struct text *text)
{
	if (text->bytes != text->small)
		free(text->bytes);
}

/* Makes room for `len` bytes and a NUL.  Returns how many of them there is. */
static size_t text_room(struct text *text, size_t len)
{
	if (text->size - text->len - 1 < len) {
		size_t size = 2 * text->size + len;
		char *bytes = malloc(size);
		if (bytes) {
			memcpy(bytes, text->bytes, text->len);
			text_destroy(text);
			text->bytes = bytes;
			text->size = size;
		}
	}
	size_t room = text->size - text->len - 1;
	return room < len ? room : len;
}

void text_add(struct text *text, const char *bytes, size_t len)
{
	len = text_room(text, len);
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
	text->bytes[text->len] = '\0';
}

void text_put(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}
