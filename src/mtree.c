/* SPDX-License-Identifier: BSD-2-Clause */
#include "mtree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "diag.h"
#include "names.h"

/* What an entry says, or /set says for all that follow. */
struct said {
	struct want want;
	bool has_type;
	uint64_t nlink;
	bool has_digest;
	unsigned char digest[SHA256_SIZE];
	char *target;			/* within the line */
	bool optional;
	const char *bad;		/* a word that makes no sense, or NULL */
};

struct mtree {
	struct names *lines;
	struct bytes line;		/* a logical one, with a NUL */
	struct bytes dir;		/* the directory that relative names are in,
					   with a slash behind */
	struct bytes path;		/* of the entry at hand */
	struct bytes hardlink;		/* from the comment before it */
	bool linked;
	struct said set;
};

struct mtree *mtree_open(const char *file)
{
	struct mtree *mtree = calloc(1, sizeof(*mtree));
	int err;

	if (!mtree)
		return NULL;
	mtree->lines = names_open(file, false);
	if (mtree->lines)
		return mtree;
	err = errno;
	free(mtree);
	errno = err;
	return NULL;
}

void mtree_close(struct mtree *mtree)
{
	if (!mtree)
		return;
	names_close(mtree->lines);
	bytes_free(&mtree->line);
	bytes_free(&mtree->dir);
	bytes_free(&mtree->path);
	bytes_free(&mtree->hardlink);
	free(mtree);
}

/* ---- values ---- */

static bool take_number(const char **at, int base, uint64_t most, uint64_t *value)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*value = strtoull(*at, &end, base);
	if (errno != 0 || *value > most)
		return false;
	*at = end;
	return true;
}

static bool take_whole(const char *value, int base, uint64_t most, uint64_t *number)
{
	return take_number(&value, base, most, number) && *value == '\0';
}

static bool take_type(struct said *said, const char *value)
{
	static const struct { const char *word; mode_t type; } types[] = {
		{ "file", S_IFREG }, { "dir", S_IFDIR },   { "link", S_IFLNK },
		{ "fifo", S_IFIFO }, { "socket", S_IFSOCK },
		{ "block", S_IFBLK }, { "char", S_IFCHR },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(types[i].word, value) == 0) {
			said->want.meta.mode = (said->want.meta.mode & 07777) |
					       types[i].type;
			said->has_type = true;
			return true;
		}
	return false;
}

static bool take_mode(struct said *said, const char *value)
{
	uint64_t mode;

	if (!take_whole(value, 8, 07777, &mode))
		return false;
	said->want.meta.mode = (said->want.meta.mode & S_IFMT) | (uint32_t)mode;
	said->want.known |= WANT_MODE;
	return true;
}

static bool take_id(struct said *said, const char *value, enum want_part part)
{
	uint64_t id;

	if (!take_whole(value, 10, UINT32_MAX, &id))
		return false;
	if (part == WANT_UID)
		said->want.meta.uid = (uint32_t)id;
	else
		said->want.meta.gid = (uint32_t)id;
	said->want.known |= part;
	return true;
}

static bool take_size(struct said *said, const char *value)
{
	if (!take_whole(value, 10, INT64_MAX, &said->want.meta.size))
		return false;
	said->want.known |= WANT_SIZE;
	return true;
}

/* SECONDS.NANOSECONDS; these are a number of their own, also without zeros in front. */
static bool take_time(struct said *said, const char *value)
{
	bool negative = *value == '-';
	uint64_t seconds, nsec = 0;

	value += negative;
	if (!take_number(&value, 10, INT64_MAX, &seconds))
		return false;
	if (*value == '.') {
		value++;
		if (!take_number(&value, 10, 999999999, &nsec))
			return false;
	}
	if (*value)
		return false;
	said->want.meta.mtime.tv_sec = negative ? -(time_t)seconds :
						  (time_t)seconds;
	said->want.meta.mtime.tv_nsec = (long)nsec;
	said->want.known |= WANT_MTIME;
	return true;
}

