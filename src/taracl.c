/* SPDX-License-Identifier: BSD-2-Clause */
#include "taracl.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* <linux/posix_acl_xattr.h>: a version, then entries, all little-endian. */
enum {
	ACL_VERSION = 2,
	HEAD_SIZE = 4,
	ENTRY_SIZE = 8,
	NAMES_SIZE = 4096,	/* for a look-up */
};

/* What one ACL entry says.  The tags' numbers are in the kernel's order. */
struct ace {
	unsigned tag, perm;
	uint32_t id;
};

enum tag {
	TAG_USER_OBJ = 1 << 0,
	TAG_USER = 1 << 1,
	TAG_GROUP_OBJ = 1 << 2,
	TAG_GROUP = 1 << 3,
	TAG_MASK = 1 << 4,
	TAG_OTHER = 1 << 5,

	TAGS_NAMED = TAG_USER | TAG_GROUP,
	TAGS_BASE = TAG_USER_OBJ | TAG_GROUP_OBJ | TAG_OTHER,
};

static const struct {
	unsigned tag;
	int archive;
} tags[] = {
	{ TAG_USER_OBJ, ARCHIVE_ENTRY_ACL_USER_OBJ },
	{ TAG_USER, ARCHIVE_ENTRY_ACL_USER },
	{ TAG_GROUP_OBJ, ARCHIVE_ENTRY_ACL_GROUP_OBJ },
	{ TAG_GROUP, ARCHIVE_ENTRY_ACL_GROUP },
	{ TAG_MASK, ARCHIVE_ENTRY_ACL_MASK },
	{ TAG_OTHER, ARCHIVE_ENTRY_ACL_OTHER },
};

enum { NTAGS = sizeof(tags) / sizeof(*tags) };

const char *tar_acl_name(enum tar_acl kind)
{
	return kind == TAR_ACL_ACCESS ? "system.posix_acl_access" :
					"system.posix_acl_default";
}

enum tar_acl tar_acl_find(const char *name)
{
	int kind = TAR_ACL_ACCESS;

	while (kind < TAR_ACLS &&
	       strcmp(name, tar_acl_name((enum tar_acl)kind)) != 0)
		kind++;
	return (enum tar_acl)kind;
}

static int type_of(enum tar_acl kind)
{
	return kind == TAR_ACL_ACCESS ? ARCHIVE_ENTRY_ACL_TYPE_ACCESS :
					ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;
}

/*
 * Notes one more entry's tag.  False for a tag that there is not, or that comes twice
 * though there can be but one.
 */
static bool tag_add(unsigned *seen, unsigned tag)
{
	bool known = tag != 0 && (tag & (tag - 1)) == 0 && tag <= TAG_OTHER;
	bool again = (*seen & tag) != 0 && !(tag & TAGS_NAMED);

	*seen |= tag;
	return known && !again;
}

/* All that must be there is there. */
static bool tags_complete(unsigned seen)
{
	return (seen & TAGS_BASE) == TAGS_BASE &&
	       (!(seen & TAGS_NAMED) || (seen & TAG_MASK));
}

/* ---- the kernel's form into libarchive's ---- */

static uint32_t number_at(const unsigned char *at, size_t bytes)
{
	uint32_t number = 0;

	while (bytes-- > 0)
		number = number << 8 | at[bytes];
	return number;
}

static struct ace ace_at(const unsigned char *at)
{
	return (struct ace){ number_at(at, 2), number_at(at + 2, 2),
			     number_at(at + 4, 4) };
}

static bool value_valid(const unsigned char *value, size_t size)
{
	unsigned seen = 0;

	if (size < HEAD_SIZE || size > TAR_ACL_VALUE_MAX ||
	    (size - HEAD_SIZE) % ENTRY_SIZE != 0 ||
	    number_at(value, HEAD_SIZE) != ACL_VERSION)
		return false;
	for (size_t at = HEAD_SIZE; at < size; at += ENTRY_SIZE) {
		struct ace ace = ace_at(value + at);

		if (ace.perm > 7 || !tag_add(&seen, ace.tag))
			return false;
	}
	return size == HEAD_SIZE || tags_complete(seen);
}

/*
 * An owner goes as the decimal digits of its number in place of a name: libarchive's
 * number is an int, which would make 0 of an id above 2^31.
 */
static int ace_put(struct archive_entry *entry, int type, const struct ace *ace)
{
	char digits[16];
	const char *name = NULL;
	size_t i = 0;

	while (tags[i].tag != ace->tag)
		i++;
	if (ace->tag & TAGS_NAMED) {
		snprintf(digits, sizeof(digits), "%u", ace->id);
		name = digits;
	}
	return archive_entry_acl_add_entry(entry, type, (int)ace->perm,
					   tags[i].archive, -1, name);
}

int tar_acl_put(struct archive_entry *entry, enum tar_acl kind,
		const void *value, size_t size)
{
	const unsigned char *bytes = value;

	if (!value_valid(bytes, size)) {
		errno = EINVAL;
		return -1;
	}
	for (size_t at = HEAD_SIZE; at < size; at += ENTRY_SIZE) {
		struct ace ace = ace_at(bytes + at);

		if (ace_put(entry, type_of(kind), &ace) != 0) {
			errno = ENOMEM;
			return -1;
		}
	}
	return 0;
}

