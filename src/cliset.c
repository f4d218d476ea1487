/* SPDX-License-Identifier: BSD-2-Clause */
#include "cliset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "filter.h"
#include "hash.h"
#include "size.h"

#define MEMORY_MIN (UINT64_C(64) << 10)
#define JOBS_MAX 64
#define READ_AHEAD_MAX 64

static const struct { const char *word; unsigned bits; } parts[] = {
	{ "mode", PRESERVE_MODE }, { "owner", PRESERVE_OWNER },
	{ "times", PRESERVE_TIMES }, { "links", PRESERVE_LINKS },
	{ "holes", PRESERVE_HOLES }, { "xattr", PRESERVE_XATTR },
	{ "acl", PRESERVE_ACL }, { "special", PRESERVE_SPECIAL },
	{ "root", PRESERVE_ROOT }, { "all", PRESERVE_ALL },
};

#define PART_WORDS \
	"mode, owner, times, links, holes, xattr, acl, special, root and all"

static const char *const modes[] = {
	[MODE_COPY] = "a copy", [MODE_CREATE] = "-c", [MODE_EXTRACT] = "-x",
	[MODE_LIST] = "-t", [MODE_COMPARE] = "--compare",
};

const char *cli_mode(enum mode mode)
{
	return modes[mode];
}

int set_mode(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	enum mode mode = (enum mode)use->row->offset;

	if (opts->mode != MODE_COPY && opts->mode != mode) {
		diag_fail(STATUS_USAGE, NULL, 0, "%s and %s: one of them" HINT,
			  modes[opts->mode], modes[mode]);
		return -1;
	}
	opts->mode = mode;
	return 0;
}

int set_block(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	uint64_t bytes;

	if (size_parse(use->value, &bytes) != 0 || bytes == 0 ||
	    bytes > MEMORY_DEFAULT)
		return option_refuse(use, "a size up to 64m, like 10k or 1m");
	opts->block = (size_t)bytes;
	opts->block_given = true;
	return 0;
}

int set_blocks(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	unsigned n;

	if (size_parse_number(use->value, 1, MEMORY_DEFAULT / TAR_UNIT, &n) != 0)
		return option_refuse(use, "a number from 1 to 131072");
	opts->block = (size_t)n * TAR_UNIT;
	opts->block_given = true;
	return 0;
}

int set_tee(void *target, const struct option_use *use)
{
	struct opts *opts = target;

	if (opts->ntees == TEES_MAX) {
		diag_fail(STATUS_USAGE, NULL, 0, "at most %d times --tee" HINT,
			  TEES_MAX);
		return -1;
	}
	opts->tees[opts->ntees++] = use->value;
	return 0;
}

int set_hash(void *target, const struct option_use *use)
{
	struct opts *opts = target;

	opts->hash = hash_find(use->value);
	if (opts->hash == HASH_NONE)
		return option_refuse(use, "xxh3 or crc32");
	return 0;
}

/* The index of a word; -1 after a message. */
static int find_word(const struct option_use *use, const char *const *words,
		     int nwords, const char *expected)
{
	for (int i = 0; i < nwords; i++)
		if (strcmp(use->value, words[i]) == 0)
			return i;
	return option_refuse(use, expected);
}

int set_format(void *target, const struct option_use *use)
{
	static const char *const words[] = {
		[TAR_PAX] = "pax", [TAR_GNU] = "gnu", [TAR_USTAR] = "ustar",
	};
	struct opts *opts = target;
	int found = find_word(use, words, 3, "pax, gnu or ustar");

	if (found < 0)
		return -1;
	opts->format = (enum tar_format)found;
	return 0;
}

int set_filter(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	enum filter_kind kind = (enum filter_kind)use->row->offset;
	unsigned level = 0;
	int least, most;

	if (opts->filter != FILTER_NONE && opts->filter != kind) {
		diag_fail(STATUS_USAGE, NULL, 0, "option %s: there is another "
			  "compression already" HINT, use->shown);
		return -1;
	}
	opts->filter = kind;
	if (!use->value)
		return 0;
	if (!filter_levels(kind, &least, &most) ||
	    size_parse_number(use->value, (unsigned)least, (unsigned)most,
			      &level) != 0)
		return option_refuse(use, "a level of this compression");
	opts->level = (int)level;
	return 0;
}

