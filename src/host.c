/* SPDX-License-Identifier: BSD-2-Clause */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "path.h"

const char *host_colon(const char *operand)
{
	const char *colon = operand + strcspn(operand, ":/");

	return *colon == ':' ? colon : NULL;
}

/* Whether ssh would take what is before the colon for a host ([::1] it would not). */
static bool host_is_plain(const char *operand)
{
	return host_colon(operand) == NULL ||
	       (strcspn(operand, ":[") > 0 && operand[0] != '-' &&
		operand[strcspn(operand, ":[")] == ':');
}

/* Writes a word of one half; the far shell reads it again. */
static void put_word(struct text *out, const char *word, bool far)
{
	struct text once;

	text_init(&once);
	path_put_quoted(&once, word);
	if (far)
		path_put_quoted(out, once.bytes);
	else
		text_put(out, once.bytes);
	text_destroy(&once);
}

/* Writes `[ssh HOST ]tar -C DIR ...`, the half that packs or unpacks. */
static void put_half(struct text *out, const char *operand, bool packs, bool by_name)
{
	const char *colon = host_colon(operand);
	char *host = colon ? strndup(operand, (size_t)(colon - operand)) : NULL;
	char *path = path_strip(colon ? colon + 1 : operand, false);
	const char *from = path && *path ? path : ".";
	bool named = packs && by_name && path_has_name(from);
	char *parent = named ? path_parent(from) : NULL;

	if (host) {
		text_put(out, "ssh ");
		path_put_quoted(out, host);
		text_put(out, " ");
		if (strncmp(from, "~/", 2) == 0 && from[2])
			from += 2;	/* ssh begins there */
	}
	text_put(out, "tar -C ");
	put_word(out, parent ? parent : from, colon);
	text_put(out, packs ? " -cf - " : " -xpf -");
	if (named)
		text_put(out, path_base(from)[0] == '-' ? "./" : "");
	if (packs)
		put_word(out, named ? path_base(from) : ".", colon);
	free(parent);
	free(path);
	free(host);
}

void host_put_pipe(struct text *out, const char *src, const char *dst, bool by_name)
{
	if (!host_is_plain(src) || !host_is_plain(dst)) {
		text_put(out, "tar -C SRC -cf - . | ssh HOST tar -C DST -xpf -");
		return;
	}
	put_half(out, src, true, by_name);
	text_put(out, " | ");
	put_half(out, dst, false, false);
}
