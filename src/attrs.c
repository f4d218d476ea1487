/* SPDX-License-Identifier: BSD-2-Clause */
#include "attrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "differ.h"

static bool make_room(struct attrs *attrs)
{
	size_t more = attrs->room ? 2 * attrs->room : 16;
	struct attr *all;

	if (attrs->count < attrs->room)
		return true;
	all = realloc(attrs->all, more * sizeof(*all));
	if (!all)
		return false;
	attrs->all = all;
	attrs->room = more;
	return true;
}

void attrs_clear(struct attrs *attrs)
{
	attrs->count = attrs->bytes.len = 0;
}

int attrs_add(struct attrs *attrs, const struct opts *opts, const char *name,
	      const void *value, size_t size)
{
	struct attr attr = { .name = attrs->bytes.len, .size = size };

	if (!xattr_is_kept(opts->preserve, name))
		return 0;
	if (!make_room(attrs) ||
	    bytes_add(&attrs->bytes, name, strlen(name) + 1) != 0)
		return -1;
	attr.value = attrs->bytes.len;
	if (size > 0 && bytes_add(&attrs->bytes, value, size) != 0)
		return -1;
	attrs->all[attrs->count++] = attr;
	return 0;
}

/* One that was listed.  What is gone meanwhile is not there. */
static int read_one(struct attrs *attrs, const struct opts *opts,
		    const struct xattr_source *from, const char *name,
		    const char *shown)
{
	ssize_t size;

	if (!xattr_is_kept(opts->preserve, name))
		return 0;
	size = xattr_get(from, name, &attrs->value);
	if (size < 0 && errno == ENODATA)
		return 0;
	if (size < 0) {
		diag_fail(STATUS_PARTIAL, shown, errno, "reading attribute %s",
			  name);
		return -1;
	}
	if (attrs_add(attrs, opts, name, attrs->value.bytes, (size_t)size) == 0)
		return 0;
	differ_fail(shown, ENOMEM, "reading its attributes");
	return -1;
}

int attrs_read(struct attrs *attrs, const struct opts *opts,
	       const struct xattr_source *from, const char *shown)
{
	int result = 0;
	ssize_t len;

	attrs_clear(attrs);
	if (!(opts->preserve & (PRESERVE_XATTR | PRESERVE_ACL)))
		return 0;
	len = xattr_list(from, &attrs->names);
	if (len < 0) {
		differ_fail(shown, errno, "listing its attributes");
		return -1;
	}
	for (size_t at = 0; at < (size_t)len;
	     at += strlen(attrs->names.bytes + at) + 1)
		if (read_one(attrs, opts, from, attrs->names.bytes + at,
			     shown) != 0)
			result = -1;
	return result;
}

/* ---- comparing ---- */

static int by_name(const void *a, const void *b, void *bytes)
{
	const struct attr *x = a, *y = b;

	return strcmp((const char *)bytes + x->name,
		      (const char *)bytes + y->name);
}

static void sort(struct attrs *attrs)
{
	if (attrs->count > 1)
		qsort_r(attrs->all, attrs->count, sizeof(*attrs->all), by_name,
			attrs->bytes.at);
}

static const char *name_of(const struct attrs *attrs, size_t i)
{
	return i < attrs->count ?
		       (const char *)attrs->bytes.at + attrs->all[i].name :
		       NULL;
}

static bool same_value(const struct attrs *a, const struct attr *x,
		       const struct attrs *b, const struct attr *y)
{
	return x->size == y->size &&
	       (x->size == 0 || memcmp(a->bytes.at + x->value,
				       b->bytes.at + y->value, x->size) == 0);
}

static void say(const struct opts *opts, const char *name, const char *attr,
		const char *how)
{
	bool acl = xattr_classify(attr) == XATTR_ACL;

	if (strcmp(attr, "system.posix_acl_access") == 0)
		attr = "access";
	else if (strcmp(attr, "system.posix_acl_default") == 0)
		attr = "default";
	differ_say(opts, name, "%s: %s %s", acl ? "acl" : "xattr", attr, how);
}

void attrs_differ(struct attrs *wanted, struct attrs *found,
		  const struct opts *opts, const char *name)
{
	size_t i = 0, j = 0;

	sort(wanted);
	sort(found);
	while (i < wanted->count || j < found->count) {
		const char *one = name_of(wanted, i), *other = name_of(found, j);
		int order = !one ? 1 : !other ? -1 : strcmp(one, other);

		if (order < 0)
			say(opts, name, one, "is missing");
		else if (order > 0)
			say(opts, name, other, "is extra");
		else if (!same_value(wanted, &wanted->all[i], found,
				     &found->all[j]))
			say(opts, name, one, "differs");
		i += order <= 0;
		j += order >= 0;
	}
}

void attrs_destroy(struct attrs *attrs)
{
	bytes_free(&attrs->bytes);
	free(attrs->all);
	xattr_buffer_free(&attrs->names);
	xattr_buffer_free(&attrs->value);
	*attrs = (struct attrs){ 0 };
}
