/* SPDX-License-Identifier: BSD-2-Clause */
#include "listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "diag.h"

/* As in GNU tar: owner, group and size together. */
enum { WIDTH_LEAST = 19 };

static void put_escaped(struct text *line, const char *name)
{
	size_t len = strlen(name), size = 4 * len + 1;
	char small[256], *large = size <= sizeof(small) ? small : malloc(size);

	if (!large) {
		text_put(line, "?");
		return;
	}
	text_add(line, large, diag_escape(large, size, name, len));
	if (large != small)
		free(large);
}

static char type_letter(const struct tar_member *member)
{
	if (member->hardlink)
		return 'h';
	switch (member->meta.mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	case S_IFREG:
		return '-';
	default:
		return '?';
	}
}

/* `x`, or what a set bit makes of it. */
static char run_letter(uint32_t mode, uint32_t run, uint32_t set, const char *both)
{
	if (mode & set)
		return mode & run ? both[0] : both[1];
	return mode & run ? 'x' : '-';
}

static void put_mode(struct text *line, const struct tar_member *member)
{
	uint32_t mode = member->meta.mode;
	char letters[] = {
		type_letter(member),
		mode & 0400 ? 'r' : '-', mode & 0200 ? 'w' : '-',
		run_letter(mode, 0100, S_ISUID, "sS"),
		mode & 0040 ? 'r' : '-', mode & 0020 ? 'w' : '-',
		run_letter(mode, 0010, S_ISGID, "sS"),
		mode & 0004 ? 'r' : '-', mode & 0002 ? 'w' : '-',
		run_letter(mode, 0001, S_ISVTX, "tT"),
		' ',
	};

	text_add(line, letters, sizeof(letters));
}

static void put_id(struct text *line, bool numeric, const char *name, uint32_t id)
{
	char number[16];

	if (name && !numeric) {
		put_escaped(line, name);
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu32, id);
	text_put(line, number);
}

static void size_words(const struct tar_member *member, char *to, size_t size)
{
	const struct meta *meta = &member->meta;

	if (S_ISCHR(meta->mode) || S_ISBLK(meta->mode))
		snprintf(to, size, "%" PRIu32 ",%" PRIu32, meta->rdev_major,
			 meta->rdev_minor);
	else if (S_ISREG(meta->mode))
		snprintf(to, size, "%" PRIu64, meta->size);
	else
		snprintf(to, size, "0");
}

static void put_owner_and_size(struct listing *listing, struct text *line,
			       const struct tar_member *member)
{
	const struct meta *meta = &member->meta;
	char size[32], padded[64];
	size_t before = line->len;
	int owner, len;

	put_id(line, listing->numeric, member->user, meta->uid);
	text_put(line, "/");
	put_id(line, listing->numeric, member->group, meta->gid);
	size_words(member, size, sizeof(size));
	owner = (int)(line->len - before);
	len = (int)strlen(size);
	if (listing->width < WIDTH_LEAST)
		listing->width = WIDTH_LEAST;
	if (listing->width < owner + 1 + len)
		listing->width = owner + 1 + len;
	/* A name beyond all measure does not push what comes after it. */
	if (listing->width > 60)
		listing->width = WIDTH_LEAST;
	snprintf(padded, sizeof(padded), " %*s ",
		 listing->width > owner + 1 ? listing->width - owner - 1 : 1,
		 size);
	text_put(line, padded);
}

static void put_time(struct text *line, time_t seconds)
{
	struct tm tm;
	char words[64];

	if (localtime_r(&seconds, &tm))
		snprintf(words, sizeof(words), "%04d-%02d-%02d %02d:%02d ",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			 tm.tm_hour, tm.tm_min);
	else
		snprintf(words, sizeof(words), "%lld ", (long long)seconds);
	text_put(line, words);
}

void listing_put(struct listing *listing, struct text *line,
		 const struct tar_member *member, const char *path,
		 const char *hardlink)
{
	if (listing->verbose) {
		put_mode(line, member);
		put_owner_and_size(listing, line, member);
		put_time(line, member->meta.mtime.tv_sec);
	}
	put_escaped(line, path);
	if (listing->verbose && hardlink) {
		text_put(line, " link to ");
		put_escaped(line, hardlink);
	} else if (listing->verbose && member->target) {
		text_put(line, " -> ");
		put_escaped(line, member->target);
	}
	text_put(line, "\n");
}
