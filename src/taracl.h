/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * taracl: POSIX ACLs, as the kernel gives them (the values of the attributes
 * system.posix_acl_access and _default, acl(5), <linux/posix_acl_xattr.h>) and as
 * libarchive's entries hold them, which become SCHILY.acl.* in a pax header.
 *
 * Owners go by number.  Values may be hostile: nothing is believed, and no more than
 * TAR_ACL_ENTRIES are taken.
 */
#ifndef TARPIPE_TARACL_H
#define TARPIPE_TARACL_H

#include <archive_entry.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tar_acl { TAR_ACL_ACCESS, TAR_ACL_DEFAULT, TAR_ACLS };

enum {
	TAR_ACL_ENTRIES = 8191,		/* what an attribute can hold */
	TAR_ACL_VALUE_MAX = 4 + 8 * TAR_ACL_ENTRIES,
};

/* The attribute's name; and the kind by its name, TAR_ACLS when it is none of them. */
const char *tar_acl_name(enum tar_acl kind);
enum tar_acl tar_acl_find(const char *name);

/*
 * Adds an attribute's value to the entry.  An access ACL makes the entry's mode say what
 * the ACL says of the owning group (not of the mask, as st_mode does).  Returns 0, or
 * -1 with errno: EINVAL when it is no ACL (nothing is added), ENOMEM.
 */
int tar_acl_put(struct archive_entry *entry, enum tar_acl kind,
		const void *value, size_t size);

/*
 * Makes the attribute's value out of the entry's ACL, in `value` of TAR_ACL_VALUE_MAX
 * bytes: entries in the kernel's order, with a mask where one is needed.  An access ACL
 * that says no more than a mode is none.  Returns its length, 0 when the entry has
 * no such ACL, or -1 with errno EINVAL: it makes no sense, has more entries than
 * fit, or one is of a name without a number (a user that is not known here).
 */
ssize_t tar_acl_get(struct archive_entry *entry, enum tar_acl kind,
		    void *value);

#endif