int set_choice(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	struct choice *more = realloc(opts->choices, (opts->nchoices + 1) *
						     sizeof *more);

	if (!more) {
		diag_fail(STATUS_USAGE, NULL, errno, "option %s", use->shown);
		return -1;
	}
	opts->choices = more;
	more[opts->nchoices++] =
		(struct choice){ use->value, use->row->offset != 0 };
	return 0;
}

int set_strip(void *target, const struct option_use *use)
{
	struct opts *opts = target;

	if (size_parse_number(use->value, 0, 65535, &opts->strip) != 0)
		return option_refuse(use, "a number of components");
	return 0;
}

int set_numeric(void *target, const struct option_use *use)
{
	struct opts *opts = target;

	(void)use;
	opts->numeric = true;
	opts->names = false;
	return 0;
}

int set_memory(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	uint64_t bytes;

	if (size_parse_memory(use->value, &bytes) != 0) {
		if (errno != ENOENT)
			return option_refuse(use, "a size like 8m, 1GiB or 25%");
		diag_fail(STATUS_USAGE, NULL, 0, "option %s: how much memory "
			  "there is can't be found out; give a size like 64m",
			  use->shown);
		return -1;
	}
	if (bytes < MEMORY_MIN) {
		diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%s' is too small, "
			  "the ring takes 64k at least" HINT,
			  use->shown, use->value);
		return -1;
	}
	opts->memory = bytes;
	return 0;
}

int set_jobs(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	if (size_parse_number(use->value, 1, JOBS_MAX, &opts->jobs) != 0)
		return option_refuse(use, "a number from 1 to 64");
	return 0;
}

int set_read_ahead(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	unsigned n;

	if (strcmp(use->value, "auto") == 0)
		opts->read_ahead = READ_AHEAD_AUTO;
	else if (strcmp(use->value, "off") == 0)
		opts->read_ahead = READ_AHEAD_OFF;
	else if (size_parse_number(use->value, 1, READ_AHEAD_MAX, &n) == 0)
		opts->read_ahead = (int)n;
	else
		return option_refuse(use, "auto, off or a number from 1 to 64");
	return 0;
}

static unsigned part_bits(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strlen(parts[i].word) == len &&
		    memcmp(parts[i].word, word, len) == 0)
			return parts[i].bits;
	return 0;
}

/* Reads a comma-separated list of parts; 0 after a message. */
static unsigned parts_parse(const struct option_use *use)
{
	const char *word = use->value;
	unsigned all = 0;

	for (;;) {
		size_t len = strcspn(word, ",");
		unsigned bits = part_bits(word, len);
		if (bits == 0) {
			diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%.*s' is "
				  "unknown; there are " PART_WORDS HINT,
				  use->shown, (int)len, word);
			return 0;
		}
		all |= bits;
		if (word[len] == '\0')
			return all;
		word += len + 1;
	}
}

int set_preserve(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	unsigned bits = parts_parse(use);

	opts->preserve |= bits & ~(unsigned)PRESERVE_ROOT;
	opts->preserve_asked |= bits;
	opts->preserve_denied &= ~bits;
	return bits ? 0 : -1;
}

int set_no_preserve(void *target, const struct option_use *use)
{
	struct opts *opts = target;
	unsigned bits = parts_parse(use);

	opts->preserve &= ~bits;
	opts->preserve_denied |= bits;
	opts->preserve_asked &= ~bits;
	return bits ? 0 : -1;
}

int set_reflink(void *target, const struct option_use *use)
{
	static const char *const words[] = {
		[REFLINK_AUTO] = "auto", [REFLINK_ALWAYS] = "always",
		[REFLINK_NEVER] = "never",
	};
	struct opts *opts = target;
	int found = find_word(use, words, 3, "auto, always or never");

	if (found < 0)
		return -1;
	opts->reflink = (enum reflink)found;
	return 0;
}

int set_window(void *target, const struct option_use *use)
{
	struct opts *opts = target;

	if (size_parse_number(use->value, 0, 86400, &opts->modify_window) != 0)
		return option_refuse(use, "a number of seconds up to 86400");
	return 0;
}