/* ---- libarchive's form into the kernel's ---- */

static bool digits_read(const char *name, uint32_t *id)
{
	unsigned long long number = 0;

	if (!*name)
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return false;
		number = number * 10 + (unsigned long long)(*name - '0');
		if (number >= UINT32_MAX)
			return false;
	}
	*id = (uint32_t)number;
	return true;
}

static bool name_look_up(unsigned tag, const char *name, uint32_t *id)
{
	char room[NAMES_SIZE];
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;

	if (tag == TAG_USER) {
		(void)getpwnam_r(name, &user, room, sizeof(room), &found_user);
		*id = found_user ? user.pw_uid : 0;
		return found_user != NULL;
	}
	(void)getgrnam_r(name, &group, room, sizeof(room), &found_group);
	*id = found_group ? group.gr_gid : 0;
	return found_group != NULL;
}

/* By number: digits in the place of the name, then the number, then the name itself. */
static bool ace_owner(struct ace *ace, int number, const char *name)
{
	if (name && digits_read(name, &ace->id))
		return true;
	if (number >= 0) {
		ace->id = (uint32_t)number;
		return true;
	}
	return name && name_look_up(ace->tag, name, &ace->id);
}

struct acl {
	struct ace *aces;
	size_t count;
	unsigned seen;
};

/* Adds what libarchive says; false when it makes no sense. */
static bool acl_add(struct acl *acl, int perm, int tag, int number,
		    const char *name)
{
	struct ace *ace = &acl->aces[acl->count];
	size_t i = 0;

	while (i < NTAGS && tags[i].archive != tag)
		i++;
	if (i == NTAGS || acl->count >= TAR_ACL_ENTRIES)
		return false;
	*ace = (struct ace){ tags[i].tag, (unsigned)perm & 7, UINT32_MAX };
	acl->count++;
	return tag_add(&acl->seen, ace->tag) &&
	       (!(ace->tag & TAGS_NAMED) || ace_owner(ace, number, name));
}

/* Without a mask nobody but the owner and the others is limited. */
static void acl_add_mask(struct acl *acl)
{
	struct ace mask = { TAG_MASK, 0, UINT32_MAX };

	if (!(acl->seen & TAGS_NAMED) || (acl->seen & TAG_MASK))
		return;
	for (size_t i = 0; i < acl->count; i++)
		if (acl->aces[i].tag & (TAGS_NAMED | TAG_GROUP_OBJ))
			mask.perm |= acl->aces[i].perm;
	acl->aces[acl->count++] = mask;
	acl->seen |= TAG_MASK;
}

static int ace_compare(const void *a, const void *b)
{
	const struct ace *one = a, *other = b;

	if (one->tag != other->tag)
		return one->tag < other->tag ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

static void number_put(unsigned char *at, uint32_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, number >>= 8)
		at[i] = number & 0xff;
}

/* Returns the length, or 0 when an owner comes twice. */
static size_t acl_encode(struct acl *acl, unsigned char *to)
{
	unsigned char *at = to + HEAD_SIZE;

	qsort(acl->aces, acl->count, sizeof(*acl->aces), ace_compare);
	number_put(to, ACL_VERSION, HEAD_SIZE);
	for (size_t i = 0; i < acl->count; i++, at += ENTRY_SIZE) {
		const struct ace *ace = &acl->aces[i];

		if (i > 0 && ace_compare(ace - 1, ace) == 0)
			return 0;
		number_put(at, ace->tag, 2);
		number_put(at + 2, ace->perm, 2);
		number_put(at + 4, ace->id, 4);
	}
	return (size_t)(at - to);
}

static ssize_t acl_gather(struct acl *acl, struct archive_entry *entry,
			  enum tar_acl kind, unsigned char *to)
{
	int type, perm, tag, number;
	const char *name;
	bool sound = true;
	size_t size = 0;

	while (sound && archive_entry_acl_next(entry, type_of(kind), &type,
					       &perm, &tag, &number,
					       &name) == 0)
		if (type == type_of(kind))
			sound = acl_add(acl, perm, tag, number, name);
	acl_add_mask(acl);
	if (sound && kind == TAR_ACL_ACCESS && acl->seen == TAGS_BASE)
		return 0;
	if (sound && tags_complete(acl->seen) && acl->count <= TAR_ACL_ENTRIES)
		size = acl_encode(acl, to);
	if (size > 0)
		return (ssize_t)size;
	errno = EINVAL;
	return -1;
}

ssize_t tar_acl_get(struct archive_entry *entry, enum tar_acl kind, void *value)
{
	struct acl acl = { 0 };
	ssize_t size;

	if (archive_entry_acl_reset(entry, type_of(kind)) == 0)
		return 0;
	acl.aces = malloc((TAR_ACL_ENTRIES + 1) * sizeof(*acl.aces));
	if (!acl.aces)
		return -1;
	size = acl_gather(&acl, entry, kind, value);
	free(acl.aces);
	return size;
}