/* FORMAT,MAJOR,MINOR, or one number. */
static bool take_device(struct said *said, const char *value)
{
	const char *comma = strchr(value, ',');
	uint64_t high, low;

	if (!comma) {
		if (!take_whole(value, 0, UINT64_MAX, &high))
			return false;
		low = minor(high);
		high = major(high);
	} else {
		value = comma + 1;
		if (!take_number(&value, 0, UINT32_MAX, &high) ||
		    *value++ != ',' || !take_whole(value, 0, UINT32_MAX, &low))
			return false;
	}
	said->want.meta.rdev_major = (uint32_t)high;
	said->want.meta.rdev_minor = (uint32_t)low;
	said->want.known |= WANT_DEVICE;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_digest(struct said *said, const char *value)
{
	if (strlen(value) != 2 * SHA256_SIZE)
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		int high = hex_digit(value[2 * i]);
		int low = hex_digit(value[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		said->digest[i] = (unsigned char)(high << 4 | low);
	}
	said->has_digest = true;
	return true;
}

/* ---- keywords ---- */

/* One of an entry or of /set; what is not known says nothing to us. */
static bool take_value(struct said *said, const char *key, char *value)
{
	if (strcmp(key, "type") == 0)
		return take_type(said, value);
	if (strcmp(key, "mode") == 0)
		return take_mode(said, value);
	if (strcmp(key, "uid") == 0)
		return take_id(said, value, WANT_UID);
	if (strcmp(key, "gid") == 0)
		return take_id(said, value, WANT_GID);
	if (strcmp(key, "size") == 0)
		return take_size(said, value);
	if (strcmp(key, "time") == 0)
		return take_time(said, value);
	if (strcmp(key, "nlink") == 0)
		return take_whole(value, 10, UINT32_MAX, &said->nlink);
	if (strcmp(key, "device") == 0)
		return take_device(said, value);
	if (strcmp(key, "sha256") == 0 || strcmp(key, "sha256digest") == 0)
		return take_digest(said, value);
	if (strcmp(key, "link") == 0) {
		mtree_decode(value);
		said->target = value;
	}
	return true;
}

static void take_word(struct said *said, char *word)
{
	char *value = strchr(word, '=');

	if (!value) {
		said->optional |= strcmp(word, "optional") == 0;
		return;
	}
	*value++ = '\0';
	if (!take_value(said, word, value))
		said->bad = word;
}

static void forget_word(struct said *said, const char *word)
{
	static const struct { const char *key; unsigned part; } parts[] = {
		{ "mode", WANT_MODE }, { "uid", WANT_UID }, { "gid", WANT_GID },
		{ "size", WANT_SIZE }, { "time", WANT_MTIME },
		{ "device", WANT_DEVICE },
	};
	bool all = strcmp(word, "all") == 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (all || strcmp(parts[i].key, word) == 0)
			said->want.known &= ~parts[i].part;
	if (all || strcmp(word, "type") == 0)
		said->has_type = false;
	if (all || strcmp(word, "nlink") == 0)
		said->nlink = 0;
}

/* ---- lines ---- */

/* The next word of a line, cut off; NULL at its end. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");

	if (*word == '\0')
		return NULL;
	*at = word + strcspn(word, " \t");
	if (**at)
		*(*at)++ = '\0';
	return word;
}

/* A backslash at the end says that the next line belongs to it. */
static bool goes_on(const char *line, size_t len)
{
	size_t slashes = 0;

	while (slashes < len && line[len - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2 == 1;
}

/* Reads a logical line.  1, 0 at the end, -1 with errno. */
static int read_line(struct mtree *mtree)
{
	struct bytes *line = &mtree->line;
	bool more = true;

	line->len = 0;
	while (more) {
		const char *next = names_next(mtree->lines);
		size_t len;

		if (!next && (errno != 0 || line->len == 0))
			return errno != 0 ? -1 : 0;
		if (!next)
			break;
		len = strlen(next);
		more = *next != '#' && goes_on(next, len);
		if (line->len + len > NAMES_LENGTH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (bytes_add(line, next, more ? len - 1 : len) != 0 ||
		    (more && bytes_put(line, " ") != 0))
			return -1;
	}
	return bytes_add(line, "", 1) == 0 ? 1 : -1;
}

/* ---- paths ---- */

/* `..`: what is relative is in the directory above from now on. */
static void leave_directory(struct mtree *mtree)
{
	size_t len = mtree->dir.len;

	while (len > 0 && mtree->dir.at[len - 1] == '/')
		len--;
	while (len > 0 && mtree->dir.at[len - 1] != '/')
		len--;
	mtree->dir.len = len;
}

/* The path of an entry.  A name without a slash is relative, and may be entered. */
static int make_path(struct mtree *mtree, char *word, bool *relative)
{
	struct bytes *path = &mtree->path;

	*relative = !strchr(word, '/');
	mtree_decode(word);
	path->len = 0;
	if (*relative && mtree->dir.len > 0 &&
	    bytes_add(path, mtree->dir.at, mtree->dir.len) != 0)
		return -1;
	return bytes_add(path, word, strlen(word) + 1);
}

static int enter_directory(struct mtree *mtree)
{
	mtree->dir.len = 0;
	if (bytes_put(&mtree->dir, (const char *)mtree->path.at) != 0)
		return -1;
	return bytes_put(&mtree->dir, "/");
}

/* ---- entries ---- */

static void entry_fill(struct mtree *mtree, struct mtree_entry *entry,
		       const struct said *said)
{
	*entry = (struct mtree_entry){
		.path = (const char *)mtree->path.at,
		.want = said->want,
		.has_type = said->has_type,
		.target = said->target,
		.nlink = said->nlink,
		.has_digest = said->has_digest,
		.optional = said->optional,
		.hardlink = mtree->linked ?
				    (const char *)mtree->hardlink.at :
				    NULL,
	};
	memcpy(entry->digest, said->digest, SHA256_SIZE);
}

/* As mtree_next, or 2 when the entry makes no sense. */
static int take_entry(struct mtree *mtree, struct mtree_entry *entry, char *word,
		      char *rest)
{
	struct said said = mtree->set;
	bool relative;
	int err = 0;

	if (make_path(mtree, word, &relative) != 0)
		return -1;
	while ((word = next_word(&rest)) != NULL)
		take_word(&said, word);
	if (said.bad) {
		diag_fail(STATUS_PARTIAL, (const char *)mtree->path.at, 0,
			  "not compared: the list's %s of it makes no sense",
			  said.bad);
		err = 2;
	}
	entry_fill(mtree, entry, &said);
	mtree->linked = false;
	if (relative && said.has_type && S_ISDIR(said.want.meta.mode) &&
	    enter_directory(mtree) != 0)
		return -1;
	return err ? err : 1;
}

/* /set and /unset. */
static void take_setting(struct mtree *mtree, const char *word, char *rest)
{
	bool forget = strcmp(word, "/unset") == 0;
	char *next;

	mtree->set.bad = NULL;
	while ((next = next_word(&rest)) != NULL) {
		if (forget)
			forget_word(&mtree->set, next);
		else
			take_word(&mtree->set, next);
	}
	if (mtree->set.bad)
		diag_fail(STATUS_PARTIAL, names_file(mtree->lines), 0,
			  "%s: its %s makes no sense", word, mtree->set.bad);
	mtree->set.bad = NULL;
	mtree->set.target = NULL;
	mtree->set.optional = mtree->set.has_digest = false;
}

static int take_comment(struct mtree *mtree, const char *word, char *rest)
{
	char *name = strcmp(word, "#hardlink") == 0 ? next_word(&rest) : NULL;

	if (!name)
		return 0;
	mtree_decode(name);
	mtree->hardlink.len = 0;
	mtree->linked = true;
	return bytes_add(&mtree->hardlink, name, strlen(name) + 1);
}

/* As mtree_next, or 2 when the line gives none. */
static int take_line(struct mtree *mtree, struct mtree_entry *entry)
{
	char *rest = (char *)mtree->line.at;
	char *word = next_word(&rest);

	if (!word)
		return 2;
	if (*word == '#')
		return take_comment(mtree, word, rest) == 0 ? 2 : -1;
	if (strcmp(word, "..") == 0) {
		leave_directory(mtree);
		return 2;
	}
	if (strcmp(word, "/set") == 0 || strcmp(word, "/unset") == 0) {
		take_setting(mtree, word, rest);
		return 2;
	}
	return take_entry(mtree, entry, word, rest);
}

int mtree_next(struct mtree *mtree, struct mtree_entry *entry)
{
	int got;

	do {
		got = read_line(mtree);
		if (got == 1)
			got = take_line(mtree, entry);
	} while (got == 2);
	return got;
}
