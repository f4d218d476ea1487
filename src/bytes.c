/* SPDX-License-Identifier: BSD-2-Clause */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

void *bytes_extend(struct bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : 4096;
	unsigned char *at;

	while (room < bytes->len + more)
		room *= 2;
	if (room > bytes->room) {
		at = realloc(bytes->at, room);
		if (!at)
			return NULL;
		bytes->at = at;
		bytes->room = room;
	}
	bytes->len += more;
	return bytes->at + bytes->len - more;
}

int bytes_add(struct bytes *bytes, const void *from, size_t size)
{
	void *to = bytes_extend(bytes, size);

	if (!to)
		return -1;
	memcpy(to, from, size);
	return 0;
}

int bytes_put(struct bytes *bytes, const char *string)
{
	return bytes_add(bytes, string, strlen(string));
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct bytes){ 0 };
}
